"""The other views in a real browser; and every view and every report at each width, font set and
scheme.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import TEXT, fits, opened, serving

import suffice as sf

ANSWERED = "#actions:not([hidden])"
WIDTHS = [360, 390, 1280]
LONG = "extraordinarilyunbreakablelongwordthatgoesonandonandonandon"
ROWS = [
    "a gripping film",
    "she is a dull actor",
    "he is a great actor",
    f"<b>{LONG}</b> is fun",
    "the plot is thin",
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(
        "--model", "sentiment", "--model", "sst-fc25", "--model", "topic", "--workers", "2"
    ) as found:
        yield found


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "reviews.csv"
    path.write_text(
        "text,label\n" + "".join(f'"{text}",positive\n' for text in ROWS) + "too,many,fields\n"
    )
    return path


def visit(page: Any, address: str, view: str) -> None:
    page.goto(f"{address}/{view}")
    page.wait_for_selector("html[data-ready]")


# --- side by side ---


def compare(
    page: Any, address: str, first: str, second: str = "", models: tuple[str, ...] = ("sentiment",)
) -> None:
    visit(page, address, "compare")
    page.fill("#first", first)
    page.fill("#second", second)
    for box in page.locator("#models input").all():
        box.set_checked(box.get_attribute("value") in models)
    page.click("#go")
    page.wait_for_selector("#shared p")


def test_several_models_answer_side_by_side(tab, address):
    compare(tab, address, TEXT, models=("sentiment", "sst-fc25"))
    labels = {sf.load(name).predict(TEXT).label for name in ("sentiment", "sst-fc25")}
    sets = [
        {word.text for word in sf.explain(sf.load(name), TEXT).words}
        for name in ("sentiment", "sst-fc25")
    ]
    assert tab.locator(".column").count() == 2
    assert tab.inner_text("#headline").startswith(
        "The same label" if len(labels) == 1 else "Different labels"
    )
    for column, words in zip(tab.locator(".column").all(), sets, strict=True):
        assert {mark.strip() for mark in column.locator("mark").all_inner_texts()} == words
        assert "proved" in column.locator(".badge").inner_text()
    both = {mark.strip() for mark in tab.locator("mark.both").all_inner_texts()}
    assert both == sets[0] & sets[1]


def test_two_texts_answer_side_by_side_and_the_link_holds_both(tab, address):
    compare(tab, address, "a gripping film", "a dull film")
    assert tab.inner_text("#headline") == "Different labels: positive, negative"
    assert [
        head.split(" ·")[0] for head in tab.locator(".column .eyebrow").all_text_contents()
    ] == [
        "First text",
        "Second text",
    ]
    tab.reload()
    tab.wait_for_selector("#shared p")
    assert tab.input_value("#second") == "a dull film"
    tab.click(".column >> nth=1 >> a")
    tab.wait_for_selector(ANSWERED)
    assert tab.input_value("#text") == "a dull film"


def test_two_texts_before_two_models_are_told_apart_by_both(tab, address):
    visit(tab, address, "compare")
    tab.fill("#first", "a gripping film")
    tab.fill("#second", "a dull film")
    tab.locator("#models input").nth(1).check()
    tab.click("#go")
    tab.wait_for_selector("#shared p")
    names = re.findall(r"\d+ \(([^)]*)\)", tab.inner_text("#shared p"))
    assert len(set(names)) == 4
    assert [name.split(", ")[0] for name in names] == [
        "first text",
        "first text",
        "second text",
        "second text",
    ]


def test_nothing_to_compare_is_told_in_words(tab, address):
    visit(tab, address, "compare")
    tab.click("#go")
    tab.wait_for_selector("#problem:has-text('at least one text')")
    tab.fill("#first", "x")
    tab.uncheck("#models input:checked")
    tab.click("#go")
    tab.wait_for_selector("#problem:has-text('models')")


# --- many texts ---


def go_through(page: Any, address: str, path: Path, task: str = "explain") -> None:
    visit(page, address, "corpus")
    page.set_input_files("#file", path)
    page.wait_for_selector(f"#file-name:has-text('{path.name}')")
    page.select_option("#task", task)
    if task == "bias":
        page.fill("#protected", "she, he")
    page.click("#go")
    page.wait_for_selector("#headline:has-text('6 of 6 texts')")


def test_a_file_becomes_a_table_that_can_be_filtered(tab, address, reviews):
    go_through(tab, address, reviews)
    model = sf.load("sentiment")
    rows = tab.locator("#table tbody tr")
    assert rows.count() == 6
    for number, text in enumerate(ROWS):
        own = sf.explain(model, text)
        assert rows.nth(number).locator("mark").all_inner_texts() == [
            word.text for word in own.words
        ]
        assert own.label in rows.nth(number).inner_text()
    assert "6 fields" not in rows.nth(5).inner_text()
    assert "3 fields" in rows.nth(5).inner_text()
    tab.select_option("#by-status", "error")
    assert rows.count() == 1
    tab.select_option("#by-status", "")
    tab.fill("#by-word", "actor")
    assert rows.count() == 2
    assert "2 of 6 fit" in tab.inner_text("#count")
    tab.select_option("#by-where", "marked")
    wanted = [
        text
        for text in ROWS
        if "actor" in " ".join(word.text for word in sf.explain(model, text).words)
    ]
    assert rows.count() == len(wanted)
    tab.fill("#by-word", "")
    tab.select_option("#by-label", "negative")
    assert rows.count() == sum(model.predict(text).label == "negative" for text in ROWS)


def test_a_row_leads_to_its_text_and_a_reload_shows_what_was_done(tab, address, reviews):
    go_through(tab, address, reviews)
    tab.reload()
    tab.wait_for_selector("#headline:has-text('6 of 6 texts')")
    assert tab.locator("#table b").count() == 0  # a text is never markup
    tab.click("#table tbody tr >> nth=1 >> a")
    tab.wait_for_selector(ANSWERED)
    assert tab.input_value("#text") == ROWS[1]


def test_a_stopped_run_goes_on(tab, address, tmp_path):
    path = tmp_path / "many.csv"
    path.write_text(
        "text\n" + "".join(f"film {i} is a gripping and honest story\n" for i in range(400))
    )
    visit(tab, address, "corpus")
    tab.set_input_files("#file", path)
    tab.wait_for_selector("#file-name:has-text('many.csv')")
    tab.click("#go")
    tab.wait_for_selector("#table tbody tr")
    tab.click("#halt")
    tab.wait_for_selector("#halt:has-text('Go on')")
    done = int(tab.inner_text("#headline").split()[0])
    assert 0 < done < 400
    tab.click("#halt")
    tab.wait_for_selector(f"#headline:not(:has-text('{done} of 400'))")
    assert int(tab.inner_text("#headline").split()[0]) > done
    tab.click("#halt")
    assert tab.locator("#table tbody tr").count() <= 100


def test_an_audit_has_its_report(tab, address, reviews, tmp_path):
    go_through(tab, address, reviews, "bias")
    assert tab.locator("#table mark").all_inner_texts() == ["she", "he"]
    with tab.expect_download() as waiting:
        tab.click("#get-report")
    waiting.value.save_as(tmp_path / "report.html")
    assert "Audit of reviews.csv" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_files_that_cannot_be_taken_are_told_in_words(tab, address, tmp_path):
    visit(tab, address, "corpus")
    tab.click("#go")
    tab.wait_for_selector("#problem:has-text('Choose a file')")
    (tmp_path / "x.xlsx").write_bytes(b"x")
    tab.set_input_files("#file", tmp_path / "x.xlsx")
    tab.wait_for_selector("#problem:has-text('.csv or .jsonl')")


def test_a_file_without_texts_is_told_in_words(chromium, address, tmp_path):
    (tmp_path / "x.csv").write_text("words\na\n")
    page = chromium.new_page()  # whose console may complain of the refusal
    visit(page, address, "corpus")
    page.set_input_files("#file", tmp_path / "x.csv")
    page.wait_for_selector("#file-name:has-text('x.csv')")
    page.click("#go")
    page.wait_for_selector("#problem:has-text('one of them `text`')")
    page.close()


# --- models and their cards ---


def test_models_have_names_for_people_and_show_their_cards(tab, address):
    visit(tab, address, "")
    assert tab.locator("#model option").all_inner_texts() == [
        "Reviews: positive or negative",
        "Film reviews, dense network",
        "News: world, sports, business or science",
    ]
    assert "Right on" in tab.inner_text("#model-facts")
    tab.click("#card summary")
    tab.wait_for_selector("#card-text h2:has-text('sentiment')")
    assert tab.locator("#card-text table").count() >= 1
    tab.select_option("#model", "topic")
    assert "World" in tab.inner_text("#model-facts")
    tab.click("#card summary")
    tab.wait_for_selector("#card-text h2:has-text('topic')")


# --- nothing is cut off ---

CLIPPED = """() => [...document.querySelectorAll("body *")].filter((one) => {
  const style = getComputedStyle(one), box = one.getBoundingClientRect();
  if (!box.width || one.closest(".hidden, .skip, .scroll, .model-card, .chips, svg")) return false;
  const hides = style.overflowX !== "visible" && style.display !== "inline";
  const over = one.scrollWidth > one.clientWidth + 1 && hides;
  const outside = box.right > document.documentElement.clientWidth + 1 || box.left < -1;
  return (over && !one.matches("select, input, .examples button, textarea")) || outside;
}).map((one) => `${one.tagName} #${one.id} .${one.className}: ${one.textContent.slice(0, 40)}`)"""


GROUNDS = {"light": "rgb(250, 248, 244)", "dark": "rgb(17, 20, 26)"}


def uncut(page: Any, width: int) -> None:
    """Nothing is cut off or sticks out, in either scheme and with every font set."""
    for scheme, ground in GROUNDS.items():
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
        assert fits(page, width)
        assert page.evaluate(CLIPPED) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_no_view_is_cut_off_at_any_width_font_or_scheme(chromium, address, reviews, width):
    with opened(chromium, viewport={"width": width, "height": 780}) as page:
        visit(page, address, "")
        uncut(page, width)
        page.fill(
            "#text", f"The jokes fall flat, but the cast is {LONG} and the songs are great fun."
        )
        page.click("#go")
        page.wait_for_selector(ANSWERED)
        page.wait_for_selector("#running", state="hidden")
        page.locator("#words .needed").first.click()
        page.click("#card summary")
        page.wait_for_selector("#card-text h2")
        uncut(page, width)
        for verb in ("contrast", "bias", "profile"):
            page.click(f"#tab-{verb}")
            page.wait_for_selector(ANSWERED)
            uncut(page, width)
        compare(page, address, f"a gripping {LONG}", "a dull film", ("sentiment", "sst-fc25"))
        uncut(page, width)
        go_through(page, address, reviews, "bias")
        uncut(page, width)


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict[str, Path]:
    """One report of each kind."""
    folder = tmp_path_factory.mktemp("reports")
    model = sf.load("sentiment")
    text = f"The jokes fall flat, but the cast is {LONG} and the songs are great fun."
    paths = {
        name: folder / f"{name}.html"
        for name in ("explain", "contrast", "bias", "profile", "audit")
    }
    sf.explain(model, text).save_html(paths["explain"])
    sf.contrast(model, text).save_html(paths["contrast"])
    sf.bias(model, text, ["cast", "jokes"]).save_html(paths["bias"])
    sf.profile(model, text, lambda limit: sf.Deletion(at_most=limit), [1, 2, 5]).save_html(
        paths["profile"]
    )
    sf.audit(
        model,
        [*ROWS, text],
        {"gender": ["she", "he"], "films": ["cast", "film"]},
        report=paths["audit"],
    )
    return paths


@pytest.mark.parametrize("width", WIDTHS)
def test_no_report_is_cut_off_at_any_width_font_or_scheme(chromium, reports, width):
    with opened(chromium, viewport={"width": width, "height": 780}) as page:
        for path in reports.values():
            page.goto(path.as_uri())
            uncut(page, width)


def test_on_a_phone_every_number_of_an_audit_says_what_it_is(chromium, reports):
    with opened(chromium, viewport={"width": 360, "height": 780}) as page:
        page.goto(reports["audit"].as_uri())
        assert page.locator("thead").first.is_hidden()
        said = page.locator("td.number").first.evaluate(
            "one => getComputedStyle(one, '::before').content"
        )
        assert said.strip('"') == "dependent: "


# --- notebooks ---

MARKS = {
    "JupyterLab": ("data-jp-theme-light='{light}'", {"light": "true", "dark": "false"}),
    "VS Code": ("class='vscode-{light}'", {"light": "light", "dark": "dark"}),
}


@pytest.mark.parametrize("notebook", MARKS)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_cell_follows_the_notebook_and_not_the_system(chromium, notebook, theme, system):
    pattern, words = MARKS[notebook]
    cell = sf.bias(sf.load("sentiment"), "she is great", ["she"])._repr_html_()
    with opened(chromium, color_scheme=system) as page:
        page.set_content(f"<!doctype html><body {pattern.format(light=words[theme])}>{cell}")
        ground = page.evaluate(
            "getComputedStyle(document.querySelector('.suffice.cell')).backgroundColor"
        )
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(24, 28, 36)"}[theme]
