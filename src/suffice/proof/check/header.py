"""The header: the question that a certificate answers and the claim it makes, from its first line.

Method: claims (theory, section 13).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from suffice.errors import NotACertificate, Rejected
from suffice.model.classifier import Classifier
from suffice.model.network import Bools, Ints
from suffice.model.tokenizers import Pattern, Words
from suffice.proof.check.limits import (
    EXACT_INTEGERS,
    need,
    read_fields,
    read_integer,
    read_positions,
    read_string,
)

FORMAT = 2
FRACTION = re.compile(r"[0-9]{1,200}(/[0-9]{1,200})?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Costs:
    """What each position costs, in whole numbers of a unit that is an exact fraction."""

    units: Ints
    unit: Fraction

    def of(self, places: Bools) -> int:
        return int(self.units[places].sum())

    def price(self, count: int) -> Fraction:
        return count * self.unit


@dataclass(frozen=True, eq=False)
class Sufficient:
    """The label holds whatever the words that are not `positions` become."""

    positions: Bools


@dataclass(frozen=True, eq=False)
class Independent:
    """The label holds whatever the words `of` become."""

    of: Bools


@dataclass(frozen=True, eq=False)
class Cheapest:
    """`positions` suffice, and nothing that holds `include`, avoids `exclude` and costs less than
    `lower` does.
    """

    positions: Bools
    costs: Costs
    include: Bools
    exclude: Bools
    cost: int
    lower: int


@dataclass(frozen=True, eq=False)
class All:
    """`sets` suffice and cost `cost` each; nothing else that fits and costs no more does."""

    sets: tuple[Bools, ...]
    costs: Costs
    include: Bools
    exclude: Bools
    cost: int


@dataclass(frozen=True, eq=False)
class Flip:
    """Changing `positions` lifts a rival to the label; changing words that cost less than `lower`
    lifts none.
    """

    positions: Bools | None
    towards: str | None
    costs: Costs
    cost: int | None
    lower: int


@dataclass(frozen=True, eq=False)
class Infeasible:
    """Nothing suffices without the words of `exclude`."""

    exclude: Bools


@dataclass(frozen=True, eq=False)
class Refuted:
    """`positions` do not suffice."""

    positions: Bools


Claim: TypeAlias = Sufficient | Independent | Cheapest | All | Flip | Infeasible | Refuted


@dataclass(frozen=True, eq=False)
class Header:
    """Which classifier, which text, what may change, the text's label, and what is claimed."""

    model: str
    tokens: tuple[str, ...]
    perturbation: dict[str, Any]
    features: Bools
    label: str
    kind: str
    claim: Claim


def read_header(line: Any, classifier: Classifier) -> Header:
    """The first line, once all of it fits the classifier; what the sets are is read by sets.py."""
    found = line.get("certificate") if type(line) is dict else None
    if type(found) is int and found == 1:
        raise NotACertificate(
            "This certificate has format 1, which is no longer read: make it again."
        )
    if type(found) is str and found.startswith("asked"):
        raise NotACertificate(
            "This certificate is about a black box: check it with that model (--model on the "
            "shell)."
        )
    if type(found) is not int or found != FORMAT:
        raise NotACertificate(f"Line 1 is not the header of a certificate of format {FORMAT}.")
    names = "certificate model text perturbation features label claim"
    _, model, tokens, data, positions, label, claim = read_fields(line, names, "the header")
    need(model == classifier.digest, "it is about another classifier")
    right = (
        type(tokens) is list
        and len(tokens) == classifier.length
        and all(type(t) is str for t in tokens)
    )
    need(right, f"text must be {classifier.length} words")
    _words(tokens, classifier)
    need(type(data) is dict, "the perturbation set must be an object")
    features = read_positions(positions, np.ones(len(tokens), dtype=bool), "features")
    need(
        read_string(label, "the label") in classifier.labels,
        f"the classifier has no label {label!r}",
    )
    need(type(claim) is dict, "the claim must be an object")
    kind = read_string(claim.get("kind"), "the kind of claim")
    return Header(
        model,
        tuple(tokens),
        data,
        features,
        label,
        kind,
        _claim(kind, claim, features, label, classifier),
    )


def _words(tokens: list[str], classifier: Classifier) -> None:
    """Words that a list may hold, each taken as it is; where words count once, none of
    them twice.
    """
    reader = classifier.reader
    plain = {classifier.pad, classifier.unknown}
    for token in {*tokens} - plain - classifier.lookup.keys():
        one = token and not any(map(str.isspace, token))
        if not one and isinstance(reader, Words | Pattern):
            made = [piece for piece, _, _ in reader(token)]
            need(made == [token], f"{token[:80]!r} is not one word")
    if reader.once:
        repeated = [token for token in tokens if token not in plain]
        need(
            len(repeated) == len({*repeated}),
            "a word comes twice, but for this classifier words count once",
        )


def _claim(
    kind: str, data: dict[str, Any], features: Bools, label: str, classifier: Classifier
) -> Claim:
    match kind:
        case "sufficient":
            return Sufficient(
                read_positions(
                    read_fields(data, "kind positions", "the claim")[1], features, "positions"
                )
            )
        case "independent":
            return Independent(
                read_positions(read_fields(data, "kind of", "the claim")[1], features, "of")
            )
        case "infeasible":
            return Infeasible(
                read_positions(
                    read_fields(data, "kind exclude", "the claim")[1], features, "exclude"
                )
            )
        case "refuted":
            return Refuted(
                read_positions(
                    read_fields(data, "kind positions", "the claim")[1], features, "positions"
                )
            )
        case "cheapest":
            return _cheapest(data, features)
        case "all":
            return _all(data, features)
        case "flip":
            return _flip(data, features, [name for name in classifier.labels if name != label])
    raise Rejected(0, "the claim is none that this format knows")


def _cheapest(data: dict[str, Any], features: Bools) -> Cheapest:
    names = "kind positions costs unit include exclude cost lower"
    _, places, units, unit, wanted, barred, cost, lower = read_fields(data, names, "the claim")
    held = read_positions(places, features, "positions")
    costs = _costs(units, unit, len(features))
    include = read_positions(wanted, features, "include")
    exclude = read_positions(barred, features, "exclude")
    cost = read_integer(cost, 0, EXACT_INTEGERS, "cost")
    lower = read_integer(lower, 0, EXACT_INTEGERS, "lower")
    need(cost == costs.of(held), "positions must cost `cost`")
    need(lower <= cost, "`lower` is above `cost`")
    _fits(held, include, exclude)
    return Cheapest(held, costs, include, exclude, cost, lower)


def _all(data: dict[str, Any], features: Bools) -> All:
    names = "kind sets costs unit include exclude cost"
    _, listed, units, unit, wanted, barred, cost = read_fields(data, names, "the claim")
    need(type(listed) is list and listed, "sets must be a list of at least one set")
    sets = tuple(read_positions(one, features, "each set") for one in listed)
    costs = _costs(units, unit, len(features))
    include = read_positions(wanted, features, "include")
    exclude = read_positions(barred, features, "exclude")
    cost = read_integer(cost, 0, EXACT_INTEGERS, "cost")
    need(len({held.tobytes() for held in sets}) == len(sets), "a set is listed twice")
    for held in sets:
        need(cost == costs.of(held), "each set must cost `cost`")
        _fits(held, include, exclude)
    return All(sets, costs, include, exclude, cost)


def _flip(data: dict[str, Any], features: Bools, rivals: list[str]) -> Flip:
    names = "kind positions towards costs unit cost lower"
    _, places, towards, units, unit, cost, lower = read_fields(data, names, "the claim")
    need(
        towards is None or towards in rivals,
        "`towards` must be null or a label that the text does not have",
    )
    costs = _costs(units, unit, len(features))
    lower = read_integer(lower, 0, EXACT_INTEGERS, "lower")
    if places is None:
        need(cost is None, "without positions there is no cost")
        return Flip(None, towards, costs, None, lower)
    changed = read_positions(places, features, "positions")
    cost = read_integer(cost, 0, EXACT_INTEGERS, "cost")
    need(cost == costs.of(changed), "positions must cost `cost`")
    need(lower <= cost, "`lower` is above `cost`")
    return Flip(changed, towards, costs, cost, lower)


def _costs(units: Any, unit: Any, length: int) -> Costs:
    """One positive whole number per position, with a sum that doubles hold, and what one of them
    stands for.
    """
    need(type(units) is list and len(units) == length, "there must be one cost per position")
    counts = [read_integer(count, 1, EXACT_INTEGERS, "a cost") for count in units]
    need(sum(counts) < EXACT_INTEGERS, "the costs add up to 2^53 or more")
    need(
        FRACTION.fullmatch(read_string(unit, "the unit")),
        "the unit must be a fraction such as 3 or 1/20",
    )
    numerator, _, denominator = unit.partition("/")
    need(int(numerator) > 0 and int(denominator or 1) > 0, "the unit must be above zero")
    return Costs(np.array(counts, dtype=np.int64), Fraction(int(numerator), int(denominator or 1)))


def _fits(held: Bools, include: Bools, exclude: Bools) -> None:
    need(
        not (include & ~held).any() and not (exclude & held).any(),
        "a set must hold all of include, none of exclude",
    )
