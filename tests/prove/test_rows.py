"""Models that are run on rows of features: what the table says is what scikit-learn itself says of every string."""

from __future__ import annotations

import itertools
import json
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

import suffice as sf
from suffice.errors import Rejected
from suffice.importers.sklearn_asked import opened
from suffice.model.text import rewritten, written
from suffice.proof.certificate import Certificate
from suffice.prove.layout import laid_out
from suffice.prove.rows import Rows

WORDS = ["good", "bad", "film", "plot", "dull", "great", "not", "very", "the", "was"]
GOOD = ["The soup was warm and the bread fresh", "A kind waiter brought fresh bread", "Loved the warm soup"]
BAD = ["The soup was cold and the bread stale", "A rude waiter forgot us", "Hated the cold soup"]
TEXT = "The waiter was kind, but the soup was cold and the bread was stale"


def random_pipeline(rng: np.random.Generator) -> Pipeline:
    labels, seed = int(rng.choice([2, 2, 3])), int(rng.integers(1000))
    texts = [" ".join(rng.choice(WORDS, int(rng.integers(2, 8)))) for _ in range(40)]
    classes = [int(k) for k in rng.permutation(np.arange(40) % labels)]
    linear = int(rng.integers(3)) == 0
    orders = [(1, 3), (2, 3), (3, 3)][rng.integers(3)] if linear else [(1, 1), (1, 2), (1, 3)][rng.integers(3)]
    norm = ["l2", "l2", "l1"][rng.integers(3)]
    vectorizer: Any = [
        CountVectorizer(ngram_range=orders, binary=bool(rng.integers(2))),
        TfidfVectorizer(ngram_range=orders, norm=norm, sublinear_tf=bool(rng.integers(2)), token_pattern=r"\w+"),
        HashingVectorizer(n_features=16, norm=norm, ngram_range=orders),
    ][rng.integers(3)]
    signed = isinstance(vectorizer, HashingVectorizer)
    steps: list[Any] = [[], [], [MaxAbsScaler()], [SelectKBest(k=6)], [TruncatedSVD(3)]][rng.integers(5)]
    steps = [] if linear else steps
    signed = signed or (bool(steps) and isinstance(steps[0], TruncatedSVD))
    network = MLPClassifier((4,), max_iter=20, random_state=seed, activation=["relu", "tanh"][rng.integers(2)])
    second: Any = network if signed else MultinomialNB()
    model: Any = [
        CalibratedClassifierCV(LinearSVC(), cv=2),
        CalibratedClassifierCV(LogisticRegression(), cv=3, method="isotonic"),
        VotingClassifier([("a", LogisticRegression(C=10)), ("b", second)], voting="soft"),
        VotingClassifier([("a", LogisticRegression()), ("b", second)], voting="soft", weights=[1, 3]),
        network,
    ][rng.integers(5)]
    if linear:
        model = [LogisticRegression(C=10), LinearSVC(), RidgeClassifier()][rng.integers(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(vectorizer, *steps, model).fit(texts, classes)


def scores(pipeline: Pipeline, texts: list[str]) -> np.ndarray:
    """By scikit-learn alone."""
    if hasattr(pipeline, "decision_function"):
        found = np.asarray(pipeline.decision_function(texts))
        return found if found.ndim == 2 else np.stack([np.zeros(len(found)), found], 1)
    return np.asarray(pipeline.predict_proba(texts))


def every_text(words: list[str], options: list[tuple[str, ...]], limit: int | None) -> list[tuple[frozenset[int], str]]:
    text, found = written(words), []
    for choice in itertools.product(*((None, *some) for some in options)):
        new = {i: word for i, word in enumerate(choice) if word is not None}
        if limit is None or len(new) <= limit:
            found.append((frozenset(new), rewritten(text, new)))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_rows_and_explanations_are_those_of_every_allowed_string(seed, monkeypatch):
    monkeypatch.setattr("suffice.search.grown.SMALL", 0)
    rng, computed = np.random.default_rng(seed), 0
    for _ in range(8):
        pipeline = random_pipeline(rng)
        words = [str(word) for word in rng.choice([*WORDS, "zzz", "good-plot"], int(rng.integers(3, 7)))]
        limit = [None, None, 2][rng.integers(3)]
        swaps = {word: [str(w) for w in rng.choice([*WORDS, "very-bad"], 2) if w != word] for word in words[::2]}
        which = int(rng.integers(2))
        made = [sf.Deletion(at_most=limit), sf.RemoveOrSwap(swaps, at_most=limit)][which]
        options = [("", *(dict.fromkeys(swaps.get(w, ())) if which else ())) for w in words]
        texts = every_text(words, options, limit)
        rows = scores(pipeline, [text for _, text in texts])
        box = opened(pipeline)
        assert box is not None
        layout = laid_out(box.bag, written(words), options, neighbours=False)
        table = Rows(layout)
        theirs = [rewritten(written(words), dict(layout.change(chosen))) for part in table._parts() for chosen in part]
        assert np.allclose(table.scores, box.function(theirs), atol=1e-9)
        label = int(scores(pipeline, [" ".join(words)])[0].argmax())
        margins = rows[:, label] - np.delete(rows, label, axis=1).max(1)
        if np.abs(margins).min() < 1e-6:
            continue
        result = sf.explain(box, words, perturbation=made)
        flips = [changed for (changed, _), margin in zip(texts, margins, strict=True) if margin <= 0]
        sizes = [
            len(held)
            for size in range(len(words) + 1)
            for held in itertools.combinations(range(len(words)), size)
            if all(changed & set(held) for changed in flips)
        ]
        assert result.status == "optimal", (result.meta.get("reason"), result.meta.get("rejected"))
        assert result.cost == min(sizes)
        assert sf.check(result.certificate, box).optimal
        computed += "computed" in result.meta
    assert computed > 2


def calibrated(orders: tuple[int, int] = (1, 1)) -> Pipeline:
    made = make_pipeline(TfidfVectorizer(ngram_range=orders), CalibratedClassifierCV(LinearSVC(), cv=3))
    return made.fit(GOOD + BAD, ["good"] * 3 + ["bad"] * 3)


def test_several_calibrators_are_laid_open_and_say_so():
    box = sf.from_sklearn(calibrated())
    result = sf.explain(box, TEXT, perturbation=sf.Deletion())
    assert result.status == "optimal"
    assert result.meta["computed"].startswith("the worst case was computed from the features of every allowed text")
    assert result.meta["checked"] is True


def test_a_model_that_jumps_is_asked_even_where_it_says_nothing_but_a_label():
    voting = VotingClassifier([("a", LogisticRegression()), ("b", BernoulliNB()), ("c", MultinomialNB())])
    pipeline = make_pipeline(TfidfVectorizer(), voting).fit(GOOD + BAD, ["good"] * 3 + ["bad"] * 3)
    box = sf.from_sklearn(pipeline)
    assert box.bag is None
    assert [box.predict(text).label for text in [*GOOD, *BAD, TEXT]] == list(pipeline.predict([*GOOD, *BAD, TEXT]))
    assert sf.explain(box, TEXT, perturbation=sf.Deletion(at_most=2)).status == "optimal"


def _table(lines: list[Any]) -> Any:
    return next(line["tables"] for line in lines if "tables" in line)


def _free_more(lines: list[Any]) -> None:
    claim = lines[0]["claim"]
    gone = claim["positions"].pop()
    claim["cost"] -= 1
    claim["lower"] = min(claim["lower"], claim["cost"])
    _table(lines)["free"] = sorted([*_table(lines)["free"], gone])
    for nodes in _table(lines)["proofs"].values():
        nodes[0]["groups"] = [sorted([*nodes[0]["groups"][0], gone])]


def _fewer_words(lines: list[Any]) -> None:
    for nodes in _table(lines)["proofs"].values():
        nodes[0]["groups"][0].pop()


def _bounds_instead(lines: list[Any]) -> None:
    table = next(line for line in lines if "tables" in line)
    table["computed"] = table.pop("tables")


@pytest.mark.parametrize("edit", [_free_more, _fewer_words, _bounds_instead])
@pytest.mark.parametrize("orders", [(1, 1), (1, 3)], ids=["words", "three words"])
def test_a_forged_certificate_is_rejected(edit, orders):
    box = sf.from_sklearn(calibrated(orders))
    result = sf.explain(box, TEXT, perturbation=sf.Deletion())
    assert sf.check(result.certificate, box).optimal
    lines = json.loads(json.dumps(result.certificate.lines))
    edit(lines)
    with pytest.raises(Rejected):
        sf.check(Certificate(tuple(lines)), box)
