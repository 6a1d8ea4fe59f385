"""Asking `sf.explain` about many texts: one row of plain numbers per question, every certificate
checked.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import suffice as sf
from experiments.plan import Plan, classifier, samples, synonyms, tests
from experiments.store import Row, Settings

SEED = 0


def perturbation(plan: Plan, name: str, size: float, model: sf.Classifier) -> Any:
    """The set that a row names."""
    match name:
        case "box":
            return sf.KNNBox(int(size))
        case "hull":
            return sf.KNNHull(int(size))
        case "ball":
            return sf.EpsilonBall(size)
        case "swaps":
            return sf.WordSwap(known_swaps(plan, model))
        case _:
            raise ValueError(f"there is no set {name!r}")


def known_swaps(plan: Plan, model: sf.Classifier) -> dict[str, list[str]]:
    """The synonyms that the model knows: one it does not know would be read as <UNK>, not as a
    synonym.
    """
    known = model.lookup
    found = {
        word: [o for o in others if o in known]
        for word, others in synonyms(plan.data).items()
        if word in known
    }
    return {word: others for word, others in found.items() if others}


def question(
    model: str,
    set: str,
    size: float,
    texts: int,
    seconds: float,
    method: str = "search",
    padding: str = "fixed",
    of: str = "samples",
) -> dict[str, Any]:
    """The settings of a row that `run` answers."""
    return {
        "model": model,
        "set": set,
        "size": size,
        "method": method,
        "padding": padding,
        "of": of,
        "texts": texts,
        "seconds": seconds,
    }


def run(plan: Plan, settings: Settings) -> Row:
    """Explain the first texts of the model's data set."""
    model = classifier(plan.out, settings["model"])
    texts = texts_of(plan, settings, model)
    asked = perturbation(plan, settings["set"], settings["size"], model)
    # unmeasured: caches
    sf.explain(model, texts[0], perturbation=asked, padding=settings["padding"], seconds=5.0)
    answers = [ask(model, text, asked, settings) for text in texts]
    columns = {name: [answer[name] for answer in answers] for name in answers[0]}
    return {"seed": SEED, "command": command(settings), **columns}


def texts_of(plan: Plan, settings: Settings, model: sf.Classifier) -> Sequence[str]:
    data = settings["model"].split("-")[0]
    if settings["of"] == "samples":
        return samples(plan.data, data)[: settings["texts"]]
    return long_tests(plan, data, model, settings["texts"])


def long_tests(plan: Plan, data: str, model: sf.Classifier, count: int) -> list[str]:
    """Test texts with at least half as many words as the model reads."""
    found = (
        text
        for text, _ in tests(plan.data, data)
        if len(model.read(text).words) * 2 >= model.length
    )
    return [text for text, _ in zip(found, range(count), strict=False)]


def ask(model: sf.Classifier, text: str, asked: Any, settings: Settings, **more: Any) -> Row:
    """One answer as numbers: what was held, how sure, how long it took, and what the
    checker says.
    """
    started = time.perf_counter()
    result = sf.explain(
        model,
        text,
        perturbation=asked,
        padding=settings["padding"],
        method=settings["method"],
        seconds=settings["seconds"],
        seed=SEED,
        self_check=False,  # it is checked below, outside the time
        **more,
    )
    taken = time.perf_counter() - started
    return {
        "time": taken,
        "status": result.status,
        "positions": list(result.positions),
        "words": len(result.text.words),
        "features": len(result.text.words) if settings["padding"] == "fixed" else model.length,
        "lower": finite(result.lower_bound),
        "label": result.label,
        "check": checked(result, model),
    }


def finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def checked(result: Any, model: sf.Classifier) -> str:
    """What the independent checker says of a certificate: what it proves, "rejected", or "none"
    without one.
    """
    if result.certificate is None:
        return "none"
    try:
        return str(sf.check(result.certificate, model).kind)
    except (sf.Rejected, sf.NotACertificate):
        return "rejected"


def command(settings: Settings) -> str:
    """The same question at the command line, for one text."""
    option = {"box": "--knn-box", "hull": "--knn-hull", "ball": "--eps", "swaps": "--swaps"}[
        settings["set"]
    ]
    size = "SYNONYMS.json" if settings["set"] == "swaps" else f"{settings['size']:g}"
    words = [
        "suffice explain TEXT --model",
        f"experiments/out/models/{settings['model']}",
        option,
        size,
    ]
    words += ["--padding", settings["padding"], "--method", settings["method"]]
    return " ".join([*words, "--seconds", f"{settings['seconds']:g}", "--seed", str(SEED)])


# --- what rows say ---


def lengths(row: Row) -> list[int]:
    return [len(held) for held in row["positions"]]


def shares(row: Row) -> tuple[float, float, float]:
    """How many explanations are empty, the whole text, and in between."""
    sizes = list(zip(lengths(row), row["features"], strict=True))
    empty = sum(size == 0 for size, _ in sizes) / len(sizes)
    full = sum(size == whole and size > 0 for size, whole in sizes) / len(sizes)
    return empty, full, 1 - empty - full


def solved(row: Row) -> int:
    """How many answers are proved optimal; one whose certificate is rejected is not (`sf.explain`
    calls it unknown).
    """
    pairs = zip(row["status"], row["check"], strict=True)
    return sum(status == "optimal" and said != "rejected" for status, said in pairs)
