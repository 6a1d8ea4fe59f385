"""Make every picture in docs/images from the running program: python docs/screenshots.py [NAME ...]

Needs Debian's chromium and the package playwright; the fonts fonts-inter and fonts-noto-core make them prettier.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright

import suffice as sf
from suffice.render import plots

IMAGES = Path(__file__).parent / "images"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
FILM = "A gripping, beautifully acted film that never quite loses its nerve"
REVIEW = (
    "I went in expecting very little and came out grinning. The story is simple, a retired teacher takes in a stray "
    "dog and slowly lets people back into her life, but the writing is patient and the performances are wonderful. "
    "There are a few slow scenes in the middle and the music is sometimes too loud, yet the last twenty minutes are so "
    "warm and so honest that I forgave everything. Not a perfect film, but one I will watch again."
)
JOKES = "The jokes fall flat, but the cast is wonderful and the songs are great fun."
BORED = "My daughter loved it, but I was bored to tears."
ROWS = [
    ("A warm and funny story with wonderful actors.", "positive"),
    ("The plot is dull and the jokes fall flat.", "negative"),
    ("Two hours that I will never get back.", "negative"),
    ("A gripping thriller that keeps its secrets to the end.", "positive"),
    ("The actors do their best, but nothing can save this script.", "negative"),
    ("Beautiful pictures, empty story.", "negative"),
    ("She sings, he dances, and everybody has a great time.", "positive"),
    ("I expected a disaster and was happily wrong.", "positive"),
]
ANSWERED = "#actions:not([hidden])"


@contextmanager
def served() -> Iterator[str]:
    command = [sys.executable, "-m", "suffice.cli", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().split()[3]
        server.send_signal(signal.SIGINT)


class Studio:
    """A browser, a server, and where pictures go."""

    def __init__(self, chromium: Any, address: str, folder: Path) -> None:
        self.chromium, self.address, self.folder = chromium, address, folder

    @contextmanager
    def page(self, width: int = 1000, height: int = 800, **settings: Any) -> Iterator[Any]:
        page = self.chromium.new_page(
            viewport={"width": width, "height": height}, device_scale_factor=1.5, **settings
        )
        page.set_default_timeout(60_000)
        yield page
        page.close()

    @contextmanager
    def asked(self, text: str, size: str, model: str, kind: str, **view: Any) -> Iterator[Any]:
        with self.page(**view) as page:
            page.goto(self.address)
            page.wait_for_selector("html[data-ready]")
            page.select_option("#model", model)
            page.select_option("#kind", kind)
            page.fill("#text", text)
            if page.locator("#fields input").count():
                page.fill("#fields input", size)
            page.click("#go")
            yield page


def page_answer(studio: Studio, path: Path) -> None:
    with studio.asked(JOKES, "", "sentiment", "bundled-substitutes") as page:
        page.wait_for_selector(ANSWERED)
        page.wait_for_selector("#running", state="hidden")
        page.locator("#words button", has_text="wonderful").click()
        page.mouse.move(0, 0)
        page.screenshot(path=path, clip=bottom(page, "#alone"))


def page_live(studio: Studio, path: Path) -> None:
    with studio.asked(REVIEW, "0.3", "imdb-fc100", "epsilon-ball") as page:
        page.wait_for_selector("#stop:not([hidden])")
        page.wait_for_timeout(6000)
        page.locator("#answer").screenshot(path=path)


def page_flip(studio: Studio, path: Path) -> None:
    with studio.asked(BORED, "", "sentiment", "bundled-substitutes") as page:
        page.wait_for_selector(ANSWERED)
        page.click("#tab-contrast")
        page.wait_for_selector(ANSWERED)
        page.mouse.move(0, 0)
        page.locator("#answer").screenshot(path=path)


def page_growth(studio: Studio, path: Path) -> None:
    with studio.asked(FILM, "0.2", "sentiment", "epsilon-ball") as page:
        page.wait_for_selector(ANSWERED)
        page.click("#tab-profile")
        page.wait_for_selector(".growth-chart")
        page.mouse.move(0, 0)
        page.locator("#answer").screenshot(path=path)


def page_compare(studio: Studio, path: Path) -> None:
    with studio.page(width=1200) as page:
        page.goto(f"{studio.address}/compare")
        page.wait_for_selector("html[data-ready]")
        page.fill("#first", JOKES)
        for name in ("sst-fc25", "imdb-fc100"):
            page.check(f"#models input[value={name}]")
        page.click("#go")
        page.wait_for_selector("#shared p")
        page.mouse.move(0, 0)
        page.screenshot(path=path, clip=bottom(page, "#columns"))


def page_corpus(studio: Studio, path: Path) -> None:
    texts = studio.folder / "reviews.csv"
    texts.write_text(
        "text,label\n" + "".join(f'"{text}",{label}\n' for text, label in ROWS), encoding="utf-8"
    )
    with studio.page(width=1150) as page:
        page.goto(f"{studio.address}/corpus")
        page.wait_for_selector("html[data-ready]")
        page.set_input_files("#file", texts)
        page.wait_for_selector("#file-name:has-text('reviews')")
        page.click("#go")
        page.wait_for_selector(f"#headline:has-text('{len(ROWS)} of {len(ROWS)}')")
        page.mouse.move(0, 0)
        page.locator("#results").screenshot(path=path)


def page_phone(studio: Studio, path: Path) -> None:
    phone = {"width": 390, "height": 844, "is_mobile": True, "color_scheme": "dark"}
    with studio.asked(JOKES, "", "sentiment", "bundled-substitutes", **phone) as page:
        page.wait_for_selector(ANSWERED)
        page.wait_for_selector("#running", state="hidden")
        page.locator("#words button", has_text="wonderful").click()
        page.locator("#answer").scroll_into_view_if_needed()
        page.evaluate("document.querySelector('#answer').scrollIntoView()")
        page.screenshot(path=path)


def audit_phone(studio: Studio, path: Path) -> None:
    file = studio.folder / "audit.html"
    groups = {"gender": ["she", "he", "actors"], "places": ["story", "end"]}
    sf.audit(sf.load("sentiment"), [text for text, _ in ROWS], groups, report=file)
    with studio.page(width=390, height=844, is_mobile=True) as page:
        page.goto(file.as_uri())
        page.screenshot(path=path)


def report(studio: Studio, path: Path) -> None:
    file = studio.folder / "report.html"
    sf.explain(sf.load("sentiment"), JOKES).save_html(file)
    with studio.page(width=960) as page:
        page.goto(file.as_uri())
        page.hover("mark.word >> nth=0")
        page.screenshot(path=path, clip=bottom(page, "dl.scope"))


def bottom(page: Any, last: str) -> dict[str, float]:
    """From the top of the page to the end of an element, and a little air."""
    page.evaluate("scrollTo(0, 0)")
    box = page.locator(last).bounding_box()
    size = page.viewport_size
    page.set_viewport_size({"width": size["width"], "height": int(box["y"] + box["height"] + 200)})
    box = page.locator(last).bounding_box()
    return {"x": 0, "y": 0, "width": size["width"], "height": box["y"] + box["height"] + 24}


def plot_profile(studio: Studio, path: Path) -> None:
    grown = sf.profile(
        sf.load("sentiment"), FILM, sf.EpsilonBall, [0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    )
    plots.profile(grown).savefig(path, dpi=150)


def plot_bounds(studio: Studio, path: Path) -> None:
    records: list[plots.Record] = []
    model = sf.load("twitter-cnn25")
    text = REVIEW.partition("but the writing")[0]
    sf.explain(
        model,
        text,
        perturbation=sf.EpsilonBall(0.3, 2),
        on_progress=lambda *one: records.append(one),
    )
    plots.bounds(records).savefig(path, dpi=150)


PICTURES: dict[str, Callable[[Studio, Path], None]] = {
    "page": page_answer,
    "page-live": page_live,
    "page-flip": page_flip,
    "page-growth": page_growth,
    "page-phone": page_phone,
    "page-compare": page_compare,
    "page-corpus": page_corpus,
    "report": report,
    "audit-phone": audit_phone,
    "plot-profile": plot_profile,
    "plot-bounds": plot_bounds,
}


def main(wanted: list[str]) -> None:
    IMAGES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, served() as address, sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        studio = Studio(chromium, address, Path(folder))
        for name in wanted or PICTURES:
            PICTURES[name](studio, IMAGES / f"{name}.png")
            print(IMAGES / f"{name}.png")
        chromium.close()


if __name__ == "__main__":
    main(sys.argv[1:])
