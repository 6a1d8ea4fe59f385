"""Benchmark of scikit-learn pipelines: how often the cheapest explanation is proved, and in what
time.

    python benchmarks/pipelines.py --data ../shared/data --out pipelines.md
    python benchmarks/pipelines.py --sets agnews --texts 10 --others 3

TF-IDF with norm l2 (single words, or words and pairs) and logistic regression, trained here on the
first 10,000 texts; test texts of 30 to 130 words (AG News, four labels) and 60 to 400 words (IMDB).
A forest of 100 trees on SST-2, worked out in tables. One core; seconds and limits are of the
processor, so that a busy machine does not cut answers short. Beside it LIME, SHAP (Partition, and
Linear: weight times what the value is above its mean over 1,000 training texts), Anchors and
weights as ELI5 shows them (weight times value), ten words of the last two: their words, and the
share that a removal of other words refutes.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

import suffice as sf
from suffice.verbs import adapters

TRAINED = 10_000
SUBSTITUTES = 8
LENGTHS = {"agnews": (30, 130), "imdb": (60, 400), "sst2": (8, 25)}
CHANGES = {"removal": (True, False), "swaps": (False, True), "both": (True, True)}


@dataclass(frozen=True)
class Run:
    """One answer."""

    model: str
    change: str
    limit: str
    words: int
    status: str
    size: int
    gap: float
    cpu: float


@dataclass(frozen=True)
class Other:
    """What another explainer said of one text."""

    model: str
    explainer: str
    words: int
    cpu: float
    verdict: str


def main() -> None:
    args = arguments()
    time.monotonic = time.process_time  # the limit as well
    swaps = substitutes(args.data)
    runs: list[Run] = []
    others: list[Other] = []
    for name in args.sets:
        for kind in ["forest"] if name == "sst2" else args.models:
            pipeline = trained(args.data, name, kind)
            box = sf.from_sklearn(pipeline)
            texts = chosen(args.data, name, args.texts)
            model = f"{name}, {kind}"
            print(f"{model}: accuracy {accuracy(args.data, name, pipeline):.3f}", flush=True)
            for change in args.changes:
                for limit in args.limits:
                    runs += [
                        explained(model, box, text, change, limit, swaps, args.seconds)
                        for text in texts
                    ]
                    print(
                        row(f"{model}, {change}, {limit}", runs, (model, change, limit)), flush=True
                    )
            means = mean_values(args.data, name, pipeline)
            for explainer in args.explainers:
                if not (explainer in ("linear shap", "eli5 weights") and kind == "forest"):
                    # SHAP would lose two spaces
                    few = [" ".join(text.split()) for text in texts[: args.others]]
                    others += [
                        other(model, pipeline, box, text, explainer, means, args.seconds)
                        for text in few
                    ]
    table = report(runs, others)
    print(table)
    if args.out:
        Path(args.out).write_text(table, encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--data", default="../shared/data", help="folder with agnews, imdb, sst2 and synonyms"
    )
    parser.add_argument("--sets", nargs="+", default=list(LENGTHS), choices=list(LENGTHS))
    parser.add_argument("--models", nargs="+", default=["words", "words and pairs"])
    parser.add_argument("--changes", nargs="+", default=list(CHANGES), choices=list(CHANGES))
    parser.add_argument(
        "--limits", nargs="+", default=["3", "all"], help="at_most; all: any number"
    )
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--others", type=int, default=10, help="texts for the other explainers")
    parser.add_argument("--explainers", nargs="*", default=list(EXPLAINERS))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--out", help="the table")
    return parser.parse_args()


# --- data and models ---


def rows(data: str, name: str, part: str) -> list[tuple[str, int]]:
    with gzip.open(Path(data) / name / f"{part}.csv.gz", "rt", encoding="utf8", newline="") as file:
        return [(row["text"], int(row["label"])) for row in csv.DictReader(file)]


def chosen(data: str, name: str, count: int) -> list[str]:
    """Test texts of fitting length, evenly over the file."""
    low, high = LENGTHS[name]
    fitting = [text for text, _ in rows(data, name, "test") if low <= len(text.split()) <= high]
    return fitting[:: max(1, len(fitting) // count)][:count]


def substitutes(data: str) -> dict[str, list[str]]:
    with gzip.open(
        Path(data) / "synonyms" / "counterfitted_neighbors.json.gz", "rt", encoding="utf8"
    ) as file:
        found = json.load(file)
    return {
        w: [o if isinstance(o, str) else str(o[0]) for o in some][:SUBSTITUTES]
        for w, some in found.items()
    }


def trained(data: str, name: str, kind: str) -> Pipeline:
    train = rows(data, name, "train")[:TRAINED]
    steps: tuple[Any, Any]
    if kind == "forest":
        steps = CountVectorizer(min_df=3), RandomForestClassifier(100, random_state=0)
    else:
        orders = (1, 1) if kind == "words" else (1, 2)
        steps = (
            TfidfVectorizer(ngram_range=orders, min_df=orders[1]),
            LogisticRegression(max_iter=300),
        )
    return make_pipeline(*steps).fit(
        [text for text, _ in train], [str(label) for _, label in train]
    )


def accuracy(data: str, name: str, pipeline: Pipeline) -> float:
    test = rows(data, name, "test")[:2000]
    return float(
        (pipeline.predict([text for text, _ in test]) == np.array([str(y) for _, y in test])).mean()
    )


def mean_values(data: str, name: str, pipeline: Pipeline) -> Any:
    """What features are on average: the background of SHAP's Linear."""
    texts = [text for text, _ in rows(data, name, "train")[:1000]]
    return np.asarray(pipeline[0].transform(texts).mean(axis=0)).ravel()


# --- asking ---


def explained(
    model: str,
    box: Any,
    text: str,
    change: str,
    limit: str,
    swaps: dict[str, list[str]],
    seconds: float,
) -> Run:
    at_most = None if limit == "all" else int(limit)
    removal, swapping = CHANGES[change]
    made: Any = sf.Deletion(at_most=at_most)
    if swapping:
        made = (sf.RemoveOrSwap if removal else sf.WordSwap)(swaps, at_most=at_most)
    began = time.process_time()
    result = sf.explain(box, text, perturbation=made, seconds=seconds)
    cpu = time.process_time() - began
    gap = result.cost - result.lower_bound
    size = len(result.positions)
    print(
        f"  {len(result.text.words)} words, {result.status}, {size}, gap {gap:g}, {cpu:.2f} s",
        flush=True,
    )
    return Run(model, change, limit, len(result.text.words), result.status, size, gap, cpu)


def other(
    model: str, pipeline: Pipeline, box: Any, text: str, explainer: str, means: Any, seconds: float
) -> Other:
    read = box.read(text)
    label = box.predict(text).label
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held = EXPLAINERS[explainer](pipeline, read, label, means)
    cpu = time.process_time() - began
    verdict = sf.is_robust(box, text, held, perturbation=sf.Deletion(), seconds=seconds)
    return Other(model, explainer, len(held), cpu, type(verdict).__name__.lower())


def lime(pipeline: Pipeline, text: sf.Text, label: str, _: Any) -> Sequence[int]:
    from lime.lime_text import LimeTextExplainer

    labels = list(pipeline.classes_)
    explainer = LimeTextExplainer(class_names=labels, random_state=0)
    found = explainer.explain_instance(
        text.source, pipeline.predict_proba, labels=(labels.index(label),)
    )
    return adapters.from_lime(found, text, label, labels)


def partition(pipeline: Pipeline, text: sf.Text, label: str, _: Any) -> Sequence[int]:
    import shap

    labels = list(pipeline.classes_)
    predict = lambda texts: pipeline.predict_proba([str(one) for one in texts])  # noqa: E731
    explainer = shap.Explainer(
        predict, shap.maskers.Text(r"\s+"), output_names=labels, silent=True, seed=0
    )
    return adapters.from_shap(explainer([text.source])[0], text, label, labels)


def anchors(pipeline: Pipeline, text: sf.Text, label: str, _: Any) -> Sequence[int]:
    import spacy
    from anchor.anchor_text import AnchorText

    np.random.seed(0)
    labels = list(pipeline.classes_)
    explainer = AnchorText(spacy.blank("en"), labels, use_unk_distribution=True)
    found = explainer.explain_instance(
        text.source, lambda texts: pipeline.predict_proba(texts).argmax(1)
    )
    return adapters.from_anchor(found, text, label, labels)


def eli5_weights(pipeline: Pipeline, text: sf.Text, label: str, means: Any) -> Sequence[int]:
    return linear_shap(pipeline, text, label, 0.0 * means)


def linear_shap(pipeline: Pipeline, text: sf.Text, label: str, means: Any) -> Sequence[int]:
    """The ten words that add most to the label, each with the pairs it stands in: weight times
    value above `means`.
    """
    vectorizer = pipeline[0]
    model = pipeline[-1]
    rows = np.concatenate([-model.coef_, model.coef_]) if len(model.coef_) == 1 else model.coef_
    values = vectorizer.transform([text.source]).toarray()[0]
    added = (values - means) * rows[list(model.classes_).index(label)]
    names = vectorizer.get_feature_names_out()
    scores = dict.fromkeys(range(len(text.words)), 0.0)
    for place in np.flatnonzero(values):
        gram = set(names[place].split())
        for word in text.words:
            if word.text.lower() in gram:
                scores[word.position] += float(added[place]) / len(gram)
    best = sorted(scores, key=lambda i: -scores[i])[:10]
    return sorted(i for i in best if scores[i] > 0)


EXPLAINERS: dict[str, Callable[[Pipeline, sf.Text, str, Any], Sequence[int]]] = {
    "lime": lime,
    "partition shap": partition,
    "linear shap": linear_shap,
    "anchors": anchors,
    "eli5 weights": eli5_weights,
}


# --- the table ---


def row(name: str, runs: list[Run], key: tuple[str, str, str]) -> str:
    mine = [run for run in runs if (run.model, run.change, run.limit) == key]
    best = sum(run.status == "optimal" for run in mine)
    cpu = [run.cpu for run in mine]
    gaps = [run.gap for run in mine]
    size = statistics.mean(run.size for run in mine)
    words = statistics.median(run.words for run in mine)
    times = f"{statistics.median(cpu):.2f} / {max(cpu):.1f}"
    return (
        f"| {name} | {words:.0f} | {best} of {len(mine)} | {max(gaps):g} | {times} | {size:.1f} |"
    )


def report(runs: list[Run], others: list[Other]) -> str:
    lines = [
        (
            "| model, change, at most | words, median | optimal | largest gap | CPU s, median / "
            "max | mean size |"
        ),
        "|---|---|---|---|---|---|",
    ]
    keys = dict.fromkeys((run.model, run.change, run.limit) for run in runs)
    lines += [row(", ".join(key), runs, key) for key in keys]
    lines += [
        "",
        "| model, explainer | words, mean | CPU s, median | refuted | proved | open |",
        "|---|---|---|---|---|---|",
    ]
    for key in dict.fromkeys((other.model, other.explainer) for other in others):
        mine = [one for one in others if (one.model, one.explainer) == key]
        said = [
            sum(one.verdict == verdict for one in mine)
            for verdict in ("refuted", "proved", "unknown")
        ]
        size = statistics.mean(one.words for one in mine)
        cpu = statistics.median(one.cpu for one in mine)
        lines.append(
            f"| {', '.join(key)} | {size:.1f} | {cpu:.2f} | "
            f"{' | '.join(f'{n} of {len(mine)}' for n in said)} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
