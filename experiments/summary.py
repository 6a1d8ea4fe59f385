"""In short: the figures that a reader takes away, each from the rows and said only when its rows are there."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median

import numpy as np

from experiments import asking, beyond, boxes, explainers
from experiments.report import MISSING, Report
from experiments.store import Row
from experiments.tables import ACCURACY, all_checks, grid, percent, trades


def in_short(report: Report) -> str:
    """One line each."""
    lines = [*said_of_accuracy(report), *said_of_answers(report), *said_of_explainers(report), *said_of_robust(report)]
    lines += said_of_certificates(report)
    return "\n".join(f"- {line}" for line in lines) or MISSING


def said_of_accuracy(report: Report) -> Iterator[str]:
    rows = grid(report)
    low = [row for row in rows if row["accuracy"] < ACCURACY[row["settings"]["data"]][0]]
    if rows:
        yield f"{len(rows) - len(low)} of {len(rows)} models reach the paper's range of accuracy or exceed it."


def said_of_answers(report: Report) -> Iterator[str]:
    """All box questions of the paper's texts together."""
    rows = report.rows(boxes.jobs(report.plan))
    times = [taken for row in rows for taken in row["time"]]
    if times:
        count, most = sum(asking.solved(row) for row in rows), np.quantile(times, 0.95)
        yield (
            f"Of {len(times):,} questions about boxes around nearest words {count:,} ({percent(count / len(times))}) "
            f"are proved optimal; median {median(times):.3f} s, 95 % within {most:.2f} s, the slowest "
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
    return str(settings["explainer"]) + (", padding as a feature" if settings.get("padding") == "feature" else "")


def said_of_robust(report: Report) -> Iterator[str]:
    """The longest step along the curve that costs at most one point of accuracy."""
    for group in beyond.robust_sets(report.plan):
        mine = {t["name"]: t for t in trades(report) if t["set"] == group}
        plain = mine.get("ordinary")
        near = [t for t in mine.values() if plain is not None and t["accuracy"] >= plain["accuracy"] - 0.01]
        if plain is not None and plain["words"]:
            best = min(near, key=lambda t: float(t["words"]))
            shorter = percent(1 - best["words"] / plain["words"])
            yield (
                f"Robust training, {group}: at most one point of accuracy lost ({plain['accuracy']:.3f} to "
                f"{best['accuracy']:.3f}, {best['name']}) makes explanations {shorter} "
                f"shorter ({plain['words']:.2f} to {best['words']:.2f} words)."
            )


def said_of_certificates(report: Report) -> Iterator[str]:
    said = [answer for _, answer in all_checks(report)]
    if said:
        none, rejected = said.count("none"), said.count("rejected")
        yield (
            f"{len(said) - none - rejected:,} of the {len(said) - none:,} certificates are accepted by the independent "
            f"checker; {none:,} of {len(said):,} answers have none."
        )
