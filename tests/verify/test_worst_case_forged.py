"""Certificates about bags of words forged by hand: each is false, and the checker refuses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import suffice as sf
from suffice.errors import Rejected
from suffice.importers.sklearn_asked import opened
from suffice.model.blackbox import BlackBox
from suffice.proof.certificate import Certificate

TEXT = "warm soup here"
COSTS = {"kind": "cheapest", "unit": "1", "include": [], "exclude": []}


def linear(vectorizer: Any, weights: dict[str, float], bias: float) -> BlackBox:
    """A pipeline whose score of "yes" is this; that of "no" is the opposite."""
    made = make_pipeline(vectorizer, LogisticRegression()).fit(
        [" ".join(weights), ""], ["no", "yes"]
    )
    columns = made[0].vocabulary_
    made[1].coef_ = np.array([[weights[word] for word in sorted(columns, key=columns.__getitem__)]])
    made[1].intercept_ = np.array([bias])
    return opened(made)


def header(box: BlackBox, text: str, claim: dict[str, Any], **more: Any) -> dict[str, Any]:
    honest = sf.explain(box, text, perturbation=sf.Deletion()).certificate
    assert honest is not None
    return {**honest.lines[0], "claim": claim, **more}


def says(box: BlackBox, text: str) -> str:
    return box.predict(text).label


def line(**given: Any) -> dict[str, Any]:
    return {"low": 0.0, "high": 0.0, "slope": 0.0, "toll": None, "slopes": {}, **given}


def third_suffices(box: BlackBox, *lines: Any) -> Certificate:
    """The third word suffices: what was computed says so."""
    proofs = {"no": [{"lines": list(lines)}]}
    computed = {"computed": {"free": [0, 1], "at_most": None, "proofs": proofs}}
    return Certificate((header(box, TEXT, {"kind": "sufficient", "positions": [2]}), computed))


@pytest.mark.parametrize("high", ["nan", "inf", 1e999, None])
def test_a_range_whose_bound_is_no_number_proves_nothing(high):
    """The first range is tiny, so that its chord is steep; the second, which holds all texts, is
    not worked out.
    """
    box = linear(TfidfVectorizer(use_idf=False), {"warm": 1.0, "soup": -1.0, "here": 0.0}, 0.1)
    assert (says(box, TEXT), says(box, "soup here")) == ("yes", "no")
    forged = third_suffices(box, line(high=1e-12), line(low=1e-12, high=high))
    with pytest.raises(Rejected):
        print(sf.check(forged, box).sentence)


@pytest.mark.parametrize("split", [False, True], ids=["whole", "split by its count"])
def test_a_steep_slope_does_not_turn_rounding_into_a_bound(split):
    """With "aa" gone nothing else may change, so that slopes cancel: what is left of them is
    rounding, and positive.
    """
    weights = {"aa": 2.0, "xx": 0.05, "qq": 0.0}
    box = linear(CountVectorizer(), weights, -1.0)
    many = " xx" * 11
    text = f"aa{many} qq"
    assert (says(box, text), says(box, f"{many} qq")) == ("yes", "no")
    swaps = {"kind": "removal-or-swap", "swaps": {"qq": ["xx xx"]}, "at_most": 1}
    rng = np.random.default_rng(0)
    column = sorted(weights).index("xx")
    for steep in 10.0 ** rng.uniform(20, 300, 100):
        last = [{"lines": [line(slopes={str(column): steep})]}]
        if split:  # no text counts more than that
            last = [{"column": column, "most": 13.0}, *last, {"lines": []}]
        nodes = [{"word": 0, "keep": ["aa"]}, {"lines": [line()]}, *last]
        computed = {"computed": {"free": list(range(12)), "at_most": 1, "proofs": {"no": nodes}}}
        claim = {"kind": "sufficient", "positions": [12]}
        forged = Certificate((header(box, text, claim, perturbation=swaps), computed))
        with pytest.raises(Rejected, match="a bound is"):
            print(steep, sf.check(forged, box).sentence)


def test_costs_beyond_what_doubles_hold_are_refused():
    """2^53 + 3 is rounded up: a set that costs so much would count as one that costs more."""
    box = linear(CountVectorizer(), {"warm": 1.0, "soup": 0.0, "here": 0.0}, -0.5)
    cost = 2**53 + 3
    claim = {
        **COSTS,
        "positions": [0, 1],
        "costs": [cost, 1, 1],
        "cost": cost + 1,
        "lower": cost + 1,
    }
    computed = {"free": [2], "at_most": None, "proofs": {"no": [{"lines": [line()]}]}}
    flip = {"changed": [0], "words": [""], "text": "soup here", "label": "no"}
    forged = Certificate((header(box, TEXT, claim), {"flip": flip}, {"computed": computed}))
    with pytest.raises(Rejected):
        print(sf.check(forged, box).sentence)


@pytest.mark.parametrize("unit", ["0", "-1", "nan", "1e3", "1/0", 1, None])
def test_the_unit_of_costs_is_a_fraction_above_zero(unit):
    box = linear(CountVectorizer(), {"warm": 1.0, "soup": 0.0, "here": 0.0}, -0.5)
    honest = sf.explain(box, TEXT, perturbation=sf.Deletion()).certificate
    head = {**honest.lines[0], "claim": {**honest.lines[0]["claim"], "unit": unit}}
    with pytest.raises(Rejected):
        print(sf.check(Certificate((head, *honest.lines[1:])), box).sentence)


def test_the_sentence_names_the_program_that_was_run_and_prices_as_they_are():
    box = linear(CountVectorizer(), {"warm": 1.0, "soup": 0.0, "here": 0.0}, -0.5)
    costs = {"warm": 2 / 3, "soup": 1 / 3, "here": 1 / 3}
    honest = sf.explain(
        box, TEXT, perturbation=sf.Deletion(), cost=lambda word: costs[word]
    ).certificate
    forged = Certificate(({**honest.lines[0], "name": "another program"}, *honest.lines[1:]))
    assert "another program" not in sf.check(forged, box).sentence
    assert "less than 0.6666666666666666 suffices" in sf.check(honest, box).sentence
    assert "less than 0.666667" not in sf.check(honest, box).sentence


def test_of_a_word_that_comes_twice_the_sentence_says_which():
    box = sf.from_function(
        lambda texts: [[1.0, 0.0] if text.startswith("so") else [0.0, 1.0] for text in texts],
        ["y", "n"],
    )
    found = sf.explain(box, "so good so far", perturbation=sf.Mask("it"))
    assert found.positions == (0,)
    assert "'so' (position 0) suffices" in found.proved[1]
