"""Whether a certificate answers the question that a person has, part by part.

Method: comparison with a question (theory, section 13).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from suffice.errors import InputError, Rejected
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.model.text import Text
from suffice.proof.check.describe import is_real_word
from suffice.proof.check.header import (
    All,
    Cheapest,
    Costs,
    Flip,
    Header,
    Independent,
    Infeasible,
    Sufficient,
)
from suffice.proof.check.limits import need

Cost: TypeAlias = Mapping[str, float] | Callable[[str], float]


@dataclass(frozen=True, eq=False)
class GivenQuestion:
    """The parts of a question that a person gives; None where nothing is said about one.

    `more` is what only a whole question says: its padding, and the label that a flip must lead to,
    if one is named.
    """

    text: Text | None
    perturbation: Any
    cost: Cost | None
    include: Sequence[str | int] | None
    exclude: Sequence[str | int] | None
    more: Mapping[str, Any] | None = None


def given_question(
    classifier: Classifier,
    text: Any,
    perturbation: Any,
    cost: Any,
    include: Any,
    exclude: Any,
    more: Any = None,
) -> GivenQuestion:
    """What a person gives, once it can be compared: what is wrong here is no fault of a
    certificate.
    """
    if (
        perturbation is not None
        and not isinstance(perturbation, Mapping)
        and not hasattr(perturbation, "to_dict")
    ):
        raise InputError(
            f"A perturbation set is one of suffice's or the data of one, not {perturbation!r}."
        )
    if cost is not None and not isinstance(cost, Mapping) and not callable(cost):
        raise InputError(
            f"Costs are a mapping from words to numbers or a function of a word, not {cost!r}."
        )
    for name, words in (("include", include), ("exclude", exclude)):
        if words is not None and (isinstance(words, str) or not isinstance(words, Sequence)):
            raise InputError(f"`{name}` takes a list of words or positions, not {words!r}.")
    return GivenQuestion(
        None if text is None else classifier.read(text), perturbation, cost, include, exclude, more
    )


def compare(header: Header, question: GivenQuestion, classifier: Classifier) -> None:
    """Rejected, with the part that differs, unless all that was given is what the certificate is
    about.
    """
    if all(
        part is None
        for part in (
            question.text,
            question.perturbation,
            question.cost,
            question.include,
            question.exclude,
        )
    ):
        return
    shown = [
        token
        for token, word in zip(
            header.tokens, is_real_word(header.tokens, classifier.pad), strict=True
        )
        if word
    ]
    text = (
        classifier.read(shown or list(header.tokens[:1]))
        if question.text is None
        else question.text
    )
    if question.text is not None:
        _compare_text(header, text, shown)
    if question.more is not None:
        _compare_more(header, question.more, text)
    if question.perturbation is not None:
        _compare_perturbation(header, question.perturbation, text, classifier)
    costs = getattr(header.claim, "costs", None)
    if question.cost is not None and costs is not None:
        _compare_costs(header, question.cost, costs)
    for name, listed in (("include", question.include), ("exclude", question.exclude)):
        if listed is not None:
            _compare_positions(header, name, _places(listed, text))


def _compare_text(header: Header, text: Text, shown: Sequence[str]) -> None:
    need(text.tokens == header.tokens, f"it is about another text: {' '.join(shown)[:200]!r}")
    words = np.arange(len(text)) < len(text.words)
    usual = (header.features == words).all() or header.features.all()
    need(usual, "only some of the text's words may change in it")


def _compare_more(header: Header, more: Mapping[str, Any], text: Text) -> None:
    """Padding that may change, or may not, and whom a flip lifts: either way the claim is another
    one.
    """
    every = more.get("padding") == "feature"
    right = (
        header.features.all()
        if every
        else (header.features == (np.arange(len(text)) < len(text.words))).all()
    )
    need(
        right,
        (
            "in it other positions may change: in the question padding "
            f"{'may' if every else 'may not'}"
        ),
    )
    if isinstance(header.claim, Flip):
        found, wanted = (
            repr(one) if one else "any label" for one in (header.claim.towards, more.get("towards"))
        )
        need(found == wanted, f"it is about another label to turn to: there, {found}, not {wanted}")


def _compare_perturbation(header: Header, given: Any, text: Text, classifier: Classifier) -> None:
    """A set as data, or an object that gives it; an object that can knows best what it lists for
    the text's words.
    """
    if hasattr(given, "narrowed"):
        given = given.narrowed(classifier, text)
    data = given if isinstance(given, Mapping) else given.to_dict()
    mine, yours = (_plain(one, header.tokens) for one in (header.perturbation, data))
    differs = sorted(key for key in {*mine, *yours} if mine.get(key) != yours.get(key))
    shown = {key: str(header.perturbation.get(key))[:80] for key in differs}
    need(not differs, f"it is about another perturbation set: there, {shown}")


def _plain(data: Mapping[str, Any], tokens: Sequence[str]) -> dict[str, Any]:
    """The set as JSON has it; of substitutes, what it lists for each word of the text."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(data)))
    if isinstance(swaps := plain.get("swaps"), dict):
        plain["swaps"] = {token: _listed(swaps, token) for token in tokens}
    return plain


def _listed(swaps: dict[str, Any], token: str) -> list[str]:
    """The substitutes of a token, each once."""
    others: list[str] = swaps.get(token, swaps.get(token.lower(), []))
    return [word for word in dict.fromkeys(others) if word != token]


def _compare_costs(header: Header, cost: Cost, costs: Costs) -> None:
    for place in np.flatnonzero(header.features).tolist():
        token = header.tokens[place]
        wanted = _price(cost, token)
        found = costs.price(int(costs.units[place]))
        need(
            wanted == found,
            f"it is about other costs: there, {token!r} costs {found}, not {wanted}",
        )


def _price(cost: Cost, token: str) -> Fraction:
    """The number as it is written: 0.1 is a tenth. What a mapping does not list costs 1."""
    value = cost(token) if callable(cost) else cost.get(token, cost.get(token.lower(), 1))
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def _places(given: Sequence[str | int], text: Text) -> Bools:
    mask = np.zeros(len(text), dtype=bool)
    try:
        mask[list(text.positions(given, len(text)))] = True
    except InputError as error:
        raise Rejected(0, f"it is about a text without these words: {error}") from None
    return mask


def _compare_positions(header: Header, name: str, wanted: Bools) -> None:
    """Of a set shown to suffice, that it keeps to them; of a lower bound, that it is about just
    these.
    """
    match header.claim:
        case Cheapest() | All():
            found: Bools = getattr(header.claim, name)
        case Infeasible(exclude):
            found = exclude if name == "exclude" else wanted
        case Independent(of):
            # of a question of independence: the protected
            found = of if name == "exclude" else np.zeros_like(wanted)
        case Sufficient(positions):
            kept = wanted <= positions if name == "include" else ~(wanted & positions)
            found = wanted if kept.all() else positions
        case Flip() | _:
            found = np.zeros_like(wanted)
    places = [f"{header.tokens[i]!r} ({i})" for i in np.flatnonzero(found).tolist()]
    differs = f"it is about other words to {name}: there, {', '.join(places) or 'none'}"
    need((found == wanted).all(), differs)
