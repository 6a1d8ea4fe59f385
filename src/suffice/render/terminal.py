"""Terminal: answers as lines for people, in colour where there is colour, with brackets where there
is none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text as Line

from suffice.model.classifier import Prediction
from suffice.model.numbers import exactly
from suffice.render import details, guarantee, layout, phrases
from suffice.render.layout import say
from suffice.verbs.contrast import Contrast
from suffice.verbs.explanation import Explanation

OnProgress = Callable[[float, float, float, tuple[int, ...]], None]
FLIPS = {
    "optimal": ("good", "✓"),
    "found": ("warn", "◐"),
    "none": ("good", "✓"),
    "unknown": ("warn", "?"),
}
BAR = 28  # cells of the live bar


def show_explanation(
    console: Console,
    result: Explanation,
    prediction: Prediction,
    model: str = "MODEL",
    files: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """The label, the marked text, what was proved in plain words, why each word is there, and what
    stands behind it.
    """
    tone, sign, word = phrases.badge(result)
    layout.show_text(console, result.label, phrases.sure(prediction), result.text, result.positions)
    layout.show_verdict(console, tone, sign, phrases.headline(result), f": {word}.")
    say(console, phrases.meaning(result))
    if result.witness is not None:
        say(console, f"Witness: {details.witness(result.text, result.witness)}.")
    for line in (*details.whys(result), phrases.equals(result)):
        if line:
            say(console, line)
    _show_next(console, *phrases.next_question(result, model, files))
    facts = f"{phrases.capital(phrases.price(result))}. {guarantee.evidence(result)}"
    layout.show_foot(console, result, facts, guarantee.about_substitutes(result.meta))


def _show_next(console: Console, seen: str, command: str) -> None:
    if seen:
        say(console, seen)
    if command:
        say(console, command, "bold", margin=layout.DEEPER)


def show_contrast(console: Console, result: Contrast) -> None:
    """The words that have to change, and the flip."""
    tone, sign = FLIPS[result.status]
    sure = result.status not in ("optimal", "none") or result.authority == "proved"
    layout.show_text(console, result.label, "", result.text, result.positions)
    tone, sign = (
        ("warn", "–") if "nothing" in result.meta else (tone, sign) if sure else ("warn", "◐")
    )
    layout.show_verdict(console, tone, sign, result.sentence())
    facts = layout.evidence(result.certificate, result.meta)
    layout.show_foot(console, result, facts, guarantee.about_substitutes(result.meta))


# --- while it runs ---


class Bounds:
    """The live line: lower and upper bound, what `more` says, and the time since it was made, which
    goes on.
    """

    def __init__(self, more: Callable[[], str] | None = None) -> None:
        self.more = more or (lambda: "")
        self.started = time.monotonic()
        self.spinner = Spinner("dots", style="cyan")
        self.lower = 0.0
        self.upper = 0.0
        self.whole = 0.0
        self.words: int | None = None

    def report(self, lower: float, upper: float, elapsed: float, words: tuple[int, ...]) -> None:
        self.whole = max(self.whole, upper)
        self.lower = lower
        self.upper = upper
        self.words = len(words)

    def line(self) -> Line:
        """Both bounds as they stand, and the time."""
        more = self.more()
        elapsed = f"{time.monotonic() - self.started:.1f} s{', ' if more else ''}{more}"
        if self.words is None:
            return Line(f"looking … {elapsed}")
        return Line.assemble(
            self._bar(),
            (f"  at least {exactly(self.lower)}, at most {exactly(self.upper)}", "bold"),
            f"  {self.words} words so far, {elapsed}",
        )

    def _bar(self) -> Line:
        """Proved needed, still open, proved free."""
        scale = BAR / self.whole if self.whole else 0.0
        low = round(self.lower * scale)
        high = round(self.upper * scale)
        return Line.assemble(
            ("━" * low, "blue"), ("╌" * (high - low), "yellow"), (" " * (BAR - high), "")
        )

    def __rich__(self) -> Table:
        self.spinner.update(text=self.line())
        table = Table.grid()
        table.add_row(self.spinner)
        return table


@contextmanager
def live(console: Console, more: Callable[[], str] | None = None) -> Iterator[OnProgress | None]:
    """A line with both bounds, and `more`, while a search runs; nothing at all where there is no
    terminal.
    """
    if not console.is_terminal:
        yield None
        return
    bounds = Bounds(more)
    with Live(bounds, console=console, refresh_per_second=8, transient=True):
        yield bounds.report


@contextmanager
def waiting(console: Console, words: str) -> Iterator[None]:
    """A line that says what is being done; nothing at all where there is no terminal."""
    if not console.is_terminal:
        yield
        return
    with console.status(words, spinner_style="cyan"):
        yield


def show_models(console: Console, models: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """The bundled models: what each is for, its labels and a line of numbers below."""
    for name, facts in models:
        accuracy = facts["meta"].get("accuracy", {}).get("test")
        good = "" if accuracy is None else f", right on {accuracy:.1%} of its test texts"
        sizes = (
            f"reads {facts['length']} words, knows {facts['vocabulary']:,}; {facts['weights']:,} "
            "weights"
        )
        say(console, Line.assemble((name, "bold"), f"  {phrases.TITLES.get(name, '')}"))
        say(
            console,
            f"says {', '.join(facts['labels'])}; {sizes}{good}",
            "dim",
            margin=layout.DEEPER,
        )


def show_words(
    console: Console, word: str, found: Mapping[str, Sequence[str]], unknown: bool = False
) -> None:
    """What a word may become, a line for each set that has something to say."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, others in found.items():
        if others:
            table.add_row(name, phrases.visible(", ".join(others)))
    say(console, Line.assemble((phrases.visible(word), "bold"), " may become"))
    if table.row_count:
        layout.show_table(console, table)
    else:
        say(console, "nothing: no set names a word for it")
    if unknown:
        say(console, "Not in the vocabulary: the classifier reads it as an unknown word.", "yellow")
