"""Which classes of scikit-learn, XGBoost and LightGBM are known by name, and why something is not
laid open.
"""

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
BOOSTERS = ("XGBClassifier", "LGBMClassifier")
VECTORIZERS = ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer")

PACKAGES = ("sklearn", "xgboost", "lightgbm")


class NotLowered(Exception):
    """Why a pipeline is asked instead."""


def kind_of(step: Any) -> str:
    """The class, if it is the library's own: a subclass may compute something else."""
    return type(step).__name__ if type(step).__module__.split(".")[0] in PACKAGES else ""
