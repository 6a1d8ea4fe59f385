"""The card of a trained model: what it is, how good, and how to make it again."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from suffice.model.classifier import Classifier
from suffice.train.arguments import add_train_arguments
from suffice.train.fit import Trained
from suffice.train.recipe import Recipe


def _command(args: argparse.Namespace) -> str:
    """The command that gives the same weights again: every option that is not the default."""
    parser = argparse.ArgumentParser()
    add_train_arguments(parser)
    parts = ["suffice", "train", *args.data]
    for name, value in vars(args).items():
        if name in Recipe.__slots__ and value != parser.get_default(name):
            parts += _option(name, value)
    for name in ("more", "dev", "labels"):
        parts += [f"--{name}", getattr(args, name)] if getattr(args, name) else []
    for path in args.test:
        parts += ["--test", path]
    return shlex.join([*parts, "--out", args.out])


def _option(name: str, value: Any) -> list[str]:
    if name == "shift":
        return ["--no-shift"]
    return [f"--{name}", ",".join(map(str, value)) if name == "hidden" else str(value)]


def shape(classifier: Classifier, recipe: Recipe) -> str:
    """The layers in short, such as 125-32-16-2."""
    sizes = "-".join(str(size) for size in (*recipe.hidden, len(classifier.labels)))
    if recipe.kind == "fc":
        return f"{classifier.network.inputs}-{sizes}"
    rows, columns = recipe.grid
    return (
        f"{rows}×{columns} grid, {recipe.filters} filters {recipe.window}×{recipe.window}, dense "
        f"{sizes}"
    )


def weights(classifier: Classifier, recipe: Recipe) -> int:
    """Weights and biases that were trained, the embedding not counted."""
    shared = recipe.filters * (recipe.dimension * recipe.window**2 + 1)
    steps = classifier.network.steps[recipe.kind == "cnn" :]
    return sum(step.dense().size + step.bias.size for step in steps) + (
        shared if recipe.kind == "cnn" else 0
    )


def model_card(trained: Trained, recipe: Recipe, args: argparse.Namespace) -> str:
    """README.md of a trained folder: what it is, how good, and how to make it again."""
    classifier = trained.classifier
    counts = classifier.meta["rows"]
    return CARD.format(
        name=Path(args.out).name,
        kind=recipe.kind,
        labels=", ".join(classifier.labels),
        length=recipe.length,
        layers=shape(classifier, recipe),
        weights=weights(classifier, recipe),
        relus=classifier.network.relus,
        dimension=recipe.dimension,
        words=len(classifier.vocabulary),
        digest=classifier.digest,
        rows="\n".join(
            f"| {n} | {counts[n]:,} | {value:.4f} |" for n, value in trained.accuracies.items()
        ),
        command=_command(args),
    )


CARD = """\
# {name}

A classifier (kind {kind}) of texts into {labels}, by their first {length} words.

- Layers: {layers}; {weights:,} weights (embedding not counted), {relus} relus.
- Embedding: {dimension} dimensions, {words:,} words, learned with the task.
- Digest: `{digest}`

| rows | count | accuracy |
| --- | --- | --- |
{rows}

The epoch was chosen on dev. Training rows with the same words as a dev or test row were left out.

## Made by

```
{command}
```
"""
