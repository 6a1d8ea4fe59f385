"""Item 2: balls of radius ε around every word, by the two published algorithms and by ours."""

from __future__ import annotations

from experiments import asking
from experiments.plan import Model, Plan
from experiments.store import Job

METHODS = ("search", "hs", "msa")


def models(plan: Plan) -> list[Model]:
    """FC and CNN of the first data set, and FC of the others."""
    return [model for model in plan.pairs if model.kind == "fc" or model.data == plan.sets[0]]


def jobs(plan: Plan) -> list[Job]:
    return [
        Job(
            "balls",
            asking.question(model.name, "ball", eps, plan.slow_texts, plan.slow_seconds, method),
        )
        for model in models(plan)
        for eps in plan.eps
        for method in METHODS
    ]


run = asking.run
