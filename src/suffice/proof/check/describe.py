"""What a certificate proves, in words that a person reads; each is true of this very question.

Method: claims in words (theory, section 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

import numpy as np

from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.proof.check.header import (
    All,
    Cheapest,
    Costs,
    Flip,
    Header,
    Independent,
    Infeasible,
    Refuted,
    Sufficient,
)
from suffice.proof.check.sets import Sets, movable

SHOWN = 60  # words, substitutes or costs that a sentence lists


def sentence(header: Header, sets: Sets, classifier: Classifier) -> str:
    """All of it: the classifier, the text, what may change, what is proved, and the costs."""
    about = (
        f"For the classifier {header.model[:16]}, over the real numbers: "
        f"{_text(header, classifier)}"
    )
    parts = [f"{about} the label {header.label!r}.", _may_change(header, sets, classifier)]
    parts += [f"{fact[0].upper()}{fact[1:]}." for fact in facts(header)]
    costs = getattr(header.claim, "costs", None)
    return " ".join([*parts, *([_costs(costs, header)] if costs is not None else [])])


def facts(header: Header) -> tuple[str, ...]:
    """What is proved beyond the label, one short sentence each."""
    label = header.label
    claim = header.claim
    match claim:
        case Sufficient(positions):
            return (_suffice(header, positions),)
        case Independent(of):
            if not of.any():
                return ("no word was named that the label could depend on",)
            becomes = "becomes" if int(of.sum()) == 1 else "become"
            return (
                (
                    f"{label!r} stays the label whatever {_words(header, of)} "
                    f"{becomes}{_at_once(header)}"
                ),
            )
        case Cheapest(positions, costs, include, exclude, cost, lower):
            return (
                f"{_suffice(header, positions)}; that costs {price(costs.price(cost))}",
                *_none_below(header, "suffices", costs, lower, lower == cost, include, exclude),
            )
        case All(several, costs, include, exclude, cost):
            listed = "; ".join(_words(header, held) for held in several[:SHOWN]) + _more(
                len(several), SHOWN
            )
            which = "this set" if len(several) == 1 else f"each of these {len(several)} sets"
            each = (
                f"{which} of words suffices{_at_once(header)} and costs "
                f"{price(costs.price(cost))}: {listed}"
            )
            return (
                each,
                (
                    f"no other set{_fitting(header, include, exclude)} that costs as much or less "
                    "suffices"
                ),
            )
        case Flip():
            return _flip(header, claim)
        case Infeasible(exclude) if not exclude.any():
            return (f"no set of words suffices: {label!r} does not lead in the text as it stands",)
        case Infeasible(exclude):
            return (f"no set of words suffices that avoids {_words(header, exclude)}",)
        case Refuted(positions):
            if not positions.any():
                return ("some word is needed: an allowed change of the words ends the lead",)
            do = "does" if int(positions.sum()) == 1 else "do"
            return (
                (
                    f"{_words(header, positions)} {do} not suffice: an allowed change of the "
                    "others ends the lead"
                ),
            )
        case _:
            assert_never(claim)


def _suffice(header: Header, held: Bools) -> str:
    if not held.any():
        return (
            f"no word is needed: {header.label!r} stays the label whatever all of them "
            f"become{_at_once(header)}"
        )
    if not (header.features & ~held).any():
        return (
            f"all words that may change together suffice for {header.label!r}, as nothing else "
            "can change then"
        )
    does = "suffices" if int(held.sum()) == 1 else "suffice"
    others = f"whatever the other words become{_at_once(header)}"
    return f"{_words(header, held)} {does}: {header.label!r} stays the label {others}"


def _at_once(header: Header) -> str:
    """How many words change at most, where that is limited: without it the sentence would say too
    much.
    """
    limit = header.perturbation.get("at_most")
    return "" if limit is None else f" (at most {limit} at once)"


def _none_below(
    header: Header, does: str, costs: Costs, lower: int, tight: bool, include: Bools, exclude: Bools
) -> tuple[str, ...]:
    fitting = _fitting(header, include, exclude)
    if tight:
        return (f"nothing cheaper{fitting} {does}",)
    least = price(costs.price(lower))
    return (
        (f"nothing{fitting} that costs less than {least} {does}; what lies between is open",)
        if lower
        else ()
    )


def _fitting(header: Header, include: Bools, exclude: Bools) -> str:
    parts = [
        f"{verb} {_words(header, words)}"
        for verb, words in (("holds", include), ("avoids", exclude))
        if words.any()
    ]
    return f" that {' and '.join(parts)}" if parts else ""


def _flip(header: Header, claim: Flip) -> tuple[str, ...]:
    aim = "another label" if claim.towards is None else repr(claim.towards)
    features = header.features
    lifts = f"lifts {aim} to {header.label!r}"
    if claim.lower > claim.costs.of(features):
        return (f"no change of any words{_at_once(header)} {lifts}",)
    nobody = np.zeros_like(features)
    none = _none_below(
        header,
        f"{lifts}{_at_once(header)}",
        claim.costs,
        claim.lower,
        claim.lower == claim.cost,
        nobody,
        nobody,
    )
    if claim.positions is None or claim.cost is None:
        return none
    if not claim.positions.any():
        return (f"{aim} has the score of {header.label!r} as the text stands: a tie",)
    paid = price(claim.costs.price(claim.cost))
    return (
        f"an allowed change of {_words(header, claim.positions)} {lifts}; that costs {paid}",
        *none,
    )


def _may_change(header: Header, sets: Sets, classifier: Classifier) -> str:
    moving = movable(sets, header.features)
    count = int(header.features.sum())
    if not moving.any():
        return (
            "No word can become anything else under this question, so nothing is said about "
            "changes."
        )
    if count == 1 and _just_the_words(header, classifier):
        return f"Its one word may become {_becomes(header, sets)}."
    which = (
        f"its {count} words"
        if _just_the_words(header, classifier)
        else f"the {count} positions {_listed(header)}"
    )
    at_once = "all at once" if sets.at_most is None else f"at most {sets.at_most} of them at once"
    still = (
        ""
        if (moving == header.features).all()
        else f"; {int((header.features & ~moving).sum())} of them cannot"
    )
    return f"Each of {which} may become {_becomes(header, sets)}, {at_once}{still}."


def _becomes(header: Header, sets: Sets) -> str:
    data = header.perturbation
    match sets.kind:
        case "epsilon-ball":
            return f"any vector within {_exactly(data['eps'])} of its own (norm {data['p']})"
        case "knn-box":
            return f"any vector of the box around it and its {data['k']} nearest words"
        case "knn-hull":
            return f"any mixture of it and its {data['k']} nearest words"
        case "boxes":
            return "any vector of the box that the certificate lists for it"
        case "deletion":
            return "padding (its place stays)"
        case "mask":
            return "the unknown word" if data["token"] is None else f"the mask {data['token']!r}"
        case "removal-or-swap":
            return f"padding (its place stays) or one of its substitutes ({_substitutes(header)})"
        case _:
            return f"one of its substitutes ({_substitutes(header)})"


def _substitutes(header: Header) -> str:
    swaps = header.perturbation["swaps"]
    shown = dict[str, str]()
    for place in np.flatnonzero(header.features):
        token = header.tokens[place]
        others = [word for word in swaps.get(token, swaps.get(token.lower(), [])) if word != token]
        if others:
            shown[token] = (
                f"{token!r}: {', '.join(map(repr, others[:SHOWN]))}{_more(len(others), SHOWN)}"
            )
    return "; ".join(list(shown.values())[:SHOWN]) + _more(len(shown), SHOWN) or "none are listed"


def _costs(costs: Costs, header: Header) -> str:
    places = np.flatnonzero(header.features).tolist()
    named = {count: price(costs.price(count)) for count in set(costs.units[places].tolist())}
    prices = [named[count] for count in costs.units[places].tolist()]
    if len(set(prices)) == 1:
        return f"Each word costs {prices[0]}."
    listed = list(
        dict.fromkeys(
            f"{header.tokens[i]!r} {cost}" for i, cost in zip(places, prices, strict=True)
        )
    )
    return f"Words cost: {', '.join(listed[:SHOWN])}{_more(len(listed), SHOWN)}."


def price(value: Fraction) -> str:
    """As a person counts: 2, 0.25, or a fraction where no short decimal is exact."""
    whole = value
    places = 0
    while whole.denominator > 1 and places < 18:
        whole = whole * 10
        places = places + 1
    if whole.denominator > 1:
        return str(value)
    digits = str(whole.numerator).rjust(places + 1, "0")
    return digits if not places else f"{digits[:-places]}.{digits[-places:]}"


def _exactly(value: float) -> str:
    """Short where that is the very number: a radius that is rounded up would say too much."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


def _words(header: Header, places: Bools) -> str:
    """Words in quotes; where one comes twice in the text, with its position."""
    tokens = header.tokens
    chosen = np.flatnonzero(places).tolist()
    named = [
        repr(tokens[i]) + (f" (position {i})" if tokens.count(tokens[i]) > 1 else "")
        for i in chosen
    ]
    return _and(named) if named else "no words"


def _and(items: Sequence[str]) -> str:
    shown = list(items[:SHOWN])
    more = _more(len(items), SHOWN)
    if more or len(shown) < 2:
        return ", ".join(shown) + more
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _more(count: int, shown: int) -> str:
    return f" and {count - shown} more" if count > shown else ""


def _listed(header: Header) -> str:
    places = np.flatnonzero(header.features).tolist()
    return ", ".join(map(str, places[:SHOWN])) + _more(len(places), SHOWN)


def _just_the_words(header: Header, classifier: Classifier) -> bool:
    return bool((header.features == is_real_word(header.tokens, classifier.pad)).all())


def _text(header: Header, classifier: Classifier) -> str:
    """The text as a string; a list where the classifier would read other words in that string
    ("AWFUL" as "awful").
    """
    shown = header.tokens[: int(is_real_word(header.tokens, classifier.pad).sum())]
    try:
        same = classifier.read(" ".join(shown)).tokens == header.tokens
    except InputError:
        same = False
    return (
        f"the text {' '.join(shown)!r} has"
        if same
        else f"the words {[*shown]!r}, taken as they are, have"
    )


def is_real_word(tokens: Sequence[str], pad: str) -> Bools:
    """The positions up to the last one that is not padding."""
    count = max((i + 1 for i, token in enumerate(tokens) if token != pad), default=0)
    return np.arange(len(tokens)) < count
