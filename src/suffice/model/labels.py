"""Labels: strings, numbers or booleans as the plain strings that answers and files hold, and other
names for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from suffice.errors import InputError, ModelError

# a new name for each label, in order; or old names to new ones
Names: TypeAlias = Sequence[Any] | Mapping[Any, Any]


def plain_label(given: Any) -> str:
    """A label as a string: 1 is "1" and True is "True", whoever's number it is; of an enumeration
    its value.
    """
    if isinstance(given, Enum):
        return plain_label(given.value)
    value = given.item() if isinstance(given, np.generic) else given
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int | float):
        return repr(value)
    raise ModelError(f"A label must be a string, a number, True or False, not {_short(given)}.")


def plain_labels(given: Any) -> tuple[str, ...]:
    """Labels as strings, in order; what has none, or holds other things beside them, is refused."""
    if isinstance(given, str | Mapping | set | frozenset) or not isinstance(given, Iterable):
        raise ModelError(
            f"Labels must be a list of strings, in the order of the scores, not {_short(given)}."
        )
    return tuple(map(plain_label, given))


def different(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels, refused where they are not at least two, all different."""
    if len(set(labels)) != len(labels) or len(labels) < 2:
        raise ModelError(
            f"A classifier needs at least two labels, all different; found {list(labels)!r}."
        )
    return tuple(labels)


def place_of(labels: Sequence[str], label: Any) -> int:
    """Which of the labels this one is."""
    wanted = plain_label(label)
    if wanted not in labels:
        raise InputError(
            f"The label {wanted!r} is unknown: this classifier has {', '.join(labels)}."
        )
    return list(labels).index(wanted)


def renamed(own: Sequence[Any], names: Names | None) -> tuple[str, ...]:
    """A model's own labels as strings, or under the names that somebody gives them."""
    labels = plain_labels(own)
    if names is None:
        return labels
    if isinstance(names, Mapping):
        new = {plain_label(old): plain_label(name) for old, name in names.items()}
        for old in new:
            place_of(labels, old)
        return different([new.get(label, label) for label in labels])
    given = plain_labels(names)
    if len(given) != len(labels):
        raise ModelError(
            f"The model has {len(labels)} labels ({', '.join(labels)}), and {len(given)} "
            "names were given for them."
        )
    return different(given)


def _short(value: Any) -> str:
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
