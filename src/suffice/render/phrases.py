"""Phrases: the plain words that the terminal, the reports and the page share."""

from __future__ import annotations

import math
import shlex
import unicodedata
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from suffice.model.numbers import exactly
from suffice.model.text import EMPTY, Text, rewritten, with_gaps
from suffice.proof.certificate import Certificate
from suffice.prove.verdict import Witness
from suffice.sets.table import command_options, sentence
from suffice.verbs.explanation import Alone, Alternatives, Change, Detail, Explanation, counted, ladder, least_by
from suffice.verbs.wording import authority, change_of, ends, fitting, placed, turned_into
from suffice.verbs.wording import named as in_its_place
from suffice.verbs.wording import quoted as in_quotes

Role: TypeAlias = Literal["needed", "free", "cut", "between"]
Tone: TypeAlias = Literal["good", "warn", "bad", "test"]

# joiners make emoji and Persian words; every other control or direction mark could play tricks
HARMLESS = "\n\t\u200c\u200d"
MOVES = 4  # changes named in a counterexample
LISTED = 12  # unknown substitutes named
CUT = 40  # words named that were cut off
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
    """A stretch of the original string: a needed word, a free one, a word cut off, or what is between words."""

    text: str
    role: Role
    position: int | None = None
    unknown: bool = False


def pieces(text: Text, needed: tuple[int, ...]) -> Iterator[Piece]:
    """The original string cut at its words, every character once and in order.

    What is read as several words is marked where one of them is.
    """
    last, held, strange = 0, set(map(text.owner, needed)), set(map(text.owner, text.unknown))
    for word in (word for word in text.words if word.position not in text.shared):
        yield Piece(visible(text.source[last : word.start]), "between")
        role: Role = "needed" if word.position in held else "free"
        yield Piece(visible(word.text), role, word.position, word.position in strange)
        last = word.end
    yield Piece(visible(text.source[last:]), "cut" if text.cut else "between")


def visible(source: str) -> str:
    """The string with control and direction characters made visible, so that a text cannot play tricks."""
    lines = source.replace("\r\n", "\n")  # how other systems end a line
    return "".join("\ufffd" if unicodedata.category(c) in TRICKY and c not in HARMLESS else c for c in lines)


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
    """Whether the set is the whole text; where padding counts as words, there is more than the text."""
    return len(result.positions) >= len(result.text.words) and result.meta.get("padding") != "feature"


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
                f"proved, and nothing cheaper{asked(result)} is enough" if result.positions else "proved",
            )
        case "optimal" if enough == "proved":
            return "warn", "◐", f"proved enough; nothing cheaper{asked(result)} {least_by(result)}"
        case "optimal":
            return "warn", "◐", enough
        case "sufficient":
            return "warn", "◐", f"{'proved' if enough == 'proved' else enough + ':'} enough; cheaper may exist"
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
            return f"{label} is a tie with {quoted(result.tied)} as the text stands, so that no set makes it sure."
        case "infeasible":
            return f"Changing only the excluded words already {_flipping(result)}."
        case "unknown":
            said = [result.meta.get(name) for name in ("rejected", "unchecked", "reason")]
            reason = visible(next(filter(None, said), "time is up"))
            more = " More time may settle it." if reason == "time is up" else ""
            return f"No smaller set was shown to be enough for {label}: {reason}.{more}"
        case "tested":
            return ladder(result)
        case _ if not result.positions:
            return f"Whatever {change_of(result.meta, 'the words')} is made, the label stays {label}."
        case _ if _whole(result) and _none_spare(result):
            return f"Only while every word stays as it is, the label is sure to stay {label}."
        case _ if _whole(result):
            return f"With every word kept nothing is left to change, so the label stays {label}."
        case _:
            others = change_of(result.meta, "the others")
            return f"While the marked words stay, no {others} can change the label {label}."


def _flipping(result: Explanation) -> str:
    label, found = quoted(result.label), result.witness
    if found is None:
        return f"turns {label} into another label"
    reached = quoted(found.label)
    return f"turns {label} into {reached}" if found.margin < 0 else f"lets {reached} reach {label} (a tie)"


def price(result: Explanation) -> str:
    """Cost and bound in a sentence."""
    if not math.isfinite(result.cost):
        return "there is no such set, whatever the cost"
    cost, kind = f"cost {exactly(result.cost)}", f" of a set{asked(result)}" if asked(result) else ""
    if result.status == "optimal":
        least = "" if least_by(result) == "proved" else f" {least_by(result)}"
        return f"{cost}, the least possible{kind}{least}"
    if result.lower_bound <= 0:
        return f"{cost}, and nothing is known of cheaper sets"
    return f"{cost}, and no set{asked(result)} below {exactly(result.lower_bound)} can do"


def capital(words: str) -> str:
    """With a capital first letter; what follows (a word of the text, a name) stays as it is written."""
    return words[:1].upper() + words[1:]


def quoted(words: str) -> str:
    return f"“{visible(words)}”"


def equals(result: Explanation) -> str:
    """The equally cheap sets in a sentence; nothing where there is no choice."""
    known = result.alternatives if result.positions and result.status == "optimal" else None
    return "" if known is None else equally(result, known)


def equally(result: Explanation, known: Alternatives) -> str:
    """How many sets are as cheap; where something was asked of them, among which."""
    told, wish = visible(known.told(lambda words: placed(result.text, words))), asked(result)
    return f"For a set{wish}: {told[0].lower()}{told[1:]}" if wish else told


def next_question(
    result: Explanation, model: str = "MODEL", files: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, str]:
    """Where an answer says little: what a quick look saw, and the command that asks about it; else two empty texts.

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
    """Whether what was asked for can be named by words: a word stands for all its places, on a command line."""
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


# --- one word ---


def standing(result: Explanation, detail: Detail) -> str:
    """Needed, in this set, free, or asked for."""
    position = detail.position
    if position not in result.positions:
        left_out = position in result.meta.get("exclude", ())
        return "free, because you left it out" if left_out else f"free: {_freedom(result)}"
    if position in result.meta.get("include", ()):
        return "kept, because you asked for it"
    if detail.needed:
        return f"needed: every set{asked(result)} that is enough holds it"
    return "in this set" + (": other sets are as cheap, some without it" if _shared(result, position) else "")


def _freedom(result: Explanation) -> str:
    if result.status not in ("optimal", "sufficient"):
        return "it is not in the set"
    limit = result.meta.get("perturbation", {}).get("at_most")
    return "any allowed change of it keeps the label" + ("" if limit is None else ", within the limit at once")


def _shared(result: Explanation, position: int) -> bool:
    """Whether an equally cheap set does without a word, as far as that has been looked at."""
    known = result.__dict__.get("alternatives")
    return known is not None and any(position not in held for held in known.sets)


def may_become(detail: Detail, perturbation: Mapping[str, Any]) -> str:
    """The options of one word, by name."""
    if not detail.options:
        return "" if perturbation.get("kind") in ("epsilon-ball", "boxes") else "cannot change"
    names = ", ".join(visible(option) for option in detail.options if option)
    more = f" and {detail.more} more" if detail.more else ""
    if not names:
        return "may be removed"
    return f"may {'be removed, or ' if '' in detail.options else ''}{_changing(perturbation)}: {names}{more}"


def _changing(perturbation: Mapping[str, Any]) -> str:
    return "move among" if perturbation.get("kind") in ("knn-box", "knn-hull") else "become"


def counterexample(result: Explanation, position: int, flip: Change) -> str:
    """What happens when a word of the set is free as well: the text itself where the classifier was run on it."""
    own = named(result.text, position)
    if flip.text is not None and flip.real:
        note = f" ({EMPTY}: removed, its place stays empty)" if _gaps(result.text, flip) else ""
        return f"Without {own}: {quoted(flip.text)} → {visible(ends(flip.label, flip.margin))}{note}"
    order = sorted(range(len(flip.positions)), key=lambda place: flip.positions[place] != position)
    moves = [move(result.text, flip, place) for place in order]
    shown = moves[:MOVES] if len(moves) > MOVES + 1 else moves
    rest = f" and {len(moves) - len(shown)} more changes" if len(shown) < len(moves) else ""
    reached = quoted(flip.label)
    deed = f"the label could turn {reached}" if flip.margin < 0 else f"{reached} could reach the label (a tie)"
    return f"Were {own} free, {deed}: {', '.join(shown)}{rest}."


def _gaps(text: Text, flip: Change) -> bool:
    """Whether the text of a flip shows the places of words that are removed."""
    new = dict(zip(flip.positions, flip.words, strict=True))
    return "" in flip.words and flip.text == rewritten(text, with_gaps(new))


def move(text: Text, flip: Change | Witness, place: int) -> str:
    """What becomes of one word."""
    position = flip.positions[place]
    own = text.words[position].text if position < len(text.words) else ""
    return f"{named(text, position)} {visible(turned_into(own, flip.words[place], flip.real))}"


def named(text: Text, position: int) -> str:
    """A word in quotes, with its position where it stands elsewhere too; a position behind the text is padding."""
    return visible(in_its_place(text, [position])) if position < len(text.words) else "padding"


def witness(text: Text, found: Witness) -> str:
    """The change that flips the label, word by word, and as a text where the classifier was run on it."""
    moves = ", ".join(move(text, found, place) for place in range(len(found.positions)))
    said = f"{visible(ends(found.label, found.margin))} when {moves or 'nothing changes'} (margin {found.margin:.3g})"
    how = "" if found.real else ", an illustration by the nearest words"
    return said if found.text is None else f"{said}{how}: {quoted(found.text)}"


def strength(found: Alone | None) -> str:
    """What a word, changed alone, can do to the margin; figures are rounded away from zero, so that each is a bound."""
    if found is None:
        return ""
    down = "never lowers" if found.fall <= 0 else f"lowers by at most {outward(found.fall)}"
    margin = f"the margin ({found.margin:.3g})"
    if found.rise is None:
        return f"Changed alone, it {down.replace('lowers', f'lowers {margin}', 1)}: a bound, not the exact fall."
    up = "never raises it" if found.rise <= 0 else f"raises it by at most {outward(found.rise)}"
    ran = "its one change was run" if found.options == 1 else f"each of its {found.options} changes was run"
    return f"Changed alone, it {down.replace('lowers', f'lowers {margin}', 1)} and {up}: {ran}."


def strengths(found: Alone, exact: bool) -> str:
    """What the bars of all words mean."""
    margin = f"The margin, the label's score minus that of its strongest rival, is {found.margin:.3g}."
    if exact:
        return f"{margin} Exact: every change of the one word was run."
    return f"{margin} Bounds: with the one word free it falls by no more; how far it rises was not looked for."


def outward(size: float) -> str:
    """A size to three digits, never below the size itself."""
    if size <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(size)) - 2)
    return f"{math.ceil(size / unit) * unit:.3g}"


def reason(result: Explanation, detail: Detail) -> str:
    """Why a word is in the set; nothing for free words and for those that were asked for."""
    if detail.flip is not None and detail.position not in result.meta.get("include", ()):
        return counterexample(result, detail.position, detail.flip)
    is_asked = detail.position in result.meta.get("include", ())
    if detail.position in result.positions and result.status == "optimal" and not is_asked:
        by = "" if least_by(result) == "proved" else f" {least_by(result)}"
        return f"With {named(result.text, detail.position)} in it: no cheaper set{asked(result)} is enough{by}."
    return ""


def whys(result: Explanation) -> list[str]:
    """A line for each word of the set: why it is there."""
    found = {detail.position: reason(result, detail) for detail in result.details} if result.positions else {}
    shown = result.words if result.status in ("optimal", "sufficient") else ()
    return [found[word.position] for word in shown if found.get(word.position)]


def about(result: Explanation, detail: Detail) -> dict[str, Any]:
    """Everything that is said of one word."""
    return {
        "position": detail.position,
        "standing": standing(result, detail),
        "needed": detail.needed,
        "options": may_become(detail, result.meta.get("perturbation", {})),
        "changing": f"It may {_changing(result.meta.get('perturbation', {}))}",
        "choices": [visible(option) for option in detail.options],
        "more": detail.more,
        "reason": reason(result, detail),
        "flip": None if detail.flip is None else _tried(result.text, detail.flip),
        "strength": strength(detail.alone),
        "alone": None if detail.alone is None else _bars(detail.alone),
    }


def _bars(found: Alone) -> dict[str, Any]:
    return {"fall": found.fall, "rise": found.rise, "margin": found.margin, "exact": found.exact}


def _tried(text: Text, flip: Change) -> dict[str, Any]:
    """A change that the classifier was run on: as a text where there is one, else by what becomes of each word."""
    words = dict(zip(flip.positions, flip.words, strict=True))
    words = with_gaps(words) if _gaps(text, flip) else words
    return {
        "label": visible(ends(flip.label, flip.margin)),
        "margin": flip.margin,
        "real": flip.real,
        "text": None if flip.text is None else visible(flip.text),
        "pieces": [{"text": piece.text, "became": _became(words, piece)} for piece in pieces(text, ())],
    }


def _became(words: Mapping[int, str], piece: Piece) -> str | None:
    return None if piece.position is None or piece.position not in words else visible(words[piece.position])


# --- the scope ---


def allowed(perturbation: Mapping[str, Any], which: str = "free word") -> str:
    """What a free word (or one of another role) may become, in one sentence."""
    return visible(sentence(perturbation).replace("free word", which))


def allowed_in(meta: Mapping[str, Any], text: Text) -> str:
    """What the words that the question is about may become: the free ones, or of a bias the protected ones."""
    perturbation, guarded = dict(meta.get("perturbation", {})), meta.get("protected")
    if guarded is None:
        return allowed(perturbation)
    tokens = {text.tokens[i] for i in guarded}
    swaps = {word: others for word, others in perturbation.get("swaps", {}).items() if word in tokens}
    return allowed(perturbation | ({"swaps": swaps} if "swaps" in perturbation else {}), "protected word")


def scope(result: Explanation) -> list[tuple[str, str]]:
    """The guarantee and its limits, as pairs of a heading and a sentence."""
    return scope_of(result.meta, evidence(result))


def scope_of(meta: Mapping[str, Any], checked: str) -> list[tuple[str, str]]:
    """The same for any verb, by what was asked and what was checked."""
    perturbation = meta.get("perturbation", {})
    padding = "Padding may change too." if meta.get("padding") == "feature" else "Padding after the text stays fixed."
    which = "protected word" if "protected" in meta else "free word"
    at_once = "" if perturbation.get("at_most") is not None else f" All {which}s may change at once."
    may_change = f"{allowed(perturbation, which)}{at_once}"
    if "asked" in meta:
        return _scope_of_black_box(meta, may_change, checked)
    beaten = _rivals(meta)
    return [
        ("What may change", f"{may_change} {padding}"),
        (
            "What is not covered",
            "Words beyond these sets, words added, moved or typed differently, how the text is split into words, and "
            "whether the label is right. What is said is about the network in exact arithmetic.",
        ),
        (
            "Tolerance",
            f"None: the label must beat {beaten}, a tie counts against it, and rounding errors are accounted for.",
        ),
        ("What was checked", checked),
    ]


def _rivals(meta: Mapping[str, Any]) -> str:
    """Whom the label must beat."""
    return quoted(meta["towards"]) if "towards" in meta else "every other class"


def _scope_of_black_box(meta: Mapping[str, Any], may_change: str, checked: str) -> list[tuple[str, str]]:
    """The same for a classifier that can only be run."""
    how, computed = meta["asked"], meta.get("computed")
    way = meta.get("not_computed", "") if computed is None else f"{capital(computed)}."
    moves = f"margins within {how['tolerance']:.2g} were asked again and decide nothing" if how["tolerance"] else "none"
    notes = " ".join(visible(note) for note in (*how["notes"], way) if note)
    return [
        ("What may change", may_change),
        (
            "What is not covered",
            "Words beyond these sets, words added, moved or typed differently, and whether the label is right. What is "
            f"said is about the program {quoted(how['name'])} as it was run. {notes}".strip(),
        ),
        ("Tolerance", f"A tie counts against the label. The program's numbers were seen to move: {moves}."),
        ("What was checked", f"{checked} `suffice check` runs the texts again."),
    ]


def evidence(result: Explanation) -> str:
    """What stands behind the answer, in one sentence."""
    if "rejected" in result.meta:
        return f"The certificate was REJECTED by the checker ({result.meta['rejected']}), so nothing is claimed."
    if "unchecked" in result.meta:
        return f"There was no time left to check the certificate ({result.meta['unchecked']}), so nothing is claimed."
    if result.certificate is None and result.meta.get("checked"):
        return "The independent checker accepted the certificate when the answer was made; it is kept elsewhere."
    if result.certificate is None and result.status == "unknown":
        return "There is no certificate, because nothing is claimed."
    if result.certificate is None and result.tied is not None:
        return "There is no certificate: the text as it stands, run again, shows it."
    if result.certificate is None:
        return "There is no certificate for this answer: it rests on the word of the solver or method that was chosen."
    only = result.status == "optimal" and result.meta.get("checked") and least_by(result) != "proved"
    rest = " It covers that the words suffice; that nothing is cheaper rests on the method alone." if only else ""
    return f"{certified(result.certificate, result.meta)}{rest}"


def certified(certificate: Certificate | None, meta: Mapping[str, Any]) -> str:
    """The size of a certificate, and what the checker said of it."""
    if certificate is None:
        return "There is no certificate, and nothing is called proved."
    checked = "accepted by the independent checker" if meta.get("checked") else "not checked yet"
    count = len(certificate.lines)
    lines = "1 line" if count == 1 else f"{count} lines"
    return f"Certificate: {lines}, {len(certificate.data) / 1000:.1f} KB, {checked}."


def notes(text: Text) -> list[str]:
    """What the user should know about how the classifier saw the text."""
    found = []
    if text.shared:
        several = [f"{in_quotes([text.words[i].text])} as {_read_as(text, i)}" for i in _first_of_several(text)]
        found.append(f"Read as several words: {visible(', '.join(dict.fromkeys(several)))}.")
    if text.unknown:
        words = in_quotes(dict.fromkeys(visible(text.words[i].text) for i in text.unknown))
        found.append(f"Not in the vocabulary, seen as unknown: {words}.")
    if text.cut:
        more = f" and {len(text.cut) - CUT} more words" if len(text.cut) > CUT else ""
        found.append(f"Cut off, not seen at all: {quoted(' '.join(text.cut[:CUT]))}{more}.")
    return found


def _first_of_several(text: Text) -> list[int]:
    return sorted({text.owner(position) for position in text.shared})


def _read_as(text: Text, first: int) -> str:
    """The words that some characters are read as."""
    return in_quotes(text.tokens[i] for i in range(first, len(text.words)) if text.owner(i) == first)


def about_substitutes(meta: Mapping[str, Any]) -> list[str]:
    """Substitutes that the classifier does not know."""
    strange = meta.get("unknown_substitutes", ())
    more = f" and {len(strange) - LISTED} more" if len(strange) > LISTED else ""
    names = visible(", ".join(strange[:LISTED]))
    return [f"Substitutes not in the vocabulary, read as unknown words: {names}{more}."] if strange else []


# --- doing it again ---


def commands(model: str = "MODEL") -> tuple[str, str]:
    """The command that asks the saved question again and saves the certificate, and the one that re-checks it."""
    name = shlex.quote(model)
    return (
        f"suffice explain --question question.json --model {name} --certificate answer.cert",
        f"suffice check answer.cert --model {name} --question question.json",
    )
