"""Cards: what a person is told of a model before asking it: a title, a line of facts,
and its card.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suffice.model import saved as models
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.render.phrases import TITLES, visible

LARGEST = 100_000  # characters of a card


def about(name: str, given: str, model: Classifier | BlackBox) -> dict[str, Any]:
    """What the page shows of a model; of a black box only what it calls itself and its labels."""
    known = (
        {}
        if isinstance(model, BlackBox)
        else {"length": model.length, "vocabulary": len(model.vocabulary)}
    )
    return {
        "name": name,
        "title": TITLES[name]
        if given in models.bundled() and name in TITLES
        else f"{name}: {_few(model.labels)}",
        "labels": list(model.labels),
        "digest": model.digest,
        "facts": visible(_facts(name, model)),
        **known,
    }


def _few(labels: Any) -> str:
    return ", ".join(labels) if len(labels) <= 3 else f"{len(labels)} labels"


def _facts(name: str, model: Classifier | BlackBox) -> str:
    says = f"{name}: says {', '.join(model.labels)}."
    if isinstance(model, BlackBox):
        return (
            f"{says} It can only be run: an answer counts as proved where every text that matters "
            "was run."
        )
    return (
        f"{says} Reads the first {model.length} words, knows "
        f"{len(model.vocabulary):,}.{_right(model.meta)}"
    )


def _right(meta: Mapping[str, Any]) -> str:
    """How often it is right, where its folder says so."""
    match meta:
        case {"accuracy": {"test": float(share)}, "rows": {"test": int(rows)}}:
            return f" Right on {share:.1%} of {rows:,} test texts."
        case _:
            return ""


def card(given: str, model: Classifier | BlackBox) -> str:
    """The card that lies in the model's folder, else what the model says of itself."""
    path = _folder(given) / "README.md"
    if path.is_file():
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(LARGEST)
    notes = "\n".join(f"- {note}" for note in getattr(model, "notes", ()))
    return (
        f"# {getattr(model, 'name', Path(given).name)}\n\n{_facts(given, model)}\n\n{notes}".strip()
    )


def _folder(given: str) -> Path:
    if given in models.bundled():
        return models.BUNDLED / given
    return Path(given.removeprefix("hf:"))
