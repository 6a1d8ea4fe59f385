"""The report of an audit: one self-contained page that reads without scripts; a small script sorts
and filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from suffice.corpus.findings import Audit, Comparison, Rate, shown, unchecked, verdict
from suffice.render.html import document, pill, say
from suffice.render.phrases import capital
from suffice.verbs.wording import ends, quoted, together, turned_into

Line = Mapping[str, Any]
BADGES = {
    "dependent": ("bad", "✗", "dependent"),
    "unknown": ("warn", "?", "undecided"),
    "error": ("warn", "!", "error"),
    "independent": ("good", "✓", "independent"),
    "trivial": ("plain", "–", "nothing to prove"),
}
UNCHECKED = ("warn", "◐", "independent, not checked")
STYLE = """
.suffice .audit { display: grid; gap: 1.5rem; }
.suffice .audit .card { display: grid; gap: .9rem; min-width: 0; }
.suffice .counts { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; }
.suffice .wide { overflow-x: auto; }
.suffice .filter { display: none; gap: .5rem; flex-wrap: wrap; }
.suffice .scripted .filter { display: flex; }
.suffice .filter input, .suffice .filter select { font: inherit; padding: .35rem .6rem;
  color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
.suffice .scripted th[data-sort] { cursor: pointer; text-decoration: underline dotted; }
.suffice.report .audit h1, .suffice.report .audit h2 { margin: 0; }
@media (max-width: 40rem) {
  .suffice .audit .wide { overflow: visible; }
  .suffice .audit tr { display: flex; flex-wrap: wrap; gap: .15rem 1rem; }
  .suffice .audit td[data-head=""] { flex: 1 1 100%; font-weight: 650; }
  .suffice .audit td.text, .suffice .audit td:last-child:not(.number) { flex: 1 1 100%; }
  .suffice .filter input, .suffice .filter select { flex: 1 1 8rem; min-width: 0; }
}
.suffice td.text { max-width: 34rem; overflow-wrap: anywhere; white-space: pre-wrap; }
"""
SCRIPT = """
(() => {
  const root = document.querySelector(".audit"), table = document.querySelector("#cases");
  if (!root || !table) return;
  root.classList.add("scripted");
  const body = table.tBodies[0], rows = [...body.rows];
  const word = document.querySelector("#find"), kind = document.querySelector("#kind");
  const filter = () => rows.forEach(row => {
    const fits = row.textContent.toLowerCase().includes(word.value.toLowerCase());
    row.hidden = !fits || (kind.value && row.dataset.kind !== kind.value);
  });
  word.addEventListener("input", filter);
  kind.addEventListener("change", filter);
  table.querySelectorAll("th[data-sort]").forEach((head, place) => {
    let up = false;
    const sort = () => {
      up = !up;
      const cell = row => row.cells[head.cellIndex];
      const value = row => cell(row).dataset.value || cell(row).textContent;
      const order = (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true });
      rows.sort((a, b) => up ? order(a, b) : order(b, a)).forEach(row => body.append(row));
      table.querySelectorAll("th[aria-sort]").forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
    };
    head.tabIndex = 0;
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort();
    });
  });
})();
"""


def page(audit: Audit, title: str, facts: Sequence[tuple[str, str]] = ()) -> str:
    """The whole report; `facts` are lines about the model and the question."""
    parts = [
        _summary(audit, title, facts),
        "" if audit.comparison is None else _comparison(audit.comparison),
        _rates("By label", audit.by_label),
        _rates("By group of protected words", audit.by_group),
        _rates("By protected word, changed alone", audit.by_word, audit.could),
        _cases(audit.lines),
    ]
    return document(title, f'<div class="audit">{"".join(parts)}</div>', STYLE, script=SCRIPT)


def _summary(audit: Audit, title: str, facts: Sequence[tuple[str, str]]) -> str:
    rate = audit.overall
    counts = {"dependent": rate.dependent, "unknown": rate.unknown, "independent": rate.independent}
    counts |= {"trivial": rate.trivial, "error": audit.errors}
    open_ = sum(map(unchecked, audit.lines))
    pills = "".join(_count(kind, count) for kind, count in counts.items())
    pills += pill(UNCHECKED[0], UNCHECKED[1], f"{open_} {UNCHECKED[2]}") if open_ else ""
    lines = "".join(f"<p class='soft small'>{say(name)}: {say(value)}</p>" for name, value in facts)
    return (
        f'<section class="card"><p class="eyebrow">suffice audit</p><h1>{say(title)}</h1>'
        f"<p>{say(_overall(rate))}</p>{_lacking(audit)}"
        f'<p class="counts">{pills}</p><div>{lines}</div></section>'
    )


def _lacking(audit: Audit) -> str:
    """Why this clears no model."""
    return f"<p><strong>{say(capital(audit.lacking))}.</strong></p>" if audit.lacking else ""


def _overall(rate: Rate) -> str:
    return (
        f"Dependent: {rate} texts that had something to prove."
        if rate.asked
        else "No text had something to prove."
    )


def _count(kind: str, count: int) -> str:
    """How many; what did not happen has no colour."""
    tone, sign, words = BADGES[kind]
    plural = "s" if kind == "error" and count != 1 else ""
    return pill(tone if count else "plain", sign, f"{count} {words}{plural}")


def _comparison(found: Comparison) -> str:
    rows = [
        (
            one.row,
            _badge(one.before),
            _badge(one.after),
            f"{say(one.label_before)} → {say(one.label_after)}",
            say(one.text),
        )
        for one in found.changed
    ]
    heads = ("row", "before", "now", "label", "text")
    table = _table(heads, rows) if rows else ""
    return f'<section class="card"><h2>What changed</h2><p>{say(found)}</p>{table}</section>'


def _rates(
    title: str, rates: Sequence[Rate], could: Mapping[str, str] = MappingProxyType({})
) -> str:
    """A row for each rate; of words also what could become of them, where that is known."""
    if not rates:
        return ""
    rows: list[tuple[object, ...]] = [
        (say(r.name), say(r), r.dependent, r.independent, r.unknown, r.trivial, r.asked + r.trivial)
        for r in rates
    ]
    heads = [
        "",
        "share dependent",
        "dependent",
        "independent",
        "undecided",
        "nothing to prove",
        "texts",
    ]
    if could:
        heads = [*heads, "could"]
        rows = [
            (*row, say(could.get(r.name) or "not tested"))
            for row, r in zip(rows, rates, strict=True)
        ]
    return f'<section class="card"><h2>{say(title)}</h2>{_table(heads, rows)}</section>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Cells are HTML already, or numbers."""
    every = list(rows)
    top = "".join(
        f"<th{_number(cell)}>{say(head)}</th>" for head, cell in zip(heads, every[0], strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_cell, heads, row))}</tr>" for row in every)
    return (
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _cell(head: str, cell: object) -> str:
    """A cell that also says what it is, for narrow pages that have no head."""
    return f'<td{_number(cell)} data-head="{say(head)}">{cell}</td>'


def _number(cell: object) -> str:
    return ' class="number"' if isinstance(cell, int) else ""


def _cases(lines: Sequence[Line]) -> str:
    heads = "".join(
        f'<th data-sort="{name}">{name}</th>'
        for name in ("row", "verdict", "label", "text", "evidence")
    )
    body = "".join(_case(line, place) for place, line in enumerate(lines))
    choices = "".join(
        f'<option value="{kind}">{say(name)}</option>' for kind, (_, _, name) in BADGES.items()
    )
    controls = (
        '<div class="filter"><input id="find" type="search" placeholder="find" '
        'aria-label="find in the rows">'
        '<select id="kind" aria-label="verdict"><option value="">all '
        f"verdicts</option>{choices}</select></div>"
    )
    return (
        f'<section class="card"><h2>Every text, the worst first</h2>{controls}<div class="wide">'
        "<table "
        f'id="cases"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div></section>'
    )


def _case(line: Line, place: int) -> str:
    kind = verdict(line)
    label = line.get("label", "")
    wrong = line.get("expected") not in (None, label)
    badge = pill(*UNCHECKED) if unchecked(line) else _badge(kind)
    expected = (
        f'<br><span class="soft small">expected {say(line["expected"])}</span>' if wrong else ""
    )
    return (
        f'<tr id="row-{int(line["row"])}" data-kind="{kind}"><td class="number" '
        f'data-head="row">{int(line["row"])}</td>'
        f'<td data-value="{place:09d}">{badge}</td><td>{say(label)}{expected}</td>'
        f'<td class="text" dir="auto">{_marked(line)}</td><td>{_evidence(line)}</td></tr>'
    )


def _badge(kind: str) -> str:
    return pill(*BADGES[kind])


def _marked(line: Line) -> str:
    """The text with its protected words marked."""
    source = shown(line)
    pieces = []
    last = 0
    for word in line.get("protected", ()):
        start = word["start"]
        end = word["end"]
        pieces += [say(source[last:start]), f"<mark>{say(source[start:end])}</mark>"]
        last = end
    return "".join([*pieces, say(source[last:])])


def _evidence(line: Line) -> str:
    parts = [f"<p>{say(line.get('reason') or line.get('error', ''))}</p>"]
    if line.get("witness"):
        parts.append(_witness(line["witness"]))
    if line.get("certificate_file"):
        parts.append(f'<p><a href="{quote(line["certificate_file"])}">certificate</a></p>')
    elif line.get("certificate"):
        parts.append(
            f"<p class='small soft'>certificate {say(line['certificate']['sha256'][:12])}</p>"
        )
    return "".join(part for part in parts if part != "<p></p>")


def _witness(witness: Line) -> str:
    pairs = [(move["word"], move["became"]) for move in witness["changed"]]
    real = witness["real_words"]
    blanked = witness.get("blanked", False)
    moves = together(
        (quoted([own]), turned_into(own, became, real, blanked)) for own, became in pairs
    )
    label = ends(witness["label"], witness["margin"])
    margin = witness["margin"]
    told = f"{moves or 'nothing changes'}: {label} (margin {margin:.3g})"
    return (
        f"<details open><summary>witness</summary><p>{say(told)}</p>{_rewritten(witness)}</details>"
    )


def _rewritten(witness: Line) -> str:
    """The text so changed, where the classifier was run on it and does not keep the label."""
    if witness["text"] is None:
        return ""
    how = "" if witness["real_words"] else "By the nearest words, as an illustration: "
    return f"<p>{say(how)}<bdi>{say(witness['text'])}</bdi></p>"
