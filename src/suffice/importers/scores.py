"""The model at the end of a pipeline: its rows of weights where these say it all, and what it says
of features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.importers import boosters
from suffice.importers.kinds import BAYES, BOOSTERS, LINEAR, NotLowered, kind_of
from suffice.importers.states import State
from suffice.model.network import Floats


def linear(model: Any) -> bool:
    """Whether a row of weights for each class says it all."""
    match kind_of(model):
        case "OneVsRestClassifier":
            return not model.multilabel_ and all(
                kind_of(one) in LINEAR for one in model.estimators_
            )
        case "CalibratedClassifierCV":
            models = model.calibrated_classifiers_
            alone = len(models) == 1 and len(model.classes_) == 2 and model.method == "sigmoid"
            return alone and kind_of(models[0].estimator) in LINEAR
        case kind:
            return kind in (*LINEAR, *BAYES, "BernoulliNB")


def rows_of(model: Any) -> tuple[Floats, Floats, bool]:
    """Rows and biases, one per class, and whether only presence counts."""
    kind = kind_of(model)
    if kind in LINEAR:
        return (*_two_rows(model.coef_, model.intercept_, len(model.classes_)), False)
    if kind in BAYES:
        rows = np.asarray(model.feature_log_prob_, dtype=np.float64)
        single = kind == "ComplementNB" and len(model.classes_) > 1
        prior = (
            np.zeros(len(rows)) if single else np.asarray(model.class_log_prior_, dtype=np.float64)
        )
        return rows, prior, False
    if kind == "BernoulliNB":
        return _bernoulli(model)
    if kind == "OneVsRestClassifier":
        return _one_vs_rest(model)
    return _calibrated(model)


def _two_rows(weight: Any, bias: Any, classes: int) -> tuple[Floats, Floats]:
    rows = weight.toarray() if hasattr(weight, "toarray") else np.atleast_2d(weight)
    rows = np.asarray(rows, dtype=np.float64)
    shift = np.broadcast_to(np.asarray(bias, dtype=np.float64), (len(rows),))
    if len(rows) == 1 and classes == 2:
        return np.concatenate([np.zeros_like(rows), rows]), np.concatenate([[0.0], shift])
    if len(rows) != classes:
        raise NotLowered("the model gives several labels to one text")
    return rows, np.array(shift)


def _bernoulli(model: Any) -> tuple[Floats, Floats, bool]:
    if model.binarize != 0.0:
        raise NotLowered(f"BernoulliNB(binarize={model.binarize!r}) is not at zero")
    here = np.asarray(model.feature_log_prob_, dtype=np.float64)
    gone = np.log1p(-np.exp(here))
    return here - gone, np.asarray(model.class_log_prior_ + gone.sum(1), dtype=np.float64), True


def _one_vs_rest(model: Any) -> tuple[Floats, Floats, bool]:
    rows = np.concatenate([np.atleast_2d(e.coef_) for e in model.estimators_])
    bias = np.concatenate([np.atleast_1d(e.intercept_) for e in model.estimators_])
    return (*_two_rows(rows, bias, len(model.classes_)), False)


def _calibrated(model: Any) -> tuple[Floats, Floats, bool]:
    """One calibrated model of two labels: the sigmoid is above a half where its argument is below
    zero.
    """
    (only,) = model.calibrated_classifiers_
    (curve,) = only.calibrators
    rows, bias = _two_rows(only.estimator.coef_, only.estimator.intercept_, 2)
    factor = np.array([[0.0], [-float(curve.a_)]])
    return rows * factor, bias * factor[:, 0] + np.array([0.0, -float(curve.b_)]), False


def linear_scores(pipeline: Any) -> Callable[[list[str]], Floats]:
    """What the pipeline itself says of texts, as numbers that do not saturate: one column per
    label.
    """
    model = pipeline.steps[-1][1]
    scores = matrix_scores(model)

    def run(texts: list[str]) -> Floats:
        rows = pipeline[:-1].transform(texts)
        found = scores(rows)
        if not ((found == found.max(1, keepdims=True)).sum(1) > 1).any():
            return found
        said = said_by(model, rows)
        # of equal ones the first is taken anyway: it stays a tie
        first = said.argmax(1) == found.argmax(1)
        return np.asarray(np.where(first[:, None], found, ahead(found, said)))

    return run


def said_by(model: Any, rows: Any) -> Floats:
    """1 for the label that a model says of each row of features, 0 for the others."""
    return np.asarray(np.equal.outer(model.predict(rows), model.classes_), dtype=np.float64)


def ahead(scores: Floats, said: Floats) -> Floats:
    """Scores where the label that is said is ahead, by the least there is, of one that has exactly
    as much.
    """
    own = np.where(said > 0, scores, -np.inf).max(1)
    best = np.where(said > 0, -np.inf, scores).max(1)
    return np.asarray(
        np.where((own == best)[:, None] & (said > 0), np.nextafter(scores, np.inf), scores)
    )


def matrix_scores(model: Any) -> Callable[[Any], Floats]:
    """What a model says of rows of features."""

    if (kind := kind_of(model)) in BOOSTERS:
        return lambda rows: boosters.scores(kind, model, rows)

    def scores(rows: Any) -> Floats:
        if hasattr(model, "decision_function"):
            found = np.asarray(model.decision_function(rows), dtype=np.float64)
            return np.stack([np.zeros(len(found)), found], axis=1) if found.ndim == 1 else found
        if hasattr(model, "predict_joint_log_proba"):
            return np.asarray(model.predict_joint_log_proba(rows), dtype=np.float64)
        return np.asarray(model.predict_proba(rows), dtype=np.float64)

    return scores


def probabilities(model: Any, rows: Any) -> Floats | None:
    """What a model gives as probabilities of rows of features; None where it gives none."""
    if not hasattr(model, "predict_proba"):
        return None
    return np.asarray(model.predict_proba(rows), dtype=np.float64)


def scores_after(model: Any, state: State) -> Callable[[Any], Floats]:
    """The model itself on rows of features, where its scores follow small changes of them: then
    rows can be trusted.
    """
    if not _smooth(model):
        raise NotLowered(f"{type(model).__name__} is no model that is laid open")
    scores = matrix_scores(model)

    def run(rows: Any) -> Floats:
        if state.after is None:
            return scores(rows)
        if state.after.ndim == 1:
            return scores(rows.multiply(state.after).tocsr())
        return scores(rows @ state.after.T)

    return run


def _smooth(model: Any) -> bool:
    """Whether scores move a little where features do, and the label is that of the best score."""
    kind = kind_of(model)
    if kind == "CalibratedClassifierCV":
        return all(_smooth(one.estimator) for one in model.calibrated_classifiers_)
    if kind == "VotingClassifier":
        return model.voting == "soft" and all(map(_smooth, model.estimators_))
    if kind == "OneVsRestClassifier":
        return not model.multilabel_ and all(map(_smooth, model.estimators_))
    return kind in (*LINEAR, *BAYES, "MLPClassifier")
