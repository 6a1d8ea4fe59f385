"""Item 4: are the words of Anchors, LIME and SHAP enough? Their own packages, our verdict and the
least extension.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import suffice as sf
from experiments import asking
from experiments.plan import Plan, classifier, samples
from experiments.store import Job, Row, Settings
from suffice.verbs import adapters

EXPLAINERS = ("anchors", "lime", "shap")
THRESHOLD = 0.95  # the precision that an anchor is asked for, as is its default


def ks(plan: Plan) -> list[int]:
    return [k for k in plan.ks if k in (10, 25)] or list(plan.ks[:1])


def jobs(plan: Plan) -> list[Job]:
    """Each explainer, and anchors again with padding as a feature, as in the paper."""
    asked: list[dict[str, Any]] = [{"explainer": explainer} for explainer in EXPLAINERS]
    asked.append({"explainer": "anchors", "padding": "feature"})
    return [
        Job("explainers", {"model": model.name, **which, "ks": ks(plan), **limits(plan)})
        for which in asked
        for model in plan.pairs
        if model.data in plan.sets[:2]
    ]


def limits(plan: Plan) -> dict[str, Any]:
    return {
        "texts": plan.explainer_texts,
        "samples": plan.explainer_samples,
        "seconds": plan.explainer_seconds,
    }


def run(plan: Plan, settings: Settings) -> Row:
    model = classifier(plan.out, settings["model"])
    texts = samples(plan.data, settings["model"].split("-")[0])[: settings["texts"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of lime, shap, anchor and spacy
        answers = [answer(model, seen(model, text), settings) for text in texts]
    call = {
        "anchors": "AnchorText.explain_instance",
        "lime": "LimeTextExplainer.explain_instance",
        "shap": "Explainer",
    }
    return {
        "seed": asking.SEED,
        "command": f"{call[settings['explainer']]}, then sf.repair",
        "answers": answers,
    }


def how(settings: Settings) -> dict[str, Any]:
    return {"seconds": settings["seconds"], "padding": settings.get("padding", "fixed")}


def seen(model: sf.Classifier, text: str) -> str:
    """The words that the model reads, one space between: explainers may then name no word that it
    does not see.
    """
    read = model.read(text)
    return " ".join(read.tokens[: len(read.words)])


def answer(model: sf.Classifier, text: str, settings: Settings) -> Row:
    """What the explainer names, and for each k whether it suffices and what it lacks."""
    best = {
        k: sf.explain(model, text, perturbation=sf.KNNBox(k), **how(settings))
        for k in settings["ks"]
    }
    sizes = {k: max(1, len(found.positions)) for k, found in best.items()}
    started = time.perf_counter()
    try:
        named, precision = NAMED[settings["explainer"]](model, text, settings)
        given = {k: named(sizes[k]) for k in settings["ks"]}
    except (TimeoutError, sf.InputError) as error:
        return {"failed": type(error).__name__}
    taken = time.perf_counter() - started
    repairs = {
        str(k): repaired(model, text, given[k], k, len(best[k].positions), settings)
        for k in settings["ks"]
    }
    return {"time": taken, "precision": precision, "repairs": repairs}


def repaired(
    model: sf.Classifier, text: str, given: Sequence[int], k: int, best: int, settings: Settings
) -> Row:
    found = sf.repair(
        model, text, list(given), perturbation=sf.KNNBox(k), **how(settings), self_check=False
    )
    return {
        "given": len(given),
        "sufficed": found.sufficed,
        "added": len(found.added),
        "status": found.status,
        "best": best,
        "check": asking.checked(found, model),
    }


# --- the explainers: each gives a function from a number of words to positions, and a precision if
# it claims one ---

Named = tuple[Callable[[int], Sequence[int]], float | None]


def anchors(model: sf.Classifier, text: str, settings: Settings) -> Named:
    """The anchor whole, whatever its size; one that takes too long is given up."""
    import spacy
    from anchor.anchor_text import AnchorText

    np.random.seed(asking.SEED)
    until = time.monotonic() + settings["seconds"]

    def labels(texts: Sequence[str]) -> Any:
        if time.monotonic() > until:
            raise TimeoutError
        return scores(model, texts).argmax(-1)

    explainer = AnchorText(spacy.blank("en"), list(model.labels), use_unk_distribution=True)
    found = explainer.explain_instance(text, labels, threshold=THRESHOLD)
    read = model.read(text)
    held = adapters.from_anchor(found, read, model.predict(read).label, model.labels)
    return (lambda size: held), float(found.precision())


def lime(model: sf.Classifier, text: str, settings: Settings) -> Named:
    from lime.lime_text import LimeTextExplainer

    explainer = LimeTextExplainer(
        class_names=list(model.labels), random_state=asking.SEED, split_expression=r"\s+"
    )
    found = explainer.explain_instance(
        text,
        lambda texts: probabilities(model, texts),
        num_features=model.length,
        num_samples=settings["samples"],
    )
    read = model.read(text)
    label = model.predict(read).label
    return (lambda size: adapters.from_lime(found, read, label, model.labels, top=size)), None


def shap(model: sf.Classifier, text: str, settings: Settings) -> Named:
    import shap as package

    explainer = package.Explainer(
        lambda texts: probabilities(model, texts),
        package.maskers.Text(r"\s+"),
        output_names=list(model.labels),
        seed=asking.SEED,
    )
    found = explainer([text], max_evals=settings["samples"], silent=True)
    read = model.read(text)
    label = model.predict(read).label
    return (lambda size: adapters.from_shap(found, read, label, model.labels, top=size)), None


NAMED: dict[str, Callable[[sf.Classifier, str, Settings], Named]] = {
    "anchors": anchors,
    "lime": lime,
    "shap": shap,
}


def scores(model: sf.Classifier, texts: Sequence[str]) -> Any:
    """The outputs for many texts at once; a text without words is read as the unknown word."""
    rows = [model.read(text if text.strip() else model.unknown).indices for text in texts]
    return model.network.forward(model.table[np.array(rows)])


def probabilities(model: sf.Classifier, texts: Sequence[str]) -> Any:
    found = scores(model, texts)
    odds = np.exp(found - found.max(-1, keepdims=True))
    return odds / odds.sum(-1, keepdims=True)
