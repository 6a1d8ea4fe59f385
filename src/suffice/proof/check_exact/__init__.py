"""A second checker of certificates: standard library only, rational numbers, no rounding to believe in.

    python -m check_exact proof.cert model/

Written from docs/certificate.md, not from the other checker. The folder may be copied out and run alone: its modules
import each other and Python's own library, nothing else. It is slow. Every number is a fraction. Where a bound would
need a root or a long quotient, a fraction on the safe side of it is taken. The one place for doubles is the rule for
nearest words, which the format defines by them. Networks with smooth curves and black boxes are not checked by it.

Read it in this order: rationals.py and reading.py (numbers, lines), model.py, tokens.py and folder.py (the model),
words.py and inputs.py (over which texts a proof speaks), units.py, chosen.py and leaf.py (bounds), question.py,
points.py, trees.py and claims.py (the certificate).

Why what it accepts is true, from the end to the beginning: a claim needs its evidence, and a tree both sides of every
cut. Each leaf is decided by `Leaf`: a lower bound of the margin, carried back unit by unit to the input with lines that
are below or above what a unit gives. There `Inputs` has the least value of a linear form over the texts that are meant,
and `Word` has what a word may become. Before that, files are read.

Exit codes: 0 the certificate proves its claim, 1 it does not, 2 the files are no certificate or no model of the formats
known here, 3 not checked by this one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .claims import prove
from .folder import load
from .model import Model
from .question import read_question
from .reading import MALFORMED, Evidence, NotForThis, Reject, Unreadable, read_lines

__all__ = ["Model", "NotForThis", "Reject", "Unreadable", "check", "load", "main", "read_lines"]


def check(certificate: bytes | Iterable[Any], model: Model) -> dict[str, Any]:
    """The header of a certificate (its bytes or its lines) that proves its claim; or Reject says why not."""
    evidence = Evidence(read_lines(certificate) if isinstance(certificate, bytes) else iter(certificate))
    try:
        return accepted(evidence, model)
    except Reject as error:
        raise Reject(f"line {evidence.number}: {error}") from None
    except MALFORMED as error:
        raise Reject(f"line {evidence.number}: malformed ({type(error).__name__}: {str(error)[:200]})") from error


def accepted(evidence: Evidence, model: Model) -> dict[str, Any]:
    """The header, once everything after it proves its claim."""
    head: dict[str, Any] = evidence.next()
    asked = read_question(head, model)
    prove(head["claim"], asked, evidence)
    evidence.end()
    return head


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print(__doc__)
        return 2
    try:
        head = check(Path(arguments[0]).read_bytes(), load(arguments[1]))
    except (Reject, Unreadable, NotForThis, OSError) as error:
        print(f"Rejected: {error}" if isinstance(error, Reject) else error)
        return {Reject: 1, NotForThis: 3}.get(type(error), 2)
    print(f"Proved, in rational numbers, for the model {head['model'][:16]}:")
    for name in ("text", "label", "perturbation", "features", "claim"):
        print(f"  {name}: {json.dumps(head[name], ensure_ascii=False)}")
    return 0
