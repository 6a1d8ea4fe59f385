"""The auditor's answers for people: bias, repair, profile and attribution as lines, and a bar for
long runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text as Styled

from suffice.corpus.findings import Audit, Line, cells_of, verdict
from suffice.corpus.summary import Summary, failures
from suffice.model.numbers import exactly
from suffice.render import details, guarantee, layout, phrases
from suffice.render.cells import GROWS, held
from suffice.render.layout import say
from suffice.verbs.attribute import Attribution
from suffice.verbs.bias import Bias
from suffice.verbs.explanation import Explanation
from suffice.verbs.families import LIMIT
from suffice.verbs.mistake import Mistake
from suffice.verbs.profile import Profile
from suffice.verbs.repair import Repair
from suffice.verbs.wording import named

NAMED = 5  # rows of an audit that are named
WIDEST = 60  # characters of their texts
OnRow = Callable[[int, int | None, int], None]
SIGNS = {"good": "✓", "bad": "✗", "warn": "◐"}
TONES = {"independent": "good", "dependent": "bad", "optimal": "good"}


def show_bias(console: Console, result: Bias) -> None:
    """The protected words marked, the verdict, and the witness."""
    layout.show_text(console, result.label, "", result.text, result.positions)
    _show_verdict(console, result, result.trivial)
    if result.witness is not None:
        say(console, f"Witness: {details.witness(result.text, result.witness)}.")
    _show_foot(console, result)


def show_repair(console: Console, result: Repair) -> None:
    """The repaired set marked, what was wrong with the given one, and the counterexample."""
    layout.show_text(console, result.label, "", result.text, result.positions)
    _show_verdict(console, result, "nothing" in result.meta)
    if result.counterexample is not None:
        say(console, f"Witness: {details.witness(result.text, result.counterexample)}.")
    _show_foot(console, result.explanation)


def show_profile(console: Console, result: Profile) -> None:
    """A row per step, and the sentence that says from where on something is needed."""
    last = result.explanations[-1]
    layout.show_text(console, result.label, "", result.text, last.positions)
    table = layout.plain_table(
        GROWS.get(result.parameter, result.parameter),
        "cost",
        "status",
        "words",
        left=("status", "words"),
    )
    for step, one in zip(result.steps, result.explanations, strict=True):
        table.add_row(
            exactly(step), exactly(one.cost), one.status, Styled(phrases.visible(held(one)))
        )
    layout.show_table(console, table)
    sure = all(one.meta.get("checked") and "nothing" not in one.meta for one in result.explanations)
    nothing = all("nothing" in one.meta for one in result.explanations)
    tone = "warn" if not sure else "bad" if last.status == "infeasible" else "good"
    layout.show_verdict(console, *_signed(tone, nothing), result.sentence())
    for line in grown(result):
        say(console, line)
    layout.show_foot(
        console, replace(last, stats=result.stats), "", guarantee.about_substitutes(last.meta)
    )


def grown(result: Profile) -> Iterator[str]:
    """From where on each word matters, in a line for all words of which the same is to be said."""
    alike: dict[tuple[tuple[float, ...], float | None], list[int]] = {}
    for item in result.growth:
        if item.steps or item.needed is not None:
            alike.setdefault((item.steps, item.needed), []).append(item.word.position)
    for (steps, needed), positions in alike.items():
        yield (
            f"{named(result.text, positions)}: "
            f"{', '.join(_when(result, steps, needed, len(positions)))}"
        )


def _when(
    result: Profile, steps: Sequence[float], needed: float | None, count: int
) -> Iterator[str]:
    """At which sizes the explanation holds some words, and from which on every explanation must."""
    if steps:
        at = ", ".join(map(exactly, steps))
        changes = "change" if at == "1" else "changes"
        where = (
            f"{at} {changes} at once" if result.parameter == LIMIT else f"{result.parameter} = {at}"
        )
        yield f"in the explanation at {where}"
    if needed is not None:
        alone = "changing it alone" if count == 1 else "changing one of them alone"
        yield f"in every explanation from {result.named(needed)} on ({alone} flips the label)"


def show_attribution(console: Console, result: Attribution) -> None:
    """The share of each word, the words in every explanation first."""
    fixed = {word.position for word in result.necessary}
    layout.show_text(console, result.label, "", result.text, tuple(sorted(fixed)))
    table = layout.plain_table("word", "share", "explanations", left=("word",))
    ranked = sorted(result.shares, key=lambda item: (-item.count, item.word.position))
    for item in ranked:
        if item.count:
            note = "  in all" if item.word.position in fixed else ""
            table.add_row(
                Styled(phrases.visible(named(result.text, [item.word.position])) + note),
                f"{item.share:.0%}",
                str(item.count),
            )
    if table.row_count:
        layout.show_table(console, table)
    tone, sign = _signed("good" if result.proved else "warn", "nothing" in result.meta)
    layout.show_verdict(console, tone, sign, result.sentence())
    _show_foot(console, result)


def show_mistake(console: Console, mistake: Mistake) -> None:
    """Who pushes towards the wrong label, and what would put it right."""
    for push in mistake.pushes:
        pushed = mistake.label if push.towards else mistake.expected
        way = f"pushes towards {pushed!r}" if push.effect else "pushes neither way"
        lead = f"deleting it changes the lead over {mistake.expected!r} by {-push.effect:+.3g}"
        say(console, f"{push.name}: {way} ({lead})")
    say(console, str(mistake))
    console.print()


def _show_verdict(console: Console, result: Bias | Repair, nothing: bool) -> None:
    """Green or red only where the checker accepted, and where there was something to prove."""
    tone = TONES.get(result.status, "warn") if result.meta.get("checked") else "warn"
    tone, sign = _signed(tone, nothing)
    layout.show_verdict(
        console, tone, "?" if result.status == "unknown" else sign, result.sentence()
    )


def _signed(tone: str, nothing: bool = False) -> tuple[str, str]:
    return ("warn", "–") if nothing else (tone, SIGNS[tone])


def _show_foot(console: Console, result: Bias | Explanation | Attribution) -> None:
    facts = layout.evidence(result.certificate, result.meta)
    layout.show_foot(console, result, facts, guarantee.about_substitutes(result.meta))


def show_summary(console: Console, summary: Summary, out: str) -> None:
    """What came out of a batch, where it is, and what to look at."""
    say(console, str(summary))
    if summary.slowest:
        slow = "; ".join(f"row {one.row} {one.seconds:.2f} s" for one in summary.slowest)
        say(console, f"Slowest: {slow}.")
    if summary.failed:
        say(
            console,
            f"{failures(summary.failed, summary.texts)}: the `error` of each line says why.",
            "yellow",
        )
        for row, reason in sorted(summary.failed.items())[:NAMED]:
            say(console, f"Row {row}: {reason}")
    layout.show_path(console, "Results", out)


def show_audit(console: Console, found: Audit, report: str) -> None:
    """The counts, the worst rows by name (the log of a CI run has no report), and where the report
    is.
    """
    say(console, str(found))
    worst = [line for line in found.lines if verdict(line) in ("dependent", "unknown", "error")]
    for line in worst[:NAMED]:
        say(console, _worst(line))
    if len(worst) > NAMED:
        rest = len(worst) - NAMED
        say(
            console,
            "The other one is in the report."
            if rest == 1
            else f"The other {rest} are in the report.",
        )
    layout.show_path(console, "Report", report)


def _worst(line: Line) -> str:
    """A row that somebody has to look at, and why."""
    cells = cells_of(line)
    why = f"{cells['changed']}: {cells['witness_label']}" if cells["changed"] else cells["reason"]
    name = "undecided" if cells["verdict"] == "unknown" else cells["verdict"]
    return f"Row {cells['row']}, {name}: {phrases.quoted(_cut(cells['text']))} ({why.rstrip('.')})"


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


@contextmanager
def bar(console: Console, what: str) -> Iterator[OnRow | None]:
    """Rows done, rate and time left; nothing at all where there is no terminal."""
    if not console.is_terminal:
        yield None
        return
    rate = TextColumn("{task.fields[rate]} texts/s, {task.fields[errors]} errors")
    with Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        rate,
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        task = progress.add_task(what, total=None, rate="?", errors=0)

        def report(done: int, total: int | None, errors: int) -> None:
            speed = progress.tasks[0].finished_speed or progress.tasks[0].speed
            shown = "?" if speed is None else f"{speed:.1f}"
            progress.update(task, completed=done, total=total, rate=shown, errors=errors)

        yield report
