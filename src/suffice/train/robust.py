"""Robust training: the worst case over a box around every word, by interval bounds, mixed into the
loss.

The box of a word has radius EPS around its vector (`eps:0.05`) or is the smallest around its K
nearest words (`knn:10`), as in the explanations; a third part is the share of the loss that the
worst case gets (`knn:10:0.5`). A small share cost no accuracy that we could measure on SST, but
some on TREC; a large one does everywhere (experiments/RESULTS.md). Vectors are learned too and a
network can simply spread them apart, so that a fixed radius means less and less; the nearest words
move along with them, and that is why `knn` is worth its name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy  # its subpackages load on first use, which keeps `suffice --help` quick

from suffice.errors import InputError

Tensor: TypeAlias = Any  # torch is optional, so its types are not known here

SHARE = 0.1  # of the loss that is the worst case, once it has ramped up, unless another is given
RAMP = 0.5  # of the steps over which it does


@dataclass(frozen=True, slots=True)
class Robust:
    """How far words may move while training, and how much that counts.

    kind: "eps" (`size` is a radius) or "knn" (a number of nearest words).
    share: of the loss that is the worst case.
    """

    kind: str
    size: float
    share: float = SHARE


class Spread(NamedTuple):
    """How far each word of the table may move down and up in every coordinate: two (V, d) tensors,
    none negative.
    """

    down: Tensor
    up: Tensor


class Interval(NamedTuple):
    """A box by its centre and radius."""

    center: Tensor
    radius: Tensor


def parse(given: str) -> Robust | None:
    """What `--robust` was given: RADIUS, eps:RADIUS or knn:K, and maybe :SHARE; nothing for the
    empty string.
    """
    if not given:
        return None
    kind, *numbers = given.split(":") if ":" in given else ["eps", given]
    try:
        found = Robust(kind, *map(float, numbers))
    except (ValueError, TypeError):
        found = Robust("", math.nan)
    if not _possible(found):
        raise InputError(
            "--robust takes a radius such as 0.05, eps:0.05, or knn:10 (nearest words), and "
            "after another colon "
            f"the share of the loss between 0 and 1 (knn:10:0.5), not {given!r}."
        )
    return found


def _possible(robust: Robust) -> bool:
    whole = robust.kind != "knn" or robust.size.is_integer()
    return (
        robust.kind in ("eps", "knn")
        and 0 < robust.size < math.inf
        and whole
        and 0 < robust.share <= 1
    )


def ramp(progress: float) -> float:
    """How much of the worst case counts: from nothing to all of it over the first part
    of training.
    """
    return min(1.0, progress / RAMP)


def settled(progress: float) -> bool:
    """Whether a model that has come this far was trained on the whole boxes; one before that is not
    worth keeping.
    """
    return progress > RAMP


def spread(torch: Any, table: Tensor, robust: Robust) -> Spread:
    """The boxes of all words of a table whose first two rows are padding and the unknown word."""
    if robust.kind == "eps":
        radius = torch.full_like(table, robust.size)
        return Spread(radius, radius)
    points = table.detach().numpy()
    count = min(int(robust.size), len(points) - 3)
    if count < 1:
        raise InputError(
            f"--robust knn needs a vocabulary of at least two words, not {len(points) - 2}."
        )
    # a word is the first of its own nearest
    _, near = scipy.spatial.cKDTree(points[2:]).query(points, k=count + 1)
    found = points[2:][np.asarray(near)]
    down = points - np.minimum(found.min(1), points)
    up = np.maximum(found.max(1), points) - points
    return Spread(torch.from_numpy(down), torch.from_numpy(up))


def worst_loss(
    torch: Any, model: Any, numbers: Tensor, classes: Tensor, boxes: Spread, scale: float
) -> Tensor:
    """The loss if every rival's lead were as large as the interval bounds allow, each box shrunk to
    `scale`.
    """
    words = (numbers > 0).unsqueeze(-1)  # padding stays where it is
    down = scale * boxes.down[numbers]
    up = scale * boxes.up[numbers]
    middle = (model.table[numbers] + (up - down) / 2) * words
    radius = (up + down) / 2 * words
    *layers, last = model.body
    box = through(torch, layers, Interval(model.arrange(middle), model.arrange(radius)))
    return torch.nn.functional.cross_entropy(leads(last, box, classes), classes)


def through(torch: Any, layers: Iterable[Any], box: Interval) -> Interval:
    """The box of what layers make of a box."""
    functional = torch.nn.functional
    for layer in layers:
        match type(layer).__name__:
            case "Linear":
                box = Interval(layer(box.center), functional.linear(box.radius, layer.weight.abs()))
            case "Conv2d":
                box = Interval(layer(box.center), functional.conv2d(box.radius, layer.weight.abs()))
            case "ReLU":
                low = (box.center - box.radius).relu()
                high = (box.center + box.radius).relu()
                box = Interval((low + high) / 2, (high - low) / 2)
            case "Flatten":
                box = Interval(layer(box.center), layer(box.radius))
            case other:
                raise InputError(f"Interval bounds of a layer {other} are not known.")
    return box


def leads(last: Any, box: Interval, classes: Tensor) -> Tensor:
    """The most by which each class can lead the right one (which leads itself by 0), the last layer
    taken exactly.
    """
    rows = last.weight - last.weight[classes].unsqueeze(1)
    bias = last.bias - last.bias[classes].unsqueeze(1)
    return (rows * box.center.unsqueeze(1) + rows.abs() * box.radius.unsqueeze(1)).sum(-1) + bias
