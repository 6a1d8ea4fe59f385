"""The independent checker: reads a certificate (docs/certificate.md) and says what it proves, or which line fails.

It shares no code with the prover and trusts neither the file nor floating point. Why it is sound:

*Rounding.* u = 2^-53. A sum of m products of floats, added in any order, with or without fused operations, is off
by at most 1.01 m u Σ|a||b|, plus what products lose below the smallest normal number. Every bound here is worked
out in doubles and lowered by G·S, where S adds up how large everything in it can be:

- Interval bounds over the whole region (every feature free), each widened by G, bound the inputs and outputs h of all
  steps; `size` = |W| |h| + |b| bounds the terms of each pre-activation z = W h + b, and so |z|.
- A row A of floats over the outputs of a step counts as exact. Going back through the relu and the step replaces it by
  floats A' W, where A' is A times slopes in [0, 1] minus multipliers. That changes the form by at most
  (1.01 n_out + 2.01) u (|A| + |beta|)·size, its constants A'·b and A·shift by another 1.02 n_out u of the same (a chord's
  shift is at most 1.01 size). At the input, |A' W| |x| <= 1.01 (|A| + |beta|)·size of the first step again, and a
  support function is off by at most (5.1 n_in + 17) u of it (the worst one is the knapsack over words of one
  dimension: values are up to three times as large, and word gains are summed twice). Adding the parts up takes
  2 L + 4 additions of partial sums below 5.1 S (L steps), so 11 L + 21 roundings.
- So all errors are below (5.2 n + 11 L + 45) u S, n being the most inputs plus outputs that a step has.
  G = 6 (n + 2 L + 32) u is more. S starts with TINY (1 + the sum of all sizes): times G that is far more than what all
  the underflows of up to 2^60 products can lose. What is not finite, or larger than HUGE, proves nothing.

*Relaxation.* Over [l, u] with l < 0 < u, relu(z) >= a z for a in [0, 1], and relu(z) <= s z + t wherever that holds at l
and at u, relu being convex; t is rounded up until it does. A split of sign g says g z >= 0, so subtracting beta g z with
beta >= 0 only lowers the form. Bounds of a step's units use only lines of earlier steps, and the signs above the leaf.

*Cover.* A walk over a tree in preorder goes through both sides of every cut, and cuts are exhaustive: z <= 0 or z >= 0,
a choice is listed or not, a word is restored or not, is in the explanation or not.

*Points* are compared with boxes, corners and balls as real numbers (balls in fractions), and a margin whose sign the
intervals leave open is computed in whole numbers. Knapsacks are over words put back entirely, so whole numbers of
the costs' common divisor; for unequal costs they are bounded by their dual, which holds for any price of the budget.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from suffice.classifier import Classifier
from suffice.errors import NotACertificate, Rejected
from suffice.network import Bools, Floats, Ints, Step

ROUND, TINY, HUGE = 2.0**-53, 2.0**-800, 2.0**800
WHOLE = 2**53  # whole numbers up to here are exact as floats
CHUNK = 400_000  # numbers worked on at a time, so that they fit the cache
BATCH = 1024  # leaves checked together
LEANS = (1.0, 1 + 2.0**-30, 1 - 2.0**-30)  # near u = -l the prover may have rounded to the other slope

# A file beyond these is refused: bytes packed, unpacked, in the header, in another line (plus more for large
# networks); lines; numbers in the points of a region; margins worked out in whole numbers, and their digits.
MAX_FILE, MAX_TEXT, MAX_HEADER, MAX_LINE = 2**26, 2**29, 2**23, 2**20
MAX_LINES, MAX_POINTS, MAX_EXACT, MAX_BITS = 2_000_000, 30_000_000, 1000, 20_000

KINDS = {
    "sufficient": {"kind", "positions"},
    "independent": {"kind", "of"},
    "cheapest": {"kind", "positions", "costs", "unit", "include", "exclude", "cost", "lower"},
    "infeasible": {"kind", "exclude"},
    "refuted": {"kind", "positions"},
}
Cut: TypeAlias = Callable[[int], None]  # enters side 0 or 1 of a node, or leaves it (2)


class _Wrong(Exception):
    """Something on the current line does not hold."""


# --- what is proved ---


@dataclass(frozen=True, repr=False)
class Checked:
    """What a certificate proves of the classifier it was checked with.

    `positions` are the words that the claim is about (for "infeasible" the excluded ones). `cost` and `lower` count
    units of `unit`: no set that holds `include`, avoids `exclude` and costs less than `lower` suffices.
    """

    kind: str
    label: str
    positions: tuple[int, ...]
    words: tuple[str, ...]
    model: str
    perturbation: Mapping[str, Any]
    features: tuple[int, ...]
    cost: int | None = None
    lower: int | None = None
    unit: str = "1"
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()

    @property
    def optimal(self) -> bool:
        return self.kind == "cheapest" and self.cost == self.lower

    @property
    def sentence(self) -> str:
        """What is proved and under which assumptions."""
        data = ", ".join(f"{k} {v}" for k, v in self.perturbation.items() if isinstance(v, int | float | str))
        return (
            f"Proved for the exact real-number network of the classifier {self.model[:16]} when each of the"
            f" {len(self.features)} perturbable words may change within its set ({data}): {self._claim()}."
        )

    def _claim(self) -> str:
        these = ", ".join(f"{word!r} ({i})" for word, i in zip(self.words, self.positions, strict=True))
        these = f"the words {these}" if these else "no words at all"
        enough = f"{these} suffice for the label {self.label!r}"
        match self.kind:
            case "sufficient":
                return enough
            case "independent":
                return f"the label {self.label!r} does not depend on {these}"
            case "infeasible":
                return f"no words suffice for the label {self.label!r} without {these}"
            case "refuted":
                return f"{these} do not suffice for the label {self.label!r}"
        held = [f"holds the words {list(self.include)}"] if self.include else []
        out = [f"avoids the words {list(self.exclude)}"] if self.exclude else []
        among = " and ".join([*held, *out])
        other = "no cheaper set" if self.optimal else f"no set that costs less than {self.lower}"
        which = f"{other} that {among}" if among else other
        return f"{enough} at a cost of {self.cost} (in units of {self.unit}), and {which} does"

    def __repr__(self) -> str:
        what = "optimal" if self.optimal else self.kind
        cost = f", cost {self.cost}, lower bound {self.lower}" if self.kind == "cheapest" else ""
        return f"<Checked {what}: {self.label!r}, words {' '.join(self.words) or '(none)'}{cost}>"


def check(certificate: str | Path | bytes | Any, classifier: Classifier) -> Checked:
    """What the certificate (a file, its bytes, or an object with `lines`) proves of the classifier.

    Rejected names the first line that does not hold; NotACertificate is raised for what is not a certificate.
    """
    tape = _Tape(_objects(certificate, classifier))
    work = None
    with np.errstate(all="ignore"):
        try:
            work = _Work(tape, classifier, _claim(tape.take(), classifier))
            return work.run()
        except _Wrong as wrong:
            if work is not None:
                work.settle()  # an earlier leaf may be the first line that fails
            raise Rejected(tape.number, str(wrong)) from None


# --- reading ---


class _Tape:
    """The lines, one at a time, and the number of the last one taken."""

    def __init__(self, objects: Iterator[Any]) -> None:
        self.objects, self.number = objects, 0

    def take(self) -> dict[str, Any]:
        found = next(self.objects, None)
        self.number += 1
        if not isinstance(found, dict):
            raise _Wrong("the evidence ends too early" if found is None else "not an object")
        return found


def _objects(certificate: Any, classifier: Classifier) -> Iterator[Any]:
    if hasattr(certificate, "lines"):
        return iter(list(certificate.lines))
    units = sum(len(step.bias) for step in classifier.network.steps)
    return _parsed(_packed(certificate), MAX_LINE + 100 * (units + classifier.network.inputs))


def _packed(certificate: Any) -> bytes:
    if isinstance(certificate, bytes):
        data = certificate
    else:
        try:
            with open(certificate, "rb") as file:
                data = file.read(MAX_FILE + 1)
        except (OSError, TypeError, ValueError) as error:
            raise NotACertificate(f"The certificate {certificate!r} cannot be read: {error}.") from None
    if len(data) > MAX_FILE:
        raise NotACertificate(f"A certificate of more than {MAX_FILE} bytes is not read.")
    return data


def _parsed(data: bytes, longest: int) -> Iterator[Any]:
    for number, line in enumerate(_unpacked(data, longest), 1):
        if number > MAX_LINES:
            raise NotACertificate(f"A certificate of more than {MAX_LINES} lines is not read.")
        try:
            yield json.loads(line.decode(), parse_constant=_refuse, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise NotACertificate(f"Line {number} is not JSON: {reason[:200]}.") from None


def _unpacked(data: bytes, longest: int) -> Iterator[bytes]:
    """Lines of a gzip file, unpacked piece by piece so that a small file cannot fill the memory."""
    unzip, rest, total, first = zlib.decompressobj(31), b"", 0, True
    while not unzip.eof:
        try:
            piece = unzip.decompress(data, 2**18)
        except zlib.error as error:
            raise NotACertificate(f"The file is not a gzip file: {error}.") from None
        if not piece and not unzip.eof and not unzip.unconsumed_tail:
            raise NotACertificate("The file is cut off.")
        data, total = unzip.unconsumed_tail, total + len(piece)
        *lines, rest = (rest + piece).split(b"\n")
        for line in [*lines, rest]:
            if total > MAX_TEXT or len(line) > (MAX_HEADER if first else longest):
                raise NotACertificate("The file unpacks to more than is read.")
            first = first and line is rest
        yield from lines
    if unzip.unused_data:
        raise NotACertificate("Something follows the end of the file.")
    if rest:
        yield rest


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _fields(data: Any, names: set[str], what: str) -> dict[str, Any]:
    if not isinstance(data, dict) or data.keys() != names:
        raise _Wrong(f"{what} must be an object with exactly {', '.join(sorted(names))}")
    return data


def _int(value: Any, low: int, high: int, what: str) -> int:
    if type(value) is not int or not low <= value < high:
        raise _Wrong(f"{what} must be a whole number from {low} to {high - 1}")
    return value


def _number(value: Any, what: str) -> float:
    whole = type(value) is int and abs(value) <= WHOLE
    if not whole and not (type(value) is float and math.isfinite(value)):
        raise _Wrong(f"{what} must be a finite number")
    return float(value)


def _numbers(rows: Any, shape: tuple[int, int], what: str) -> Floats:
    if not isinstance(rows, list) or [len(r) if isinstance(r, list) else -1 for r in rows] != [shape[1]] * shape[0]:
        raise _Wrong(f"{what} must be {shape[0]} rows of {shape[1]} numbers")
    return np.array([[_number(v, what) for v in row] for row in rows]).reshape(shape)


def _array(data: Any, count: int, what: str) -> Floats:
    """An array whose size is known before it is decoded."""
    kind = next(iter(data), "") if isinstance(data, dict) and len(data) == 1 else ""
    if kind not in ("f4", "f8") or not isinstance(data[kind], str):
        raise _Wrong(f"{what} must be an array of f4 or f8")
    size = count * int(kind[1])
    if len(data[kind]) != (size + 2) // 3 * 4:
        raise _Wrong(f"{what} must hold {count} numbers")
    try:
        raw = base64.b64decode(data[kind], validate=True)
    except ValueError:
        raise _Wrong(f"{what} is not base64") from None
    if len(raw) != size or not np.isfinite(values := np.frombuffer(raw, f"<{kind}").astype(np.float64)).all():
        raise _Wrong(f"{what} must hold {count} finite numbers")
    return values


def _mask(values: Any, within: Bools, what: str) -> Bools:
    """Sorted positions, all of which `within` marks."""
    mask = np.zeros(len(within), dtype=bool)
    if not isinstance(values, list):
        raise _Wrong(f"{what} must be a list of positions")
    places = [_int(value, 0, len(within), f"a position of {what}") for value in values]
    if any(a >= b for a, b in zip(places, places[1:], strict=False)):
        raise _Wrong(f"{what} must be sorted, each position once")
    mask[places] = True
    if (mask & ~within).any():
        raise _Wrong(f"{what} must not hold position {int((mask & ~within).argmax())}")
    return mask
