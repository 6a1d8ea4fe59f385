"""scikit-learn as a black box: whatever gives probabilities or scores for texts, where it cannot be
laid open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from suffice.errors import ModelError
from suffice.importers.bag import largest_difference, lowered
from suffice.importers.kinds import NotLowered, kind_of
from suffice.importers.scores import ahead, linear_scores, matrix_scores, probabilities, said_by
from suffice.importers.skops import kept
from suffice.importers.states import vectorized
from suffice.model.bag import Bag
from suffice.model.blackbox import BlackBox, not_covered
from suffice.model.labels import plain_labels
from suffice.model.naming import content, told
from suffice.model.network import Floats
from suffice.model.odds import MARGINS, kind_of_scores

SAME = 1e-9  # scores of bag and pipeline may differ by this much of their size
BOUNDED = "Laid open as a bag of words: the worst case can be computed."
TABLES = (
    "Laid open as a bag of words: all that a short text may become can be computed; long texts "
    "are asked."
)
MAKERS = {"sklearn": "scikit-learn", "model2vec": "Model2Vec"}
WITHOUT = {
    "model2vec": "Model2Vec averages vectors of sub-words, and divides by the length of the mean"
}
PROBE = ["a text", "another text, of several words"]


def asked_instead(pipeline: Any, reason: str, why: str) -> BlackBox:
    """The pipeline as a function that is asked, and `why`; refused where it answers no texts,
    `reason` being why.
    """
    function = _scores(pipeline)
    try:
        rows = None if function is None else function(PROBE)
        labels = plain_labels(pipeline.classes_)
        said = pipeline.predict(PROBE)
        single = np.ndim(said) == 1 and np.ndim(said[0]) == 0  # one label per text
    except Exception as error:  # not fitted, or not for texts
        raise ModelError(_refusal(pipeline, reason)) from error
    if not single:
        raise ModelError(
            f"{_name(pipeline)} gives several labels to one text; one label per text is "
            "explained here: give "
            "sf.from_function the scores of one of them and of its opposite."
        )
    if function is None or rows is None or rows.shape != (len(PROBE), len(labels)):
        raise ModelError(reason)
    name = _name(pipeline)
    digest, uncovered = told([labels, pipeline])
    note = f"Asked as a function, not laid open: {why}"
    return BlackBox(
        function,
        labels,
        name,
        digest,
        notes=(note, *not_covered(uncovered)),
        meta={
            "import": {"from": name, "way": "asked as a function", "why": why},
            **_given(pipeline),
        },
        again=(asked_instead, (pipeline, reason, why)),
        keep=partial(kept, pipeline, digest),
        uncovered=uncovered,
    )


def _refusal(pipeline: Any, reason: str) -> str:
    """Why a pipeline answers no texts, where no other way to fit it would help; else `reason`."""
    steps = [step for _, step in getattr(pipeline, "steps", ())]
    if any(kind_of(step) == "ColumnTransformer" for step in steps):
        return (
            "The pipeline has a ColumnTransformer and so takes tables, while texts alone are "
            "changed here: hold the "
            "other columns fixed, as in sf.from_function(lambda texts: "
            "pipeline.predict_proba(pandas.DataFrame("
            "{'text': texts, 'other': 0})), labels=[...], name='...'), with your columns and "
            "what they hold."
        )
    model = steps[-1] if steps else pipeline
    if steps and not hasattr(model, "predict"):
        return (
            f"The pipeline ends in a {_kind(pipeline)} and needs a vectorizer and a model: add a "
            "model at its end."
        )
    if kind_of(model) and _is_fitted(model) and not hasattr(model, "classes_"):
        return (
            f"{_name(pipeline)} predicts no labels, and labels are explained here: choose "
            "them, such as above and "
            "below a threshold, and give sf.from_function(predict, labels=[...], name='...') "
            "a function that has a "
            "row of scores, one for each label, for every text."
        )
    return reason


def _is_fitted(model: Any) -> bool:
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except Exception:  # scikit-learn says so in several ways
        return False
    return True


def laid_open_or_asked(pipeline: Any, reason: str) -> BlackBox:
    """The pipeline as a bag of words, or where it is none as a function that is asked, with the
    reason why.
    """
    if not hasattr(pipeline, "steps"):
        return asked_instead(
            pipeline,
            reason,
            WITHOUT.get(_package(pipeline), f"{_kind(pipeline)} has no steps") + ".",
        )
    if kind_of(pipeline) != "Pipeline":
        return asked_instead(
            pipeline,
            reason,
            f"{type(pipeline).__name__} may compute something else than its steps.",
        )
    try:
        return opened(pipeline) or asked_instead(
            pipeline, reason, "a bag of words gives other scores."
        )
    except NotLowered as why:
        return asked_instead(pipeline, reason, f"{why}.")


def opened(pipeline: Any) -> BlackBox | None:
    """The pipeline laid open as a bag of words, compared with itself on made-up texts; None where
    they differ.

    NotLowered says what is in the way.
    """
    try:
        steps = [step for _, step in pipeline.steps if step is not None and step != "passthrough"]
        bag = lowered(steps)
    except (AttributeError, ValueError) as error:
        raise NotLowered(
            f"it is no fitted pipeline of a vectorizer and a model ({error})"
        ) from error
    function = linear_scores(pipeline)
    difference = largest_difference(bag, function)
    room = SAME if bag.trees is None else max(SAME, bag.trees.rounding)
    if not difference <= room or np.ndim(pipeline.predict(PROBE)) != 1:
        return None
    labels = plain_labels(pipeline.classes_)
    name = _name(pipeline)
    facts = {"from": name, "way": "laid open as a bag of words", "largest difference": difference}
    digest = _read_off(steps, bag, labels)
    return BlackBox(
        function,
        labels,
        name,
        digest,
        notes=(BOUNDED if bag.bounded else TABLES,),
        meta={"import": facts, "scores": _kind_of_scores(pipeline, bag.examples)},
        again=(opened, (pipeline,)),
        keep=partial(kept, pipeline, digest),
        bag=bag,
    )


def _read_off(steps: Sequence[Any], bag: Bag, labels: Sequence[str]) -> str:
    """SHA-256 over what the pipeline was laid open as: how texts are read, weights, and the
    packages that run it.

    What else its objects hold (addresses, the time that fitting took) is no part of what it
    answers.
    """
    numbers = [
        bag.scale,
        bag.tf,
        bag.norm,
        bag.orders,
        bag.rows,
        bag.bias,
        bag.curved,
        bag.trees,
        bag.model,
    ]
    read = vectorized(steps[0])[1]
    words = [dict(sorted(getattr(one, "vocabulary_", {}).items())) for one in read]
    reading = [[type(one), one.get_params()] for one in read]
    return content([labels, [type(step) for step in steps], reading, words, numbers])


def _kind_of_scores(pipeline: Any, words: Sequence[str]) -> str:
    """What the scores are, by what the model says of some words."""
    model = pipeline.steps[-1][1]
    rows = pipeline[:-1].transform([*words[:64], *PROBE])
    return kind_of_scores(matrix_scores(model)(rows), probabilities(model, rows))


def _scores(pipeline: Any) -> Callable[[list[str]], Floats] | None:
    """Probabilities, or else decision values, or else 1 for the label it says: the label that it
    says is ahead.
    """
    if not hasattr(pipeline, "predict"):
        return None
    read, model = _parted(pipeline)

    def scores(texts: list[str]) -> Floats:
        rows = read(texts)
        return _led(_values(model, rows), said_by(model, rows))

    return scores


def _parted(pipeline: Any) -> tuple[Callable[[list[str]], Any], Any]:
    """What reads texts and what judges them: of a pipeline its last step, so that texts are read
    once.
    """
    steps = pipeline.steps if type(pipeline).__module__ == "sklearn.pipeline" else []
    if len(steps) < 2 or not hasattr(steps[-1][1], "predict"):
        return lambda texts: texts, pipeline
    return pipeline[:-1].transform, steps[-1][1]


def _given(pipeline: Any) -> dict[str, str]:
    """That scores are margins, where the pipeline gives no probabilities."""
    return {} if hasattr(_parted(pipeline)[1], "predict_proba") else {"scores": MARGINS}


def _values(model: Any, rows: Any) -> Floats | None:
    """A score for each label; z of two labels becomes [-z, z]."""
    if hasattr(model, "predict_proba"):
        return np.array(model.predict_proba(rows), dtype=np.float64)
    if not hasattr(model, "decision_function"):
        return None
    values = np.array(model.decision_function(rows), dtype=np.float64)
    return np.stack([-values, values], axis=1) if values.ndim == 1 else values


def _led(scores: Floats | None, said: Floats) -> Floats:
    """Scores with the label that is said ahead.

    Where it is behind (a threshold, votes of pairs) it has 1 and the others -1, which nobody takes
    for probabilities.
    """
    if scores is None or scores.shape != said.shape:
        return said if scores is None else scores
    behind = said.any(1) & (np.where(said > 0, scores, -np.inf).max(1) < scores.max(1))
    return np.where(behind[:, None], 2.0 * said - 1.0, ahead(scores, said))


def _name(pipeline: Any) -> str:
    package = _package(pipeline)
    return f"{MAKERS.get(package, package)}'s {_kind(pipeline)}"


def _package(pipeline: Any) -> str:
    return type(pipeline).__module__.split(".")[0]


def _kind(pipeline: Any) -> str:
    steps = getattr(pipeline, "steps", None)
    return type(steps[-1][1] if steps else pipeline).__name__
