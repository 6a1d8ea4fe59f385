"""What a certificate about a black box proves, in words that a person reads.

Method: claims in words (theory, section 13).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from suffice.model.text import Text
from suffice.proof.check.describe import price

SHOWN = 60  # words, sets, substitutes or costs that a sentence lists


@dataclass(frozen=True, eq=False)
class Description:
    """A certificate that was read and run: `sampled` counts the allowed texts where only `sample`
    of them were.
    """

    head: Mapping[str, Any]
    text: Text
    options: Sequence[Sequence[str]]
    program: str
    texts_run: int
    sampled: int
    sample: int | None

    @property
    def claim(self) -> Mapping[str, Any]:
        return self.head["claim"]  # type: ignore[no-any-return]

    def facts(self) -> tuple[str, ...]:
        """What is proved beyond the label, one short sentence each."""
        claim = self.claim
        label = repr(self.head["label"])
        if self.sampled:
            return (
                (
                    f"of {self.sampled} allowed texts only a sample of {self.sample} was run: it "
                    "proves nothing"
                ),
            )
        match claim["kind"]:
            case "sufficient":
                return (self._enough(),)
            case "independent" if not claim["of"]:
                return ("no word was named that the label could depend on",)
            case "independent":
                becomes = "becomes" if len(claim["of"]) == 1 else "become"
                return (
                    (
                        f"{label} stays the label whatever {self._words('of')} "
                        f"{becomes}{self._at_once}"
                    ),
                )
            case "infeasible" if not claim["exclude"]:
                return (
                    f"no set of words suffices: {label} does not lead in the text as it stands",
                )
            case "infeasible":
                return (f"no set of words suffices that avoids {self._words('exclude')}",)
            case "refuted":
                do = "does" if len(claim["positions"]) == 1 else "do"
                return (
                    f"{self._words('positions')} {do} not suffice"
                    if claim["positions"]
                    else "some word is needed",
                )
            case "flip":
                return self._flip_facts()
            case "all":
                return self._all_facts()
            case "tested":
                held = (
                    f"with {self._words('positions')} kept, none of {claim['count']} texts drawn "
                    "flips the label"
                )
                return (f"{held} (tested, no proof)", *self._none_below())
        return (self._enough(), *self._none_below())

    @property
    def _at_once(self) -> str:
        """How many words change at most, where that is limited: without it the sentence would say
        too much.
        """
        limit = self.head["perturbation"].get("at_most")
        return "" if limit is None else f" (at most {limit} at once)"

    def _flip_facts(self) -> tuple[str, ...]:
        claim = self.claim
        label = repr(self.head["label"])
        lifts = (
            f"lifts {'another label' if claim['towards'] is None else repr(claim['towards'])} to "
            f"{label}"
        )
        if claim["lower"] is None:
            return (f"no allowed change of any words{self._at_once} {lifts}",)
        least = self._paid("lower")
        none = (
            (f"no change that costs less than {least} {lifts}{self._at_once}",)
            if claim["lower"]
            else ()
        )
        if claim["cost"] is None:
            return none
        return (
            (
                f"an allowed change of {self._words('positions')} {lifts}; that costs "
                f"{self._paid('cost')}"
            ),
            *none,
        )

    def _all_facts(self) -> tuple[str, ...]:
        sets = self.claim["sets"]
        listed = "; ".join(self._quoted(one) for one in sets[:SHOWN]) + _more(len(sets))
        which = "this set" if len(sets) == 1 else f"each of these {len(sets)} sets"
        each = f"{which} of words suffices{self._at_once} and costs {self._paid('cost')}: {listed}"
        return each, f"no other set{self._fitting} that costs as much or less suffices"

    def _none_below(self) -> tuple[str, ...]:
        least = self._paid("lower")
        return (
            (f"no set{self._fitting} that costs less than {least} suffices",)
            if self.claim["lower"]
            else ()
        )

    @property
    def _fitting(self) -> str:
        """What was asked of a set."""
        parts = (("holds", "include"), ("avoids", "exclude"))
        return "".join(
            f" that {verb} {self._words(name)}" for verb, name in parts if self.claim[name]
        )

    def _paid(self, name: str) -> str:
        return price(Fraction(self.claim[name]) * Fraction(self.claim["unit"]))

    def sentence(self, proved: Sequence[str]) -> str:
        head = self.head
        # the name in the file is what somebody wrote
        program = f"{self.program!r} ({head['model'][:16]})"
        about = f"For the program {program} as it was run: {proved[0]}: {head['text']!r}."
        change = self._may_become()
        facts = " ".join(f"{fact[0].upper()}{fact[1:]}." for fact in proved[1:])
        return " ".join(
            [f"{about} {change} {facts}", *self._costs(), f"{self.texts_run} texts were run again."]
        )

    def _may_become(self) -> str:
        """What each word may become, as far as a sentence lists it."""
        ways: dict[str, None] = {}
        for token, options in zip(self.text.tokens, self.options, strict=True):
            become = [repr(word) if word else "nothing (removed)" for word in options[:SHOWN]]
            if become:
                ways[f"{token!r} {' or '.join(become)}{_more(len(options))}"] = None
        limit = self.head["perturbation"].get("at_most")
        once = "all at once" if limit is None else f"at most {limit} of them at once"
        listed = f"{'; '.join(list(ways)[:SHOWN])}{_more(len(ways))}"
        return (
            f"Words may become: {listed}; {once}." if ways else "No word may become anything else."
        )

    def _costs(self) -> list[str]:
        """What each word costs, where that is part of the claim."""
        if "costs" not in self.claim:
            return []
        prices = [price(count * Fraction(self.claim["unit"])) for count in self.claim["costs"]]
        if len(set(prices)) == 1:
            return [f"Each word costs {prices[0]}."]
        listed = list(
            dict.fromkeys(
                f"{token!r} {cost}" for token, cost in zip(self.text.tokens, prices, strict=True)
            )
        )
        return [f"Words cost: {', '.join(listed[:SHOWN])}{_more(len(listed))}."]

    def _enough(self) -> str:
        held = self.claim["positions"]
        stays = f"{self.head['label']!r} stays the label whatever"
        if not held:
            return f"no word is needed: {stays} all of them become{self._at_once}"
        does = "suffices" if len(held) == 1 else "suffice"
        return f"{self._words('positions')} {does}: {stays} the other words become{self._at_once}"

    def _words(self, name: str) -> str:
        return self._quoted(self.claim[name])

    def _quoted(self, places: Sequence[int]) -> str:
        """Words in quotes; where one comes twice in the text, with its position."""
        tokens = self.text.tokens
        often = Counter(self.text.tokens)
        named = [
            repr(tokens[i]) + (f" (position {i})" if often[tokens[i]] > 1 else "") for i in places
        ]
        return ", ".join(named) or "no words"


def _more(count: int) -> str:
    return f" and {count - SHOWN} more" if count > SHOWN else ""
