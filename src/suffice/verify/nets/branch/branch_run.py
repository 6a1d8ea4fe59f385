"""One run of branch and bound over a batch of queries: what all of its subproblems share.

Method: branch and bound in batches (theory, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from suffice.model.network import Floats, Ints
from suffice.settings import RESOURCES, Settings
from suffice.verify.contract import Budget
from suffice.verify.nets.branch.subproblem import (
    InputSet,
    PointTest,
    RegionQuery,
    Subproblem,
    root_subproblem,
)
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.crown.plane_ascent import NormalisedRegion
from suffice.verify.nets.crown.relu_planes import ReluPlanes
from suffice.verify.nets.crown.restoration_ascent import NormalisedRestorations
from suffice.verify.nets.input_sets import Restorations
from suffice.verify.tolerances import ZERO_TOLERANCE


@dataclass(eq=False)
class BranchRun:
    """Queries about one prepared problem, against rivals of which `sign` times the margin must stay
    positive.

    `batch_size` is how many subproblems are worked on together, `capacity` how many more fit into
    memory. `planes` are the upper planes of the first step that a dual may take.
    """

    prepared: PreparedProblem
    sign: float
    point_test: PointTest
    budget: Budget
    queries: list[RegionQuery]
    planes: ReluPlanes | MaxPlanes | None
    batch_size: int
    capacity: int
    # by the words that are free
    regions: dict[bytes, NormalisedRegion] = field(default_factory=dict)
    restorations: dict[int, NormalisedRestorations] = field(default_factory=dict)  # by query

    @staticmethod
    def of(
        prepared: PreparedProblem,
        inputs: InputSet,
        rivals: Sequence[Sequence[int]],
        sign: float,
        point_test: PointTest,
        budget: Budget,
    ) -> BranchRun:
        queries = [
            RegionQuery(
                [
                    root_subproblem(q, rival, inputs.take(slice(q, q + 1)), prepared.unit_count)
                    for rival in rivals_of_query
                ]
            )
            for q, rivals_of_query in enumerate(rivals)
        ]
        planes = _upper_planes(prepared, sign, inputs) if prepared.steps else None
        smallest, largest = RESOURCES.batch_sizes
        by_work = 2 * RESOURCES.chunk_work // prepared.intermediate_work
        batch_size = min(prepared.batch_limit, max(smallest, min(largest, by_work)))
        if isinstance(planes, MaxPlanes):
            by_shares = RESOURCES.batch_shares // planes.share_count
            small_round = prepared.settings.branching.small_round
            batch_size = min(batch_size, max(small_round, by_shares))
        return BranchRun(
            prepared,
            sign,
            point_test,
            budget,
            queries,
            planes,
            batch_size,
            _capacity(prepared, planes),
        )

    @property
    def settings(self) -> Settings:
        return self.prepared.settings

    @property
    def unsplittable_reason(self) -> str:
        if self.prepared.curved is not None:
            return (
                "bounds of smooth activations leave it open, and no complete answer exists for them"
            )
        return "the margin is too close to zero to be decided"

    def query_of(self, subproblem: Subproblem) -> RegionQuery:
        return self.queries[subproblem.query]

    def is_answered(self, subproblem: Subproblem) -> bool:
        return self.query_of(subproblem).answer is not None

    def test_points(self, subproblems: Sequence[Subproblem], points: Floats) -> None:
        """Run points where bounds are attained through the real network: one may answer its
        query."""
        margins = self.prepared.problem.margins(points)[
            np.arange(len(subproblems)), [subproblem.rival for subproblem in subproblems]
        ]
        for subproblem, answer in zip(
            subproblems,
            self.point_test([each.inputs for each in subproblems], points, margins),
            strict=True,
        ):
            query = self.query_of(subproblem)
            if query.answer is None:
                query.answer = answer


def _capacity(prepared: PreparedProblem, planes: ReluPlanes | MaxPlanes | None) -> int:
    """How many subproblems fit into memory."""
    own, per_unit, per_number, per_share = RESOURCES.subproblem_bytes
    share_bytes = 0 if planes is None else per_share * planes.share_count
    number_bytes = per_number * prepared.problem.center.size
    return RESOURCES.run_bytes // (
        own + per_unit * prepared.unit_count + number_bytes + share_bytes
    )


def _upper_planes(
    prepared: PreparedProblem, sign: float, inputs: InputSet
) -> ReluPlanes | MaxPlanes | None:
    """The upper planes that a dual may choose: of relus of the first step, or of its maxima."""
    first = prepared.steps[0]
    region = prepared.problem.region
    if first.groups is None:
        return ReluPlanes.of(
            first, units_taking_upper(prepared, sign, prepared.undecided_units[0]), inputs, region
        )
    if isinstance(inputs, Restorations) and not only_maxima(prepared):
        return None
    maxima = np.flatnonzero(
        np.isin(first.groups.leaders, units_taking_upper(prepared, sign, first.groups.leaders))
    )
    full_first = first if prepared.full is None else prepared.full.steps[0]
    return MaxPlanes.of(
        first, maxima, ZERO_TOLERANCE * prepared.magnitude[0], inputs, region, full_first
    )


def only_maxima(prepared: PreparedProblem) -> bool:
    """Whether there is nothing but maxima of the input to choose lines for."""
    return len(prepared.steps) == 1 and bool(prepared.steps[0].pooled.all())


def units_taking_upper(prepared: PreparedProblem, sign: float, units: Ints) -> Ints:
    """Those units of the first step that may take an upper plane: with one hidden step that is
    known."""
    if len(prepared.steps) > 1:
        return units
    return np.asarray(units[(sign * prepared.margin.dense()[:, units] < 0).any(0)])
