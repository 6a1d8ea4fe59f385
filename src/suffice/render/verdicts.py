"""Verdicts: the answers of contrast, bias and profile in a few words, for the reports
and the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suffice.render import phrases
from suffice.verbs.bias import Bias
from suffice.verbs.contrast import Contrast
from suffice.verbs.profile import Profile
from suffice.verbs.wording import authority, named, relied
from suffice.verify.contract import Witness

FEW = 4  # protected words named in a headline
# status to tone, sign and words, of the verbs beside explain
BADGES: Mapping[str, tuple[phrases.Tone, str, str]] = {
    "independent": ("good", "✓", "proved independent"),
    "dependent": ("bad", "✗", "proved dependent"),
    "optimal": ("good", "✓", "proved: nothing cheaper does"),
    "found": ("warn", "◐", "a flip; a cheaper one may exist"),
    "none": ("good", "✓", "proved: no allowed change flips the label"),
    "unknown": ("warn", "?", "undecided"),
    "trivial": ("warn", "–", "nothing to prove"),
}


def flip_headline(result: Contrast) -> str:
    """What a contrast found, in a few words."""
    count = len(result.positions)
    match result.status:
        case "none" if "nothing" in result.meta:
            return "Nothing to prove"
        case "none":
            return f"Nothing {_deed(result, 1)}"
        case "unknown":
            return "Undecided"
        case _ if not count:
            return "It is a tie as it stands"
        case _:
            return f"{count} changed {'word' if count == 1 else 'words'} {_deed(result, count)}"


def _deed(result: Contrast, count: int) -> str:
    """What so many changed words do: what was asked for, and no more than they do."""
    name = phrases.quoted(result.meta.get("towards", ""))
    verb, rest = (
        ("turn", f"it into {name}")
        if result.flip is None or result.won
        else ("let", f"{name} reach it")
    )
    verb, rest = (verb, rest) if "towards" in result.meta else ("flip", "it")
    return f"{verb}{'s' if count == 1 else ''} {rest}"


def flip_badge(result: Contrast) -> tuple[phrases.Tone, str, str]:
    if "nothing" in result.meta:
        return BADGES["trivial"]
    tone, sign, words = _unless_unchecked(result.status, result.meta, "flip")
    return tone, sign, words.replace("flips the label", result.does(phrases.quoted))


def turned(result: Contrast) -> str:
    """What a flip means; the words themselves are shown in the text."""
    if result.flip is None or not result.positions:
        return phrases.visible(result.sentence())
    count = len(result.positions)
    which = "this word" if count == 1 else f"these {count} words"
    return (
        f"Changing {which} {result.aim(phrases.quoted)}; "
        f"{result.least('change')}.{illustrated(result.flip)}"
    )


def bias_headline(result: Bias) -> str:
    """What a question about bias found, in a few words."""
    about = result.tested if result.status == "independent" else result.positions
    names = named(result.text, about) if len(about) <= FEW else f"{len(about)} words"
    match result.status:
        case "independent" if result.trivial:
            return "Nothing to prove"
        case "independent":
            return f"The label does not depend on {phrases.visible(names)}"
        case "dependent":
            return f"The label depends on {phrases.visible(names)}"
        case "unknown":
            return f"Undecided whether the label depends on {phrases.visible(names)}"


def bias_badge(result: Bias) -> tuple[phrases.Tone, str, str]:
    nothing = result.trivial and result.status == "independent"
    return BADGES["trivial"] if nothing else _unless_unchecked(result.status, result.meta, "enough")


def _unless_unchecked(
    status: str, meta: Mapping[str, Any], claim: str
) -> tuple[phrases.Tone, str, str]:
    """The badge of a status; not green, and without the word proved, where no checker
    accepted it.
    """
    tone, sign, words = BADGES[status]
    by = (
        "proved"
        if status == "dependent" and meta.get("checked") and not relied(meta)
        else authority(meta, claim)
    )
    if "proved" not in words or by == "proved":
        return tone, sign, words
    return (
        "warn" if tone == "good" else tone,
        "◐",
        f"{words.removeprefix('proved').lstrip(': ')}, {by}",
    )


def growth_headline(result: Profile) -> str:
    said = phrases.headline(result.explanations[-1])
    return f"At {result.named(result.steps[-1])}: {said[0].lower()}{said[1:]}"


def growth_badge(result: Profile) -> tuple[phrases.Tone, str, str]:
    """Green only where every size is decided and accepted by the checker."""
    badges = [phrases.badge(one) for one in result.explanations]
    settled = sum(tone in ("good", "bad") and "proved" in words for tone, _, words in badges)
    if settled == len(badges):
        return "good", "✓", "proved at every size asked"
    return "warn", "◐", f"proved at {settled} of {len(badges)} sizes asked; bounds at the others"


def illustrated(flip: Witness) -> str:
    """Whether the words shown are the change itself or only near it."""
    if flip.real:
        return ""
    return (
        " The words shown are the nearest real ones to where the changed words moved, as an "
        "illustration."
    )
