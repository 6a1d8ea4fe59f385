"""Settings for every test: hypothesis repeats the same examples anywhere, and no example is timed."""

from __future__ import annotations

import os

import pytest
from helpers import make_classifier
from hypothesis import HealthCheck, settings

from suffice.model.classifier import Classifier

os.environ.setdefault("KERAS_BACKEND", "torch")  # before any test imports Keras

settings.register_profile(
    "house",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")


@pytest.fixture(scope="session")
def tiny() -> Classifier:
    """A random classifier of 4 words × 3 dimensions, two labels and 8 words in its vocabulary."""
    return make_classifier(seed=0)
