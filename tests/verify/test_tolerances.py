"""Tolerances: the prover's, the checker's and the exact checker's, held against each other.

None imports another's, so that each could be wrong alone: here they are equal where all readers
must decide alike, and elsewhere the prover takes off at least as much as the checker does.
"""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import suffice
from suffice.model.curves import FUZZ
from suffice.proof import check_exact
from suffice.proof.check import tolerances as checker
from suffice.proof.check.layers import StepTables
from suffice.verify import tolerances as prover

SOURCE = Path(suffice.__file__).parent
ALIKE = ("UNIT_ROUNDOFF", "TIE_RATIO", "TIE_TOLERANCE", "ZERO_TOLERANCE", "CURVE_SLOPE_STRIDE")


def numbers(module: ModuleType) -> dict[str, float]:
    return {name: value for name, value in vars(module).items() if name.isupper()}


@pytest.mark.parametrize("name", ALIKE)
def test_all_readers_decide_alike(name):
    assert getattr(prover, name) == getattr(checker, name)


def test_the_exact_checker_calls_the_same_bounds_equal():
    assert check_exact.TIE == prover.TIE_TOLERANCE == prover.TIE_RATIO - 1


@pytest.mark.parametrize("shape", [(1, 1), (30, 8), (4000, 200), (60_000, 2)])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_bounds_are_lowered_by_at_least_as_much_as_the_checker_lowers_them(shape, steps):
    terms = sum(shape)
    for mine, yours in (
        (prover.GAMMA_FACTOR, checker.ERROR_FACTOR),
        (prover.GAMMA_FACTOR_WITH_MAXIMA, checker.ERROR_FACTOR_WITH_MAXIMA),
    ):
        assert mine * (terms + prover.GAMMA_TERMS) >= yours * (
            terms + 2 * steps + checker.ERROR_TERMS
        )


def test_the_checker_lowers_bounds_by_what_its_tolerances_say(tiny):
    steps = tiny.network.steps
    terms = max(sum(step.weight.shape) for step in steps) + 2 * len(steps) + checker.ERROR_TERMS
    assert StepTables(steps).error_rate == checker.ERROR_FACTOR * terms * checker.UNIT_ROUNDOFF


def test_chords_are_raised_by_at_least_as_much():
    """The prover raises by a part of the upper end u, the checker by one of the intercept, which is
    no larger: u(1 - u/(u - l)) for l < 0 < u.
    """
    assert prover.CHORD_ROUNDING >= checker.CHORD_RATIO - 1


def test_lines_above_maxima_are_raised_by_at_least_as_much():
    """For the same number of candidates: the checker pads groups to the largest of a step."""
    assert prover.MAXIMUM_ROUNDING >= checker.MAXIMUM_ROUNDING
    assert prover.MAXIMUM_TERMS >= checker.MAXIMUM_TERMS


def test_lines_around_curves_give_away_at_least_as_much():
    assert prover.CURVE_CELLS <= checker.CURVE_CELLS
    cell = prover.CURVE_CELL_RATIO / prover.CURVE_CELLS
    assert cell >= 1 / (checker.CURVE_CELLS - checker.CURVE_CELL_LOSS)
    assert FUZZ >= checker.FUNCTION_ERROR


def test_no_number_is_believed_that_the_checker_refuses():
    assert float(check_exact.HUGE) > prover.OVERFLOW_LIMIT
    assert prover.UNDERFLOW_CUSHION > checker.TINY
    assert float(np.finfo(np.float64).tiny) <= prover.UNDERFLOW_ERROR


def test_shares_are_held_exactly_by_singles():
    for denominator in (prover.SHARE_DENOMINATOR, prover.ROW_SHARE_DENOMINATOR):
        parts = np.arange(denominator + 1) / denominator
        assert (parts.astype(np.float32) == parts).all()
        assert check_exact.WEIGHT_DENOMINATOR % denominator == 0


def test_sets_of_options_and_places_fit_an_integer():
    places = 2 ** (63 - prover.MAX_CODED_OPTIONS)
    largest = (2**prover.MAX_CODED_OPTIONS - 1) * places + places - 1
    assert largest <= np.iinfo(np.int64).max


def test_intervals_are_widened_beyond_rounding():
    """Of every step with up to four million inputs."""
    assert prover.WIDENING > 2 * 4_000_000 * prover.UNIT_ROUNDOFF


@pytest.mark.parametrize("module", [prover, checker])
def test_every_tolerance_is_read(module):
    """By the checker, or on the prover's side: the search and the verbs too."""
    path = Path(module.__file__)
    sides = [path.parent, SOURCE / "optimise", SOURCE / "verbs"]
    folders = [path.parent] if module is checker else sides
    readers = [other for folder in folders for other in folder.rglob("*.py") if other != path]
    others = "\n".join(reader.read_text(encoding="utf-8") for reader in readers)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    for name in numbers(module):
        assert name in others or inside.count(name) > 1, name


@pytest.mark.parametrize("module", [prover, checker])
def test_every_tolerance_says_why(module):
    """A comment stands above each, or above the group of lines that it stands in."""
    lines = Path(module.__file__).read_text(encoding="utf-8").splitlines()
    for name in numbers(module):
        place = next(i for i, line in enumerate(lines) if line.startswith(f"{name} ="))
        while lines[place - 1] and not lines[place - 1].startswith("#"):
            place -= 1
        assert lines[place - 1].startswith("# "), name
        assert not lines[place - 1].startswith("# ---"), name
