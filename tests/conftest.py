"""Settings for every test: hypothesis repeats the same examples anywhere, and no
example is timed.
"""

from __future__ import annotations

import os
import signal

import pytest
from helpers import make_classifier
from hypothesis import HealthCheck, settings

from suffice.model.classifier import Classifier

# Started with SIGINT ignored (in the background of a script, say), tests still interrupt what they
# start: children inherit that a signal is ignored, but not a handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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
