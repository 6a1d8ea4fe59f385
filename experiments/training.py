"""Item 1: the models. Each is made by the command `suffice train` that its row names."""

from __future__ import annotations

import argparse
import contextlib
import io
import shlex
import time
from dataclasses import asdict, replace
from typing import Any

import suffice as sf
from experiments.plan import NOISE, SOURCES, Model, Plan
from experiments.store import Job, Settings
from suffice.train.arguments import add_train_arguments
from suffice.train.card import weights
from suffice.train.command import run_train
from suffice.train.recipe import Recipe

TREC_LENGTH = 15


def models(plan: Plan) -> list[Model]:
    """Every length with three layers, and every depth at the middle length; first those that other
    items need.
    """
    kinds = [(data, kind) for data in plan.sets for kind in ("fc", "cnn")]
    found = [*plan.pairs, trec(plan), *robust_models(plan)]
    found += [Model(data, kind, length) for data, kind in kinds for length in plan.lengths]
    found += [Model(data, kind, plan.mid, depth) for data, kind in kinds for depth in plan.depths]
    return list(dict.fromkeys(found))


def trec(plan: Plan) -> Model:
    return Model("trec", "fc", TREC_LENGTH)


def robust_models(plan: Plan) -> list[Model]:
    """The trade-off: from ordinary training to the largest share of large boxes, with several
    seeds.
    """
    return [
        replace(
            trec(plan) if data == "trec" else Model(data, "fc", plan.mid),
            **way._asdict(),
            seed=seed,
        )
        for data in plan.robust_data
        for seed in plan.robust_seeds
        for way in plan.robust
    ]


def job(plan: Plan, model: Model) -> Job:
    return Job("training", {**asdict(model), "epochs": epochs(plan, model), "words": plan.words})


def jobs(plan: Plan) -> list[Job]:
    return [job(plan, model) for model in models(plan)]


def epochs(plan: Plan, model: Model) -> int:
    return plan.epochs or SOURCES[model.data].epochs


def run(plan: Plan, settings: Settings) -> dict[str, Any]:
    """Train, save below out/models, and measure."""
    model = Model(**{name: settings[name] for name in Model.__dataclass_fields__})
    words = options(model, settings)
    parser = argparse.ArgumentParser()
    add_train_arguments(parser)
    args = parser.parse_args([*words, "--out", str(plan.out / "models" / model.name)])
    args.data = [str(plan.data / path) for path in args.data]
    args.test = [str(plan.data / path) for path in args.test]
    args.dev = str(plan.data / args.dev) if args.dev else None
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        run_train(args)
    taken = time.perf_counter() - started
    recipe = Recipe(**{name: getattr(args, name) for name in Recipe.__slots__})
    return {
        "seconds": taken,
        "seed": model.seed,
        "command": command(words, model),
        **measured(plan, model, recipe),
    }


def measured(plan: Plan, model: Model, recipe: Recipe) -> dict[str, Any]:
    found = sf.load(plan.out / "models" / model.name)
    return {
        "name": model.name,
        "accuracy": found.meta["accuracy"]["test"],
        "dev": found.meta["accuracy"]["dev"],
        "rows": found.meta["rows"]["train"],
        "parameters": weights(found, recipe),
        "relus": found.network.relus,
        "digest": found.digest,
    }


def options(model: Model, settings: Settings) -> list[str]:
    """The words of the command, files as they are below the data folder."""
    source = SOURCES[model.data]
    words = [*source.train, "--kind", model.kind, "--length", str(model.length)]
    words += ["--hidden", ",".join(map(str, model.hidden)), "--epochs", str(settings["epochs"])]
    words += [
        "--words",
        str(settings["words"]),
        "--seed",
        str(model.seed),
        "--labels",
        source.labels,
    ]
    words += ["--window", str(model.window)] if model.kind == "cnn" else []
    words += ["--robust", model.robust] if model.robust else []
    words += ["--noise", f"{model.noise:g}"] if model.noise != NOISE else []
    words += [] if source.shift else ["--no-shift"]
    words += ["--dev", source.dev] if source.dev else []
    return [*words, "--test", source.test]


def command(words: list[str], model: Model) -> str:
    return shlex.join(["suffice", "train", *words, "--out", f"models/{model.name}"])
