"""Reports of contrast, bias and profile: one self-contained page each, without script or network,
like explain's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from suffice.model.numbers import exactly
from suffice.model.text import Text
from suffice.proof.certificate import Certificate
from suffice.render import growth, guarantee, phrases, verdicts
from suffice.render.cells import GROWS, changes, held, table, text
from suffice.render.html import document, pill, say
from suffice.verbs.bias import Bias
from suffice.verbs.contrast import Contrast
from suffice.verbs.profile import Profile
from suffice.verbs.question import FORMAT, KEYS, LIMITS
from suffice.verbs.wording import ends
from suffice.verify.contract import Witness

Pairs = Sequence[tuple[str, str]]


def contrast(result: Contrast) -> str:
    """The words whose change flips the label, and what they become."""
    pairs = [
        ("Label", result.label),
        ("Words that change", str(len(result.positions))),
        *_cost(result),
    ]
    shown = _text(
        text(result.text, result.positions, changes(result.flip)),
        _rewritten(result.flip),
        result.text,
    )
    heading = verdicts.flip_headline(result)
    head = _head("The cheapest flip", heading, verdicts.flip_badge(result), verdicts.turned(result))
    asked = _again("contrast", _question(result.text, result.meta), result.certificate, result.meta)
    return _page(
        heading,
        head,
        shown,
        _facts(pairs, result.stats),
        _scope(result.certificate, result.meta),
        asked,
    )


def bias(result: Bias) -> str:
    """Whether the label depends on the protected words, and the change that shows it."""
    pairs = [("Label", result.label), ("Protected words", str(len(result.positions)))]
    shown = _text(
        text(result.text, result.positions, changes(result.witness)),
        _rewritten(result.witness),
        result.text,
    )
    heading = verdicts.bias_headline(result)
    head = _head("Protected words", heading, verdicts.bias_badge(result), result.sentence())
    asked = _again("bias", _question(result.text, result.meta), result.certificate, result.meta)
    return _page(
        heading,
        head,
        shown,
        _facts(pairs, result.stats),
        _scope(result.certificate, result.meta),
        asked,
    )


def profile(result: Profile) -> str:
    """The cost at each size as steps, and the words of each size."""
    last = result.explanations[-1]
    heading = verdicts.growth_headline(result)
    head = _head("Growth", heading, verdicts.growth_badge(result), result.sentence())
    drawn = f'<p class="eyebrow">{say(growth.caption(result))}</p>{growth.chart(result)}'
    drawn += f'<p class="soft small">{say(growth.legend(result))}</p>'
    rows = [
        (exactly(step), exactly(one.cost), phrases.badge(one)[2], held(one))
        for step, one in zip(result.steps, result.explanations, strict=True)
    ]
    sizes = table((GROWS.get(result.parameter, result.parameter), "cost", "status", "words"), rows)
    return _page(
        heading,
        head,
        f'<section class="card">{drawn}</section>',
        _text(text(result.text, last.positions, {}), "", result.text),
        f'<section class="card"><h2>Size by size</h2>{sizes}</section>',
        _facts([("Label", result.label), ("Sizes asked", str(len(result.steps)))], result.stats),
        _scope(
            last.certificate,
            last.meta,
            f"What is guaranteed at {result.named(result.steps[-1])}, and what is not",
        ),
    )


def _page(title: str, *parts: str) -> str:
    return document(title, "".join(parts), growth.STYLE)


# --- the sections ---


def _head(about: str, heading: str, badge: tuple[str, str, str], meaning: str) -> str:
    return (
        f'<header><p class="eyebrow">{say(about)}</p><h1>{say(heading)}</h1>{pill(*badge)}'
        f'<p class="lead">{say(meaning)}</p></header>'
    )


def _text(marked: str, rewritten: str, read: Text) -> str:
    notes = "".join(f'<p class="soft small">{say(note)}</p>' for note in guarantee.notes(read))
    return f'<section class="card" aria-label="The text">{marked}{rewritten}{notes}</section>'


def _rewritten(flip: Witness | None) -> str:
    """The text so changed, where the classifier was run on it and does not keep the label."""
    if flip is None or flip.text is None:
        return ""
    how = (
        "The classifier was run on it"
        if flip.real
        else "By the nearest words, as an illustration; it was run on it"
    )
    label = say(ends(flip.label, flip.margin))
    return f'<p class="became"><bdi>{say(phrases.quoted(flip.text))}</bdi> → {label}. {how}.</p>'


def _cost(result: Contrast) -> Pairs:
    if result.flip is None:
        return []
    return [("Cost", exactly(result.cost)), ("Lower bound", exactly(result.lower_bound))]


def _facts(pairs: Pairs, stats: Mapping[str, Any]) -> str:
    timed = [*pairs, ("Time", f"{stats.get('seconds', 0.0):.2f} s")]
    items = "".join(
        f'<div><dt class="eyebrow">{say(a)}</dt><dd>{say(b)}</dd></div>' for a, b in timed
    )
    return f'<dl class="facts">{items}</dl>'


def _scope(
    certificate: Certificate | None,
    meta: Mapping[str, Any],
    title: str = "What is guaranteed, and what is not",
) -> str:
    pairs = guarantee.scope_of(meta, guarantee.certified(certificate, meta))
    items = "".join(f"<dt>{say(a)}</dt><dd>{say(b)}</dd>" for a, b in pairs)
    return f'<section class="card"><h2>{say(title)}</h2><dl class="scope">{items}</dl></section>'


# --- asking again ---


def _question(read: Text, meta: Mapping[str, Any]) -> str:
    """The question as a file to save."""
    kept = {name: meta[name] for name in ("model", *KEYS, *LIMITS, "towards") if name in meta}
    data = json.dumps(
        {"format": FORMAT, "text": meta.get("words", read.source), **kept},
        ensure_ascii=False,
        indent=2,
    )
    coded = quote(data, safe="")
    return (
        '<a download="question.json" '
        f'href="data:application/json;charset=utf-8,{coded}">question.json</a>'
    )


def _again(verb: str, saved: str, certificate: Certificate | None, meta: Mapping[str, Any]) -> str:
    which = f"MODEL is the classifier with digest {meta.get('model', 'unknown')}."
    proof = "" if certificate is None else f" The certificate's SHA-256 is {certificate.digest}."
    ask = f"suffice {verb} --question question.json --model MODEL"
    check = (
        ""
        if certificate is None
        else " --certificate answer.cert\nsuffice check answer.cert --model MODEL"
    )
    then = (
        ""
        if certificate is None
        else " and keep the proof, then have that checked by a separate program"
    )
    return (
        '<section class="card"><h2>Check it yourself</h2><div class="steps">'
        f"<p>Save {saved}, ask exactly it again{then}:</p>"
        f'<pre>{say(ask)}{say(check)}</pre><p class="soft '
        f'small">{say(which + proof)}</p></div></section>'
    )
