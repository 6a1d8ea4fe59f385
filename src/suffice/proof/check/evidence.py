"""EvidenceCheck: reads the evidence of a claim line by line, and the trees it is made of.

Method: proof trees and word trees cover all cases (theory, sections 5, 7 and 13).

*Cover.* Trees are read in preorder, and a node that cuts is followed by both of its sides: what the
cut leaves out on one is on the other. Cuts are exhaustive: z <= 0 or z >= 0; of the units that may
reach a maximum, another or this one; a choice is listed or it is not; a word is paid for or stays
as it is, is restored or not, is held or out. So if every leaf holds, the claim at the root does.

*Words.* A node of the word tree stands for the sets that hold its held words and none of its out
words. An attack on out words alone rules all of them out. A restoration-proof attack rules out
those that cost less than `below`: such a set can afford, beyond the held words, open words worth at
most below - 1 - (cost of the held words), which is no more than the budget. Put these words of the
start back: the input is one of the restorations, so the rival is ahead there; it leaves the set's
words as they are (the start changes no held word), every other word is in its set, and no more
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
from suffice.proof.check.header import (
    All,
    Cheapest,
    Costs,
    Flip,
    Header,
    Independent,
    Infeasible,
    Refuted,
    Sufficient,
)
from suffice.proof.check.inputs import (
    InputSet,
    InputState,
    Restorations,
    VariedInputs,
    distinct_states,
)
from suffice.proof.check.interval_sums import applies_to, proved_by_intervals
from suffice.proof.check.leaf import Leaf, Lemma, Signs, UpperPlanes
from suffice.proof.check.limits import (
    EXACT_INTEGERS,
    LineReader,
    need,
    read_fields,
    read_integer,
    read_positions,
    read_table,
)
from suffice.proof.check.network import CHUNK, NetworkBounds
from suffice.proof.check.points import Point, PointMargins, read_point
from suffice.proof.check.sets import Sets
from suffice.proof.check.tuple_fixing import FixingStage, NormalisedBox, TupleState, fix_tuples

LEAF_BATCH = 1024  # worked on together
POINT_BATCH = 128  # inputs run together
MAX_QUEUE_BYTES = 2**26  # bytes of leaves that wait to be worked on together
MAX_OPEN_BYTES = 2**28  # bytes of sides that wait to be walked: deeper trees are not read


class HasBytes(Protocol):
    @property
    def bytes(self) -> int: ...


Side = TypeVar("Side", bound=HasBytes)


@dataclass(frozen=True, eq=False)
class ProofNode:
    """A node of a proof tree: the splits and the lemmas above it, and the state of its input set.

    `tuple_state` is what stages of tuple fixing above have left of who may win maxima.
    """

    signs: Signs
    state: InputState
    lemma_bounds: Floats
    tuple_state: TupleState | None = None

    @property
    def bytes(self) -> int:
        sieve = 0 if self.tuple_state is None else self.tuple_state.bytes
        return self.signs.nbytes + self.state.bytes + self.lemma_bounds.nbytes + sieve


@dataclass(frozen=True, eq=False)
class WordNode:
    """A node of the word tree: the words that its sets hold, and those that they avoid."""

    held: Bools
    out: Bools

    @property
    def bytes(self) -> int:
        return self.held.nbytes + self.out.nbytes


class EvidenceCheck:
    """One certificate after its header: reads the evidence for the claim, or says which
    line fails.
    """

    def __init__(
        self, classifier: Classifier, header: Header, sets: Sets, evidence: LineReader
    ) -> None:
        self.header = header
        self.sets = sets
        self.evidence = evidence
        labels = list(classifier.labels)
        self.label = labels.index(header.label)
        self.rivals = {name: place for place, name in enumerate(labels) if name != header.label}
        self.network = NetworkBounds(classifier.network.steps, self.label, sets, evidence.limit)
        self.all_inputs = VariedInputs(sets)
        self.point_margins = PointMargins(self.network, self.label, evidence.limit, self.all_inputs)
        self.default_choice = (
            np.full(self.network.unit_count, np.nan),
            np.zeros(self.network.unit_count),
        )
        self.no_lemmas = np.full((2, self.network.unit_count), np.inf) * [[-1.0], [1.0]]
        self.queue: list[Leaf] = []
        self.queue_context: tuple[InputSet, float] = (
            self.all_inputs,
            1.0,
        )  # what the waiting leaves are about

    def run(self) -> None:
        """The evidence for the claim, and nothing after it."""
        features = self.header.features
        claim = self.header.claim
        match claim:
            case Sufficient(positions):
                self.check_sufficient(features & ~positions)
            case Independent(of):
                self.check_sufficient(of)
            case Cheapest(positions, costs, include, exclude, _, lower):
                self.check_sufficient(features & ~positions)
                self.evidence.expect({"prove": "cheapest"}, "the word tree")
                self.word_tree(include, exclude, costs, lower, ())
            case All(sets, costs, include, exclude, cost):
                for held in sets:
                    self.check_sufficient(features & ~held)
                self.evidence.expect({"prove": "all"}, "the word tree")
                self.word_tree(include, exclude, costs, cost + 1, sets)
            case Flip():
                self.require_label()
                self.check_flip(claim)
            case Infeasible(exclude):
                self.require_label()
                self.check_counterexample(self.take_line("point"), exclude)
            case Refuted(positions):
                self.require_label()
                self.check_counterexample(self.take_line("point"), features & ~positions)
            case _:
                assert_never(claim)
        self.check_queue()
        self.evidence.end()

    def take_line(self, name: str) -> Any:
        return read_fields(self.evidence.take(), name, "this line")[0]

    # --- points ---

    def require_label(self) -> None:
        """No rival has a higher score at the text itself; where words are proved to suffice, that
        follows.
        """
        for rival in self.rivals.values():
            need(self.point_margins.sign(self.sets.center, rival) >= 0, "the text's label differs")

    def check_counterexample(self, data: Any, allowed: Bools) -> Point:
        """An input that changes only allowed words, at which the rival's score is at least the
        label's.
        """
        point = read_point(data, self.sets, allowed, "rival")
        need(
            self.point_margins.sign(point.vectors, self.rival_index(data["rival"])) <= 0,
            "the label keeps its lead at this point",
        )
        return point

    def rival_index(self, name: Any) -> int:
        need(
            type(name) is str and name in self.rivals,
            f"{str(name)[:80]!r} is no rival of the label",
        )
        return self.rivals[name]

    # --- proofs over input sets ---

    def check_sufficient(self, free: Bools) -> None:
        """For every rival, a proof tree over all changes of free words, or of at most so many of
        them.
        """
        inputs = self.all_inputs
        budget = 0
        if self.sets.at_most is not None:
            inputs = VariedInputs(self.sets, np.ones(len(free), dtype=np.int64))
            budget = self.sets.at_most
        state = inputs.initial_state(free, budget)
        for name, rival in self.rivals.items():
            self.evidence.expect(
                {"prove": "sufficient", "rival": name}, f"a proof against {name!r}"
            )
            self.proof_tree(rival, inputs, 1.0, state)

    def check_flip(self, claim: Flip) -> None:
        """A flip that costs what is claimed, and for every rival a proof that changes which cost
        less are none.
        """
        aims = list(self.rivals) if claim.towards is None else [claim.towards]
        if claim.positions is not None:
            data = self.take_line("point")
            point = self.check_counterexample(data, claim.positions)
            need(
                (point.changed == claim.positions).all(),
                "the flip must change just the positions of the claim",
            )
            need(data["rival"] in aims, "the flip is towards another label")
        if claim.lower:
            # what is left over of a budget buys nothing
            unit = int(np.gcd.reduce(claim.costs.units))
            inputs = VariedInputs(self.sets, claim.costs.units // unit)
            state = inputs.initial_state(
                self.header.features, (claim.lower - 1) // unit, self.sets.at_most
            )
            for name in aims:
                self.evidence.expect({"prove": "flip", "rival": name}, f"a proof against {name!r}")
                self.proof_tree(self.rivals[name], inputs, 1.0, state)

    def proof_tree(self, rival: int, inputs: InputSet, sign: float, state: InputState) -> None:
        """Read a proof tree that sign·margin is above zero over an input set; its leaves wait for
        each other.
        """
        if self.queue_context != (inputs, sign):
            self.check_queue()
            self.queue_context = inputs, sign

        def visit(line: dict[str, Any], node: ProofNode) -> tuple[ProofNode, ...]:
            if "split" in line:
                return self.split_unit(line, node)
            if "pick" in line:
                first, second = inputs.pick(line, node.state)
                return replace(node, state=first), replace(node, state=second)
            if "bound" in line:
                return (self.lemma(line, node, rival),)
            if "sieve" in line:
                return (self.fixing_stage(read_fields(line, "sieve", "this line")[0], node, rival),)
            leaf = self.leaf(read_fields(line, "leaf", "this line")[0], node, rival)
            enqueue = (
                self.enqueue
                if node.tuple_state is None or not node.tuple_state.infeasible
                else self.skip
            )
            enqueue(leaf)
            return ()

        self.read_tree(
            ProofNode(np.zeros(self.network.unit_count, dtype=np.int8), state, self.no_lemmas),
            visit,
        )

    def split_unit(self, line: Any, node: ProofNode) -> tuple[ProofNode, ProofNode]:
        """A unit's sum is at most zero, or at least zero; a maximum is reached by another unit, or
        by this one.
        """
        unit = read_integer(
            read_fields(line, "split", "a split")[0], 0, self.network.unit_count, "the unit"
        )
        if self.network.in_maximum[unit]:
            may_win = self.network.undecided_candidates(node.signs, unit)
            need(
                unit in may_win and len(may_win) > 1,
                "only one of several units that may still win can be split on",
            )
        else:
            need(
                self.network.nonlinear[unit] and not node.signs[unit],
                "only a relu or curve that is not split yet can be split",
            )
        below = node.signs.copy()
        above = node.signs.copy()
        tuple_states: tuple[TupleState | None, TupleState | None] = (None, None)
        below[unit] = -1
        above[unit] = 1
        if node.tuple_state is not None:
            tuple_states = node.tuple_state.split(unit, self.network.first_unit(unit))
        return replace(node, signs=below, tuple_state=tuple_states[0]), replace(
            node, signs=above, tuple_state=tuple_states[1]
        )

    def fixing_stage(self, data: Any, node: ProofNode, rival: int) -> ProofNode:
        """Lines above bundles of maxima, and what they leave of who may win them."""
        alpha, groups, words, rows = read_fields(data, "alpha bundles words rows", "a sieve")
        inputs, sign = self.queue_context
        slopes = numbers(alpha, self.network.unit_count)
        need(np.isfinite(slopes).all(), "alpha must be numbers")
        leaf = Leaf(
            self.evidence.number,
            rival,
            node.signs,
            slopes,
            self.default_choice[1],
            node.state,
            node.lemma_bounds,
        )
        margin = self.network.margin_over_maxima(inputs, sign, leaf)
        box = NormalisedBox.of(self.network.steps[0], self.sets, node.state)
        before = margin.initial_state if node.tuple_state is None else node.tuple_state
        stage = FixingStage.read(
            groups, words, rows, before, margin, box, self.sets.center.shape[1]
        )
        return replace(
            node, tuple_state=fix_tuples(before, stage, margin, box, self.evidence.limit)
        )

    def lemma(self, line: Any, node: ProofNode, rival: int) -> ProofNode:
        """A bound of a relu's sum, which waits to be shown like a leaf, and holds wherever this
        node leads.
        """
        side = "most" if "most" in line else "least"
        place, value, data = read_fields(line, f"bound {side} leaf", "a bound")
        unit = read_integer(place, 0, self.network.unit_count, "the unit")
        sign = -1 if side == "most" else 1
        need(self.network.is_relu[unit], "only the sum of a relu can be bounded")
        bound = float(read_table([[value]], (1, 1), "the bound")[0, 0])
        self.enqueue(replace(self.leaf(data, node, rival), lemma=Lemma(unit, sign, bound)))
        lemma_bounds = node.lemma_bounds.copy()
        row = 0 if sign > 0 else 1
        lemma_bounds[row, unit] = (
            max(lemma_bounds[row, unit], bound) if sign > 0 else min(lemma_bounds[row, unit], bound)
        )
        return replace(node, lemma_bounds=lemma_bounds)

    def leaf(self, data: Any, node: ProofNode, rival: int) -> Leaf:
        """A leaf as it was written, over all units."""
        has_planes = type(data) is dict and "above" in data
        alpha, beta, *plane_data = read_fields(
            data, "alpha beta above" if has_planes else "alpha beta", "a leaf"
        )
        units = self.network.unit_count
        need(type(beta) is dict, "beta must be an object")
        if alpha is None and not beta and not has_planes:
            return Leaf(
                self.evidence.number,
                rival,
                node.signs,
                *self.default_choice,
                node.state,
                node.lemma_bounds,
            )
        slopes = np.full(units, np.nan) if alpha is None else numbers(alpha, units)
        split_terms = self.split_terms(beta, node.signs) if beta else self.default_choice[1]
        planes = self.planes(plane_data[0], node) if has_planes else None
        return Leaf(
            self.evidence.number,
            rival,
            node.signs,
            slopes,
            split_terms,
            node.state,
            node.lemma_bounds,
            planes,
        )

    def split_terms(self, beta: dict[str, Any], signs: Signs) -> Floats:
        """The multipliers of splits times their signs."""
        names = self.named_units(beta, len(signs))
        push = np.zeros(len(signs))
        push[names] = (
            read_table([list(beta.values())], (1, len(beta)), "beta", 0.0)[0] * signs[names]
        )
        return push

    def named_units(self, data: dict[str, Any], units: int) -> list[int]:
        """The units that an object names."""
        names = [
            read_integer(int(name), 0, units, "a unit") for name in data if str(int(name)) == name
        ]
        need(len(names) == len(data), "a unit must be named by a plain number")
        return names

    def planes(self, data: Any, node: ProofNode) -> UpperPlanes:
        """Shares, by word or by number of the input, for relus of the first step that are not split
        on, and maxima.
        """
        listed = type(data) is dict and "words" in data
        per, *words, shares = read_fields(
            data, "per words shares" if listed else "per shares", "above"
        )
        need(
            type(shares) is dict and shares and self.network.unit_slices,
            "above must have shares of units",
        )
        need(per in ("word", "number"), "shares are per word or per number")
        units = np.array(self.named_units(shares, len(self.network.steps[0].bias)))
        allowed = self.network.relu_masks[0][units] & (node.signs[units] == 0)
        if per == "number" and self.network.max_groups[0] is not None:
            allowed |= np.isin(units, self.network.max_groups[0].units[:, 0])
        need(
            allowed.all(),
            "only an open relu, or by number the first unit of a maximum, can have a line above",
        )
        length, dimension = self.sets.center.shape
        all_words = np.ones(length, dtype=bool)
        words_listed = (
            read_positions(words[0], all_words, "the words of shares") if listed else all_words
        )
        need(per == "number" or not listed, "only numbers have shares of some words")
        words_listed = words_listed if per == "word" else np.repeat(words_listed, dimension)
        values = np.zeros((len(units), len(words_listed)))
        values[:, words_listed] = np.clip(
            [numbers(share, int(words_listed.sum())) for share in shares.values()], 0.0, 1.0
        )
        return UpperPlanes(units, values)

    # --- the word tree ---

    def word_tree(
        self, include: Bools, exclude: Bools, costs: Costs, below: int, listed: tuple[Bools, ...]
    ) -> None:
        """Read the tree that shows: no set that fits and costs less than `below` suffices, but
        those listed.
        """
        restorations = Restorations(self.sets.center, costs.units)

        def visit(line: dict[str, Any], node: WordNode) -> tuple[WordNode, ...]:
            need(len(line) == 1, "a line of the word tree has one key")
            ((name, value),) = line.items()
            if name == "word":
                return self.split_word(value, node)
            if name == "cost":
                need(
                    value is True and costs.of(node.held) >= below,
                    "the held words do not cost enough yet",
                )
            elif name == "set":
                held = listed[read_integer(value, 0, len(listed), "the set")]
                need((node.held == held).all(), "the held words are not those of this set")
            elif name == "attack":
                self.check_counterexample(value, node.out)
            else:
                self.check_restoration(line, node, costs, below, restorations)
            return ()

        self.read_tree(WordNode(include, exclude), visit)

    def split_word(self, value: Any, node: WordNode) -> tuple[WordNode, WordNode]:
        """An open word is held, or out."""
        place = read_integer(value, 0, len(node.held), "the word")
        need(
            (self.header.features & ~node.held & ~node.out)[place],
            "only an open word can be held or out",
        )
        held = node.held.copy()
        out = node.out.copy()
        held[place] = True
        out[place] = True
        return replace(node, held=held), replace(node, out=out)

    def check_restoration(
        self, line: Any, node: WordNode, costs: Costs, below: int, restorations: Restorations
    ) -> None:
        """An attack that no affordable choice of open words undoes."""
        perturbed, rival, budget = read_fields(
            read_fields(line, "restoration", "this line")[0], "start rival budget", "a restoration"
        )
        point = read_point(perturbed, self.sets, self.header.features & ~node.held, mixtures=False)
        enough = read_integer(budget, 0, EXACT_INTEGERS, "budget") >= below - 1 - costs.of(
            node.held
        )
        need(enough, "the budget is lower than what an explanation can afford")
        open_words = self.header.features & ~node.held & ~node.out
        self.proof_tree(
            self.rival_index(rival),
            restorations,
            -1.0,
            restorations.initial_state(point.vectors, open_words, budget),
        )

    # --- walking and waiting ---

    def read_tree(
        self, root: Side, visit: Callable[[dict[str, Any], Side], tuple[Side, ...]]
    ) -> None:
        """Read a tree in preorder: `visit` gives the sides of a node that cuts, which are two, and
        none for a leaf.
        """
        queue = [root]
        open_bytes = root.bytes
        while queue:
            node = queue.pop()
            sides = visit(self.evidence.take(), node)
            queue += reversed(sides)
            open_bytes += sum(side.bytes for side in sides) - node.bytes
            need(open_bytes <= MAX_OPEN_BYTES, "the tree is too deep to be kept in memory")

    def enqueue(self, leaf: Leaf) -> None:
        self.queue.append(leaf)
        if len(self.queue) >= min(LEAF_BATCH, 1 + MAX_QUEUE_BYTES // max(1, leaf.bytes)):
            self.check_queue()

    def skip(self, leaf: Leaf) -> None:
        """A leaf at which sieves have left nobody holds."""

    def check_queue(self) -> None:
        """Work on the leaves that wait; the first one that does not hold is the line that fails."""
        undecided = self._left_by_running(self._left_by_intervals(self.queue))
        self.queue = []
        widest = max(len(step.bias) for step in self.network.steps[-2:])
        batch_size = max(1, CHUNK // (self.network.row_width * widest))
        for _, same_step in itertools.groupby(undecided, self.network.step_index):
            leaves = list(same_step)
            for start in range(0, len(leaves), batch_size):
                self._check_batch(leaves[start : start + batch_size])

    def _check_batch(self, batch: list[Leaf]) -> None:
        self.evidence.limit.check_time(batch[0].line_number)
        for leaf, held in zip(
            batch, self.network.leaf_holds(*self.queue_context, batch), strict=True
        ):
            if not held:
                raise Rejected(leaf.line_number, "the bound of this leaf is not above zero")

    def _left_by_intervals(self, leaves: list[Leaf]) -> list[Leaf]:
        """The leaves without those that picks alone led to, that choose nothing, and that sums
        decide.
        """
        inputs, sign = self.queue_context
        if not isinstance(inputs, VariedInputs) or not applies_to(self.network):
            return leaves
        unchosen = [
            leaf
            for leaf in leaves
            if leaf.alpha is self.default_choice[0] and leaf.split_terms is self.default_choice[1]
        ]
        picked = [
            leaf
            for leaf in unchosen
            if leaf.lemma is None and leaf.planes is None and not leaf.signs.any()
        ]
        proved = {
            leaf.line_number
            for leaf, held in zip(
                picked, proved_by_intervals(self.network, inputs, sign, picked), strict=True
            )
            if held
        }
        return [leaf for leaf in leaves if leaf.line_number not in proved]

    def _left_by_running(self, leaves: list[Leaf]) -> list[Leaf]:
        """The leaves without those that have a single input, at which sign·margin is above zero
        beyond rounding.
        """
        if any(step.curves for step in self.network.steps):
            return leaves
        return [
            leaf
            for i in range(0, len(leaves), POINT_BATCH)
            for leaf in self._left_of_batch(leaves[i : i + POINT_BATCH])
        ]

    def _left_of_batch(self, leaves: list[Leaf]) -> list[Leaf]:
        inputs, sign = self.queue_context
        distinct, which = distinct_states([leaf.state for leaf in leaves])
        points = [inputs.single_input(state) for state in distinct]
        margins = [
            (place, points[mine]) for place, mine in enumerate(which) if leaves[place].lemma is None
        ]
        single_inputs = {place: point for place, point in margins if point is not None}
        if not single_inputs:
            return leaves
        scores = self.network.scores_in_doubles(np.stack(list(single_inputs.values())))
        rivals = [leaves[place].rival for place in single_inputs]
        point_leads = sign * (scores[:, self.label] - scores[np.arange(len(single_inputs)), rivals])
        certain = point_leads > (
            self.network.score_errors[self.label] + self.network.score_errors[rivals]
        ) * (1 + self.network.error_rate)
        held = {place for place, above in zip(single_inputs, certain, strict=True) if above}
        return [leaf for place, leaf in enumerate(leaves) if place not in held]
