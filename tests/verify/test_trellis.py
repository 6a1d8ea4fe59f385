"""Characters, words between spaces, several words in a row, several vectorizers: computed as
scikit-learn says.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union

import suffice as sf
from suffice.errors import Rejected
from suffice.importers.sklearn_asked import opened
from suffice.model.text import rewritten, written
from suffice.proof.bag.check import BagCheck
from suffice.proof.bag.trellis import Trellis
from suffice.verify.text.lattice import NoLattice, build_lattice
from suffice.verify.text.transducer import Transducer
from tests.pipelines import SHORT, of_streams, prose
from tests.verify.test_worst_case import (
    _drop_a_proof,
    _empty_leaf,
    _free_more,
    _raise_lower,
    _shrink_weights,
    cheapest,
    every_text,
    fitted,
    judged,
    mutated,
    scores,
)


def random_question(
    rng: np.random.Generator, odd: bool = False
) -> tuple[str, list[tuple[str, ...]]]:
    source = prose(rng, 2, 7, odd)
    removal, swaps = [(True, False), (False, True), (True, True)][rng.integers(3)]
    options = []
    for word in written(source).words:
        found = [""] if removal else []
        found += (
            [str(x) for x in rng.choice([*SHORT, "qq", "good film", "."], int(rng.integers(0, 3)))]
            if swaps
            else []
        )
        options.append(
            tuple(dict.fromkeys(x for x in found if x != word.text and rng.random() < 0.8))
        )
    return source, options


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_worst_case_is_that_of_every_allowed_string(seed, odd):
    rng = np.random.default_rng(seed)
    seen = Counter[str]()
    while sum(seen.values()) < 20:
        pipeline = of_streams(rng, odd)
        source, options = random_question(rng, odd)
        limit = [None, None, 1, 2][rng.integers(4)]
        with contextlib.suppress(
            NoLattice
        ):  # a mark becomes a word that stands together with another
            seen += judged(pipeline, source, options, limit)
    assert seen.keys() == {"holds", "fails"}


@pytest.mark.parametrize("seed", range(4))
def test_explanations_are_the_cheapest_by_brute_force_and_their_certificates_hold(seed):
    rng = np.random.default_rng(500 + seed)
    done = 0
    while done < 6:
        pipeline, (source, _) = of_streams(rng), random_question(rng)
        words = written(source).words
        limit = [None, None, 1, 2][rng.integers(4)]
        swaps = {
            word.text: [str(w) for w in rng.choice(SHORT, 2) if w != word.text]
            for word in words[::2]
        }
        made = [
            sf.Deletion(at_most=limit),
            sf.WordSwap(swaps, at_most=limit),
            sf.RemoveOrSwap(swaps, at_most=limit),
        ]
        which = int(rng.integers(3))
        gone = ("",) if which != 1 else ()
        options = [(*gone, *(dict.fromkeys(swaps.get(w.text, ())) if which else ())) for w in words]
        texts = every_text(source, options, limit)
        rows = scores(pipeline, [text for _, text in texts])
        label = int(scores(pipeline, [source])[0].argmax())
        margins = rows[:, label] - np.delete(rows, label, axis=1).max(1)
        if np.abs(margins).min() < 1e-7:
            continue
        box = opened(pipeline)
        assert box is not None
        result = sf.explain(box, source, perturbation=made[which])
        assert result.status == "optimal", result.meta
        assert result.cost == cheapest(texts, list(margins <= 0), [1] * len(words), set())
        assert sf.check(result.certificate, box).optimal
        done += "computed" in result.meta


SOUR = "The waiter was kind, but the soup was cold (and the bread was stale)."


@pytest.mark.parametrize(
    "edit", [_free_more, _raise_lower, _shrink_weights, _drop_a_proof, _empty_leaf]
)
@pytest.mark.parametrize("analyzer", ["char", "char_wb"])
def test_a_forged_certificate_is_rejected(edit, analyzer):
    box = sf.from_sklearn(fitted(TfidfVectorizer(analyzer=analyzer, ngram_range=(2, 4))))
    # long enough that rules are needed
    result = sf.explain(box, f"{SOUR} {SOUR}", perturbation=sf.Deletion())
    assert result.meta["computed"]
    assert sf.check(result.certificate, box).optimal
    with pytest.raises(Rejected):
        sf.check(mutated(result.certificate, edit), box)


def differing(
    reads: type[Transducer] | type[Trellis],
    source: str = "was cold (stale).",
    vectorizer: Any = None,
) -> int:
    """How many texts of a few are counted otherwise than by scikit-learn, by the prover or by the
    checker.
    """
    box = sf.from_sklearn(
        fitted(vectorizer or TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)))
    )
    text = written(source)
    found = 0
    pieces = [[word.text, ""] for word in text.words]
    for gone in itertools.product([0, 1], repeat=len(pieces)):
        new = {i: "" for i, k in enumerate(gone) if k}
        right = box.bag.features(box.bag.tokens(rewritten(text, new)))
        if reads is Transducer:
            layout = build_lattice(box.bag, text, [("",)] * len(pieces))
            counts = layout.counts(layout.first + np.array(gone))
            mine = {int(c): n for c, n in zip(layout.columns, counts, strict=True) if n}
        else:
            ways = Trellis(box.bag.streams, text, pieces)
            counts = ways.count_table[ways._path_rows(gone)].toarray().sum(0)
            mine = {c: n for c, n in zip(ways.columns, counts, strict=True) if n}
        found += mine != right
    return found


@pytest.mark.parametrize("reads", [Transducer, Trellis])
def test_a_reading_that_is_wrong_about_spaces_is_seen(reads, monkeypatch):
    assert differing(reads) == 0
    whole = Trellis._next_state

    def spaced(self, state, gap, piece):
        return whole(self, state, gap if state[1] is None else " ", piece)

    # planted bugs: a mark does not stay at the word before a removed one
    monkeypatch.setattr(
        Transducer, "_restored_gap", lambda self, state, gap, piece: state.pending_gap or gap or " "
    )
    monkeypatch.setattr(Trellis, "_next_state", spaced)
    assert differing(reads) > 0


STRANGE = [
    "was\u3000cold\u00a0 \u2003stale\u3000",
    "cafe\u0301,x-ray, cafe\u0301",
    "cold\u2028stale\x1c\u2029ﬁlm\n \u2028",
]


@pytest.mark.parametrize("source", STRANGE, ids=["wide spaces", "marks", "separators"])
@pytest.mark.parametrize("accents", [None, "unicode", "ascii"])
@pytest.mark.parametrize(
    "given", [{"analyzer": "char"}, {"analyzer": "char_wb"}, {"token_pattern": r"\S+"}]
)
@pytest.mark.parametrize("reads", [Transducer, Trellis])
def test_strange_spaces_and_marks_are_read_as_scikit_learn_does(reads, given, accents, source):
    """Where accents are stripped, wide spaces become plain ones and separators nothing; a mark ends
    a word.
    """
    made = HashingVectorizer(**given, strip_accents=accents, ngram_range=(1, 3), n_features=2**18)
    assert differing(reads, source, made) == 0


def test_norms_of_several_vectorizers_are_asked_and_it_says_so():
    union = make_union(TfidfVectorizer(), TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3)))
    box = sf.from_sklearn(fitted(union))
    assert box.bag is None
    assert "norms of their own" in box.meta["import"]["why"]


@pytest.mark.parametrize(
    "given",
    [
        {"tokenizer": str.split, "token_pattern": None},
        {"tokenizer": lambda text: text.split(), "token_pattern": None},
        {"tokenizer": re.compile(r"\w+").findall, "token_pattern": None},
        {"preprocessor": str.lower},
        {"preprocessor": lambda text: text.lower()},
        {"token_pattern": r"\S+"},
        {"analyzer": "char"},
        {"analyzer": "char_wb", "ngram_range": (1, 2)},
        {"ngram_range": (1, 3)},
    ],
)
def test_what_is_understood_is_laid_open(given):
    box = sf.from_sklearn(fitted(TfidfVectorizer(**given)))
    assert box.meta["import"]["way"] == "laid open as a bag of words"
    assert box.bag.bounded


# --- scripts without spaces ---

CHINESE = ["我喜欢这部电影", "这部电影好看，喜欢", "我不喜欢它", "不好看，太长"] * 3
SPACELESS = ["好看，我喜欢", "这部 好看", "film，好看 ok", "不 好，太长 了"]


@pytest.mark.parametrize("source", SPACELESS)
@pytest.mark.parametrize(
    "vectorizer",
    [
        TfidfVectorizer(analyzer="char", ngram_range=(1, 2)),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3)),
        TfidfVectorizer(),
        TfidfVectorizer(ngram_range=(1, 2)),
        TfidfVectorizer(token_pattern=r"(?u)\b\w+\b"),
        TfidfVectorizer(token_pattern=r"(?u)\S+"),
    ],
    ids=["char", "char_wb", "word", "pairs", "letters", "split"],
)
def test_texts_of_scripts_without_spaces_are_explained_as_by_brute_force(vectorizer, source):
    """Characters that close up make other tokens: what is computed and what is run must say the
    same.
    """
    pipeline = make_pipeline(vectorizer, LogisticRegression()).fit(CHINESE, [1, 1, 0, 0] * 3)
    box = opened(pipeline)
    options = [("",)] * len(written(source).words)
    texts = every_text(source, options, None)
    rows = scores(pipeline, [text for _, text in texts])
    label = int(scores(pipeline, [source])[0].argmax())
    margins = rows[:, label] - np.delete(rows, label, axis=1).max(1)
    result = sf.explain(box, source, perturbation=sf.Deletion())
    assert result.status in ("optimal", "infeasible")
    assert result.cost == cheapest(texts, list(margins <= 0), [1] * len(options), set())
    assert result.certificate is None or sf.check(result.certificate, box)


@pytest.mark.parametrize("reads", [Transducer, Trellis])
def test_runs_of_characters_are_counted_where_words_close_up(reads):
    for source in SPACELESS:
        assert differing(reads, source, TfidfVectorizer(analyzer="char", ngram_range=(1, 3))) == 0


def test_a_checker_that_takes_closing_characters_for_words_apart_is_not_asked():
    """`好，看` without its comma is one token of the vectorizer."""
    box = opened(
        make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(CHINESE, [1, 1, 0, 0] * 3)
    )
    for source in ("好，看 ok", "ok，看", "看，ok"):
        with pytest.raises(NoLattice, match="no spaces"):
            build_lattice(box.bag, written(source), [("",)] * len(written(source).words))
        with pytest.raises(Rejected, match="without spaces"):
            BagCheck(box.bag, written(source), [("",)] * len(written(source).words), None, 0)
