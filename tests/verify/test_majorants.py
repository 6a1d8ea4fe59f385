"""Ceilings: lines above every text's margin, and the sets of words that they rule out, against all
sets and texts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

import suffice as sf
from suffice.errors import Rejected
from suffice.importers.bag import lowered
from suffice.model.text import written
from suffice.optimise.cuts import majorant_bounds
from suffice.optimise.cuts.cut_lines import _majorant_nodes
from suffice.proof.bag.check import BagCheck
from suffice.proof.bag.majorants import SetConstraints, require_none_sufficient
from suffice.settings import DEFAULT
from suffice.verify.queries import OutOfBudget
from suffice.verify.text import majorants
from suffice.verify.text.lattice import build_lattice
from suffice.verify.text.norm_form import TextInstance
from tests.verify.test_worst_case import (
    WORDS,
    case_of,
    every_text,
    fitted,
    mutated,
    random_pipeline,
    random_question,
    scores,
    sentence,
)

TWICE = "warm soup and fresh bread but cold soup and stale bread"


def cases(
    rng: np.random.Generator, count: int
) -> Iterator[tuple[Pipeline, str, list[tuple[str, ...]], TextInstance]]:
    """Small texts before pipelines whose neighbours count."""
    while count:
        pipeline = random_pipeline(rng)
        source, options = random_question(rng, 7)
        if pipeline is None:
            continue
        layout = build_lattice(
            lowered([step for _, step in pipeline.steps]), written(source), options
        )
        label = int(scores(pipeline, [source])[0].argmax())
        case = case_of(layout, label, (label + 1) % len(layout.bag.bias), None)
        if layout.pairs and np.prod(np.diff(layout.offsets)) <= 600:
            count -= 1
            yield pipeline, source, options, case


def texts_of(case: TextInstance) -> list[np.ndarray]:
    ways = [
        np.flatnonzero(case.allowed[a:b]) + a for a, b in itertools.pairwise(case.lattice.offsets)
    ]
    return [np.array(chosen) for chosen in itertools.product(*ways)]


def form(case: TextInstance, chosen: np.ndarray) -> float:
    """N + b|v|, also where nothing is known of a text."""
    counts = case.lattice.counts(chosen)
    return case.form_and_margin(counts)[0] if counts.any() or case.lattice.bag.norm is None else 0.0


@pytest.mark.parametrize("seed", range(4))
def test_no_feature_counts_more_than_its_range_says(seed):
    for _, _, _, case in cases(np.random.default_rng([1, seed]), 25):
        counts = np.array([case.lattice.counts(chosen) for chosen in texts_of(case)])
        assert (counts.max(0) <= case.full_ranges.most).all()
        assert (counts.min(0) >= case.full_ranges.least).all()


def test_pairs_of_one_kind_are_counted_as_they_can_stand_in_one_text():
    """a a a b b b has one "a b" at the most, a b a b two."""
    pipeline = make_pipeline(
        TfidfVectorizer(ngram_range=(2, 2), token_pattern=r"\w"), LogisticRegression()
    )
    pipeline.fit(["a b", "b a", "a b", "b a"], [0, 1, 0, 1])
    model = lowered([step for _, step in pipeline.steps])
    for source, most in (("a a a b b b", 1), ("a b a b", 2), ("b b a a", 0)):
        layout = build_lattice(model, written(source), [("",)] * len(source.split()))
        place = list(layout.columns).index(pipeline[0].vocabulary_["a b"]) if most else None
        assert place is None or case_of(layout, 0, 1, None).full_ranges.most[place] == most


def wrong_lines(
    rng: np.random.Generator, spoil: Callable[[majorants.LinearMajorant], majorants.LinearMajorant]
) -> int:
    """How many texts lie above a ceiling or below a floor."""
    wrong = 0
    for _, _, _, case in cases(rng, 20):
        mix = case.lattice.counts(case.lattice.first) * rng.random(len(case.lattice.columns))
        above = spoil(majorants.upper_line(case, mix))
        below = majorants.lower_line(case, mix)
        for chosen in texts_of(case):
            counts = case.lattice.counts(chosen)
            value = form(case, chosen)
            wrong += value > above.constant + above.prices @ counts + 1e-9
            wrong += value < below.constant + below.prices @ counts - 1e-9
    return wrong


@pytest.mark.parametrize("seed", range(4))
def test_every_text_lies_between_floor_and_ceiling(seed):
    assert wrong_lines(np.random.default_rng([2, seed]), lambda line: line) == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda line: replace(line, constant=line.constant - 0.02),
        lambda line: replace(line, prices=0.9 * line.prices),
    ],
    ids=["lower", "flatter"],
)
def test_lines_that_are_no_ceilings_are_found_out(spoil):
    assert wrong_lines(np.random.default_rng([2, 0]), spoil) > 3


def wanted_of(rng: np.random.Generator, size: int) -> majorants.SetConstraints:
    role = rng.integers(0, 6, size)
    return majorants.SetConstraints(
        [int(c) for c in rng.integers(1, 3, size)], role == 0, role == 1
    )


def sets_of(wanted: majorants.SetConstraints) -> Iterator[tuple[np.ndarray, int]]:
    """Every set that is wanted, and what it costs."""
    for some in itertools.product((False, True), repeat=len(wanted.costs)):
        held = np.array(some)
        if (held >= wanted.include).all() and not (held & wanted.exclude).any():
            yield held, int(np.array(wanted.costs) @ held)


def least_value(case: TextInstance, line: majorants.LinearMajorant, held: np.ndarray) -> float:
    keep = [chosen for chosen in texts_of(case) if (chosen == case.lattice.first)[held].all()]
    return min(line.constant + float(line.prices @ case.lattice.counts(chosen)) for chosen in keep)


@pytest.mark.parametrize("seed", range(4))
def test_the_strongest_sets_are_those_of_all_sets(seed):
    rng = np.random.default_rng([3, seed])
    for _, _, _, whole in cases(rng, 12):
        size = whole.lattice.word_count
        base = majorants.with_fixed(whole, majorants.initially_empty(whole))
        wanted = wanted_of(rng, size)
        # of these texts, some words standing
        case = majorants.with_fixed(base, rng.random(size) < 0.2)
        line = majorants.upper_line(case, case.lattice.counts(case.lattice.first))
        several = majorants.movable(base)
        paid = sum(wanted.costs[i] for i in np.flatnonzero(wanted.include & ~several))
        most = sum(wanted.costs)
        parts = majorants.interval_costs(case, line.prices, ~several)
        found = majorants.best_sets_by_cost(base, parts, line.constant, wanted, most)
        values = np.full(most + 1, -np.inf)
        for held, cost in sets_of(wanted):
            if not (held & ~several & ~wanted.include).any():
                values[cost - paid] = max(values[cost - paid], least_value(case, line, held))
        assert np.allclose(found.values, values, atol=1e-9)
        if found.first_cost <= most:
            words = found.words_at(found.first_cost, wanted.costs)
            held = np.isin(np.arange(size), words) | wanted.include
            assert sum(wanted.costs[i] for i in words) == found.first_cost
            assert least_value(case, line, held) == pytest.approx(found.values[found.first_cost])
            legs = majorants._interval_indices(found.stops_at(found.first_cost, wanted.costs), size)
            twice = np.concatenate([legs, legs])
            starts = np.array([0, len(legs)])
            assert majorants.Majorant(held, line, parts).values_of(twice, starts) == pytest.approx(
                found.values[found.first_cost]
            )


def cheapest_enough(
    pipeline: Pipeline, source: str, options: Any, label: int, wanted: majorants.SetConstraints
) -> float:
    """By all strings, as scikit-learn scores them, and all sets."""
    texts = every_text(source, options, None)
    rows = scores(pipeline, [text for _, text in texts])
    margins = rows[:, label] - np.delete(rows, label, axis=1).max(1)
    flips = [changed for (changed, _), margin in zip(texts, margins, strict=True) if margin <= 0]
    hit = (
        cost
        for held, cost in sets_of(wanted)
        if all(held[list(changed)].any() for changed in flips)
    )
    return min(hit, default=np.inf)


def grown(
    lift: majorants.MajorantGenerator, below: int, splits: int
) -> majorants.MajorantTree | None:
    """Ceilings for every set that costs less, by splits and mixtures; None where they are not
    found.
    """
    halves = lift.split() if splits else None
    if halves is not None:
        sides = [grown(half, below, splits - 1) for half in halves[1:]]
        return None if None in sides else majorants.MajorantSplit(halves[0], *sides)
    found = [lift.best_mix(below) for _ in range(4)]
    return next((mixture for mixture, words in found if words is None), None)


def too_high(rng: np.random.Generator, count: int) -> tuple[int, int]:
    """How many lower bounds by splits there are, and how many of all are above the truth; the
    checker agrees.
    """
    split = 0
    wrong = 0
    for pipeline, source, options, case in cases(rng, count):
        wanted = wanted_of(rng, case.lattice.word_count)
        label = int(scores(pipeline, [source])[0].argmax())
        lift = majorants.MajorantGenerator(case, wanted, DEFAULT.majorants)
        tree: majorants.MajorantTree = max(
            (lift.add_majorant(sum(wanted.costs) + 1)[0] for _ in range(4)),
            key=lambda one: one.lower,
        )
        tree = grown(lift, tree.lower + 1, 2) or grown(lift, tree.lower, 2) or tree
        split += isinstance(tree, majorants.MajorantSplit)
        truth = cheapest_enough(pipeline, source, options, label, wanted)
        wrong += tree.lower > truth
        judged(case, (source, options, label), wanted, tree, truth)
    return split, wrong


def judged(
    case: TextInstance,
    asked: tuple[str, Any, int],
    wanted: majorants.SetConstraints,
    tree: majorants.MajorantTree,
    truth: float,
) -> None:
    """The checker accepts what the ceilings say and nothing above the truth."""
    source, options, label = asked
    model = case.lattice.bag
    check = BagCheck(model, written(source), options, None, label)
    sides = (frozenset(np.flatnonzero(side).tolist()) for side in (wanted.include, wanted.exclude))
    sets = SetConstraints(wanted.costs, *sides, tree.lower)
    wide = np.flatnonzero(case.full_ranges.most - case.full_ranges.least > 1)
    line = {
        "rival": str((label + 1) % len(model.bias)),
        "tree": list(_majorant_nodes(case.lattice, tree, wide)),
    }
    names = [str(k) for k in range(len(model.bias))]
    require_none_sufficient(check, line, names, sets)
    for claimed in (line, _nothing_kept(line)) if truth < np.inf else ():
        with pytest.raises(Rejected):
            require_none_sufficient(check, claimed, names, replace(sets, below=int(truth) + 1))


def _nothing_kept(line: Any) -> Any:
    """The same lines, said of all texts."""
    tree = [
        {"lines": [{**one, "kept": []} for one in node["lines"]]} if "lines" in node else node
        for node in line["tree"]
    ]
    return {**line, "tree": tree}


@pytest.mark.parametrize("seed", range(8))
def test_lower_bounds_are_never_above_the_truth_and_the_checker_says_so_too(seed):
    assert too_high(np.random.default_rng([4, seed]), 25)[1] == 0


def test_some_lower_bounds_come_from_splits_of_the_sets():
    assert too_high(np.random.default_rng([4, 0]), 25)[0] > 5


def test_a_mixture_is_the_best_of_its_game():
    """Rows against columns: no weights of rows leave a smaller largest column."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        values = rng.normal(size=(int(rng.integers(1, 5)), int(rng.integers(1, 5))))
        rows, columns = majorants._solve_matrix_game(values)
        assert (rows >= 0).all()
        assert rows.sum() == pytest.approx(1)
        assert (rows @ values).max() == pytest.approx((values @ columns).min(), abs=1e-9)


def test_a_direction_that_is_too_long_is_found_out(monkeypatch):
    """|v| >= u v holds for u of length 1 only: with a longer one bounds would be too high."""
    whole = majorants.upper_line

    def longer(case: TextInstance, counts: Any) -> majorants.LinearMajorant:
        line = whole(case, counts)
        long = majorants._feature_terms(
            case, line.norm_slope, 1.5 * line.direction, np.ones(len(counts))
        )
        right = majorants._feature_terms(
            case, line.norm_slope, line.direction, np.ones(len(counts))
        )
        return replace(line, prices=line.prices + long - right)

    monkeypatch.setattr(majorants, "upper_line", longer)
    assert wrong_lines(np.random.default_rng([2, 0]), lambda line: line) > 3


# --- the whole way ---


def long_question(rng: np.random.Generator) -> tuple[Pipeline, str]:
    texts = [sentence(rng, 3, 9) for _ in range(40)]
    labels = rng.integers(0, 2, 40)
    steps = TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10)
    return make_pipeline(*steps).fit(texts, labels), " ".join(rng.choice(WORDS, 9))


@pytest.mark.parametrize("seed", range(3))
def test_ceilings_and_rules_come_to_the_same_words_of_the_same_cost(seed, monkeypatch):
    rng = np.random.default_rng([6, seed])
    ways = set()
    for _ in range(6):
        pipeline, source = long_question(rng)
        box = sf.from_sklearn(pipeline)
        lifted = sf.explain(box, source, perturbation=sf.Deletion())
        with monkeypatch.context() as patch:
            patch.setattr("suffice.optimise.cuts.cut_search.is_affordable", lambda *_: False)
            ruled = sf.explain(box, source, perturbation=sf.Deletion())
        assert (lifted.status, lifted.cost) == (ruled.status, ruled.cost)
        ways |= {
            name
            for line in lifted.certificate.lines
            for name in line
            if name in ("ceilings", "rule")
        }
    assert "ceilings" in ways


def ceilings_of(lines: list[Any]) -> Any:
    return next(line["ceilings"] for line in lines if "ceilings" in line)


def _higher(lines: list[Any]) -> None:
    other = next(i for i in range(11) if i not in lines[0]["claim"]["positions"])
    claim = lines[0]["claim"]
    claim["positions"] = sorted([*claim["positions"], other])
    claim["cost"] = claim["lower"] = claim["cost"] + 1
    next(line["computed"] for line in lines if "computed" in line)["free"].remove(other)


def leaf_of(lines: list[Any]) -> Any:
    return ceilings_of(lines)["tree"][-1]


def _all_kept(lines: list[Any]) -> None:
    for line in leaf_of(lines)["lines"]:
        line["kept"] = list(range(11))


def _no_lines(lines: list[Any]) -> None:
    leaf_of(lines)["lines"] = []


def _against_it(lines: list[Any]) -> None:
    for line in leaf_of(lines)["lines"]:
        line["weight"] = -1.0


def _no_leaf(lines: list[Any]) -> None:
    ceilings_of(lines)["tree"].pop()


def _one_half(lines: list[Any]) -> None:
    tree = ceilings_of(lines)["tree"]
    tree.insert(0, {"word": 0})


def _not_a_number(lines: list[Any]) -> None:
    line = leaf_of(lines)["lines"][0]
    line["slope"], line["along"] = "nan", dict.fromkeys(line["along"], "inf")


def _own_label(lines: list[Any]) -> None:
    ceilings_of(lines)["rival"] = lines[0]["label"]


EDITS = [_higher, _all_kept, _no_lines, _against_it, _no_leaf, _one_half, _not_a_number, _own_label]


@pytest.mark.parametrize("edit", EDITS)
def test_forged_ceilings_are_rejected(edit):
    box = sf.from_sklearn(fitted(TfidfVectorizer(ngram_range=(1, 2))))
    result = sf.explain(box, TWICE, perturbation=sf.Deletion())
    assert sf.check(result.certificate, box).optimal
    with pytest.raises(Rejected):
        sf.check(mutated(result.certificate, edit), box)


def test_very_small_directions_lift_no_bound():
    """Squares of numbers of 1e-162 are rounded to a few bits: a direction must not become longer by
    that.
    """
    box = sf.from_sklearn(fitted(TfidfVectorizer(ngram_range=(1, 2))))
    check = BagCheck(box.bag, written(TWICE), [("",)] * 11, None, 0)
    for sign in (1.0, -1.0):
        found = check.norm_form(1, sign).direction(dict.fromkeys(range(5), 2.7e-162))
        assert sum(x * x for x in found.values()) <= check.norm_form(1, sign).bias ** 2 * (
            1 + 1e-12
        )


def test_ceilings_that_the_checker_rejects_are_left_out_and_the_words_stay(monkeypatch):
    def strict(*_: object) -> None:
        raise Rejected(0, "not today")

    box = sf.from_sklearn(fitted(TfidfVectorizer(ngram_range=(1, 2))))
    monkeypatch.setattr("suffice.proof.replay.evidence.require_none_sufficient", strict)
    result = sf.explain(box, TWICE, perturbation=sf.Deletion())
    assert result.meta["checked"] is True
    assert result.lower_bound < result.cost
    assert not any("ceilings" in line for line in result.certificate.lines)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_enough_by_a_floor_is_enough_and_words_that_say_nothing_yet_are_held(seed):
    rng = np.random.default_rng([9, seed])
    seen = 0
    silent = 0
    for _, _, _, case in cases(rng, 40):
        lift = majorants.MajorantGenerator(case, plain(case.lattice.word_count), DEFAULT.majorants)
        words = lift.cheapest_by_minorant(case.lattice.word_count + 1)
        if words is not None:
            held = np.isin(np.arange(case.lattice.word_count), words)
            keep = [
                chosen for chosen in texts_of(case) if (chosen == case.lattice.first)[held].all()
            ]
            assert min(form(case, chosen) for chosen in keep) > 0
            seen = seen + 1
            silent = silent + int(lift.initially_empty.any())
    assert seen > 3
    assert silent > 0


def plain(size: int) -> majorants.SetConstraints:
    """Any set, each word costing the same."""
    none = np.zeros(size, dtype=bool)
    return majorants.SetConstraints([1] * size, none, none)


def test_some_words_are_proved_before_time_goes_into_the_lower_bound(monkeypatch):
    def endless(*_: object) -> None:
        raise OutOfBudget("time is up")

    monkeypatch.setattr(majorants.MajorantGenerator, "cheapest_by_minorant", lambda *_: None)
    monkeypatch.setattr(
        majorants.MajorantGenerator,
        "add_majorant",
        lambda lift, _: (majorants.MajorantMix(0, np.zeros(0), ()), None),
    )
    monkeypatch.setattr(majorant_bounds, "_raise_lower", endless)
    box = sf.from_sklearn(fitted(TfidfVectorizer(ngram_range=(1, 2))))
    result = sf.explain(box, TWICE, perturbation=sf.Deletion())
    assert (result.status, result.meta["checked"]) == ("sufficient", True)
    assert len(result.positions) < len(result.text.words)


def test_a_word_that_says_nothing_yet_is_held_or_left_out_by_a_split():
    """And where it is left out, ceilings are about what it may become."""
    split = 0
    for _, _, _, case in cases(np.random.default_rng([10, 0]), 60):
        lift = majorants.MajorantGenerator(case, plain(case.lattice.word_count), DEFAULT.majorants)
        lift.add_majorant(case.lattice.word_count + 1)
        halves = lift.split()
        if halves is not None and lift.initially_empty[halves[0]]:
            split += 1
            mine = case.lattice.word_of == halves[0]
            assert halves[1].included_cost == 1
            assert [half.instance.allowed[mine].sum() for half in halves[1:]] == [1, mine.sum()]
    assert split > 3


def test_ceilings_of_a_text_that_would_fill_the_memory_are_refused(monkeypatch):
    box = sf.from_sklearn(fitted(TfidfVectorizer(ngram_range=(1, 2))))
    result = sf.explain(box, TWICE, perturbation=sf.Deletion())
    assert any("ceilings" in line for line in result.certificate.lines)
    monkeypatch.setattr("suffice.proof.bag.majorants.MOST_CELLS", 12 * 22)
    with pytest.raises(Rejected, match="too long for ceilings"):
        sf.check(result.certificate, box)
