"""A real server in its own process, a model on which searches last, and a real browser."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice as sf

TEXT = "A gripping, beautifully acted film that never quite loses its nerve"
# on the model below, with LASTING_SET, minutes of search
LASTING = " ".join(f"word{i}" for i in range(40))
LASTING_SET = {"kind": "epsilon-ball", "eps": 0.1, "p": "inf"}
CHROMIUM = "/usr/bin/chromium"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]


def lasting_model(folder: Path) -> Path:
    """A random network that is hard to verify, saved as a folder."""
    rng = np.random.default_rng(1)
    sizes = [40 * 6, 96, 48, 2]
    pairs = list(itertools.pairwise(sizes))
    layers = [
        (rng.normal(size=(o, i)) * np.sqrt(2 / i), rng.normal(size=o) * 0.1) for i, o in pairs
    ]
    classifier = sf.Classifier(
        network=sf.Network.dense(layers),
        embedding=rng.normal(size=(62, 6)),
        vocabulary=["<PAD>", "<UNK>", *(f"word{i}" for i in range(60))],
        labels=["low", "high"],
        length=40,
    )
    classifier.save(folder)
    return folder


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """`suffice serve` on a free port; yields its address, and sees that it ends without a word of
    complaint.
    """
    command = [sys.executable, "-m", "suffice.cli", "serve", "--port", "0", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None, server.communicate()[1]
            yield found.group()
        finally:
            server.send_signal(signal.SIGINT)
            complaints = server.communicate(timeout=30)[1]
    assert complaints == "", complaints


@contextmanager
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    if not os.path.exists(CHROMIUM):
        pytest.skip(
            "There is no chromium here: apt-get install -y chromium (make test does it for root)."
        )
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="The package playwright is not installed."
    )
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


@contextmanager
def opened(chromium: Any, **settings: Any) -> Iterator[Any]:
    """A tab of its own; any error in its console fails the test."""
    page = chromium.new_page(**settings)
    page.set_default_timeout(30_000)
    complaints: list[str] = []
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    page.close()
    assert complaints == [], complaints


# Two font sets of Debian's, and one that is wider than any: pages must fit whatever is installed.
FONTS = {
    "as installed": "",
    "DejaVu": (
        ".suffice { --sans: 'DejaVu Sans'; --serif: 'DejaVu Serif'; --mono: 'DejaVu Sans Mono' }"
    ),
    "Liberation": (
        ".suffice { --sans: 'Liberation Sans'; --serif: 'Liberation Serif'; --mono: 'Liberation "
        "Mono' }"
    ),
    "wide": ".suffice * { letter-spacing: .12em !important }",
}
SHEET = (
    "css => { const made = new CSSStyleSheet(); made.replaceSync(css); "
    "document.adoptedStyleSheets = [made]; }"
)


def fits(page: Any, width: int) -> bool:
    """Whether nothing is wider than the page, with each font set."""
    wide = {}
    for name, css in FONTS.items():
        page.evaluate(SHEET, css)
        wide[name] = page.evaluate("document.documentElement.scrollWidth")
    page.evaluate(SHEET, "")
    assert max(wide.values()) <= width, wide
    return True
