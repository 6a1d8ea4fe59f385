"""Item 3: boxes around the k nearest words, padding fixed and as a feature, over lengths and kinds."""

from __future__ import annotations

from experiments import asking
from experiments.plan import Model, Plan
from experiments.store import Job


def longer(plan: Plan) -> list[Model]:
    """The same data at other lengths: where the texts are long enough for it to matter, FC and CNN."""
    lengths = [length for length in plan.lengths if length > plan.mid]
    return [
        Model(plan.sets[-1], kind, length)
        for length in lengths
        for kind in ("fc", "cnn")
        if length <= 50 or kind == "fc"
    ]


def jobs(plan: Plan) -> list[Job]:
    pairs = [(model, padding) for model in plan.pairs for padding in ("fixed", "feature")]
    pairs += [(model, "fixed") for model in longer(plan)]
    return [
        Job("boxes", asking.question(model.name, "box", k, plan.texts, plan.seconds, padding=padding))
        for model, padding in pairs
        for k in plan.ks
    ]


run = asking.run
