"""Guarantee: what an answer covers and what not, what was checked, and what a reader should know of
the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suffice.model.text import Text
from suffice.proof.certificate import Certificate
from suffice.render.phrases import capital, quoted, visible
from suffice.sets.table import sentence
from suffice.verbs.explanation import Explanation, least_by
from suffice.verbs.wording import cut_off
from suffice.verbs.wording import quoted as in_quotes

LISTED = 12  # unknown substitutes named


def allowed(perturbation: Mapping[str, Any], which: str = "free word", blanks: bool = False) -> str:
    """What a free word (or one of another role) may become, in one sentence."""
    return visible(sentence(perturbation, blanks).replace("free word", which))


def allowed_in(meta: Mapping[str, Any], text: Text) -> str:
    """What the words that the question is about may become: the free ones, or of a bias the
    protected ones.
    """
    perturbation = dict(meta.get("perturbation", {}))
    guarded = meta.get("protected")
    blanks = bool(meta.get("blanks"))
    if guarded is None:
        return allowed(perturbation, blanks=blanks)
    tokens = {text.tokens[i] for i in guarded}
    swaps = {
        word: others for word, others in perturbation.get("swaps", {}).items() if word in tokens
    }
    return allowed(
        perturbation | ({"swaps": swaps} if "swaps" in perturbation else {}),
        "protected word",
        blanks,
    )


def scope(result: Explanation) -> list[tuple[str, str]]:
    """The guarantee and its limits, as pairs of a heading and a sentence."""
    return scope_of(result.meta, evidence(result))


def scope_of(meta: Mapping[str, Any], checked: str) -> list[tuple[str, str]]:
    """The same for any verb, by what was asked and what was checked."""
    perturbation = meta.get("perturbation", {})
    padding = (
        "Padding may change too."
        if meta.get("padding") == "feature"
        else "Padding after the text stays fixed."
    )
    which = "protected word" if "protected" in meta else "free word"
    at_once = (
        "" if perturbation.get("at_most") is not None else f" All {which}s may change at once."
    )
    may_change = f"{allowed(perturbation, which, bool(meta.get('blanks')))}{at_once}"
    if "asked" in meta:
        return _scope_of_black_box(meta, may_change, checked)
    beaten = _rivals(meta)
    places = " A blanked word leaves its place empty: the words after it do not move up."
    return [
        ("What may change", f"{may_change} {padding}{places if meta.get('blanks') else ''}"),
        (
            "What is not covered",
            "Words beyond these sets, words added, moved or typed differently, how the text "
            "is split into words, and "
            "whether the label is right. What is said is about the network in exact arithmetic.",
        ),
        (
            "Tolerance",
            (
                f"None: the label must beat {beaten}, a tie counts against it, and rounding "
                "errors are accounted for."
            ),
        ),
        ("What was checked", checked),
    ]


def _rivals(meta: Mapping[str, Any]) -> str:
    """Whom the label must beat."""
    return quoted(meta["towards"]) if "towards" in meta else "every other class"


def _scope_of_black_box(
    meta: Mapping[str, Any], may_change: str, checked: str
) -> list[tuple[str, str]]:
    """The same for a classifier that can only be run."""
    how = meta["asked"]
    computed = meta.get("computed")
    way = meta.get("not_computed", "") if computed is None else f"{capital(computed)}."
    moves = (
        f"margins within {how['tolerance']:.2g} were asked again and decide nothing"
        if how["tolerance"]
        else "none"
    )
    notes = " ".join(visible(note) for note in (*how["notes"], way) if note)
    return [
        ("What may change", may_change),
        (
            "What is not covered",
            "Words beyond these sets, words added, moved or typed differently, and whether "
            "the label is right. What is "
            f"said is about the program {quoted(how['name'])} as it was run. {notes}".strip(),
        ),
        (
            "Tolerance",
            f"A tie counts against the label. The program's numbers were seen to move: {moves}.",
        ),
        ("What was checked", f"{checked} `suffice check` runs the texts again."),
    ]


def evidence(result: Explanation) -> str:
    """What stands behind the answer, in one sentence."""
    if "rejected" in result.meta:
        return (
            f"The certificate was REJECTED by the checker ({result.meta['rejected']}), so nothing "
            "is claimed."
        )
    if "unchecked" in result.meta:
        return (
            f"There was no time left to check the certificate ({result.meta['unchecked']}), so "
            "nothing is claimed."
        )
    if result.certificate is None and result.meta.get("checked"):
        return (
            "The independent checker accepted the certificate when the answer was made; it is "
            "kept elsewhere."
        )
    if result.certificate is None and result.status == "unknown":
        return "There is no certificate, because nothing is claimed."
    if result.certificate is None and result.tied is not None:
        return "There is no certificate: the text as it stands, run again, shows it."
    if result.certificate is None:
        return (
            "There is no certificate for this answer: it rests on the word of the solver or "
            "method that was chosen."
        )
    only = (
        result.status == "optimal" and result.meta.get("checked") and least_by(result) != "proved"
    )
    rest = (
        " It covers that the words suffice; that nothing is cheaper rests on the method alone."
        if only
        else ""
    )
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
        several = [
            f"{in_quotes([text.words[i].text])} as {_read_as(text, i)}"
            for i in _first_of_several(text)
        ]
        found.append(f"Read as several words: {visible(', '.join(dict.fromkeys(several)))}.")
    if text.unknown:
        words = visible(in_quotes(dict.fromkeys(text.words[i].text for i in text.unknown)))
        found.append(f"Not in the vocabulary, seen as unknown: {words}.")
    if text.cut:
        found.append(visible(cut_off(text)))
    return found


def _first_of_several(text: Text) -> list[int]:
    return sorted({text.owner(position) for position in text.shared})


def _read_as(text: Text, first: int) -> str:
    """The words that some characters are read as."""
    return in_quotes(
        text.tokens[i] for i in range(first, len(text.words)) if text.owner(i) == first
    )


def about_substitutes(meta: Mapping[str, Any]) -> list[str]:
    """Substitutes that the classifier does not know."""
    strange = meta.get("unknown_substitutes", ())
    more = f" and {len(strange) - LISTED} more" if len(strange) > LISTED else ""
    names = visible(", ".join(strange[:LISTED]))
    return (
        [f"Substitutes not in the vocabulary, read as unknown words: {names}{more}."]
        if strange
        else []
    )
