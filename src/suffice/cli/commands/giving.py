"""What all commands share: answers are saved and printed, and become exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from rich.console import Console

import suffice as sf
from suffice.cli import NEGATIVE, PROVED, UNDECIDED
from suffice.errors import InputError
from suffice.verbs.explanation import least_by

STATUS_CODES = {
    "optimal": PROVED,
    "infeasible": NEGATIVE,
    "sufficient": UNDECIDED,
    "tested": UNDECIDED,
    "unknown": UNDECIDED,
}


def give(args: argparse.Namespace, result: Any, show: Callable[[Console, Any], None]) -> None:
    """Save the certificate, then print the answer."""
    try:
        save_certificate(args.certificate, result.certificate)
    finally:
        print_answer(args, result, show)


def print_answer(
    args: argparse.Namespace, result: Any, show: Callable[[Console, Any], None]
) -> None:
    if args.json:
        print(result.to_json())
    else:
        show(Console(), result)


def save_certificate(path: str | None, certificate: sf.Certificate | None) -> None:
    if path is None:
        return
    if certificate is None:
        raise InputError(
            "There is no certificate to save: the answer was not proved by our own bounds."
        )
    certificate.save(path)


def errors() -> Console:
    return Console(stderr=True)


def code(result: sf.Explanation) -> int:
    """What an explanation exits with: what rests on the word of a solver or a method is
    not proved.
    """
    unproved = (
        result.status == "optimal" and "nothing" not in result.meta and least_by(result) != "proved"
    )
    return UNDECIDED if unproved else STATUS_CODES[result.status]


def refuse_costs(args: argparse.Namespace) -> None:
    if args.cost is not None:
        raise InputError(
            "Costs are of words that are held or changed, and do not matter here: leave --cost out."
        )
