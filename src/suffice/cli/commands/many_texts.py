"""Questions about many texts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from rich.console import Console

import suffice as sf
from suffice.cli import NEGATIVE, PROVED, UNDECIDED, reading
from suffice.cli.commands.giving import errors, refuse_costs
from suffice.importers.named import load_any

Command = Callable[[argparse.Namespace], int]


def stoppable(command: Command) -> Command:
    """Ctrl-C ends a long run with one line: what is done is on the disk."""

    @wraps(command)
    def run(args: argparse.Namespace) -> int:
        try:
            return command(args)
        except KeyboardInterrupt:
            print("suffice: stopped; the same command goes on where this one was", file=sys.stderr)
            return UNDECIDED

    return run


@stoppable
def batch(args: argparse.Namespace) -> int:
    from suffice.corpus.batch import explained_rows
    from suffice.corpus.running import Run, keep
    from suffice.corpus.summary import Tally
    from suffice.render import auditors

    reading.check_folders(args.summary)
    reading.check_limits(args)
    for read in (args.texts, args.out):
        keep(read, args.summary)
    classifier = load_any(args.model)
    tally = Tally()
    with auditors.bar(errors(), "explaining") as on_row:
        run = Run(args.out, args.certificates, args.workers, args.engine, args.fresh, on_row)
        for row in explained_rows(classifier, args.texts, run, **reading.settings(args)):
            tally.add(row.line)
    summary = tally.summary()
    if args.summary:
        Path(args.summary).write_text(
            json.dumps(summary.to_dict(), indent=2) + "\n", encoding="utf-8"
        )
    auditors.show_summary(errors(), summary, args.out)
    return _cleared(summary.lacking)


@stoppable
def audit(args: argparse.Namespace) -> int:
    from suffice.corpus.audit import read_protected
    from suffice.render import auditors

    reading.check_folders(args.report)
    reading.check_limits(args)
    refuse_costs(args)
    classifier = load_any(args.model)
    with auditors.bar(errors(), "auditing") as on_row:
        found = sf.audit(
            classifier,
            args.texts,
            read_protected(args.protected),
            report=args.report,
            perturbation=reading.perturbation(args),
            compare=args.compare,
            recheck=args.recheck,
            padding=args.padding,
            seconds=args.seconds,
            workers=args.workers,
            engine=args.engine,
            fresh=args.fresh,
            on_row=on_row,
            **reading.asking(args),
        )
    auditors.show_audit(Console(), found, args.report)
    cleared = _cleared(found.lacking)
    return NEGATIVE if any(_fails(found, kind) for kind in args.fail_on) else cleared


def _cleared(lacking: str) -> int:
    """No success without something proved: what is lacking is said where no report or summary hides
    it.
    """
    if not lacking:
        return PROVED
    print(f"suffice: {lacking}", file=sys.stderr)
    return UNDECIDED


def _fails(found: Any, kind: str) -> bool:
    match kind:
        case "dependent":
            return bool(found.overall.dependent)
        case "unknown":
            return bool(found.overall.unknown)
        case "error":
            return bool(found.errors)
        case _:
            return found.comparison is not None and any(
                one.worse for one in found.comparison.changed
            )
