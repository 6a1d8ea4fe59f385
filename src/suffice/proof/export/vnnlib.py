"""VNN-LIB: a question about inputs X and outputs Y of an ONNX file, in the form that VNN-COMP tools
read.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from suffice.model.network import Bools
from suffice.proof.export.boxes import NumberRange, NumberRanges
from suffice.proof.export.questions import Query


def written(question: Query, classes: int, relus: Bools) -> str:
    """The file; `relus` marks the hidden units (of all) whose sums are outputs."""
    inputs = len(question.boxes[0].low)
    outputs = classes + int(relus.sum()) + (question.budget is not None)
    lines = [f"; expected: {question.answer}", f"; {question.about}"]
    lines += [f"(declare-const X_{i} Real)" for i in range(inputs)]
    lines += [f"(declare-const Y_{i} Real)" for i in range(outputs)]
    lines += _inputs(question.boxes)
    lines += _outputs(question, classes, relus)
    lines += [f"(assert (<= Y_{question.lower} Y_{question.higher}))"]
    return "\n".join(lines) + "\n"


def _inputs(boxes: NumberRanges) -> Iterator[str]:
    """The box around all boxes; where there are several, that the input is in one of them."""
    around = NumberRange(
        np.min([box.low for box in boxes], 0), np.max([box.high for box in boxes], 0)
    )
    whole = NumberRange(np.full_like(around.low, -np.inf), np.full_like(around.high, np.inf))
    yield from (f"(assert {limit})" for limit in _limits(around, whole))
    if len(boxes) > 1:
        yield "(assert (or"
        yield from (f"  (and {' '.join(_limits(box, around))})" for box in boxes)
        yield "))"


def _limits(box: NumberRange, known: NumberRange) -> Iterator[str]:
    """The sides of a box that say more than is known."""
    for i in range(len(box.low)):
        if box.low[i] > known.low[i]:
            yield f"(>= X_{i} {decimal(box.low[i])})"
        if box.high[i] < known.high[i]:
            yield f"(<= X_{i} {decimal(box.high[i])})"


def _outputs(question: Query, classes: int, relus: Bools) -> Iterator[str]:
    """The sides of split units, and the budget."""
    place = classes + np.cumsum(relus) - 1
    for unit in np.flatnonzero(question.signs):
        yield f"(assert ({'>=' if question.signs[unit] > 0 else '<='} Y_{place[unit]} 0.0))"
    if question.budget is not None:
        yield f"(assert (<= Y_{classes + int(relus.sum())} {decimal(float(question.budget))}))"


def decimal(value: float) -> str:
    """The shortest decimal whose nearest double is the value, without an exponent (not all tools
    read those).
    """
    return np.format_float_positional(value, unique=True, trim="0")
