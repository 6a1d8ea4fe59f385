"""HTML: an explanation as one self-contained page, or as a fragment for a notebook. No script, no
network.

Everything that comes from a text or a model passes through `say`, which neutralises control
characters and escapes.
"""

from __future__ import annotations

import hashlib
import json
from html import escape
from urllib.parse import quote

from suffice.model.numbers import exactly
from suffice.render import details, guarantee, phrases
from suffice.render.style import sheet, themed
from suffice.verbs.details import Alone, Detail
from suffice.verbs.explanation import Explanation

REPORT = """
body.suffice { margin: 0; }
.suffice.report, .suffice.cell { overflow-wrap: anywhere; }
.suffice.report table, .suffice.cell table { overflow-wrap: break-word; }
.suffice.report { padding: 4rem 1.5rem 6rem; }
.suffice.report main { max-width: 50rem; margin: 0 auto; display: grid; gap: 2.5rem;
  grid-template-columns: minmax(0, 1fr); }
.suffice.report h1 { font-size: clamp(1.6rem, 1.1rem + 2vw, 2.35rem); margin: .5rem 0 1rem; text-wrap: balance; }
.suffice.report h2 { font-size: 1.15rem; margin-bottom: 1rem; }
.suffice .lead { font-size: 1.1rem; margin-top: 1rem; }
.suffice .became { margin-top: .75rem; }
.suffice .inspect { position: relative; padding-bottom: 10rem; }
.suffice .word { cursor: help; border-radius: .22em; }
.suffice .word:hover, .suffice .word:focus { background: var(--wash); }
.suffice .hint, .suffice .tip { position: absolute; inset-inline: 0; top: calc(100% - 9rem); padding-top: 1.1rem;
  border-top: 1px solid var(--line); font: .95rem/1.6 var(--sans); }
.suffice .hint { color: var(--soft); }
.suffice .tip { display: none; white-space: normal; background: var(--card); min-height: 9rem; z-index: 1;
  padding-bottom: .9rem; border-bottom: 1px solid var(--line); }
.suffice .tip > span { display: block; }
.suffice .word:hover + .tip { display: block; z-index: 2; }
.suffice .word:focus + .tip { display: block; }
.suffice dl.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 1.5rem;
  margin: 0; }
.suffice dl.facts dd { margin: .15rem 0 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
.suffice dl.scope { display: grid; grid-template-columns: 11rem 1fr; gap: .9rem 1.5rem; margin: 0; }
.suffice dl.scope dt { font-weight: 600; }
.suffice dl.scope dd { margin: 0; }
.suffice ul.whys { margin: 0; padding-inline-start: 1.2rem; display: grid; gap: .35rem; overflow-wrap: anywhere; }
.suffice ul.whys + p { margin-top: .75rem; }
.suffice .alone { display: grid; gap: .2rem; }
.suffice .alone div { display: grid; grid-template-columns: minmax(0, 8rem) 1fr 1fr; align-items: center; }
.suffice .alone .name { font-family: var(--serif); overflow-wrap: anywhere; padding-inline-end: .5rem; }
.suffice .alone .fall, .suffice .alone .rise { display: flex; align-items: center; gap: .4rem; min-width: 0;
  min-height: 1.4rem; }
.suffice .alone .fall { flex-direction: row-reverse; border-right: 1px solid var(--soft); }
.suffice .alone i { height: .7rem; flex: 0 1 auto; border-radius: .15rem; background: var(--accent);
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.suffice .alone .rise i { background: none; box-shadow: inset 0 0 0 1px var(--accent); }
.suffice .alone + p { margin-top: .75rem; }
.suffice .alone .size { font-size: .8125rem; color: var(--soft); flex: none;
  font-variant-numeric: tabular-nums; }
.suffice .alone .heads { color: var(--soft); font-size: .8125rem; }
.suffice .alone .heads span { padding: 0 .4rem; } .suffice .alone .heads span:nth-child(2) { text-align: end; }
.suffice .scroll { overflow-x: auto; }
.suffice .steps { display: grid; gap: .75rem; grid-template-columns: minmax(0, 1fr); overflow-wrap: anywhere; }
.suffice footer { font-size: .8125rem; color: var(--soft); overflow-wrap: anywhere; }
.suffice.cell { border: 1px solid var(--line); border-radius: 1rem; background: var(--card); padding: 1.25rem 1.5rem;
  max-width: 50rem; display: grid; gap: .75rem; }
.suffice.cell .reading { font-size: 1.25rem; }
.suffice.cell .inspect { padding-bottom: 3.5rem; }
.suffice.cell .hint, .suffice.cell .tip { top: calc(100% - 3rem); padding-top: .6rem; }
@media (max-width: 40rem) {
  .suffice.report { padding: 2rem 1rem 4rem; }
  .suffice .alone div { grid-template-columns: minmax(0, 5.5rem) 1fr 1fr; }
  .suffice .card { padding: 1.25rem; }
  .suffice .reading { font-size: 1.2rem; }
  .suffice.report thead { display: none; }
  .suffice.report tr { display: block; padding: .75rem 0; border-bottom: 1px solid var(--line); }
  .suffice.report td { display: block; padding: .1rem 0; border: 0; }
  .suffice.report td:empty { display: none; }
  .suffice.report td.number { text-align: left; }
  .suffice.report .words td:nth-child(-n+2) { display: inline-block; margin-inline-end: .75rem; color: var(--soft); }
  .suffice.report .words td:first-child { color: inherit; font-weight: 600; }
  .suffice.report td[data-head]:not([data-head=""])::before { content: attr(data-head) ": "; color: var(--soft); }
  .suffice.cell table { overflow-wrap: anywhere; font-size: .8125rem; }
  .suffice.cell .inspect { padding-bottom: 4.75rem; }
  .suffice.cell .hint, .suffice.cell .tip { top: calc(100% - 4.25rem); }
  .suffice dl.scope { grid-template-columns: 1fr; gap: .2rem; }
  .suffice dl.scope dd { margin-bottom: .9rem; }
  .suffice .inspect { padding-bottom: 15rem; }
  .suffice .hint, .suffice .tip { top: calc(100% - 14rem); }
}
@media print {
  .suffice.report { padding: 0; }
  .suffice .inspect { padding-bottom: 0; }
  .suffice .hint, .suffice .tip, .suffice .word:focus + .tip { display: none; }
}
"""


def say(words: object) -> str:
    """Anything as harmless HTML text."""
    return escape(phrases.visible(str(words)))


def document(title: str, body: str, *styles: str, script: str = "") -> str:
    """A self-contained page in the house's style; `script` is the report's own code, never data."""
    code = f"<script>{script}</script>" if script else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" '
        'content="no-referrer">'
        f"<title>{say(title)}</title><style>{sheet(REPORT, *styles)}</style></head>"
        f'<body class="suffice report"><main>{body}</main>{code}</body></html>\n'
    )


def pill(tone: str, sign: str, words: str) -> str:
    """A badge: colour, sign and words say the same."""
    return f'<span class="badge {tone}"><span aria-hidden="true">{sign}</span> {say(words)}</span>'


def page(result: Explanation) -> str:
    """The whole report."""
    parts = [
        _header(result),
        _text_card(result),
        _facts(result),
        _scope(result),
        _alone(result),
        _words(result),
    ]
    body = "".join([*parts, _again(result), _footer(result)])
    return document(f"{phrases.headline(result)}: {result.label}", body)


def fragment(result: Explanation) -> str:
    """The marked text and what was proved, for a notebook cell."""
    small = f"{guarantee.allowed_in(result.meta, result.text)} {guarantee.evidence(result)}"
    return (
        f'<style>{sheet(themed(), REPORT)}</style><section class="suffice cell">'
        f"<p><strong>{say(result.label)}</strong> <span "
        f'class="soft">{say(phrases.headline(result))}</span></p>'
        f"{_inspector(result)}<p>{pill(*phrases.badge(result))}</p><p>{say(phrases.meaning(result))}</p>{_whys(result)}"
        f'<p class="soft small">{say(small)}</p>{_notes(result)}</section>'
    )


# --- the sections ---


def _header(result: Explanation) -> str:
    return (
        f'<header><p class="eyebrow">Which words decide the label {say(result.label)}</p>'
        f"<h1>{say(phrases.headline(result))}</h1>{pill(*phrases.badge(result))}"
        f'<p class="lead">{say(phrases.meaning(result))}</p>{_witness(result)}</header>'
    )


def _witness(result: Explanation) -> str:
    if result.witness is None:
        return ""
    return f'<p class="lead">Witness: {say(details.witness(result.text, result.witness))}.</p>'


def _whys(result: Explanation) -> str:
    """Why each word is in the set, the equally cheap sets, and the next question where the answer
    says little.
    """
    lines = "".join(f"<li>{say(line)}</li>" for line in details.whys(result))
    equal, (seen, command) = phrases.equals(result), phrases.next_question(result)
    return (
        (f'<ul class="whys">{lines}</ul>' if lines else "")
        + (f"<p>{say(equal)}</p>" if equal else "")
        + (f"<p>{say(seen)}</p>" if seen else "")
        + (f"<pre>{say(command)}</pre>" if command else "")
    )


def _text_card(result: Explanation) -> str:
    parts = (_inspector(result), _whys(result), _notes(result))
    return f'<section class="card" aria-label="The text">{"".join(parts)}</section>'


def _notes(result: Explanation) -> str:
    notes = (*guarantee.notes(result.text), *guarantee.about_substitutes(result.meta))
    return "".join(f'<p class="soft small">{say(note)}</p>' for note in notes)


def _facts(result: Explanation) -> str:
    pairs = [
        ("Label", result.label),
        ("Words in the set", f"{len(result.positions)} of {len(result.text.words)}"),
        ("Cost", exactly(result.cost)),
        ("Lower bound", exactly(result.lower_bound)),
        ("Time", f"{result.stats.get('seconds', 0.0):.2f} s"),
    ]
    if result.status == "infeasible":
        pairs = [pairs[0], pairs[-1]]
    items = "".join(
        f'<div><dt class="eyebrow">{say(a)}</dt><dd>{say(b)}</dd></div>' for a, b in pairs
    )
    return f'<dl class="facts">{items}</dl>'


def _scope(result: Explanation) -> str:
    items = "".join(f"<dt>{say(a)}</dt><dd>{say(b)}</dd>" for a, b in guarantee.scope(result))
    return (
        '<section class="card"><h2>What is guaranteed, and what is not</h2><dl '
        f'class="scope">{items}</dl></section>'
    )


def _words(result: Explanation) -> str:
    """Every word in a table: the same as on hover, for print and for readers that do not hover."""
    details = _details(result)
    rows = "".join(_row(result, details[i]) for i in range(len(result.text.words)))
    head = (
        "<tr><th>Word</th><th>Standing</th><th>What it may become</th><th>Why it is in the "
        "set</th></tr>"
    )
    table = (
        '<div class="scroll"><table '
        f'class="words"><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    )
    return f'<section class="card"><h2>Word by word</h2>{table}</section>'


def _alone(result: Explanation) -> str:
    """What each word can do alone, as bars: to the left where the margin falls, to the right where
    it rises.
    """
    known = [(detail, one) for detail in result.details if (one := detail.alone) is not None]
    widest = max((max(one.fall, one.rise or 0.0) for _, one in known), default=0.0)
    if widest <= 0:
        return ""
    rows = "".join(_strength(result, detail, one, widest) for detail, one in known)
    exact = all(one.exact for _, one in known)
    rise = "or rise by" if exact else ""
    heads = (
        '<div class="heads"><span></span><span>the margin can fall '
        f"by</span><span>{rise}</span></div>"
    )
    return (
        '<section class="card"><h2>What each word can do alone</h2>'
        f'<div class="alone">{heads}{rows}</div><p class="soft '
        f'small">{say(details.strengths(known[0][1], exact))}</p>'
        "</section>"
    )


def _strength(result: Explanation, detail: Detail, one: Alone, widest: float) -> str:
    words = result.text.words
    name = (
        phrases.visible(words[detail.position].text) if detail.position < len(words) else "padding"
    )
    bars = "".join(
        f'<span class="{kind}"><i style="width:{100 * size / widest:.1f}%"></i>'
        f'<span class="size">{details.outward(size) if size > 0 else ""}</span></span>'
        for kind, size in (("fall", one.fall), ("rise", one.rise or 0.0))
    )
    return (
        f'<div title="{say(details.strength(one))}"><bdi class="name">{say(name)}</bdi>{bars}</div>'
    )


def _details(result: Explanation) -> dict[int, Detail]:
    """What is known about each word; where nothing was looked up (an answer read from JSON), just
    that.
    """
    plain = {i: Detail(i) for i in range(len(result.text.words))}
    return plain | {detail.position: detail for detail in result.details}


def _row(result: Explanation, detail: Detail) -> str:
    word = say(result.text.words[detail.position].text)
    said = details.about(result, detail)
    shown = f"<mark>{word}</mark>" if detail.position in result.positions else word
    standing = said["standing"].partition(":")[0]
    options = said["options"] if result.details else ""
    cells = "".join(f"<td>{say(cell)}</td>" for cell in (standing, options, said["reason"]))
    return f"<tr><td><bdi>{shown}</bdi></td>{cells}</tr>"


def _again(result: Explanation) -> str:
    ask, check = phrases.commands()
    which = f"MODEL is the classifier with digest {result.meta.get('model', 'unknown')}."
    proof = (
        ""
        if result.certificate is None
        else f" The certificate's SHA-256 is {result.certificate.digest}."
    )
    return (
        '<section class="card"><h2>Check it yourself</h2><div class="steps">'
        f"<p>Save {_question(result)}, ask exactly it again and keep the proof, then have "
        "that checked by a separate "
        f"program that shares no code with the prover:</p><pre>{say(ask)}\n{say(check)}</pre>"
        f'<p class="soft small">{say(which + proof)}</p></div></section>'
    )


def _question(result: Explanation) -> str:
    """The question as a file to save: everything that was asked, so that nothing is lost on a
    command line.
    """
    data = quote(json.dumps(result.question, ensure_ascii=False, indent=2), safe="")
    return (
        '<a download="question.json" '
        f'href="data:application/json;charset=utf-8,{data}">question.json</a>'
    )


def _footer(result: Explanation) -> str:
    meta = result.meta
    versions = ", ".join(f"{name} {version}" for name, version in meta.get("versions", {}).items())
    settings = ", ".join(
        f"{key} {meta[key]}" for key in ("method", "oracle", "seed", "padding") if key in meta
    )
    return f"<footer>Made by {say(versions or 'suffice')}. {say(settings)}.</footer>"


# --- the text with its words ---


def _inspector(result: Explanation) -> str:
    """The text; each word shows what is known about it when pointed at or focused, in a place that
    stays put.
    """
    details = _details(result)
    name = _name(result)
    text = "".join(
        _piece(result, piece, details, name)
        for piece in phrases.pieces(result.text, result.positions)
    )
    hint = "Point at a word, or move with the Tab key, to see what is known about it."
    return (
        f'<div class="inspect"><p class="reading" dir="auto">{text}</p><p '
        f'class="hint">{hint}</p></div>'
    )


def _name(result: Explanation) -> str:
    """A prefix for ids, so that several fragments can share a page."""
    key = (
        f"{result.text.source}|{result.positions}|{result.status}|{result.meta.get('perturbation')}"
    )
    return "w" + hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:8]


def _piece(result: Explanation, piece: phrases.Piece, details: dict[int, Detail], name: str) -> str:
    text = escape(piece.text)
    if piece.position is None:
        space = text[: len(text) - len(text.lstrip())]
        return f"{space}<s>{text.lstrip()}</s>" if piece.role == "cut" else text
    tag = "mark" if piece.role == "needed" else "span"
    css = "word unknown" if piece.unknown else "word"
    tip = _tip(result, piece, details[piece.position])
    key = f"{name}-{piece.position}"
    return (
        f'<{tag} class="{css}" tabindex="0" aria-describedby="{key}">{text}</{tag}>'
        f'<span class="tip" id="{key}" role="tooltip">{tip}</span>'
    )


def _tip(result: Explanation, piece: phrases.Piece, detail: Detail) -> str:
    said = details.about(result, detail)
    head = (
        f"<span><strong><bdi>{escape(piece.text)}</bdi></strong> is {say(said['standing'])}</span>"
    )
    lines = [said["options"] if result.details else "", said["reason"]]
    return head + "".join(
        f"<span>{say(line[0].upper() + line[1:])}</span>" for line in lines if line
    )
