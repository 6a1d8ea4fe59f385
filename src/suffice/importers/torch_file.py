"""A file of torch.export.save, read here entry by entry: `torch.export.load` would run code that a
file brings along.

The archive holds JSON (a list of operators), plain numbers, and things that are not needed. Every
entry and every operator must be on a list of known ones; nothing is unpickled, evaluated or looked
up by a name outside of that list. What comes out is a module that applies the operators one after
the other.
"""

from __future__ import annotations

import json
import math
import pickletools
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ModelError

Json: TypeAlias = Any
Array: TypeAlias = NDArray[Any]
MODEL = "models/model.json"
TABLES = {
    "data/weights/": ("data/weights/model_weights_config.json", r"weight_\d+"),
    "data/constants/": ("data/constants/model_constants_config.json", r"tensor_\d+"),
}
# What an archive may hold beside these: none of it is read, but for the order of bytes.
UNREAD = (
    "data/sample_inputs/model.pt|archive_format|archive_version|byteorder|.data/version|"
    ".data/serialization_id"
)
ENTRIES = re.compile(
    "|".join(
        [re.escape(MODEL), *(f"{re.escape(c)}|{f}{n}" for f, (c, n) in TABLES.items()), UNREAD]
    )
)
KINDS = {
    1: "u1",
    2: "i1",
    3: "<i2",
    4: "<i4",
    5: "<i8",
    7: "<f4",
    8: "<f8",
    12: "?",
}  # PyTorch's numbers of types
HALF = (6, 13)
STRIDED = 7
# Arguments that say where and how numbers lie in memory, which is ours to decide.
PLACING = ("device", "layout", "pin_memory", "memory_format", "non_blocking")
# What makes constants, and what is made of operators that are known.
MORE = {
    *(
        "zeros",
        "ones",
        "full",
        "arange",
        "zeros_like",
        "ones_like",
        "full_like",
        "new_zeros",
        "new_ones",
        "new_full",
    ),
    *(
        "scalar_tensor",
        "eye",
        "linspace",
        "rnn_tanh",
        "rnn_relu",
        "hardswish",
        "log_sigmoid",
        "log_softmax",
        "glu",
    ),
    *(
        "embedding_bag",
        "_embedding_bag",
        "_embedding_bag_forward_only",
        "einsum",
        "_log_softmax",
        "fill",
    ),
    *("mT", "movedim", "swapaxes", "hstack", "vstack", "tile", "roll", "baddbmm"),
}
NEVER = {
    "empty",
    "empty_strided",
    "empty_permuted",
    "_local_scalar_dense",
}  # whatever lies in memory, and choices
# What a file of weights alone names: an ordered dict of tensors.
OF_WEIGHTS = re.compile(
    r"collections OrderedDict|torch._utils _rebuild_(tensor_v2|parameter)|torch \w+Storage"
)
LONGEST_PICKLE = 2**24  # bytes that are looked at to say what a .pt file is


class Loaded(NamedTuple):
    """A module that computes what the file says, and how many words a text has, if the file says
    it.
    """

    module: Any
    length: int | None


@dataclass(frozen=True)
class Saved:
    """One operator: what it is applied to (names, or plain values), and the names of
    what it gives.
    """

    operator: Callable[..., Any]
    positional: tuple[Json, ...]
    named: Mapping[str, Json]
    gives: tuple[str, ...]
    several: bool


class Name(str):
    """Stands for the value of that name."""


def read_file(torch: Any, path: Path, known: set[str], why: Callable[[str], str]) -> Loaded:
    """The program in a .pt2 file. Operators of PyTorch in `known` are taken; `why` says why another
    one is not.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = _entries(archive, path)
            program = json.loads(entries(MODEL))
            arrays = {
                name: array for folder in TABLES for name, array in _arrays(folder, entries).items()
            }
        return _loaded(torch, program["graph_module"], arrays, known, why)
    except ModelError as error:
        raise ModelError(f"{path.name} cannot be imported: {error}") from error
    except (
        OSError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
        zipfile.BadZipFile,
    ) as error:
        what = " ".join(str(error).split())
        raise ModelError(
            f"{path.name} is no file of torch.export.save, or damaged: {what}."
        ) from error


def only_weights(path: Path) -> bool:
    """Whether a .pt file holds a state_dict, judged by the names in its pickle, which is not
    loaded.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            inner = next(info for info in archive.infolist() if info.filename.endswith("data.pkl"))
            if inner.file_size > LONGEST_PICKLE:
                return False
            codes = pickletools.genops(archive.read(inner))
            names = [str(value) for code, value, _ in codes if "GLOBAL" in code.name]
    except (OSError, StopIteration, ValueError, zipfile.BadZipFile):
        return False
    return bool(names) and all(OF_WEIGHTS.fullmatch(name) for name in names)


# --- the archive ---


def _entries(archive: zipfile.ZipFile, path: Path) -> Callable[[str], bytes]:
    """How to read an entry by its name below the one top folder, once all entries are as they
    should be.
    """
    found = {info.filename.partition("/")[2]: info for info in archive.infolist()}
    if (
        len(found) != len(archive.infolist())
        or len({i.filename.partition("/")[0] for i in found.values()}) != 1
    ):
        raise ValueError("its entries are not those of one program")
    for name, info in found.items():
        if not ENTRIES.fullmatch(name):
            raise ModelError(
                f"it holds {name!r}. Only plain tensors and a list of operators are read: no "
                "pickled objects, which "
                "may run code, and no objects of other kinds."
            )
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ModelError(
                f"its entry {name!r} is compressed, which torch.export.save does not do."
            )
    if sum(info.file_size for info in found.values()) > path.stat().st_size:
        raise ModelError("its entries declare more bytes than the file has.")
    if "byteorder" in found and archive.read(found["byteorder"]) != b"little":
        raise ModelError("its numbers are not in little-endian order.")
    return lambda name: archive.read(found[name])


def _arrays(folder: str, entries: Callable[[str], bytes]) -> dict[str, Array]:
    """The tensors that a folder of the archive lists, by name."""
    config, pattern = TABLES[folder]
    listed: dict[str, Any] = json.loads(entries(config))["config"]
    stores: dict[str, bytearray] = {}
    found = {}
    for name, entry in listed.items():
        place = entry["path_name"]
        if entry["use_pickle"] is not False or not (
            isinstance(place, str) and re.fullmatch(pattern, place)
        ):
            raise ModelError(
                f"{name!r} is stored as {place!r}: only plain tensors are read, no pickled "
                "objects, which may run code."
            )
        if place not in stores:
            stores[place] = bytearray(entries(folder + place))
        found[name] = _array(name, entry["tensor_meta"], stores[place])
    return found


def _array(name: str, meta: Json, store: bytearray) -> Array:
    """A view of the stored numbers, once it lies inside of them and repeats none."""
    if meta["dtype"] in HALF:
        raise ModelError(
            f"{name!r} is in half precision, too coarse to compare with: use module.float() first."
        )
    if meta["dtype"] not in KINDS or meta["layout"] != STRIDED:
        raise ModelError(f"{name!r} is no plain tensor of numbers.")
    flat = np.frombuffer(store, dtype=KINDS[meta["dtype"]])
    shape, strides = ([_whole(size) for size in meta[part]] for part in ("sizes", "strides"))
    offset = _whole(meta["storage_offset"])
    reach = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if math.prod(shape) and (math.prod(shape) > flat.size or offset + reach >= flat.size):
        raise ModelError(
            f"{name!r} declares a shape of {tuple(shape)}, but {flat.size} numbers are stored."
        )
    if not math.prod(shape):
        return np.zeros(shape if max(shape, default=0) < 2**31 else (0,), dtype=flat.dtype)
    steps = [stride * flat.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, steps)


def _whole(size: Json) -> int:
    """A size that the file says, and that is no formula."""
    match size:
        case {"as_int": int(number)} if (
            number >= 0 and not isinstance(number, bool) and len(size) == 1
        ):
            return number
        case _:
            raise ModelError(f"a size is {size!r}: export the module without dynamic shapes.")


# --- the program ---


def _loaded(
    torch: Any,
    module: Json,
    arrays: Mapping[str, Array],
    known: set[str],
    why: Callable[[str], str],
) -> Loaded:
    graph = module["graph"]
    signature = module["signature"]
    held = {}
    given = []
    for spec in signature["input_specs"]:
        match spec:
            case {"user_input": {"arg": {"as_tensor": {"name": str(name)}}}}:
                given.append(name)
            case (
                {"parameter": {"arg": {"name": str(name)}, "parameter_name": str(target)}}
                | {"buffer": {"arg": {"name": str(name)}, "buffer_name": str(target)}}
                | {
                    "tensor_constant": {
                        "arg": {"name": str(name)},
                        "tensor_constant_name": str(target),
                    }
                }
            ):
                held[name] = arrays[target]
            case _:
                raise ModelError(
                    f"it takes {', '.join(map(str, spec))} as an input, and tensors only are read."
                )
    answers = [_answer(spec) for spec in signature["output_specs"]]
    if len(given) != 1 or len(answers) != 1:
        raise ModelError(
            f"it has {len(given)} inputs and {len(answers)} outputs: one input, the words, "
            "and one output, the scores, "
            "are needed. Wrap the module in one that has only these."
        )
    steps = [
        step for node in graph["nodes"] if (step := _step(torch, node, known, why)) is not None
    ]
    return Loaded(
        _replayed(torch, steps, held, given[0], answers[0]),
        _length(graph["tensor_values"][given[0]]),
    )


def _answer(spec: Json) -> str:
    match spec:
        case {"user_output": {"arg": {"as_tensor": {"name": str(name)}}}}:
            return name
        case _:
            raise ModelError(
                f"it gives {', '.join(map(str, spec))}: a module must give scores and change "
                "nothing."
            )


def _length(meta: Json) -> int | None:
    match meta["sizes"]:
        case [_, {"as_int": int(length)}, *_]:
            return length
        case _:
            return None


def _step(torch: Any, node: Json, known: set[str], why: Callable[[str], str]) -> Saved | None:
    target = str(node["target"])
    if target == "torch.ops.aten._assert_tensor_metadata.default":
        return None  # says what is so
    operator = _operator(torch, target, known, why)
    inputs = [
        (str(one["name"]), _value(torch, one["arg"], target), one["kind"]) for one in node["inputs"]
    ]
    gives = [_gives(output) for output in node["outputs"]]
    return Saved(
        operator,
        tuple(value for _, value, kind in inputs if kind == 1),
        {name: value for name, value, kind in inputs if kind != 1 and name not in PLACING},
        tuple(name for names in gives for name in names),
        len(gives) != 1 or "as_tensors" in node["outputs"][0],
    )


def _operator(torch: Any, target: str, known: set[str], why: Callable[[str], str]) -> Any:
    """PyTorch's operator, if it is one that computes numbers from numbers and does nothing else."""
    found = re.fullmatch(r"torch\.ops\.aten\.(\w+)\.(\w+)", target)
    name = found[1] if found else ""
    if found is None or name.startswith("__") or name in NEVER:
        raise ModelError(f"it applies {target!r}, which is no operator that is known here.")
    operator = getattr(getattr(torch.ops.aten, name, None), found[2], None)
    tags = getattr(operator, "tags", ())
    plain = torch.Tag.core in tags or torch.Tag.pointwise in tags
    base = name.removesuffix("_") if not name.startswith("_") else name
    if operator is None or not (plain or name in known | MORE or base in known | MORE):
        raise ModelError(f"{name}.{found[2]} cannot be imported: {why(name)}")
    return operator


def _gives(output: Json) -> list[str]:
    match output:
        case {"as_tensor": {"name": str(name)}}:
            return [name]
        case {"as_tensors": list(names)}:
            return [str(one["name"]) for one in names]
        case {"as_none": _}:
            return [""]
        case _:
            raise ModelError(
                f"an operator gives {', '.join(map(str, output))}, and tensors only are read."
            )


def _value(torch: Any, argument: Json, target: str) -> Json:
    """An argument: names of tensors, and plain numbers, words and types."""
    match argument:
        case {"as_tensor": {"name": str(name)}}:
            return Name(name)
        case {"as_tensors": list(names)}:
            return [Name(one["name"]) for one in names]
        case {"as_optional_tensors": list(parts)}:
            return [_value(torch, part, target) for part in parts]
        case {"as_none": _}:
            return None
        case {"as_bool": bool(value)} | {"as_float": float(value)} | {"as_string": str(value)}:
            return value
        case {"as_int": int(value)} | {"as_float": int(value)}:
            return value
        case {"as_sym_int": {"as_int": int(value)}}:
            return value
        case {"as_ints": list(values)} | {"as_floats": list(values)} | {"as_bools": list(values)}:
            return [value for value in values if isinstance(value, int | float)]
        case {"as_sym_ints": list(values)}:
            return [_whole(value) for value in values]
        case {"as_scalar_type": int(number)} if number in KINDS:
            return torch.from_numpy(np.zeros(0, dtype=KINDS[number])).dtype
        case {"as_device": _} | {"as_layout": _} | {"as_memory_format": _}:
            return None
        case _:
            kind = ", ".join(map(str, argument)).removeprefix("as_")
            raise ModelError(
                f"{target} takes a {kind.replace('_', ' ')}, and tensors and plain numbers "
                "only are read."
            )


def _replayed(
    torch: Any, steps: Sequence[Saved], held: Mapping[str, Array], given: str, answer: str
) -> Any:
    """A module that applies the steps in order."""

    class Replayed(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.places = {}
            for number, (name, array) in enumerate(held.items()):
                self.places[name] = f"tensor{number}"
                self.register_buffer(self.places[name], torch.from_numpy(array))

        def forward(self, words: Any) -> Any:
            values = {
                given: words,
                **{name: getattr(self, place) for name, place in self.places.items()},
            }
            for step in steps:
                found = step.operator(
                    *(_filled(part, values) for part in step.positional),
                    **{name: _filled(part, values) for name, part in step.named.items()},
                )
                values |= zip(step.gives, found if step.several else (found,), strict=True)
            return values[answer]

    return Replayed().eval()


def _filled(part: Json, values: Mapping[str, Any]) -> Any:
    if isinstance(part, Name):
        return values[part]
    return [_filled(inner, values) for inner in part] if isinstance(part, list) else part
