"""Terminal: answers as lines for people, in colour where there is colour, with brackets where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.padding import Padding
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text as Line

from suffice.model.classifier import Prediction
from suffice.model.text import Text
from suffice.render import phrases
from suffice.verbs.contrast import Contrast
from suffice.verbs.explanation import Explanation

OnProgress = Callable[[float, float, float, tuple[int, ...]], None]
STYLES = {"needed": "bold white on blue", "free": "", "cut": "dim strike", "between": ""}
TONES = {"good": "bold green", "warn": "bold yellow", "bad": "bold red", "test": "bold magenta"}
BAR = 28  # cells of the live bar


def marked(text: Text, positions: tuple[int, ...], colour: bool) -> Line:
    """The original text with the given words marked: by colour, or by brackets where there is none."""
    line = Line()
    for piece in phrases.pieces(text, positions):
        bracketed = piece.role == "needed" and not colour
        style = STYLES[piece.role] + (" underline" if piece.unknown else "")
        line.append(f"[{piece.text}]" if bracketed else piece.text, style=style.strip() if colour else "")
    return line


def in_colour(console: Console) -> bool:
    return console.color_system is not None and not console.no_color


def show_explanation(console: Console, result: Explanation, prediction: Prediction, model: str = "MODEL") -> None:
    """The label, the marked text, what was proved in plain words, why each word is there, and what stands behind it."""
    tone, sign, word = phrases.badge(result)
    _show_text(console, result.label, f"{max(prediction.probabilities):.1%} sure", result.text, result.positions)
    _print(console, Line.assemble((f"{sign} {phrases.headline(result)}", TONES[tone]), f": {word}."))
    _print(console, Line(phrases.meaning(result)))
    if result.witness is not None:
        _print(console, Line(f"Witness: {phrases.witness(result.text, result.witness)}."))
    for line in (*phrases.whys(result), phrases.equals(result)):
        if line:
            _print(console, Line(line))
    _show_next(console, *phrases.next_question(result, model))
    _print(console, Line(phrases.allowed(result.meta["perturbation"]), style="dim"))
    facts = f"{phrases.price(result).capitalize()}. {phrases.evidence(result)} {result.stats['seconds']:.2f} s."
    _print(console, Line(facts, style="dim"))
    _show_notes(console, result.text, phrases.about_substitutes(result.meta))


def _show_next(console: Console, seen: str, command: str) -> None:
    if seen:
        _print(console, Line(seen))
        _print(console, Line(f"  {command}", style="bold"))


def show_contrast(console: Console, result: Contrast) -> None:
    """The words that have to change, and the flip."""
    _show_text(console, result.label, "", result.text, result.positions)
    _print(console, Line(phrases.visible(str(result))))
    _print(console, Line(phrases.allowed(result.meta["perturbation"]), style="dim"))
    _print(console, Line(f"{result.stats['seconds']:.2f} s.", style="dim"))
    _show_notes(console, result.text)


def _show_text(console: Console, label: str, aside: str, text: Text, positions: tuple[int, ...]) -> None:
    """The label, and the marked text with air around it; long texts wrap."""
    console.print()
    _print(console, Line.assemble((phrases.visible(label), "bold"), (f"  {aside}", "dim")))
    console.print()
    console.print(Padding(marked(text, positions, in_colour(console)), (0, 4), expand=False))
    console.print()


def _print(console: Console, line: Line) -> None:
    console.print(Padding(line, (0, 2), expand=False))


def _show_notes(console: Console, text: Text, more: Sequence[str] = ()) -> None:
    for note in (*phrases.notes(text), *more):
        _print(console, Line(note, style="yellow"))
    console.print()


# --- while it runs ---


class Bounds:
    """The live line: lower and upper bound, what `more` says, and the time since it was made, which goes on."""

    def __init__(self, more: Callable[[], str] | None = None) -> None:
        self.more = more or (lambda: "")
        self.started = time.monotonic()
        self.spinner = Spinner("dots", style="cyan")
        self.lower, self.upper, self.whole = 0.0, 0.0, 0.0
        self.words: int | None = None

    def report(self, lower: float, upper: float, elapsed: float, words: tuple[int, ...]) -> None:
        self.whole = max(self.whole, upper)
        self.lower, self.upper, self.words = lower, upper, len(words)

    def line(self) -> Line:
        more = self.more()
        elapsed = f"{time.monotonic() - self.started:.1f} s{', ' if more else ''}{more}"
        if self.words is None:
            return Line(f"looking for the words that suffice … {elapsed}")
        return Line.assemble(
            self._bar(),
            (f"  at least {self.lower:g}, at most {self.upper:g}", "bold"),
            f"  {self.words} words so far, {elapsed}",
        )

    def _bar(self) -> Line:
        """Proved needed, still open, proved free."""
        scale = BAR / self.whole if self.whole else 0.0
        low, high = round(self.lower * scale), round(self.upper * scale)
        return Line.assemble(("━" * low, "blue"), ("╌" * (high - low), "yellow"), (" " * (BAR - high), ""))

    def __rich__(self) -> Table:
        self.spinner.update(text=self.line())
        table = Table.grid()
        table.add_row(self.spinner)
        return table


@contextmanager
def live(console: Console, more: Callable[[], str] | None = None) -> Iterator[OnProgress | None]:
    """A line with both bounds, and `more`, while a search runs; nothing at all where there is no terminal."""
    if not console.is_terminal:
        yield None
        return
    bounds = Bounds(more)
    with Live(bounds, console=console, refresh_per_second=8, transient=True):
        yield bounds.report


def show_models(console: Console, models: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """The bundled models as a table."""
    table = Table(box=None, pad_edge=False)
    for column in ("name", "labels", "words", "vocabulary", "weights", "relus", "test accuracy"):
        table.add_column(column, justify="left" if column in ("name", "labels") else "right")
    for name, facts in models:
        accuracy = facts["meta"].get("accuracy", {}).get("test")
        shown = "" if accuracy is None else f"{accuracy:.3f}"
        numbers = [str(facts[key]) for key in ("length", "vocabulary", "weights", "relus")]
        table.add_row(name, ", ".join(facts["labels"]), *numbers, shown)
    console.print(table)


def show_words(console: Console, word: str, found: Mapping[str, Sequence[str]]) -> None:
    """What a word may become, a line for each set that has something to say."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column()
    for name, others in found.items():
        if others:
            table.add_row(name, phrases.visible(", ".join(others)))
    console.print(Line.assemble((phrases.visible(word), "bold"), " may become"))
    console.print(table if table.row_count else Line("nothing: no set names a word for it"))
