"""Terminal: answers as lines for people, in colour where there is colour, with brackets where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text as Line

from suffice.classifier import Prediction
from suffice.explanation import Explanation
from suffice.flip import Contrast
from suffice.render import phrases
from suffice.text import Text

OnProgress = Callable[[float, float, float, tuple[int, ...]], None]
STYLES = {"needed": "bold white on blue", "free": "", "cut": "dim strike", "between": ""}


def marked(text: Text, positions: tuple[int, ...], colour: bool) -> Line:
    """The original text with the given words marked."""
    line = Line()
    for piece in phrases.pieces(text, positions):
        bracketed = piece.role == "needed" and not colour
        style = STYLES[piece.role] + (" underline" if piece.unknown else "")
        line.append(f"[{piece.text}]" if bracketed else piece.text, style=style.strip() if colour else "")
    return line


def show_explanation(console: Console, result: Explanation, prediction: Prediction) -> None:
    """The label, the marked text, what was proved, and how long it took."""
    colour = console.color_system is not None and not console.no_color
    share = max(prediction.probabilities)
    console.print(Line.assemble((result.label, "bold"), f"  ({share:.1%} sure, margin {prediction.margin:.3g})"))
    console.print()
    console.print(Padding(marked(result.text, result.positions, colour), (0, 2)), soft_wrap=False)
    console.print()
    console.print(Line(phrases.visible(str(result)), style="green" if result.status == "optimal" else "yellow"))
    if result.witness is not None:
        console.print(Line(phrases.visible(f"Witness: {result.witness}.")))
    console.print(Line(phrases.allowed(result.meta["perturbation"])))
    console.print(Line(f"{phrases.evidence(result)} {result.stats['seconds']:.2f} s."), style="dim")
    _show_notes(console, result.text)


def show_contrast(console: Console, result: Contrast) -> None:
    """The words that have to change, and the flip."""
    colour = console.color_system is not None and not console.no_color
    console.print(Line(result.label, style="bold"))
    console.print()
    console.print(Padding(marked(result.text, result.positions, colour), (0, 2)))
    console.print()
    console.print(Line(phrases.visible(str(result))))
    console.print(Line(phrases.allowed(result.meta["perturbation"])))
    console.print(Line(f"{result.stats['seconds']:.2f} s."), style="dim")
    _show_notes(console, result.text)


def _show_notes(console: Console, text: Text) -> None:
    for note in phrases.notes(text):
        console.print(Line(note, style="yellow"))


@contextmanager
def live(console: Console) -> Iterator[OnProgress | None]:
    """A line with both bounds while a search runs; nothing at all where there is no terminal."""
    if not console.is_terminal:
        yield None
        return
    with console.status("looking for the words that suffice …") as status:

        def report(lower: float, upper: float, elapsed: float, words: tuple[int, ...]) -> None:
            status.update(f"cost between {lower:g} and {upper:g}, {elapsed:.1f} s, {len(words)} words so far")

        yield report


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
