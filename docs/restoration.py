"""Draws docs/images/restoration.svg: how an attack is undone, word by word, and the bound that is proved.

python docs/restoration.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Problem
from suffice.search.restoration import stamina, strongest

import suffice as sf
from suffice.model.network import Floats
from suffice.verbs.question import Question

matplotlib.use("svg")
import matplotlib.pyplot as plt

TEXT = "the plot is thin but the cast is so warm and so funny that i left the cinema happy , humming and wide awake"


def restored(problem: Problem, start: Floats, order: list[int]) -> list[float]:
    """The margin after 0, 1, 2, … words of `order` are put back."""
    point, margins = start.copy(), []
    for word in [None, *order]:
        if word is not None:
            point[word] = problem.center[word]
        margins.append(float(problem.margins(point[None]).min()))
    return margins


def main() -> None:
    classifier = sf.load("sst-fc25")
    box = sf.KNNBox(25)
    question = Question(classifier, TEXT, perturbation=box)
    problem, words = question.problem, np.flatnonzero(question.problem.features)
    result = sf.explain(classifier, TEXT, perturbation=box)
    attacks = strongest(BoundsOracle(problem).attacker, problem.features, 12, seed=0)
    rivals = problem.margins(attacks).argmin(-1)
    undone = stamina(
        problem,
        attacks,
        rivals,
        np.repeat(problem.features[None], len(attacks), 0),
        question.costs.units,
    )
    start, best = attacks[int(undone.cost.argmax())], undone.order[int(undone.cost.argmax())]
    rng = np.random.default_rng(0)
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for _ in range(60):
        axes.plot(restored(problem, start, list(rng.permutation(words))), color="0.75", lw=0.8)
    greedy = [*best, *(w for w in words if w not in best)]
    axes.plot(
        restored(problem, start, greedy), color="#1d4ed8", lw=2.2, label="most helpful word first"
    )
    axes.axhline(0, color="0.2", lw=1)
    axes.axvline(
        result.cost,
        color="#b45309",
        ls="--",
        label=f"proved: fewer than {result.cost:g} words never undo it",
    )
    axes.set(xlabel="words put back", ylabel="lead of the label", xlim=(0, len(words)))
    axes.set_title(
        "An attack, undone word by word (grey: 60 random orders)", loc="left", fontsize=10
    )
    axes.legend(frameon=False, loc="upper left")
    target = Path(__file__).parent / "images" / "restoration.svg"
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main()
