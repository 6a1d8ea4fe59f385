"""Trees over bags of words: what the tables say is what scikit-learn itself says of every allowed
string.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import suffice as sf
from suffice.errors import Rejected
from suffice.importers.bag import lowered
from suffice.importers.kinds import NotLowered
from suffice.model.text import rewritten, written
from suffice.proof.certificate import Certificate
from suffice.settings import DEFAULT, RESOURCES
from suffice.verify.contract import Budget
from suffice.verify.text.lattice import build_lattice
from suffice.verify.text.tree_ensembles import TableProved, TableRefuted, TreeEnsemble
from tests.forging import free_more, table_of
from tests.helpers import set_numbers
from tests.pipelines import every_text, judged, of_trees, question, scores

GOOD = [
    "The soup was warm and the bread fresh",
    "A kind waiter brought fresh bread",
    "Loved the warm soup",
]
BAD = ["The soup was cold and the bread stale", "A rude waiter forgot us", "Hated the cold soup"]
TEXT = "The waiter was kind, but the soup was cold and the bread was stale"


@pytest.mark.parametrize("entries", [2**18, 16], ids=["one table", "small tables and splits"])
@pytest.mark.parametrize("seed", range(8))
def test_the_worst_case_is_that_of_every_allowed_string(seed, entries, monkeypatch):
    set_numbers(monkeypatch, RESOURCES, table_entries=entries)
    rng = np.random.default_rng(seed)
    seen = {"stands": 0, "falls": 0}
    for _ in range(12):
        pipeline = of_trees(rng)
        words, _, options, limit = question(rng)
        bag = lowered([step for _, step in pipeline.steps])
        texts = every_text(words, options, limit)
        rows = scores(pipeline, [text for _, text in texts])
        ours = np.array([bag.scores(bag.tokens(text)) for _, text in texts])
        clear = ~np.isnan(ours).any(1)
        assert np.allclose((ours - ours[:, :1])[clear], (rows - rows[:, :1])[clear], atol=1e-9)
        layout = build_lattice(bag, written(words), options)
        label = int(scores(pipeline, [" ".join(words)])[0].argmax())
        held = rng.random(len(words)) < 0.3
        kept = [not any(held[i] for i in changed) for changed, _ in texts]
        for rival in (j for j in range(rows.shape[1]) if j != label):
            margins = rows[:, label] - rows[:, rival]
            match TreeEnsemble(layout, label, rival, limit).decide(held, Budget(30)):
                case TableProved() as found:
                    seen["stands"] += 1
                    close = {
                        rewritten(written(words), dict(layout.change(text)))
                        for text in found.all_unclear()
                    }
                    wanted = [
                        ok and text not in close for ok, (_, text) in zip(kept, texts, strict=True)
                    ]
                    assert (margins[wanted] > 0).all()
                case TableRefuted(chosen=chosen):
                    seen["falls"] += 1
                    text = rewritten(written(words), dict(layout.change(chosen)))
                    row = scores(pipeline, [text])[0]
                    assert row[label] <= row[rival]
                case found:
                    raise AssertionError(found)
    assert min(seen.values()) > 0


@pytest.mark.parametrize("seed", range(6))
def test_explanations_are_the_cheapest_by_brute_force_and_their_certificates_hold(
    seed, monkeypatch
):
    set_numbers(monkeypatch, DEFAULT.queries, few_texts=0)
    rng = np.random.default_rng(100 + seed)
    ways = [judged(rng, of_trees(rng)) for _ in range(10)]
    assert ways.count("computed") > 3


def forest(vectorizer: Any = None, model: Any = None) -> Pipeline:
    chosen = RandomForestClassifier(25, random_state=0) if model is None else model
    made = make_pipeline(vectorizer or TfidfVectorizer(), chosen)
    return made.fit(GOOD + BAD, ["good"] * 3 + ["bad"] * 3)


def test_a_forest_is_laid_open_and_says_so():
    box = sf.from_sklearn(forest())
    assert box.bag is not None
    assert box.bag.trees is not None
    result = sf.explain(box, TEXT, perturbation=sf.Deletion())
    assert result.status == "optimal"
    assert "the worst case was computed" in str(result)
    assert result.meta["checked"] is True
    robust = sf.is_robust(box, TEXT, list(result.positions), perturbation=sf.Deletion())
    assert isinstance(robust, sf.Proved)
    assert sf.check(robust.certificate, box).kind == "sufficient"


def test_a_forest_after_a_step_that_mixes_features_is_asked():
    from sklearn.decomposition import TruncatedSVD

    made = make_pipeline(
        TfidfVectorizer(), TruncatedSVD(3), RandomForestClassifier(5, random_state=0)
    )
    made.fit(GOOD + BAD, ["good"] * 3 + ["bad"] * 3)
    assert sf.from_sklearn(made).bag is None


def test_only_the_plain_function_that_writes_a_matrix_out_is_understood():
    model = HistGradientBoostingClassifier(min_samples_leaf=2)
    other = FunctionTransformer(lambda x: 2 * x.toarray(), accept_sparse=True)
    made = make_pipeline(CountVectorizer(), other, model).fit(
        GOOD + BAD, ["good"] * 3 + ["bad"] * 3
    )
    with pytest.raises(NotLowered):
        lowered([step for _, step in made.steps])


def _raise_lower(lines: list[Any]) -> None:
    claim = lines[0]["claim"]
    other = next(i for i in table_of(lines)["free"] if i not in claim["positions"])
    claim["positions"] = sorted([*claim["positions"], other])
    claim["cost"] += 1
    claim["lower"] = claim["cost"]
    table_of(lines)["free"].remove(other)
    for nodes in table_of(lines)["proofs"].values():
        nodes[0]["groups"] = [[i for i in nodes[0]["groups"][0] if i != other]]


def _no_groups(lines: list[Any]) -> None:
    for nodes in table_of(lines)["proofs"].values():
        nodes[0]["groups"] = [[]]


def _drop_a_proof(lines: list[Any]) -> None:
    table_of(lines)["proofs"].clear()


def _half(lines: list[Any]) -> None:
    """A split with a proof for its first branch only."""
    for nodes in table_of(lines)["proofs"].values():
        nodes.insert(0, {"word": nodes[0]["groups"][0][0]})


@pytest.mark.parametrize("edit", [free_more, _raise_lower, _no_groups, _drop_a_proof, _half])
@pytest.mark.parametrize("vectorizer", [CountVectorizer(), TfidfVectorizer()], ids=["counts", "l2"])
def test_a_forged_certificate_is_rejected(edit, vectorizer):
    box = sf.from_sklearn(forest(vectorizer))
    result = sf.explain(box, TEXT, perturbation=sf.Deletion())
    assert sf.check(result.certificate, box).optimal
    lines = json.loads(json.dumps(result.certificate.lines))
    edit(lines)
    with pytest.raises(Rejected):
        sf.check(Certificate(tuple(lines)), box)


def test_a_certificate_is_rejected_where_the_trees_are_not_the_program():
    box = sf.from_sklearn(forest())
    other = sf.from_sklearn(forest(model=RandomForestClassifier(25, random_state=1)))
    result = sf.explain(box, TEXT, perturbation=sf.Deletion())
    with pytest.raises(Rejected, match="do not agree"):
        sf.check(result.certificate, replace(box, bag=other.bag))
