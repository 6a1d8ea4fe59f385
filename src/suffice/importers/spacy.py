"""spaCy: a pipeline with a text categoriser as a black box."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import MissingExtra, ModelError
from suffice.model.blackbox import BlackBox
from suffice.model.naming import named
from suffice.model.network import Floats
from suffice.model.odds import PROBABILITIES

WHY = "A pipeline of spaCy hashes sub-words and may attend to neighbours"


def from_spacy(nlp: Any, *, cache: str | Path | None = None) -> BlackBox:
    """A loaded pipeline of spaCy with a `textcat` as a classifier that is asked; its labels are the
    categoriser's.

    A categoriser that gives every label a yes or no of its own (`textcat_multilabel`) is refused.
    """
    _pipeline(nlp)
    labels = tuple(str(label) for label in _categoriser(nlp).labels)
    return BlackBox(
        function=_scores(nlp, labels),
        labels=labels,
        name=f"spaCy's {nlp.meta['lang']}_{nlp.meta['name']}",
        digest=_digest(nlp),
        notes=(f"Asked as a function, not laid open as a network: {WHY}.",),
        cache=cache,
        meta={
            "import": {"from": "spacy", "way": "asked as a function", "why": WHY},
            "scores": PROBABILITIES,
        },
    )


def _pipeline(nlp: Any) -> None:
    try:
        import spacy
    except ImportError as error:
        raise MissingExtra("spacy", "spacy") from error
    if not isinstance(nlp, spacy.language.Language):
        raise ModelError(
            f"from_spacy takes a loaded pipeline (spacy.load), not a {type(nlp).__name__}."
        )


def _categoriser(pipeline: Any) -> Any:
    from spacy.pipeline import TextCategorizer
    from spacy.pipeline.textcat_multilabel import MultiLabel_TextCategorizer

    found = [part for _, part in pipeline.pipeline if isinstance(part, TextCategorizer)]
    if any(isinstance(part, MultiLabel_TextCategorizer) for part in found):
        raise ModelError(
            "This pipeline gives every label a yes or no of its own; one label per text is "
            "explained here."
        )
    if len(found) != 1:
        parts = ", ".join(pipeline.pipe_names) or "nothing"
        raise ModelError(f"A pipeline with one textcat is needed, and this one has {parts}.")
    return found[0]


def _scores(pipeline: Any, labels: tuple[str, ...]) -> Callable[[list[str]], Floats]:
    def predict(texts: list[str]) -> Floats:
        return np.array(
            [[doc.cats[label] for label in labels] for doc in pipeline.pipe(texts)],
            dtype=np.float64,
        )

    return predict


def _digest(nlp: Any) -> str:
    """SHA-256 over the settings, the vectors and the parts; not over the words met so far, which
    grow with use.
    """
    sha = hashlib.sha256(nlp.config.to_str().encode())
    sha.update(nlp.vocab.vectors.to_bytes() if len(nlp.vocab.vectors) else b"")
    for name, part in [("tokenizer", nlp.tokenizer), *nlp.pipeline]:
        sha.update(name.encode())
        sha.update(
            part.to_bytes(exclude=["vocab"]) if hasattr(part, "to_bytes") else named(part).encode()
        )
    return sha.hexdigest()
