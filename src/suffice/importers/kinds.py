"""Which of scikit-learn's classes are known by name, and the reason where something is not laid open."""

from __future__ import annotations

from typing import Any

LINEAR = (
    "LogisticRegression",
    "LogisticRegressionCV",
    "LinearSVC",
    "SGDClassifier",
    "Perceptron",
    "PassiveAggressiveClassifier",
    "RidgeClassifier",
    "RidgeClassifierCV",
)
BAYES = ("MultinomialNB", "ComplementNB")
VECTORIZERS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")


class NotLowered(Exception):
    """Why a pipeline is asked instead."""


def kind_of(step: Any) -> str:
    """The class, if it is scikit-learn's own: a subclass may compute something else."""
    return type(step).__name__ if type(step).__module__.split(".")[0] == "sklearn" else ""
