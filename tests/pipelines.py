"""Random small pipelines of scikit-learn, judged by trying all strings through scikit-learn itself.

    make fuzz SECONDS=600        (or: python -m tests.pipelines --seconds 600 --first 0)

Every seed is one fitted pipeline with one question: the cheapest explanation must be that of all
subsets of words over all allowed strings, and its certificate must be accepted. What disagrees is
printed with its seed; the exit code is 1.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import suffice as sf
from suffice.importers.kinds import NotLowered
from suffice.importers.sklearn_asked import opened
from suffice.model.text import rewritten, written
from suffice.settings import DEFAULT

MARKS = [",", ".", "(", '"', "-"]
SHORT = ["good", "bad", "film", "a", "dull", "be", "not", "I", "was"]
ODD = [
    "cafe\u0301",
    "Straße",
    "ﬁlm",
    "１２",
    "👍🏽",
]  # letters that are read as others, loose accents, emoji
SPACES = [" ", " ", "  ", "\n"]
ODD_SPACES = ["\u3000", "\u00a0", "\u2028", "\t"]
WORDS = ["good", "bad", "film", "plot", "dull", "great", "not", "very", "the", "was"]
CLEAR = 1e-6  # margins within this are another question: ties, and what rounding decides

Texts = list[tuple[frozenset[int], str]]  # the words that are changed, and the string


def fitted(rng: np.random.Generator, *steps: Any) -> Pipeline:
    labels = int(rng.choice([2, 2, 3]))
    texts = [" ".join(rng.choice(WORDS, int(rng.integers(2, 8)))) for _ in range(40)]
    classes = [int(k) for k in rng.permutation(np.arange(40) % labels)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(*steps).fit(texts, classes)


def vectorizer(rng: np.random.Generator, orders: tuple[int, int], norms: list[str | None]) -> Any:
    norm = norms[rng.integers(len(norms))]
    return [
        CountVectorizer(ngram_range=orders, binary=bool(rng.integers(2))),
        TfidfVectorizer(
            ngram_range=orders, norm=norm, sublinear_tf=bool(rng.integers(2)), token_pattern=r"\w+"
        ),
        TfidfVectorizer(
            ngram_range=orders,
            norm=norm,
            use_idf=bool(rng.integers(2)),
            binary=bool(rng.integers(2)),
        ),
        HashingVectorizer(
            n_features=16, norm=norm, ngram_range=orders, alternate_sign=bool(rng.integers(2))
        ),
    ][rng.integers(4)]


def of_weights(rng: np.random.Generator) -> Pipeline:
    """Words and pairs with a row of weights for each label."""
    read = vectorizer(rng, [(1, 1), (1, 2), (2, 2)][rng.integers(3)], [None, "l2", "l2", "l1"])
    plain = type(read) is CountVectorizer
    steps: list[Any] = [
        [],
        [MaxAbsScaler()],
        [SelectKBest(k=4)],
        [TruncatedSVD(3)],
        [TfidfTransformer()],
    ][rng.integers(5 if plain else 4)]
    signed = isinstance(read, HashingVectorizer) or (steps and isinstance(steps[0], TruncatedSVD))
    models = [
        LogisticRegression(C=10),
        LinearSVC(),
        SGDClassifier(random_state=0),
        RidgeClassifier(),
        Perceptron(),
    ]
    models += [
        OneVsRestClassifier(LogisticRegression()),
        CalibratedClassifierCV(LinearSVC(), cv=2, ensemble=False),
    ]
    models += [] if signed else [MultinomialNB(), ComplementNB(), BernoulliNB()]
    return fitted(rng, read, *steps, models[rng.integers(len(models))])


def of_trees(rng: np.random.Generator) -> Pipeline:
    """Trees, forests and boosting over words and pairs."""
    seed = int(rng.integers(1000))
    read = vectorizer(rng, [(1, 1), (1, 1), (1, 2)][rng.integers(3)], [None, "l2", "l2", "l1"])
    steps: list[Any] = [[], [], [MaxAbsScaler()], [SelectKBest(k=6)]][rng.integers(4)]
    model: Any = [
        DecisionTreeClassifier(random_state=seed),
        ExtraTreeClassifier(random_state=seed),
        RandomForestClassifier(9, random_state=seed),
        RandomForestClassifier(6, max_depth=3, random_state=seed),
        ExtraTreesClassifier(7, random_state=seed),
        GradientBoostingClassifier(n_estimators=8, random_state=seed),
        HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=3, random_state=seed),
    ][rng.integers(7)]
    if isinstance(model, HistGradientBoostingClassifier):
        steps = [*steps, FunctionTransformer(lambda x: x.toarray(), accept_sparse=True)]
    return fitted(rng, read, *steps, model)


def of_boosters(rng: np.random.Generator) -> Pipeline:
    """XGBoost or LightGBM over words and pairs, from sparse rows or rows that are written out."""
    read = vectorizer(rng, [(1, 1), (1, 1), (1, 2)][rng.integers(3)], [None, "l2", "l1"])
    read.set_params(dtype=np.float64)  # LightGBM takes no whole numbers
    if isinstance(read, HashingVectorizer):
        read.set_params(alternate_sign=False)
    dense = FunctionTransformer(lambda x: x.toarray(), accept_sparse=True)
    steps: list[Any] = [[], [], [MaxAbsScaler()], [SelectKBest(k=6)], [dense]][rng.integers(5)]
    return fitted(rng, read, *steps, booster(rng))


def booster(rng: np.random.Generator) -> Any:
    seed = int(rng.integers(1000))
    rounds = int(rng.integers(1, 9))
    if rng.integers(2):
        from lightgbm import LGBMClassifier

        kind = str(rng.choice(["gbdt", "dart"]))
        given = {"n_estimators": rounds, "min_child_samples": 2, "random_state": seed, "n_jobs": 1}
        return LGBMClassifier(boosting_type=kind, verbose=-1, **given)
    from xgboost import XGBClassifier

    method = str(rng.choice(["hist", "exact"]))
    depth = int(rng.integers(1, 5))
    given = {
        "n_estimators": rounds,
        "max_depth": depth,
        "tree_method": method,
        "random_state": seed,
        "n_jobs": 1,
    }
    return XGBClassifier(min_child_weight=0, subsample=0.8, **given)


def of_rows(rng: np.random.Generator) -> Pipeline:
    """Models that are run on rows of features."""
    seed = int(rng.integers(1000))
    orders = [(1, 1), (1, 2), (1, 3)]
    read = vectorizer(rng, orders[rng.integers(3)], ["l2", "l2", "l1"])
    steps: list[Any] = [[], [], [MaxAbsScaler()], [SelectKBest(k=6)], [TruncatedSVD(3)]][
        rng.integers(5)
    ]
    signed = isinstance(read, HashingVectorizer) or (steps and isinstance(steps[0], TruncatedSVD))
    network = MLPClassifier(
        (4,), max_iter=20, random_state=seed, activation=["relu", "tanh"][rng.integers(2)]
    )
    second: Any = network if signed else MultinomialNB()
    model: Any = [
        CalibratedClassifierCV(LinearSVC(), cv=2),
        CalibratedClassifierCV(LogisticRegression(), cv=3, method="isotonic"),
        VotingClassifier([("a", LogisticRegression(C=10)), ("b", second)], voting="soft"),
        VotingClassifier(
            [("a", LogisticRegression()), ("b", second)], voting="soft", weights=[1, 3]
        ),
        network,
    ][rng.integers(5)]
    return fitted(rng, read, *steps, model)


def prose(rng: np.random.Generator, low: int, high: int, odd: bool = False) -> str:
    """Words and marks, some of them without a space between; where it is odd, with odd letters and
    spaces too.
    """
    found = ""
    words = SHORT + odd * ODD
    spaces = SPACES + odd * ODD_SPACES
    for _ in range(int(rng.integers(low, high))):
        piece = str(rng.choice(words if rng.random() < 0.7 else MARKS))
        glued = found and (not piece.isalnum() or not found[-1].isalnum()) and rng.random() < 0.6
        found += ("" if glued or not found else str(rng.choice(spaces))) + piece
    return found


def stream(rng: np.random.Generator, norm: str | None, odd: bool) -> Any:
    """A vectorizer of characters, of words between spaces, or of several words in a row."""
    low = int(rng.integers(1, 5))
    chars = {
        "analyzer": str(rng.choice(["char", "char_wb"])),
        "ngram_range": (low, low + int(rng.integers(3))),
    }
    words: list[dict[str, Any]] = [
        {"ngram_range": (1, 3), "token_pattern": r"\w+"},
        {"ngram_range": (1, 2), "tokenizer": str.split, "token_pattern": None},
        {"ngram_range": (1, 1), "token_pattern": r"\S+", "stop_words": ["a"]},
        {"ngram_range": (2, 3), "tokenizer": re.compile(r"\w\w+").findall, "token_pattern": None},
    ]
    given = words[rng.integers(4)] if rng.random() < 0.35 else chars
    given["strip_accents"] = [None, "unicode", "ascii"][rng.integers(3)] if odd else None
    match rng.integers(4):
        case 0:
            return CountVectorizer(**given, binary=bool(rng.integers(2)))
        case 1:
            return HashingVectorizer(**given, n_features=16, norm=norm, alternate_sign=False)
        case 2:
            return HashingVectorizer(**given, n_features=16, norm=norm)
        case _:
            return TfidfVectorizer(**given, norm=norm, sublinear_tf=bool(rng.integers(2)))


def of_streams(rng: np.random.Generator, odd: bool = False) -> Pipeline:
    """Features that reach over words, and several vectorizers side by side."""
    texts = [prose(rng, 3, 9, odd) for _ in range(25)]
    labels = int(rng.choice([2, 2, 3]))
    norm = [None, "l2", "l2", "l1"][rng.integers(4)]
    steps: list[Any] = [stream(rng, norm, odd)]
    if rng.random() < 0.3:
        one = CountVectorizer(analyzer="char_wb", ngram_range=(2, 3))
        union = [
            make_union(CountVectorizer(), one),
            FeatureUnion([("a", one), ("b", TfidfVectorizer(norm=None))]),
        ]
        steps = [union[rng.integers(2)], TfidfTransformer(norm=norm)]
    signed = isinstance(steps[0], HashingVectorizer)
    models: list[Any] = [
        LogisticRegression(C=10),
        LinearSVC(),
        RidgeClassifier(),
        MultinomialNB(),
        BernoulliNB(),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = make_pipeline(*steps, models[rng.integers(3 if signed else 5)])
        try:
            return made.fit(texts, rng.permutation(np.arange(25) % labels))
        except ValueError:  # nothing was left to count
            return of_streams(rng, odd)


def kinds() -> dict[str, Callable[[np.random.Generator], Pipeline]]:
    """Every kind of pipeline whose library is here."""
    found: dict[str, Callable[[np.random.Generator], Pipeline]]
    found = {"weights": of_weights, "trees": of_trees, "rows": of_rows, "streams": of_streams}
    found["odd streams"] = partial(of_streams, odd=True)
    here = find_spec("xgboost") is not None and find_spec("lightgbm") is not None
    return {**found, "boosters": of_boosters} if here else found


def scores(pipeline: Pipeline, texts: list[str]) -> np.ndarray:
    """By scikit-learn alone."""
    if hasattr(pipeline, "decision_function"):
        found = np.asarray(pipeline.decision_function(texts))
        return found if found.ndim == 2 else np.stack([np.zeros(len(found)), found], 1)
    if hasattr(pipeline[-1], "predict_joint_log_proba"):
        return np.asarray(pipeline[-1].predict_joint_log_proba(pipeline[:-1].transform(texts)))
    return np.asarray(pipeline.predict_proba(texts))


def every_text(words: str | list[str], options: list[tuple[str, ...]], limit: int | None) -> Texts:
    text = written(words)
    found = []
    for choice in itertools.product(*((None, *some) for some in options)):
        new = {i: word for i, word in enumerate(choice) if word is not None}
        if limit is None or len(new) <= limit:
            found.append((frozenset(new), rewritten(text, new)))
    return found


def question(
    rng: np.random.Generator, glued: bool = False, odd: bool = False
) -> tuple[Any, Any, list[tuple[str, ...]], int | None]:
    """Words, what they may become as a set and as lists, and how many at once."""
    words = [
        str(word) for word in rng.choice([*WORDS, "zzz", "good-plot"], int(rng.integers(3, 8)))
    ]
    source = prose(rng, 2, 7, odd) if glued else words
    words = [word.text for word in written(source).words]
    limit = [None, None, 1, 2][rng.integers(4)]
    swaps = {
        word: [str(w) for w in rng.choice([*WORDS, "very-bad"], 2) if w != word]
        for word in words[::2]
    }
    which = int(rng.integers(3)) if len(words) < 7 else 0
    made = [
        sf.Deletion(at_most=limit),
        sf.WordSwap(swaps, at_most=limit),
        sf.RemoveOrSwap(swaps, at_most=limit),
    ]
    gone = ("",) if which != 1 else ()
    options = [(*gone, *(dict.fromkeys(swaps.get(w, ())) if which else ())) for w in words]
    return source, made[which], options, limit


def fewest(texts: Texts, flips: list[bool], count: int) -> int | None:
    """By all subsets: how many words it takes that every flip changes one of; None where no set
    does.
    """
    sets = [changed for (changed, _), flip in zip(texts, flips, strict=True) if flip]
    for size in range(count + 1):
        if any(
            all(changed & set(held) for changed in sets)
            for held in itertools.combinations(range(count), size)
        ):
            return size
    return None


def _of_trees(model: Any) -> bool:
    """Trees and forests: a tie is a tie there, and no rounding decides."""
    several = hasattr(model, "estimators_") and not isinstance(
        model, OneVsRestClassifier | VotingClassifier
    )
    return hasattr(model, "tree_") or several


def judged(
    rng: np.random.Generator, pipeline: Pipeline, glued: bool = False, odd: bool = False
) -> str:
    """Ask one question of a pipeline and compare; how it was answered, or "close" where rounding
    would decide.
    """
    source, made, options, limit = question(rng, glued, odd)
    texts = every_text(source, options, limit)
    rows = scores(pipeline, [text for _, text in texts])
    label = int(rows[0].argmax())
    margins = rows[:, label] - np.delete(rows, label, axis=1).max(1)
    if not _of_trees(pipeline[-1]) and np.abs(margins).min() < CLEAR:
        return "close"
    box = opened(pipeline)
    assert box is not None, "the bag is not the pipeline"
    result = sf.explain(box, source, perturbation=made)
    wanted = fewest(texts, list(margins <= 0), len(options))
    if wanted is None:
        assert result.status == "infeasible", result.status
        return "infeasible"
    assert result.status == "optimal", (result.meta.get("reason"), result.meta.get("rejected"))
    assert result.cost == wanted, (result.cost, wanted)
    assert sf.check(result.certificate, box).optimal
    return "computed" if "computed" in result.meta else "asked"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    args = parser.parse_args()
    vars(DEFAULT.queries)["few_texts"] = 0  # tables for short texts too
    began = time.monotonic()
    seen = Counter[str]()
    wrong = 0
    seed = args.first
    made = kinds()
    while time.monotonic() - began < args.seconds:
        kind = list(made)[seed % len(made)]
        rng = np.random.default_rng([19, seed])
        try:
            glued = kind.endswith("streams")
            odd = kind.startswith("odd")
            seen[f"{kind}, {judged(rng, made[kind](rng), glued, odd)}"] += 1
        except NotLowered as reason:
            seen[f"{kind}, not laid open: {reason}"] += 1
        except Exception as error:
            wrong += 1
            print(f"seed {seed} ({kind}): {type(error).__name__}: {error}", flush=True)
        seed += 1
    print(f"seeds {args.first} to {seed - 1}, {wrong} wrong")
    for name, count in sorted(seen.items()):
        print(f"{count:6d}  {name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
