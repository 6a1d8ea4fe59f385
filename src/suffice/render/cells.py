"""Cells: the answers of the other verbs as fragments for a notebook, in the style of
the reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from suffice.corpus.findings import Audit, verdict
from suffice.model.numbers import exactly
from suffice.model.text import Text
from suffice.render import phrases, verdicts
from suffice.render.audit import BADGES
from suffice.render.html import REPORT, pill, say
from suffice.render.style import sheet, themed
from suffice.verbs.attribute import Attribution
from suffice.verbs.bias import Bias
from suffice.verbs.contrast import Contrast
from suffice.verbs.explanation import Explanation
from suffice.verbs.profile import Profile
from suffice.verbs.repair import Repair
from suffice.verbs.wording import placed
from suffice.verify.contract import Witness

WORST = 10  # texts shown of an audit
GROWS = {"eps": "radius", "at_most": "changes at once"}  # what a table calls what grows


def bias(result: Bias) -> str:
    """The protected words marked, what they became in the witness, and the verdict."""
    shown = text(result.text, result.positions, changes(result.witness))
    return _cell(shown, _badge(verdicts.bias_badge(result)), _line(result))


def contrast(result: Contrast) -> str:
    """The words that change, and what they become."""
    shown = text(result.text, result.positions, changes(result.flip))
    return _cell(shown, _badge(verdicts.flip_badge(result)), _line(result))


def repair(result: Repair) -> str:
    """The words that are enough, those that were given and those that had to be added."""
    return _cell(
        text(result.text, result.positions, {}),
        _badge(phrases.badge(result.explanation)),
        _line(result),
    )


def _badge(badge: tuple[str, str, str]) -> str:
    return f"<p>{pill(*badge)}</p>"


def changes(witness: Witness | None) -> dict[int, str]:
    return {} if witness is None else dict(zip(witness.positions, witness.words, strict=True))


def held(one: Explanation) -> str:
    """The words of one step of a profile; where nothing was shown, the whole text is no
    explanation.
    """
    if one.status == "unknown":
        return "none shown"
    return "no set" if one.status == "infeasible" else placed(one.text, one.words) or "none"


def profile(result: Profile) -> str:
    """A row per size, and from where on something is needed."""
    rows = [
        (
            exactly(step),
            exactly(one.cost),
            phrases.badge(one)[2].partition(", and")[0],
            held(one),
        )
        for step, one in zip(result.steps, result.explanations, strict=True)
    ]
    heads = (GROWS.get(result.parameter, result.parameter), "cost", "status", "words")
    return _cell(
        text(result.text, result.explanations[-1].positions, {}), table(heads, rows), _line(result)
    )


def attribution(result: Attribution) -> str:
    """The share of explanations with each word."""
    ranked = sorted(result.shares, key=lambda item: (-item.count, item.word.position))
    held = [(placed(result.text, [item.word]), item) for item in ranked if item.count]
    rows = [(name, f"{item.share:.0%}", f"{item.count}") for name, item in held]
    marked = tuple(word.position for word in result.necessary)
    shares = table(("word", "share", "explanations"), rows) if rows else ""
    return _cell(text(result.text, marked, {}), shares, _line(result))


def audit(result: Audit) -> str:
    """The counts, and the worst texts."""
    rates = [
        (rate.name, str(rate), rate.independent, rate.unknown)
        for rate in (result.overall, *result.by_label)
    ]
    worst = [
        (line.get("row", ""), BADGES[verdict(line)][2], line.get("text", ""))
        for line in result.lines[:WORST]
    ]
    return _cell(
        _line(result),
        table(("", "dependent", "independent", "undecided"), rates),
        table(("row", "verdict", "text"), worst),
    )


def _cell(*parts: str) -> str:
    return (
        f'<style>{sheet(themed(), REPORT)}</style><section class="suffice '
        f'cell">{"".join(parts)}</section>'
    )


def _line(result: object) -> str:
    return f"<p>{say(result)}</p>"


def text(shown: Text, positions: tuple[int, ...], new: Mapping[int, str]) -> str:
    """The text with words marked, and with what they become after them."""
    parts = (_piece(piece, new) for piece in phrases.pieces(shown, positions))
    return f'<p class="reading" dir="auto">{"".join(parts)}</p>'


def _piece(piece: phrases.Piece, new: Mapping[int, str]) -> str:
    shown = say(piece.text)
    if piece.position is not None and piece.position in new:
        became = new[piece.position]
        return f"<del>{shown}</del>" + (f" <ins>{say(became)}</ins>" if became else "")
    tag = {"needed": "mark", "cut": "s"}.get(piece.role)
    return f"<{tag}>{shown}</{tag}>" if tag else shown


def _told(head: str, cell: object) -> str:
    """A cell that also says what it is, for narrow pages that have no head."""
    return f'<td data-head="{say(head)}"><bdi>{say(cell)}</bdi></td>'


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{say(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(map(_told, heads, row))}</tr>" for row in rows)
    return (
        "<div "
        f'class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )
