"""Perturbation sets: support, minimiser, membership and samples agree, and agree with
naive loops.
"""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest
from helpers import make_classifier, make_text
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.text import Text
from suffice.proof.check import sets as check_sets
from suffice.sets import nearest
from suffice.sets.perturbations import (
    Boxes,
    Deletion,
    EpsilonBall,
    KNNBox,
    KNNHull,
    Perturbation,
    WordSwap,
)
from suffice.sets.regions import Ball, Box, Choice, Hull, Region
from suffice.sets.table import from_dict

SOME = settings(max_examples=40)
WORDS = 8
SWAPS = {
    "word0": ["word1", "word2", "word3"],
    "word1": ["word5"],
    "nowhere": ["word2"],
    "word4": [],
}


def boxes_around(classifier: Classifier, text: Text, seed: int) -> Boxes:
    rng = np.random.default_rng(seed)
    below, above = rng.exponential(size=(2, *classifier.embed(text).shape))
    below[rng.random(below.shape) < 0.2] = 0
    return Boxes(classifier.embed(text) - below, classifier.embed(text) + above)


# Every kind, as a function of (classifier, text, seed).
KINDS = {
    "1-ball": lambda c, t, s: EpsilonBall(np.random.default_rng(s).exponential(), p=1),
    "2-ball": lambda c, t, s: EpsilonBall(np.random.default_rng(s).exponential(), p=2),
    "inf-ball": lambda c, t, s: EpsilonBall(np.random.default_rng(s).exponential()),
    "point": lambda c, t, s: EpsilonBall(0),
    "knn-box": lambda c, t, s: KNNBox(s % WORDS),
    "knn-hull": lambda c, t, s: KNNHull(s % WORDS),
    "word-swap": lambda c, t, s: WordSwap(SWAPS),
    "deletion": lambda c, t, s: Deletion(),
    "boxes": boxes_around,
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def scene(kind: str, seed: int, dimension: int = 3) -> tuple[Classifier, Text, Region]:
    classifier = make_classifier(seed, dimension=dimension, words=WORDS)
    text = classifier.read(make_text(seed, words=WORDS))
    return classifier, text, KINDS[kind](classifier, text, seed).around(classifier, text)


seeds = st.integers(0, 10**6)
dimensions = st.integers(1, 5)


def linear_forms(seed: int, region: Region, count: int = 6) -> np.ndarray:
    """Random rows, among them some with zeros, along an axis, and all zero."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, *region.center.shape)) * 10.0 ** rng.integers(-3, 3)
    rows[1] *= rng.random(rows[1].shape) < 0.5
    rows[2, :, 1:] = 0
    rows[3] = 0
    return rows


# --- what every region promises ---


@every_kind
@given(seeds, dimensions)
@SOME
def test_every_sample_and_the_words_own_point_are_members(kind, seed, dimension):
    _, _, region = scene(kind, seed, dimension)
    samples = region.sample(np.random.default_rng(seed), 5)
    assert samples.shape == (5, *region.center.shape)
    assert region.contains(samples).all()
    assert region.contains(region.center).all()


@every_kind
@given(seeds, dimensions)
@SOME
def test_the_support_is_below_the_value_at_every_sample(kind, seed, dimension):
    _, _, region = scene(kind, seed, dimension)
    rows = linear_forms(seed, region)
    support = region.support(rows)
    assert support.shape == rows.shape[:-1]
    samples = region.sample(np.random.default_rng(seed), 50)
    values = (rows[:, None] * samples).sum(-1)
    slack = 1e-12 * (np.abs(rows).sum(-1) * np.abs(samples).max() + 1)
    assert (support[:, None] <= values + slack[:, None]).all()


@every_kind
@given(seeds, dimensions)
@SOME
def test_the_support_is_attained_at_a_minimiser_that_is_a_member(kind, seed, dimension):
    _, _, region = scene(kind, seed, dimension)
    rows = linear_forms(seed, region)
    points = region.minimiser(rows)
    assert points.shape == rows.shape
    assert region.contains(points).all()
    scale = 1 + np.abs(rows).max()
    np.testing.assert_allclose(
        (rows * points).sum(-1) / scale, region.support(rows) / scale, rtol=0, atol=1e-9
    )


@every_kind
@given(seeds)
@SOME
def test_a_position_is_movable_when_its_set_holds_another_point(kind, seed):
    _, _, region = scene(kind, seed)
    rng = np.random.default_rng(seed)
    width = -region.support(rows := rng.normal(size=(20, *region.center.shape))) - region.support(
        -rows
    )
    assert region.movable().tolist() == (width > 1e-12).any(0).tolist()


@every_kind
@given(seeds)
@SOME
def test_a_point_beyond_the_support_is_not_a_member(kind, seed):
    """A point pushed past the minimiser, so that the linear form falls below the support."""
    _, _, region = scene(kind, seed)
    rows = np.random.default_rng(seed).normal(size=region.center.shape)
    beyond = region.minimiser(rows) - 1e-6 * rows
    assert not region.contains(beyond).any()


@every_kind
def test_points_that_are_not_numbers_are_not_members(kind):
    _, _, region = scene(kind, seed=1)
    for bad in (math.nan, math.inf, -math.inf):
        points = region.center.copy()
        points[0, 0] = bad
        assert region.contains(points).tolist() == [False, True, True, True]


@every_kind
def test_samples_are_the_same_for_the_same_seed(kind):
    _, _, region = scene(kind, seed=1)
    one, other = (region.sample(np.random.default_rng(7), 3) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@every_kind
def test_samples_reach_every_part_of_the_set(kind):
    """So that a test by sampling means something: no side of the set is left out."""
    _, _, region = scene(kind, seed=5, dimension=2)
    samples = region.sample(np.random.default_rng(0), 4000)
    rows = np.random.default_rng(1).normal(size=(8, *region.center.shape))
    reached = (rows[:, None] * samples).sum(-1).min(1)
    width = -region.support(-rows) - region.support(rows)
    assert (reached - region.support(rows) <= 0.15 * width + 1e-12).all()


# --- balls ---


@pytest.mark.parametrize("p", [1, 2, math.inf])
@given(seeds, st.floats(1e-13, 1e3), st.floats(1e-3, 1e6))
@SOME
def test_rounding_does_not_put_a_point_outside_its_ball(p, seed, radius, size):
    """Checked in exact arithmetic, with radii much smaller than the embedding."""
    rng = np.random.default_rng(seed)
    center = rng.normal(size=(2, 3)) * size
    ball = Ball(center, radius, p)
    points = [*ball.minimiser(rng.normal(size=(3, 2, 3))), *ball.sample(rng, 3)]
    for point in points:
        assert all(
            distance(v, x, p) <= Fraction(radius) ** (2 if p == 2 else 1)
            for v, x in zip(point, center, strict=True)
        )
    assert ball.contains(np.array(points)).all()


def distance(v: np.ndarray, x: np.ndarray, p: float) -> Fraction:
    """Exactly the p-norm of v - x, squared for p = 2."""
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(v.tolist(), x.tolist(), strict=True)]
    return max(gaps) if p == math.inf else sum((g**p for g in gaps), Fraction(0))


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_membership_of_a_ball_is_exact_on_its_border(p):
    ball = Ball(np.array([[1.0, 1.0]]), 0.25, p)
    assert ball.contains(np.array([[1.25, 1.0]])).all()
    assert not ball.contains(np.array([[np.nextafter(1.25, 2), 1.0]])).any()


@given(seeds)
@SOME
def test_balls_of_higher_norm_contain_those_of_lower_norm(seed):
    classifier, text, _ = scene("point", seed)
    one, two, most = (EpsilonBall(0.5, p).around(classifier, text) for p in (1, 2, math.inf))
    rng = np.random.default_rng(seed)
    assert two.contains(one.sample(rng, 5)).all()
    assert most.contains(two.sample(rng, 5)).all()
    rows = linear_forms(seed, one)
    assert (one.support(rows) >= two.support(rows) - 1e-9).all()
    assert (two.support(rows) >= most.support(rows) - 1e-9).all()


def test_the_infinity_ball_is_a_box():
    classifier, text, _ = scene("point", seed=3)
    ball = EpsilonBall(0.3).around(classifier, text)
    center = classifier.embed(text)
    box = Box(center, center - 0.3, center + 0.3)
    rows = linear_forms(3, ball)
    np.testing.assert_allclose(ball.support(rows), box.support(rows), rtol=1e-12, atol=1e-12)


# --- the nearest words ---


def naive_neighbours(classifier: Classifier, index: int, k: int) -> list[int]:
    """The k nearest rows by Euclidean distance, without padding, unknown and the word itself."""
    ranked = []
    for other, word in enumerate(classifier.vocabulary):
        if other == index or word in (classifier.pad, classifier.unknown):
            continue
        ranked.append((math.dist(classifier.table[other], classifier.table[index]), other))
    return [other for _, other in sorted(ranked)[:k]]


@given(seeds, st.integers(0, WORDS - 1), dimensions)
@SOME
def test_nearest_words_are_those_a_naive_loop_finds(seed, k, dimension):
    classifier, text, _ = scene("point", seed, dimension)
    box = KNNBox(k).around(classifier, text)
    hull = KNNHull(k).around(classifier, text)
    assert isinstance(box, Box)
    assert isinstance(hull, Hull)
    for i, index in enumerate(text.indices):
        near = naive_neighbours(classifier, index, k)
        points = classifier.table[[index, *near]]
        np.testing.assert_array_equal(box.lower[i], points.min(0))  # the smallest box around them
        np.testing.assert_array_equal(box.upper[i], points.max(0))
        assert {tuple(row) for row in hull.points[i]} == {tuple(row) for row in points}
        assert box.names[i] == hull.names[i] == tuple(classifier.vocabulary[j] for j in near)
        assert not {"<PAD>", "<UNK>"} & set(box.names[i])
        assert (box.center[i] == classifier.table[index]).all()


@pytest.mark.parametrize("k", [1, 2, 7, 300, 1000])
def test_so_are_they_in_a_vocabulary_of_which_a_sample_is_looked_at_first(k):
    small = make_classifier(0, length=2, dimension=2, words=3)
    rng = np.random.default_rng(k)
    words = ["<PAD>", "<UNK>", *(f"word{i}" for i in range(1500))]
    # whole numbers: many words at the same distance
    table = rng.integers(-9, 9, size=(len(words), 2)).astype(float)
    classifier = Classifier(small.network, table, words, small.labels, 2)
    for place in rng.choice(1500, size=8, replace=False):
        text = classifier.read(f"word{place}")
        near = [words[j] for j in naive_neighbours(classifier, text.indices[0], k)]
        assert KNNBox(k).around(classifier, text).names[0] == tuple(near)
        # and when it is known already
        assert KNNBox(k).around(classifier, text).names[0] == tuple(near)


@pytest.mark.parametrize("size", [1.0, 1e6, 1e-161, 1e38])
def test_so_are_they_where_products_say_little_of_distances(size):
    """Far from zero, or so close to it that squares vanish: prover and checker go by sums of
    squares all the same.
    """
    small = make_classifier(0, length=2, dimension=2, words=3)
    rng = np.random.default_rng(7)
    words = ["<PAD>", "<UNK>", *(f"word{i}" for i in range(3000))]
    table = size * (1 + 1e-9 * rng.standard_normal((len(words), 2)))
    classifier = Classifier(small.network, table, words, small.labels, 2)
    for place in (2, 77, 3001):
        distance = (table[:, 0] - table[place, 0]) ** 2 + (table[:, 1] - table[place, 1]) ** 2
        order = [int(j) for j in np.argsort(distance, kind="stable") if j not in (0, 1, place)]
        assert nearest._nearest(classifier, place, [0, 1], 5).tolist() == order[:5]
        assert check_sets._nearest(classifier, place, 5) == order[:5]


def test_what_is_remembered_of_nearest_words_is_bounded(monkeypatch):
    classifier = make_classifier(0, length=4, dimension=2, words=WORDS)
    texts = [classifier.read(f"word{i}") for i in range(WORDS)]
    first = [KNNBox(2).around(classifier, text).names for text in texts]
    assert len(classifier.nearest) > 4
    monkeypatch.setattr("suffice.sets.nearest.REMEMBERED", 3)
    assert [KNNBox(2).around(classifier, text).names for text in texts * 2] == first * 2
    monkeypatch.setattr("suffice.sets.nearest.FEW", 1)
    classifier.nearest.clear()
    assert [KNNBox(2).around(classifier, text).names for text in texts] == first
    assert not classifier.nearest
    assert [KNNBox(1).around(classifier, text).names[0] for text in texts] == [
        names[0][:1] for names in first
    ]
    assert 0 < len(classifier.nearest) <= 3


def test_words_at_the_same_distance_go_by_their_place_in_the_vocabulary():
    classifier = make_classifier(0, length=2, dimension=1, words=5)
    table = [[9.0], [9.0], [0.0], [1.0], [-1.0], [1.0], [-1.0]]
    classifier = Classifier(classifier.network, table, classifier.vocabulary, classifier.labels, 2)
    region = KNNBox(3).around(classifier, classifier.read("word0"))
    assert region.names[0] == ("word1", "word2", "word3")


def test_a_word_with_the_same_embedding_counts_as_a_neighbour():
    classifier = make_classifier(0, length=2, dimension=1, words=3)
    table = [[9.0], [9.0], [0.0], [0.0], [5.0]]
    classifier = Classifier(classifier.network, table, classifier.vocabulary, classifier.labels, 2)
    region = KNNBox(1).around(classifier, classifier.read("word0 word2"))
    assert region.names == (("word1",), ("word0",))
    assert region.movable().tolist() == [False, True]


@given(seeds, st.integers(0, WORDS - 2))
@SOME
def test_boxes_and_hulls_grow_with_k(seed, k):
    classifier, text, _ = scene("point", seed)
    small = KNNBox(k).around(classifier, text)
    large = KNNBox(k + 1).around(classifier, text)
    assert (large.lower <= small.lower).all()
    assert (small.upper <= large.upper).all()
    rows = linear_forms(seed, small)
    inner = KNNHull(k).around(classifier, text)
    outer = KNNHull(k + 1).around(classifier, text)
    assert (outer.support(rows) <= inner.support(rows) + 1e-12).all()


@given(seeds, st.integers(0, WORDS - 1))
@SOME
def test_the_hull_lies_in_the_box_of_the_same_k(seed, k):
    classifier, text, _ = scene("point", seed)
    box = KNNBox(k).around(classifier, text)
    hull = KNNHull(k).around(classifier, text)
    loose = Box(box.center, box.lower - 1e-12, box.upper + 1e-12)  # a mixture of corners is rounded
    assert loose.contains(hull.sample(np.random.default_rng(seed), 20)).all()
    rows = linear_forms(seed, box)
    assert box.contains(hull.minimiser(rows)).all()
    assert (box.support(rows) <= hull.support(rows) + 1e-9).all()


def test_no_neighbours_leave_the_word_alone():
    classifier, text, _ = scene("point", seed=2)
    for perturbation in (KNNBox(0), KNNHull(0), EpsilonBall(0), WordSwap({})):
        assert not perturbation.around(classifier, text).movable().any()


# --- real words ---


@given(seeds)
@SOME
def test_deletion_puts_the_padding_vector_in_the_words_place(seed):
    classifier, text, region = scene("deletion", seed)
    assert isinstance(region, Choice)
    pad = classifier.table[classifier.lookup["<PAD>"]]
    for i, index in enumerate(text.indices):
        assert {tuple(p) for p in region.points[i]} == {tuple(pad), tuple(classifier.table[index])}
    real = np.arange(len(text)) < len(text.words)
    assert region.movable().tolist() == real.tolist()
    assert region.names == tuple((w, "<PAD>") if w != "<PAD>" else (w,) for w in text.tokens)


@given(seeds)
@SOME
def test_swaps_offer_exactly_the_listed_words_at_their_embeddings(seed):
    classifier, text, region = scene("word-swap", seed)
    for i, (token, index) in enumerate(zip(text.tokens, text.indices, strict=True)):
        others = SWAPS.get(token, [])
        expected = [
            classifier.table[index],
            *(classifier.table[classifier.lookup[o]] for o in others),
        ]
        assert {tuple(p) for p in region.points[i]} == {tuple(p) for p in expected}
        assert region.names[i] == (token, *others)
        for name, point in zip(region.names[i], region.points[i], strict=False):
            assert (point == classifier.table[classifier.lookup.get(name, 1)]).all()


def swapped(swaps: dict[str, list[str]], words: str | list[str]) -> tuple[Classifier, Region]:
    classifier = make_classifier(0)
    return classifier, WordSwap(swaps).around(classifier, classifier.read(words))


def test_a_substitute_out_of_the_vocabulary_is_the_unknown_vector():
    classifier, region = swapped({"word1": ["nowhere", "word2"]}, "word1")
    np.testing.assert_array_equal(region.points[0], classifier.table[[3, 1, 4]])
    assert region.names[0] == ("word1", "nowhere", "word2")


def test_a_space_between_two_words_is_not_in_a_swap():
    classifier, region = swapped({"word1": ["word2"]}, "word1")
    halfway = region.center.copy()
    halfway[0] = (classifier.table[3] + classifier.table[4]) / 2
    assert region.contains(halfway).tolist() == [False, True, True, True]


@pytest.mark.parametrize("key", ["word1", "Word1", "WORD1"])
@pytest.mark.parametrize("word", ["word1", "WORD1"])
def test_swaps_are_found_in_any_case(key, word):
    classifier, region = swapped({key: ["Word2"]}, word)
    np.testing.assert_array_equal(region.points[0], classifier.table[[3, 4]])


def test_a_list_for_the_very_spelling_comes_first():
    swaps = {"word1": ["word2"], "Word1": ["word3"], "WORD4": ["word5"]}
    _, region = swapped(swaps, ["word1", "Word1", "WORD1", "word4"])
    assert region.names == (
        ("word1", "word2"),
        ("Word1", "word3"),
        ("WORD1", "word2"),
        ("word4", "word5"),
    )
    assert WordSwap(swaps).to_dict()["swaps"] == swaps


def test_lists_for_two_other_spellings_count_both():
    _, region = swapped({"Word1": ["word2"], "WORD1": ["word3"]}, "word1")
    assert region.names[0] == ("word1", "word2", "word3")


def test_a_word_taken_as_it_is_has_no_other_points_than_its_swaps():
    """`Word3` of a list is out of the vocabulary: its points are unknown's, not those of word3."""
    classifier, region = swapped({"word1": ["word2", "word4"]}, ["word1", "Word3"])
    np.testing.assert_array_equal(region.points[1], classifier.table[[1, 1, 1]])
    assert region.movable().tolist() == [True, False, False, False]


def test_a_substitute_that_is_the_word_or_comes_twice_counts_once():
    _, region = swapped({"word1": ["word1", "word2", "word2"]}, "word1")
    assert region.names[0] == ("word1", "word2")


@given(seeds)
@SOME
def test_a_choice_has_its_least_value_at_one_of_all_its_points(seed):
    """Against every combination of words, one by one."""
    _, _, region = scene("word-swap", seed)
    rows = np.random.default_rng(seed).normal(size=region.center.shape)
    totals = [
        sum((rows[i] * point).sum() for i, point in enumerate(points))
        for points in itertools.product(*region.points)
    ]
    assert region.support(rows).sum() == pytest.approx(min(totals), abs=1e-9)


# --- explicit boxes ---


def test_boxes_that_do_not_contain_the_word_are_refused_with_the_position(tiny):
    text = tiny.read("word1 word2 word3")
    center = tiny.embed(text)
    lower = center - 1
    upper = center + 1
    lower[2, 1] = center[2, 1] + 0.5
    with pytest.raises(
        InputError, match="The box at position 2 does not contain the word's own point"
    ):
        Boxes(lower, upper).around(tiny, text)


@pytest.mark.parametrize("shape", [(4, 2), (3, 3), (12,), (1, 4, 3)])
def test_boxes_of_other_shape_are_refused(tiny, shape):
    with pytest.raises(InputError, match=r"shape \(4, 3\)"):
        Boxes(np.full(shape, -9.0), np.full(shape, 9.0)).around(tiny, tiny.read("word1"))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_boxes_that_are_not_finite_are_refused(tiny, bad):
    with pytest.raises(InputError, match="finite"):
        Boxes(np.full((4, 3), -9.0), np.full((4, 3), bad)).around(tiny, tiny.read("word1"))


def test_boxes_beyond_what_can_be_computed_are_refused(tiny):
    with pytest.raises(InputError, match=r"at most 2\^128"):
        Boxes(np.full((4, 3), -1e308), np.full((4, 3), 1e308)).around(tiny, tiny.read("word1"))


def test_boxes_that_are_no_arrays_are_refused(tiny):
    with pytest.raises(InputError, match="Boxes must"):
        Boxes([[1.0], [1.0, 2.0]], [[1.0]]).around(tiny, tiny.read("word1"))


def test_a_box_that_is_wide_along_one_axis_only_is_movable(tiny):
    text = tiny.read("word1")
    upper = tiny.embed(text).copy()
    upper[1, 2] += 0.5
    assert Boxes(tiny.embed(text), upper).around(tiny, text).movable().tolist() == [
        False,
        True,
        False,
        False,
    ]


# --- settings that make no set ---


@pytest.mark.parametrize("make", [KNNBox, KNNHull])
@pytest.mark.parametrize("k", [-1, 1.5, 3.0, True, False, "3", None, math.nan])
def test_a_k_that_is_no_count_is_refused(make, k):
    with pytest.raises(InputError, match="k must be a whole number of at least 0"):
        make(k)


@pytest.mark.parametrize("make", [KNNBox, KNNHull])
def test_a_k_larger_than_the_vocabulary_is_refused_with_its_size(tiny, make):
    text = tiny.read("word1 word2")
    assert len(make(7).around(tiny, text).names[0]) == 7
    with pytest.raises(InputError, match="k = 8 is more than the 7 other words"):
        make(8).around(tiny, text)


def test_whole_numbers_that_no_double_holds_are_too_large(tiny):
    size = 10**400
    with pytest.raises(InputError, match="too large to compute with") as said:
        EpsilonBall(size)
    assert len(str(said.value)) < 200
    with pytest.raises(InputError, match="Boxes hold numbers that are too large"):
        Boxes([[size]], [[size]]).around(tiny, tiny.read("word1"))


@pytest.mark.parametrize(
    "eps",
    [-0.1, -1, pytest.param(-(10**400), id="huge"), math.nan, math.inf, -math.inf, "0.1", None],
)
def test_a_radius_that_is_no_number_of_at_least_zero_is_refused(eps):
    with pytest.raises(InputError, match="eps must be a number of at least 0"):
        EpsilonBall(eps)


def test_a_radius_beyond_what_can_be_computed_is_refused():
    assert EpsilonBall(2.0**128).eps == 2.0**128
    with pytest.raises(InputError, match=r"1e\+308 is too large .* 2\^128"):
        EpsilonBall(1e308)


@pytest.mark.parametrize("p", [3, 0, -1, 1.5, math.nan, "inf", None])
def test_a_norm_other_than_1_2_and_inf_is_refused(p):
    with pytest.raises(InputError, match="The norm must be 1, 2 or inf"):
        EpsilonBall(0.1, p)


@pytest.mark.parametrize(
    "swaps",
    [
        {"good": "bad"},
        {"good": [3]},
        {3: ["bad"]},
        {"good": None},
        {"good": 3},
        {"good": {"bad"}},
        ["good"],
        "good",
    ],
)
def test_swaps_that_are_no_mapping_to_lists_of_words_are_refused(swaps):
    with pytest.raises(InputError, match="list of words"):
        WordSwap(swaps)


@pytest.mark.parametrize("nothing", ["", " "])
def test_an_empty_substitute_is_refused_and_says_how_words_are_removed(nothing):
    with pytest.raises(InputError, match="A substitute of 'good' is empty: RemoveOrSwap"):
        WordSwap({"good": ["bad", nothing]})


# --- as data ---

EVERY = [
    EpsilonBall(0.5),
    EpsilonBall(1, p=1),
    EpsilonBall(0.25, p=2),
    KNNBox(3),
    KNNHull(0),
    WordSwap({"b": ["c", "a"], "a": []}),
    WordSwap(MappingProxyType({"é": ("ü",)})),
    Deletion(),
    Boxes(np.full((4, 3), -9.0), np.full((4, 3), 9.5)),
]


@pytest.mark.parametrize("perturbation", EVERY, ids=lambda p: type(p).__name__)
def test_a_perturbation_survives_json(perturbation: Perturbation, tiny: Classifier):
    data = json.loads(json.dumps(perturbation.to_dict(), allow_nan=False))
    again = from_dict(data)
    assert type(again) is type(perturbation)
    assert again.to_dict() == perturbation.to_dict()
    text = tiny.read("word1 word2")
    one = perturbation.around(tiny, text)
    other = again.around(tiny, text)
    rows = linear_forms(0, one)
    np.testing.assert_array_equal(one.support(rows), other.support(rows))
    assert one.names == other.names


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"kind": "other"},
        {"kind": "knn-box"},
        {"kind": "knn-box", "k": -1},
        {"kind": "knn-hull", "k": "3"},
        {"kind": "epsilon-ball", "p": 2},
        {"kind": "epsilon-ball", "eps": 0.1, "p": "two"},
        {"kind": "epsilon-ball", "eps": None, "p": 2},
        {"kind": "word-swap", "swaps": [1]},
        [],
        None,
        "knn-box",
    ],
)
def test_data_that_describes_no_perturbation_is_refused(data):
    with pytest.raises(InputError):
        from_dict(data)
