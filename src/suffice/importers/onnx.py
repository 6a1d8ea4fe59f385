"""from_onnx: an ONNX file as a classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from suffice.errors import MissingExtra, ModelError
from suffice.importers.assemble import Given, assemble
from suffice.importers.assemble import given as given_by
from suffice.importers.onnx_data import BESIDE, attributes, damaged, read_model, refuse_outside
from suffice.importers.onnx_program import kind_of, program
from suffice.importers.walk import walk
from suffice.model.classifier import Classifier
from suffice.model.network import Floats, Ints

Model: TypeAlias = Any  # onnx.ModelProto
MOST_OPERATORS = 100_000  # once the file's own functions are written out


def from_onnx(
    file: Model | str | Path,
    vocabulary: Sequence[str] | Mapping[str, int],
    labels: Sequence[Any],
    length: int | None = None,
    pad: str = "<PAD>",
    unknown: str = "<UNK>",
    tokenizer: Any = None,
    embedding: ArrayLike | None = None,
) -> Classifier:
    """A classifier that computes what the ONNX file says, compared with onnxruntime (or onnx's own
    evaluator).

    The network takes numbers of words (batch, length), places in `vocabulary`; or, where
    `embedding` (V, d) is given, vectors (batch, length, d). `length` may be left out where the file
    says it. A last softmax is left away, as it keeps the order of the scores; a single output z
    becomes the scores [0, z].
    """
    onnx = _onnx()
    source, model = _read(onnx, file)
    entry, answer = _ports(model)
    known = given_by(
        vocabulary, labels, _length(entry, length, embedding), pad, unknown, tokenizer, embedding
    )
    walked = walk(
        program(onnx, model, entry, answer), known.length, len(known.vocabulary), known.embedding
    )
    # last: what it runs is known to be of a fit size
    packages, original = _original(onnx, model, entry, known)
    return assemble(walked, known, original, source, packages)


def _onnx() -> Any:
    try:
        import onnx
        import onnx.reference
    except ImportError as error:
        raise MissingExtra("onnx", "onnx") from error
    return onnx


# --- what is given ---


def _read(onnx: Any, file: Model | str | Path) -> tuple[str, Model]:
    if isinstance(file, onnx.ModelProto):
        refuse_outside(onnx, file, BESIDE)
        return "the ONNX model", _plain(onnx, file)
    path = Path(file)
    model = read_model(onnx, path)
    plain = _plain(onnx, model)
    try:
        onnx.checker.check_model(model)
    except Exception as error:
        raise damaged(path, error) from error
    return path.name, plain


def _plain(onnx: Any, model: Model) -> Model:
    """The model without its functions and without what the answer does not need."""
    if model.graph.sparse_initializer or any(
        item.HasField("sparse_tensor") for item in attributes(model)
    ):
        raise ModelError(
            "The model holds sparse tensors, which are not supported: save them as ordinary ones."
        )
    whole = model
    if model.functions:
        _refuse_towers(model)
        import onnx.inliner as inliner

        whole = inliner.inline_local_functions(model)
    return _pruned(onnx, whole)


def _pruned(onnx: Any, model: Model) -> Model:
    wanted = {port.name for port in model.graph.output}
    kept = []
    for node in reversed(model.graph.node):
        if wanted & set(node.output):
            wanted |= set(node.input)
            wanted |= {
                name
                for item in node.attribute
                for graph in (item.g, *item.graphs)
                for name in _used(graph)
            }
            kept.append(node)
    found = onnx.ModelProto()
    found.CopyFrom(model)
    del found.graph.node[:]
    found.graph.node.extend(reversed(kept))
    return found


def _used(graph: Any) -> set[str]:
    """Every name that a graph inside a node may take from outside."""
    inner = (name for node in graph.node for item in node.attribute for name in _used(item.g))
    return {
        *(name for node in graph.node for name in node.input),
        *(port.name for port in graph.output),
        *inner,
    }


def _refuse_towers(model: Model) -> None:
    """Functions that call functions may be many more operators than the file has, once they are
    written out.
    """
    bodies = {(function.domain, function.name): function.node for function in model.functions}
    sizes: dict[tuple[str, str], int] = {}
    for _ in range(len(bodies) + 1):
        sizes = {
            key: sum(sizes.get((n.domain, n.op_type), 1) for n in nodes)
            for key, nodes in bodies.items()
        }
        if sum(sizes.get((n.domain, n.op_type), 1) for n in model.graph.node) > MOST_OPERATORS:
            raise ModelError(
                f"The model's functions make more than {MOST_OPERATORS} operators when written out."
            )


def _ports(model: Model) -> tuple[Any, str]:
    """The one input and the name of the one output."""
    held = {array.name for array in (*model.graph.initializer, *model.graph.sparse_initializer)}
    inputs = [entry for entry in model.graph.input if entry.name not in held]
    if len(inputs) != 1 or len(model.graph.output) != 1:
        names = [
            ", ".join(port.name for port in ports) or "none"
            for ports in (inputs, model.graph.output)
        ]
        raise ModelError(
            f"The file has the inputs {names[0]} and the outputs {names[1]}: one input, the "
            "words, and one output, "
            "the scores, are needed. Export it with only these; a transformer, which takes "
            "several (input_ids, "
            "attention_mask), can be asked as it is: sf.from_huggingface(file, its tokenizer, "
            "labels=...)."
        )
    return inputs[0], model.graph.output[0].name


def _length(entry: Any, given: int | None, embedding: ArrayLike | None) -> int:
    """How many words a text has: as given, or as the file says."""
    sizes = [size.dim_value or None for size in entry.type.tensor_type.shape.dim]
    wanted = 2 if embedding is None else 3
    if len(sizes) != wanted:
        takes = (
            "(batch, length) of word numbers" if wanted == 2 else "(batch, length, d) of vectors"
        )
        hint = (
            " Give embedding= where the network takes vectors."
            if wanted == 2 and len(sizes) == 3
            else ""
        )
        raise ModelError(
            f"The input {entry.name} has {len(sizes)} axes, and {takes} were expected.{hint}"
        )
    if sizes[0] not in (None, 1):
        raise ModelError(
            f"The file takes {sizes[0]} texts at once: export it for one text, or with a free "
            "batch axis."
        )
    if sizes[1] is None and given is None:
        raise ModelError("The file does not say how many words a text has: give length=.")
    if sizes[1] is not None and given not in (None, sizes[1]):
        raise ModelError(f"The file takes texts of {sizes[1]} words, not of {given}.")
    return given if given is not None else int(sizes[1] or 0)


def _original(
    onnx: Any, model: Model, entry: Any, given: Given
) -> tuple[list[str], Callable[[Ints], Floats]]:
    """Who runs the file itself: onnxruntime where it is installed and can, else onnx's
    evaluator.
    """
    kind = kind_of(onnx, entry)
    packages, run = _runner(onnx, model)

    def answers(rows: Ints) -> Floats:
        fed = rows if given.embedding is None else given.embedding[rows]
        found = [run({entry.name: row[None].astype(kind)}) for row in fed]
        return np.stack([np.asarray(answer, dtype=np.float64).reshape(-1) for answer in found])

    return packages, answers


def _runner(onnx: Any, model: Model) -> tuple[list[str], Callable[[dict[str, Any]], Any]]:
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        # from memory, not by its name: so that no other file beside it is read
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return ["onnx", "onnxruntime"], lambda feeds: session.run(None, feeds)[0]
    except Exception:  # not installed, or an operator in a precision that it has no code for
        evaluator = onnx.reference.ReferenceEvaluator(model)
        return ["onnx"], lambda feeds: evaluator.run(None, feeds)[0]
