"""Writing: certificates about a black box."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from suffice.optimise import table_search
from suffice.optimise.cuts import CutSearch
from suffice.optimise.cuts.cut_lines import computed_line, cut_line, majorants_line
from suffice.optimise.min_cost_hitting_set import bits, mask_cost, minimal_sets
from suffice.optimise.query_search import QuerySearch
from suffice.optimise.table_search import TableSearch
from suffice.proof.certificate import Certificate
from suffice.proof.replay import KIND
from suffice.verbs.explanation import Status
from suffice.verbs.question import Question
from suffice.verify.queries import ObservedFlip

Line = dict[str, Any]


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


def flip_line(question: Question, flip: ObservedFlip) -> Line:
    seen = question.asked.witness(flip)
    changed = list(seen.positions)
    words = list(seen.words)
    return {"flip": {"changed": changed, "words": words, "text": seen.text, "label": seen.label}}


def asked_line(search: QuerySearch, held: int) -> Line:
    if isinstance(search, CutSearch):
        return computed_line(search, held)
    if isinstance(search, TableSearch):
        return table_search.tables_line(search, held)
    free = search.free(held)
    asked = search.session
    return {"asked": {"free": free, "at_most": asked.at_most, "texts": asked.text_count(free)}}


def certificate(
    question: Question, search: QuerySearch, status: Status, held: int
) -> Certificate | None:
    """What was exhausted, computed or drawn, and the flips that every cheaper set misses."""
    if status == "unknown":
        return None
    if status == "tested":
        return _certificate_of_draws(question, search, held)
    head = header(question, _claim(question, search, "cheapest", held))
    lines = _rules(question, search) if isinstance(search, CutSearch) else _needed(question, search)
    return Certificate((head, asked_line(search, held), *lines))


def _claim(question: Question, search: QuerySearch, kind: str, held: int) -> Line:
    return {
        "kind": kind,
        "positions": bits(held),
        **_priced(question, search),
        "cost": mask_cost(held, search.costs),
        "lower": min(search.lower, mask_cost(held, search.costs)),
    }


def _certificate_of_draws(question: Question, search: QuerySearch, held: int) -> Certificate:
    assert search.drawn is not None
    drawn = asdict(search.drawn[1])
    seed = drawn.pop("seed")
    line = {"drawn": {"free": search.free(held), "count": drawn["count"], "seed": seed}}
    claim = _claim(question, search, "tested", held) | drawn
    return Certificate((header(question, claim), line, *_needed(question, search)))


def _rules(question: Question, search: CutSearch) -> list[Line]:
    """The flips, and the rules or the ceilings that say what every set that is enough must hold."""
    lines = [flip_line(question, flip) for flip in search.flips]
    lines += [cut_line(search, rule) for rule in search.used_cuts]
    return (
        lines if search.majorants is None else [*lines, majorants_line(search, *search.majorants)]
    )


def certificate_of_all(
    question: Question, search: QuerySearch, found: Mapping[int, Line]
) -> Certificate:
    """What shows each set to be enough, and the flips that every other set of that cost misses."""
    claim = {
        "kind": "all",
        "sets": [bits(held) for held in found],
        **_priced(question, search),
        "cost": mask_cost(next(iter(found)), search.costs),
    }
    return Certificate((header(question, claim), *found.values(), *_needed(question, search)))


def _needed(question: Question, search: QuerySearch) -> list[Line]:
    """The flips that no word asked for stands against, but none that changes more than another."""
    needed = set(
        minimal_sets([flip.mask for flip in search.flips if not flip.mask & search.include])
    )
    return [flip_line(question, flip) for flip in search.flips if flip.mask in needed]


def _priced(question: Question, search: QuerySearch) -> Line:
    return {
        "costs": list(search.costs),
        "unit": str(question.costs.unit),
        "include": bits(search.include),
        "exclude": bits(search.exclude),
    }
