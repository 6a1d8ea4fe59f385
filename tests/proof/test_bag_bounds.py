"""The checker's bounds of bags of words hold whatever lines a certificate names: random ones,
against all texts.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from suffice.errors import Rejected
from suffice.importers.bag import lowered
from suffice.model.text import written
from suffice.proof.bag import majorants
from suffice.proof.bag.check import BagCheck
from suffice.proof.bag.majorants import SetConstraints
from suffice.proof.bag.norm_form import NormForm
from suffice.proof.bag.subproblems import TextSubproblem

WORDS = ["good", "bad", "plot", "film", "dull", "fine", "a", "b"]
Chosen = tuple[int, ...]


def random_vectorizer(
    rng: np.random.Generator, orders: list[tuple[int, int]], analyzer: str
) -> Any:
    common = {"ngram_range": orders[rng.integers(len(orders))], "analyzer": analyzer}
    norm = [None, "l2", "l1"][rng.integers(3)]
    match rng.integers(4):
        case 0:  # so few places that some features share one, with either sign
            places = int(rng.integers(2, 9))
            return HashingVectorizer(
                n_features=places, norm=norm, alternate_sign=bool(rng.integers(3)), **common
            )
        case 1:
            return CountVectorizer(binary=bool(rng.integers(2)), **common)
        case _:
            return TfidfVectorizer(norm=norm, sublinear_tf=bool(rng.integers(2)), **common)


def random_check(
    rng: np.random.Generator, orders: list[tuple[int, int]], analyzer: str = "word"
) -> BagCheck:
    vectorizer = random_vectorizer(rng, orders, analyzer)
    texts = [" ".join(rng.choice(WORDS, int(rng.integers(2, 7)))) for _ in range(14)]
    model = LogisticRegression(
        C=float(rng.choice([0.1, 1, 30])), fit_intercept=bool(rng.integers(4)), max_iter=5000
    )
    bag = lowered([vectorizer, model.fit(vectorizer.fit_transform(texts), [0, 1] * 7)])
    text = written(" ".join(rng.choice(WORDS, int(rng.integers(2, 6)))))
    return BagCheck(bag, text, [options(rng, word.text) for word in text.words], None, 0)


def options(rng: np.random.Generator, own: str) -> list[str]:
    some = [str(word) for word in rng.choice([*WORDS, "good plot"], int(rng.integers(0, 3)))]
    return [word for word in dict.fromkeys(([""] if rng.integers(3) else []) + some) if word != own]


def value(check: BagCheck, form: NormForm, chosen: Chosen) -> float:
    """N + b|v| of one text, which is 0 where nothing of it counts."""
    counts = check.bag.features(check._tokens_of(chosen))
    empty = check.bag.norm is not None and not any(
        form.value(column, n) for column, n in counts.items()
    )
    return 0.0 if empty else form.form_value(counts)


def every(check: BagCheck, region: TextSubproblem) -> list[Chosen]:
    """All texts of a region."""
    found = itertools.product(*region.allowed)
    return [
        t
        for t in found
        if region.at_most is None or sum(map(int.__ne__, t, region.reference)) <= region.at_most
    ]


def random_region(rng: np.random.Generator, check: BagCheck) -> TextSubproblem:
    sizes = [len(word) for word in check.words]
    some = [
        tuple(k for k in range(n) if rng.random() < 0.75) or (int(rng.integers(n)),) for n in sizes
    ]
    reference = tuple(int(rng.integers(n)) if rng.integers(2) else 0 for n in sizes)
    extra = {
        (i, k): float(rng.normal())
        for i, n in enumerate(sizes)
        for k in range(n)
        if rng.integers(3) == 0
    }
    return TextSubproblem(tuple(some), reference, [None, 0, 1, 2, 3][rng.integers(5)], extra)


def random_lines(
    rng: np.random.Generator, check: BagCheck, form: NormForm, region: TextSubproblem
) -> list[dict[str, Any]]:
    walk = check.texts_of(region)
    scale = float(rng.choice([0, 0.1, 1, 10]))
    toll = None if rng.integers(2) else float(abs(rng.normal()))
    slopes = {
        str(c): float(rng.normal() * scale) for c in {*walk.least, *walk.most} if rng.random() < 0.7
    }
    edges = [0.0, 0.0]
    slope = -float(abs(rng.normal()) + 1e-3)
    if check.bag.norm == "l2" and form.bias >= 0:
        edges = sorted(rng.uniform(*sorted(walk.norm_range()), int(rng.integers(2, 5))).tolist())
    common = {"slope": slope, "toll": toll, "slopes": slopes}
    return [{"low": low, "high": high, **common} for low, high in itertools.pairwise(edges)]


def too_high(seed: int) -> list[tuple[float, float]]:
    """Bounds that are above the least of all texts, and that least."""
    rng = np.random.default_rng(seed)
    check = random_check(
        rng, [(1, 1), (1, 2), (2, 2), (1, 3)], ["word", "word", "char_wb", "char"][rng.integers(4)]
    )
    form = check.norm_form(1, float(rng.choice([1.0, -1.0])))
    region = random_region(rng, check)
    found = []
    texts = every(check, region)
    if check.texts_of(region).infeasible:
        assert not texts
        return []
    extra = [
        sum(region.choice_costs.get(place, 0.0) for place in enumerate(chosen)) for chosen in texts
    ]
    least = min(
        (value(check, form, t) + e for t, e in zip(texts, extra, strict=True)), default=math.inf
    )
    for _ in range(4):
        try:
            bound = check._bound_by_segments(form, region, random_lines(rng, check, form, region))
        except Rejected:
            continue
        found += (
            [(bound, least)] if bound > least + form.tolerance + 1e-9 * max(1.0, abs(least)) else []
        )
    return found


@pytest.mark.parametrize("seed", range(0, 400, 40))
def test_no_bound_is_above_the_least_of_all_texts(seed: int) -> None:
    assert [too_high(one) for one in range(seed, seed + 40)] == [[]] * 40


def test_what_tolls_lose_in_rounding_is_taken_off() -> None:
    """Thousands of words change, each for a toll as large as all prices together: sums of these
    lose much.
    """
    count = 3000
    vectorizer = CountVectorizer(ngram_range=(1, 2))
    model = LogisticRegression().fit(vectorizer.fit_transform(["good plot", "bad plot"]), [0, 1])
    check = BagCheck(
        lowered([vectorizer, model]), written("plot " * count), [["good"]] * count, None, 0
    )
    form = check.norm_form(1, 1.0)
    region = TextSubproblem((*((1,),) * (count - 1), (0, 1)), (0,) * count, count, exactly=True)
    features = check.bag.features(["good"] * count)
    least = sum(
        (Fraction(float(form.weight[c])) * int(n) for c, n in features.items()), Fraction(form.bias)
    )
    walk = check.texts_of(region)
    rng = np.random.default_rng(0)
    for toll in -float(form.magnitude) * rng.uniform(0.2, 0.5, 8):
        bound = walk.bound(form, {"slopes": {}, "toll": toll}, *form.tangent(-1.0))
        assert abs(bound - least) < 1e-3
        assert Fraction(bound - form.tolerance) <= least


def random_sets(rng: np.random.Generator, count: int) -> SetConstraints:
    costs = [int(cost) for cost in rng.integers(1, 4, count)]
    include = frozenset(np.flatnonzero(rng.random(count) < 0.15).tolist())
    exclude = frozenset(np.flatnonzero(rng.random(count) < 0.2).tolist()) - include
    return SetConstraints(costs, include, exclude, int(rng.integers(0, sum(costs) + 2)))


def left_by(check: BagCheck, form: NormForm, sets: SetConstraints) -> float:
    """The largest lead of the texts that a set leaves, for the set that leaves the least: by
    enumeration.
    """
    count = len(check.words)
    leads = list[tuple[set[int], float]]()
    for chosen in itertools.product(*(range(len(word)) for word in check.words)):
        leads.append(({i for i, k in enumerate(chosen) if k}, value(check, form, chosen)))
    worst = math.inf
    for held in map(
        set, itertools.chain(*(itertools.combinations(range(count), n) for n in range(count + 1)))
    ):
        if (
            sets.include <= held
            and not held & sets.exclude
            and sum(sets.costs[i] for i in held) < sets.below
        ):
            worst = min(worst, max(lead for changed, lead in leads if not changed & held))
    return worst


def random_ceiling(rng: np.random.Generator, check: BagCheck) -> dict[str, Any]:
    columns = range(min(60, check.bag.rows.shape[1]))
    along, slopes = (
        {str(c): float(rng.normal()) for c in columns if rng.integers(2)} for _ in range(2)
    )
    kept = np.flatnonzero(rng.random(len(check.words)) < 0.15).tolist()
    slope = -float(abs(rng.normal()) + 1e-3)
    return {
        "weight": 1.0,
        "kept": kept,
        "slope": slope,
        "along": along,
        "slopes": slopes if rng.integers(2) else {},
    }


def over_promised(seed: int) -> bool:
    """Whether a mixture of two random ceilings promises a lead that some set does not leave."""
    rng = np.random.default_rng(seed)
    check = random_check(rng, [(1, 1), (1, 2), (2, 2)])
    form = check.norm_form(1, -1.0)
    sets = random_sets(rng, len(check.words))
    free = majorants._changeable(check)
    bounds = [
        majorants._majorant(check, form, random_ceiling(rng, check), 2, free, sets.exclude)
        for _ in range(2)
    ]
    mixed = np.mean([parts for *_, parts in bounds], axis=0)
    lead = np.mean([rest for rest, *_ in bounds]) + majorants._least_over_sets(
        check, mixed, free, sets
    )
    return bool(lead > left_by(check, form, sets) + 1e-9)


@pytest.mark.parametrize("seed", range(0, 400, 40))
def test_no_ceiling_promises_more_than_every_set_leaves(seed: int) -> None:
    assert not [one for one in range(seed, seed + 40) if over_promised(one)]
