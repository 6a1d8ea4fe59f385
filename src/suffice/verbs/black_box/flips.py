"""Flips: the cheapest change that turns the label of a black box, and what single words
do to it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from suffice.optimise.cheapest_flip import CheapestFlip
from suffice.optimise.cuts import CutSearch, fewest_changes
from suffice.optimise.cuts.cut_lines import proof_line
from suffice.optimise.flips_by_cost import cheapest_flip_by_cost
from suffice.optimise.min_cost_hitting_set import bits, mask_of
from suffice.optimise.query_search import QuerySearch
from suffice.proof.certificate import Certificate
from suffice.verbs.black_box.evidence_lines import flip_line, header
from suffice.verbs.black_box.searching import computation_note, flip_note, query_search, stats
from suffice.verbs.engines import OnProgress
from suffice.verbs.question import Question
from suffice.verify.queries import ObservedFlip, OutOfBudget


def cheapest_flip(
    question: Question, on_progress: OnProgress | None, rival: int | None, share: float = 1.0
) -> CheapestFlip:
    """The cheapest change that flips the label."""
    search = query_search(question, on_progress, question.seconds * share)
    if tied := _tied(search, rival):
        return CheapestFlip("unknown", None, 0, stats(search, time.monotonic()), reason=tied)
    even = len(set(search.costs)) == 1
    found = (
        fewest_changes(search, rival)
        if isinstance(search, CutSearch) and even
        else cheapest_flip_by_cost(search, rival)
    )
    witness = None if found.flip is None else search.session.witness(found.flip)
    known = stats(search, time.monotonic())
    why = found.reason
    if not isinstance(search, CutSearch) or not even:
        return CheapestFlip(
            found.status, witness, found.lower, known | flip_note(search), reason=why
        )
    lines = (
        ()
        if found.proof is None
        else (proof_line(search, bits(search.session.movable), *found.proof),)
    )
    return CheapestFlip(
        found.status,
        witness,
        found.lower,
        known | computation_note(search),
        lines=lines,
        reason=why,
    )


def _tied(search: QuerySearch, rival: int | None) -> str:
    """Why flips to one label are not looked for: a text that has no label for sure has none to
    turn.
    """
    if rival is None:
        return ""
    asked = search.session
    labels = search.session.blackbox.labels
    try:
        best, aimed = (asked.margins([()], other)[0] for other in (None, rival))
    except OutOfBudget:
        return ""  # the search says so itself
    if best > 0 or not aimed > 0:
        return ""
    return (
        f"the label {labels[asked.label]!r} is a tie with "
        f"{labels[asked.observed_flip(()).rival]!r} as the text stands"
    )


def flip_certificate(
    question: Question, found: CheapestFlip, towards: str | None
) -> Certificate | None:
    """The flip, and below which cost every change was run or computed; nothing where nothing is
    claimed.
    """
    units = [int(unit) for unit in question.costs.units]
    seen = found.witness
    if (seen is not None and not seen.positions) or (
        seen is None and not found.lower and found.status != "none"
    ):
        return None
    changed = [] if seen is None else list(seen.positions)
    claim = {
        "kind": "flip",
        "positions": changed,
        "costs": units,
        "unit": str(question.costs.unit),
        "towards": towards,
        "cost": None if seen is None else sum(units[i] for i in changed),
        "lower": None if found.status == "none" else found.lower,
    }
    if seen is None:
        return Certificate((header(question, claim), *found.lines))
    change = tuple(zip(seen.positions, seen.words, strict=True))
    line = flip_line(question, ObservedFlip(change, mask_of(changed), seen.rival, seen.margin))
    return Certificate((header(question, claim), line, *found.lines))


def flippers(question: Question) -> list[int]:
    """The words whose change alone flips the label; none where that could not be asked any more."""
    asked = question.asked
    singles = [((i, word),) for i, words in enumerate(asked.options) for word in words]
    try:
        margins = asked.margins(singles)
    except OutOfBudget:
        return []
    asked.recheck_answers()
    return sorted(
        {change[0][0] for change, margin in zip(singles, margins, strict=True) if margin <= 0}
    )


def leads(question: Question, positions: Sequence[int], rival: int) -> list[float]:
    """By how much removing each of the words lowers the label's lead over a rival; nothing where
    texts are spent.
    """
    asked = question.asked
    texts = [asked.write(()), *(asked.write(((i, ""),)) for i in positions)]
    if not asked.meter.allows(asked.blackbox.answers.missing(texts)):
        return []
    rows = asked.blackbox.scores(texts)
    asked.recheck_answers()
    lead = rows[:, asked.label] - rows[:, rival]
    return [float(lead[0] - one) for one in lead[1:]]
