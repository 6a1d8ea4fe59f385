"""Masked means: a network on the mean over the words that are present, exactly, though the divisor depends on the text.

With s the sum over the n words that are present, n f(s / n) and f(s / n) have the same order of scores. Where f is made
of affine maps, relus and maxima, n f(s / n) is the network f on s with its biases times n; and n is a sum too, of ones
over the words that are present. A text without words counts as one word of zeros: n + relu(1 - n) stands for n.
"""

from __future__ import annotations

import numpy as np

from suffice.errors import ModelError
from suffice.model.network import Bools, Floats, Ints, Network, Step
from suffice.model.step import compact

NOTE = "A mean over the words that are present: scores are those of the original times the number of these words."


def present(rows: Ints, padding: int) -> Ints:
    """By what the scores of index rows (n, length) are larger than the original's."""
    return np.asarray(np.maximum((rows != padding).sum(1), 1))


def counted(embedding: Floats, padding: int) -> Floats:
    """The embedding with one more coordinate, which counts: 1 for a word, 0 for padding."""
    ones = np.ones((len(embedding), 1))
    ones[padding] = 0.0
    return np.hstack([embedding, ones])


def over_present(network: Network, length: int) -> Network:
    """The network times the number of words present, from the same network on the sum of their vectors."""
    if network.curved:
        raise ModelError(
            "The mean over the words that are present is exact only with activations of straight pieces such as relu, "
            "and this network has smooth ones: ask it as a function (sf.from_function), or train without the mask."
        )
    first, *rest = network.steps
    steps = [_counting(first, length), _biased(_behind(first), 2, last=not rest)]
    steps += [_biased(step, 1, last=step is rest[-1]) for step in rest]
    return Network(tuple(steps))


def _counting(first: Step, length: int) -> Step:
    """The first step's sums without biases, the number n of words present, and relu(1 - n)."""
    weight = first.dense().reshape(len(first.bias), length, -1)
    seen = np.concatenate([weight, np.zeros((*weight.shape[:2], 1))], axis=2).reshape(len(weight), -1)
    count = np.zeros((length, weight.shape[2] + 1))
    count[:, -1] = 1.0
    sums = np.vstack([seen, count.ravel(), -count.ravel()])
    bias = np.append(np.zeros(len(weight) + 1), 1.0)
    return Step(compact(sums), bias, np.arange(len(sums)) == len(sums) - 1)


def _behind(first: Step) -> Step:
    """What the first step does to its sums, as a step of its own."""
    return Step(np.eye(len(first.bias)), first.bias, first.relu, (), first.maxima)


def _biased(step: Step, counts: int, last: bool) -> Step:
    """Biases as weights of the count, which comes last in `counts` parts, and which is handed on but at the end."""
    weight = np.hstack([step.dense(), np.repeat(step.bias[:, None], counts, axis=1)])
    relu: Bools = np.asarray(step.relu)
    if not last:
        carry = np.append(np.zeros(step.weight.shape[1]), np.ones(counts))
        weight, relu = np.vstack([weight, carry]), np.append(relu, False)
    return Step(compact(weight), np.zeros(len(weight)), relu, (), step.maxima)
