"""The command line: parse, delegate, print, exit code.

Exit codes: 0 answered with proof; 1 answered in the negative (infeasible, rejected); 2 bad input or
misuse, with one line on standard error; 3 undecided within the limit.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache

from suffice.cli.output import as_utf8, lasting
from suffice.errors import SufficeError

PROVED = 0
NEGATIVE = 1
MISUSE = 2
UNDECIDED = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; every expected failure is one line on standard error and exit code 2."""
    try:
        with lasting():
            return _run(_loaded()().parse_args(argv))
    except SufficeError as error:
        return _complain(str(error))
    except KeyboardInterrupt:
        print("suffice: stopped before it was done", file=sys.stderr)
        return UNDECIDED
    except OSError as error:
        where = "" if error.filename is None else f": {error.filename}"
        return _complain(f"{error.strerror or error}{where}")


def _run(args: argparse.Namespace) -> int:
    if getattr(args, "json", False):
        as_utf8(sys.stdout)
    command: Callable[[argparse.Namespace], int] = args.run
    return command(args)


@cache
def _loaded() -> Callable[[], argparse.ArgumentParser]:
    """What makes the parser, with all that the commands share.

    Nothing of it is garbage, so none is looked for, now or later. BLAS threads that have nothing to
    do sleep after 2**20 ticks of the clock, not 2**26: our products are small, and waiting took a
    tenth of a second of processor.
    """
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")  # read when NumPy is loaded
    gc.disable()
    from suffice.cli.parser import build_parser

    gc.freeze()
    gc.enable()
    return build_parser


def _complain(message: str) -> int:
    from suffice.render.phrases import visible  # a message may quote a file, or what a program said

    print(f"suffice: {visible(' '.join(message.split()))}", file=sys.stderr)
    return MISUSE
