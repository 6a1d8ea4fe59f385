"""Certificates from strangers: whatever their lines hold, they are refused in a sentence and within
their size.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import suffice as sf
from suffice.errors import Rejected
from suffice.importers.sklearn_asked import opened
from suffice.model.blackbox import BlackBox
from suffice.model.text import written
from suffice.proof.certificate import Certificate
from suffice.proof.replay.given_question import all_texts, cheaper_texts
from tests.hostile.limited import limited, only_linux

TEXT = "warm soup here"
TEXTS = ["warm soup", "cold soup here", "warm here", "cold"]
LABELS = ["good", "bad", "good", "bad"]


def laid_open(*steps: Any) -> BlackBox:
    found = opened(make_pipeline(*steps).fit(TEXTS, LABELS))
    assert found is not None
    return found


def claiming(box: BlackBox, *lines: Any) -> Certificate:
    """That no word is needed, by these lines."""
    honest = sf.explain(box, TEXT, perturbation=sf.Deletion()).certificate
    assert honest is not None
    return Certificate(
        ({**honest.lines[0], "claim": {"kind": "sufficient", "positions": []}}, *lines)
    )


@pytest.mark.parametrize("node", [{"groups": []}, {"groups": [[0, 1, 2]]}, {"word": 0}])
@pytest.mark.parametrize(
    "read",
    [
        CountVectorizer(),
        TfidfVectorizer(),
        TfidfVectorizer(ngram_range=(1, 2)),
        CountVectorizer(analyzer="char", ngram_range=(1, 3)),
    ],
    ids=["counts", "tf-idf", "pairs", "characters"],
)
def test_tables_of_a_model_that_has_bounds_alone_are_rejected(read, node):
    box = laid_open(read, LogisticRegression())
    (other,) = {*box.labels} - {box.predict(TEXT).label}
    line = {"tables": {"free": [0, 1, 2], "at_most": None, "proofs": {other: [node]}}}
    with pytest.raises(Rejected, match="only bounds are accepted of this model"):
        sf.check(claiming(box, line), box)


@pytest.mark.parametrize("name", ["computed", "rule", "ceilings"])
def test_bounds_of_a_model_that_has_tables_alone_are_rejected(name):
    box = laid_open(CountVectorizer(), RandomForestClassifier(3, random_state=0))
    line = {name: {"free": [0, 1, 2], "at_most": None, "proofs": {}}}
    with pytest.raises(Rejected):
        sf.check(claiming(box, line), box)


MODEL = """
import numpy as np
import suffice as sf
scores = lambda texts: np.array([[0.0, 1.0]] * len(texts))
box = sf.from_function(scores, ["a", "b"], "m", version="1")
"""
NETWORK = """
import suffice as sf
network = sf.load("sst-fc25")
"""
CHECKS = {
    "box": (MODEL, "sf.check(given[0], box).sentence"),
    "network": (NETWORK, "sf.check(given[0], network).sentence"),
}


def packed(*pieces: bytes) -> bytes:
    """Gzip files one behind the other, which read as one; the same pieces are packed once."""
    made = {piece: gzip.compress(piece) for piece in pieces}
    return b"".join(made[piece] for piece in pieces)


LISTS = b'{"flip": [' + b"[]," * 330_000 + b"[]]}\n"


@only_linux
@pytest.mark.parametrize("model", CHECKS)
@pytest.mark.parametrize(
    "pieces",
    [(b" " * 2**24,) * 128, (LISTS,) * 2000, (b'"' + b"x" * 2**24,) * 128, (b"1\n" * 2**23,) * 128],
    ids=["spaces", "lists of nothing", "a string", "lines"],
)
def test_a_small_certificate_that_unpacks_to_gigabytes_is_refused(model, pieces, tmp_path):
    kind = b'{"certificate": "asked 2"}\n' if model == "box" else b'{"certificate": 2}\n'
    (tmp_path / "c.gz").write_bytes(packed(kind, *pieces))
    assert limited(*CHECKS[model], [tmp_path / "c.gz"], megabytes=400).startswith("refused: ")


def of_words(text: str, swaps: dict[str, list[str]], digest: str) -> bytes:
    """A certificate about a long text of the model above."""
    words = [[word.start, word.end] for word in written(text).words]
    head = {
        "certificate": "asked 2",
        "model": digest,
        "name": "m",
        "mask": "[MASK]",
        "text": text,
        "words": words,
    }
    head |= {"perturbation": {"kind": "word-swap", "swaps": swaps}, "label": "b"}
    head |= {"claim": {"kind": "sufficient", "positions": []}}
    return gzip.compress(json.dumps(head).encode())


@only_linux
def test_substitutes_of_a_word_that_stands_everywhere_are_listed_once(tmp_path):
    """Ten thousand times the same word, with a hundred thousand substitutes, are a thousand
    million.
    """
    box = sf.from_function(
        lambda texts: np.array([[0.0, 1.0]] * len(texts)), ["a", "b"], "m", version="1"
    )
    swaps = {"a": [f"w{i}" for i in range(100_000)]}
    (tmp_path / "c.gz").write_bytes(of_words("a " * 9_999 + "a", swaps, box.digest))
    answer = limited(*CHECKS["box"], [tmp_path / "c.gz"], megabytes=400)
    assert (
        answer == f"refused: line 1: the words may become {10**9} others in all, more than {2**20}"
    )


@only_linux
def test_changed_texts_are_written_one_by_one(tmp_path):
    """A long text, and a hundred thousand substitutes of its last word: all of them together are 20
    GB.
    """
    text = "b " * 9_999 + "b" * 100_000 + " a"
    swaps = {"a": [f"w{i}" for i in range(100_000)]}
    (tmp_path / "texts.json").write_text(json.dumps([text, swaps["a"]]))
    code = """
import itertools, json
from suffice.model.text import written
from suffice.proof.replay.given_question import all_texts, cheaper_texts
text, new = json.load(open(json.loads(sys.argv[1])[0]))
text = written(text)
options = [()] * 9_999 + [(), tuple(new)]
"""
    first = "sum(1 for _ in itertools.islice(all_texts(text, options, [10_000], 1), 1000))"
    assert limited(code, first, [tmp_path / "texts.json"], megabytes=100) == "read: 1000"


def test_all_texts_and_cheaper_changes_are_each_there_once():
    text = written("a b c")
    options = [("x", ""), (), ("y", "z", "")]
    for limit, count in ((1, 6), (2, 12), (3, 12)):
        found = list(all_texts(text, options, [0, 2], limit))
        assert len(found) == len(set(found)) == count
    assert {*all_texts(text, options, [0, 2], 1)} == {
        "a b c",
        "x b c",
        "b c",
        "a b y",
        "a b z",
        "a b",
    }
    changes = [
        tuple(sorted(change.items())) for change in cheaper_texts(options, [0, 2], [2, 1, 1], 2, 3)
    ]
    assert len(changes) == len(set(changes)) == 5
    assert {place for change in changes for place, _ in change} == {0, 2}
    assert sum(len(change) == 2 for change in cheaper_texts(options, [0, 2], [2, 1, 1], 2, 4)) == 6
