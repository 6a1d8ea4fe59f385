"""Records what every question is answered, or says what has changed.

    python -m tests.recordings.record            # what differs from the recording; the exit code is
    1 if anything does python -m tests.recordings.record --write    # a new recording: the commit
    says why it had to change

A row holds the digest of the answer as data, the SHA-256 of its certificates (but for the digest of
the model, which is told of the model alone), what was worked (counts, no seconds) and, of
functions, the digest of the texts in the order in which they were asked. Certificates hold numbers
that depend on the machine's arithmetic (its BLAS), so their bytes are compared where the recording
was made on such a machine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy
import sklearn

import suffice as sf
from tests.recordings.questions import Asked, everything

RECORDED = Path(__file__).with_name("recorded.json")
NOT_ANSWERS = (
    "stats",
    "meta",
    "seconds",
    "certificate",
    "verdict_certificate",
)  # clocks, versions; bytes are apart


def machine() -> str:
    """What numbers may depend on, as a digest."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((line for line in lines if line.startswith("model name")), platform.processor())
    parts = [
        model,
        np.__version__,
        scipy.__version__,
        sklearn.__version__,
        platform.python_version(),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def row(asked: Asked) -> dict[str, Any]:
    """What is recorded of one question."""
    found = asked.answer()
    answers = found if isinstance(found, list) else [found]
    with mock.patch.object(sf.Certificate, "summary", _summary):
        data = [answer.to_dict() for answer in answers]
    kept = [_plain(answer) for answer in data]
    first = kept[0] if kept else {}
    said = {
        name: first[name]
        for name in ("status", "positions", "cost", "lower_bound")
        if name in first
    }
    texts = (
        {} if asked.texts is None else {"texts": len(asked.texts), "order": _digest(asked.texts)}
    )
    return {
        **said,
        "answers": len(kept),
        "answer": _digest(kept),
        "certificates": [c["sha256"] for c in _certificates(data)],
        "work": _work(answers),
        **texts,
    }


def _summary(certificate: sf.Certificate) -> dict[str, Any]:
    """In place of `Certificate.summary`: the digest of the file without that of the model."""
    head, *rest = certificate.lines
    return {"sha256": sf.Certificate(({**head, "model": ""}, *rest)).digest}


def _plain(data: Any) -> Any:
    """The answer without clocks, versions and digests; numbers to six digits, as the last bits are
    the machine's.
    """
    if isinstance(data, dict):
        return {name: _plain(value) for name, value in data.items() if name not in NOT_ANSWERS}
    if isinstance(data, list):
        return [_plain(value) for value in data]
    return float(f"{data:.6g}") if isinstance(data, float) else data


def _certificates(data: Any) -> Iterator[dict[str, Any]]:
    """The summaries of all certificates in an answer."""
    if isinstance(data, dict):
        if "sha256" in data:
            yield data
        for value in data.values():
            yield from _certificates(value)
    elif isinstance(data, list):
        for value in data:
            yield from _certificates(value)


def _work(answers: list[Any]) -> dict[str, int]:
    """What was done for all answers together, which the last one says."""
    return dict(answers[-1].stats["work"]) if answers else {}


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def differences(old: dict[str, Any], new: dict[str, Any], same_machine: bool) -> list[str]:
    """What has changed in one row, named."""
    names = [name for name in sorted({*old, *new}) if name != "certificates" or same_machine]
    return [
        f"{name}: {old.get(name)} -> {new.get(name)}"
        for name in names
        if old.get(name) != new.get(name)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="a new recording")
    parser.add_argument("--only", default="", help="questions whose name holds this")
    args = parser.parse_args()
    rows = {asked.name: row(asked) for asked in everything() if args.only in asked.name}
    if args.write:
        data = {"machine": machine(), "rows": rows}
        RECORDED.write_text(json.dumps(data, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{len(rows)} questions recorded")
        return 0
    before = recorded()
    same = before["machine"] == machine()
    changed = 0
    for name, new in rows.items():
        found = differences(before["rows"].get(name, {}), new, same)
        changed += bool(found)
        for line in found:
            print(f"{name}: {line}")
    said = (
        "bytes of certificates compared"
        if same
        else "another machine: bytes of certificates not compared"
    )
    print(f"{len(rows)} questions, {changed} changed ({said})")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
