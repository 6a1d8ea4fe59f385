"""Texts in which just so many words change: the cheapest one, and rules that any so many of some
words flip.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

import suffice as sf
from suffice.errors import Rejected
from suffice.importers.bag import lowered
from suffice.model.text import written
from suffice.optimise.cuts.cut_lines import _proof_nodes
from suffice.proof.bag.check import BagCheck
from suffice.proof.certificate import Certificate
from suffice.settings import DEFAULT
from suffice.verify.contract import Budget
from suffice.verify.text.lattice import build_lattice
from suffice.verify.text.norm_form import (
    InstanceProved,
    InstanceUnknown,
    TextInstance,
    decide_instance,
    negated,
)
from suffice.verify.text.viterbi import shortest_path_within
from tests.helpers import set_numbers
from tests.verify.test_worst_case import case_of, random_pipeline, random_question
from tests.verify.test_worst_case_forged import header, line, linear, says


def wrongly_limited(rng: np.random.Generator, ours: Any, count: int) -> int:
    """Of so many texts with prices, how often the cheapest with a limit on changes is not that of
    all.
    """
    wrong = 0
    while count:
        pipeline = random_pipeline(rng)
        source, options = random_question(rng)
        layout = (
            None
            if pipeline is None
            else build_lattice(lowered([s for _, s in pipeline.steps]), written(source), options)
        )
        if layout is None or not layout.pairs:
            continue
        count -= 1
        allowed = rng.random(len(layout.word_of)) < 0.8
        allowed[
            np.where(rng.random(layout.word_count) < 0.8, layout.first, layout.offsets[1:] - 1)
        ] = True
        cost = rng.normal(size=len(layout.word_of))
        prices = rng.normal(size=len(layout.columns))
        limit = int(rng.integers(1, 4))
        exactly = bool(rng.integers(2))
        sums = {}
        for some in itertools.product(
            *(np.flatnonzero(allowed & (layout.word_of == i)) for i in range(layout.word_count))
        ):
            text = np.array(some)
            alone = layout.option_counts[list(some)].sum(0)
            changed = int((text != layout.first).sum())
            if changed == limit or (changed < limit and not exactly):
                sums[some] = cost[text].sum() + float(
                    (layout.counts(text) - np.asarray(alone).ravel()) @ prices
                )
        value, chosen = ours(layout, cost, prices, allowed, layout.first, limit, exactly)
        right = value == pytest.approx(min(sums.values(), default=math.inf), abs=1e-9)
        wrong += not (
            right
            and (not sums or sums.get(tuple(chosen), math.nan) == pytest.approx(value, abs=1e-9))
        )
    return wrong


def test_the_cheapest_text_of_so_many_changes_is_that_of_all():
    assert wrongly_limited(np.random.default_rng(3), shortest_path_within, 150) == 0


def test_a_path_that_forgets_to_count_is_seen(monkeypatch):
    from suffice.verify.text import viterbi

    vanish = viterbi._CountingViterbi._remove

    def free(self, end, removal):
        before = self.moved
        self.moved = before & ~self.lattice.empty  # what vanishes is no change
        vanish(self, end, removal)
        self.moved = before

    monkeypatch.setattr(viterbi._CountingViterbi, "_remove", free)
    assert wrongly_limited(np.random.default_rng(3), shortest_path_within, 50) > 5


def any_flip(rng: np.random.Generator, spoil: Any = None) -> str:
    """Whether a text fails whichever so many of some words change: by prover and checker, true of
    all texts.
    """
    pipeline = random_pipeline(rng)
    source, options = random_question(rng)
    if pipeline is None:
        return "none"
    bag = lowered([step for _, step in pipeline.steps])
    layout = build_lattice(bag, written(source), options)
    labels = [str(j) for j in range(len(bag.bias))]
    label, rival = rng.permutation(len(labels))[
        :2
    ].tolist()  # not always the text's own: then many fail
    chosen = np.array(
        [rng.integers(min(a + 1, b - 1), b) for a, b in itertools.pairwise(layout.offsets)]
    )
    changed = np.flatnonzero(chosen != layout.first)
    count = int(rng.integers(1, 4))
    if len(changed) <= count:
        return "none"
    allowed = np.isin(np.arange(len(layout.word_of)), [*chosen, *layout.first])
    case = replace(negated(case_of(layout, label, rival, count)), allowed=allowed, exactly=True)
    found = decide_instance(case, Budget(30))
    least = min(leads(case, chosen, changed, count))
    if not isinstance(found, InstanceProved):
        assert isinstance(found, InstanceUnknown) or least <= 0
        return type(found).__name__
    assert least > 0
    tree = list(_proof_nodes(layout, found, np.ones(len(layout.columns), dtype=bool)))
    words = [word for _, word in layout.change(chosen)]
    rule = {
        "rival": labels[rival],
        "changed": changed.tolist(),
        "words": words,
        "count": len(changed) - count,
    }
    check = BagCheck(bag, written(source), options, None, label)
    if spoil is None:
        weights, least = check.checked_cut({**rule, "tree": tree}, labels)
        assert (weights.sum(), least) == (len(changed), len(changed) - count + 1)
        return "InstanceProved"
    spoil(rule)
    with pytest.raises(Rejected):
        check.checked_cut({**rule, "tree": tree}, labels)
    return "Refused"


def leads(
    case: TextInstance, chosen: np.ndarray, changed: np.ndarray, count: int
) -> Iterator[float]:
    """The forms of all texts with so many of these changes."""
    for some in itertools.combinations(changed, count):
        text = case.lattice.first.copy()
        text[list(some)] = chosen[list(some)]
        yield case.form_and_margin(case.lattice.counts(text))[0]


@pytest.mark.parametrize("counted", [0, 8], ids=["tolls", "counted"])
def test_that_any_so_many_words_flip_is_true_of_all_texts(counted, monkeypatch):
    set_numbers(monkeypatch, DEFAULT.norm_form, counted_changes=counted)
    rng = np.random.default_rng(11)
    seen = Counter(any_flip(rng) for _ in range(400))
    assert min(seen["InstanceProved"], seen["InstanceRefuted"]) > 20
    assert seen["InstanceUnknown"] < 5


def _all_back(line: dict[str, Any]) -> None:
    """Nothing would be changed then: no text says anything."""
    line["count"] = len(line["changed"]) + 1


def _one_twice(line: dict[str, Any]) -> None:
    """A word that is named twice does not count as two."""
    line["changed"], line["words"] = [line["changed"][0]] * 2, [line["words"][0]] * 2
    line["count"] = 1


def _nothing_back(line: dict[str, Any]) -> None:
    line["count"] = 0


@pytest.mark.parametrize("spoil", [_all_back, _one_twice, _nothing_back])
def test_a_rule_about_texts_that_are_not_there_is_refused(spoil):
    rng = np.random.default_rng(11)
    refused = (found for _ in range(200) if (found := any_flip(rng, spoil)) == "Refused")
    assert len(list(itertools.islice(refused, 6))) == 6


def test_a_large_toll_does_not_turn_rounding_into_a_bound():
    """Without "aa" no other word may change, so that tolls cancel: what the others add is lost in
    rounding.
    """
    weights = {"aa": 1.5, "bb": 0.0, "cc": -2.0, "aa bb": 0.0, "bb cc": 0.0}
    box = linear(CountVectorizer(ngram_range=(1, 2), vocabulary=list(weights)), weights, 1.0)
    assert (says(box, "aa bb cc"), says(box, "bb cc")) == ("yes", "no")
    for toll in 10.0 ** np.random.default_rng(0).uniform(10, 300, 100):
        nodes = [
            {"word": 0, "keep": ["aa"]},
            {"lines": [line(toll=0.0)]},
            {"lines": [line(toll=toll)]},
        ]
        computed = {"computed": {"free": [0, 1, 2], "at_most": 1, "proofs": {"no": nodes}}}
        claim = {"kind": "sufficient", "positions": []}
        removal = {"kind": "deletion", "at_most": 1}
        forged = Certificate((header(box, "aa bb cc", claim, perturbation=removal), computed))
        with pytest.raises(Rejected, match="a bound is"):
            print(toll, sf.check(forged, box).sentence)
