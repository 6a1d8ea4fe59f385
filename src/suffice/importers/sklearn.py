"""scikit-learn: a pipeline of a word counter and a linear model, naive Bayes or a small network as
a Classifier.

A word is embedded as its row of the first weight matrix (times its idf), the network adds up the
positions: so a deleted word, padding and an unknown word are all zero, as in scikit-learn's own sum
over the words of a text.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import MissingExtra, ModelError
from suffice.importers.compare import compared, random_texts
from suffice.importers.kinds import BAYES, LINEAR, kind_of
from suffice.importers.scores import probabilities
from suffice.importers.sklearn_asked import laid_open_or_asked
from suffice.importers.skops import PICKLES, refused_pickle
from suffice.model import graph
from suffice.model.blackbox import BlackBox, under_names
from suffice.model.classifier import Classifier
from suffice.model.labels import Names, renamed
from suffice.model.network import Floats, Network
from suffice.model.odds import kind_of_scores
from suffice.model.tokenizers import Pattern

MODELS = (*LINEAR, *BAYES, "MLPClassifier")
CURVES = {"tanh": "tanh", "logistic": "sigmoid"}


@dataclass(frozen=True, eq=False)
class Body:
    """A model in our terms: a row per feature, what follows their sum, and the scores of the
    original.
    """

    rows: Floats
    layers: Callable[[graph.Tensor], graph.Tensor]
    scores: Callable[[Any], Floats]  # of a matrix of features, one column per score


def from_sklearn(
    pipeline: Any,
    length: int = 100,
    *,
    texts: Sequence[str] = (),
    labels: Names | None = None,
    pad: str = "<PAD>",
    unknown: str = "<UNK>",
) -> Classifier | BlackBox:
    """A fitted Pipeline of a CountVectorizer or TfidfVectorizer (norm=None) and a linear model,
    Bayes or MLPClassifier.

    Texts are read as by the vectorizer, but cut to `length` words, which scikit-learn does not do;
    `Text.cut` lists what was cut. The import is compared with the pipeline on made-up texts and on
    those of `texts` that fit.

    The other pipelines of vectorizers and a linear model (norm l2 and l1, n-grams of words or
    characters, ...) are laid open as a bag of words: texts of any length, real strings, the worst
    case computed. Anything else that gives probabilities or decision values for texts becomes a
    black box, which is asked as a function and whose `notes` say why. `meta["import"]["way"]` names
    the way it took.

    Labels are the pipeline's classes as strings; `labels` gives them other names, in the order of
    its `classes_` or by the old ones: {0: "reject", 1: "invite"}.
    """
    try:
        vectorizer, idf, model = _parts(pipeline)
        words = [str(word) for word in vectorizer.get_feature_names_out()]
        body = _body(model, len(words))
        tokenizer = _tokenizer(vectorizer)
    except ModelError as reason:
        asked = laid_open_or_asked(pipeline, str(reason))
        return asked if labels is None else under_names(asked, labels)
    table = np.zeros((len(words) + 2, body.rows.shape[1]))
    table[2:] = body.rows if idf is None else body.rows * idf[:, None]
    total = graph.start((length, table.shape[1])).sum(0)
    classifier = Classifier(
        network=Network.of(body.layers(total)),
        embedding=table,
        vocabulary=[pad, unknown, *words],
        labels=renamed(model.classes_, labels),
        length=length,
        pad=pad,
        unknown=unknown,
        tokenizer=tokenizer,
    )
    return _compared(classifier, pipeline, model, body, texts)


def _compared(
    classifier: Classifier, pipeline: Any, model: Any, body: Body, given: Sequence[str]
) -> Classifier:
    fitting = [text for text in given if not classifier.read(text).cut]
    skipped = classifier.reader.skip if isinstance(classifier.reader, Pattern) else ()
    made = random_texts(classifier, extra=skipped)
    rows = pipeline[:-1].transform(made)
    kind = kind_of_scores(body.scores(rows), probabilities(model, rows))
    return compared(
        replace(classifier, meta={"scores": kind}),
        lambda texts: body.scores(pipeline[:-1].transform(texts)),
        [*fitting, *made],
        source=f"scikit-learn's {type(model).__name__}",
        packages=["scikit-learn"],
        note=f"{len(fitting)} texts are the caller's; {len(given) - len(fitting)} more did not fit"
        if given
        else "",
    )


# --- the parts of a pipeline ---


def _parts(pipeline: Any) -> tuple[Any, Floats | None, Any]:
    """The vectorizer, the idf factors if there are any, and the model; everything else is refused
    by name.
    """
    steps = [
        (name, step)
        for name, step in _steps(pipeline)
        if step is not None and step != "passthrough"
    ]
    if len(steps) < 2:
        raise ModelError(
            "The pipeline needs a vectorizer and a model: give make_pipeline(vectorizer, model)."
        )
    (name, vectorizer), *between, (_, model) = steps
    if kind_of(vectorizer) not in ("CountVectorizer", "TfidfVectorizer"):
        raise _unknown("vectorizer", name, vectorizer, ("CountVectorizer", "TfidfVectorizer"))
    _refuse_vectorizer(vectorizer)
    idf = _idf(vectorizer) if kind_of(vectorizer) == "TfidfVectorizer" else None
    for place, step in between:
        if kind_of(step) != "TfidfTransformer":
            raise _unknown("step", place, step, ("TfidfTransformer",))
        more = _idf(step)
        idf = more if idf is None else idf if more is None else idf * more
    if kind_of(model) not in MODELS:
        raise _unknown("model", steps[-1][0], model, MODELS)
    return vectorizer, idf, model


def _steps(pipeline: Any) -> list[tuple[str, Any]]:
    try:
        from sklearn.exceptions import NotFittedError
        from sklearn.pipeline import Pipeline
        from sklearn.utils.validation import check_is_fitted
    except ImportError as error:
        raise MissingExtra("sklearn", "scikit-learn") from error
    if (
        isinstance(pipeline, str | os.PathLike)
        and (path := Path(pipeline)).suffix.lower() in PICKLES
    ):
        raise refused_pickle(path)
    if not isinstance(pipeline, Pipeline):
        raise ModelError(
            f"from_sklearn takes a fitted Pipeline, not a {type(pipeline).__name__}: give "
            "make_pipeline(vectorizer, model), or the best_estimator_ of a search."
        )
    if kind_of(pipeline) != "Pipeline":
        raise ModelError(
            f"{type(pipeline).__name__} is a kind of Pipeline that may compute something else."
        )
    try:
        for _, step in (pipeline.steps[0], pipeline.steps[-1]):
            check_is_fitted(step)
    except (NotFittedError, TypeError) as error:
        raise ModelError(
            "The pipeline is not fitted: call fit on it before it is imported."
        ) from error
    return list(pipeline.steps)


def _unknown(what: str, name: str, step: Any, known: Sequence[str]) -> ModelError:
    kind = type(step).__name__
    return ModelError(
        f"The {what} {name!r} is a {kind}, which is not supported; supported: {', '.join(known)}."
    )


def _refuse_vectorizer(vectorizer: Any) -> None:
    """Everything in which a vectorizer may be more than counting single words."""
    kind = type(vectorizer).__name__
    given = vectorizer.get_params()
    wanted: dict[str, tuple[Any, str]] = {
        "input": ("content", "give texts as strings"),
        "analyzer": ("word", "only words can be explained"),
        "ngram_range": ((1, 1), "a position must be one word"),
        "preprocessor": (None, "use lowercase and strip_accents instead"),
        "tokenizer": (None, "use token_pattern instead"),
    }
    for name, (value, instead) in wanted.items():
        found = tuple(given[name]) if name == "ngram_range" else given[name]
        if found != value:
            raise ModelError(
                f"{kind}({name}={found!r}) is not supported: {instead} ({name}={value!r})."
            )
    if callable(given["strip_accents"]):
        raise ModelError(
            f"{kind}(strip_accents=<function>) is not supported: use None, 'unicode' or 'ascii'."
        )


def _idf(step: Any) -> Floats | None:
    kind = type(step).__name__
    if step.norm is not None:
        raise ModelError(
            f"{kind}(norm={step.norm!r}) is not supported: it divides by a number that all "
            "words of a text decide "
            "together. Fit the pipeline again with norm=None."
        )
    if step.sublinear_tf:
        raise ModelError(
            f"{kind}(sublinear_tf=True) is not supported: fit the pipeline again with "
            "sublinear_tf=False."
        )
    return np.asarray(step.idf_, dtype=np.float64) if step.use_idf else None


def _tokenizer(vectorizer: Any) -> Pattern:
    return Pattern(
        pattern=vectorizer.token_pattern,
        lowercase=bool(vectorizer.lowercase),
        accents=vectorizer.strip_accents or "keep",
        skip=tuple(vectorizer.get_stop_words() or ()),
        once=bool(vectorizer.binary),
    )


# --- models ---


def _body(model: Any, features: int) -> Body:
    kind = type(model).__name__
    body = (
        _network(model)
        if kind == "MLPClassifier"
        else _bayes(model)
        if kind in BAYES
        else _linear(model)
    )
    if len(body.rows) != features:
        raise ModelError(
            f"The {kind} was fitted on {len(body.rows)} features, the vectorizer gives {features}."
        )
    return body


def _linear(model: Any) -> Body:
    weight = (
        model.coef_.toarray() if hasattr(model.coef_, "toarray") else np.atleast_2d(model.coef_)
    )
    bias = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (len(weight),))
    _refuse_many_labels(model, len(weight))
    return Body(
        np.asarray(weight, dtype=np.float64).T,
        lambda total: _scores(total.shift(bias)),
        _decided(model),
    )


def _bayes(model: Any) -> Body:
    """The joint log-likelihood: each word adds its log-probability in every class."""
    rows = np.asarray(model.feature_log_prob_, dtype=np.float64).T
    # a complement needs no prior, except where there is one class only
    prior = (
        np.zeros(rows.shape[1])
        if type(model).__name__ == "ComplementNB"
        else model.class_log_prior_
    )
    _refuse_many_labels(model, rows.shape[1])
    return Body(
        rows,
        lambda total: total.shift(prior),
        lambda counts: np.asarray(model.predict_joint_log_proba(counts)),
    )


def _network(model: Any) -> Body:
    """The first weights are the words' rows; softmax or logistic at the end is dropped, as it keeps
    the order.
    """
    weights, biases = model.coefs_, model.intercepts_
    _refuse_many_labels(model, weights[-1].shape[1])

    def layers(total: graph.Tensor) -> graph.Tensor:
        state = total.shift(biases[0])
        for weight, bias in zip(weights[1:], biases[1:], strict=True):
            state = _activated(state, model.activation).linear(weight.T, bias)
        return _scores(state)

    open_end = copy.copy(model)  # scikit-learn's own network without its last function
    open_end.out_activation_ = "identity"

    def scores(counts: Any) -> Floats:
        found = np.asarray(open_end.predict_proba(counts))
        return _from_one(found[:, 1]) if weights[-1].shape[1] == 1 else found

    return Body(np.asarray(weights[0], dtype=np.float64), layers, scores)


def _activated(state: graph.Tensor, name: str) -> graph.Tensor:
    match name:
        case "identity":
            return state
        case "relu":
            return state.relu()
        case "tanh" | "logistic":
            return state.curve(CURVES[name])
        case _:
            raise ModelError(
                f"MLPClassifier(activation={name!r}) is not supported: use relu, tanh or logistic."
            )


def _scores(state: graph.Tensor) -> graph.Tensor:
    """A single number f of a model with two labels as the scores 0 and f."""
    return state if state.size > 1 else state.pick(np.array([-1, 0]))


def _decided(model: Any) -> Callable[[Any], Floats]:
    def scores(counts: Any) -> Floats:
        found = np.asarray(model.decision_function(counts), dtype=np.float64)
        return found if found.ndim == 2 else _from_one(found)

    return scores


def _from_one(column: Floats) -> Floats:
    return np.stack([np.zeros(len(column)), column], axis=1)


def _refuse_many_labels(model: Any, outputs: int) -> None:
    labels = len(model.classes_)
    kind = str(getattr(getattr(model, "_label_binarizer", None), "y_type_", ""))
    if kind.startswith("multilabel") or outputs not in ((1, 2) if labels == 2 else (labels,)):
        raise ModelError(
            "The model gives several labels to one text, which is not supported: fit one "
            "model per label."
        )
