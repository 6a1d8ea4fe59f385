"""Models that are run on rows of features: what the table says is what scikit-learn itself says of
every string.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC

import suffice as sf
from suffice.errors import Rejected
from suffice.importers.sklearn_asked import opened
from suffice.model.text import rewritten, written
from suffice.proof.certificate import Certificate
from suffice.settings import DEFAULT
from suffice.verify.text.lattice import build_lattice
from suffice.verify.text.score_tables import TextScores
from tests.forging import free_more, table_of
from tests.helpers import set_numbers
from tests.pipelines import judged, of_rows, question, scores

GOOD = [
    "The soup was warm and the bread fresh",
    "A kind waiter brought fresh bread",
    "Loved the warm soup",
]
BAD = ["The soup was cold and the bread stale", "A rude waiter forgot us", "Hated the cold soup"]
TEXT = "The waiter was kind, but the soup was cold and the bread was stale"


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_what_scikit_learn_says_of_every_string(seed):
    rng = np.random.default_rng(seed)
    for _ in range(8):
        pipeline = of_rows(rng)
        words, _, options, _ = question(rng)
        box = opened(pipeline)
        assert box is not None
        layout = build_lattice(box.bag, written(words), options, neighbours=False)
        rows = TextScores(layout)
        text = written(words)
        texts = [
            rewritten(text, dict(layout.change(chosen)))
            for part in rows.chunks()
            for chosen in part
        ]
        theirs = scores(pipeline, texts)
        assert np.allclose(rows.scores - rows.scores[:, :1], theirs - theirs[:, :1], atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_explanations_are_the_cheapest_by_brute_force_and_their_certificates_hold(
    seed, monkeypatch
):
    set_numbers(monkeypatch, DEFAULT.queries, few_texts=0)
    rng = np.random.default_rng(200 + seed)
    ways = [judged(rng, of_rows(rng)) for _ in range(8)]
    assert ways.count("computed") > 2


def calibrated(orders: tuple[int, int] = (1, 1)) -> Pipeline:
    made = make_pipeline(
        TfidfVectorizer(ngram_range=orders), CalibratedClassifierCV(LinearSVC(), cv=3)
    )
    return made.fit(GOOD + BAD, ["good"] * 3 + ["bad"] * 3)


def test_several_calibrators_are_laid_open_and_say_so():
    box = sf.from_sklearn(calibrated())
    result = sf.explain(box, TEXT, perturbation=sf.Deletion())
    assert result.status == "optimal"
    assert result.meta["computed"].startswith(
        "the worst case was computed from the features of every allowed text"
    )
    assert result.meta["checked"] is True


def test_a_text_that_is_shorter_than_every_run_of_words_is_answered():
    made = make_pipeline(
        TfidfVectorizer(ngram_range=(2, 2)), CalibratedClassifierCV(LinearSVC(), cv=2)
    )
    pairs = made.fit([*GOOD, *GOOD, *BAD], ["good"] * 6 + ["bad"] * 3)
    box = sf.from_sklearn(pairs)
    result = sf.explain(
        box, "fresh", perturbation=sf.WordSwap({"fresh": [f"q{k}" for k in range(100)]})
    )
    assert (result.status, result.positions, "computed" in result.meta) == ("optimal", (), True)


def test_a_model_that_jumps_is_asked_even_where_it_says_nothing_but_a_label():
    voting = VotingClassifier(
        [("a", LogisticRegression()), ("b", BernoulliNB()), ("c", MultinomialNB())]
    )
    pipeline = make_pipeline(TfidfVectorizer(), voting).fit(GOOD + BAD, ["good"] * 3 + ["bad"] * 3)
    box = sf.from_sklearn(pipeline)
    assert box.bag is None
    assert [box.predict(text).label for text in [*GOOD, *BAD, TEXT]] == list(
        pipeline.predict([*GOOD, *BAD, TEXT])
    )
    assert sf.explain(box, TEXT, perturbation=sf.Deletion(at_most=2)).status == "optimal"


def _fewer_words(lines: list[Any]) -> None:
    for nodes in table_of(lines)["proofs"].values():
        nodes[0]["groups"][0].pop()


def _bounds_instead(lines: list[Any]) -> None:
    table = next(line for line in lines if "tables" in line)
    table["computed"] = table.pop("tables")


@pytest.mark.parametrize("edit", [free_more, _fewer_words, _bounds_instead])
@pytest.mark.parametrize("orders", [(1, 1), (1, 3)], ids=["words", "three words"])
def test_a_forged_certificate_is_rejected(edit, orders):
    box = sf.from_sklearn(calibrated(orders))
    result = sf.explain(box, TEXT, perturbation=sf.Deletion())
    assert sf.check(result.certificate, box).optimal
    lines = json.loads(json.dumps(result.certificate.lines))
    edit(lines)
    with pytest.raises(Rejected):
        sf.check(Certificate(tuple(lines)), box)
