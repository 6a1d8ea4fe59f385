"""Item 6: how explanations grow with ε, what sparse attacks bring to hitting sets, and every
optimal explanation.
"""

from __future__ import annotations

import time
from typing import Any

import suffice as sf
from experiments import asking
from experiments.plan import Model, Plan, classifier, samples
from experiments.store import Job, Settings
from suffice.optimise.published.hs import hitting_sets
from suffice.verbs.engines import single_threaded, task
from suffice.verbs.question import Question
from suffice.verify.contract import Budget
from suffice.verify.solvers import make_oracle

MOST = 200  # optimal explanations listed of one text


def jobs(plan: Plan) -> list[Job]:
    return [*balls(plan), *sparse(plan), *every(plan)]


def balls(plan: Plan) -> list[Job]:
    return [
        Job("growth", asking.question(model.name, "ball", eps, plan.texts, plan.seconds))
        for model in plan.pairs
        for eps in plan.growth_eps
    ]


def sparse(plan: Plan) -> list[Job]:
    """One row per text and setting, because each may take the whole limit."""
    models = [Model(plan.sets[0], "fc", plan.mid).name]
    return [
        Job(
            "growth",
            {
                "sparse": on,
                "model": model,
                "k": plan.ks[1 % len(plan.ks)],
                "text": text,
                "seconds": plan.sparse_seconds,
            },
        )
        for model in models
        for text in range(plan.sparse_texts)
        for on in (True, False)
    ]


def every(plan: Plan) -> list[Job]:
    """All optimal explanations of each text, one row per model."""
    return [
        Job(
            "growth",
            {
                "every": model.name,
                "k": plan.ks[1 % len(plan.ks)],
                "texts": plan.texts,
                "seconds": plan.seconds,
            },
        )
        for model in plan.pairs
        if model.data == plan.sets[0]
    ]


def run(plan: Plan, settings: Settings) -> dict[str, Any]:
    if "sparse" in settings:
        return run_sparse(plan, settings)
    return run_every(plan, settings) if "every" in settings else asking.run(plan, settings)


def run_sparse(plan: Plan, settings: Settings) -> dict[str, Any]:
    """Hitting sets with or without sparse attacks; the longest test texts' kind, where rounds are
    many.
    """
    model = classifier(plan.out, settings["model"])
    data = settings["model"].split("-")[0]
    text = asking.long_tests(plan, data, model, settings["text"] + 1)[-1]
    started = time.perf_counter()
    with single_threaded():
        question = Question(model, text, perturbation=sf.KNNBox(settings["k"]))
        work = task(question, Budget(settings["seconds"]), None)
        found = hitting_sets(
            work, make_oracle("bounds", question.problem), sparse=settings["sparse"]
        )
    return {
        "seed": asking.SEED,
        "command": "suffice.search.hitting.hitting_sets(task, oracle, sparse=...)",
        "time": time.perf_counter() - started,
        "finished": found.finished,
        "rounds": found.stats["queries"],
        "lower": found.lower,
        "upper": found.upper,
    }


def run_every(plan: Plan, settings: Settings) -> dict[str, Any]:
    """How many optimal explanations each text has."""
    model = classifier(plan.out, settings["every"])
    texts = samples(plan.data, settings["every"].split("-")[0])[: settings["texts"]]
    counts = []
    accepted = 0
    for text in texts:
        found = sf.explain_all(
            model,
            text,
            perturbation=sf.KNNBox(settings["k"]),
            seconds=settings["seconds"],
            self_check=False,
        )
        listed = [result for result, _ in zip(found, range(MOST), strict=False)]
        counts.append(len(listed))
        accepted += sum(asking.checked(result, model) == "cheapest" for result in listed)
    command = (
        f"suffice explain TEXT --all --model experiments/out/models/{settings['every']} --knn-box "
        f"{settings['k']}"
    )
    return {"seed": asking.SEED, "command": command, "counts": counts, "accepted": accepted}
