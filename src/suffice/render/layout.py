"""Layout: the one way in which answers stand on a terminal: label, text, sentences, facts, notes;
nothing too wide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text as Line

from suffice.model.text import Text
from suffice.proof.certificate import Certificate
from suffice.render import guarantee, phrases

# cells left and right of sentences, and of the text itself
MARGIN = 2
DEEPER = 4
NARROWEST = 8  # cells of a line, however narrow the terminal
STYLES = {"needed": "bold white on blue", "free": "", "cut": "dim strike", "between": ""}
TONES = {"good": "green", "warn": "yellow", "bad": "red", "test": "magenta"}


def in_colour(console: Console) -> bool:
    return console.color_system is not None and not console.no_color


def marked(text: Text, positions: tuple[int, ...], colour: bool) -> Line:
    """The original text with the given words marked: by colour, or by brackets where
    there is none.
    """
    line = Line()
    for piece in phrases.pieces(text, positions):
        bracketed = piece.role == "needed" and not colour
        style = STYLES[piece.role] + (" underline" if piece.unknown else "")
        line.append(
            f"[{piece.text}]" if bracketed else piece.text, style=style.strip() if colour else ""
        )
    return line


def show_text(
    console: Console, label: str, aside: str, text: Text, positions: tuple[int, ...]
) -> None:
    """The label, and the marked text with air around it; long texts wrap."""
    console.print()
    say(
        console,
        Line.assemble((phrases.visible(label), "bold"), (f"  {aside}" if aside else "", "dim")),
    )
    console.print()
    say(console, marked(text, positions, in_colour(console)), margin=DEEPER)
    console.print()


def say(console: Console, words: str | Line, style: str = "", margin: int = MARGIN) -> None:
    """A sentence that wraps within the margins, with nothing trailing."""
    line = Line(phrases.visible(words), style=style) if isinstance(words, str) else words
    for part in line.wrap(console, max(console.width - 2 * margin, NARROWEST)):
        part.rstrip()
        console.print(
            Line(" " * margin).append_text(part), no_wrap=True, overflow="ignore", crop=False
        )


def show_path(console: Console, what: str, path: str) -> None:
    """Where something was written: a file name is never cut."""
    console.print(Line(f"{' ' * MARGIN}{what}: {path}"), soft_wrap=True)


def show_command(console: Console, command: str) -> None:
    """A command to try, in one piece so that it can be copied."""
    console.print(Line(f"{' ' * DEEPER}{command}", style="bold"), soft_wrap=True)


def show_verdict(console: Console, tone: str, sign: str, words: str, rest: str = "") -> None:
    """What was found: a sign and words of one tone, and what follows without it."""
    say(
        console,
        Line.assemble(
            (f"{sign} {phrases.visible(words)}", f"bold {TONES[tone]}"), phrases.visible(rest)
        ),
    )


def show_table(console: Console, table: Table) -> None:
    """A table within the left margin, with nothing trailing, and a line of air below."""
    for parts in console.render_lines(Padding(table, (0, 0, 0, MARGIN), expand=False), pad=False):
        line = Line.assemble(*((part.text, part.style or "") for part in parts))
        line.rstrip()
        console.print(line, no_wrap=True, overflow="ignore", crop=False)
    console.print()


def show_foot(console: Console, result: Any, facts: str, more: Sequence[str] = ()) -> None:
    """What was allowed, what stands behind the answer, how long it took; then what the reader
    should know.
    """
    say(console, guarantee.allowed_in(result.meta, result.text), "dim")
    said = f"{facts} " if facts else ""
    say(console, f"{said}{result.stats['seconds']:.2f} s.", "dim")
    for note in (*guarantee.notes(result.text), *more):
        say(console, note, "yellow")
    console.print()


def evidence(certificate: Certificate | None, meta: Mapping[str, Any]) -> str:
    """The certificate in a few words; nothing where there is none."""
    return "" if certificate is None else guarantee.certified(certificate, meta)


def plain_table(*columns: str, left: Sequence[str] = ()) -> Table:
    """A table without lines; numbers stand to the right."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right")
    return table
