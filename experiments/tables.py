"""The tables of the report, each a function from the finished rows to Markdown, named as in the
template.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from statistics import mean, median, stdev
from typing import Any

import numpy as np

from experiments import (
    asking,
    balls,
    beyond,
    boxes,
    examples,
    explainers,
    growth,
    naming,
    plots,
    training,
)
from experiments.plan import NOISE, Model, Plan, Training, classifier, gold, samples
from experiments.report import MISSING, Report
from experiments.store import Job, Row, Settings

ACCURACY = {
    "sst": (0.82, 0.89),
    "twitter": (0.77, 0.81),
    "imdb": (0.69, 0.81),
}  # the paper's ranges
SECONDS = {
    "msa": {0.01: "8", 0.05: "176", 0.1: "2,540"},
    "hs": {0.01: "64", 0.05: "340", 0.1: "3,563"},
}  # the paper's


def shown(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def seconds(row: Row) -> str:
    return f"{median(row['time']):.3f} / {max(row['time']):.2f}"


def words(row: Row) -> str:
    return shown(mean(asking.lengths(row)))


def typical_k(plan: Plan) -> int:
    return explainers.ks(plan)[0]


# --- 1: training ---


def grid(report: Report) -> list[Row]:
    """The rows of the ordinary models, by data set, kind, depth and length."""
    plan = report.plan
    found = [
        row for row in report.rows(training.jobs(plan)) if row["settings"]["data"] in plan.sets
    ]
    plain = [row for row in found if not altered(row["settings"])]

    def order(row: Row) -> tuple[Any, ...]:
        s = row["settings"]
        return plan.sets.index(s["data"]), s["kind"] == "cnn", s["layers"], s["length"]

    return sorted(plain, key=order)


def altered(settings: Settings) -> bool:
    """Whether a model is one of those that only the trade-off is about."""
    return (settings["robust"], settings["noise"], settings["seed"]) != ("", NOISE, 1)


def training_table(report: Report) -> str:
    rows = []
    for row in grid(report):
        s = row["settings"]
        low, high = ACCURACY[s["data"]]
        cells = [
            s["data"],
            s["kind"],
            s["length"],
            s["layers"],
            shown(row["accuracy"], 3),
            f"{low:.2f}-{high:.2f}",
        ]
        rows.append(
            (row, [*cells, f"{row['parameters']:,}", row["relus"], f"{row['seconds']:.0f}"])
        )
    head = [
        "data",
        "kind",
        "words",
        "layers",
        "accuracy",
        "paper",
        "parameters",
        "relus",
        "training s",
    ]
    return report.table(head, rows)


def training_commands(report: Report) -> str:
    return "\n".join(row["command"] for row in grid(report))


def ranges(report: Report) -> str:
    lines = []
    rows = grid(report)
    for data in dict.fromkeys(row["settings"]["data"] for row in rows):
        mine, (low, high) = (
            [row["accuracy"] for row in rows if row["settings"]["data"] == data],
            ACCURACY[data],
        )
        above = sum(a > high for a in mine)
        below = sum(a < low for a in mine)
        lines.append(
            f"- {data}: {min(mine):.3f} to {max(mine):.3f}; of {len(mine)} models "
            f"{len(mine) - above - below} are in "
            f"the paper's range, {above} above it and {below} below."
        )
    lacking = sum(report.store.get(job) is None for job in training.jobs(report.plan))
    lines += (
        [f"- {lacking} of {len(training.jobs(report.plan))} models were not yet trained."]
        if lacking
        else []
    )
    return "\n".join(lines) or MISSING


# --- 2: balls ---


def balls_table(report: Report) -> str:
    rows = []
    for row in report.rows(balls.jobs(report.plan)):
        s = row["settings"]
        theirs = SECONDS.get(s["method"], {}).get(s["size"], "")
        cells = [
            s["model"],
            f"{s['size']:g}",
            s["method"],
            len(row["time"]),
            asking.solved(row),
            words(row),
        ]
        rows.append((row, [*cells, f"{mean(row['time']):.3f}", seconds(row), theirs]))
    head = [
        "model",
        "ε",
        "method",
        "texts",
        "optimal",
        "mean words",
        "mean s",
        "median / max s",
        "paper s",
    ]
    return report.table(head, rows)


def same_cost(report: Report) -> str:
    """Where two methods both prove an optimum, it must be the same."""
    costs: dict[Any, set[int]] = {}
    for row in report.rows(balls.jobs(report.plan)):
        s = row["settings"]
        for place, (status, size) in enumerate(
            zip(row["status"], asking.lengths(row), strict=True)
        ):
            if status == "optimal":
                costs.setdefault((s["model"], s["size"], place), set()).add(size)
    different = sum(len(found) > 1 for found in costs.values())
    return (
        f"{len(costs)} questions were proved optimal by some method; in {different} of them two "
        "methods disagree."
    )


def scale(report: Report) -> str:
    """How large ε is beside the distance of a word to its nearest."""
    from scipy.spatial import cKDTree

    found = []
    for model in balls.models(report.plan):
        if (report.plan.out / "models" / model.name).exists():
            points = classifier(report.plan.out, model.name).table[2:]
            distance = cKDTree(points).query(points[:2000], k=2)[0][:, 1]
            found.append(f"{model.name} {np.median(distance):.2f}")
    return (
        f" (median distance of the 2,000 most frequent words to the nearest: {', '.join(found)})"
        if found
        else ""
    )


# --- 3: boxes ---


def boxes_table(report: Report) -> str:
    rows = []
    for row in report.rows(boxes.jobs(report.plan)):
        s = row["settings"]
        parts = [percent(part) for part in asking.shares(row)]
        cells = [
            s["model"],
            s["padding"],
            f"{s['size']:g}",
            len(row["time"]),
            asking.solved(row),
            words(row),
        ]
        rows.append((row, [*cells, seconds(row), *parts]))
    head = [
        "model",
        "padding",
        "k",
        "texts",
        "optimal",
        "mean words",
        "median / max s",
        "empty",
        "full",
        "between",
    ]
    return report.table(head, rows)


def mistakes(report: Report) -> str:
    """Lengths of right and wrong answers, over the texts whose label is known."""
    rows = []
    for row in report.rows(boxes.jobs(report.plan)):
        s = row["settings"]
        if s["padding"] == "fixed" and s["size"] == typical_k(report.plan):
            right, wrong = by_truth(report.plan, row)
            means = [shown(mean(sizes)) if sizes else "" for sizes in (right, wrong)]
            rows.append((row, [s["model"], f"{s['size']:g}", len(right), len(wrong), *means]))
    return report.table(
        ["model", "k", "right", "wrong", "mean words, right", "mean words, wrong"], rows
    )


def by_truth(plan: Plan, row: Row) -> tuple[list[int], list[int]]:
    """The lengths where the answer is right, and where it is wrong."""
    truth = gold(plan.data, row["settings"]["model"].split("-")[0])
    pairs = list(enumerate(zip(asking.lengths(row), row["label"], strict=True)))
    known = [(size, truth[place] == label) for place, (size, label) in pairs if place in truth]
    return [size for size, right in known if right], [size for size, right in known if not right]


def own(kind: str) -> Callable[[Report], str]:
    """The marked sentences of a kind."""

    def table(report: Report) -> str:
        rows = []
        for row in report.rows(
            job for job in examples.jobs(report.plan) if job.settings["kind"] == kind
        ):
            s = row["settings"]
            length = classifier(report.plan.out, s["model"]).length
            text = examples.marked(s["sentence"], row["positions"], length)
            rows.append(
                (
                    row,
                    [s["model"], s["k"], row["label"], row["status"], len(row["positions"]), text],
                )
            )
        return report.table(["model", "k", "answer", "status", "words", "sentence"], rows)

    return table


# --- 4: other explainers ---


def explainers_table(report: Report) -> str:
    rows = []
    for row in report.rows(explainers.jobs(report.plan)):
        s = row["settings"]
        about = [s["explainer"], s["model"], s.get("padding", "fixed")]
        rows += [(row, [*about, k, *explained(row["answers"], str(k))]) for k in s["ks"]]
    head = [
        "explainer",
        "model",
        "padding",
        "k",
        "texts",
        "precision",
        "words",
        "robust",
        "robust where a word is needed",
    ]
    return report.table([*head, "added", "cheapest of all", "median s"], rows)


def explained(answers: Sequence[Row], k: str) -> list[str]:
    good = [answer for answer in answers if "repairs" in answer]
    repairs = [answer["repairs"][k] for answer in good]
    if not repairs:
        return [f"0 of {len(answers)}", *[""] * 7]
    needed = [bool(r["sufficed"]) for r in repairs if r["best"] > 0]
    claims = [answer["precision"] for answer in good if answer["precision"] is not None]
    lacking = [r["added"] for r in repairs if not r["sufficed"] and r["status"] == "optimal"]
    return [
        f"{len(good)} of {len(answers)}",
        shown(mean(claims), 3) if claims else "",
        shown(mean(r["given"] for r in repairs)),
        percent(mean(bool(r["sufficed"]) for r in repairs)),
        f"{percent(mean(needed))} of {len(needed)}" if needed else "",
        shown(mean(lacking)) if lacking else "",
        shown(mean(r["best"] for r in repairs)),
        shown(median(answer["time"] for answer in good)),
    ]


# --- 5: names ---


def naming_table(report: Report) -> str:
    rows = []
    for row in report.rows(naming.jobs(report.plan)):
        s = row["settings"]
        states = row["status"]
        if states:
            shares = [
                percent(states.count(state) / len(states))
                for state in ("dependent", "independent", "unknown")
            ]
            rows.append(
                (row, [s["model"], s["k"], len(states), shown(mean(row["protected"])), *shares])
            )
    head = ["model", "k", "texts", "mean names", "depend on the names", "do not", "undecided"]
    return report.table(head, rows)


def name_count(report: Report) -> str:
    return next((f"{row['names']:,}" for row in report.rows(naming.jobs(report.plan))), "the")


def names(report: Report) -> str:
    rows = []
    for row in report.rows(
        job for job in examples.jobs(report.plan) if job.settings["kind"] == "names"
    ):
        text = examples.marked(row["settings"]["sentence"], row["protected"])
        rows.append(
            (
                row,
                [
                    row["settings"]["model"],
                    row["label"],
                    row["bias"],
                    ", ".join(row["changed"]),
                    text,
                ],
            )
        )
    return report.table(["model", "answer", "on its names", "changed", "sentence"], rows)


# --- 6: growth ---


def growth_figures(report: Report) -> str:
    balls_grown = curves(report.rows(growth.balls(report.plan)))
    boxes_grown = curves(report.rows(boxes.jobs(report.plan)))
    pictures = []
    if balls_grown:
        path = report.figures / "growth-eps.png"
        title = "Words needed as the balls grow"
        plots.lines(path, balls_grown, "radius ε", "mean words", title, log=True)
        pictures.append(report.figure("growth-eps"))
    if boxes_grown:
        path = report.figures / "growth-k.png"
        title = "Words needed as the boxes grow"
        plots.lines(path, boxes_grown, "nearest words k", "mean words", title)
        pictures.append(report.figure("growth-k"))
    return "\n".join(pictures) or MISSING


def curves(rows: Iterable[Row]) -> dict[str, list[tuple[float, float]]]:
    """Mean lengths over the size of the sets, a line per model, padding fixed."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row["settings"]["padding"] == "fixed":
            found.setdefault(row["settings"]["model"], []).append(
                (row["settings"]["size"], mean(asking.lengths(row)))
            )
    return found


def growth_table(report: Report) -> str:
    rows = []
    for row in report.rows(growth.balls(report.plan)):
        s, (empty, _, _) = row["settings"], asking.shares(row)
        cells = [s["model"], f"{s['size']:g}", len(row["time"]), asking.solved(row), words(row)]
        rows.append((row, [*cells, percent(empty), seconds(row)]))
    return report.table(
        ["model", "ε", "texts", "optimal", "mean words", "empty", "median / max s"], rows
    )


def sparse_table(report: Report) -> str:
    groups: dict[tuple[str, bool], list[Row]] = {}
    for row in report.rows(growth.sparse(report.plan)):
        groups.setdefault((row["settings"]["model"], row["settings"]["sparse"]), []).append(row)
    rows = []
    for (model, on), found in groups.items():
        done = f"{sum(r['finished'] for r in found)} of {len(found)}"
        cells = [
            model,
            found[0]["settings"]["k"],
            "on" if on else "off",
            done,
            shown(median(r["time"] for r in found)),
        ]
        gap = max(r["upper"] - r["lower"] for r in found)
        rows.append((found[0], [*cells, f"{median(r['rounds'] for r in found):g}", gap]))
    return report.table(
        ["model", "k", "sparse attacks", "finished", "median s", "median rounds", "largest gap"],
        rows,
    )


def every_table(report: Report) -> str:
    rows = []
    for row in report.rows(growth.every(report.plan)):
        counts = row["counts"]
        cells = [
            row["settings"]["every"],
            row["settings"]["k"],
            len(counts),
            f"{median(counts):g}",
            max(counts),
        ]
        rows.append((row, [*cells, f"{row['accepted']} of {sum(counts)}"]))
    return report.table(["model", "k", "texts", "median", "most", "certificates accepted"], rows)


def answers(kind: str) -> Callable[[Report], str]:
    """All optimal explanations of the one sentence, or those without a word."""
    extra = ["without"] if kind == "without" else []

    def table(report: Report) -> str:
        rows = []
        for row in report.rows(
            job for job in examples.jobs(report.plan) if job.settings["kind"] == kind
        ):
            s = row["settings"]
            for answer in row["answers"]:
                text = examples.marked(s["sentence"], answer["positions"])
                size = len(answer["positions"])
                told = [
                    answer["label"],
                    answer["status"],
                    *([size, text] if answer["status"] != "infeasible" else ["", ""]),
                ]
                rows.append(
                    (
                        row,
                        [s["model"], s["k"], *(answer[name] for name in ["word"] if extra), *told],
                    )
                )
        return report.table(["model", "k", *extra, "answer", "status", "words", "sentence"], rows)

    return table


# --- 7: beyond ---


def hull_table(report: Report) -> str:
    rows = []
    for job in beyond.hulls(report.plan):
        s = job.settings
        row = report.store.get(job)
        box = report.store.get(Job("boxes", {**s, "set": "box"}))
        if row is not None and box is not None:
            cells = [
                words(box),
                words(row),
                f"{asking.solved(box)} / {asking.solved(row)}",
                seconds(box),
                seconds(row),
            ]
            rows.append((row, [s["model"], s["size"], len(row["time"]), *cells]))
    head = [
        "model",
        "k",
        "texts",
        "mean words, box",
        "mean words, hull",
        "optimal, box / hull",
        "box s",
        "hull s",
    ]
    return report.table(head, rows)


def plain_table(report: Report, jobs: Sequence[Job], about: str) -> str:
    rows = []
    for row in report.rows(jobs):
        s, (empty, full, _) = row["settings"], asking.shares(row)
        cells = [
            f"{s['size']:g}",
            len(row["time"]),
            asking.solved(row),
            words(row),
            percent(empty),
            percent(full),
        ]
        rows.append((row, [s["model"], *cells[not about :], seconds(row)]))
    head = [
        *([about] if about else []),
        "texts",
        "optimal",
        "mean words",
        "empty",
        "full",
        "median / max s",
    ]
    return report.table(["model", *head], rows)


def swaps_table(report: Report) -> str:
    return plain_table(report, beyond.swaps(report.plan), "")


def classes_table(report: Report) -> str:
    return plain_table(report, beyond.classes(report.plan), "k")


def trec_accuracy(report: Report) -> str:
    row = report.store.get(training.job(report.plan, training.trec(report.plan)))
    return MISSING if row is None else shown(row["accuracy"], 3)


def trades(report: Report) -> Iterator[dict[str, Any]]:
    """For each data set, set and way of training the means over the seeds, beside ordinary
    training.
    """
    for data, name in product(report.plan.robust_data, beyond.robust_sets(report.plan)):
        found = {
            way: both for way in report.plan.robust if (both := answered(report, data, name, way))
        }
        for way, both in found.items():
            yield {
                "data": data,
                "set": name,
                "way": way,
                "name": way.name,
                **trade(both, found.get(Training(), {})),
            }


def answered(report: Report, data: str, name: str, way: Training) -> dict[int, tuple[Row, Row]]:
    """By seed the rows of a model and of its answers, where both are there."""
    plan, (kind, size) = report.plan, beyond.robust_sets(report.plan)[name]
    models = [
        m for m in training.robust_models(plan) if (m.data, m.robust, m.noise) == (data, *way)
    ]
    jobs = {m.seed: (training.job(plan, m), beyond.robust_job(plan, m, kind, size)) for m in models}
    pairs = {
        seed: (report.store.get(made), report.store.get(asked))
        for seed, (made, asked) in jobs.items()
    }
    return {seed: (made, asked) for seed, (made, asked) in pairs.items() if made and asked}


def trade(both: dict[int, tuple[Row, Row]], plain: dict[int, tuple[Row, Row]]) -> dict[str, Any]:
    """Means over the seeds; changes are those of the same seed, with the standard error of their
    mean.
    """
    asked = [row for _, row in both.values()]
    changes = [
        both[seed][0]["accuracy"] - plain[seed][0]["accuracy"] for seed in both if seed in plain
    ]
    return {
        "row": asked[0],
        "models": len(both),
        "accuracy": mean(made["accuracy"] for made, _ in both.values()),
        "change": mean(changes) if changes else math.nan,
        "error": stdev(changes) / math.sqrt(len(changes)) if len(changes) > 1 else math.nan,
        "words": mean_words(both),
        "shorter": 1 - mean_words(both) / mean_words(plain)
        if plain and mean_words(plain)
        else math.nan,
        "empty": mean(asking.shares(row)[0] for row in asked),
        "optimal": (
            f"{sum(asking.solved(row) for row in asked)} of "
            f"{sum(len(row['time']) for row in asked)}"
        ),
    }


def ordinary(plan: Plan) -> list[Model]:
    """The first ordinary model of each data set of the trade-off."""
    models = [m for m in training.robust_models(plan) if (m.robust, m.noise) == Training()]
    return [model for model in models if model.seed == plan.robust_seeds[0]]


def mean_words(both: dict[int, tuple[Row, Row]]) -> float:
    return mean(mean(asking.lengths(row)) for _, row in both.values())


def robust_table(report: Report) -> str:
    rows = []
    for t in trades(report):
        cells = [t["data"], t["set"], t["name"], t["models"], f"{t['accuracy']:.4f}"]
        changed = [
            f"{t['change']:+.4f} ± {t['error']:.4f}",
            shown(t["words"]),
            percent(t["shorter"]),
        ]
        gained = ["", shown(t["words"]), ""] if t["name"] == "ordinary" else changed
        rows.append((t["row"], [*cells, *gained, percent(t["empty"]), t["optimal"]]))
    head = [
        "data",
        "set",
        "training",
        "models",
        "accuracy",
        "change",
        "mean words",
        "shorter",
        "empty",
        "optimal",
    ]
    return report.table(head, rows)


def robust_figures(report: Report) -> str:
    """A figure for each data set."""
    return "\n\n".join(robust_figure(report, data) for data in report.plan.robust_data)


def robust_figure(report: Report, data: str) -> str:
    found: dict[str, list[tuple[str, float, float]]] = {}
    for t in trades(report):
        if t["data"] == data:
            found.setdefault(t["set"], []).append((t["name"], t["words"], t["accuracy"]))
    if not found:
        return MISSING
    title = f"Robust training, {data}: shorter explanations against accuracy"
    plots.trade_off(report.figures / f"robust-{data}.png", found, title)
    return report.figure(f"robust-{data}")


# --- 8: certificates ---


def checks(report: Report) -> str:
    kinds: dict[str, dict[str, int]] = {}
    for name, said in [*all_checks(report)]:
        for group in (name, "**all**"):
            counts = kinds.setdefault(group, {})
            counts[said] = counts.get(said, 0) + 1
    if not kinds:
        return MISSING
    total = kinds.pop("**all**")
    lines = [
        "| answers | all | without a certificate | accepted | rejected |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, counts in [*kinds.items(), ("**all**", total)]:
        count = sum(counts.values())
        none = counts.get("none", 0)
        rejected = counts.get("rejected", 0)
        lines.append(
            f"| {name} | {count:,} | {none:,} | {count - none - rejected:,} | {rejected:,} |"
        )
    return "\n".join(lines)


def rejected(report: Report) -> str:
    """Which answers have a certificate that was rejected: a fault of the prover's, to be looked
    into.
    """
    plan = report.plan
    found = []
    for row in report.rows(
        [*balls.jobs(plan), *boxes.jobs(plan), *growth.balls(plan), *beyond.jobs(plan)]
    ):
        s = row["settings"]
        places = [place for place, said in enumerate(row["check"]) if said == "rejected"]
        found += [
            f"{s['model']}, {s['set']} {s['size']:g}, text {place} of the {s['of']}"
            for place in places
        ]
    return f"Rejected: {'; '.join(found)}." if found else "None was rejected."


def all_checks(report: Report) -> Iterator[tuple[str, str]]:
    """What the checker said of every answer."""
    plan = report.plan
    for row in report.rows(
        [*balls.jobs(plan), *boxes.jobs(plan), *growth.balls(plan), *beyond.jobs(plan)]
    ):
        method = row["settings"]["method"]
        name = (
            f"search, {row['settings']['set']}"
            if method == "search"
            else f"{method}, {row['settings']['set']}"
        )
        yield from ((name, said) for said in row["check"])
    for row in report.rows(explainers.jobs(plan)):
        found = [
            repair for answer in row["answers"] for repair in answer.get("repairs", {}).values()
        ]
        yield from (("repair", repair["check"]) for repair in found)
    for row in report.rows(naming.jobs(plan)):
        yield from (("bias", said) for said in row["check"])


# --- the paper's texts, marked ---


def marked_samples(report: Report) -> str:
    """For the run's folder only."""
    plan, lines = (
        report.plan,
        ["# The paper's texts, marked", "", "Not for publication: texts of the data sets."],
    )
    for row in report.rows(boxes.jobs(plan)):
        s = row["settings"]
        data = row["settings"]["model"].split("-")[0]
        model = classifier(plan.out, s["model"])
        truth = gold(plan.data, data)
        lines += ["", f"## {s['model']}, k = {s['size']}, padding {s['padding']}", ""]
        for place, text in enumerate(samples(plan.data, data)[: s["texts"]]):
            label = row["label"][place]
            told = examples.marked(
                [word.text for word in model.read(text).words], row["positions"][place]
            )
            wrong = "" if truth.get(place, label) == label else " (wrong)"
            lines.append(f"- {label}{wrong}, {row['status'][place]}: {told}")
    return "\n".join(lines) + "\n"


PIECES: dict[str, Callable[[Report], str]] = {
    "training": training_table,
    "training_commands": training_commands,
    "ranges": ranges,
    "balls": balls_table,
    "balls_command": lambda report: asking.command(balls.jobs(report.plan)[0].settings),
    "same_cost": same_cost,
    "scale": scale,
    "boxes": boxes_table,
    "boxes_command": lambda report: asking.command(boxes.jobs(report.plan)[0].settings),
    "mistakes": mistakes,
    "k": lambda report: str(typical_k(report.plan)),
    "good": own("good"),
    "long": own("long"),
    "negation": own("negation"),
    "explainers": explainers_table,
    "naming": naming_table,
    "name_count": name_count,
    "names": names,
    "growth_figures": growth_figures,
    "growth": growth_table,
    "sparse": sparse_table,
    "every": every_table,
    "all": answers("all"),
    "without": answers("without"),
    "hull": hull_table,
    "swaps": swaps_table,
    "classes": classes_table,
    "trec_accuracy": trec_accuracy,
    "robust": robust_table,
    "robust_figures": robust_figures,
    "robust_models": lambda report: " and ".join(model.name for model in ordinary(report.plan)),
    "robust_seeds": lambda report: str(len(report.plan.robust_seeds)),
    "checks": checks,
    "rejected": rejected,
}
