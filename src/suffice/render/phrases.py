"""Phrases: the plain words that the terminal, the reports and the page share."""

from __future__ import annotations

import math
import shlex
import unicodedata
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from suffice.model.classifier import Prediction
from suffice.model.numbers import exactly
from suffice.model.text import Text
from suffice.sets.table import command_options
from suffice.verbs.details import Alternatives
from suffice.verbs.explanation import Explanation, counted, known_below, ladder, least_by
from suffice.verbs.wording import authority, change_of, fitting, placed

Role: TypeAlias = Literal["needed", "free", "cut", "between"]
Tone: TypeAlias = Literal["good", "warn", "bad", "test"]

# joiners make emoji and Persian words; every other control or direction mark could play tricks
HARMLESS = "\n\t\u200c\u200d"
TRICKY = {"Cc", "Cf", "Cs", "Zl", "Zp"}

# What the bundled models are for; others are called by their name and labels.
TITLES = {
    "sentiment": "Reviews: positive or negative",
    "topic": "News: world, sports, business or science",
    "question": "Questions: what is asked for",
    "sst-fc25": "Film reviews, dense network",
    "sst-cnn25": "Film reviews, convolutional network",
    "imdb-fc100": "Long film reviews, dense network",
    "twitter-cnn25": "Tweets, convolutional network",
    "trec-fc15": "Questions, dense network",
}


class Piece(NamedTuple):
    """A stretch of the original string: a needed word, a free one, a word cut off, or what is
    between words.
    """

    text: str
    role: Role
    position: int | None = None
    unknown: bool = False


def pieces(text: Text, needed: tuple[int, ...]) -> Iterator[Piece]:
    """The original string cut at its words, every character once and in order.

    What is read as several words is marked where one of them is.
    """
    last = 0
    held = set(map(text.owner, needed))
    strange = set(map(text.owner, text.unknown))
    for word in (word for word in text.words if word.position not in text.shared):
        yield Piece(visible(text.source[last : word.start]), "between")
        role: Role = "needed" if word.position in held else "free"
        yield Piece(visible(word.text), role, word.position, word.position in strange)
        last = word.end
    yield Piece(visible(text.source[last:]), "cut" if text.cut else "between")


def visible(source: str) -> str:
    """The string with control and direction characters made visible, so that a text cannot play
    tricks.
    """
    lines = source.replace("\r\n", "\n")  # how other systems end a line
    return "".join(
        "\ufffd" if unicodedata.category(c) in TRICKY and c not in HARMLESS else c for c in lines
    )


# --- the answer ---


def headline(result: Explanation) -> str:
    """The answer in a few words."""
    count = len(result.positions)
    if "nothing" in result.meta:
        return "Nothing to prove"
    match result.status:
        case "infeasible":
            return f"No set{asked(result)} is enough"
        case "unknown":
            return "Nothing shorter than the whole text was shown to be enough"
        case "tested":
            return f"{counted(result)} held in every text drawn{_as_asked(result)}"
        case _ if count == 0:
            return "No word is needed"
        case _ if _whole(result) and _none_spare(result):
            return f"All {count} words are needed" if count > 1 else "The one word is needed"
        case _ if _whole(result):
            every = f"All {count} words are" if count > 1 else "The one word is"
            return f"{every} enough{_as_asked(result)}"
        case _:
            return f"{counted(result)} {'is' if count == 1 else 'are'} enough{_as_asked(result)}"


def _whole(result: Explanation) -> bool:
    """Whether the set is the whole text; where padding counts as words, there is more than the
    text.
    """
    return (
        len(result.positions) >= len(result.text.words) and result.meta.get("padding") != "feature"
    )


def _none_spare(result: Explanation) -> bool:
    """Whether every smaller set is known to fail: those that were not asked about are not."""
    return result.status == "optimal" and not asked(result)


def asked(result: Explanation) -> str:
    """What was asked of the set: " that holds 'a' and does without 'b'"."""
    return visible(fitting(result.text, result.meta))


def _as_asked(result: Explanation) -> str:
    return f", in a set{asked(result)}" if asked(result) else ""


def badge(result: Explanation) -> tuple[Tone, str, str]:
    """Tone, sign and word: never colour alone, and green only for what the checker accepted."""
    if "nothing" in result.meta:
        return "warn", "–", "no proof of anything"
    enough = authority(result.meta, "enough")
    match result.status:
        case "optimal" if least_by(result) == "proved":
            return (
                "good",
                "✓",
                f"proved, and nothing cheaper{asked(result)} is enough"
                if result.positions
                else "proved",
            )
        case "optimal" if enough == "proved":
            return "warn", "◐", f"proved enough; nothing cheaper{asked(result)} {least_by(result)}"
        case "optimal":
            return "warn", "◐", enough
        case "sufficient":
            return (
                "warn",
                "◐",
                f"{'proved' if enough == 'proved' else enough + ':'} enough; cheaper may exist",
            )
        case "tested":
            return "test", "≈", "tested, not proved"
        case "infeasible" if authority(result.meta, "infeasible") == "proved":
            return "bad", "✗", "proved impossible"
        case "infeasible":
            return "bad", "✗", f"impossible {authority(result.meta, 'infeasible')}"
        case _:
            return "warn", "?", "undecided"


def meaning(result: Explanation) -> str:
    """What the answer means, for somebody who has never heard of robustness."""
    label = quoted(result.label)
    if "nothing" in result.meta:
        reason = visible(result.meta["nothing"])
        return f"{capital(reason)}, and the label stays {label}."
    match result.status:
        case "infeasible" if result.tied is not None:
            return (
                f"{label} is a tie with {quoted(result.tied)} as the text stands, so that no set "
                "makes it sure."
            )
        case "infeasible":
            return f"Changing only the excluded words already {_flipping(result)}."
        case "unknown":
            reason = visible(result.reason)
            more = " More time may settle it." if reason == "time is up" else ""
            return f"No smaller set was shown to be enough for {label}: {reason}.{more}"
        case "tested":
            return ladder(result)
        case _ if not result.positions:
            return (
                f"Whatever {change_of(result.meta, 'the words')} is made, the label stays {label}."
            )
        case _ if _whole(result) and _none_spare(result):
            return f"Only while every word stays as it is, the label is sure to stay {label}."
        case _ if _whole(result):
            return f"With every word kept nothing is left to change, so the label stays {label}."
        case _:
            others = change_of(result.meta, "the others")
            kept = "word stays" if len(result.positions) == 1 else "words stay"
            return f"While the marked {kept}, no {others} can change the label {label}."


def _flipping(result: Explanation) -> str:
    label = quoted(result.label)
    found = result.witness
    if found is None:
        return f"turns {label} into another label"
    reached = quoted(found.label)
    return (
        f"turns {label} into {reached}"
        if found.margin < 0
        else f"lets {reached} reach {label} (a tie)"
    )


def price(result: Explanation) -> str:
    """Cost and bound in a sentence."""
    if not math.isfinite(result.cost):
        return "there is no such set, whatever the cost"
    cost = f"cost {exactly(result.cost)}"
    kind = f" of a set{asked(result)}" if asked(result) else ""
    if result.status == "optimal":
        least = "" if least_by(result) == "proved" else f" {least_by(result)}"
        return f"{cost}, the least possible{kind}{least}"
    return f"{cost}, and {visible(known_below(result))}"


def capital(words: str) -> str:
    """With a capital first letter; what follows (a word of the text, a name) stays as it is
    written.
    """
    return words[:1].upper() + words[1:]


def sure(prediction: Prediction) -> str:
    """How sure a classifier is, where it gives probabilities (what is not all of it is not 100%);
    else its margin.
    """
    if prediction.probabilities is None:
        return f"ahead by a margin of {prediction.margin:.3g}"
    probability = max(prediction.probabilities)
    rounded = f"{probability:.1%}"
    return "over 99.9% sure" if rounded == "100.0%" and probability < 1 else f"{rounded} sure"


def quoted(words: str) -> str:
    return f"“{visible(words)}”"


def equals(result: Explanation) -> str:
    """The equally cheap sets in a sentence; nothing where there is no choice."""
    known = result.alternatives if result.positions and result.status == "optimal" else None
    return "" if known is None else equally(result, known)


def equally(result: Explanation, known: Alternatives) -> str:
    """How many sets are as cheap; where something was asked of them, among which."""
    told = visible(known.told(lambda words: placed(result.text, words)))
    wish = asked(result)
    return f"For a set{wish}: {told[0].lower()}{told[1:]}" if wish else told


def next_question(
    result: Explanation, model: str = "MODEL", files: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, str]:
    """Where an answer says little: what a quick look saw, and the command that asks about it; else
    two empty texts.

    `files` says what the files are really called that options name.
    """
    found = result.further
    if found is None:
        return "", ""
    seen = f"A quick look: {visible(found.seen[0].lower() + found.seen[1:])}"
    options = [*command_options(found.perturbation.to_dict()), *_options(result)]
    named = (files.get(option, option) for option in options)
    command = ["suffice", "explain", visible(result.text.source), "--model", model, *named]
    return seen, " ".join(map(shlex.quote, command)) if _by_word(result) else ""


def _by_word(result: Explanation) -> bool:
    """Whether what was asked for can be named by words: a word stands for all its places, on a
    command line.
    """
    for role in ("include", "exclude"):
        places = result.meta.get(role, ())
        names = [result.text.tokens[position] for position in places]
        if list(places) != [i for i, token in enumerate(result.text.tokens) if token in names]:
            return False
    return True


def _options(result: Explanation) -> list[str]:
    """What else was asked, as options."""
    meta = result.meta
    found = [] if meta.get("cost") is None else ["--cost", "cost.json"]
    for role in ("include", "exclude"):
        for name in dict.fromkeys(result.text.tokens[position] for position in meta.get(role, ())):
            found += [f"--{role}", visible(name)]
    return [*found, "--padding", "feature"] if meta.get("padding") == "feature" else found


# --- doing it again ---


def commands(model: str = "MODEL") -> tuple[str, str]:
    """The command that asks the saved question again and saves the certificate, and the one that
    re-checks it.
    """
    name = shlex.quote(model)
    return (
        f"suffice explain --question question.json --model {name} --certificate answer.cert",
        f"suffice check answer.cert --model {name} --question question.json",
    )
