"""The model's folder: its files, their digest, and the model that they make."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import struct
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from .model import Model
from .rationals import exact
from .reading import CODES, MALFORMED, NotForThis, Unreadable
from .tokens import reads_by

Matrix: TypeAlias = tuple[int, list[dict[int, float]]]  # how wide, and of each row the entries that are not zero
Tensor: TypeAlias = tuple[tuple[int, ...], tuple[float, ...]]  # its shape and its numbers


class Files(NamedTuple):
    """What the files of a folder say; nothing of it is believed yet."""

    head: dict[str, Any]
    reader: str  # of Hugging Face's tokenizers, else empty
    words: list[str]
    embedding: Tensor
    weights: list[Matrix]
    biases: list[tuple[float, ...]]


def load(folder: str | Path) -> Model:
    """The model of a folder, once its digest is the one that its files have."""
    try:
        files = read_files(Path(folder))
        if digest(files) != files.head["digest"]:
            raise ValueError("its digest does not match its files")
        need_fit(files)
        return assembled(files)
    except (OSError, *MALFORMED) as error:
        raise Unreadable(f"This is not a model folder: {type(error).__name__}: {error}") from error


def read_files(folder: Path) -> Files:
    head = json.loads((folder / "classifier.json").read_text(encoding="utf-8"))
    if head["format"] != 2:
        raise ValueError(f"it has format {head['format']!r}; format 2 is read here")
    if any(head.get("curves", [])):
        raise NotForThis("The network has smooth curves: not checked by this one.")
    words = (folder / "vocabulary.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    described = reads_by(head) == "hugging-face"
    reader = (folder / "tokenizer.json").read_text(encoding="utf-8") if described else ""
    tensors = safetensors((folder / "weights.safetensors").read_bytes())
    weights = [matrix(tensors, f"step{k}.weight") for k in range(len(head["relu"]))]
    biases = [tensors[f"step{k}.bias"][1] for k in range(len(weights))]
    return Files(head, reader, words, tensors["embedding"], weights, biases)


def safetensors(data: bytes) -> dict[str, Tensor]:
    """Name to shape and numbers: eight bytes of length, a JSON header, then the numbers, little-endian."""
    start, found = 8 + int.from_bytes(data[:8], "little"), {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            layout = f"<{math.prod(entry['shape'])}{CODES[entry['dtype']]}"
            found[name] = tuple(entry["shape"]), struct.unpack(layout, data[start + begin : start + end])
    return found


def matrix(tensors: Mapping[str, Any], name: str) -> Matrix:
    """A matrix that is stored in full or as compressed rows."""
    if name in tensors:
        (_, width), numbers = tensors[name]
        starts = range(0, len(numbers), width)
        return width, [{j: float(v) for j, v in enumerate(numbers[i : i + width]) if v} for i in starts]
    data, indices, indptr, shape = (tensors[f"{name}.{part}"][1] for part in ("data", "indices", "indptr", "shape"))
    ranges = [range(begin, end) for begin, end in itertools.pairwise(indptr)]
    return shape[1], [dict(sorted((indices[at], float(data[at])) for at in mine if data[at])) for mine in ranges]


def digest(files: Files) -> str:
    """SHA-256 over the parts that the format names, each after its length."""
    head, words = files.head, files.words
    reading = {name: head[name] for name in ("format", "length", "pad", "unknown", "tokenizer")}
    units = {"labels": head["labels"], "relu": [sorted(units) for units in head["relu"]]}
    units |= {"maxima": head["maxima"]} if any(head.get("maxima", [])) else {}
    before, after = (json.dumps(part, sort_keys=True) for part in (reading, units))
    texts = [before, files.reader, str(len(words)), *words, after]
    parts = [text.encode("utf-8", "surrogatepass") for text in texts] + array_parts(*files.embedding)
    for weight, bias in zip(files.weights, files.biases, strict=True):
        parts += [*matrix_parts(*weight), *array_parts((len(bias),), bias)]
    return hashlib.sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest()


def matrix_parts(width: int, rows: list[dict[int, float]]) -> list[bytes]:
    """The parts of a matrix, which is summed up as compressed rows where it is large and mostly zero."""
    counts, shape = [len(row) for row in rows], (len(rows), width)
    if math.prod(shape) < 250_000 or sum(counts) * 10 >= math.prod(shape):
        return array_parts(shape, (row.get(j, 0.0) for row in rows for j in range(width)))
    starts, columns = packed("q", itertools.accumulate(counts, initial=0)), packed("q", itertools.chain(*rows))
    values = packed("d", (weight for row in rows for weight in row.values()))
    return [repr(shape).encode(), b"sparse", starts, columns, values]


def array_parts(shape: tuple[int, ...], numbers: Iterable[float]) -> list[bytes]:
    return [repr(shape).encode(), packed("d", (float(v) + 0.0 for v in numbers))]


def packed(code: str, numbers: Iterable[float]) -> bytes:
    listed = list(numbers)
    return struct.pack(f"<{len(listed)}{code}", *listed)


def need_fit(files: Files) -> None:
    """The steps follow each other, and every score and every vector has one name of its own."""
    (count, size), _ = files.embedding
    sizes, labels, words = [len(bias) for bias in files.biases], files.head["labels"], files.words
    shapes = [(len(rows), width) for width, rows in files.weights]
    if shapes != list(zip(sizes, [files.head["length"] * size, *sizes[:-1]], strict=True)):
        raise ValueError("its steps do not fit together")
    if not len({*labels}) == len(labels) == sizes[-1] > 1 or not len({*words}) == len(words) == count:
        raise ValueError("labels and words must be different, one for each score and for each row of the embedding")


def assembled(files: Files) -> Model:
    """The same with units numbered over all steps."""
    head, ((_, size), numbers) = files.head, files.embedding
    table = [tuple(map(float, numbers[i * size : (i + 1) * size])) for i in range(len(files.words))]
    ends = [0, *itertools.accumulate(map(len, files.biases))]
    steps, befores = list(itertools.starmap(range, itertools.pairwise(ends))), [-files.weights[0][0], *ends[:-2]]
    each = zip(files.weights, befores, strict=True)
    rows = [{j + before: Fraction(v) for j, v in row.items()} for (_, mine), before in each for row in mine]
    relu = [step[unit] for step, units in zip(steps, head["relu"], strict=True) for unit in units]
    maxima = zip(steps, head.get("maxima", [[]] * len(steps)), strict=True)
    groups = [[step[unit] for unit in group] for step, listed in maxima for group in listed]
    bent = [*relu, *itertools.chain(*groups)]
    if len({*bent}) != len(bent) or not {*steps[-1]}.isdisjoint(bent) or not all(groups):
        raise ValueError("a unit has two activations, or a score has one")
    lookup, bias = {word: place for place, word in enumerate(files.words)}, exact(itertools.chain(*files.biases))
    home = {unit: group for group in groups for unit in group}
    return Model(head, lookup, table, steps, rows, bias, frozenset(relu), home)
