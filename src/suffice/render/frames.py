"""Frames: answers in the shapes of other people's tools: a pandas table, the fields of
shap.Explanation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.errors import MissingExtra
from suffice.verbs.attribute import Attribution
from suffice.verbs.explanation import Explanation


def frame(result: Explanation) -> Any:
    """A row for each word of the text; what is said of the whole answer is in `attrs`."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtra("pandas", "pandas") from error
    held = set(result.positions)
    strange = set(result.text.unknown)
    table = pandas.DataFrame(
        {
            "position": [word.position for word in result.text.words],
            "word": [word.text for word in result.text.words],
            "start": [word.start for word in result.text.words],
            "end": [word.end for word in result.text.words],
            "in_set": [word.position in held for word in result.text.words],
            "unknown": [word.position in strange for word in result.text.words],
        }
    )
    facts = ("status", "label", "cost", "lower_bound", "proved")
    table.attrs = {name: getattr(result, name) for name in facts} | {"text": result.text.source}
    return table


def shap_of(result: Explanation | Attribution) -> dict[str, Any]:
    """The fields of shap.Explanation: a value for each word, between 0 and 1."""
    match result:
        case Explanation():
            held = set(result.positions)
            values = [float(word.position in held) for word in result.text.words]
        case Attribution():
            shares = {item.word.position: item.share for item in result.shares}
            values = [shares.get(word.position, 0.0) for word in result.text.words]
    words = [word.text for word in result.text.words]
    return {"values": np.array(values), "data": np.array(words), "feature_names": words}
