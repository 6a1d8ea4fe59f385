"""from_torch: a PyTorch module as a classifier, by way of torch.export."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import MissingExtra, ModelError
from suffice.importers import rules
from suffice.importers.assemble import Given, assemble
from suffice.importers.assemble import given as given_by
from suffice.importers.torch_file import Loaded, only_weights, read_file
from suffice.importers.torch_program import quiet, walked
from suffice.importers.torch_rules import ELEMENTWISE, RULES
from suffice.model.classifier import Classifier
from suffice.model.network import Floats, Ints

Module: TypeAlias = Any
STATE = (
    "holds weights only, and weights alone do not say what is computed with them: build the "
    "module in Python, "
    "module.load_state_dict(...), and give the module to sf.from_torch"
)
PICKLE = (
    "is a pickle, and loading a pickle runs whatever code is in it: build the module in "
    "Python and give it to "
    "sf.from_torch, or save it with torch.export.save(torch.export.export(module, "
    "(indices,)), 'model.pt2')"
)


def from_torch(
    module: Module | str | Path,
    vocabulary: Sequence[str] | Mapping[str, int],
    labels: Sequence[Any],
    length: int | None = None,
    pad: str = "<PAD>",
    unknown: str = "<UNK>",
    tokenizer: Any = None,
    embedding: ArrayLike | None = None,
) -> Classifier:
    """A classifier that computes what the module computes in eval mode, compared with it on random
    texts.

    The module takes a LongTensor (1, length) of word numbers, places in `vocabulary`; or, where
    `embedding` (V, d) is given, vectors (1, length, d). It may be an ExportedProgram or the name of
    a .pt2 file, which say the length themselves. A last softmax is left away, as it keeps the order
    of the scores; a single output z becomes the scores [0, z].
    """
    torch = _torch()
    source, ready, said = _ready(torch, module)
    known = given_by(
        vocabulary, labels, said if length is None else length, pad, unknown, tokenizer, embedding
    )
    example = _example(torch, ready, known)
    found = walked(torch, _exported(torch, ready, example, source), known)
    return assemble(found, known, _original(torch, ready, example.dtype, known), source, ["torch"])


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("torch", "torch") from error
    return torch


# --- what is given ---


def _ready(torch: Any, given: Module | str | Path) -> tuple[str, Module, int | None]:
    """What to call it, a module of our own in eval mode on the CPU, and the length if
    it says one.
    """
    if isinstance(given, str | Path):
        module, length = _read(torch, Path(given))
        return Path(given).name, module, length
    if isinstance(given, torch.export.ExportedProgram):
        return "the exported program", given.module(), _said(given)
    if not isinstance(given, torch.nn.Module):
        holds = f"A {type(given).__name__} is no torch.nn.Module"
        raise ModelError(
            f"{holds}: it {STATE}."
            if isinstance(given, Mapping)
            else f"{holds}: give one, or a .pt2 file."
        )
    if any(part.dtype in (torch.float16, torch.bfloat16) for part in given.parameters()):
        raise ModelError(
            "The module computes in half precision, too coarse to compare with: use "
            "module.float() first."
        )
    return f"the {type(given).__name__} module", _copied(given), None


def _copied(module: Module) -> Module:
    try:
        return copy.deepcopy(module).cpu().eval()
    except Exception as error:  # of a module that holds a part of a computation, a lock, a file
        raise ModelError(
            f"The module cannot be copied, which is done to leave yours alone: {error}"
        ) from error


def _said(program: Any) -> int | None:
    """The length that a program was exported for, unless it is free."""
    names = program.graph_signature.user_inputs
    shapes = [tuple(node.meta["val"].shape) for node in program.graph.nodes if node.name in names]
    length = shapes[0][1] if shapes and len(shapes[0]) > 1 else None
    return length if isinstance(length, int) else None


def _read(torch: Any, path: Path) -> Loaded:
    """The program in a .pt2 file; every other kind is refused with what to do."""
    if not path.is_file():
        raise ModelError(f"There is no file {str(path)!r}.")
    if path.suffix != ".pt2":
        raise ModelError(f"{path.name} {STATE if only_weights(path) else PICKLE}.")
    known = {name.partition(".")[0] for name in RULES} | ELEMENTWISE
    return read_file(torch, path, known, rules.unknown)


def _example(torch: Any, module: Module, given: Given) -> Any:
    """One text: its word numbers, or its vectors in the module's precision."""
    if given.embedding is None:
        return torch.zeros((1, given.length), dtype=torch.int64)
    held = (*module.parameters(), *module.buffers())
    kinds = [part.dtype for part in held if part.dtype.is_floating_point]
    return torch.zeros(
        (1, given.length, given.embedding.shape[1]), dtype=kinds[0] if kinds else torch.float32
    )


def _exported(torch: Any, module: Module, example: Any, source: str) -> Any:
    try:
        with quiet():
            # without numbers: no size is too large for this
            return torch.export.export(module, (example,))
    except Exception as error:
        line = re.search(
            r'raised this error:\n\s*File "([^"]+)", line (\d+), in \w+\n\s*(.*)', str(error)
        )
        where = f" at {Path(line[1]).name} line {line[2]} ({line[3].strip()})" if line else ""
        hint = (
            "; the way through the network must not depend on the values of a text"
            if "data-dependent" in str(error)
            else f"; it was given one text of shape {tuple(example.shape)} and type {example.dtype}"
        )
        raise ModelError(
            f"torch.export cannot follow {source}{where}: {_first_line(error)}{hint}."
        ) from error


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")


def _original(torch: Any, module: Module, kind: Any, given: Given) -> Callable[[Ints], Floats]:
    """What the module itself answers, one text at a time as it was exported."""

    def answers(rows: Ints) -> Floats:
        with torch.no_grad():
            found = [
                _only(module(torch.as_tensor(_fed(row, given)[None]).to(kind))) for row in rows
            ]
        return np.stack([answer.detach().numpy().reshape(-1) for answer in found])

    return answers


def _fed(row: Ints, given: Given) -> Any:
    return row if given.embedding is None else given.embedding[row]


def _only(answer: Any) -> Any:
    return (
        next(iter(answer.values()))
        if isinstance(answer, Mapping)
        else answer[0]
        if isinstance(answer, tuple | list)
        else answer
    )
