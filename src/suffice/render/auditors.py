"""The auditor's answers for people: bias, repair, profile and attribution as lines, and a bar for long runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text as Line

from suffice.model.text import Text
from suffice.render import phrases
from suffice.render.terminal import in_colour, marked
from suffice.verbs.attribute import Attribution
from suffice.verbs.bias import Bias
from suffice.verbs.mistake import Mistake
from suffice.verbs.profile import Growth, Profile
from suffice.verbs.repair import Repair
from suffice.verbs.wording import listed

OnRow = Callable[[int, int | None, int], None]
TONES = {"independent": "green", "dependent": "red", "unknown": "yellow", "optimal": "green"}


def show_bias(console: Console, result: Bias) -> None:
    """The protected words marked, the verdict, and the witness."""
    _show_text(console, result.label, result.text, result.positions)
    sure = result.meta.get("checked") and not result.trivial
    _say(console, str(result), TONES[result.status] if sure else "yellow")
    if result.witness is not None:
        _say(console, f"Witness: {phrases.witness(result.text, result.witness)}.")
    _foot(console, result)


def show_repair(console: Console, result: Repair) -> None:
    """The repaired set marked, what was wrong with the given one, and the counterexample."""
    _show_text(console, result.label, result.text, result.positions)
    _say(console, str(result), TONES.get(result.status, "yellow") if result.meta.get("checked") else "yellow")
    if result.counterexample is not None:
        _say(console, f"Witness: {phrases.witness(result.text, result.counterexample)}.")
    _foot(console, result.explanation)


def show_profile(console: Console, result: Profile) -> None:
    """A row per step, and the sentence that says from where on something is needed."""
    _show_text(console, result.label, result.text, result.explanations[-1].positions)
    table = Table(box=None, pad_edge=False)
    table.add_column(result.parameter, justify="right")
    table.add_column("cost", justify="right")
    table.add_column("status")
    table.add_column("words")
    for step, one in zip(result.steps, result.explanations, strict=True):
        names = phrases.visible(listed(one.words))
        table.add_row(f"{step:g}", f"{one.cost:g}", one.status, Line(names or "none"))
    console.print(table)
    console.print()
    for item in result.growth:
        if item.steps or item.needed is not None:
            _say(console, _growth(item, result.parameter))
    sure = all(one.meta.get("checked") and "nothing" not in one.meta for one in result.explanations)
    _say(console, str(result), "green" if sure else "yellow")
    _foot(console, replace(result.explanations[-1], stats=result.stats))


def _growth(item: Growth, name: str) -> str:
    at = ", ".join(f"{step:g}" for step in item.steps)
    parts = [f"in the explanation at {name} = {at}"] if item.steps else []
    alone = "changing it alone flips the label"
    parts += [] if item.needed is None else [f"in every explanation from {name} = {item.needed:g} on ({alone})"]
    return f"'{item.word.text}': {', '.join(parts)}"


def show_attribution(console: Console, result: Attribution) -> None:
    """The share of each word, the words in every explanation first."""
    fixed = {word.position for word in result.necessary}
    _show_text(console, result.label, result.text, tuple(sorted(fixed)))
    table = Table(box=None, pad_edge=False)
    for column in ("word", "share", "explanations"):
        table.add_column(column, justify="left" if column == "word" else "right")
    ranked = sorted(result.shares, key=lambda item: (-item.count, item.word.position))
    for item in ranked:
        if item.count:
            note = "  in all" if item.word.position in fixed else ""
            table.add_row(Line(phrases.visible(item.word.text) + note), f"{item.share:.0%}", str(item.count))
    console.print(table)
    console.print()
    _say(console, str(result), "green" if result.complete else "yellow")
    _foot(console, result)


def show_mistake(console: Console, mistake: Mistake) -> None:
    """Who pushes towards the wrong label, and what would put it right."""
    for push in mistake.pushes:
        way = f"pushes towards {mistake.label!r}" if push.towards else f"pushes towards {mistake.expected!r}"
        _say(console, f"'{push.word.text}': {way} (deleting it changes the lead by {-push.effect:+.3g})")
    _say(console, str(mistake))


def _show_text(console: Console, label: str, text: Text, positions: tuple[int, ...]) -> None:
    console.print(Line(phrases.visible(label), style="bold"))
    console.print()
    console.print(Padding(marked(text, positions, in_colour(console)), (0, 2)))
    console.print()


def _say(console: Console, sentence: str, style: str = "") -> None:
    console.print(Line(phrases.visible(sentence), style=style), soft_wrap=True)


def _foot(console: Console, result: object) -> None:
    meta, stats, text = (getattr(result, name) for name in ("meta", "stats", "text"))
    _say(console, phrases.allowed(meta["perturbation"]), "dim")
    _say(console, f"{stats['seconds']:.2f} s.", "dim")
    for note in (*phrases.notes(text), *phrases.about_substitutes(meta)):
        _say(console, note, "yellow")


@contextmanager
def bar(console: Console, what: str) -> Iterator[OnRow | None]:
    """Rows done, rate and time left; nothing at all where there is no terminal."""
    if not console.is_terminal:
        yield None
        return
    rate = TextColumn("{task.fields[rate]} texts/s, {task.fields[errors]} errors")
    with Progress(
        TextColumn(what), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn(), console=console
    ) as progress:
        task = progress.add_task(what, total=None, rate="?", errors=0)

        def report(done: int, total: int | None, errors: int) -> None:
            speed = progress.tasks[0].finished_speed or progress.tasks[0].speed
            shown = "?" if speed is None else f"{speed:.1f}"
            progress.update(task, completed=done, total=total, rate=shown, errors=errors)

        yield report
