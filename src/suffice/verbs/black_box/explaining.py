"""Explaining: what the search found by asking a black box becomes an answer, with a certificate
that was replayed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from suffice.errors import NotACertificate, Rejected
from suffice.optimise.cuts import CutSearch
from suffice.optimise.min_cost_hitting_set import bits, mask_cost, mask_of
from suffice.optimise.query_search import QuerySearch
from suffice.optimise.table_search import TableSearch
from suffice.proof.bag.cuts import proved_lower_bound_with_cuts
from suffice.proof.certificate import Certificate
from suffice.verbs.accepting import accepted
from suffice.verbs.alternatives import LIMIT, alternatives_of
from suffice.verbs.black_box.evidence_lines import (
    Line,
    asked_line,
    certificate,
    certificate_of_all,
    flip_line,
    header,
)
from suffice.verbs.black_box.next_question import further, spare_meter
from suffice.verbs.black_box.option_details import details
from suffice.verbs.black_box.searching import computation_note, query_search, stats
from suffice.verbs.details import Alternatives, Detail, Tested
from suffice.verbs.engines import OnProgress
from suffice.verbs.explanation import Explanation, Status, infeasible
from suffice.verbs.question import Question
from suffice.verbs.scarce import why_nothing_changes
from suffice.verbs.swapped import with_swap_proofs
from suffice.verbs.wording import complaint
from suffice.verify.queries import OutOfBudget


def explained(
    question: Question,
    on_progress: OnProgress | None,
    self_check: bool,
    share: float = 1.0,
    spent: int = 0,
) -> Explanation:
    """The cheapest explanation."""
    started = time.monotonic()
    search = query_search(question, on_progress, question.seconds * share, spent)
    reason = search.cheapest()
    return _checked(question, search, reason, started, self_check)


def every(
    question: Question, on_progress: OnProgress | None, self_check: bool, minimal: bool = False
) -> Iterator[Explanation | Certificate | str]:
    """Every cheapest (or minimal) explanation, then the certificate that there are no other
    cheapest ones, or the reason why there may be more.

    Where there is none, the one answer that says why not; where not even a cheapest one was found,
    a set that is no minimal one is not given as one.
    """
    started = time.monotonic()
    search = query_search(question, on_progress)
    reason = search.cheapest()
    first = _checked(question, search, reason, started, self_check)
    if reason or search.best is None:
        yield reason if reason and minimal else first
        return
    found: dict[int, Line] = {}
    try:
        for held in search.all_minimal() if minimal else search.all_cheapest():
            search.best = held
            unproved = (
                "that nothing is cheaper is not claimed"
                if mask_cost(held, search.costs) > search.lower
                else ""
            )
            found[held] = asked_line(search, held)
            yield _checked(question, search, unproved, started, self_check)
    except OutOfBudget as spent:
        yield str(spent)
    except KeyboardInterrupt:
        yield "interrupted"
    else:
        if not minimal:
            yield certificate_of_all(question, search, found)


def _checked(
    question: Question, search: QuerySearch, reason: str, started: float, self_check: bool
) -> Explanation:
    """The answer to a search that has ended, checked; a rule that the checker rejects is dropped,
    not the answer.
    """
    while True:
        found = _explanation(question, search, _confirm_lower_bound(search, reason), started)
        if not self_check:
            return found
        checked, line = _replayed(found, question)
        if not _drop_rejected(search, line):
            return checked


def _drop_rejected(search: QuerySearch, line: int) -> bool:
    """Whether a line that was rejected was a rule, or the ceilings, which are left out then."""
    if not isinstance(search, CutSearch):
        return False
    # after the header, the proof and the flips; lines count from 1
    place = line - 3 - len(search.flips)
    if place == 0 and search.majorants is not None:
        search.majorants = None
        return True
    if not 0 <= place < len(search.used_cuts):
        return False
    search.cuts.remove(search.used_cuts[place])
    return True


def _confirm_lower_bound(search: QuerySearch, reason: str) -> str:
    """The lower bound of rules as far as the checker's own search confirms it: a solver in doubles
    is no proof.
    """
    if not isinstance(search, CutSearch) or search.best is None:
        return reason
    lower = min(search.lower, mask_cost(search.best, search.costs))
    proved_lower = 0 if search.majorants is None else search.majorants[1].lower
    search.used_cuts = []
    if proved_lower < lower:
        search.lower, used = proved_lower_bound_with_cuts(
            search.valid_cuts(), search.costs, search.include, search.exclude, lower
        )
        if search.lower > proved_lower:
            search.majorants = None
            search.used_cuts = [
                rule
                for place, rule in enumerate(search.cuts, start=len(search.flips))
                if place in used
            ]
    search.lower = max(search.lower, proved_lower)
    if reason or search.lower >= lower:
        return reason
    return "that nothing is cheaper was found, but not confirmed"


def _explanation(
    question: Question, search: QuerySearch, reason: str, started: float
) -> Explanation:
    """The answer to a search that has ended, finished where there is no reason why not."""
    status, held = _status(search, reason)
    if status == "infeasible":
        return _infeasible(question, search, started)
    cost = mask_cost(held, search.costs)
    sure = status == "optimal"
    return Explanation(
        status=status,
        positions=tuple(bits(held)),
        words=tuple(question.text.words[i] for i in bits(held)),
        cost=question.costs.price(cost),
        lower_bound=question.costs.price(cost if sure else min(search.lower, cost)),
        label=question.label,
        text=question.text,
        certificate=certificate(question, search, status, held),
        stats=stats(search, started),
        meta=_meta(question, "" if sure else reason, stays=sure)
        | _partial_cube(search, held)
        | computation_note(search),
        tested=_tested(search, held) if status == "tested" else None,
        look=lambda: _word_details(question, search, held),
        count=(lambda: _alternatives(question, search, held)) if sure else None,
        ahead=lambda: further(question, search, held),
    )


def _word_details(question: Question, search: QuerySearch, held: int) -> tuple[Detail, ...]:
    """What is known of each word; where the worst case is computed, nobody pays for a flip that is
    still missing.
    """
    found = list(search.flips)
    for word in (
        bits(held & ~mask_of(question.include))
        if isinstance(search, CutSearch | TableSearch)
        else ()
    ):
        if not any(flip.mask & held == 1 << word for flip in found):
            with suppress(OutOfBudget):
                found += filter(None, [search.decide(held & ~(1 << word))])
    return with_swap_proofs(
        question, bits(held), details(question, found, held), spare_meter(question, search)
    )


def _status(search: QuerySearch, reason: str) -> tuple[Status, int]:
    if not reason and search.best is None:
        return "infeasible", 0
    if not reason and search.best is not None:
        return "optimal", search.best
    if search.drawn is not None and _still_tested(search, search.drawn[0]):
        return "tested", search.drawn[0]
    if search.best is None or search.best == search.everything:
        return "unknown", search.everything
    return "sufficient", search.best


def _still_tested(search: QuerySearch, held: int) -> bool:
    """Whether a tested set is cheaper than what is proved, and no flip found later speaks against
    it.
    """
    cheaper = search.best is None or mask_cost(held, search.costs) < mask_cost(
        search.best, search.costs
    )
    return cheaper and all(flip.mask & held for flip in search.flips)


def _tested(search: QuerySearch, held: int) -> Tested:
    assert search.drawn is not None
    drawn = search.drawn[1]
    up_to = search.sizes_done[1] if search.sizes_done[0] == held else 0
    return Tested(drawn.count, drawn.confidence, drawn.share, up_to)


def _partial_cube(search: QuerySearch, held: int) -> Line:
    """What is known of the cheapest candidate where it could not be proved: it holds up to so many
    changes.
    """
    candidate, size = search.sizes_done
    if not size or candidate == held or not all(flip.mask & candidate for flip in search.flips):
        return {}
    return {"candidate": {"positions": bits(candidate), "up_to": size}}


def _infeasible(question: Question, search: QuerySearch, started: float) -> Explanation:
    flip = next(one for one in search.flips if one.mask & ~search.exclude == 0)
    head = header(question, {"kind": "infeasible", "exclude": bits(search.exclude)})
    proof = None if not flip.change else Certificate((head, flip_line(question, flip)))
    seen = search.session.witness(flip)
    meta = _meta(question, "", stays=False) | computation_note(search)
    return infeasible(question.label, question.text, seen, proof, stats(search, started), meta)


def _alternatives(question: Question, search: QuerySearch, held: int) -> Alternatives:
    """The sets that are as cheap, as far as a few more texts tell; none is asked that may cost
    money.
    """
    search.session.meter = spare_meter(question, search)
    found = {tuple(bits(held))}
    try:
        found |= {tuple(bits(one)) for one in islice(search.all_cheapest(), LIMIT)}
        complete = len(found) < LIMIT
    except OutOfBudget:
        complete = False
    alone = {flip.mask & ~search.exclude for flip in search.flips}
    needed = {i for i in bits(search.everything) if search.include >> i & 1 or 1 << i in alone}
    return alternatives_of(question, found, None if complete else needed)


def _replayed(result: Explanation, question: Question) -> tuple[Explanation, int]:
    """The result, lowered if the checker does not come to the same from the same answers, and the
    line it rejects.
    """
    if result.certificate is None:
        return replace(result, meta={**result.meta, "checked": False}), 0
    try:
        checked = accepted(question, result.certificate)
    except (Rejected, NotACertificate) as error:
        meta = {**result.meta, "checked": False, **complaint(error)}
        lowered = replace(
            result,
            status="unknown",
            lower_bound=0.0,
            certificate=None,
            tested=None,
            meta=meta,
            count=None,
        )
        return lowered, getattr(error, "line", 0)
    return replace(
        result, meta={**result.meta, "checked": True, "proved": checked.kind}, proved=checked.proved
    ), 0


def _meta(question: Question, reason: str, stays: bool) -> dict[str, Any]:
    """What is said of the question; that there was nothing to prove only where the label is known
    to stay.
    """
    empty = why_nothing_changes(question) if stays else ""
    return {
        **question.meta(),
        **({"reason": reason} if reason else {}),
        **({"nothing": empty} if empty else {}),
    }
