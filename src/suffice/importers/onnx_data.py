"""ONNX files with the numbers that exporters put beside them: `<file>.data`, and no other file.

Both are a stranger's. What a tensor declares (where its numbers begin, how many bytes they are) is
compared with its own shape and with the file's size before anything is read. The numbers of two
tensors never overlap, so that no more is read than there is.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, TypeAlias

from suffice.errors import ModelError

Model: TypeAlias = Any  # onnx.ModelProto
Tensor: TypeAlias = Any  # onnx.TensorProto
MOST_BYTES = 2**31 - 1  # of a file with its numbers: what protobuf can hold
WHOLE = re.compile(r"[0-9]{1,15}", re.ASCII)  # no sign, and nothing beyond any file
SIZES = {
    1: 4,
    11: 8,
    10: 2,
    16: 2,
    9: 1,  # float, double, float16, bfloat16, bool
    3: 1,
    5: 2,
    6: 4,
    7: 8,
    2: 1,
    4: 2,
    12: 4,
    13: 8,  # int8 to int64, uint8 to uint64
}  # bytes of a number, by ONNX's numbers of kinds
BESIDE = "give the file's name, with its numbers beside it"
INLINE = (
    "write it into one file with torch.onnx.export(..., external_data=False) or "
    "onnx.save(onnx.load(old), new)"
)


@dataclass(frozen=True)
class Range:
    """Where the numbers of a tensor stand in the file beside the model."""

    start: int
    size: int
    tensor: Tensor

    @property
    def end(self) -> int:
        return self.start + self.size


def read_model(onnx: Any, path: Path) -> Model:
    """The model in a file with all its numbers inside, those that lie in `<file>.data` included."""
    if not path.is_file():
        raise ModelError(f"There is no file {str(path)!r}.")
    try:
        model = onnx.load_model_from_string(path.read_bytes())
    except OSError as error:
        raise ModelError(f"The file {str(path)!r} cannot be read: {error.strerror}.") from error
    except Exception as error:  # of protobuf
        raise damaged(path, error) from error
    outside = [tensor for tensor in model.graph.initializer if _is_outside(onnx, tensor)]
    if outside:
        _take_in(outside, path)
    refuse_outside(onnx, model, INLINE)
    return model


def damaged(path: Path, error: Exception) -> ModelError:
    return ModelError(
        f"{path.name} is not an ONNX file, or damaged: {' '.join(str(error).split())}"
    )


def refuse_outside(onnx: Any, model: Model, instead: str) -> None:
    """Numbers that lie in another file are taken from beside the model's file, and only there."""
    for tensor in tensors(model):
        if _is_outside(onnx, tensor):
            raise ModelError(
                f"The numbers of {_name(tensor)} lie in another file, which is not read: {instead}."
            )


def attributes(model: Model) -> Iterator[Any]:
    """The attributes of all nodes, those of functions and of graphs inside nodes included."""
    waiting = [model.graph, *model.functions]
    while waiting:
        for node in waiting.pop().node:
            for item in node.attribute:
                yield item
                waiting += [graph for graph in (item.g, *item.graphs) if graph.node]


def tensors(model: Model) -> Iterator[Tensor]:
    """All numbers that a model holds or names, wherever in it."""
    yield from model.graph.initializer
    for item in attributes(model):
        for graph in (item.g, *item.graphs):
            yield from graph.initializer
        yield from (item.t, *item.tensors)


def _is_outside(onnx: Any, tensor: Tensor) -> bool:
    return bool(tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data)


def _name(tensor: Tensor) -> str:
    return tensor.name[:80] or "a constant"


# --- the file beside it ---


def _take_in(outside: list[Tensor], path: Path) -> None:
    """The numbers of these tensors into the tensors themselves."""
    name = f"{path.name}.data"
    found = [_range(tensor, name) for tensor in outside]
    with _beside(path, name) as file:
        size = os.fstat(file.fileno()).st_size
        _refuse_ranges(found, name, size)
        for one in found:
            file.seek(one.start)
            data = file.read(one.size)
            if len(data) != one.size:
                raise ModelError(f"{name} became shorter while it was read.")
            one.tensor.raw_data = data
            one.tensor.ClearField("external_data")
            one.tensor.ClearField("data_location")


def _range(tensor: Tensor, name: str) -> Range:
    """What a tensor says of where its numbers are, once it fits its own shape and the file."""
    given = [(entry.key, entry.value) for entry in tensor.external_data]
    said = dict(given)
    who = f"The numbers of {_name(tensor)}"
    if len(said) != len(given) or not said.keys() <= {"location", "offset", "length", "checksum"}:
        keys = ", ".join(key[:40] for key, _ in given[:8])
        raise ModelError(f"{who} are said to lie elsewhere by {keys}, which is not understood.")
    if said.get("location") != name:
        place = said.get("location", "")[:80]
        raise ModelError(
            f"{who} lie in {place!r}, and of other files only {name!r} beside this one is "
            "read: if the "
            f"files were renamed give them their old names back, else {INLINE}."
        )
    for key in ("offset", "length"):
        if key in said and not WHOLE.fullmatch(said[key]):
            raise ModelError(
                f"{who} have the {key} {said[key][:40]!r}, which is no place in a file."
            )
    if (
        tensor.data_type not in SIZES
        or tensor.HasField("segment")
        or any(n < 0 for n in tensor.dims)
    ):
        shape = tuple(tensor.dims)[:8]
        raise ModelError(
            f"{who} are of kind {tensor.data_type} and shape {shape}, which is not read from "
            "another file."
        )
    size = math.prod(tensor.dims) * SIZES[tensor.data_type]
    if "length" in said and int(said["length"]) != size:
        raise ModelError(
            f"{who} take {size} bytes by their shape, but {said['length']} are declared."
        )
    return Range(int(said.get("offset", 0)), size, tensor)


def _refuse_ranges(found: list[Range], name: str, size: int) -> None:
    """Each inside the file, and none over another: then all together are no more than the file."""
    for one in found:
        if one.end > size:
            raise ModelError(
                f"The numbers of {_name(one.tensor)} end at byte {one.end} of {name}, which has "
                f"{size} bytes: it is cut off, or belongs to another model."
            )
    filled = sorted((one for one in found if one.size), key=lambda one: one.start)
    for one, after in pairwise(filled):
        if one.end > after.start:
            names = f"{_name(one.tensor)} and {_name(after.tensor)}"
            raise ModelError(f"The numbers of {names} overlap in {name}, which no exporter writes.")
    total = sum(one.size for one in found)
    if total > MOST_BYTES:
        raise ModelError(
            f"The numbers in {name} take {total} bytes; at most {MOST_BYTES} are read."
        )


@contextmanager
def _beside(path: Path, name: str) -> Iterator[IO[bytes]]:
    """The file of this name in the model's own folder: an ordinary file, and no link to another."""
    place = path.parent / name
    flags = os.O_RDONLY
    for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):  # not all of them are known everywhere
        flags |= getattr(os, flag, 0)
    try:
        plain = stat.S_ISREG(place.lstat().st_mode)
        number = os.open(place, flags) if plain else None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelError(
            f"{path.name} has its numbers in {name}, which cannot be read beside it: {reason}."
        ) from error
    if number is None:
        raise ModelError(f"{name} is a link or no ordinary file: put the file itself there.")
    with os.fdopen(number, "rb") as file:
        seen = os.fstat(number)
        if not stat.S_ISREG(seen.st_mode) or seen.st_nlink != 1:
            raise ModelError(f"{name} has a second name elsewhere (a hard link): put a copy there.")
        yield file
