"""Fields: what a question may hold, said once: requests are validated by it, the OpenAPI document is made from it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from suffice.errors import InputError

Schema: TypeAlias = dict[str, Any]
Check: TypeAlias = Callable[[Any], str | None]


@dataclass(frozen=True)
class Limits:
    """What one server allows."""

    characters: int = 5_000
    seconds: float = 60.0
    body: int = 200_000  # bytes
    waiting: int = 16  # jobs in line beyond those that run
    kept: int = 64  # answers kept for download
    kept_bytes: int = 64_000_000


class Invalid(InputError):
    """A field of the request is wrong; `field` says which."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


@dataclass(frozen=True)
class Field:
    """One field: its JSON schema, and a check that gives back what is wrong, or None."""

    schema: Schema
    check: Check
    required: bool = False


def text_field(limits: Limits) -> Field:
    def check(value: Any) -> str | None:
        if not isinstance(value, str) or not value.strip():
            return "give a text with at least one word."
        if any("\ud800" <= c <= "\udfff" for c in value):
            return "the text holds half a character (a lone surrogate)."
        over = len(value) > limits.characters
        return f"the text has {len(value)} characters; at most {limits.characters} are allowed." if over else None

    schema = {"type": "string", "minLength": 1, "maxLength": limits.characters, "description": "The text to explain."}
    return Field(schema, check, required=True)


def choice(names: Sequence[str], description: str) -> Field:
    def check(value: Any) -> str | None:
        return None if isinstance(value, str) and value in names else f"choose one of {', '.join(names)}."

    return Field({"type": "string", "enum": list(names), "default": names[0], "description": description}, check)


def seconds_field(limits: Limits) -> Field:
    def check(value: Any) -> str | None:
        good = _number(value) and 0 < value <= limits.seconds
        return None if good else f"give a number of seconds above 0 and at most {limits.seconds:g}."

    top = {"exclusiveMinimum": 0, "maximum": limits.seconds, "default": min(30.0, limits.seconds)}
    return Field({"type": "number", **top, "description": "Time limit; the best proved answer comes back."}, check)


def seed_field() -> Field:
    def check(value: Any) -> str | None:
        good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
        return None if good else "give a whole number from 0 to 2147483647."

    return Field({"type": "integer", "minimum": 0, "maximum": 2**31 - 1, "default": 0}, check)


def words_field(description: str, required: bool = False) -> Field:
    def check(value: Any) -> str | None:
        good = isinstance(value, list) and all(isinstance(v, str | int) and not isinstance(v, bool) for v in value)
        return None if good else "give a list of words or positions."

    items = {"oneOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}
    return Field({"type": "array", "items": items, "default": [], "description": description}, check, required)


def cost_field() -> Field:
    def check(value: Any) -> str | None:
        good = value is None or (isinstance(value, dict) and all(_number(v) and v > 0 for v in value.values()))
        return None if good else "give an object from words to positive numbers, or null."

    extra = {"type": "number", "exclusiveMinimum": 0}
    about = "What a word costs; words not named cost 1."
    return Field({"type": ["object", "null"], "additionalProperties": extra, "description": about}, check)


def perturbation_field() -> Field:
    def check(value: Any) -> str | None:
        return (
            None
            if isinstance(value, dict) and "kind" in value
            else 'give an object such as {"kind": "knn-box", "k": 15}.'
        )

    return Field({"$ref": "#/components/schemas/Perturbation"}, check)


def steps_field() -> Field:
    def check(value: Any) -> str | None:
        good = isinstance(value, list) and 1 <= len(value) <= 12 and all(_number(v) and v >= 0 for v in value)
        return None if good else "give a list of 1 to 12 sizes, such as [5, 10, 20, 40]."

    items = {"type": "number", "minimum": 0}
    return Field({"type": "array", "items": items, "minItems": 1, "maxItems": 12}, check, required=True)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


DEFAULT_SET = {"kind": "knn-box", "k": 15}


def questions(models: Sequence[str], limits: Limits) -> dict[str, dict[str, Field]]:
    """The fields of each verb."""
    shared = {
        "text": text_field(limits),
        "model": choice(models, "The classifier."),
        "perturbation": perturbation_field(),
        "padding": choice(["fixed", "feature"], "Whether padding may change too."),
        "seconds": seconds_field(limits),
    }
    more = {
        "cost": cost_field(),
        "include": words_field("Words or positions that must be in the set."),
        "exclude": words_field("Words or positions that must not be in the set."),
        "seed": seed_field(),
    }
    method = {"method": choice(["search", "hs", "msa"], "How to search.")}
    protected = words_field("Words or positions that the label should not depend on.", required=True)
    family = choice(["knn-box", "knn-hull", "epsilon-ball"], "Which family of sets grows.")
    grown = {name: field for name, field in shared.items() if name != "perturbation"}
    return {
        "explain": {**shared, **more, **method},
        "contrast": {**shared, "cost": more["cost"], "seed": more["seed"]},
        "bias": {**shared, "protected": protected},
        "profile": {**grown, **more, "family": family, "steps": steps_field()},
    }


def parse(body: bytes) -> Any:
    """Strict JSON: no NaN, no half characters, no towers of brackets."""
    try:
        return json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Invalid("body", f"this is not JSON ({error}).") from error


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def validated(data: Any, fields: Mapping[str, Field]) -> dict[str, Any]:
    """The question with defaults filled in, or Invalid for the first field that is wrong."""
    if not isinstance(data, dict):
        raise Invalid("body", "send a JSON object.")
    for name in data:
        if name not in fields:
            raise Invalid(str(name)[:40], f"there is no such field; known are {', '.join(fields)}.")
    return {name: _value(name, field, data) for name, field in fields.items()}


def _value(name: str, field: Field, data: Mapping[str, Any]) -> Any:
    if name not in data:
        if field.required:
            raise Invalid(name, "this field is missing.")
        return DEFAULT_SET if name == "perturbation" else field.schema.get("default")
    problem = field.check(data[name])
    if problem is not None:
        raise Invalid(name, problem)
    return data[name]
