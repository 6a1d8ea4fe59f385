"""The command line: parse, delegate, print, exit code.

Exit codes: 0 answered with proof; 1 answered in the negative (infeasible, rejected); 2 bad input or misuse, with
one line on standard error; 3 undecided within the limit.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from suffice.errors import SufficeError

PROVED, NEGATIVE, MISUSE, UNDECIDED = 0, 1, 2, 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; every expected failure is one line on standard error and exit code 2."""
    args = _loaded()().parse_args(argv)
    _any_text(sys.stdout, getattr(args, "json", False))
    command: Callable[[argparse.Namespace], int] = args.run
    try:
        return command(args)
    except SufficeError as error:
        return _complain(str(error))
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (the reader went away; so do we, quietly)
        return PROVED
    except OSError as error:
        return _complain(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))


@cache
def _loaded() -> Callable[[], argparse.ArgumentParser]:
    """What makes the parser, with all that the commands share.

    Nothing of it is garbage, so none is looked for, now or later. BLAS threads that have nothing to do sleep after
    2**20 ticks of the clock, not 2**26: our products are small, and waiting took a tenth of a second of processor.
    """
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")  # read when NumPy is loaded
    gc.disable()
    from suffice.cli.parser import build_parser

    gc.freeze()
    gc.enable()
    return build_parser


def _any_text(stream: Any, json: bool) -> None:
    """Let any text out of a stream that is not UTF-8: JSON as UTF-8, for people with question marks."""
    encoding = getattr(stream, "encoding", None) or "utf-8"  # a StringIO has none and takes anything
    if encoding.lower().replace("-", "") != "utf8" and hasattr(stream, "reconfigure"):
        stream.reconfigure(**({"encoding": "utf-8"} if json else {"errors": "replace"}))


def _complain(message: str) -> int:
    from suffice.render.phrases import visible  # a message may quote a file, or what a program said

    print(f"suffice: {visible(' '.join(message.split()))}", file=sys.stderr)
    return MISUSE
