"""Summary: what came out of many texts: counts per status, median words and seconds, and the
slowest texts.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, NamedTuple

SLOWEST = 3  # texts that are named
LISTED = 10  # rows that are named in a sentence
BEGINNING = 60  # characters of a text that is named


class Slow(NamedTuple):
    """A text that took long."""

    seconds: float
    row: int
    text: str


@dataclass(frozen=True)
class Summary:
    """What came out of a batch: `statuses` counts answers, `failed` says which rows failed and why.

    The medians are over the answers, and None where there is none; `words` are those of sets shown
    to be enough.
    """

    texts: int
    statuses: Mapping[str, int]
    failed: Mapping[int, str]
    words: float | None
    seconds: float | None
    total_seconds: float
    slowest: tuple[Slow, ...]
    nothing: int = 0  # of the answers, those with nothing to prove: no word of the text may change
    proved: int = 0  # of the answers, those that the checker accepted a proof of

    @property
    def lacking(self) -> str:
        """Why this is no success, whatever else came out: rows failed, or nothing was proved; else
        empty.
        """
        failed = failures(self.failed, self.texts) if self.failed else ""
        nothing = "" if self.proved else f"nothing was proved: {self._told()}"
        return "; ".join(filter(None, (failed, nothing)))

    def to_dict(self) -> dict[str, Any]:
        slowest = [one._asdict() for one in self.slowest]
        return {
            **asdict(self),
            "failed": {str(row): why for row, why in self.failed.items()},
            "slowest": slowest,
        }

    def to_metrics(self) -> dict[str, float]:
        """Flat numbers by name, as the metrics of Hugging Face `evaluate` give them; shares are of
        all texts.

        What cannot be told (a median of nothing) is left out.
        """
        counts = {"optimal": 0, **self.statuses}
        shares = (
            {f"share_{status}": count / self.texts for status, count in counts.items()}
            if self.texts
            else {}
        )
        medians = {"median_words": self.words, "latency_in_seconds": self.seconds}
        known = {name: value for name, value in medians.items() if value is not None}
        return {
            "texts": self.texts,
            "failed": len(self.failed),
            **shares,
            **known,
            "total_time_in_seconds": self.total_seconds,
        }

    def __str__(self) -> str:
        words = "word" if self.words == 1 else "words"
        middle = (
            "" if self.words is None else f" Median: {self.words:g} {words}, {self.seconds:.2f} s."
        )
        return f"{self.texts} {'text' if self.texts == 1 else 'texts'}: {self._told()}.{middle}"

    def _told(self) -> str:
        """How many answers there are of each kind."""
        told = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        empty = f" ({self.nothing} of them with nothing to prove)" if self.nothing else ""
        return f"{told or 'none explained'}{empty}"


@dataclass
class Tally:
    """Counts lines as they come; of large runs only counts, and one number per text, are kept."""

    statuses: Counter[str] = field(default_factory=Counter)
    failed: dict[int, str] = field(default_factory=dict)
    words: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    slowest: list[Slow] = field(default_factory=list)
    nothing: int = 0
    proved: int = 0

    def add(self, line: Mapping[str, Any]) -> None:
        """A line of a batch."""
        if "error" in line:
            self.failed[line["row"]] = line["error"]
            return
        answer = line["explanation"]
        self.statuses[answer["status"]] += 1
        self.nothing += "nothing" in answer["meta"]
        self.proved += _proves(answer)
        if answer["status"] in ("optimal", "sufficient"):
            self.words.append(len(answer["words"]))
        self.seconds.append(answer["stats"]["seconds"])
        slow = Slow(answer["stats"]["seconds"], line["row"], _beginning(line["text"]))
        self.slowest = heapq.nlargest(SLOWEST, [*self.slowest, slow])

    def summary(self) -> Summary:
        """What was counted so far."""
        return Summary(
            texts=self.statuses.total() + len(self.failed),
            statuses=dict(self.statuses),
            failed=dict(sorted(self.failed.items())),
            words=median(self.words) if self.words else None,
            seconds=median(self.seconds) if self.seconds else None,
            total_seconds=sum(self.seconds),
            slowest=tuple(self.slowest),
            nothing=self.nothing,
            proved=self.proved,
        )


def _proves(answer: Mapping[str, Any]) -> bool:
    """Whether the checker accepted that words are enough, or that none are, where there was
    something to prove.
    """
    meta = answer["meta"]
    settled = answer["status"] in ("optimal", "sufficient", "infeasible")
    return settled and meta.get("checked") is True and "nothing" not in meta


def _beginning(text: str | list[str]) -> str:
    plain = text if isinstance(text, str) else " ".join(text)
    return plain if len(plain) <= BEGINNING else f"{plain[: BEGINNING - 1]}…"


def failures(failed: Mapping[int, str], total: int) -> str:
    """How many texts failed, and which, in words."""
    rows = ", ".join(map(str, sorted(failed)[:LISTED])) + (", ..." if len(failed) > LISTED else "")
    return f"{len(failed)} of {total} texts failed ({'row' if len(failed) == 1 else 'rows'} {rows})"
