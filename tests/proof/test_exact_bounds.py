"""Every bound of the checker and of the prover, compared with the same bound in fractions: rounding
never helps.

The lines that doubles put around relus are taken as they are; what follows from them is worked out
once more in fractions, by the second checker's backward pass. A bound in doubles must not be above
that. Networks are made so that each of the terms taken off for rounding is the one that counts
somewhere, and each of these terms, taken out of the source, is missed.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import suffice as sf
from suffice.model.classifier import Classifier
from suffice.model.network import Network
from suffice.model.step import Groups
from suffice.proof import check_exact as exact
from suffice.proof.check import inputs as checked_inputs
from suffice.proof.check import max_lines as checked_maxima
from suffice.proof.check import network
from suffice.proof.check.header import read_header
from suffice.proof.check.limits import Limit
from suffice.proof.check.sets import read_sets
from suffice.verify.nets import crown
from suffice.verify.nets.branch import input_sets_of
from suffice.verify.nets.crown import max_lines as proving_maxima

STYLES = ("plain", "cancelling", "biased", "late", "tiny")
SEEDS = 6
TEXT = ["a", "b", "c"]
FREE = np.array([True, False, True])  # the word between stays as it is, whatever its vector


@dataclass(frozen=True, eq=False)
class Case:
    """A classifier and boxes around some words of its text, as both checkers see them."""

    classifier: Classifier
    perturbation: sf.Boxes
    features: list[int]

    @property
    def header(self) -> dict[str, Any]:
        return {
            "certificate": 2,
            "model": self.classifier.digest,
            "text": TEXT,
            "perturbation": self.perturbation.to_dict(),
            "features": self.features,
            "label": "x",
            "claim": {"kind": "sufficient", "positions": []},
        }


def make_case(style: str, seed: int) -> Case:
    """Three steps of relus; `style` says where large numbers cancel, or how small numbers are."""
    rng = np.random.default_rng([seed, *map(ord, style)])
    sizes = [6, 5, 4, 3]
    layers = [
        [rng.standard_normal((b, a)), rng.standard_normal(b)] for a, b in itertools.pairwise(sizes)
    ]
    table = rng.standard_normal((5, 2))
    if (
        style == "cancelling"
    ):  # the fixed word is large, and what it adds is taken off again by the bias
        table[3] *= 1e9
        layers[0][1] -= layers[0][0][:, 2:4] @ table[3]
    elif style == "biased":  # what a step adds is nothing beside what it starts from
        for layer in layers:
            layer[0] /= 1e6
        layers[1][1] *= 1e6
        layers[2][1] *= 1e6
    elif style == "late":  # relus see differences of large values
        layers[0][1] += 1e7
        layers[1][1] -= layers[1][0] @ layers[0][1]
    elif style == "tiny":  # products fall below the smallest double
        layers[0][0] *= 2.0**-560
        layers[0][1] *= 0.0
        layers[1][1] *= 0.0
        table *= 2.0**-560
    network_ = Network.dense([(weight, bias) for weight, bias in layers])
    classifier = Classifier(network_, table, ["<PAD>", "<UNK>", *TEXT], ["x", "y", "z"], 3)
    center = classifier.embed(classifier.read(TEXT))
    reach = np.abs(table).min() + np.abs(table[[2, 3, 4]]) / 3
    reach = np.where(FREE[:, None], reach, 0.0)
    return Case(classifier, sf.Boxes(center - reach, center + reach), [0, 2])


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Case, exact.Model]]:
    folder = tmp_path_factory.mktemp("model")
    found = []
    for style, seed in itertools.product(STYLES, range(SEEDS)):
        case = make_case(style, seed)
        case.classifier.save(folder)
        found.append((case, exact.load(folder)))
    return found


# --- the same in fractions ---


class Exactly:
    """The second checker's bounds, with lines that somebody else drew."""

    def __init__(self, case: Case, model: exact.Model) -> None:
        own = [exact.exact(model.table[model.place(token)]) for token in TEXT]
        words = exact.read_sets(case.perturbation.to_dict(), model, TEXT, own)
        self.model, count = model, len(TEXT)
        self.reach = model.intervals([span for word in words for span in word.spans()])
        inputs = exact.Inputs(own, words, 0, frozenset(), [1] * count, 0, count)
        self.leaf = exact.Leaf(model, self.reach, inputs, {}, {})
        self.leaf.lines = {}

    def draw(self, below: Any, above: Any, shift: Any) -> None:
        """The lines of the next step."""
        for row in zip(below.tolist(), above.tolist(), shift.tolist(), strict=True):
            self.leaf.lines[len(self.leaf.lines)] = exact.UnitLines(*map(Fraction, row))

    def line(self, k: int, unit: int) -> exact.UnitLines:
        return self.leaf.lines[self.model.steps[k][unit]]

    def ends(self, k: int, unit: int) -> tuple[Fraction, Fraction]:
        """The best that intervals and lines say of a unit."""
        step = self.model.steps[k]
        place = self.model.steps[k][unit]
        row = self.model.rows[place]
        bias = self.model.bias[place]
        reach = self.reach[place]
        minus = {column: -factor for column, factor in row.items()}
        low = self.leaf.backward_bound(row, bias, step.start)
        high = -self.leaf.backward_bound(minus, -bias, step.start)
        return max(low, reach[0]), min(high, reach[1])

    def margin(self, label: int, rival: int, push: Any) -> Fraction:
        """With something taken off each hidden unit's coefficient."""
        last = self.model.steps[-1]
        (mine, constant), (other, constant_) = (
            (self.model.rows[last[n]], self.model.bias[last[n]]) for n in (label, rival)
        )
        row = {j: mine.get(j, exact.ZERO) - other.get(j, exact.ZERO) for j in {*mine, *other}}
        self.leaf.beta = dict(enumerate(map(Fraction, push.tolist())))
        return self.leaf.backward_bound(row, constant - constant_, last.start)

    def sizes(self, k: int, low: Any, high: Any) -> list[Fraction]:
        """The sums of |weight| |value| + |bias|, for values within these."""
        tops = [max(abs(Fraction(a)), abs(Fraction(b))) for a, b in zip(low, high, strict=True)]
        before = self.model.steps[k - 1].start if k else -len(tops)
        pairs = [(self.model.rows[unit], self.model.bias[unit]) for unit in self.model.steps[k]]
        return [
            sum((abs(f) * tops[j - before] for j, f in row.items()), abs(bias))
            for row, bias in pairs
        ]


def beyond(name: str, low: Any, high: Any, right: tuple[Fraction, Fraction]) -> Iterator[str]:
    if not Fraction(low) <= right[0]:
        yield f"{name}: lower bound"
    if not Fraction(high) >= right[1]:
        yield f"{name}: upper bound"


def bad_lines(name: str, low: Any, high: Any, line: exact.UnitLines) -> Iterator[str]:
    """A relu's lines must hold at both ends of its bounds, as it is convex; 0 <= slope <= 1 is
    right below.
    """
    for z in (Fraction(low), Fraction(high)):
        if not line.lower_slope * z <= max(z, 0) <= line.upper_slope * z + line.upper_intercept:
            yield f"{name}: line"


# --- the checker ---


def check_faults(module: ModuleType, case: Case, model: exact.Model) -> Iterator[str]:
    """Which numbers of the checker's network.py are on the wrong side of what fractions say."""
    right = Exactly(case, model)
    head = read_header(case.header, case.classifier)
    sets = read_sets(head, case.classifier, Limit.of(60))
    net = module.NetworkBounds(case.classifier.network.steps, 0, sets, Limit.of(60))
    inputs = checked_inputs.VariedInputs(sets)
    states = [inputs.initial_state(head.features)]
    around = module.Relaxation.blank(1, net.unit_count)
    values = sets.low.ravel().tolist(), sets.high.ravel().tolist()
    for k, part in enumerate(net.unit_slices):
        known = net.intervals_of_step[k]
        ends = zip(
            known.lower.tolist(),
            known.upper.tolist(),
            (right.reach[unit] for unit in model.steps[k]),
            strict=True,
        )
        for unit, (low, high, reach) in enumerate(ends):
            yield from beyond(f"interval {k}.{unit}", low, high, reach)
        for unit, (size, most) in enumerate(
            zip(known.magnitude.tolist(), right.sizes(k, *values), strict=True)
        ):
            if Fraction(size) < most:
                yield f"size {k}.{unit}"
        lower, upper = net.intermediate_bounds(k, inputs, states, around)
        net._relax_units(k, lower, upper, np.zeros_like(lower, dtype=np.int8), around)
        right_ends = [right.ends(k, unit) for unit in range(part.stop - part.start)]
        right.draw(
            *(
                side[0, part]
                for side in (around.lower_slope, around.upper_slope, around.upper_intercept)
            )
        )
        for unit, ends_ in enumerate(right_ends):
            low = lower[0, unit]
            high = upper[0, unit]
            yield from beyond(f"bound {k}.{unit}", low, high, ends_)
            yield from bad_lines(f"relu {k}.{unit}", low, high, right.line(k, unit))
        values = tuple(np.maximum(side, 0.0).tolist() for side in (known.lower, known.upper))
    rng = np.random.default_rng(0)
    for scale, part in itertools.product((0.0, 1.0, 1e9), net.unit_slices):
        push = np.zeros((1, net.unit_count))
        push[:, part] = scale * rng.standard_normal(part.stop - part.start)
        found = net.backward_bound(
            len(net.unit_slices), net.margin_forms(1.0, [1]), inputs, states, around, push
        )
        if Fraction(found[0, 0]) > right.margin(0, 1, push[0]):
            yield f"margin, multipliers of {scale:g}"


# --- the prover ---


def prove_faults(module: ModuleType, case: Case, model: exact.Model) -> Iterator[str]:
    """The same of the prover's folder `bounds`."""
    right = Exactly(case, model)
    question = sf.Question(case.classifier, TEXT, perturbation=case.perturbation)
    form = module.PreparedProblem.of(question.problem)
    inputs = input_sets_of(form, FREE[None])
    found = module.intermediate_bounds(form, inputs)
    for k, part in enumerate(form.slices):
        right_ends = [right.ends(k, unit) for unit in range(part.stop - part.start)]
        right.draw(
            *(
                side[0, part]
                for side in (found.lower_slope, found.upper_slope, found.upper_intercept)
            )
        )
        for unit, ends in enumerate(right_ends):
            low = found.lower[0, part.start + unit]
            high = found.upper[0, part.start + unit]
            yield from beyond(f"bound {k}.{unit}", low, high, ends)
            yield from bad_lines(f"relu {k}.{unit}", low, high, right.line(k, unit))
    rng = np.random.default_rng(0)
    for scale, part in itertools.product((0.0, 1.0, 1e9), form.slices):
        signs = np.zeros((1, form.unit_count), dtype=np.int8)
        signs[:, part] = rng.choice([-1, 1], part.stop - part.start)
        beta = scale * rng.random((1, form.unit_count))
        batch = module.BoundBatch(inputs, found, module.margin_rows(form, np.array([0])), signs)
        bound = module.backward_bound(form, batch, module.Dual(found.lower_slope, beta)).bound[0]
        push = beta[0] * signs[0]
        if np.isfinite(bound) and Fraction(bound) > right.margin(
            form.problem.label, form.problem.rivals[0], push
        ):
            yield f"margin, multipliers of {scale:g}"


@pytest.mark.parametrize(("faults", "module"), [(check_faults, network), (prove_faults, crown)])
def test_no_bound_is_better_than_in_fractions(faults, module, cases):
    assert [fault for case, model in cases for fault in faults(module, case, model)] == []


# --- without any one of the terms that are there for rounding, some bound is wrong ---


def mutant(module: ModuleType, right: str, wrong: str) -> ModuleType:
    """The module with one piece of its source replaced."""
    source = inspect.getsource(module)
    assert source.count(right) == 1, (
        f"{right!r} is {source.count(right)} times in {Path(module.__file__ or '').name}"
    )
    made = ModuleType(f"{module.__name__}_mutant")
    sys.modules[made.__name__] = made  # dataclasses look their module up
    exec(compile(source.replace(right, wrong), made.__name__, "exec"), made.__dict__)
    return made


def mutant_folder(package: ModuleType, right: str, wrong: str, home: Path) -> ModuleType:
    """The package, copied under another name, with one piece of its source replaced."""
    name = f"mutant_{home.name}"
    sources = {
        path.name: path.read_text(encoding="utf-8")
        for path in Path(package.__path__[0]).glob("*.py")
    }
    count = sum(source.count(right) for source in sources.values())
    assert count == 1, f"{right!r} is {count} times in {package.__name__}"
    (home / name).mkdir()
    for file, source in sources.items():
        changed = source.replace(right, wrong).replace(package.__name__, name)
        (home / name / file).write_text(changed, encoding="utf-8")
    return importlib.import_module(name)


ROUNDED_UP = """np.abs(step.bias)) * (
                1 + 4 * self.error_rate
            ) + TINY"""
CHECK_TERMS = {
    "intervals, below": (
        "minus @ high + step.bias - self.error_rate * size",
        "minus @ high + step.bias",
    ),
    "intervals, above": (
        "minus @ low + step.bias + self.error_rate * size",
        "minus @ low + step.bias",
    ),
    "sizes, rounded": (ROUNDED_UP, "np.abs(step.bias)) + TINY"),
    "sizes, underflow": (ROUNDED_UP, ROUNDED_UP.removesuffix(" + TINY")),
    "sizes, biases": ("minus @ largest + np.abs(step.bias))", "minus @ largest)"),
    "backward": ("values - self.error_rate * magnitude, -np.inf", "values, -np.inf"),
    "backward, through steps": (
        "form.magnitude + weight @ self.intervals_of_step[k].magnitude",
        "form.magnitude",
    ),
    "backward, multipliers": ("weight = weight + np.abs(split_terms[:, None, part])", "pass"),
    "backward, hidden units' own terms": (
        "self.intervals_of_step[k].magnitude[units] + self.magnitude_floor\n        both",
        "0 * self.intervals_of_step[k].magnitude[units]\n        both",
    ),
    "backward, the margin's own terms": (
        """self.intervals_of_step[-1].magnitude[label]
            + self.intervals_of_step[-1].magnitude
            + self.magnitude_floor""",
        "0 * self.intervals_of_step[-1].magnitude",
    ),
    "chords": ("high * (1 - chord)) * CHORD_RATIO + TINY", "high * (1 - chord))"),
    "bounds that touch zero": (
        "np.where(unstable, shift, touched)",
        "np.where(unstable, shift, 0.0)",
    ),
}
PROVE_TERMS = {
    "hidden units, own terms": (
        "errors = [self.gamma * magnitude for",
        "errors = [0 * magnitude for",
    ),
    "hidden units, through steps": (
        "        constant -= np.abs(coefficients) @ prepared.error_rate[k]\n",
        "",
    ),
    "margin, own terms": (
        "batch.rows.constant - prepared.gamma * batch.rows.magnitude",
        "batch.rows.constant",
    ),
    "margin, through steps": ("- absolute @ prepared.error_rate[k]", ""),
    "margin, multipliers": (
        "absolute = absolute + np.abs(multiplier[:, columns])",
        "absolute = absolute + 0",
    ),
    "chords": ("CHORD_ROUNDING * chord_upper", "0 * chord_upper"),
    "bounds that touch zero": ("np.maximum(np.where(inactive, upper, -lower), 0.0)", "0.0"),
    "intervals": ("product_radius + magnitude * WIDENING", "product_radius"),
}


@pytest.mark.parametrize("term", CHECK_TERMS)
def test_a_checker_without_one_of_its_rounding_terms_is_found(term, cases):
    module = mutant(network, *CHECK_TERMS[term])
    assert any(fault for case, model in cases for fault in check_faults(module, case, model))


@pytest.mark.parametrize("term", PROVE_TERMS)
def test_a_prover_without_one_of_its_rounding_terms_is_found(term, cases, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    module = mutant_folder(crown, *PROVE_TERMS[term], tmp_path)
    assert any(fault for case, model in cases for fault in prove_faults(module, case, model))


# --- maxima ---


def corners(low: list[float], high: list[float]) -> Iterator[list[Fraction]]:
    """A maximum is convex: a line above it at all corners of a box is above it everywhere."""
    for sides in itertools.product(*zip(low, high, strict=True)):
        yield list(map(Fraction, sides))


def above_faults(slopes: Any, constant: float, low: list[float], high: list[float]) -> int:
    """At how many corners the line is below the maximum."""
    rows = [Fraction(slope) for slope in slopes.tolist()]
    sums = (
        (sum(a * z for a, z in zip(rows, corner, strict=True)), max(corner))
        for corner in corners(low, high)
    )
    return sum(total + Fraction(constant) < most for total, most in sums)


def maxima_faults(checking: ModuleType, proving: ModuleType, seed: int) -> tuple[int, int]:
    """How often the checker's line above a maximum, and the prover's, is below it."""
    rng = np.random.default_rng(seed)
    low = rng.standard_normal((1, 4)) * 10.0 ** rng.integers(-3, 4)
    high = low + rng.random((1, 4))
    chosen = None if seed % 2 else rng.random((1, 4))
    pools = checking.MaxGroups([np.arange(4)], 4)
    groups = Groups([np.arange(4)], 4)
    _, slopes, constant = checking.max_lines(
        checking.candidates_between(pools, low, high, np.zeros((1, 4), dtype=np.int8), np.zeros(4)),
        None if chosen is None else chosen[:, None],
    )
    range_ = proving.contending_candidates(groups, low, high, None, np.zeros(4))[0]
    _, ours, most = proving.lines(
        range_, proving.initial_choice(range_) if chosen is None else chosen
    )
    ends = low[0].tolist(), high[0].tolist()
    return above_faults(slopes[0, 0], float(constant[0, 0]), *ends), above_faults(
        ours[0], float(most[0, 0]), *ends
    )


def test_no_line_above_a_maximum_is_below_it_in_fractions():
    assert {maxima_faults(checked_maxima, proving_maxima, seed) for seed in range(150)} == {(0, 0)}


def test_lines_above_maxima_that_are_not_rounded_up_are_found():
    checking = mutant(
        checked_maxima,
        "shift.sum(-1) + additions * MAXIMUM_ROUNDING * size",
        "shift.sum(-1)",
    )
    proving = mutant(proving_maxima, "additions * MAXIMUM_ROUNDING", "0 * additions")
    faults = [maxima_faults(checking, proving, seed) for seed in range(150)]
    assert min(sum(one) for one in zip(*faults, strict=True)) > 10
