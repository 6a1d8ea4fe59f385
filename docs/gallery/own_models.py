"""Small classifiers of every kind for the gallery, trained in a second or two on sentences of our own."""

from __future__ import annotations

import itertools
import os
from functools import cache
from typing import Any

import numpy as np

import suffice as sf

KIND = {"warm": 1, "fresh": 1, "kind": 1, "lovely": 1, "cold": 0, "stale": 0, "rude": 0, "awful": 0}
THINGS = ["soup", "bread", "cook", "waiter", "table", "tea"]
FRAMES = [
    "the {thing} was {how}",
    "what a {how} {thing}",
    "we had {how} {thing} and left",
    "{how} {thing} again",
]
LABELS = ["bad", "good"]
LENGTH = 12


def examples() -> tuple[list[str], list[int]]:
    """Sentences about a café, and whether each is kind."""
    made = list(itertools.product(FRAMES, THINGS, KIND))
    texts = [frame.format(thing=thing, how=how) for frame, thing, how in made]
    return texts, [KIND[how] for _, _, how in made]


def vocabulary() -> list[str]:
    return ["<PAD>", "<UNK>", *sorted({word for text in examples()[0] for word in text.split()})]


def numbers() -> np.ndarray:
    """The sentences as numbers of words, padded at the end."""
    place = {word: i for i, word in enumerate(vocabulary())}
    rows = [[place[word] for word in text.split()] for text in examples()[0]]
    return np.array([row + [0] * (LENGTH - len(row)) for row in rows])


@cache
def textcnn() -> sf.Classifier:
    """PyTorch: filters of two widths over the words, the strongest answer of each, one layer on top."""
    import torch
    from torch import nn

    class TextCNN(nn.Module):
        def __init__(self, words: int) -> None:
            super().__init__()
            self.embedding = nn.Embedding(words, 8, padding_idx=0)
            self.filters = nn.ModuleList(nn.Conv1d(8, 4, width) for width in (1, 2))
            self.end = nn.Linear(8, 2)

        def forward(self, indices: Any) -> Any:
            x = self.embedding(indices).transpose(1, 2)
            return self.end(
                torch.cat([torch.relu(layer(x)).max(dim=2).values for layer in self.filters], dim=1)
            )

    return sf.from_torch(_trained(TextCNN), vocabulary(), LABELS, LENGTH)


def _trained(make: Any) -> Any:
    """A module made and trained on the sentences."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = make(len(vocabulary()))
        optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
        inputs, classes = torch.from_numpy(numbers()), torch.tensor(examples()[1])
        for _ in range(80):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(inputs), classes).backward()
            optimizer.step()
    return module.eval()


@cache
def keras_network() -> sf.Classifier:
    """Keras: the mean of the words' vectors, and two dense layers."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras

    keras.utils.set_random_seed(0)
    layers = keras.layers
    parts = [keras.Input((LENGTH,), dtype="int32"), layers.Embedding(len(vocabulary()), 6)]
    parts += [layers.GlobalAveragePooling1D(), layers.Dense(8, activation="relu"), layers.Dense(2)]
    model = keras.Sequential(parts)
    model.compile(
        keras.optimizers.Adam(0.05), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    model.fit(numbers(), np.array(examples()[1]), epochs=10, verbose=0)
    return sf.from_keras(model, vocabulary(), LABELS)


@cache
def onnx_file(path: str) -> str:
    """ONNX: a file of five operators, as any framework could write it. Its weights count kind and unkind words."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    words = vocabulary()
    table = np.array(
        [[float(KIND.get(word) == 1), float(KIND.get(word) == 0)] for word in words],
        dtype=np.float32,
    )
    first = np.array([[1.0, -0.5], [-0.5, 1.0]], dtype=np.float32)
    last = np.array([[-1.0, 1.0], [1.0, -1.0]], dtype=np.float32)
    weights = {
        "table": table,
        "first": first,
        "last": last,
        "bias": np.array([0.0, 0.1], dtype=np.float32),
    }
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "words"], ["vectors"]),
            helper.make_node("ReduceMean", ["vectors"], ["mean"], axes=[1], keepdims=0),
            helper.make_node("Gemm", ["mean", "first"], ["hidden"]),
            helper.make_node("Relu", ["hidden"], ["on"]),
            helper.make_node("Gemm", ["on", "last", "bias"], ["scores"]),
        ],
        "cafe",
        [helper.make_tensor_value_info("words", TensorProto.INT64, ["n", LENGTH])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path
    )
    return path


@cache
def logistic() -> sf.Classifier | sf.BlackBox:
    """scikit-learn: TF-IDF and logistic regression, laid open as a bag of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts, kind = examples()
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    return sf.from_sklearn(pipeline.fit(texts, [LABELS[one] for one in kind]))


@cache
def forest() -> sf.Classifier | sf.BlackBox:
    """scikit-learn: a random forest, which can only be asked."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    texts, kind = examples()
    pipeline = make_pipeline(TfidfVectorizer(), RandomForestClassifier(25, random_state=0))
    return sf.from_sklearn(pipeline.fit(texts, [LABELS[one] for one in kind]))


@cache
def transformer() -> sf.BlackBox:
    """Hugging Face: BERT's architecture with two small layers; it learns the café's sentences and nothing else."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is downloaded
    import tokenizers
    import torch
    import transformers

    words = ["[PAD]", "[UNK]", "[MASK]", *vocabulary()[2:]]
    inner = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    )
    inner.normalizer = tokenizers.normalizers.Lowercase()
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, model_max_length=32, **special
    )
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    names = {
        "id2label": dict(enumerate(LABELS)),
        "label2id": {name: i for i, name in enumerate(LABELS)},
    }
    config = transformers.BertConfig(
        vocab_size=len(words), max_position_embeddings=32, **sizes, **names
    )
    texts, kind = examples()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.BertForSequenceClassification(config)
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        inputs = tokenizer(texts, padding=True, return_tensors="pt")
        for _ in range(20):
            optimizer.zero_grad()
            model(**inputs, labels=torch.tensor(kind)).loss.backward()
            optimizer.step()
    return sf.from_huggingface(model.eval(), tokenizer)


def complaints(texts: list[str]) -> np.ndarray:
    """A plain function: a message is a complaint when two of three words are in it."""
    sour = [sum(word in text.lower() for word in ("late", "broken", "never")) for text in texts]
    return np.array([[0.9, 0.1] if count >= 2 else [0.2, 0.8] for count in sour])


def function() -> sf.BlackBox:
    return sf.from_function(complaints, labels=["complaint", "other"], name="complaints 1")
