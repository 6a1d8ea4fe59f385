"""Models: what they know, making them, and the page that serves them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console

import suffice as sf
from suffice.cli import PROVED
from suffice.importers.named import load_any
from suffice.model.saved import bundled, load
from suffice.render import terminal
from suffice.render.layout import say, show_command


def words(args: argparse.Namespace) -> int:
    from suffice.verbs.neighbours import every_set

    classifier = load_any(args.model)
    found = every_set(classifier, args.word)
    if args.json:
        print(
            json.dumps(
                {name: list(others) for name, others in found.items()}, indent=2, ensure_ascii=False
            )
        )
    else:
        terminal.show_words(Console(), args.word, found, bool(classifier.read(args.word).unknown))
    return PROVED


def models(args: argparse.Namespace) -> int:
    found = [(name, load(name)) for name in bundled()]
    if args.json:
        print(json.dumps([{"name": name, **_facts(model)} for name, model in found], indent=2))
    else:
        terminal.show_models(Console(), [(name, _facts(model)) for name, model in found])
    return PROVED


def _facts(model: sf.Classifier) -> Mapping[str, Any]:
    return {
        "labels": list(model.labels),
        "length": model.length,
        "dimension": model.dimension,
        "vocabulary": len(model.vocabulary),
        "weights": model.network.weights,
        "relus": model.network.relus,
        "digest": model.digest,
        "meta": dict(model.meta),
    }


def serve(args: argparse.Namespace) -> int:
    from suffice.web import serve

    serve(args.host, args.port, args.model, args.workers, args.allow_host)
    return PROVED


def train(args: argparse.Namespace) -> int:
    from suffice.train.command import run_train

    return _done(*run_train(args))


def bring_in(args: argparse.Namespace) -> int:
    from suffice.importers.command import run_import

    return _done(*run_import(args))


def _done(what: str, command: str) -> int:
    """What was made, and the command to try next."""
    say(Console(), what)
    show_command(Console(), command)
    return PROVED
