"""The table of perturbation sets: everything that a front must know of a set, said once per set.

The command line, the API's document, the page, the sentences for people and `profile` read it. A
new set is a class in `perturbations`, a row here and a rule in the checker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from suffice.errors import InputError
from suffice.model.numbers import exactly
from suffice.sets.perturbations import (
    Boxes,
    BundledCounterparts,
    BundledSubstitutes,
    Deletion,
    EpsilonBall,
    KNNBox,
    KNNHull,
    Mask,
    Perturbation,
    RemoveOrSwap,
    WordSwap,
)

Schema: TypeAlias = dict[str, Any]

WHOLE: Schema = {"type": "integer", "minimum": 0}
RADIUS: Schema = {"type": "number", "minimum": 0}
SWAPS: Schema = {
    "type": "object",
    "additionalProperties": {"type": "array", "items": {"type": "string"}},
}
VECTORS: Schema = {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}
LIMIT: Schema = {
    "type": "integer",
    "minimum": 1,
    "description": "No more than so many free words change at once.",
}


def _norm(p: float | str) -> str:
    return p if isinstance(p, str) else exactly(p)


@dataclass(frozen=True)
class Flag:
    """How a set is named on the command line: its option, and what argparse needs to know of the
    option.
    """

    name: str
    takes: Mapping[str, Any]


@dataclass(frozen=True)
class Kind:
    """One row: a set's class, the schema of its fields, its sentence, its option, what grows."""

    make: type[Perturbation]
    schema: Mapping[str, Schema]
    says: Callable[[Mapping[str, Any]], str]
    flag: Flag | None = None
    grows: str | None = None  # the field that makes the sets larger, one inside the other
    words: bool = False  # real words: can be asked of any classifier
    removes: bool = False  # a word may go, or leave its place empty
    # what a menu says after "A free word may"; empty where there is none to choose it from
    may: str = ""

    @property
    def name(self) -> str:
        """What files call it."""
        return str(self.make.kind)  # type: ignore[attr-defined]


def _swapped(data: Mapping[str, Any]) -> str:
    count = len({word.lower() for word, others in data["swaps"].items() if others})
    return (
        f"one of its substitutes ({count} "
        f"{'word of the text has' if count == 1 else 'words of the text have'} some)"
    )


def _removed_or_swapped(data: Mapping[str, Any]) -> str:
    if not data["swaps"]:
        return "A free word may be removed (no free word has a substitute)."
    return f"A free word may be removed, or become {_swapped(data)}."


def _masked(data: Mapping[str, Any]) -> str:
    token = data.get("token")
    return "A free word may be masked" + (f" (by {token})." if token else ".")


KINDS: tuple[Kind, ...] = (
    Kind(
        BundledSubstitutes,
        {},
        lambda data: "A free word may be removed, or become one of its bundled substitutes.",
        words=True,
        removes=True,
        may="be left out or substituted",
    ),
    Kind(
        BundledCounterparts,
        {},
        lambda data: (
            "A free word may become its counterpart in a bundled group, or one of its bundled "
            "substitutes."
        ),
        words=True,
        removes=True,
    ),
    Kind(
        RemoveOrSwap,
        {"swaps": SWAPS},
        _removed_or_swapped,
        words=True,
        removes=True,
        may="be left out or swapped",
    ),
    Kind(
        Deletion,
        {},
        lambda data: "A free word may be removed.",
        Flag(
            "--deletion",
            {"action": "store_true", "help": "a free word may be removed (in networks: blanked)"},
        ),
        words=True,
        removes=True,
        may="be left out",
    ),
    Kind(
        WordSwap,
        {"swaps": SWAPS},
        lambda data: f"A free word may become {_swapped(data)}.",
        Flag(
            "--swaps",
            {"metavar": "FILE", "help": "JSON: word to list of substitutes; with --deletion: both"},
        ),
        words=True,
        may="become a listed word",
    ),
    Kind(
        Mask,
        {"token": {"type": ["string", "null"]}},
        _masked,
        Flag(
            "--mask",
            {"nargs": "?", "const": "", "metavar": "TOKEN", "help": "a free word may be masked"},
        ),
        words=True,
        may="be masked",
    ),
    Kind(
        KNNBox,
        {"k": WHOLE},
        lambda data: (
            "A free word may move anywhere in the smallest box around its embedding and its "
            f"{data['k']} nearest words."
        ),
        Flag("--knn-box", {"type": int, "metavar": "K", "help": "box around the K nearest words"}),
        grows="k",
        may="move among its nearest words",
    ),
    Kind(
        KNNHull,
        {"k": WHOLE},
        lambda data: (
            f"A free word may become any mixture of itself and its {data['k']} nearest words."
        ),
        Flag(
            "--knn-hull",
            {"type": int, "metavar": "K", "help": "convex hull of the K nearest words"},
        ),
        grows="k",
        may="blend with its nearest words",
    ),
    Kind(
        EpsilonBall,
        {"eps": RADIUS, "p": {"enum": [1, 2, "inf"], "default": "inf"}},
        lambda data: (
            f"A free word's embedding may move by at most {exactly(data['eps'])} in the "
            f"{_norm(data['p'])}-norm."
        ),
        Flag(
            "--eps",
            {"type": float, "metavar": "E", "help": "ball of radius E around the embedding"},
        ),
        grows="eps",
        may="move by a distance",
    ),
    Kind(
        Boxes,
        {"lower": VECTORS, "upper": VECTORS},
        lambda data: "A free word may move anywhere in the box given for its position.",
    ),
)
BY_NAME = {kind.name: kind for kind in KINDS}


def from_dict(data: Any) -> Perturbation:
    """The set that `to_dict` described."""
    kind = BY_NAME.get(str(data.get("kind"))) if isinstance(data, Mapping) else None
    if kind is None:
        raise InputError(
            f"{_short(data)} does not describe a perturbation set: `kind` is one of "
            f"{', '.join(BY_NAME)}."
        )
    extra = data.keys() - kind.schema.keys() - {"kind", "at_most"}
    missing = (
        {name for name, schema in kind.schema.items() if "default" not in schema}
        - data.keys()
        - {"token"}
    )
    if extra or missing:
        raise InputError(
            f"A set of kind {kind.name!r} has the fields {', '.join(kind.schema) or 'none'}."
        )
    given = {name: _numeric(data[name]) for name in kind.schema if name in data}
    made: Callable[..., Perturbation] = kind.make
    return made(**given, at_most=data.get("at_most"))


def _numeric(value: Any) -> Any:
    return math.inf if value == "inf" else value


def sentence(data: Mapping[str, Any], blanks: bool = False) -> str:
    """What a free word may become, in one sentence, from the set as plain data.

    `blanks` says that what is removed leaves its place empty, as in a network to which places
    matter.
    """
    kind = BY_NAME.get(data.get("kind", ""))
    if kind is None:
        return f"A free word may change as {_short(dict(data))} says."
    said = kind.says(data)
    blanked = said.replace("be removed", "be blanked") if blanks and kind.removes else said
    return blanked + limit_sentence(data)


def in_general(data: Mapping[str, Any], blanks: bool = False) -> str:
    """What a protected word may become, in whatever text."""
    return (
        sentence(data, blanks).replace("free word", "protected word").replace(" of the text ", " ")
    )


def limit_sentence(data: Mapping[str, Any]) -> str:
    """How many words change at once, as a sentence; nothing where that is not limited."""
    match data.get("at_most"):
        case None:
            return ""
        case 1:
            return " Only one of the free words may change at a time."
        case limit:
            return f" At most {limit} of the free words may change at once."


def command_options(data: Mapping[str, Any]) -> list[str]:
    """The options that name a set on the command line; files of substitutes are called
    swaps.json.
    """
    limit = [] if data.get("at_most") is None else ["--at-most", str(data["at_most"])]
    match dict(data):
        case {"kind": "removal-or-swap"}:
            named = ["--deletion", "--swaps", "swaps.json"]
        case {"kind": "word-swap"}:
            named = ["--swaps", "swaps.json"]
        case {"kind": "deletion"}:
            named = ["--deletion"]
        case {"kind": "mask", "token": token}:
            named = ["--mask", *([token] if token else [])]
        case {"kind": "knn-box" | "knn-hull" as kind, "k": k}:
            named = [f"--{kind}", str(k)]
        case {"kind": "epsilon-ball", "eps": eps, "p": p}:
            named = ["--eps", exactly(eps), *([] if p == "inf" else ["--norm", _norm(p)])]
        case _:  # what is meant where none is named; boxes have no option
            named = []
    return [*named, *limit]


def menu() -> list[dict[str, Any]]:
    """The sets that a person may choose from: what a free word may do, and the fields
    to fill in.
    """
    return [
        {"kind": kind.name, "may": kind.may, "fields": dict(kind.schema), "grows": kind.grows}
        for kind in KINDS
        if kind.may
    ]


def schema() -> Schema:
    """The JSON schema of a set, one alternative per row."""
    return {"oneOf": [_alternative(kind) for kind in KINDS]}


def _alternative(kind: Kind) -> Schema:
    required = [
        "kind",
        *(name for name in kind.schema if "default" not in kind.schema[name] and name != "token"),
    ]
    properties = {"kind": {"const": kind.name}, **kind.schema, "at_most": LIMIT}
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
