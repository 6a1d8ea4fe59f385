"""`suffice train`: read, train under a progress bar, save, say how good it is."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from suffice.errors import InputError
from suffice.train.card import model_card
from suffice.train.data import Data, prepare, read_rows
from suffice.train.fit import BAG_EPOCHS, Trained, needs_torch, train
from suffice.train.recipe import Recipe


def run_train(args: argparse.Namespace) -> tuple[str, str]:
    """`suffice train`: read, train under a progress bar, save; what came of it, and the command to
    try next.
    """
    recipe = Recipe(**{name: getattr(args, name) for name in Recipe.__slots__})
    _check_free(Path(args.out), args.force)
    needs_torch()  # a missing extra is said before the files are read
    data = prepare(
        [row for path in args.data for row in read_rows(path)],
        read_rows(args.dev) if args.dev else (),
        read_rows(args.more) if args.more else (),
        {_stem(path): read_rows(path) for path in args.test},
        args.labels.split(",") if args.labels else (),
        recipe.seed,
    )
    trained = _with_bar(data, recipe)
    trained.classifier.save(args.out)
    card = Path(args.out) / "README.md"
    kept = card.exists()
    if not kept:
        card.write_text(model_card(trained, recipe, args), encoding="utf-8", newline="\n")
    shares = ", ".join(
        f"{value:.1%} of the rows in {name}" for name, value in trained.accuracies.items()
    )
    before = ", whose README.md was there before and is as it was" if kept else ""
    next_command = f"suffice explain TEXT --model {shlex.quote(args.out)}"
    return f"Right on {shares}. Saved in {args.out}{before}. Try", next_command


def _check_free(folder: Path, force: bool) -> None:
    """Never over what is there, before any work is done."""
    if force or not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    raise InputError(
        f"{str(folder)!r} is there already: name another folder, or write over it with --force."
    )


def _with_bar(data: Data, recipe: Recipe) -> Trained:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("training", total=BAG_EPOCHS + recipe.epochs_over(len(data.train)))
        return train(
            data,
            recipe,
            lambda dev: progress.update(bar, advance=1, description=f"training, dev {dev:.3f}"),
        )


def _stem(path: str) -> str:
    return Path(path).name.split(".")[0]
