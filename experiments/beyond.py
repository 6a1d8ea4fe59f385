"""Item 7: beyond the paper. Hulls beside boxes, real synonyms, six classes, and robustly trained
models.
"""

from __future__ import annotations

from experiments import asking
from experiments.explainers import ks
from experiments.plan import Model, Plan
from experiments.store import Job
from experiments.training import robust_models, trec


def jobs(plan: Plan) -> list[Job]:
    return [*robust(plan), *hulls(plan), *swaps(plan), *classes(plan)]


def hulls(plan: Plan) -> list[Job]:
    return [
        Job("beyond", asking.question(model.name, "hull", k, plan.texts, plan.seconds))
        for model in plan.pairs
        for k in ks(plan)
    ]


def swaps(plan: Plan) -> list[Job]:
    return [
        Job("beyond", asking.question(model.name, "swaps", 0, plan.texts, plan.seconds))
        for model in plan.pairs
    ]


def classes(plan: Plan) -> list[Job]:
    name = trec(plan).name
    return [
        Job("beyond", asking.question(name, "box", k, plan.texts, plan.seconds)) for k in plan.ks
    ]


def robust(plan: Plan) -> list[Job]:
    return [
        robust_job(plan, model, kind, size)
        for model in robust_models(plan)
        for kind, size in robust_sets(plan).values()
    ]


def robust_job(plan: Plan, model: Model, kind: str, size: int) -> Job:
    return Job(
        "beyond",
        asking.question(model.name, kind, size, plan.robust_texts, plan.seconds, of="tests"),
    )


def robust_sets(plan: Plan) -> dict[str, tuple[str, int]]:
    """What words may become: near words, which each model has its own, and synonyms, which are the
    same for all.
    """
    return {**{f"k = {k}": ("box", k) for k in ks(plan)}, "synonyms": ("swaps", 0)}


run = asking.run
