"""Hugging Face: a transformer for text classification as a black box, by its folder, its pipeline
or the objects.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import MissingExtra, ModelError
from suffice.importers.onnx_asked import from_file
from suffice.importers.splicing import Splicer
from suffice.importers.transformer import UNLIMITED, alike, no_panic, splitting
from suffice.importers.transformer_folder import Tensors, looked_at, refuse_others, within
from suffice.model.blackbox import MASK, BlackBox
from suffice.model.labels import Names, renamed
from suffice.model.network import Floats
from suffice.model.odds import LOGITS

# Of a config: where it came from, what else is given back, and what is hashed by itself.
IDLE = {
    "_name_or_path",
    "transformers_version",
    "architectures",
    "dtype",
    "torch_dtype",
    "id2label",
    "label2id",
}
IDLE |= {"return_dict", "use_cache", "output_attentions", "output_hidden_states"}


def from_huggingface(
    model: Any,
    tokenizer: Any = None,
    *,
    labels: Names | None = None,
    cache: str | Path | None = None,
) -> BlackBox:
    """A classifier of the package transformers: a folder, a pipeline, a model with its tokenizer,
    or an ONNX file.

    The labels are those of the model's config, or the names that `labels` gives them, in order or
    as {"LABEL_0": "reject", ...}; an ONNX file, run by onnxruntime, names none, so that `labels`
    must. Words are words, not sub-words: a changed text is tokenised anew. `Mask()` puts the
    tokenizer's own mask. Nothing is downloaded: give a folder that is there, or what you have
    loaded.
    """
    if isinstance(model, str | Path) and Path(model).suffix == ".onnx":
        return from_file(Path(model), tokenizer, labels, cache)
    network, splitter, folder = _parts(model, tokenizer)
    called = renamed(_labels(network), labels)
    limit = _limit(network, splitter)
    notes = (
        ()
        if limit is None
        else (f"Texts are cut after {limit} tokens, as the model was made for.",)
    )
    predict = predictor(network, splitter, limit)
    _tried(predict, network, called)
    return BlackBox(
        function=predict,
        labels=called,
        name=Path(folder).name if folder else type(network).__name__,
        digest=_digest(network, splitter, called, limit),
        mask=getattr(splitter, "mask_token", None) or MASK,
        notes=notes,
        cache=cache,
        meta={
            "import": {"from": "transformers", "class": type(network).__name__},
            "scores": LOGITS,
        },
        again=(partial(from_huggingface, labels=labels), (folder,))
        if folder and cache is None
        else None,
    )


def predictor(network: Any, splitter: Any, limit: int | None) -> Callable[[list[str]], Floats]:
    """Texts to logits. Only texts of equally many tokens share a batch, so that no padding moves
    the numbers.
    """
    import torch

    network.eval()
    code = Splicer(splitter, limit)

    def predict(texts: list[str]) -> Floats:
        with no_panic():
            coded = code(texts)
        device = getattr(network, "device", None)
        rows: list[Floats | None] = [None] * len(texts)
        with torch.inference_mode():
            for places in alike([len(ids) for ids in coded["input_ids"]]):
                part = {name: [some[i] for i in places] for name, some in coded.items()}
                inputs = {name: torch.tensor(some, device=device) for name, some in part.items()}
                logits = network(**inputs).logits
                for place, row in zip(places, logits.double().cpu().numpy(), strict=True):
                    rows[place] = row
        return np.array(rows)

    return predict


# --- the parts ---


def _parts(model: Any, tokenizer: Any) -> tuple[Any, Any, str | None]:
    """The network, the tokenizer and the folder they come from, if they do."""
    try:
        import transformers
    except ImportError as error:
        raise MissingExtra("huggingface", "transformers") from error
    if isinstance(model, str | Path):
        return (*_loaded(Path(model), tokenizer), str(model))
    if isinstance(model, transformers.Pipeline):
        return model.model, tokenizer or model.tokenizer, None
    if not hasattr(model, "config") or not callable(model):
        raise ModelError(
            "from_huggingface takes a folder, a pipeline or a model of transformers, not a "
            f"{type(model).__name__}."
        )
    if tokenizer is None:
        raise ModelError("Give the tokenizer too: sf.from_huggingface(model, tokenizer).")
    return model, tokenizer, None


def _loaded(folder: Path, tokenizer: Any) -> tuple[Any, Any]:
    """What a folder holds, read without network access and without running code that it brings."""
    import transformers

    if not (folder / "config.json").is_file():
        raise ModelError(f"There is no model in {str(folder)!r}: give a folder with a config.json.")
    bars = transformers.utils.logging.is_progress_bar_enabled()
    # a bar while weights are read is no part of an answer
    transformers.utils.logging.disable_progress_bar()
    try:
        with no_panic(), looked_at(folder) as (copy, tensors):
            network = _network(copy, tensors)
            found = tokenizer or transformers.AutoTokenizer.from_pretrained(
                str(copy), local_files_only=True, trust_remote_code=False
            )
    except ModelError as error:
        raise ModelError(f"The model in {str(folder)!r} cannot be loaded: {error}") from error
    except Exception as error:  # whatever strange files make it raise
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelError(f"The model in {str(folder)!r} cannot be loaded: {what}") from error
    finally:
        if bars:
            transformers.utils.logging.enable_progress_bar()
    return network, found


def _network(copy: Path, tensors: Tensors) -> Any:
    """The network, once its shape without numbers is that of the weights; all of its numbers are
    there.
    """
    import torch
    import transformers

    how: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    config = transformers.AutoConfig.from_pretrained(str(copy), **how)
    kind = transformers.AutoModelForSequenceClassification
    with within(tensors), torch.device("meta"):
        refuse_others(kind.from_config(config, trust_remote_code=False), tensors)
    with within(tensors):
        network, told = kind.from_pretrained(
            str(copy), config=config, use_safetensors=True, output_loading_info=True, **how
        )
    missing = sorted(told["missing_keys"])
    if missing:
        raise ModelError(
            f"its weights lack {', '.join(missing[:3])}, which would be random numbers"
        )
    return network


def _labels(network: Any) -> tuple[str, ...]:
    config = network.config
    if getattr(config, "problem_type", None) == "multi_label_classification":
        raise ModelError(
            "This model gives every label a yes or no of its own; one label per text is "
            "explained here."
        )
    count = int(config.num_labels)
    if count < 2:
        raise ModelError(
            f"This model has {count} output: it is a regression, not a classification."
        )
    return tuple(str(config.id2label[i]) for i in range(count))


def _tried(predict: Callable[[list[str]], Floats], network: Any, labels: Sequence[str]) -> None:
    """One text is run, because a model for another task has labels in its config, too."""
    try:
        shape = predict(["a text"]).shape
    except AttributeError:  # no logits
        shape = ()
    if shape != (1, len(labels)):
        raise ModelError(
            f"{type(network).__name__} does not give a text one score for each label: load it with "
            "AutoModelForSequenceClassification."
        )


def _limit(network: Any, splitter: Any) -> int | None:
    """After how many tokens a text is cut; None where nothing is."""
    config = network.config
    positions = getattr(config, "max_position_embeddings", None)
    if positions is not None and getattr(config, "model_type", "") in (
        "roberta",
        "xlm-roberta",
        "camembert",
    ):
        positions -= int(config.pad_token_id) + 1  # these count positions from behind the padding
    found = [
        int(n)
        for n in (positions, splitter.model_max_length)
        if n is not None and 0 < n < UNLIMITED
    ]
    return min(found, default=None)


def _digest(network: Any, splitter: Any, labels: Sequence[str], limit: int | None) -> str:
    """SHA-256 over weights, what the config makes of them, labels, what the tokenizer does and
    where texts are cut.
    """
    config = {name: value for name, value in network.config.to_dict().items() if name not in IDLE}
    sha = hashlib.sha256(
        json.dumps(["transformers", type(network).__name__, list(labels), limit]).encode()
    )
    sha.update(json.dumps(config, sort_keys=True, default=str).encode())
    for name, tensor in sorted(network.state_dict().items()):
        array = tensor.detach().cpu().contiguous()
        sha.update(f"{name} {tuple(array.shape)} {array.dtype}".encode())
        sha.update(array.flatten().view(_bytes()).numpy().tobytes())
    sha.update(splitting(splitter).encode())
    return sha.hexdigest()


def _bytes() -> Any:
    import torch

    return torch.uint8
