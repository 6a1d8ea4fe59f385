"""In short: the figures that a reader takes away, each from the rows and said only when its rows
are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median
from typing import Any

import numpy as np

from experiments import asking, boxes, explainers
from experiments.report import MISSING, Report
from experiments.store import Row
from experiments.tables import ACCURACY, all_checks, grid, percent, trades


def in_short(report: Report) -> str:
    """One line each."""
    lines = [
        *said_of_accuracy(report),
        *said_of_answers(report),
        *said_of_explainers(report),
        *said_of_robust(report),
    ]
    lines += said_of_certificates(report)
    return "\n".join(f"- {line}" for line in lines) or MISSING


def said_of_accuracy(report: Report) -> Iterator[str]:
    rows = grid(report)
    low = [row for row in rows if row["accuracy"] < ACCURACY[row["settings"]["data"]][0]]
    if rows:
        yield (
            f"{len(rows) - len(low)} of {len(rows)} models reach the paper's range of accuracy or "
            "exceed it."
        )


def said_of_answers(report: Report) -> Iterator[str]:
    """All box questions of the paper's texts together."""
    rows = report.rows(boxes.jobs(report.plan))
    times = [taken for row in rows for taken in row["time"]]
    if times:
        count = sum(asking.solved(row) for row in rows)
        most = np.quantile(times, 0.95)
        yield (
            f"Of {len(times):,} questions about boxes around nearest words {count:,} "
            f"({percent(count / len(times))}) "
            f"are proved optimal; median {median(times):.3f} s, 95 % within {most:.2f} s, the "
            "slowest "
            f"{max(times):.1f} s. (The paper: median 35 s, mean 2,004 s, at most 63 hours.)"
        )


def said_of_explainers(report: Report) -> Iterator[str]:
    for k in explainers.ks(report.plan):
        for name in (*explainers.EXPLAINERS, "anchors, padding as a feature"):
            rows = [row for row in report.rows(explainers.jobs(report.plan)) if told(row) == name]
            given = [a["repairs"][str(k)] for row in rows for a in row["answers"] if "repairs" in a]
            needed = [bool(repair["sufficed"]) for repair in given if repair["best"] > 0]
            if needed:
                yield (
                    f"{name}, k = {k}: of {len(needed)} answers where a word is needed at all, "
                    f"{percent(mean(needed))} name words that are enough."
                )


def told(row: Row) -> str:
    settings = row["settings"]
    return str(settings["explainer"]) + (
        ", padding as a feature" if settings.get("padding") == "feature" else ""
    )


def said_of_robust(report: Report) -> Iterator[str]:
    """For each curve the shortest explanations of `--robust` at no loss of accuracy, and at one of
    at most a point.
    """
    groups = list(dict.fromkeys((t["data"], t["set"]) for t in trades(report)))
    for data, name in groups:
        mine = [
            t for t in trades(report) if (t["data"], t["set"]) == (data, name) and t["way"].robust
        ]
        steps = [shortest(mine, loss) for loss in (0.0, 0.01)]
        found = "; ".join(
            dict.fromkeys(gain(t) for t in steps if t is not None and t["shorter"] > 0)
        )
        yield (
            f"Robust training, {data}, {name}: "
            f"{found or 'nothing shorter for a point of accuracy or less'}."
        )


def shortest(mine: list[dict[str, Any]], loss: float) -> dict[str, Any] | None:
    # none where there is no ordinary model to compare with
    near = [t for t in mine if t["change"] >= -loss]
    return min(near, key=lambda t: float(t["words"]), default=None)


def gain(t: dict[str, Any]) -> str:
    return (
        f"{t['name']} {percent(t['shorter'])} shorter ({t['words']:.2f} words) at "
        f"{t['accuracy']:.4f} "
        f"({t['change']:+.4f} ± {t['error']:.4f})"
    )


def said_of_certificates(report: Report) -> Iterator[str]:
    said = [answer for _, answer in all_checks(report)]
    if said:
        none = said.count("none")
        rejected = said.count("rejected")
        yield (
            f"{len(said) - none - rejected:,} of the {len(said) - none:,} certificates are "
            "accepted by the independent "
            f"checker; {none:,} of {len(said):,} answers have none."
        )
