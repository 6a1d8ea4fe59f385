"""Item 3: boxes around the k nearest words, padding fixed and as a feature, over
lengths and kinds.
"""

from __future__ import annotations

from experiments import asking
from experiments.explainers import ks
from experiments.plan import Model, Plan
from experiments.store import Job

# the data set whose texts fill the middle length, so that there is no padding to tell of
LONG = "imdb"


def jobs(plan: Plan) -> list[Job]:
    found = [(model, "fixed", k) for model in [*plan.pairs, *longer(plan)] for k in plan.ks]
    found += [(model, "feature", k) for model in plan.pairs if model.data != LONG for k in plan.ks]
    found += [(model, "feature", k) for model in longer(plan)[-1:] for k in ks(plan)]
    order = sorted(
        found,
        key=lambda asked: (
            plan.sets.index(asked[0].data),
            asked[0].length,
            asked[0].kind == "cnn",
            asked[1] == "feature",
        ),
    )
    return [
        Job(
            "boxes",
            asking.question(model.name, "box", k, plan.texts, plan.seconds, padding=padding),
        )
        for model, padding, k in order
    ]


def longer(plan: Plan) -> list[Model]:
    """The last data set, whose texts are long, at other lengths: FC and CNN at the next one, FC
    beyond.
    """
    lengths = [length for length in plan.lengths if length > plan.mid]
    return [
        Model(plan.sets[-1], kind, length)
        for place, length in enumerate(lengths)
        for kind in ("fc", "cnn")
        if kind == "fc" or place == 0
    ]


run = asking.run
