"""The prover's own numbers are on the safe side of the checkers', each of which has its own."""

from __future__ import annotations

import math

import pytest

from suffice.proof.bag import tolerances as checker
from suffice.proof.replay import limits as replay
from suffice.settings import DEFAULT, RESOURCES
from suffice.verify import tolerances as prover


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (prover.FORM_SHARE, checker.ROUNDING_SHARE),
        (prover.MODEL_MARGIN, checker.NEAR_ZERO[False]),
        (prover.TREE_MARGIN, checker.NEAR_ZERO[True]),
    ],
    ids=["forms", "rows of features", "trees"],
)
def test_what_decides_for_us_is_farther_from_zero_than_what_decides_for_the_checker(ours, theirs):
    assert ours >= 5 * theirs


def test_slopes_leave_their_steps_by_less_than_the_checker_allows():
    assert 0.9 * checker.SLOPE_MARGIN < prover.SLOPE_MARGIN < checker.SLOPE_MARGIN * (1 - 1e-6)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (RESOURCES.trellis_edges, checker.MOST_EDGES),
        (RESOURCES.table_entries, checker.MOST_ROWS),
        (RESOURCES.token_runs, checker.MOST_RUNS),
        (RESOURCES.unclear_texts, checker.MOST_UNCLEAR),
        (RESOURCES.majorant_costs, checker.MOST_COSTS),
        (DEFAULT.norm_form.counted_changes, checker.MOST_COUNTED_CHANGES),
        (3 * DEFAULT.norm_form.counted_changes, checker.MOST_COUNTED_CHANGES),
        (RESOURCES.most_texts, replay.MOST_TEXTS),
    ],
    ids=["edges", "tables", "runs", "unclear", "costs", "changes", "trellis changes", "texts"],
)
def test_nothing_is_built_that_is_too_large_for_the_checker(ours, theirs):
    assert ours <= theirs


def test_a_line_over_a_range_that_counts_as_a_point_loses_less_than_decides():
    """Of b sqrt(S): by a chord over [1, 1 + r], and by the tangent in (1 + r)^2 at S = 1."""
    r = prover.NARROW_RANGE
    low, high = 1.0, math.sqrt(1.0 + r)
    middle = (1.0 + (1.0 + r)) / 2
    chord = (low + high) / 2
    assert math.sqrt(middle) - chord < prover.FORM_SHARE
    tangent = 1.0 / (2 * (1.0 + r)) + (1.0 + r) / 2
    assert tangent - 1.0 < prover.FORM_SHARE


def test_cuts_keep_more_room_than_the_checker_takes_off_a_bound():
    assert float(checker.ROUNDED_OFF) < prover.SOLVER
