"""Trees of a proof, written in preorder: both sides of every cut are there, so that nothing is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from .chosen import read_chosen
from .inputs import Inputs
from .leaf import Leaf
from .points import counterexample, point
from .question import Question
from .rationals import Row, Span, minus
from .reading import WHOLE, Evidence, Places, Reject, fields, need, number, whole
from .sieve import Left, everybody, sieve
from .units import Signs, may_win
from .words import one_of


@dataclass(frozen=True, eq=False)
class Node:
    """What is known on the way to a place of the tree: of the texts, and of units by splits and by stated bounds.

    `left` is what sieves have left of who may win maxima.
    """

    inputs: Inputs
    signs: Signs = field(default_factory=dict)
    stated: Mapping[int, Span] = field(default_factory=dict)
    left: Left | None = None

    def leaf(self, asked: Question) -> Leaf:
        return Leaf(asked.model, asked.reach, self.inputs, self.signs, self.stated)


def tree(asked: Question, evidence: Evidence, rival: int, sign: int, inputs: Inputs) -> None:
    """A proof that sign·margin is above zero: both sides of a node follow it."""
    waiting = [Node(inputs)]
    while waiting:
        node, line = waiting.pop(), evidence.take()
        if "split" in line:
            waiting += split(line, asked, node)
        elif "pick" in line:
            first, second = node.inputs.pick(line)
            waiting += [replace(node, inputs=second), replace(node, inputs=first)]
        elif "bound" in line:
            waiting.append(replace(node, stated=bound(line, asked, node)))
        elif "sieve" in line:
            margin, before = margin_of(asked, rival, sign), node.left
            before = everybody(asked.model, node.leaf(asked), margin[0]) if before is None else before
            left = sieve(fields(line, "sieve")[0], asked.model, node.inputs, margin, before)
            waiting.append(replace(node, left=left))
        else:
            leaf(fields(line, "leaf")[0], asked, node, rival, sign)


def split(line: Any, asked: Question, node: Node) -> list[Node]:
    """A unit's sum is above zero, or below; or a unit of a maximum wins, or does not. The second comes first."""
    model, signs = asked.model, node.signs
    unit = whole(fields(line, "split")[0], 0, model.steps[-1].start)
    alive = may_win(model.home.get(unit, []), signs)
    right = (unit in alive and len(alive) > 1) or (unit in model.relu and unit not in signs)
    need(right, "only an open relu, or one of several units that may win, can be split")
    return [replace(node, signs={**signs, unit: side}, left=left_by(node, asked, unit, side)) for side in (1, -1)]


def left_by(node: Node, asked: Question, unit: int, side: int) -> Left | None:
    return None if node.left is None else node.left.split(unit, asked.model.home[unit], side)


def bound(line: Any, asked: Question, node: Node) -> Mapping[int, Span]:
    """What is stated of units, with a bound of a relu's z that the leaf given here shows."""
    side, model = "most" if "most" in line else "least", asked.model
    place, given, data = fields(line, f"bound {side} leaf")
    unit, value, sign = whole(place, 0, model.steps[-1].start), number(given), -1 if side == "most" else 1
    need(unit in model.relu, "only the sum of a relu can be bounded")
    row = {j: sign * weight for j, weight in model.rows[unit].items()}
    start = next(step.start for step in model.steps if unit in step)
    here, chosen = node.leaf(asked), read_chosen(data, model, node.signs)
    holds = here.holds(row, sign * (model.bias[unit] - value), start, chosen)
    need(holds, "the bound of this unit does not hold")
    low, high = node.stated.get(unit, asked.reach[unit])
    return {**node.stated, unit: (max(low, value), high) if sign > 0 else (low, min(high, value))}


def leaf(data: Any, asked: Question, node: Node, rival: int, sign: int) -> None:
    """The one input that is left has sign·margin above zero, or the bound is, with the numbers given here."""
    model, chosen, single = asked.model, read_chosen(data, asked.model, node.signs), node.inputs.single()
    ahead, behind = (asked.label, rival) if sign > 0 else (rival, asked.label)
    if node.left is not None and node.left.nobody:
        return
    if single:
        scores = model.scores(single)
        if scores[ahead] > scores[behind]:
            return
    holds = node.leaf(asked).holds(*margin_of(asked, rival, sign), model.steps[-1].start, chosen)
    need(holds, "the bound of this leaf is not above zero")


def margin_of(asked: Question, rival: int, sign: int) -> tuple[Row, Fraction]:
    """sign·margin as a form over what the last hidden step gives."""
    ahead, behind = (asked.label, rival) if sign > 0 else (rival, asked.label)
    model, last = asked.model, asked.model.steps[-1]
    more, less = last[ahead], last[behind]
    return minus(model.rows[more], model.rows[less]), model.bias[more] - model.bias[less]


@dataclass(frozen=True)
class Sought:
    """Sets of words that have all of some, none of others, and cost less than `below`."""

    include: Places
    exclude: Places
    costs: list[int]
    below: int


def word_tree(asked: Question, evidence: Evidence, sought: Sought, listed: list[Places]) -> None:
    """No set that is sought is sufficient, but those listed."""
    waiting = [(sought.include, sought.exclude)]
    while waiting:
        held, out = waiting.pop()
        ((name, value),) = evidence.take().items()
        spent = sum(sought.costs[i] for i in held)
        match name:
            case "word":
                need(type(value) is int and value in asked.features - held - out, "the word is not open")
                waiting += [(held, out | {value}), (held | {value}, out)]
            case "cost":
                need(value is True and spent >= sought.below, "the held words do not cost enough")
            case "set":
                need(held == listed[whole(value, 0, len(listed))], "the held words are not those of this set")
            case "attack":
                counterexample(value, asked, out)
            case "restoration":
                inputs, rival = restoration(value, asked, held, out, sought)
                tree(asked, evidence, rival, -1, inputs)
            case _:
                raise Reject("the format knows no such line")


def restoration(data: Any, asked: Question, held: Places, out: Places, sought: Sought) -> tuple[Inputs, int]:
    """An attacked text in which open words are put back, as far as the budget pays; and the rival that stays ahead."""
    start, rival, budget = fields(data, "start rival budget")
    changed, vectors = fields(start, "changed vectors")
    there, opened = point(changed, vectors, asked, asked.features - held), asked.features - held - out
    least = sought.below - 1 - sum(sought.costs[i] for i in held)
    need(whole(budget, 0, WHOLE) >= least, "the budget is too low")
    words = [one_of(asked.own[i] if i in opened else vector) for i, vector in enumerate(there)]
    return Inputs(there, words, 1, opened, sought.costs, budget, len(words)), asked.rivals[rival]
