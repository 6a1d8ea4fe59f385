"""Asked: what the search found by asking a black box becomes an answer, with a certificate that was replayed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import Any

from suffice.errors import NotACertificate, Rejected
from suffice.proof.bag.rules import none_below_by
from suffice.proof.certificate import Certificate
from suffice.proof.replay import KIND
from suffice.prove.asked import Asked, Flip, Meter, OutOfBudget
from suffice.prove.layout import Layout, NotApart, laid_out
from suffice.prove.verdict import Proved, Refuted, Unknown, Verdict
from suffice.prove.worst import Worst
from suffice.search import flip as flips
from suffice.search import grown
from suffice.search.asking import Asking, cheapest_turn
from suffice.search.covers import bits, mask_of, price, smallest
from suffice.search.grown import Grown
from suffice.search.opened import Opened, fewest_changes
from suffice.search.opened_writing import ceilings_line, computed_line, proof_line, rule_line
from suffice.verbs.accepting import accepted
from suffice.verbs.alone import alone_asked
from suffice.verbs.alternatives import LIMIT, told
from suffice.verbs.asked_further import further_asked, spare
from suffice.verbs.explanation import Alternatives, Change, Detail, Explanation, Status, Tested
from suffice.verbs.prefer import little
from suffice.verbs.question import Question
from suffice.verbs.running import OnProgress
from suffice.verbs.scarce import nothing

Line = dict[str, Any]
SHOWN = 8  # options named per word


def asking(
    question: Question, on_progress: OnProgress | None = None, seconds: float | None = None, spent: int = 0
) -> Asking:
    """A search with a fresh meter; what the black box has said before is known.

    Where texts are limited, what this question has asked counts, and `spent` texts of others for the same answer.
    """
    asked = question.asked
    budget = question.budget if seconds is None else replace(question.budget, seconds=seconds)
    asked.meter = Meter(budget, question.max_queries, asked.meter.total + spent)
    wanted: dict[str, Any] = {
        "costs": [int(unit) for unit in question.costs.units],
        "include": mask_of(question.include),
        "exclude": mask_of(question.exclude),
        "avoid": mask_of(little(question)),
        "confidence": question.confidence,
        "perturbation": question.perturbation.to_dict(),
        "on_progress": _reporter(question, on_progress),
    }
    layout = _layout(asked)
    if layout is None:
        return Asking(asked, **wanted)
    if layout.bag.bounded:
        return Opened(asked, **wanted, worst=Worst(asked, layout))
    found = Grown(asked, **wanted, layout=layout)
    return found if found.fits else Asking(asked, **wanted)


def _layout(asked: Asked) -> Layout | None:
    """Where the model is laid open and the words of this text stay apart, its worst case can be computed."""
    bag = asked.blackbox.bag
    if bag is None:
        return None
    try:
        return laid_out(bag, asked.text, asked.options, neighbours=bag.bounded or bag.trees is not None)
    except NotApart:
        return None


def _reporter(question: Question, on_progress: OnProgress | None) -> Callable[[int, int, float, int], None] | None:
    if on_progress is None:
        return None

    def report(lower: int, upper: int, elapsed: float, held: int) -> None:
        on_progress(question.costs.price(lower), question.costs.price(upper), elapsed, tuple(bits(held)))

    return report


# --- explanations ---


def explanation(question: Question, search: Asking, reason: str, started: float, self_check: bool) -> Explanation:
    """The answer to a search that has ended, checked; a rule that the checker rejects is dropped, not the answer."""
    while True:
        found = _explanation(question, search, _confirmed(search, reason), started)
        if not self_check:
            return found
        checked, line = _replayed(found, question)
        if not _dropped(search, line):
            return checked


def _dropped(search: Asking, line: int) -> bool:
    """Whether a line that was rejected was a rule, or the ceilings, which are left out then."""
    if not isinstance(search, Opened):
        return False
    place = line - 3 - len(search.flips)  # after the header, the proof and the flips; lines count from 1
    if place == 0 and search.ceiling is not None:
        search.ceiling = None
        return True
    if not 0 <= place < len(search.needed):
        return False
    search.rules.remove(search.needed[place])
    return True


def _explanation(question: Question, search: Asking, reason: str, started: float) -> Explanation:
    """The answer to a search that has ended, finished where there is no reason why not."""
    status, held = _status(search, reason)
    if status == "infeasible":
        return _infeasible(question, search, started)
    cost = price(held, search.costs)
    sure = status == "optimal"
    return Explanation(
        status=status,
        positions=tuple(bits(held)),
        words=tuple(question.text.words[i] for i in bits(held)),
        cost=question.costs.price(cost),
        lower_bound=question.costs.price(cost if sure else min(search.lower, cost)),
        label=question.label,
        text=question.text,
        certificate=_certificate(question, search, status, held),
        stats=_stats(search, started),
        meta=_meta(question, "" if sure else reason) | _ladder(search, held) | _way(search),
        tested=_tested(search, held) if status == "tested" else None,
        look=lambda: details(question, search.flips, held),
        count=(lambda: alternatives(question, search, held)) if sure else None,
        ahead=lambda: further_asked(question, search, held),
    )


def alternatives(question: Question, search: Asking, held: int) -> Alternatives:
    """The sets that are as cheap, as far as a few more texts tell; none is asked that may cost money."""
    search.asked.meter = spare(question, search)
    found = {tuple(bits(held))}
    try:
        found |= {tuple(bits(one)) for one in islice(search.all_cheapest(), LIMIT)}
        complete = len(found) < LIMIT
    except OutOfBudget:
        complete = False
    alone = {flip.mask & ~search.exclude for flip in search.flips}
    needed = {i for i in bits(search.everything) if search.include >> i & 1 or 1 << i in alone}
    return told(question, found, None if complete else needed)


def _confirmed(search: Asking, reason: str) -> str:
    """The lower bound of rules as far as the checker's own search confirms it: a solver in doubles is no proof."""
    if not isinstance(search, Opened) or search.best is None:
        return reason
    lower = min(search.lower, price(search.best, search.costs))
    sure, search.needed = 0 if search.ceiling is None else search.ceiling[1].lower, []
    if sure < lower:
        search.lower, used = none_below_by(search.sure(), search.costs, search.include, search.exclude, lower)
        if search.lower > sure:
            search.ceiling = None
            search.needed = [rule for place, rule in enumerate(search.rules, start=len(search.flips)) if place in used]
    search.lower = max(search.lower, sure)
    if reason or search.lower >= lower:
        return reason
    return "that nothing is cheaper was found, but not confirmed"


def _status(search: Asking, reason: str) -> tuple[Status, int]:
    if not reason and search.best is None:
        return "infeasible", 0
    if not reason and search.best is not None:
        return "optimal", search.best
    if search.drawn is not None and _stands(search, search.drawn[0]):
        return "tested", search.drawn[0]
    if search.best is None or search.best == search.everything:
        return "unknown", search.everything
    return "sufficient", search.best


def _stands(search: Asking, held: int) -> bool:
    """Whether a tested set is cheaper than what is proved, and no flip found later speaks against it."""
    cheaper = search.best is None or price(held, search.costs) < price(search.best, search.costs)
    return cheaper and all(flip.mask & held for flip in search.flips)


def _tested(search: Asking, held: int) -> Tested:
    assert search.drawn is not None
    drawn = search.drawn[1]
    up_to = search.rung[1] if search.rung[0] == held else 0
    return Tested(drawn.count, drawn.confidence, drawn.share, up_to)


def _ladder(search: Asking, held: int) -> Line:
    """What is known of the cheapest candidate where it could not be proved: it holds up to so many changes."""
    candidate, size = search.rung
    if not size or candidate == held or not all(flip.mask & candidate for flip in search.flips):
        return {}
    return {"candidate": {"positions": bits(candidate), "up_to": size}}


def _infeasible(question: Question, search: Asking, started: float) -> Explanation:
    flip = next(one for one in search.flips if one.mask & ~search.exclude == 0)
    head = header(question, {"kind": "infeasible", "exclude": bits(search.exclude)})
    return Explanation(
        status="infeasible",
        positions=(),
        words=(),
        cost=math.inf,
        lower_bound=math.inf,
        label=question.label,
        text=question.text,
        witness=search.asked.witness(flip),
        certificate=None if not flip.change else Certificate((head, flip_line(question, flip))),
        stats=_stats(search, started),
        meta=_meta(question, "") | _way(search),
    )


def explained(
    question: Question, on_progress: OnProgress | None, self_check: bool, share: float = 1.0, spent: int = 0
) -> Explanation:
    """The cheapest explanation."""
    started = time.monotonic()
    search = asking(question, on_progress, question.seconds * share, spent)
    reason = search.cheapest()
    return explanation(question, search, reason, started, self_check)


def every(
    question: Question, on_progress: OnProgress | None, self_check: bool, minimal: bool = False
) -> Iterator[Explanation | Certificate | str]:
    """Every cheapest (or minimal) explanation, then the certificate that there are no other cheapest ones, or the
    reason why there may be more.

    Where there is none, the one answer that says why not.
    """
    started = time.monotonic()
    search = asking(question, on_progress)
    reason = search.cheapest()
    first = explanation(question, search, reason, started, self_check)
    if reason or search.best is None:
        yield first
        return
    found: dict[int, Line] = {}
    try:
        for held in search.all_minimal() if minimal else search.all_cheapest():
            search.best = held
            unproved = "that nothing is cheaper is not claimed" if price(held, search.costs) > search.lower else ""
            found[held] = asked_line(search, held)
            yield explanation(question, search, unproved, started, self_check)
    except OutOfBudget as spent:
        yield str(spent)
    except KeyboardInterrupt:
        yield "interrupted"
    else:
        if not minimal:
            yield _all_certificate(question, search, found)


# --- the other verbs ---


def verdict(question: Question, held: int, claims: tuple[Line, Line], search: Asking | None = None) -> Verdict:
    """Are these words enough? `claims` are what a certificate says if they are, and if not."""
    hunt = asking(question) if search is None else search
    how = "computing" if isinstance(hunt, Opened | Grown) else "asking"
    try:
        base = hunt.asked.margins([()])
        flip = hunt.asked.flip(()) if base[0] <= 0 else hunt.decide(held)
    except OutOfBudget as spent:
        return Unknown(str(spent), by=how)
    except KeyboardInterrupt:
        return Unknown("interrupted", by=how)
    if flip is not None:
        lines = (header(question, claims[1]), flip_line(question, flip))
        return Refuted(hunt.asked.witness(flip), how, Certificate(lines) if flip.change else None)
    if math.isnan(base[0]) or not hunt.known(held):
        return Unknown(hunt.closeness(), by=how)
    shown = Certificate((header(question, claims[0]), asked_line(hunt, held)))
    return _agreed(question, shown) if isinstance(hunt, Opened | Grown) else Proved(by=how, certificate=shown)


def _agreed(question: Question, certificate: Certificate) -> Verdict:
    """Proved, where the checker comes to the same: what was computed counts only then."""
    try:
        proved = accepted(question, certificate).proved
    except (Rejected, NotACertificate) as error:
        return Unknown(f"the checker did not accept it: {error}", by="computing")
    return Proved(by="computing", certificate=certificate, proved=proved)


def sufficiency(question: Question, search: Asking | None = None) -> Verdict:
    """Are the included words enough?"""
    held = mask_of(question.include)
    claims = tuple({"kind": kind, "positions": bits(held)} for kind in ("sufficient", "refuted"))
    return verdict(question, held, (claims[0], claims[1]), search)


def independence(question: Question) -> Verdict:
    """Does the label stand whatever becomes of the excluded words?"""
    out = mask_of(question.exclude)
    claims = {"kind": "independent", "of": bits(out)}, {"kind": "infeasible", "exclude": bits(out)}
    return verdict(question, (1 << len(question.text)) - 1 & ~out, claims)


def cheapest_flip(
    question: Question, on_progress: OnProgress | None, rival: int | None, share: float = 1.0
) -> flips.CheapestFlip:
    """The cheapest change that flips the label."""
    search = asking(question, on_progress, question.seconds * share)
    even = len(set(search.costs)) == 1
    found = fewest_changes(search, rival) if isinstance(search, Opened) and even else cheapest_turn(search, rival)
    witness = None if found.flip is None else search.asked.witness(found.flip)
    stats = _stats(search, time.monotonic()) | {"reason": found.reason}
    if not isinstance(search, Opened) or not even:
        return flips.CheapestFlip(found.status, witness, found.lower, stats | _ran(search))
    lines = () if found.proof is None else (proof_line(search, bits(search.asked.movable), *found.proof),)
    return flips.CheapestFlip(found.status, witness, found.lower, stats | _way(search), lines=lines)


def flip_certificate(question: Question, found: flips.CheapestFlip, towards: str | None) -> Certificate | None:
    """The flip, and below which cost every change was run or computed; nothing where nothing is claimed."""
    units, seen = [int(unit) for unit in question.costs.units], found.witness
    if (seen is not None and not seen.positions) or (seen is None and not found.lower and found.status != "none"):
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
    line = flip_line(question, Flip(change, mask_of(changed), seen.rival, seen.margin))
    return Certificate((header(question, claim), line, *found.lines))


def flippers(question: Question) -> list[int]:
    """The words whose change alone flips the label; none where that could not be asked any more."""
    asked = question.asked
    singles = [((i, word),) for i, words in enumerate(asked.options) for word in words]
    try:
        margins = asked.margins(singles)
    except OutOfBudget:
        return []
    return sorted({change[0][0] for change, margin in zip(singles, margins, strict=True) if margin <= 0})


def leads(question: Question, positions: Sequence[int], rival: int) -> list[float]:
    """By how much removing each of the words lowers the label's lead over a rival; nothing where texts are spent."""
    asked = question.asked
    texts = [asked.write(()), *(asked.write(((i, ""),)) for i in positions)]
    if not asked.meter.allows(asked.blackbox.answers.missing(texts)):
        return []
    rows = asked.blackbox.scores(texts)
    lead = rows[:, asked.label] - rows[:, rival]
    return [float(lead[0] - one) for one in lead[1:]]


def details(question: Question, found: Sequence[Flip], held: int) -> tuple[Detail, ...]:
    """What each word may become, and for words of the explanation a flip that only they stand against."""
    strengths = alone_asked(question.asked)
    known = (_detail(question, found, held, word.position) for word in question.text.words)
    return tuple(replace(one, alone=strengths.get(one.position)) for one in known)


def _detail(question: Question, found: Sequence[Flip], held: int, position: int) -> Detail:
    options = tuple(question.asked.options[position])
    against = [flip for flip in found if flip.mask & held == 1 << position]
    shown = min(against, key=lambda flip: len(flip.change), default=None)
    change = None if shown is None else _change(question, shown)
    alone = any(flip.mask & ~mask_of(question.exclude) == 1 << position for flip in found)
    return Detail(position, options[:SHOWN], max(0, len(options) - SHOWN), change, needed=alone)


def _change(question: Question, flip: Flip) -> Change:
    seen = question.asked.witness(flip)
    return Change(seen.label, seen.margin, seen.positions, seen.words, real=True, text=seen.text)


# --- certificates ---


def header(question: Question, claim: Line) -> Line:
    """How a certificate about a black box begins."""
    box = question.asked.blackbox
    return {
        "certificate": KIND,
        "model": box.digest,
        "name": box.name,
        "mask": box.mask,
        "text": question.text.source,
        "words": [[word.start, word.end] for word in question.text.words],
        "perturbation": question.perturbation.to_dict(),
        "label": question.label,
        "claim": claim,
    }


def flip_line(question: Question, flip: Flip) -> Line:
    seen = question.asked.witness(flip)
    changed, words = list(seen.positions), list(seen.words)
    return {"flip": {"changed": changed, "words": words, "text": seen.text, "label": seen.label}}


def asked_line(search: Asking, held: int) -> Line:
    if isinstance(search, Opened):
        return computed_line(search, held)
    if isinstance(search, Grown):
        return grown.written(search, held)
    free, asked = search.free(held), search.asked
    return {"asked": {"free": free, "at_most": asked.at_most, "texts": asked.count(free)}}


def _certificate(question: Question, search: Asking, status: Status, held: int) -> Certificate | None:
    """What was exhausted or drawn, and the flips that every cheaper set misses."""
    if status == "unknown":
        return None
    claim = {
        "kind": "tested" if status == "tested" else "cheapest",
        "positions": bits(held),
        **_priced(question, search),
        "cost": price(held, search.costs),
        "lower": min(search.lower, price(held, search.costs)),
    }
    if isinstance(search, Opened):
        lines = [*(flip_line(question, flip) for flip in search.flips), *(rule_line(search, r) for r in search.needed)]
        if search.ceiling is not None:
            lines.append(ceilings_line(search, *search.ceiling))
        return Certificate((header(question, claim), asked_line(search, held), *lines))
    found = _needed(question, search)
    if status != "tested":
        return Certificate((header(question, claim), asked_line(search, held), *found))
    assert search.drawn is not None
    drawn = asdict(search.drawn[1])
    seed = drawn.pop("seed")
    line = {"drawn": {"free": search.free(held), "count": drawn["count"], "seed": seed}}
    return Certificate((header(question, claim | drawn), line, *found))


def _all_certificate(question: Question, search: Asking, found: Mapping[int, Line]) -> Certificate:
    """What was exhausted of each set, and the flips that every other set of that cost misses."""
    claim = {
        "kind": "all",
        "sets": [bits(held) for held in found],
        **_priced(question, search),
        "cost": price(next(iter(found)), search.costs),
    }
    return Certificate((header(question, claim), *found.values(), *_needed(question, search)))


def _needed(question: Question, search: Asking) -> list[Line]:
    """The flips that no word asked for stands against, but none that changes more than another."""
    needed = set(smallest([flip.mask for flip in search.flips if not flip.mask & search.include]))
    return [flip_line(question, flip) for flip in search.flips if flip.mask in needed]


def _priced(question: Question, search: Asking) -> Line:
    return {
        "costs": list(search.costs),
        "unit": str(question.costs.unit),
        "include": bits(search.include),
        "exclude": bits(search.exclude),
    }


def _replayed(result: Explanation, question: Question) -> tuple[Explanation, int]:
    """The result, lowered if the checker does not come to the same from the same answers, and the line it rejects."""
    if result.certificate is None:
        return replace(result, meta={**result.meta, "checked": False}), 0
    try:
        checked = accepted(question, result.certificate)
    except (Rejected, NotACertificate) as error:
        meta = {**result.meta, "checked": False, "rejected": str(error)}
        lowered = replace(
            result, status="unknown", lower_bound=0.0, certificate=None, tested=None, meta=meta, count=None
        )
        return lowered, getattr(error, "line", 0)
    return replace(result, meta={**result.meta, "checked": True, "proved": checked.kind}, proved=checked.proved), 0


# --- how it was asked ---


def _stats(search: Asking, started: float) -> dict[str, Any]:
    asked = search.asked.meter.spent
    return {"seconds": time.monotonic() - started, "queries": asked, "nodes": len(search.flips), "texts": asked}


def _way(search: Asking) -> Line:
    """Where the worst case was computed, that it was; where a model that is laid open had to be asked, why."""
    if isinstance(search, Opened):
        return {"computed": "the worst case was computed from the weights, and every flip was run"}
    if isinstance(search, Grown):
        how = "the trees" if search.layout.bag.trees is not None else "the features of every allowed text"
        return {"computed": f"the worst case was computed from {how}, and every flip was run"}
    if search.asked.blackbox.bag is None:
        return {}
    bag = search.asked.blackbox.bag
    try:
        laid_out(bag, search.asked.text, search.asked.options, neighbours=bag.bounded or bag.trees is not None)
    except NotApart as reason:
        return {"not_computed": f"This text was asked, not computed: {reason}."}
    return {
        "not_computed": "This text was asked, not computed: the tables of its trees would be larger, or it is short."
    }


def _ran(search: Asking) -> Line:
    """Why the flips of a model that is laid open were looked for by running texts."""
    if search.asked.blackbox.bag is None:
        return {}
    why = "flips are computed of linear models where all words cost the same"
    return {"not_computed": f"Flips were looked for by running texts: {why}."}


def _meta(question: Question, reason: str) -> dict[str, Any]:
    empty = nothing(question)
    return {**question.meta(), **({"reason": reason} if reason else {}), **({"nothing": empty} if empty else {})}
