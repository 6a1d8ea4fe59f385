"""Walk: the evidence of each claim, line by line, and the trees it is made of.

*Cover.* Trees are read in preorder, and a node that cuts is followed by both of its sides: what the cut leaves out on
one is on the other. Cuts are exhaustive: z <= 0 or z >= 0; of the units that may reach a maximum, another or this one;
a choice is listed or it is not; a word is paid for or stays as it is, is restored or not, is held or out. So if every
leaf holds, the claim at the root does.

*Words.* A node of the word tree stands for the sets that hold its held words and none of its out words. An attack on
out words alone rules all of them out. A restoration-proof attack rules out those that cost less than `below`: such a
set can afford, beyond the held words, open words worth at most below - 1 - (cost of the held words), which is no more
than the budget. Put these words of the start back: the input is one of the restorations, so the rival is ahead there;
it leaves the set's words as they are (the start changes no held word), every other word is in its set, and no more
words are changed than in the start. So the set does not suffice.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, assert_never

import numpy as np

from suffice.errors import Rejected
from suffice.model.classifier import Classifier
from suffice.model.network import Bools, Floats
from suffice.proof.certificate import numbers
from suffice.proof.check.header import All, Cheapest, Costs, Flip, Header, Independent, Infeasible, Refuted, Sufficient
from suffice.proof.check.inputs import InputSet, Restored, State, Varied, apart
from suffice.proof.check.leaf import Leaf, Signs, Stated, Tilts
from suffice.proof.check.network import CHUNK, Net
from suffice.proof.check.points import Margins, Point, read_point
from suffice.proof.check.reading import WHOLE, Evidence, fields, mask, need, table, whole
from suffice.proof.check.sets import Sets
from suffice.proof.check.sieve import Box, Left, Stage, sieved
from suffice.proof.check.sums import sums_tell, surely

MANY_LEAVES = 1024  # worked on together
RUN = 128  # inputs run together
MAX_WAITING = 2**26  # bytes of leaves that wait to be worked on together
MAX_OPEN = 2**28  # bytes of sides that wait to be walked: deeper trees are not read


class Sized(Protocol):
    @property
    def bytes(self) -> int: ...


Side = TypeVar("Side", bound=Sized)


@dataclass(frozen=True, eq=False)
class Node:
    """Where a proof tree is: the splits and the bounds of units stated above, and the state of its input set.

    `left` is what sieves above have left of who may win maxima.
    """

    signs: Signs
    state: State
    ends: Floats
    left: Left | None = None

    @property
    def bytes(self) -> int:
        sieve = 0 if self.left is None else self.left.bytes
        return self.signs.nbytes + self.state.bytes + self.ends.nbytes + sieve


@dataclass(frozen=True, eq=False)
class Part:
    """A node of the word tree: the words that its sets hold, and those that they avoid."""

    held: Bools
    out: Bools

    @property
    def bytes(self) -> int:
        return self.held.nbytes + self.out.nbytes


class Walk:
    """One certificate after its header: reads the evidence for the claim, or says which line fails."""

    def __init__(self, classifier: Classifier, header: Header, sets: Sets, evidence: Evidence) -> None:
        self.header, self.sets, self.evidence = header, sets, evidence
        labels = list(classifier.labels)
        self.label = labels.index(header.label)
        self.rivals = {name: place for place, name in enumerate(labels) if name != header.label}
        self.net = Net(classifier.network.steps, self.label, sets, evidence.limit)
        self.everywhere = Varied(sets)
        self.margins = Margins(self.net, self.label, evidence.limit, self.everywhere)
        self.unchosen = np.full(self.net.units, np.nan), np.zeros(self.net.units)
        self.unbounded = np.full((2, self.net.units), np.inf) * [[-1.0], [1.0]]
        self.leaves: list[Leaf] = []
        self.about: tuple[InputSet, float] = (self.everywhere, 1.0)  # what the waiting leaves are about

    def run(self) -> None:
        """The evidence for the claim, and nothing after it."""
        features, claim = self.header.features, self.header.claim
        match claim:
            case Sufficient(positions):
                self.sufficient(features & ~positions)
            case Independent(of):
                self.sufficient(of)
            case Cheapest(positions, costs, include, exclude, _, lower):
                self.sufficient(features & ~positions)
                self.evidence.expect({"prove": "cheapest"}, "the word tree")
                self.word_tree(include, exclude, costs, lower, ())
            case All(sets, costs, include, exclude, cost):
                for held in sets:
                    self.sufficient(features & ~held)
                self.evidence.expect({"prove": "all"}, "the word tree")
                self.word_tree(include, exclude, costs, cost + 1, sets)
            case Flip():
                self.has_label()
                self.flip(claim)
            case Infeasible(exclude):
                self.has_label()
                self.counterexample(self.line("point"), exclude)
            case Refuted(positions):
                self.has_label()
                self.counterexample(self.line("point"), features & ~positions)
            case _:
                assert_never(claim)
        self.settle()
        self.evidence.end()

    def line(self, name: str) -> Any:
        return fields(self.evidence.take(), name, "this line")[0]

    # --- points ---

    def has_label(self) -> None:
        """No rival has a higher score at the text itself; where words are proved to suffice, that follows."""
        for rival in self.rivals.values():
            need(self.margins.sign(self.sets.center, rival) >= 0, "the text's label differs")

    def counterexample(self, data: Any, allowed: Bools) -> Point:
        """An input that changes only allowed words, at which the rival's score is at least the label's."""
        point = read_point(data, self.sets, allowed, "rival")
        need(self.margins.sign(point.vectors, self.rival(data["rival"])) <= 0, "the label keeps its lead at this point")
        return point

    def rival(self, name: Any) -> int:
        need(type(name) is str and name in self.rivals, f"{str(name)[:80]!r} is no rival of the label")
        return self.rivals[name]

    # --- proofs over input sets ---

    def sufficient(self, free: Bools) -> None:
        """For every rival, a proof tree over all changes of free words, or of at most so many of them."""
        inputs, budget = self.everywhere, 0
        if self.sets.at_most is not None:
            inputs, budget = Varied(self.sets, np.ones(len(free), dtype=np.int64)), self.sets.at_most
        state = inputs.begin(free, budget)
        for name, rival in self.rivals.items():
            self.evidence.expect({"prove": "sufficient", "rival": name}, f"a proof against {name!r}")
            self.tree(rival, inputs, 1.0, state)

    def flip(self, claim: Flip) -> None:
        """A flip that costs what is claimed, and for every rival a proof that changes which cost less are none."""
        aims = list(self.rivals) if claim.towards is None else [claim.towards]
        if claim.positions is not None:
            data = self.line("point")
            point = self.counterexample(data, claim.positions)
            need((point.changed == claim.positions).all(), "the flip must change just the positions of the claim")
            need(data["rival"] in aims, "the flip is towards another label")
        if claim.lower:
            unit = int(np.gcd.reduce(claim.costs.units))  # what is left over of a budget buys nothing
            inputs = Varied(self.sets, claim.costs.units // unit)
            state = inputs.begin(self.header.features, (claim.lower - 1) // unit, self.sets.at_most)
            for name in aims:
                self.evidence.expect({"prove": "flip", "rival": name}, f"a proof against {name!r}")
                self.tree(self.rivals[name], inputs, 1.0, state)

    def tree(self, rival: int, inputs: InputSet, sign: float, state: State) -> None:
        """Read a proof tree that sign·margin is above zero over an input set; its leaves wait for each other."""
        if self.about != (inputs, sign):
            self.settle()
            self.about = inputs, sign

        def visit(line: dict[str, Any], node: Node) -> tuple[Node, ...]:
            if "split" in line:
                return self.split(line, node)
            if "pick" in line:
                first, second = inputs.pick(line, node.state)
                return replace(node, state=first), replace(node, state=second)
            if "bound" in line:
                return (self.stated(line, node, rival),)
            if "sieve" in line:
                return (self.sieve(fields(line, "sieve", "this line")[0], node, rival),)
            leaf = self.leaf(fields(line, "leaf", "this line")[0], node, rival)
            wait = self.wait if node.left is None or not node.left.nobody else self.sifted
            wait(leaf)
            return ()

        self.walk(Node(np.zeros(self.net.units, dtype=np.int8), state, self.unbounded), visit)

    def split(self, line: Any, node: Node) -> tuple[Node, Node]:
        """A unit's sum is at most zero, or at least zero; a maximum is reached by another unit, or by this one."""
        unit = whole(fields(line, "split", "a split")[0], 0, self.net.units, "the unit")
        if self.net.pooled[unit]:
            may_win = self.net.alive(node.signs, unit)
            need(unit in may_win and len(may_win) > 1, "only one of several units that may still win can be split on")
        else:
            need(
                self.net.bent[unit] and not node.signs[unit], "only a relu or curve that is not split yet can be split"
            )
        below, above = node.signs.copy(), node.signs.copy()
        left: tuple[Left | None, Left | None] = (None, None)
        below[unit], above[unit] = -1, 1
        if node.left is not None:
            left = node.left.split(unit, self.net.first(unit))
        return replace(node, signs=below, left=left[0]), replace(node, signs=above, left=left[1])

    def sieve(self, data: Any, node: Node, rival: int) -> Node:
        """Lines above bundles of maxima, and what they leave of who may win them."""
        alpha, groups, words, rows = fields(data, "alpha bundles words rows", "a sieve")
        inputs, sign = self.about
        slopes = numbers(alpha, self.net.units)
        need(np.isfinite(slopes).all(), "alpha must be numbers")
        leaf = Leaf(self.evidence.number, rival, node.signs, slopes, self.unchosen[1], node.state, node.ends)
        margin = self.net.over_maxima(inputs, sign, leaf)
        box = Box.of(self.net.steps[0], self.sets, node.state)
        before = margin.first if node.left is None else node.left
        stage = Stage.read(groups, words, rows, before, margin, box, self.sets.center.shape[1])
        return replace(node, left=sieved(before, stage, margin, box, self.evidence.limit))

    def stated(self, line: Any, node: Node, rival: int) -> Node:
        """A bound of a relu's sum, which waits to be shown like a leaf, and holds wherever this node leads."""
        side = "most" if "most" in line else "least"
        place, value, data = fields(line, f"bound {side} leaf", "a bound")
        unit, sign = whole(place, 0, self.net.units, "the unit"), -1 if side == "most" else 1
        need(self.net.straight[unit], "only the sum of a relu can be bounded")
        bound = float(table([[value]], (1, 1), "the bound")[0, 0])
        self.wait(replace(self.leaf(data, node, rival), stated=Stated(unit, sign, bound)))
        ends, row = node.ends.copy(), 0 if sign > 0 else 1
        ends[row, unit] = max(ends[row, unit], bound) if sign > 0 else min(ends[row, unit], bound)
        return replace(node, ends=ends)

    def leaf(self, data: Any, node: Node, rival: int) -> Leaf:
        """A leaf as it was written, over all units."""
        tilted = type(data) is dict and "above" in data
        alpha, beta, *above = fields(data, "alpha beta above" if tilted else "alpha beta", "a leaf")
        units = self.net.units
        need(type(beta) is dict, "beta must be an object")
        if alpha is None and not beta and not tilted:
            return Leaf(self.evidence.number, rival, node.signs, *self.unchosen, node.state, node.ends)
        slopes = np.full(units, np.nan) if alpha is None else numbers(alpha, units)
        push = self.push(beta, node.signs) if beta else self.unchosen[1]
        tilts = self.tilts(above[0], node) if tilted else None
        return Leaf(self.evidence.number, rival, node.signs, slopes, push, node.state, node.ends, tilts)

    def push(self, beta: dict[str, Any], signs: Signs) -> Floats:
        """The multipliers of splits times their signs."""
        names, push = self.named(beta, len(signs)), np.zeros(len(signs))
        push[names] = table([list(beta.values())], (1, len(beta)), "beta", 0.0)[0] * signs[names]
        return push

    def named(self, data: dict[str, Any], units: int) -> list[int]:
        """The units that an object names."""
        names = [whole(int(name), 0, units, "a unit") for name in data if str(int(name)) == name]
        need(len(names) == len(data), "a unit must be named by a plain number")
        return names

    def tilts(self, data: Any, node: Node) -> Tilts:
        """Shares, by word or by number of the input, for relus of the first step that are not split on, and maxima."""
        listed = type(data) is dict and "words" in data
        per, *words, shares = fields(data, "per words shares" if listed else "per shares", "above")
        need(type(shares) is dict and shares and self.net.parts, "above must have shares of units")
        need(per in ("word", "number"), "shares are per word or per number")
        units = np.array(self.named(shares, len(self.net.steps[0].bias)))
        able = self.net.relu[0][units] & (node.signs[units] == 0)
        if per == "number" and self.net.pools[0] is not None:
            able |= np.isin(units, self.net.pools[0].units[:, 0])
        need(able.all(), "only an open relu, or by number the first unit of a maximum, can have a line above")
        length, dimension = self.sets.center.shape
        every = np.ones(length, dtype=bool)
        some = mask(words[0], every, "the words of shares") if listed else every
        need(per == "number" or not listed, "only numbers have shares of some words")
        some = some if per == "word" else np.repeat(some, dimension)
        found = np.zeros((len(units), len(some)))
        found[:, some] = np.clip([numbers(share, int(some.sum())) for share in shares.values()], 0.0, 1.0)
        return Tilts(units, found)

    # --- the word tree ---

    def word_tree(self, include: Bools, exclude: Bools, costs: Costs, below: int, listed: tuple[Bools, ...]) -> None:
        """Read the tree that shows: no set that fits and costs less than `below` suffices, but those listed."""
        restored = Restored(self.sets.center, costs.units)

        def visit(line: dict[str, Any], part: Part) -> tuple[Part, ...]:
            need(len(line) == 1, "a line of the word tree has one key")
            ((name, value),) = line.items()
            if name == "word":
                return self.word(value, part)
            if name == "cost":
                need(value is True and costs.of(part.held) >= below, "the held words do not cost enough yet")
            elif name == "set":
                held = listed[whole(value, 0, len(listed), "the set")]
                need((part.held == held).all(), "the held words are not those of this set")
            elif name == "attack":
                self.counterexample(value, part.out)
            else:
                self.restoration(line, part, costs, below, restored)
            return ()

        self.walk(Part(include, exclude), visit)

    def word(self, value: Any, part: Part) -> tuple[Part, Part]:
        """An open word is held, or out."""
        place = whole(value, 0, len(part.held), "the word")
        need((self.header.features & ~part.held & ~part.out)[place], "only an open word can be held or out")
        held, out = part.held.copy(), part.out.copy()
        held[place], out[place] = True, True
        return replace(part, held=held), replace(part, out=out)

    def restoration(self, line: Any, part: Part, costs: Costs, below: int, restored: Restored) -> None:
        """An attack that no affordable choice of open words undoes."""
        start, rival, budget = fields(
            fields(line, "restoration", "this line")[0], "start rival budget", "a restoration"
        )
        point = read_point(start, self.sets, self.header.features & ~part.held, mixtures=False)
        enough = whole(budget, 0, WHOLE, "budget") >= below - 1 - costs.of(part.held)
        need(enough, "the budget is lower than what an explanation can afford")
        opened = self.header.features & ~part.held & ~part.out
        self.tree(self.rival(rival), restored, -1.0, restored.begin(point.vectors, opened, budget))

    # --- walking and waiting ---

    def walk(self, root: Side, visit: Callable[[dict[str, Any], Side], tuple[Side, ...]]) -> None:
        """Read a tree in preorder: `visit` gives the sides of a node that cuts, which are two, and none for a leaf."""
        waiting, open_ = [root], root.bytes
        while waiting:
            node = waiting.pop()
            sides = visit(self.evidence.take(), node)
            waiting += reversed(sides)
            open_ += sum(side.bytes for side in sides) - node.bytes
            need(open_ <= MAX_OPEN, "the tree is too deep to be kept in memory")

    def wait(self, leaf: Leaf) -> None:
        self.leaves.append(leaf)
        if len(self.leaves) >= min(MANY_LEAVES, 1 + MAX_WAITING // max(1, leaf.bytes)):
            self.settle()

    def sifted(self, leaf: Leaf) -> None:
        """A leaf at which sieves have left nobody holds."""

    def settle(self) -> None:
        """Work on the leaves that wait; the first one that does not hold is the line that fails."""
        waiting, self.leaves = self._not_run(self._not_sure(self.leaves)), []
        widest = max(len(step.bias) for step in self.net.steps[-2:])
        many = max(1, CHUNK // (self.net.width * widest))
        for _, alike in itertools.groupby(waiting, self.net.place):
            leaves = list(alike)
            for start in range(0, len(leaves), many):
                self._settle(leaves[start : start + many])

    def _settle(self, some: list[Leaf]) -> None:
        self.evidence.limit.look(some[0].line)
        for leaf, held in zip(some, self.net.holds(*self.about, some), strict=True):
            if not held:
                raise Rejected(leaf.line, "the bound of this leaf is not above zero")

    def _not_sure(self, leaves: list[Leaf]) -> list[Leaf]:
        """The leaves without those that picks alone led to, that choose nothing, and that sums decide."""
        inputs, sign = self.about
        if not isinstance(inputs, Varied) or not sums_tell(self.net):
            return leaves
        unchosen = [leaf for leaf in leaves if leaf.alpha is self.unchosen[0] and leaf.push is self.unchosen[1]]
        picked = [leaf for leaf in unchosen if leaf.stated is None and leaf.above is None and not leaf.signs.any()]
        sure = {leaf.line for leaf, held in zip(picked, surely(self.net, inputs, sign, picked), strict=True) if held}
        return [leaf for leaf in leaves if leaf.line not in sure]

    def _not_run(self, leaves: list[Leaf]) -> list[Leaf]:
        """The leaves without those that have a single input, at which sign·margin is above zero beyond rounding."""
        if any(step.curves for step in self.net.steps):
            return leaves
        return [leaf for i in range(0, len(leaves), RUN) for leaf in self._run(leaves[i : i + RUN])]

    def _run(self, leaves: list[Leaf]) -> list[Leaf]:
        inputs, sign = self.about
        different, which = apart([leaf.state for leaf in leaves])
        points = [inputs.only(state) for state in different]
        margins = [(place, points[mine]) for place, mine in enumerate(which) if leaves[place].stated is None]
        at = {place: point for place, point in margins if point is not None}
        if not at:
            return leaves
        scores, rivals = self.net.run(np.stack(list(at.values()))), [leaves[place].rival for place in at]
        leads = sign * (scores[:, self.label] - scores[np.arange(len(at)), rivals])
        sure = leads > (self.net.off[self.label] + self.net.off[rivals]) * (1 + self.net.gamma)
        held = {place for place, above in zip(at, sure, strict=True) if above}
        return [leaf for place, leaf in enumerate(leaves) if place not in held]
