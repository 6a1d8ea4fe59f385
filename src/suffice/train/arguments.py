"""The options of `suffice train`, apart from the trainer, which `suffice --help` need not load."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from suffice.train import robust as robustly
from suffice.train.recipe import EPOCHS, Recipe


def add_train_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `suffice train`."""
    plain = Recipe()
    _add_files(parser.add_argument)
    _add_shape(parser.add_argument, plain)
    _add_learning(parser.add_argument, plain)
    _add_rows(parser.add_argument)


def _add_files(add: Callable[..., Any]) -> None:
    """What is learned from, and where the classifier goes."""
    add(
        "data",
        nargs="+",
        metavar="DATA.csv",
        help="training rows (text,label; .csv or .csv.gz); a file given twice counts twice",
    )
    add("--out", required=True, metavar="FOLDER", help="where the classifier is saved")
    add("--force", action="store_true", help="write over a folder that is there")


def _add_shape(add: Callable[..., Any], plain: Recipe) -> None:
    """How large the network is."""
    add(
        "--kind",
        choices=("fc", "cnn"),
        default=plain.kind,
        help="fully connected, or a convolution over a grid of words",
    )
    add(
        "--length",
        type=int,
        default=plain.length,
        help="words the classifier sees (default %(default)s)",
    )
    add(
        "--dimension",
        type=int,
        default=plain.dimension,
        help="size of the embedding (default %(default)s)",
    )
    add(
        "--hidden",
        type=_sizes,
        default=plain.hidden,
        metavar="N,N",
        help="hidden sizes (default 32,16)",
    )
    add("--filters", type=int, default=plain.filters, help="cnn: filters (default %(default)s)")
    add(
        "--window",
        type=int,
        default=plain.window,
        help="cnn: side of a filter (default %(default)s)",
    )


def _add_learning(add: Callable[..., Any], plain: Recipe) -> None:
    """How it learns."""
    add(
        "--epochs",
        type=int,
        help=f"times over the data (default {EPOCHS}, more where rows are few)",
    )
    add(
        "--seed",
        type=int,
        default=plain.seed,
        help="the same seed gives the same weights (default %(default)s)",
    )
    add(
        "--drop",
        type=float,
        default=plain.drop,
        help="share of words hidden in training (default %(default)s)",
    )
    add(
        "--noise",
        type=float,
        default=plain.noise,
        help="how much embeddings are shaken (default %(default)s)",
    )
    add(
        "--no-shift",
        dest="shift",
        action="store_false",
        help="texts always start at the first position",
    )
    add(
        "--words",
        type=int,
        default=plain.words,
        help="most words in the vocabulary (default %(default)s)",
    )
    add(
        "--robust",
        default=plain.robust,
        metavar="EPS|knn:K[:SHARE]",
        help="also learn the worst case over boxes of radius EPS around the words, or around the K "
        "nearest words, as "
        f"this share of the loss (default {robustly.SHARE:g}): explanations get shorter, with "
        "a large share at some "
        "accuracy",
    )


def _add_rows(add: Callable[..., Any]) -> None:
    """More rows, and what labels are called."""
    add(
        "--more",
        metavar="FILE",
        help="more rows with these labels, of which only the words are learned",
    )
    add("--dev", metavar="FILE", help="rows to choose the epoch by (default: a tenth of DATA)")
    add(
        "--test",
        action="append",
        default=[],
        metavar="FILE",
        help="rows to report accuracy on; may be repeated",
    )
    add("--labels", metavar="A,B", help="names of the labels 0, 1, ... (default: as in the file)")


def _sizes(given: str) -> tuple[int, ...]:
    return tuple(int(size) for size in given.split(",") if size)
