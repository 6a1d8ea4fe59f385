"""HTML: an explanation as one self-contained page, or as a fragment for a notebook."""

from __future__ import annotations

from html import escape

from suffice.explanation import Explanation
from suffice.render import phrases

STYLE = """
.suffice { font: 1rem/1.6 system-ui, sans-serif; max-width: 46rem; color-scheme: light dark; }
.suffice mark { background: #1d4ed8; color: #fff; padding: .1em .25em; border-radius: .25em; font-weight: 600; }
.suffice .text { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 1.2rem; }
.suffice s { opacity: .6; }
.suffice small { opacity: .75; }
"""


def fragment(result: Explanation) -> str:
    """The marked text and what was proved, for a notebook cell."""
    text = "".join(_piece(piece) for piece in phrases.pieces(result.text, result.positions))
    notes = "".join(f"<p><small>{escape(note)}</small></p>" for note in phrases.notes(result.text))
    return (
        f'<style>{STYLE}</style><section class="suffice"><p><strong>{escape(result.label)}</strong></p>'
        f'<p class="text" dir="auto">{text}</p><p>{escape(phrases.visible(str(result)))}</p>'
        f"<p>{escape(phrases.allowed(result.meta['perturbation']))}</p>"
        f"<p><small>{escape(phrases.evidence(result))}</small></p>{notes}</section>"
    )


def page(result: Explanation) -> str:
    """The fragment as a page of its own."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(result.label)}: the words that suffice</title></head>"
        f"<body>{fragment(result)}</body></html>"
    )


def _piece(piece: phrases.Piece) -> str:
    tag = {"needed": "mark", "cut": "s"}.get(piece.role)
    text = escape(piece.text)
    return f"<{tag}>{text}</{tag}>" if tag else text
