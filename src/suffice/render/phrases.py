"""Phrases: the plain words that the terminal, the reports and the page share."""

from __future__ import annotations

import math
import shlex
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from suffice.model.text import Text
from suffice.verbs.contrast import Contrast
from suffice.verbs.explanation import Change, Detail, Explanation, ladder

Role: TypeAlias = Literal["needed", "free", "cut", "between"]
Tone: TypeAlias = Literal["good", "warn", "bad", "test"]

# joiners make emoji and Persian words; every other control or direction mark could play tricks
HARMLESS = "\n\t\u200c\u200d"
MOVES = 4  # changes named in a counterexample
TRICKY = {"Cc", "Cf", "Cs", "Zl", "Zp"}


class Piece(NamedTuple):
    """A stretch of the original string: a needed word, a free one, a word cut off, or what is between words."""

    text: str
    role: Role
    position: int | None = None
    unknown: bool = False


def pieces(text: Text, needed: tuple[int, ...]) -> Iterator[Piece]:
    """The original string cut at its words, every character once and in order."""
    last, held, strange = 0, set(needed), set(text.unknown)
    for word in text.words:
        yield Piece(visible(text.source[last : word.start]), "between")
        role: Role = "needed" if word.position in held else "free"
        yield Piece(visible(word.text), role, word.position, word.position in strange)
        last = word.end
    yield Piece(visible(text.source[last:]), "cut" if text.cut else "between")


def visible(source: str) -> str:
    """The string with control and direction characters made visible, so that a text cannot play tricks."""
    return "".join("\ufffd" if unicodedata.category(c) in TRICKY and c not in HARMLESS else c for c in source)


# --- the answer ---


def headline(result: Explanation) -> str:
    """The answer in a few words."""
    count, total = len(result.positions), len(result.text.words)
    match result.status:
        case "infeasible":
            return "No set without the excluded words is enough"
        case "unknown":
            return "Undecided: nothing shorter than the whole text was proved"
        case "tested":
            return f"{count} of {total} words held in every text drawn"
        case _ if count == 0:
            return "No word is needed"
        case _ if count >= total:
            return f"All {total} words are needed" if result.status == "optimal" else f"All {total} words are enough"
        case _:
            return f"{count} of {total} words {'is' if count == 1 else 'are'} enough"


def badge(result: Explanation) -> tuple[Tone, str, str]:
    """Tone, sign and word: never colour alone."""
    match result.status:
        case "optimal":
            return "good", "✓", "proved, and nothing cheaper is enough"
        case "sufficient":
            return "warn", "◐", "proved enough; cheaper may exist"
        case "tested":
            return "test", "≈", "tested, not proved"
        case "infeasible":
            return "bad", "✗", "proved impossible"
        case "unknown":
            return "warn", "?", "undecided"


def meaning(result: Explanation) -> str:
    """What the answer means, for somebody who has never heard of robustness."""
    label = quoted(result.label)
    match result.status:
        case "infeasible":
            flipped = quoted(result.witness.label) if result.witness is not None else "another label"
            return f"Changing only the excluded words already turns {label} into {flipped}."
        case "unknown":
            return f"Time ran out before a smaller set was proved enough for {label}. More time may settle it."
        case "tested":
            return ladder(result)
        case _ if not result.positions:
            return f"Whatever the allowed changes of all the words, the label stays {label}."
        case _ if len(result.positions) >= len(result.text.words):
            return f"Only while every word stays as it is, the label is sure to stay {label}."
        case _:
            return f"While the marked words stay, no allowed change of the others can change the label {label}."


def turned(result: Contrast) -> str:
    """What a flip means; the words themselves are shown in the text."""
    label = quoted(result.label)
    if result.flip is None:
        return (
            f"Whatever the allowed changes of all the words, the label stays {label}."
            if result.status == "none"
            else "No flip was found, and none was ruled out. More time may settle it."
        )
    count = len(result.positions)
    which = "this word" if count == 1 else f"these {count} words"
    what = f"Changing {which} turns {label} into {quoted(result.flip.label)}"
    shown = "" if result.flip.real else " The words shown are the nearest real ones to where the changed words moved."
    rest = "no cheaper change does" if result.status == "optimal" else f"at least {result.lower_bound:g} must be spent"
    return f"{what}; {rest}.{shown}"


def price(result: Explanation) -> str:
    """Cost and bound in a sentence."""
    if not math.isfinite(result.cost):
        return "There is no such set, whatever the cost."
    cost = f"cost {result.cost:g}"
    if result.status == "optimal":
        return f"{cost}, the least possible"
    return f"{cost}, and no set below {result.lower_bound:g} can do"


def quoted(words: str) -> str:
    return f"“{visible(words)}”"


# --- one word ---


def standing(result: Explanation, position: int) -> str:
    """Needed, free, or asked for."""
    if position not in result.positions:
        left_out = position in result.meta.get("exclude", ())
        return "free, because you left it out" if left_out else "free: any allowed change of it keeps the label"
    if position in result.meta.get("include", ()):
        return "kept, because you asked for it"
    return "needed"


def may_become(detail: Detail, perturbation: Mapping[str, Any]) -> str:
    """The options of one word, by name."""
    if perturbation.get("kind") == "deletion":
        return "may be deleted"
    if not detail.options:
        return "" if perturbation.get("kind") in ("epsilon-ball", "boxes") else "cannot change"
    names = ", ".join(visible(option) for option in detail.options)
    more = f" and {detail.more} more" if detail.more else ""
    lead = "may become" if perturbation.get("kind") == "word-swap" else "may move among"
    return f"{lead}: {names}{more}"


def counterexample(result: Explanation, position: int, flip: Change) -> str:
    """What happens when a needed word is free as well; its own change comes first."""
    order = sorted(range(len(flip.positions)), key=lambda place: flip.positions[place] != position)
    moves = [_move(result, flip, place) for place in order]
    shown = moves[:MOVES] if len(moves) > MOVES + 1 else moves
    rest = f" and {len(moves) - len(shown)} more changes" if len(shown) < len(moves) else ""
    return f"Were it free, the label could turn {quoted(flip.label)}: {', '.join(shown)}{rest}."


def _move(result: Explanation, flip: Change, place: int) -> str:
    position, word = flip.positions[place], flip.words[place]
    known = position < len(result.text.words)
    own = result.text.words[position].text if known else result.text.tokens[position]
    if result.meta.get("perturbation", {}).get("kind") == "deletion":
        return f"{quoted(own)} deleted"
    return f"{quoted(own)} {'becomes' if flip.real else 'towards'} {quoted(word)}"


def reason(result: Explanation, detail: Detail) -> str:
    """Why a word of the explanation is needed; nothing for free words and for those that were asked for."""
    if detail.flip is not None:
        return counterexample(result, detail.position, detail.flip)
    asked = detail.position in result.meta.get("include", ())
    if detail.position in result.positions and result.status == "optimal" and not asked:
        return "No cheaper set does without it or another word."
    return ""


def about(result: Explanation, detail: Detail) -> dict[str, Any]:
    """Everything that is said of one word."""
    return {
        "position": detail.position,
        "standing": standing(result, detail.position),
        "options": may_become(detail, result.meta.get("perturbation", {})),
        "reason": reason(result, detail),
    }


# --- the scope ---


def allowed(perturbation: Mapping[str, Any]) -> str:
    """What a free word may become, in one sentence."""
    match dict(perturbation):
        case {"kind": "knn-box", "k": k}:
            return f"A free word may move anywhere in the smallest box around its embedding and its {k} nearest words."
        case {"kind": "knn-hull", "k": k}:
            return f"A free word may become any mixture of itself and its {k} nearest words."
        case {"kind": "epsilon-ball", "eps": eps, "p": p}:
            return f"A free word's embedding may move by at most {eps:g} in the {p}-norm."
        case {"kind": "word-swap", "swaps": swaps}:
            return f"A free word may be swapped for one of its listed substitutes ({len(swaps)} words have some)."
        case {"kind": "deletion"}:
            return "A free word may be deleted (padding in its place)."
        case {"kind": "boxes"}:
            return "A free word may move anywhere in the box given for its position."
        case _:
            return f"A free word may change as {dict(perturbation)} says."


def scope(result: Explanation) -> list[tuple[str, str]]:
    """The guarantee and its limits, as pairs of a heading and a sentence."""
    perturbation = result.meta.get("perturbation", {})
    padding = (
        "Padding may change too." if result.meta.get("padding") == "feature" else "Padding after the text stays fixed."
    )
    return [
        ("What may change", f"{allowed(perturbation)} All free words may change at once. {padding}"),
        (
            "What is not covered",
            "Words beyond these sets, words added, moved or typed differently, how the text is split into words, and "
            "whether the label is right. The proof is about the network in exact arithmetic.",
        ),
        (
            "Tolerance",
            "None: the label must beat every other class, a tie counts against it, and rounding errors are "
            "accounted for.",
        ),
        ("What was checked", evidence(result)),
    ]


def evidence(result: Explanation) -> str:
    """What stands behind the answer, in one sentence."""
    if "rejected" in result.meta:
        return f"The certificate was REJECTED by the checker ({result.meta['rejected']}), so nothing is claimed."
    if result.certificate is None:
        return "There is no certificate for this answer: it rests on the word of the solver or method that was chosen."
    size = len(result.certificate.data) / 1000
    checked = "accepted by the independent checker" if result.meta.get("checked") else "not checked yet"
    only = result.status == "optimal" and result.certificate.claim["kind"] != "cheapest"
    rest = " It covers that the words suffice; that nothing is cheaper rests on the method alone." if only else ""
    return f"Certificate: {len(result.certificate.lines)} lines, {size:.1f} KB, {checked}.{rest}"


def notes(text: Text) -> list[str]:
    """What the user should know about how the classifier saw the text."""
    found = []
    if text.unknown:
        words = ", ".join(visible(text.words[i].text) for i in text.unknown)
        found.append(f"Not in the vocabulary, seen as unknown: {words}.")
    if text.cut:
        found.append(f"Cut off, not seen at all: {visible(' '.join(text.cut))}.")
    return found


# --- doing it again ---


def commands(result: Explanation, model: str = "MODEL") -> tuple[str, str]:
    """The command that asks again and saves the certificate, and the one that re-checks it."""
    again = ["suffice", "explain", visible(result.text.source), "--model", model, *_options(result)]
    asked = " ".join(shlex.quote(part) for part in [*again, "--certificate", "answer.cert"])
    return asked, f"suffice check answer.cert --model {shlex.quote(model)}"


def _options(result: Explanation) -> list[str]:
    meta = result.meta
    found = _set_options(meta.get("perturbation", {}))
    for role in ("include", "exclude"):
        for position in meta.get(role, ()):
            found += [f"--{role}", visible(result.text.tokens[position])]
    if meta.get("padding") == "feature":
        found += ["--padding", "feature"]
    return [*found, "--seed", str(meta["seed"])] if meta.get("seed") else found


def _set_options(perturbation: Mapping[str, Any]) -> list[str]:
    match dict(perturbation):
        case {"kind": "knn-box", "k": k}:
            return ["--knn-box", str(k)]
        case {"kind": "knn-hull", "k": k}:
            return ["--knn-hull", str(k)]
        case {"kind": "epsilon-ball", "eps": eps, "p": p}:
            return ["--eps", f"{eps:g}", *([] if p == "inf" else ["--norm", str(p)])]
        case {"kind": "deletion"}:
            return ["--deletion"]
        case {"kind": "word-swap"}:
            return ["--swaps", "swaps.json"]
        case _:
            return []
