"""Details: what is said of one word: why it is in the set, what it may become, and what it does
alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from suffice.model.text import EMPTY, Text, rewritten, with_gaps
from suffice.render.phrases import Piece, asked, pieces, quoted, visible
from suffice.verbs.details import Alone, Change, Detail
from suffice.verbs.explanation import Explanation, least_by
from suffice.verbs.wording import ends, together, turned_into
from suffice.verbs.wording import named as in_its_place
from suffice.verify.contract import Witness

MOVES = 4  # changes named in a counterexample


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
    return "in this set" + (
        ": other sets are as cheap, some without it" if _shared(result, position) else ""
    )


def _freedom(result: Explanation) -> str:
    if result.status not in ("optimal", "sufficient"):
        return "it is not in the set"
    limit = result.meta.get("perturbation", {}).get("at_most")
    return "any allowed change of it keeps the label" + (
        "" if limit is None else ", within the limit at once"
    )


def _shared(result: Explanation, position: int) -> bool:
    """Whether an equally cheap set does without a word, as far as that has been looked at."""
    known = result.__dict__.get("alternatives")
    return known is not None and any(position not in held for held in known.sets)


def may_become(detail: Detail, meta: Mapping[str, Any]) -> str:
    """The options of one word, by name."""
    perturbation = meta.get("perturbation", {})
    gone = _gone(meta)
    if not detail.options:
        return "" if perturbation.get("kind") in ("epsilon-ball", "boxes") else "cannot change"
    names = ", ".join(visible(option) for option in detail.options if option)
    more = f" and {detail.more} more" if detail.more else ""
    if not names:
        return f"may be {gone}"
    return (
        f"may {f'be {gone}, or ' if '' in detail.options else ''}{_changing(perturbation)}: "
        f"{names}{more}"
    )


def _gone(meta: Mapping[str, Any]) -> str:
    """What becomes of a word in whose place nothing stands."""
    return "blanked" if meta.get("blanks") else "removed"


def _changing(perturbation: Mapping[str, Any]) -> str:
    return "move among" if perturbation.get("kind") in ("knn-box", "knn-hull") else "become"


def counterexample(result: Explanation, position: int, flip: Change) -> str:
    """What happens when a word of the set is free as well: the text itself where the classifier was
    run on it.
    """
    own = named(result.text, position)
    if flip.text is not None and flip.real:
        note = f" ({EMPTY}: blanked, its place stays empty)" if _gaps(result.text, flip) else ""
        return (
            f"Without {own}: {quoted(flip.text)} → {visible(ends(flip.label, flip.margin))}{note}"
        )
    order = sorted(range(len(flip.positions)), key=lambda place: flip.positions[place] != position)
    shown = order[:MOVES] if len(order) > MOVES + 1 else order
    moves = together(move(result.text, flip, place) for place in shown)
    rest = f" and {len(order) - len(shown)} more changes" if len(shown) < len(order) else ""
    reached = quoted(flip.label)
    deed = (
        f"the label could turn {reached}"
        if flip.margin < 0
        else f"{reached} could reach the label (a tie)"
    )
    return f"Were {own} free, {deed}: {moves}{rest}."


def _gaps(text: Text, flip: Change) -> bool:
    """Whether the text of a flip shows the places of words that are blanked."""
    new = dict(zip(flip.positions, flip.words, strict=True))
    return "" in flip.words and flip.text == rewritten(text, with_gaps(new))


def move(text: Text, flip: Change | Witness, place: int) -> tuple[str, str]:
    """One word, and what becomes of it."""
    position = flip.positions[place]
    deed = turned_into(text.tokens[position], flip.words[place], flip.real, flip.blanked)
    return named(text, position), visible(deed)


def named(text: Text, position: int) -> str:
    """A word in quotes, with its position where it stands elsewhere too; a position behind the text
    is padding.
    """
    return visible(in_its_place(text, [position])) if position < len(text.words) else "padding"


def witness(text: Text, found: Witness) -> str:
    """The change that flips the label, word by word, and as a text where the classifier was run on
    it.
    """
    moves = together(move(text, found, place) for place in range(len(found.positions)))
    said = (
        f"{visible(ends(found.label, found.margin))} when {moves or 'nothing changes'} (margin "
        f"{found.margin:.3g})"
    )
    how = "" if found.real else ", an illustration by the nearest words"
    return said if found.text is None else f"{said}{how}: {quoted(found.text)}"


def strength(found: Alone | None) -> str:
    """What a word, changed alone, can do to the margin; figures are rounded away from zero, so that
    each is a bound.
    """
    if found is None:
        return ""
    down = "never lowers" if found.fall <= 0 else f"lowers by at most {outward(found.fall)}"
    margin = f"the margin ({found.margin:.3g})"
    if found.rise is None:
        return (
            f"Changed alone, it {down.replace('lowers', f'lowers {margin}', 1)}: a bound, not the "
            "exact fall."
        )
    up = "never raises it" if found.rise <= 0 else f"raises it by at most {outward(found.rise)}"
    ran = (
        "its one change was run"
        if found.options == 1
        else f"each of its {found.options} changes was run"
    )
    return f"Changed alone, it {down.replace('lowers', f'lowers {margin}', 1)} and {up}: {ran}."


def strengths(found: Alone, exact: bool) -> str:
    """What the bars of all words mean."""
    margin = (
        f"The margin, the label's score minus that of its strongest rival, is {found.margin:.3g}."
    )
    if exact:
        return f"{margin} Exact: every change of the one word was run."
    return (
        f"{margin} Bounds: with the one word free it falls by no more; how far it rises was not "
        "looked for."
    )


def outward(size: float) -> str:
    """A size to three digits, never below the size itself."""
    if size <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(size)) - 2)
    return f"{math.ceil(size / unit) * unit:.3g}"


def reason(result: Explanation, detail: Detail) -> str:
    """Why a word is in the set; nothing for free words and for those that were asked for."""
    if detail.flip is not None and detail.position not in result.meta.get("include", ()):
        said = counterexample(result, detail.position, detail.flip)
        return f"{said.rstrip('.')}. {_swapped(result, detail)}" if detail.swapped else said
    is_asked = detail.position in result.meta.get("include", ())
    if detail.position in result.positions and result.status == "optimal" and not is_asked:
        by = "" if least_by(result) == "proved" else f" {least_by(result)}"
        name = named(result.text, detail.position)
        return (
            f"Without {name}: no example was found, but no cheaper set{asked(result)} is "
            f"enough{by}."
        )
    return ""


def _swapped(result: Explanation, detail: Detail) -> str:
    """That a word is in the set only because of its substitutes."""
    only = f"Only what {named(result.text, detail.position)} may become does that"
    return f"{only}: could it only be {_gone(result.meta)}, the others would be enough (proved)."


def whys(result: Explanation) -> list[str]:
    """A line for each word of the set: why it is there."""
    found = (
        {detail.position: reason(result, detail) for detail in result.details}
        if result.positions
        else {}
    )
    shown = result.words if result.status in ("optimal", "sufficient") else ()
    return [found[word.position] for word in shown if found.get(word.position)]


def about(result: Explanation, detail: Detail) -> dict[str, Any]:
    """Everything that is said of one word."""
    return {
        "position": detail.position,
        "standing": standing(result, detail),
        "needed": detail.needed,
        "options": may_become(detail, result.meta),
        "gone": _gone(result.meta),
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
    """A change that the classifier was run on: as a text where there is one, else by what becomes
    of each word.
    """
    words = dict(zip(flip.positions, flip.words, strict=True))
    words = with_gaps(words) if _gaps(text, flip) else words
    return {
        "label": visible(ends(flip.label, flip.margin)),
        "margin": flip.margin,
        "real": flip.real,
        "text": None if flip.text is None else visible(flip.text),
        "pieces": [
            {"text": piece.text, "became": _became(words, piece)} for piece in pieces(text, ())
        ],
    }


def _became(words: Mapping[int, str], piece: Piece) -> str | None:
    return (
        None
        if piece.position is None or piece.position not in words
        else visible(words[piece.position])
    )
