"""What a certificate claims, and the evidence that each claim needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from .inputs import Inputs
from .points import counterexample, has_label
from .question import Question
from .reading import WHOLE, Evidence, Places, Reject, fields, need, places, whole
from .trees import Sought, tree, word_tree


def prove(claim: Any, asked: Question, evidence: Evidence) -> None:
    """The evidence proves the claim; or Reject says why not."""
    match claim.get("kind"):
        case "sufficient":
            sufficient(asked, evidence, asked.features - places(fields(claim, "kind positions")[1], asked.features))
        case "independent":
            sufficient(asked, evidence, places(fields(claim, "kind of")[1], asked.features))
        case "refuted":
            refuted(asked, evidence, asked.features - places(fields(claim, "kind positions")[1], asked.features))
        case "infeasible":
            refuted(asked, evidence, places(fields(claim, "kind exclude")[1], asked.features))
        case "cheapest":
            cheapest(claim, asked, evidence)
        case "all":
            every(claim, asked, evidence)
        case "flip":
            flip(claim, asked, evidence)
        case _:
            raise Reject("the format knows no such claim")


def sufficient(asked: Question, evidence: Evidence, free: Places) -> None:
    opened = free if asked.limited else frozenset[int]()
    inputs = asked.inputs(free, opened, [1] * len(asked.own), asked.at_most)
    proofs("sufficient", asked.rivals, asked, evidence, inputs)


def proofs(name: str, rivals: Iterable[str], asked: Question, evidence: Evidence, inputs: Inputs) -> None:
    for rival in rivals:
        need(evidence.take() == {"prove": name, "rival": rival}, f"no proof against {rival!r} starts here")
        tree(asked, evidence, asked.rivals[rival], 1, inputs)


def refuted(asked: Question, evidence: Evidence, allowed: Places) -> None:
    has_label(asked)
    counterexample(fields(evidence.take(), "point")[0], asked, allowed)


def cheapest(claim: Any, asked: Question, evidence: Evidence) -> None:
    """A set that suffices, and none that costs less than `lower` does."""
    _, held, *priced, cost, lower = fields(claim, "kind positions costs unit include exclude cost lower")
    need(whole(lower, 0, WHOLE) <= cost, "the costs are wrong")
    sets_of_words("cheapest", [held], cost, asked, evidence, read_sought(asked, lower, *priced))


def every(claim: Any, asked: Question, evidence: Evidence) -> None:
    """Sets that suffice, and no other that costs as little does."""
    _, sets, *priced, cost = fields(claim, "kind sets costs unit include exclude cost")
    sets_of_words("all", sets, cost, asked, evidence, read_sought(asked, cost + 1, *priced))


def sets_of_words(name: str, sets: Any, cost: Any, asked: Question, evidence: Evidence, sought: Sought) -> None:
    """Sets that suffice, fit and cost as much; and no other that is sought does."""
    several = [places(held, asked.features) for held in sets]
    need(0 < len({*several}) == len(several), "there is no set, or one is listed twice")
    for held in several:
        need(sought.include <= held and not sought.exclude & held, "a set does not fit")
        need(whole(cost, 0, WHOLE) == sum(sought.costs[i] for i in held), "the costs are wrong")
    for held in several:
        sufficient(asked, evidence, asked.features - held)
    need(evidence.take() == {"prove": name}, "the word tree must start here")
    word_tree(asked, evidence, sought, several if name == "all" else [])


def read_sought(asked: Question, below: int, costs: Any, unit: Any, include: Any, exclude: Any) -> Sought:
    counts = read_costs(asked, costs, unit)
    return Sought(places(include, asked.features), places(exclude, asked.features), counts, below)


def flip(claim: Any, asked: Question, evidence: Evidence) -> None:
    """A change that lifts a rival to the label, unless it is null; and none that costs less than `lower` does."""
    _, changed, towards, prices, unit, cost, lower = fields(claim, "kind positions towards costs unit cost lower")
    costs, aims = read_costs(asked, prices, unit), [name for name in asked.rivals if towards in (None, name)]
    need(aims and whole(lower, 0, WHOLE) >= 0, "there is no such rival")
    has_label(asked)
    if changed is None:
        need(cost is None, "without positions there is no cost")
    else:
        where, point = places(changed, asked.features), fields(evidence.take(), "point")[0]
        need(lower <= whole(cost, 0, WHOLE) == sum(costs[i] for i in where), "the costs are wrong")
        counterexample(point, asked, where)
        need(point["changed"] == changed and point["rival"] in aims, "the flip is not the one that is claimed")
    if lower:
        inputs = asked.inputs(asked.features, asked.features, costs, lower - 1)
        proofs("flip", aims, asked, evidence, inputs)


def read_costs(asked: Question, costs: Any, unit: Any) -> list[int]:
    counts = [whole(cost, 1, WHOLE) for cost in costs]
    need(len(counts) == len(asked.words) and sum(counts) < WHOLE, "the costs are too many, too few or too large")
    right = re.fullmatch(r"[0-9]{1,200}(/[0-9]{1,200})?", unit, re.ASCII)
    need(right and Fraction(unit) > 0, "the unit must be a fraction above zero")
    return counts
