"""Odds: what the scores of a classifier are, and the probabilities that it gives, where it gives
any.
"""

from __future__ import annotations

import numpy as np

from suffice.model.network import Floats

# what scores are, as `meta["scores"]` of a classifier says; of a function that says nothing each
# row speaks for itself
LOGITS = "logits"  # their softmax are the model's probabilities
PROBABILITIES = "probabilities"
MARGINS = "margins"  # how far a label is ahead: of no probability is anything known
NEAR = 1e-6  # rows of probabilities add up to 1 within this


def shares(scores: Floats, kind: str | None) -> tuple[float, ...] | None:
    """The probability of each label; None where the model gives none."""
    if kind == LOGITS:
        return tuple(softmax(scores).tolist())
    if kind == MARGINS or not (scores >= 0).all() or abs(scores.sum() - 1) > NEAR:
        return None
    return tuple(scores.tolist())


def softmax(scores: Floats) -> Floats:
    """Of each row, or of a single one."""
    odds = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(odds / odds.sum(-1, keepdims=True))


def kind_of_scores(scores: Floats, given: Floats | None) -> str:
    """What scores (n, labels) are, by the probabilities that the model itself gives of the same
    texts, if any.
    """
    if given is None or given.shape != scores.shape:
        return MARGINS
    if np.abs(given - scores).max(initial=0.0) <= NEAR:
        return PROBABILITIES
    return LOGITS if np.abs(given - softmax(scores)).max(initial=0.0) <= NEAR else MARGINS
