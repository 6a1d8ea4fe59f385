"""XGBoost and LightGBM over bags of words: what is worked out is what the libraries themselves say
of every string.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline

import suffice as sf
from suffice.importers import boosters
from suffice.importers.bag import lowered
from suffice.importers.kinds import NotLowered
from suffice.importers.sklearn_asked import opened
from suffice.settings import DEFAULT
from tests.helpers import set_numbers
from tests.pipelines import WORDS, fitted, judged, of_boosters

xgboost = pytest.importorskip(
    "xgboost", reason="xgboost is not installed (xgboost-cpu is in the extra `test`)"
)
lightgbm = pytest.importorskip(
    "lightgbm",
    reason="lightgbm cannot be loaded (it needs libgomp)",
    exc_type=(ImportError, OSError),
)


def strings(rng: np.random.Generator, count: int) -> list[str]:
    return [
        " ".join(rng.choice([*WORDS, "unheard"], int(rng.integers(0, 10)))) for _ in range(count)
    ]


def told(pipeline: Pipeline, texts: list[str]) -> tuple[Any, Any, Any]:
    """The library's labels, ours, and where ours are clear."""
    bag = lowered([step for _, step in pipeline.steps])
    assert bag.trees is not None
    scores = np.array([bag.scores(bag.tokens(text)) for text in texts])
    ranked = np.sort(scores, axis=1)
    # not where it is not a number
    clear = ranked[:, -1] - ranked[:, -2] > 2.0 * bag.trees.rounding + 1e-9
    return pipeline.predict(texts), pipeline.classes_[scores.argmax(1)], clear


@pytest.mark.parametrize("seed", range(10))
def test_labels_are_those_of_predict(seed):
    rng = np.random.default_rng(seed)
    clear = 0
    for _ in range(6):
        pipeline = of_boosters(rng)
        texts = strings(rng, 200)
        theirs, ours, sure = told(pipeline, texts)
        assert (ours[sure] == theirs[sure]).all()
        box = opened(pipeline)
        assert box is not None
        assert (pipeline.classes_[box.scores(texts).argmax(1)] == theirs).all()
        clear += int(sure.sum())
    assert clear > 800


@pytest.mark.parametrize("seed", range(8))
def test_explanations_are_the_cheapest_by_brute_force_and_their_certificates_hold(
    seed, monkeypatch
):
    set_numbers(monkeypatch, DEFAULT.queries, few_texts=0)
    rng = np.random.default_rng(200 + seed)
    ways = [judged(rng, of_boosters(rng)) for _ in range(8)]
    assert ways.count("computed") > 2


def extreme(read: Any = None, **given: Any) -> Pipeline:
    model = xgboost.XGBClassifier(n_estimators=6, min_child_weight=0, n_jobs=1, **given)
    return fitted(np.random.default_rng(1), read or TfidfVectorizer(), model)


def test_zeros_that_are_missing_go_their_own_way(monkeypatch):
    """The planted bug: zeros compared like other numbers. Sparse rows hold none, and XGBoost calls
    that missing.
    """
    rng = np.random.default_rng(0)
    wrong = 0
    monkeypatch.setattr(boosters, "_without_zeros", lambda part, default_left: part)
    for _ in range(10):
        pipeline = fitted(
            rng,
            TfidfVectorizer(),
            xgboost.XGBClassifier(n_estimators=4, min_child_weight=0, n_jobs=1),
        )
        theirs, ours, sure = told(pipeline, strings(rng, 100))
        wrong += int((theirs != ours)[sure].sum())
    assert wrong > 20


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: extreme(booster="dart"), "no plain sum of trees"),
        (lambda: extreme(missing=0.0), "takes a number for missing"),
        (lambda: extreme(objective="binary:hinge"), "objective"),
        (lambda: extreme(HashingVectorizer(n_features=16)), "below zero"),
    ],
)
def test_what_is_not_worked_out_is_asked_and_says_why(make, reason):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline = make()
    with pytest.raises(NotLowered, match=reason):
        lowered([step for _, step in pipeline.steps])


def test_it_is_laid_open_and_says_so():
    rng = np.random.default_rng(5)
    texts = strings(rng, 60)
    labels = [k % 2 for k in range(60)]
    for model in (
        xgboost.XGBClassifier(n_estimators=20, n_jobs=1),
        lightgbm.LGBMClassifier(verbose=-1, n_jobs=1),
    ):
        box = sf.from_sklearn(
            make_pipeline(CountVectorizer(dtype=np.float64), model).fit(texts, labels)
        )
        assert box.meta["import"]["way"] == "laid open as a bag of words"
        result = sf.explain(
            box, "the great film was not very good but dull", perturbation=sf.Deletion()
        )
        assert result.status == "optimal"
        assert sf.check(result.certificate, box).optimal


def test_rounds_after_the_best_one_do_not_count():
    rng = np.random.default_rng(8)
    model = xgboost.XGBClassifier(
        n_estimators=40, early_stopping_rounds=2, min_child_weight=0, n_jobs=1
    )
    read = TfidfVectorizer().fit(strings(rng, 60))
    rows = read.transform(strings(rng, 120))
    labels = rng.integers(0, 2, 120)
    model.fit(rows[:80], labels[:80], eval_set=[(rows[80:], labels[80:])], verbose=False)
    assert model.best_iteration + 1 < len(model.get_booster().get_dump())
    pipeline = Pipeline([("read", read), ("model", model)])
    theirs, ours, sure = told(pipeline, strings(rng, 200))
    assert (theirs[sure] == ours[sure]).all()
    assert sure.sum() > 100
