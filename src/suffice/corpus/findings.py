"""Findings: what an audit of a corpus found, counted exactly, the worst first; and what changed
since another audit.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from suffice.corpus.summary import failures
from suffice.verbs.wording import SHOWN, ends, quoted

ORDER = ("dependent", "unknown", "error", "independent", "trivial")  # worst first
SAME = {"question", "label", "status"}  # the same few strings in all lines
PARTS = {"by_word", "by_group"}
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Rate:
    """Exact counts of verdicts over some texts. Of `trivial` texts there was nothing to prove."""

    name: str
    dependent: int = 0
    independent: int = 0
    unknown: int = 0
    trivial: int = 0

    @property
    def asked(self) -> int:
        """The texts in which there was something to prove."""
        return self.dependent + self.independent + self.unknown

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest share that can be dependent, given that some are undecided."""
        total = max(self.asked, 1)
        return self.dependent / total, (self.dependent + self.unknown) / total

    def __str__(self) -> str:
        low, high = self.range
        share = f"{low:.1%}" if low == high else f"{low:.1%} to {high:.1%}"
        return f"{self.dependent} of {self.asked} ({share})" if self.asked else "none"


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


@dataclass(frozen=True)
class Changed:
    """A text whose verdict or label another model version changed."""

    row: int
    text: str
    before: str
    after: str
    label_before: str
    label_after: str

    @property
    def worse(self) -> bool:
        return rank(self.after) < rank(self.before)


@dataclass(frozen=True)
class Comparison:
    """What changed since an older audit of the same texts."""

    changed: tuple[Changed, ...]
    same: int
    added: int
    gone: int
    same_question: bool

    def __str__(self) -> str:
        worse = sum(one.worse for one in self.changed)
        better = sum(rank(one.after) > rank(one.before) for one in self.changed)
        rest = len(self.changed) - worse - better
        other = (
            ""
            if self.same_question
            else " The older audit asked another question, so this compares unlike things."
        )
        return (
            f"Since the older audit {_many(worse, 'text')} got worse, {better} better, {rest} "
            "only changed the label, "
            f"{self.same} stayed; {_many(self.added, 'text')} added, {self.gone} gone.{other}"
        )


@dataclass(frozen=True, eq=False)
class Audit:
    """The lines of an audit, the worst first, with rates over all texts, by label, by protected
    word and by group.
    """

    lines: tuple[Line, ...]
    overall: Rate
    by_label: tuple[Rate, ...]
    by_word: tuple[Rate, ...]
    by_group: tuple[Rate, ...]
    errors: int
    comparison: Comparison | None = None
    # what could become of a protected word; "": not tested
    could: Mapping[str, str] = field(default_factory=dict)

    @property
    def proved(self) -> int:
        """The texts of which something was proved: a change that flips the label, or that there is
        none.
        """
        return self.overall.dependent + self.overall.independent - sum(map(unchecked, self.lines))

    @property
    def lacking(self) -> str:
        """Why this clears no model, whatever else was found: rows failed, or nothing was proved;
        else empty.
        """
        wrong = {line["row"]: line["error"] for line in self.lines if "error" in line}
        failed = failures(wrong, len(self.lines)) if wrong else ""
        nothing = "" if self.proved else f"nothing was proved{self._instead()}"
        return "; ".join(filter(None, (failed, nothing)))

    def _instead(self) -> str:
        """What became of the texts of which nothing was proved."""
        idle = [line for line in self.lines if verdict(line) == "trivial"]
        bare = sum(not line["protected"] for line in idle)
        kinds = {
            "without a protected word": bare,
            "whose protected words could become nothing": len(idle) - bare,
            "undecided": self.overall.unknown,
            "not checked": sum(map(unchecked, self.lines)),
        }
        told = [f"{_many(count, 'text')} {kind}" for kind, count in kinds.items() if count]
        return f": {', '.join(told)}" if told else ""

    def to_metrics(self) -> dict[str, float]:
        """Flat numbers by name, as the metrics of Hugging Face `evaluate` give them.

        Shares are of the texts in which there was something to prove; where some are open, the
        share that is dependent lies between `dependent_at_least` and `dependent_at_most`.
        """
        low, high = self.overall.range
        shares = (
            {"dependent_at_least": low, "dependent_at_most": high} if self.overall.asked else {}
        )
        counts = {
            "texts": len(self.lines),
            "asked": self.overall.asked,
            "proved": self.proved,
            "errors": self.errors,
        }
        return {**counts, **shares}

    def _repr_html_(self) -> str:
        from suffice.render.cells import audit

        return audit(self)

    def __repr__(self) -> str:
        rate = self.overall
        texts = _many(len(self.lines), "text")
        errors = _many(self.errors, "error")
        return f"<Audit of {texts}: {rate.dependent} dependent of {rate.asked}, {errors}>"

    def __str__(self) -> str:
        total = len(self.lines)
        rate = self.overall
        independent = f"{rate.independent} independent ({self._authority()})"
        parts = [f"{rate.dependent} dependent", independent, f"{rate.unknown} undecided"]
        trivial = f"{rate.trivial} with nothing to prove"
        lacking = f" {self.lacking[0].upper()}{self.lacking[1:]}." if self.lacking else ""
        changed = f" {self.comparison}" if self.comparison is not None else ""
        counts = f"{', '.join(parts)}, {trivial}, {_many(self.errors, 'error')}"
        return f"{_many(total, 'text')}: {counts}.{lacking}{self._untested()}{changed}"

    def _untested(self) -> str:
        """The protected words that could become nothing."""
        left = [word for word, could in self.could.items() if not could]
        more = f", {len(left) - SHOWN} more" if len(left) > SHOWN else ""
        return f" Not tested, without a counterpart: {quoted(left[:SHOWN])}{more}." if left else ""

    def _authority(self) -> str:
        """Who says that texts are independent: with a solver, or without the checker, nobody proved
        it.
        """
        open_ = sum(map(unchecked, self.lines))
        return f"{open_} of them not checked" if open_ else "proved"


# What an audit keeps of a line: a corpus may be large.
KEPT = (
    *(
        "row",
        "id",
        "question",
        "text",
        "expected",
        "label",
        "status",
        "trivial",
        "reason",
        "protected",
        "witness",
    ),
    *("by_word", "by_group", "certificate", "certificate_file", "checked", "error"),
)


def slim(line: Line) -> dict[str, Any]:
    """A line without what no report shows, in little memory."""
    kept = {name: line[name] for name in KEPT if name == "text" or line.get(name) not in (None, "")}
    if "certificate" in kept:
        kept["certificate"] = {"sha256": kept["certificate"]["sha256"][:12]}
    for name in SAME & kept.keys():
        kept[name] = sys.intern(kept[name])
    for name in PARTS & kept.keys():
        kept[name] = [
            {key: sys.intern(value) for key, value in part.items()} for part in kept[name]
        ]
    return kept


def summarise(lines: Iterable[Line], older: Sequence[Line] | None = None) -> Audit:
    """The worst lines first, and how many there are of each kind."""
    ranked = tuple(sorted(lines, key=_badness))
    fine = [line for line in ranked if "error" not in line]
    return Audit(
        lines=ranked,
        overall=_rate("all texts", map(verdict, fine)),
        by_label=_rates((line["label"], verdict(line)) for line in fine),
        by_word=_rates((part["name"], part["status"]) for line in fine for part in line["by_word"]),
        by_group=_rates(
            (part["name"], part["status"]) for line in fine for part in line["by_group"]
        ),
        errors=len(ranked) - len(fine),
        comparison=None if older is None else compare(older, ranked),
        could=_could(part for line in fine for part in line["by_word"]),
    )


def _could(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """What could become of each word, in any of its texts."""
    found: dict[str, str] = {}
    for part in parts:
        if "could" in part:  # older audits do not say it
            found[part["name"]] = found.get(part["name"]) or part["could"]
    return found


def verdict(line: Line) -> str:
    """dependent, unknown, error, independent or trivial."""
    if "error" in line:
        return "error"
    return "trivial" if line["trivial"] else str(line["status"])


def unchecked(line: Line) -> bool:
    """Whether a line says that the label is independent, and no checker has accepted that."""
    return verdict(line) == "independent" and not line.get("checked")


def rank(status: str) -> int:
    """0 for the worst; for comparisons, independent and trivial are equally good."""
    return min(ORDER.index(status), ORDER.index("independent"))


def _badness(line: Line) -> tuple[int, int, float, int]:
    """Dependent first: the fewer words it takes and the further the label falls, the worse."""
    witness = line.get("witness")
    words, margin = (len(witness["changed"]), witness["margin"]) if witness else (0, 0.0)
    return ORDER.index(verdict(line)), words, margin, line["row"]


def _rates(pairs: Iterable[tuple[str, str]]) -> tuple[Rate, ...]:
    """One rate per name, those with most dependent texts first."""
    found: dict[str, list[str]] = {}
    for name, status in pairs:
        found.setdefault(name, []).append(status)
    rates = [_rate(name, statuses) for name, statuses in found.items()]
    return tuple(
        sorted(rates, key=lambda rate: (-rate.dependent, -rate.unknown, -rate.asked, rate.name))
    )


def _rate(name: str, statuses: Iterable[str]) -> Rate:
    counts = Counter(statuses)
    return Rate(
        name, counts["dependent"], counts["independent"], counts["unknown"], counts["trivial"]
    )


# --- comparing ---


def compare(older: Sequence[Line], newer: Sequence[Line]) -> Comparison:
    """Texts are matched by what they say (the first of equal texts with the first, and so on)."""
    before = _by_text(older)
    after = _by_text(newer)
    both = [key for key in after if key in before]
    changed = [_changed(before[key], after[key]) for key in both]
    kept = sorted(
        (one for one in changed if one is not None), key=lambda one: (rank(one.after), one.row)
    )
    questions = {line.get("question") for line in (*older, *newer) if "error" not in line}
    return Comparison(
        changed=tuple(kept),
        same=len(both) - len(kept),
        added=len(after) - len(both),
        gone=len(before) - len(both),
        same_question=len(questions) <= 1,
    )


def _by_text(lines: Sequence[Line]) -> dict[tuple[str, int], Line]:
    seen: Counter[str] = Counter()
    found = {}
    for line in sorted(lines, key=lambda line: int(line["row"])):
        text = shown(line)
        found[text, seen[text]] = line
        seen[text] += 1
    return found


def _changed(before: Line, after: Line) -> Changed | None:
    statuses = [verdict(line) for line in (before, after)]
    labels = [line.get("label", "") for line in (before, after)]
    if statuses[0] == statuses[1] and labels[0] == labels[1]:
        return None
    return Changed(after["row"], shown(after), *statuses, *labels)


def shown(line: Line) -> str:
    """The text of a line as a string."""
    return line["text"] if isinstance(line["text"], str) else " ".join(line["text"])


# --- as a table ---

COLUMNS = (
    "row",
    "verdict",
    "label",
    "expected",
    "text",
    "protected",
    "witness_label",
    "changed",
    "changed_text",
    "reason",
    "certificate",
)


def table(audit: Audit) -> list[dict[str, Any]]:
    """One row per text, the worst first, for a CSV file."""
    return [cells_of(line) for line in audit.lines]


def cells_of(line: Line) -> dict[str, Any]:
    """A line as the cells of a table."""
    witness = line.get("witness") or {}
    gone = "blanked" if witness.get("blanked") else "removed"
    moves = [f"{move['word']} → {move['became'] or gone}" for move in witness.get("changed", ())]
    return {
        "row": line["row"],
        "verdict": verdict(line),
        "label": line.get("label", ""),
        "expected": line.get("expected") or "",
        "text": shown(line),
        "protected": " ".join(item["text"] for item in line.get("protected", ())),
        "witness_label": ends(witness["label"], witness["margin"]) if witness else "",
        "changed": "; ".join(moves),
        "changed_text": witness.get("text", ""),
        "reason": line.get("reason") or line.get("error", ""),
        "certificate": line.get("certificate_file", ""),
    }
