"""Fuzz of files from strangers: bytes changed at random; nothing but an error of ours may come of
it.

python -m tests.hostile.test_hostile_fuzz 2000        (so many files of each kind)
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import suffice as sf
from suffice.corpus.rows import read_rows
from suffice.errors import SufficeError
from suffice.importers.named import load_any
from suffice.proof.certificate import Certificate
from tests.forging import forged

TEXT = "a good film"
TIMES = 60


def answered(texts: list[str]) -> Any:
    return np.array([[0.5, float("good" in text)] for text in texts])


def asked(**more: Any) -> sf.BlackBox:
    return sf.from_function(answered, ["no", "yes"], "m", version="1", **more)


def altered(data: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes are others, a part is gone, or there twice."""
    made = bytearray(data)
    a, b = sorted(int(i) for i in rng.integers(0, len(made) + 1, 2))
    match int(rng.integers(4)):
        case 0:
            del made[a:b]
        case 1:
            made[a:a] = made[a:b][:10_000]
        case 2:
            del made[a:]
        case _:
            for place in rng.integers(0, len(made), int(rng.integers(1, 9))):
                made[place] = int(rng.integers(256))
    return bytes(made)


def files(folder: Path) -> dict[str, tuple[bytes, str, Callable[[Path], Any]]]:
    """A good file of each kind, what it is called, and who reads it."""
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(
        [TEXT, "bad"], ["yes", "no"]
    )
    skops.io.dump(pipeline, folder / "m.skops")
    asked(cache=folder / "answers").predict(TEXT)
    with sqlite3.connect(folder / "answers") as base:
        base.execute("vacuum")
    certificate = sf.explain(asked(), TEXT, perturbation=sf.Deletion()).certificate
    assert certificate is not None
    import gzip

    rows = b'text,label\n"a, b",yes\nc,no\n' * 20
    return {
        "csv": (rows, "t.csv", lambda path: list(read_rows(path))),
        "csv.gz": (gzip.compress(rows), "t.csv.gz", lambda path: list(read_rows(path))),
        "jsonl": (b'{"text": "a b"}\n' * 20, "t.jsonl", lambda path: list(read_rows(path))),
        "skops": (
            (folder / "m.skops").read_bytes(),
            "m.skops",
            lambda path: load_any(path).predict(TEXT),
        ),
        "answers": (
            (folder / "answers").read_bytes(),
            "a",
            lambda path: asked(cache=path).predict(TEXT),
        ),
        "certificate": (certificate.data, "c", lambda path: sf.check(path, asked(), seconds=5)),
    }


def tried(kind: str, count: int, seed: int, folder: Path) -> Counter[str]:
    """How many altered files of a kind were read, and how many refused; anything else is raised."""
    data, name, read = files(folder)[kind]
    found = Counter[str]()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        (folder / "x").mkdir(exist_ok=True)
        path = folder / "x" / name
        path.write_bytes(altered(data, rng))
        try:
            read(path)
            found["read"] += 1
        except SufficeError:
            found["refused"] += 1
        except BaseException as error:
            raise AssertionError(
                f"{kind}, seed {seed}, file {number}: {type(error).__name__}: {error}"
            ) from error
    return found


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "skops", "answers", "certificate"])
def test_altered_files_raise_nothing_but_errors_of_ours(kind, tmp_path):
    assert tried(kind, TIMES, 0, tmp_path).total() == TIMES


def lines(count: int, seed: int) -> Counter[str]:
    """Certificates with something changed in one line."""
    box = asked()
    honest = sf.explain(box, TEXT, perturbation=sf.Deletion()).certificate
    assert honest is not None
    found = Counter[str]()
    for number in range(count):
        what, made = forged(list(honest.lines), np.random.default_rng([seed, number]))
        try:
            sf.check(Certificate(tuple(made)), box, seconds=5)
            found["read"] += 1
        except SufficeError:
            found["refused"] += 1
        except BaseException as error:
            raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    return found


def test_altered_lines_raise_nothing_but_errors_of_ours():
    assert lines(300, 0).total() == 300


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        for each in ("csv", "csv.gz", "jsonl", "skops", "answers", "certificate"):
            print(each, dict(tried(each, int(sys.argv[1]), 1, Path(made))), flush=True)
    print("lines", dict(lines(int(sys.argv[1]), 1)), flush=True)
