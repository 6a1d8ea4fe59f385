"""Folders of transformers from strangers: which files are read, and what a config may ask for.

The package transformers follows what a folder names: weights anywhere on the disk, files of a
tokenizer, code. So it is never given the folder, but a copy that holds what was looked at here: the
config and the tokenizer's files, written anew without the names of other files, and links to the
weights, which are files of safetensors inside the folder. How large a network is built follows from
the tensors in them, whatever the config says.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suffice.errors import ModelError
from suffice.model.tokenizers import refuse_unsafe

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
SPLITTER = "tokenizer.json"
SHARD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,200}\.safetensors")
# What tokenizers are read from, each with its settings; nothing else is given to transformers.
TOKENS: tuple[str, ...] = (
    "tokenizer_config.json",
    SPLITTER,
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
)
TOKENS += (
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "sentencepiece.model",
    "tokenizer.model",
    "spm.model",
)
TOKENS += ("bpe.codes", "dict.txt", "vocab.bpe", "entity_vocab.json", "emoji.json")
LONGEST = 2**26  # bytes of a file of JSON
# Settings that name code or other files. The first are refused, as the model would be another one
# without them.
CODE = {
    "quantization_config": "weights packed by another program",
    "transformers_weights": "weights of another name",
}
CODE |= {
    "fusion_config": "other code",
    "adapter_config": "weights elsewhere",
    "kernel_config": "code from elsewhere",
}
IDLE: tuple[str, ...] = (
    "auto_map",
    "configuration_files",
    "_name_or_path",
    "name_or_path",
    "custom_pipelines",
    "base_model_name_or_path",
)
IDLE += ("fast_tokenizer_files", "_commit_hash")
CHOSEN: tuple[str, ...] = (
    "_attn_implementation",
    "attn_implementation",
    "_attn_implementation_internal",
)
CHOSEN += ("_experts_implementation", "experts_implementation", "_experts_implementation_internal")
OURS = ("eager", "sdpa", None)  # ways to compute attention that PyTorch has itself
LAYERS = re.compile(r"(^|_)n?_?(hidden_)?(layers?|blocks|hidden_groups|experts|local_experts)$")
# numbers that need no tensor
REACH = re.compile(r"theta|position|token_id|max_.*len|sliding_window|seed|_id$")
# what short texts are filled up to
BLOCKS = re.compile(r"attention_window|block_size|chunk|lsh|buckets")
LARGEST = 2**16
WIDEST = 2**24
BLOCK = 2**12
REACHED = 2**24
ROOM = 2**26  # numbers in tables that a network works out itself, beyond those in its files


@dataclass(frozen=True)
class Tensors:
    """The shapes in the files of safetensors, by name."""

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def numbers(self) -> int:
        return sum(_size(shape) for shape in self.shapes.values())

    @property
    def widest(self) -> int:
        return max(
            (side for shape in self.shapes.values() if _size(shape) for side in shape), default=0
        )


@contextmanager
def looked_at(folder: Path) -> Iterator[tuple[Path, Tensors]]:
    """A copy of what may be read of a folder, and the shapes of its weights; ModelError says what
    may not.
    """
    shards = _weights(folder)
    config = _json(folder, CONFIG)
    tensors = _tensors(folder, shards)
    _refuse_config(config, tensors)
    with tempfile.TemporaryDirectory(prefix="suffice-") as made:
        copy = Path(made)
        _written(copy / CONFIG, _plain(config))
        for name in TOKENS:
            if (folder / name).exists() or (folder / name).is_symlink():
                _copied(folder, name, copy)
        for name in shards:
            (copy / name).symlink_to(_inside(folder, name))
        if shards != (WEIGHTS,):
            names = {
                tensor: shard for shard in shards for tensor in _shapes(_inside(folder, shard))
            }
            _written(copy / INDEX, {"metadata": {}, "weight_map": names})
        yield copy, tensors


# --- files ---


def _inside(folder: Path, name: str) -> Path:
    """The file of this name, which lies in the folder itself (or, where the Hub keeps it by links,
    beside it).
    """
    found = (folder / name).resolve()
    home = folder.resolve()
    homes = {home, home.parent.parent / "blobs"} if home.parent.name == "snapshots" else {home}
    if found.parent not in homes:
        raise ModelError(
            f"{str(folder / name)!r} is a link out of the folder, which is not followed: put "
            "the file there."
        )
    if not found.is_file():
        raise ModelError(f"There is no file {str(folder / name)!r}.")
    return found


def _json(folder: Path, name: str) -> dict[str, Any]:
    path = _inside(folder, name)
    if path.stat().st_size > LONGEST:
        raise ModelError(
            f"{str(folder / name)!r} has more than {LONGEST} bytes, which are not read."
        )
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{str(folder / name)!r} is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ModelError(
            f"{str(folder / name)!r} must hold a JSON object, not {type(found).__name__}."
        )
    return found


def _written(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data), encoding="utf-8")


def _copied(folder: Path, name: str, copy: Path) -> None:
    """A file of the tokenizer; settings without names of files, and patterns only where they take
    no time.
    """
    path = _inside(folder, name)
    if name == SPLITTER:
        _json(folder, name)
        refuse_unsafe(path.read_text(encoding="utf-8"))
    if name.endswith("_config.json"):
        settings = {
            key: value for key, value in _json(folder, name).items() if not key.endswith("_file")
        }
        _written(copy / name, _plain(settings))
    else:
        (copy / name).write_bytes(path.read_bytes())


def _plain(data: Any) -> Any:
    """Settings without those that name code or files and change nothing else."""
    if isinstance(data, dict):
        return {name: _plain(value) for name, value in data.items() if name not in IDLE}
    return [_plain(value) for value in data] if isinstance(data, list) else data


# --- weights ---


def _weights(folder: Path) -> tuple[str, ...]:
    """The files that hold the weights, by plain names."""
    if (folder / WEIGHTS).exists() or (folder / WEIGHTS).is_symlink():
        return (WEIGHTS,)
    if not (folder / INDEX).exists():
        raise ModelError(
            f"There is no {WEIGHTS} in {str(folder)!r}, and other weights are pickles, which "
            "run code: load the model "
            "in Python, if you trust it, and save it with model.save_pretrained(folder)."
        )
    listed = _json(folder, INDEX).get("weight_map")
    if not isinstance(listed, dict) or not listed:
        raise ModelError(f"The {INDEX} in {str(folder)!r} lists no weights.")
    for name in listed.values():
        if not isinstance(name, str) or not SHARD.fullmatch(name):
            raise ModelError(
                f"The {INDEX} in {str(folder)!r} names {str(name)[:80]!r}: only files of "
                "safetensors in the folder "
                "itself are read."
            )
    return tuple(sorted(set(listed.values())))


def _tensors(folder: Path, shards: tuple[str, ...]) -> Tensors:
    found: dict[str, tuple[int, ...]] = {}
    for shard in shards:
        found |= _shapes(_inside(folder, shard))
    return Tensors(found)


def _shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """What a file of safetensors declares; the package has seen that the file is as long as that
    takes.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(f"{path.name} is no whole file of safetensors: {error}.") from error


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for side in shape:
        size *= side
    return size


# --- what a config asks for ---


def _refuse_config(config: Mapping[str, Any], tensors: Tensors) -> None:
    waiting: list[tuple[str, Any]] = list(config.items())
    while waiting:
        name, value = waiting.pop()
        if name in CODE and value:
            raise ModelError(
                f"config.json has {name!r}, which asks for {CODE[name]}, and is not read: "
                "load it in Python."
            )
        if name in CHOSEN and not all(
            one in OURS for one in (value.values() if isinstance(value, dict) else [value])
        ):
            raise ModelError(
                f"config.json asks for the code {str(value)[:80]!r} ({name}), which is not "
                "run: take that line out to "
                "compute attention as PyTorch does."
            )
        if isinstance(value, dict):
            waiting += [(str(key), one) for key, one in value.items()]
        elif isinstance(value, list):
            waiting += [(name, one) for one in value]
        elif type(value) is int:
            most = _most(name, tensors)
            if value > most:
                raise ModelError(
                    f"config.json says {name} = {str(value)[:20]}, and the weights have "
                    f"{most} at the most."
                )
    labels = config.get("num_labels")
    if labels is not None and not (type(labels) is int and labels <= tensors.widest):
        raise ModelError(
            f"config.json says num_labels = {str(labels)[:20]}, and the weights have no so "
            "large side."
        )


def _most(name: str, tensors: Tensors) -> int:
    """How large a number of this name may be."""
    if LAYERS.search(name):
        return len(tensors.shapes)
    if BLOCKS.search(name):
        return BLOCK
    return (
        2**62
        if "theta" in name or "seed" in name
        else REACHED
        if REACH.search(name)
        else max(LARGEST, tensors.widest)
    )


@contextmanager
def within(tensors: Tensors) -> Iterator[None]:
    """While a network is built, by this thread, no more parameters and tables are made than its
    files have room for.
    """
    from torch.nn.modules import module

    mine, most = threading.get_ident(), 2 * tensors.numbers + 2**16
    count, made, worked = 0, 0, 0

    def counted(_owner: Any, _name: str, parameter: Any) -> None:
        nonlocal count, made
        if parameter is None or threading.get_ident() != mine:
            return
        count = count + 1
        made = made + int(parameter.numel())
        if made > most or count > 4 * len(tensors.shapes) + 64:
            raise ModelError(
                f"config.json makes a network of more than {made} numbers in {count} tensors, "
                "and its weights are "
                f"{tensors.numbers} in {len(tensors.shapes)}."
            )

    def filled(_owner: Any, _name: str, buffer: Any) -> None:
        nonlocal worked
        if buffer is not None and threading.get_ident() == mine:
            worked += int(buffer.numel())
            if worked > ROOM + 4 * tensors.numbers:
                raise ModelError(
                    f"config.json makes tables of more than {worked} numbers, which its "
                    "weights have not."
                )

    hooks = [
        module.register_module_parameter_registration_hook(counted),
        module.register_module_buffer_registration_hook(filled),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def refuse_others(network: Any, tensors: Tensors) -> None:
    """A ModelError where a parameter of a network has another shape than the tensor of its name."""
    for name, parameter in network.named_parameters():
        given = tensors.shapes.get(name)
        wanted = tuple(parameter.shape)
        if given is not None and given != wanted:
            raise ModelError(
                f"config.json makes {name!r} {wanted}, and the weights have it {given}: they "
                "do not fit."
            )
