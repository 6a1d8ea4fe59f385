"""Style: the colours and type that every report and the page share, in a light and a dark palette.

Everything is scoped to `.suffice`, so that a fragment can stand in a notebook without disturbing
it. Meaning never rests on colour alone: needed words are bold and underlined too, badges carry a
word and a sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Palette: TypeAlias = Mapping[str, str]

LIGHT: Palette = {
    "paper": "#faf8f4",
    "card": "#ffffff",
    "sunk": "#f2efe8",
    "line": "#e3dfd5",
    "ink": "#1c2330",
    "soft": "#555f6e",
    "accent": "#2a4fa8",
    "wash": "#e6edfb",
    "good": "#1a6a45",
    "good-wash": "#e4f3ea",
    "warn": "#825100",
    "warn-wash": "#fbf0d9",
    "bad": "#a1272f",
    "bad-wash": "#fbe7e6",
    "test": "#6b3a91",
    "test-wash": "#f1e8f8",
}
DARK: Palette = {
    "paper": "#11141a",
    "card": "#181c24",
    "sunk": "#20252f",
    "line": "#303744",
    "ink": "#e9ebef",
    "soft": "#a7b0bd",
    "accent": "#a3bfff",
    "wash": "#22345c",
    "good": "#83d5a8",
    "good-wash": "#17362a",
    "warn": "#ecc06a",
    "warn-wash": "#3a2d12",
    "bad": "#f6a3a2",
    "bad-wash": "#43201f",
    "test": "#d2b0f0",
    "test-wash": "#35214a",
}
# Every pair of text on ground that is used; tests hold each to a contrast of at least 4.5.
PAIRS = [
    *((text, ground) for text in ("ink", "soft", "accent") for ground in ("paper", "card", "sunk")),
    *((text, "wash") for text in ("ink", "accent")),
    *((f"{tone}", f"{tone}-wash") for tone in ("good", "warn", "bad", "test")),
    *((tone, ground) for tone in ("good", "warn", "bad", "test") for ground in ("paper", "card")),
    ("card", "accent"),
]

SANS = 'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif'
SERIF = '"Iowan Old Style", Charter, "Noto Serif", Georgia, Cambria, serif'
MONO = 'ui-monospace, "SF Mono", Menlo, Consolas, "Noto Sans Mono", monospace'

BASE = """
.suffice, .suffice * { box-sizing: border-box; }
.suffice { font: 1rem/1.6 var(--sans); color: var(--ink); background: var(--paper); -webkit-text-size-adjust: 100%; }
.suffice h1, .suffice h2, .suffice h3 { line-height: 1.25; margin: 0; font-weight: 650; letter-spacing: -.01em; }
.suffice p { margin: 0; }
.suffice a { color: var(--accent); text-underline-offset: .15em; }
.suffice code, .suffice pre { font-family: var(--mono); font-size: .88em; }
.suffice pre { background: var(--sunk); border-radius: .5rem; padding: .75rem 1rem; margin: 0; overflow-x: auto; }
.suffice pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.suffice .soft { color: var(--soft); }
.suffice .small { font-size: .875rem; }
.suffice .eyebrow { font-size: .75rem; letter-spacing: .09em; text-transform: uppercase; color: var(--soft);
  font-weight: 600; }
.suffice .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.suffice .card { background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: 1.75rem 2rem; }
.suffice .reading { font: 1.45rem/1.85 var(--serif); white-space: pre-wrap; overflow-wrap: anywhere; }
.suffice mark { background: var(--wash); color: var(--ink); font-weight: 700; padding: .08em .18em;
  border-radius: .22em; box-shadow: inset 0 -.13em var(--accent); }
.suffice s { color: var(--soft); text-decoration-thickness: 1px; }
.suffice del { color: var(--bad); background: var(--bad-wash); border-radius: .22em; padding: .08em .18em;
  text-decoration-thickness: 1px; }
.suffice ins { color: var(--good); background: var(--good-wash); border-radius: .22em; padding: .08em .18em;
  font-weight: 700; text-decoration: none; box-shadow: inset 0 -.13em var(--good); }
.suffice .unknown { text-decoration: underline dotted; text-underline-offset: .3em; }
.suffice .badge { display: inline-flex; align-items: center; gap: .4em; padding: .2em .75em; border-radius: 2em;
  font-size: .875rem; font-weight: 600; border: 1px solid currentColor; max-width: 100%; overflow-wrap: anywhere; }
.suffice .badge.good { color: var(--good); background: var(--good-wash); }
.suffice .badge.warn { color: var(--warn); background: var(--warn-wash); }
.suffice .badge.bad { color: var(--bad); background: var(--bad-wash); }
.suffice .badge.plain { color: var(--soft); background: none; border-color: var(--line); font-weight: 500; }
.suffice .badge.test { color: var(--test); background: var(--test-wash); }
.suffice table { border-collapse: collapse; width: 100%; font-size: .9375rem; color: inherit; }
.suffice td .badge { white-space: nowrap; }
.suffice th { text-align: left; font-size: .75rem; letter-spacing: .06em; text-transform: uppercase;
  color: var(--soft); }
.suffice th, .suffice td { padding: .55rem .9rem .55rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.suffice tr:last-child td { border-bottom: 0; }
.suffice td.number, .suffice th.number { text-align: right; font-variant-numeric: tabular-nums; }
.suffice :focus-visible { outline: .16rem solid var(--accent); outline-offset: .15rem; border-radius: .25rem; }
@media print {
  .suffice { background: #fff; font-size: 10.5pt; }
  .suffice .card { border: 0; padding: 0; break-inside: auto; }
  .suffice mark { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  .suffice tr, .suffice h2 { break-inside: avoid; break-after: avoid-page; }
}
@media (prefers-reduced-motion: reduce) { .suffice * { transition: none !important; animation: none !important; } }
"""


def tokens(palette: Palette) -> str:
    """The palette as custom properties."""
    return "".join(f"--{name}:{value};" for name, value in palette.items())


# How notebooks say that they are light or dark: JupyterLab and what it exports, VS Code, Colab.
THEMES = {
    "light": '[data-jp-theme-light="true"],.vscode-light,html[theme="light"]',
    "dark": '[data-jp-theme-light="false"],.vscode-dark,.vscode-high-contrast:not(.vscode-light),html[theme="dark"]',
}


def themed() -> str:
    """A notebook's own theme goes before the system's."""
    rules = "".join(
        f":is({THEMES[name]}) .suffice{{color-scheme:{name};{tokens(palette)}}}\n"
        for name, palette in (("light", LIGHT), ("dark", DARK))
    )
    return f"@media screen{{{rules}}}\n"


def sheet(*more: str) -> str:
    """The whole style sheet: both palettes, the type, the shared pieces, and what a report adds."""
    fonts = f"--sans:{SANS};--serif:{SERIF};--mono:{MONO};"
    return (
        f".suffice{{color-scheme:light dark;{fonts}{tokens(LIGHT)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{.suffice{{{tokens(DARK)}}}}}\n"
        f"{BASE}{''.join(more)}"
    )
