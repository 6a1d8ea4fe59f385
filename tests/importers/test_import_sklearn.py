"""from_sklearn: what scikit-learn says of a text is what the import says, and what cannot be
matched is refused.
"""

from __future__ import annotations

import itertools
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, LinearSVC

import suffice as sf
from suffice.errors import InputError, ModelError
from suffice.importers import compare

TEXTS = [
    "The soup was warm and the bread was fresh",
    "A kind waiter brought us fresh bread",
    "We loved the warm soup, really loved it",
    "Fresh, warm and kind: lovely",
    "The soup was cold and the bread was stale",
    "A rude waiter forgot our table",
    "We hated the cold soup, really hated it",
    "Stale, cold and rude: awful",
    "The train leaves at nine",
    "Our table stood near the train",
    "Nine trains left from the café",
    "A train, a table and a café",
]
TWO = ["good"] * 4 + ["bad"] * 4
THREE = [*TWO, *["travel"] * 4]
READ = [
    *TEXTS,
    "SOUP soup, Soup! bread-bread",
    "unheard words only here",
    "Le cafe café CAFÉ",
    "rude but warm, stale but kind",
]


def fitted(vectorizer: Any, model: Any, three: bool = False) -> Pipeline:
    made = make_pipeline(vectorizer, model)
    count = 12 if three else 8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return made.fit(TEXTS[:count], (THREE if three else TWO)[:count])


def tfidf(**more: Any) -> TfidfVectorizer:
    return TfidfVectorizer(norm=None, **more)


def network(**more: Any) -> MLPClassifier:
    return MLPClassifier(
        **{"hidden_layer_sizes": (6, 4), "max_iter": 30, "random_state": 0, **more}
    )


def same_labels(pipeline: Pipeline, classifier: sf.Classifier) -> None:
    for text in READ:
        assert classifier.predict(text).label == str(pipeline.predict([text])[0]), text


VECTORIZERS = {
    "counts": CountVectorizer(),
    "once": CountVectorizer(binary=True),
    "tfidf": tfidf(),
    "tfidf once": tfidf(binary=True),
    "tfidf unsmoothed": tfidf(smooth_idf=False),
    "tf": tfidf(use_idf=False),
    "accents": CountVectorizer(strip_accents="unicode"),
    "ascii accents and case": tfidf(strip_accents="ascii", lowercase=False),
    "stop words": tfidf(stop_words="english"),
    "own stop words": CountVectorizer(stop_words=["the", "was"]),
    "pattern": CountVectorizer(token_pattern=r"(?u)\b\w+\b"),
    "group": CountVectorizer(token_pattern=r"(\w+)[ ,.]"),
    "few features": tfidf(max_features=7),
    "frequent": CountVectorizer(min_df=2, max_df=0.9),
    "fixed vocabulary": CountVectorizer(vocabulary=["soup", "cold", "warm", "rude"]),
}
MODELS = {
    "logistic": LogisticRegression(),
    "svc": LinearSVC(),
    "sgd": SGDClassifier(random_state=0),
    "no intercept": LogisticRegression(fit_intercept=False),
    "ridge": RidgeClassifier(),
    "perceptron": Perceptron(),
    "naive bayes": MultinomialNB(),
    "complement": ComplementNB(),
    "mlp": network(),
    "mlp identity": network(activation="identity"),
    "mlp tanh": network(activation="tanh"),
    "mlp logistic": network(activation="logistic"),
    "mlp without hidden units": network(hidden_layer_sizes=()),
}


@pytest.mark.parametrize("vectorizer", VECTORIZERS.values(), ids=VECTORIZERS.keys())
def test_every_vectorizer_is_matched(vectorizer):
    pipeline = fitted(vectorizer, LogisticRegression())
    classifier = sf.from_sklearn(pipeline, length=12, texts=TEXTS)
    same_labels(pipeline, classifier)
    facts = classifier.meta["import"]
    assert facts["largest difference"] < 1e-12
    assert facts["from"] == "scikit-learn's LogisticRegression"
    assert facts["versions"].keys() == {"scikit-learn"}


@pytest.mark.parametrize("three", [False, True], ids=["two labels", "three labels"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_every_model_is_matched(model, three):
    pipeline = fitted(tfidf(), model, three)
    classifier = sf.from_sklearn(pipeline, length=12)
    same_labels(pipeline, classifier)
    assert set(classifier.meta["import"]["labels seen"]) <= {"good", "bad", "travel"}
    assert classifier.meta["import"]["compared"] == "64 texts"


def test_scores_are_those_of_the_decision_function():
    pipeline = fitted(CountVectorizer(), LogisticRegression())
    classifier = sf.from_sklearn(pipeline, length=12)
    for text in READ:
        zero, score = classifier.predict(text).scores
        assert zero == 0
        assert score == pytest.approx(pipeline.decision_function([text])[0], abs=1e-12)
    assert classifier.predict(READ[0]).probabilities == pytest.approx(
        pipeline.predict_proba([READ[0]])[0]
    )


def test_a_transformer_between_is_folded_in():
    pipeline = Pipeline(
        [
            ("v", CountVectorizer()),
            ("t", TfidfTransformer(norm=None)),
            ("n", None),
            ("m", LinearSVC()),
        ]
    )
    pipeline.fit(TEXTS, THREE)
    same_labels(pipeline, sf.from_sklearn(pipeline, length=12))


def test_labels_that_are_numbers_become_strings():
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(
        TEXTS[:8], [1] * 4 + [0] * 4
    )
    assert sf.from_sklearn(pipeline).labels == ("0", "1")


def test_the_texts_that_fit_are_compared_and_the_others_counted():
    pipeline = fitted(CountVectorizer(), LogisticRegression())
    facts = sf.from_sklearn(pipeline, length=5, texts=TEXTS).meta["import"]
    fitting = sum(len(CountVectorizer().build_analyzer()(text)) <= 5 for text in TEXTS)
    assert 0 < fitting < 12
    assert facts["compared"] == f"{64 + fitting} texts"
    assert facts["note"] == f"{fitting} texts are the caller's; {12 - fitting} more did not fit"


def test_a_text_that_is_too_long_says_what_was_cut():
    classifier = sf.from_sklearn(fitted(CountVectorizer(), LogisticRegression()), length=3)
    assert classifier.read("warm soup, fresh bread").cut == ("bread",)


def test_it_is_saved_and_loaded_with_its_way_of_reading(tmp_path):
    pipeline = fitted(tfidf(strip_accents="unicode", stop_words="english", binary=True), network())
    classifier = sf.from_sklearn(pipeline, length=12)
    classifier.save(tmp_path)
    again = sf.load(tmp_path)
    assert again.digest == classifier.digest
    assert again.meta["import"]["compared"] == "64 texts"
    same_labels(pipeline, again)


def test_a_wide_hidden_layer_stays_sparse():
    pipeline = fitted(tfidf(), network(hidden_layer_sizes=(200,)))
    first = sf.from_sklearn(pipeline, length=50).network.steps[0]
    assert not isinstance(first.weight, np.ndarray)
    assert first.weight.nnz == 200 * 50


# --- explanations, against every subset ---


def masked(text: str, words: tuple[sf.Word, ...], gone: set[int]) -> str:
    """The text without the words at these positions; repeats of a word that counts once
    go with it.
    """
    kept = [" " if word.position in gone else text[word.start : word.end] for word in words]
    return " ".join(kept)


def cheapest_by_trying(pipeline: Pipeline, classifier: sf.Classifier, text: str) -> int:
    """The least number of words that decide the label under deletion, by asking scikit-learn about
    every text.
    """
    words = classifier.read(text).words
    places = range(len(words))
    subsets = [set(s) for n in range(len(words) + 1) for s in itertools.combinations(places, n)]
    answers = pipeline.predict([masked(text, words, gone) for gone in subsets])
    flips = [
        gone
        for gone, answer in zip(subsets, answers, strict=True)
        if answer != pipeline.predict([text])[0]
    ]
    robust = [kept for kept in subsets if not any(gone.isdisjoint(kept) for gone in flips)]
    return min(len(kept) for kept in robust)


@pytest.mark.parametrize(
    "text",
    ["warm soup but rude and cold", "Fresh bread, stale soup, kind waiter", "cold cold warm"],
)
@pytest.mark.parametrize(
    "pipeline",
    [
        fitted(tfidf(), LogisticRegression()),
        fitted(CountVectorizer(), LinearSVC(), three=True),
        fitted(CountVectorizer(), MultinomialNB(), three=True),
        fitted(CountVectorizer(binary=True), network(max_iter=100)),
    ],
    ids=["tfidf+logistic", "counts+svc", "bayes", "once+mlp"],
)
def test_deletion_costs_what_trying_every_text_on_scikit_learn_costs(pipeline, text):
    classifier = sf.from_sklearn(pipeline, length=8)
    result = sf.explain(classifier, text, perturbation=sf.Deletion())
    assert result.status == "optimal"
    assert result.cost == cheapest_by_trying(pipeline, classifier, text)


SWAPS = {"warm": ["cold"], "kind": ["rude", "nobody"], "fresh": ["stale"], "loved": ["hated"]}


@pytest.mark.parametrize(
    "vectorizer", [tfidf(), CountVectorizer(binary=True)], ids=["tfidf", "once"]
)
def test_swaps_flip_in_scikit_learn_exactly_when_they_flip_here(vectorizer):
    pipeline = fitted(vectorizer, LogisticRegression())
    classifier = sf.from_sklearn(pipeline, length=8)
    text = "warm soup fresh bread kind waiter"
    choices = [[word, *SWAPS.get(word, [])] for word in text.split()]
    texts = [" ".join(words) for words in itertools.product(*choices)]
    same = set(pipeline.predict(texts)) == {pipeline.predict([text])[0]}
    verdict = sf.is_robust(classifier, text, [], perturbation=sf.WordSwap(SWAPS))
    assert isinstance(verdict, sf.Proved if same else sf.Refuted)
    flip = sf.contrast(classifier, text, perturbation=sf.WordSwap(SWAPS))
    assert flip.status == "optimal"
    assert pipeline.predict([flip.flipped_text])[0] == flip.flip.label


def test_a_swap_that_would_count_a_word_twice_is_refused():
    classifier = sf.from_sklearn(
        fitted(CountVectorizer(binary=True), LogisticRegression()), length=8
    )
    with pytest.raises(InputError, match="'cold' could stand at positions 0 and 2"):
        sf.explain(classifier, "warm soup cold", perturbation=sf.WordSwap(SWAPS))


def test_a_substitute_is_read_as_the_vectorizer_reads_it():
    same = sf.from_sklearn(fitted(CountVectorizer(), LogisticRegression()), length=8)
    exact = sf.from_sklearn(
        fitted(CountVectorizer(lowercase=False), LogisticRegression()), length=8
    )
    assert same.index_of("COLD") == same.lookup["cold"]
    # the vectorizer would not know it either
    assert exact.index_of("COLD") == exact.lookup["<UNK>"]
    with pytest.raises(InputError, match="'ice cold' is read as 2 words"):
        sf.explain(same, "warm soup", perturbation=sf.WordSwap({"warm": ["ice cold"]}))


# --- refusals ---

REFUSED: dict[str, tuple[Any, str]] = {
    "l2": (
        lambda: fitted(TfidfVectorizer(), LogisticRegression()),
        r"norm='l2'\) is not supported.*norm=None",
    ),
    "l1": (
        lambda: fitted(TfidfVectorizer(norm="l1"), LinearSVC()),
        r"norm='l1'\) is not supported",
    ),
    "sublinear": (lambda: fitted(tfidf(sublinear_tf=True), LinearSVC()), "sublinear_tf=False"),
    "pairs": (
        lambda: fitted(tfidf(ngram_range=(1, 2)), LinearSVC()),
        r"ngram_range=\(1, 2\)\) is not supported",
    ),
    "analyzer": (
        lambda: fitted(tfidf(analyzer=lambda text: text.split(" ")), LinearSVC()),
        "analyzer=.*of its own",
    ),
    "preprocessor": (
        lambda: fitted(tfidf(preprocessor=str.title), LinearSVC()),
        "preprocessor=.*function of its own",
    ),
    "tokenizer": (
        lambda: fitted(tfidf(tokenizer=str.splitlines, token_pattern=None), LinearSVC()),
        "tokenizer=.*function of its own",
    ),
    "accents": (
        lambda: fitted(tfidf(strip_accents=str.strip), LinearSVC()),
        "strip_accents=.*function of its own",
    ),
    "l2 between": (
        lambda: make_pipeline(CountVectorizer(), TfidfTransformer(), LinearSVC()).fit(TEXTS, THREE),
        r"TfidfTransformer\(norm='l2'\)",
    ),
    "selection": (
        lambda: make_pipeline(CountVectorizer(), SelectKBest(k=3), LinearSVC()).fit(TEXTS, THREE),
        "step 'selectkbest' is a SelectKBest, which is not supported; supported: TfidfTransformer",
    ),
    "hashing": (
        lambda: fitted(HashingVectorizer(), LinearSVC()),
        "'hashingvectorizer' is a HashingVectorizer",
    ),
    "forest": (
        lambda: fitted(tfidf(), RandomForestClassifier(3)),
        "is a RandomForestClassifier.*MLPClassifier",
    ),
    "bernoulli": (lambda: fitted(tfidf(), BernoulliNB()), "is a BernoulliNB"),
    "calibrated": (
        lambda: fitted(tfidf(), CalibratedClassifierCV(LinearSVC(), cv=2)),
        "is a CalibratedClassifierCV",
    ),
    "no pipeline": (
        LogisticRegression,
        r"not a LogisticRegression: give make_pipeline\(vectorizer, model\)",
    ),
    "a search": (lambda: GridSearchCV(make_pipeline(tfidf(), LinearSVC()), {}), "best_estimator_"),
    "not fitted": (lambda: make_pipeline(tfidf(), LogisticRegression()), "not fitted: call fit"),
    "no model": (lambda: make_pipeline(tfidf()).fit(TEXTS), "needs a vectorizer and a model"),
    "many labels": (
        lambda: make_pipeline(CountVectorizer(), RidgeClassifier()).fit(
            TEXTS, np.eye(12, 3, dtype=int)
        ),
        "several labels to one text",
    ),
}


OPENED = {
    "l2",
    "l1",
    "sublinear",
    "pairs",
    "l2 between",
    "selection",
    "hashing",
    "forest",
    "bernoulli",
    "calibrated",
}


@pytest.mark.parametrize("name", sorted(OPENED))
def test_what_is_no_sum_over_words_is_laid_open_as_a_bag(name):
    pipeline = REFUSED[name][0]()
    box = sf.from_sklearn(pipeline)
    assert isinstance(box, sf.BlackBox)
    assert box.bag is not None
    assert box.meta["import"]["way"] == "laid open as a bag of words"
    assert [box.predict(text).label for text in TEXTS] == [
        str(label) for label in pipeline.predict(TEXTS)
    ]


ASKED = {name: row for name, row in REFUSED.items() if name not in OPENED}


@pytest.mark.parametrize(("make", "message"), ASKED.values(), ids=ASKED.keys())
def test_what_cannot_be_matched_is_asked_as_a_function_or_refused_by_name(make, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, about odd settings
        pipeline = make()
    if (
        make is LogisticRegression
        or not hasattr(pipeline, "classes_")
        or message == "several labels to one text"
    ):
        with pytest.raises(ModelError, match=message):
            sf.from_sklearn(pipeline)
        return
    box = sf.from_sklearn(pipeline)
    assert isinstance(box, sf.BlackBox)
    assert re.search(message, box.notes[0])
    assert [box.predict(text).label for text in TEXTS] == [
        str(label) for label in pipeline.predict(TEXTS)
    ]


class Louder(CountVectorizer):
    """A subclass that counts differently."""

    def transform(self, raw_documents: Any) -> Any:
        return super().transform(raw_documents) * 2


def test_a_subclass_is_asked_as_a_function():
    box = sf.from_sklearn(fitted(Louder(), LinearSVC()))
    assert isinstance(box, sf.BlackBox)
    assert "Louder is not one of" in box.notes[0]
    assert box.meta["import"]["way"] == "asked as a function"


# --- a wrong import ---


class Wrong(LogisticRegression):
    """Decides otherwise than its weights say."""

    def decision_function(self, X: Any) -> Any:
        return super().decision_function(X) + 0.01


Wrong.__module__ = "sklearn.wrong"
Wrong.__name__ = "LogisticRegression"


def test_an_import_that_disagrees_is_refused_with_the_largest_difference():
    with pytest.raises(
        ModelError,
        match=r"disagrees with scikit-learn's .* largest difference is 0\.0\d+ of .* 64 inputs",
    ):
        sf.from_sklearn(fitted(CountVectorizer(), Wrong()))


def test_a_weight_that_is_off_is_found(monkeypatch):
    pipeline = fitted(CountVectorizer(), LogisticRegression())
    real = compare.scores_of
    monkeypatch.setattr(compare, "scores_of", lambda *given: real(*given) * (1 + 1e-3))
    with pytest.raises(ModelError, match="Nothing was imported"):
        sf.from_sklearn(pipeline)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_a_difference(bad, monkeypatch):
    pipeline = fitted(CountVectorizer(), LogisticRegression())
    real = compare.scores_of
    monkeypatch.setattr(
        compare, "scores_of", lambda *given: np.where([[True, False]], bad, real(*given))
    )
    with pytest.raises(ModelError, match="largest difference is inf"):
        sf.from_sklearn(pipeline)


def test_a_comparison_needs_enough_inputs():
    classifier = sf.from_sklearn(fitted(CountVectorizer(), LogisticRegression()))
    with pytest.raises(ModelError, match="at least 50 inputs, not on 3"):
        compare.compared(classifier, lambda texts: texts, ["warm"] * 3, source="nothing")


def test_a_large_answer_does_not_hide_small_ones():
    theirs = np.array([[1.0, 0.0]] * 50 + [[1e6, 0.0]])
    ours = theirs.copy()
    ours[0, 1] = 1e-3
    assert compare.difference(ours, theirs, "x") == pytest.approx(1e-3)


def other_deciders() -> dict[str, Any]:
    """Models whose `predict` does not follow their scores: thresholds, votes of pairs, priors of
    their own.
    """
    return {
        "threshold": make_pipeline(
            TfidfVectorizer(), FixedThresholdClassifier(LogisticRegression(), threshold=0.45)
        ),
        "around all": FixedThresholdClassifier(
            make_pipeline(TfidfVectorizer(), LogisticRegression()), threshold=0.45
        ),
        "nearest mean": make_pipeline(TfidfVectorizer(), NearestCentroid()),
        "votes": make_pipeline(CountVectorizer(), SVC(kernel="linear", random_state=1)),
    }


@pytest.mark.parametrize("kind", other_deciders())
def test_the_label_is_the_one_that_predict_says(kind):
    count = 12 if kind in ("votes", "nearest mean") else 8
    pipeline = other_deciders()[kind].fit(TEXTS[:count], THREE[:count])
    box = sf.from_sklearn(pipeline)
    text = "A rude train with warm stale bread"
    assert box.meta["import"]["way"] == "asked as a function"
    words = text.split()
    labels = {}
    for gone in itertools.chain.from_iterable(
        itertools.combinations(range(7), n) for n in range(8)
    ):
        left = " ".join(word for i, word in enumerate(words) if i not in gone)
        labels[gone] = str(pipeline.predict([left])[0])
        assert box.predict(left).label == labels[gone]
    flips = [set(gone) for gone, label in labels.items() if label != labels[()]]
    sets = itertools.chain.from_iterable(itertools.combinations(range(7), n) for n in range(8))
    fewest = next(len(held) for held in sets if all(flip & set(held) for flip in flips))
    found = sf.explain(box, text, perturbation=sf.Deletion())
    assert (found.status, found.label, found.cost) == ("optimal", labels[()], fewest)
    assert flips


def level() -> dict[str, tuple[Pipeline, str]]:
    """Pipelines and a text of which two labels have the same score, and `predict` does not say the
    first.
    """
    # its probabilities are [.5, .5, 0]
    clipped = SGDClassifier(loss="modified_huber", random_state=0)
    asked = Pipeline(
        [("count", CountVectorizer()), ("same", FunctionTransformer()), ("model", clipped)]
    )
    texts = ["alpha beta", "alpha gamma", "delta beta", "delta gamma", "eps zeta", "eps eta"]
    boosted = make_pipeline(
        TfidfVectorizer(), GradientBoostingClassifier(n_estimators=3, random_state=0)
    )
    return {
        "asked": (asked.fit(texts * 5, list("aabbcc") * 5), "alpha gamma delta"),
        "laid open": (boosted.fit(["warm", "cold", "soup", "soup"] * 5, list("baba") * 5), "soup"),
    }


@pytest.mark.parametrize("kind", ["asked", "laid open"])
def test_where_scores_are_equal_the_label_is_the_one_that_predict_says(kind):
    pipeline, text = level()[kind]
    box, (shares,), (said,) = (
        sf.from_sklearn(pipeline),
        pipeline.predict_proba([text]),
        pipeline.predict([text]),
    )
    assert box.meta["import"]["way"].startswith(kind)
    assert shares.max() == shares[list(pipeline.classes_).index(said)]
    assert pipeline.classes_[shares.argmax()] != said
    assert box.predict(text).label == sf.explain(box, text).label == said
    for word in text.split():
        assert box.predict(word).label == pipeline.predict([word])[0]


@pytest.mark.parametrize("norm", [None, "l2"], ids=["network", "bag"])
@pytest.mark.parametrize("three", [False, True], ids=["two labels", "three labels"])
@pytest.mark.parametrize(
    "model", [*MODELS.values(), SGDClassifier(loss="modified_huber", random_state=0)], ids=str
)
def test_probabilities_are_the_models_own_or_there_are_none(model, three, norm):
    pipeline = fitted(TfidfVectorizer(norm=norm), model, three)
    found = [sf.from_sklearn(pipeline).predict(text).probabilities for text in TEXTS]
    if not hasattr(pipeline, "predict_proba"):
        assert set(found) == {None}
    elif found[0] is not None:
        assert np.allclose(found, pipeline.predict_proba(TEXTS), atol=1e-6)
    if type(model) in (LogisticRegression, MultinomialNB, ComplementNB, MLPClassifier):
        assert None not in found


def test_labels_get_other_names_by_their_place_or_by_their_own():
    numbers = [["bad", "good"].index(label) for label in TWO]
    for vectorizer in (
        CountVectorizer(),
        TfidfVectorizer(),
    ):  # laid open as a network, and as a bag
        pipeline = make_pipeline(vectorizer, LogisticRegression()).fit(TEXTS[:8], numbers)
        plain = sf.from_sklearn(pipeline)
        assert plain.labels == ("0", "1")
        for names in (
            ["reject", "invite"],
            {0: "reject", 1: "invite"},
            {"0": "reject", "1": "invite"},
        ):
            clf = pickle.loads(pickle.dumps(sf.from_sklearn(pipeline, labels=names)))
            assert clf.labels == ("reject", "invite")
            assert clf.digest != plain.digest
            assert clf.predict(TEXTS[0]).label == "invite"
            assert str(sf.explain(clf, TEXTS[0], seconds=5)).count("'invite'") == 1
        assert sf.from_sklearn(pipeline, labels={1: "invite"}).labels == ("0", "invite")
        with pytest.raises(ModelError, match=r"has 2 labels \(0, 1\), and 3 names"):
            sf.from_sklearn(pipeline, labels=["a", "b", "c"])
        with pytest.raises(InputError, match="label '2' is unknown"):
            sf.from_sklearn(pipeline, labels={2: "a"})
        with pytest.raises(ModelError, match="all different"):
            sf.from_sklearn(pipeline, labels=["a", "a"])


def test_scores_that_predict_follows_are_kept_and_texts_are_read_once():
    read: list[str] = []

    def noting(text: str) -> list[str]:
        read.append(text)
        return text.lower().split()

    pipeline = fitted(
        TfidfVectorizer(tokenizer=noting, token_pattern=None),
        RandomForestClassifier(5, random_state=0),
    )
    box = sf.from_sklearn(pipeline)
    read.clear()
    assert box.predict(READ[0]).scores == tuple(pipeline.predict_proba([READ[0]])[0])
    assert len(read) == 2  # once here, once by the box


def test_every_word_of_the_set_of_a_pipeline_that_is_laid_open_has_a_text_that_flips_without_it():
    """The search had found flips for some of the words only."""
    texts = ["good film", "great fun", "bad plot", "dull and bad", "a fine cast", "awful mess"]
    labels = ["pos", "pos", "neg", "neg", "pos", "neg"]
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)
    result = sf.explain(sf.from_sklearn(pipeline), "a bad film and a good cast")
    assert [word.text for word in result.words] == ["film", "good"]
    for position in result.positions:
        flip = result.details[position].flip
        assert flip is not None
        assert position in flip.positions
        assert pipeline.predict([flip.text]) == ["neg"]


def test_pipelines_with_functions_of_ones_own_do_not_share_their_answers(tmp_path):
    """Without a pickle the digest was that of the name and the labels: one model's answers were
    taken for another's.
    """

    def fitted(labels, ending):
        read = CountVectorizer(preprocessor=lambda text: text.lower() + ending)
        return make_pipeline(read, KNeighborsClassifier(1)).fit(
            ["good film", "bad film", "good", "bad"], labels
        )

    first, second = (
        sf.from_sklearn(fitted(labels, " x")) for labels in ([1, 0, 1, 0], [0, 1, 0, 1])
    )
    third = sf.from_sklearn(fitted([1, 0, 1, 0], " y"))
    assert len({first.digest, second.digest, third.digest}) == 3
    cache = tmp_path / "answers"
    found = [
        sf.explain(one, "good film", perturbation=sf.Deletion(), cache=cache).label
        for one in (first, second)
    ]
    assert found == ["1", "0"]
    assert sf.from_sklearn(fitted([1, 0, 1, 0], " x")).digest == first.digest


class Turned(Pipeline):
    """A pipeline of somebody's own, whose steps do not say what it answers."""

    def predict(self, texts, **more):
        return 1 - super().predict(texts, **more)

    def decision_function(self, texts):
        return -super().decision_function(texts)

    def predict_proba(self, texts, **more):
        return super().predict_proba(texts, **more)[:, ::-1]


@pytest.mark.parametrize("read", [CountVectorizer, TfidfVectorizer])
def test_a_kind_of_pipeline_that_answers_otherwise_is_asked_and_not_read_off_its_steps(read):
    texts = ["good film", "bad film", "good plot", "bad plot"]
    pipeline = Turned([("read", read()), ("judge", LogisticRegression())]).fit(texts, [1, 0, 1, 0])
    clf = sf.from_sklearn(pipeline)
    assert clf.meta["import"]["way"] == "asked as a function"
    assert [clf.predict(text).label for text in texts] == [
        str(label) for label in pipeline.predict(texts)
    ]


# --- what refusals advise ---


def test_a_model_without_labels_is_refused_with_the_way_to_ask_it():
    from sklearn.linear_model import Ridge

    texts = ["good film", "bad film", "fine and good", "awful and bad"] * 3
    model = make_pipeline(TfidfVectorizer(), Ridge()).fit(texts, [4.5, 1.0, 4.0, 0.5] * 3)
    with pytest.raises(
        ModelError,
        match=(
            r"scikit-learn's Ridge predicts no labels.*above and below a "
            r"threshold.*sf\.from_function"
        ),
    ):
        sf.from_sklearn(model)

    def predict(texts):
        stars = model.predict(texts)
        return np.stack([3 - stars, stars - 3], axis=1)

    found = sf.from_function(predict, labels=["below", "above"], name="stars above three")
    assert found.predict("good film").label == "above"
    assert sf.explain(found, "a good film", perturbation=sf.Deletion()).status == "optimal"


def test_a_pipeline_of_tables_is_refused_with_the_way_to_ask_it():
    pandas = pytest.importorskip("pandas")
    from sklearn.compose import ColumnTransformer

    texts = ["good film", "bad film", "fine and good", "awful and bad"] * 3
    table = pandas.DataFrame({"text": texts, "other": range(len(texts))})
    columns = ColumnTransformer(
        [("words", TfidfVectorizer(), "text"), ("more", "passthrough", ["other"])]
    )
    pipeline = make_pipeline(columns, LogisticRegression()).fit(table, ["yes", "no"] * 6)
    with pytest.raises(
        ModelError, match=r"takes tables.*hold the other columns fixed.*sf\.from_function"
    ):
        sf.from_sklearn(pipeline)
    found = sf.from_function(
        lambda texts: pipeline.predict_proba(pandas.DataFrame({"text": texts, "other": 0})),
        labels=[str(label) for label in pipeline.classes_],
        name="the other column held",
    )
    assert sf.explain(found, "good film", perturbation=sf.Deletion()).status == "optimal"


def test_a_pipeline_that_makes_tables_of_texts_itself_is_still_asked():
    pandas = pytest.importorskip("pandas")
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import FunctionTransformer

    texts = ["good film", "bad film", "fine and good", "awful and bad"] * 3
    made = FunctionTransformer(lambda texts: pandas.DataFrame({"text": list(texts)}))
    columns = ColumnTransformer([("words", TfidfVectorizer(), "text")])
    pipeline = make_pipeline(made, columns, LogisticRegression()).fit(texts, ["yes", "no"] * 6)
    assert "Asked as a function" in sf.from_sklearn(pipeline).notes[0]
