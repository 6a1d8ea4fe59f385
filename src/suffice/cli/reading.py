"""Reading what was given: texts, files of costs and substitutes, sets, and the question that they
make together.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import suffice as sf
from suffice.errors import InputError
from suffice.importers.named import load_any
from suffice.model.packed import unpacked
from suffice.sets.perturbations import BundledCounterparts, BundledSubstitutes, Perturbation
from suffice.sets.table import KINDS
from suffice.verbs.question import Question

# what options mean where they are not given: those that say what is asked, and those that say how
# long it may take
ASKED: Mapping[str, Any] = {
    "norm": math.inf,
    "at_most": None,
    "cost": None,
    "padding": "fixed",
    "include": [],
    "exclude": [],
    "method": "search",
    "oracle": "bounds",
}
LIMITS = {"seconds": 60.0, "seed": 0, "max_queries": None, "confidence": None, "cache": None}
STEPS = {
    "k": (5, 10, 15, 25),
    "eps": (0.1, 0.2, 0.4, 0.8),
    "at_most": (1, 2, 3),
}  # of a profile where none are named


def check_folders(*paths: str | None) -> None:
    """Refuse output files that could not be written, before any work is done."""
    for path in paths:
        if path is not None and not Path(path).resolve().parent.is_dir():
            raise InputError(f"There is no folder to write {path!r} into.")


def read_text(given: str | None) -> str:
    """The text itself, or standard input for "-", without the line end that a command such as
    `echo` adds.
    """
    if given is None:
        raise InputError("Give a text, or --question FILE.")
    if given == "-":
        try:
            return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise InputError(
                f"Standard input is not UTF-8: byte {error.start} cannot be decoded."
            ) from error
    if any("\udc80" <= char <= "\udcff" for char in given):
        raise InputError("The text is not UTF-8: it holds bytes that cannot be decoded.")
    return given


def read_json(path: str, what: str) -> Mapping[str, Any]:
    """A JSON object from a file, plain or gzip-compressed."""
    try:
        data = json.loads(unpacked(Path(path)), object_pairs_hook=_each_once)
    except InputError:
        raise
    except RecursionError as error:
        raise InputError(
            f"The {what} file {path!r} holds lists within lists without end."
        ) from error
    except ValueError as error:
        raise InputError(f"The {what} file {path!r} is not JSON: {error}.") from error
    if not isinstance(data, dict):
        kind = "a question" if what == "question" else "words and their values"
        raise InputError(
            f"The {what} file {path!r} must hold a JSON object with {kind}, not "
            f"{type(data).__name__}."
        )
    return data


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a name that comes twice is refused, as one of its two values would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(
            f"{next(name for name in names if names.count(name) > 1)!r} is in it twice"
        )
    return found


def check_limits(args: argparse.Namespace) -> None:
    """A limit that is none is refused at once: not by each of many texts, and not by another
    program.
    """
    from suffice.proof.check.limits import Limit

    Limit.of(args.seconds)
    if getattr(args, "workers", 1) < 1:
        raise InputError(
            f"The number of workers must be a whole number of at least 1, not {args.workers}."
        )


def read_costs(path: str | None) -> Mapping[str, float] | None:
    return None if path is None else read_json(path, "cost")


def question(args: argparse.Namespace, **more: Any) -> Question:
    """The question that the options make, or the one that a file holds."""
    classifier = load_any(args.model)
    if args.question is None:
        return Question(
            classifier, read_text(args.text), more=more, **settings(args), **_asked(args)
        )
    if args.text is not None:
        raise InputError("Give a text or --question FILE, not both.")
    _refuse_another(args)
    saved = Question.from_dict(read_json(args.question, "question"), classifier)
    limits = {
        name: vars(args)[name]
        for name, usual in LIMITS.items()
        if vars(args).get(name, usual) != usual
    }
    return replace(saved, more={**saved.more, **more}, **limits)


def _refuse_another(args: argparse.Namespace) -> None:
    """A saved question is asked as it was saved: options may say how long that may take, not what
    is asked.
    """
    sets = [
        kind.flag.name for kind in KINDS if kind.flag is not None and _given(args, kind.flag.name)
    ]
    rest = [
        f"--{name.replace('_', '-')}"
        for name, usual in ASKED.items()
        if vars(args).get(name, usual) != usual
    ]
    if sets or rest:
        raise InputError(
            f"--question FILE holds the whole question: leave {' and '.join((*sets, *rest))} out."
        )


def settings(args: argparse.Namespace) -> dict[str, Any]:
    """What every question about words has in common."""
    return {
        "perturbation": perturbation(args),
        "cost": read_costs(args.cost),
        "padding": args.padding,
        "seconds": args.seconds,
        "seed": args.seed,
        **asking(args),
    }


def asking(args: argparse.Namespace) -> dict[str, Any]:
    """What is said of black boxes, where something is."""
    given = {name: getattr(args, name, None) for name in ("max_queries", "cache", "confidence")}
    return {name: value for name, value in given.items() if value is not None}


def _asked(args: argparse.Namespace) -> dict[str, Any]:
    """What only some commands take."""
    return {
        name: getattr(args, name)
        for name in ("include", "exclude", "method", "oracle")
        if hasattr(args, name)
    }


def perturbation(args: argparse.Namespace) -> Perturbation:
    """The perturbation set that the options name; removal or substitutes when they name none."""
    if args.norm != math.inf and args.eps is None:
        raise InputError("--norm goes with --eps.")
    named = [
        kind.flag.name for kind in KINDS if kind.flag is not None and _given(args, kind.flag.name)
    ]
    if len(named) > 1 and named != ["--deletion", "--swaps"]:
        raise InputError(
            f"Name one set: {' and '.join(named)} do not go together (--deletion and --swaps do)."
        )
    limit = args.at_most
    match named:
        case ["--deletion", "--swaps"]:
            return sf.RemoveOrSwap(read_json(args.swaps, "swaps"), at_most=limit)
        case ["--swaps"]:
            return sf.WordSwap(read_json(args.swaps, "swaps"), at_most=limit)
        case ["--deletion"]:
            return sf.Deletion(at_most=limit)
        case ["--mask"]:
            return sf.Mask(args.mask or None, at_most=limit)
        case ["--eps"]:
            return sf.EpsilonBall(args.eps, args.norm, at_most=limit)
        case ["--knn-box"]:
            return sf.KNNBox(args.knn_box, at_most=limit)
        case ["--knn-hull"]:
            return sf.KNNHull(args.knn_hull, at_most=limit)
        case _:
            kind = BundledCounterparts if hasattr(args, "protected") else BundledSubstitutes
            return kind(at_most=limit)


def _given(args: argparse.Namespace, flag: str) -> bool:
    value = getattr(args, flag.removeprefix("--").replace("-", "_"))
    return value is not None and value is not False


def growing(
    given: Perturbation, named: str | None
) -> tuple[Callable[[Any], Perturbation], list[float]]:
    """What grows in a profile, and its steps: the radius or k of the set, else the words at once.

    A size given with the set is one of the steps; so is a limit on how many words change at once.
    """
    match given:
        case sf.EpsilonBall() | sf.KNNBox() | sf.KNNHull():
            number, name = (float, "eps") if isinstance(given, sf.EpsilonBall) else (int, "k")
        case _:
            number = int
            name = "at_most"
    own = getattr(given, name)
    steps = _steps(named, number) or list(STEPS[name])
    return partial(_grown, given, name), sorted({*steps, *([] if own is None else [own])})


def _grown(given: Any, name: str, size: float) -> Perturbation:
    grown: Perturbation = replace(given, **{name: size})
    return grown


def _steps(given: str | None, number: Callable[[str], float]) -> list[float]:
    try:
        return [number(part) for part in (given or "").split(",") if part.strip()]
    except ValueError as error:
        raise InputError(
            f"--steps takes numbers with commas between them, not {given!r}."
        ) from error
