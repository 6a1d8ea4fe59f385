"""Fields: what a question may hold, said once: requests are validated by it, the OpenAPI document
is made from it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from suffice.errors import InputError
from suffice.sets import table
from suffice.sets.perturbations import BundledSubstitutes
from suffice.sets.substitutes import groups
from suffice.verbs.question import METHODS

Schema: TypeAlias = dict[str, Any]
Check: TypeAlias = Callable[[Any], str | None]

LARGEST = 1e300  # of a number: sums of some thousands of them are numbers too
MOST_OF = {"number": LARGEST, "integer": 2**53 - 1}
DEAREST = 1e9  # of a cost
LONGEST_NAME = 200  # characters of a file's name
MOST = 1000  # protected words
DEFAULT_SET = BundledSubstitutes().to_dict()


@dataclass(frozen=True)
class Limits:
    """What one server allows."""

    characters: int = 5_000
    seconds: float = 60.0
    body: int = 200_000  # bytes
    waiting: int = 16  # jobs in line beyond those that run
    kept: int = 64  # answers kept for download
    kept_bytes: int = 64_000_000
    upload: int = 5_000_000  # bytes of a file of texts, with the question
    rows: int = 5_000  # of such a file
    corpora: int = 4  # files kept at once


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
        over = len(value) > limits.characters
        return (
            f"the text has {len(value)} characters; at most {limits.characters} are allowed."
            if over
            else None
        )

    schema = {
        "type": "string",
        "minLength": 1,
        "maxLength": limits.characters,
        "description": "The text to explain.",
    }
    return Field(schema, check, required=True)


def word_field(limits: Limits) -> Field:
    return replace(
        text_field(limits), schema={**text_field(limits).schema, "description": "A word of a text."}
    )


def choice(names: Sequence[str], description: str) -> Field:
    def check(value: Any) -> str | None:
        return (
            None
            if isinstance(value, str) and value in names
            else f"choose one of {', '.join(names)}."
        )

    return Field(
        {"type": "string", "enum": list(names), "default": names[0], "description": description},
        check,
    )


def seconds_field(limits: Limits) -> Field:
    def check(value: Any) -> str | None:
        good = _number(value) and 0 < value <= limits.seconds
        return None if good else f"give a number of seconds above 0 and at most {limits.seconds:g}."

    top = {"exclusiveMinimum": 0, "maximum": limits.seconds, "default": min(30.0, limits.seconds)}
    return Field(
        {"type": "number", **top, "description": "Time limit; the best proved answer comes back."},
        check,
    )


def seed_field() -> Field:
    def check(value: Any) -> str | None:
        good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
        return None if good else "give a whole number from 0 to 2147483647."

    return Field({"type": "integer", "minimum": 0, "maximum": 2**31 - 1, "default": 0}, check)


def words_field(description: str, required: bool = False) -> Field:
    def check(value: Any) -> str | None:
        good = isinstance(value, list) and all(
            isinstance(v, str) or TYPES["integer"](v) for v in value
        )
        return None if good else "give a list of words or positions."

    items = {"oneOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}
    return Field(
        {"type": "array", "items": items, "default": [], "description": description},
        check,
        required,
    )


def cost_field() -> Field:
    def check(value: Any) -> str | None:
        good = value is None or (
            isinstance(value, dict) and all(_number(v) and 0 < v <= DEAREST for v in value.values())
        )
        return (
            None
            if good
            else f"give an object from words to positive numbers up to {DEAREST:g}, or null."
        )

    extra = {"type": "number", "exclusiveMinimum": 0, "maximum": DEAREST}
    about = "What a word costs; words not named cost 1."
    return Field(
        {"type": ["object", "null"], "additionalProperties": extra, "description": about}, check
    )


def perturbation_field() -> Field:
    """Validated by the table of sets."""

    def check(value: Any) -> str | None:
        kind = table.BY_NAME.get(str(value.get("kind"))) if isinstance(value, dict) else None
        if kind is None:
            return f"give an object whose `kind` is one of {', '.join(table.BY_NAME)}."
        alternative = next(
            one
            for one in table.schema()["oneOf"]
            if one["properties"]["kind"]["const"] == kind.name
        )
        return misfit(value, alternative)

    return Field({"$ref": "#/components/schemas/Perturbation"}, check)


def steps_field() -> Field:
    def check(value: Any) -> str | None:
        good = (
            isinstance(value, list)
            and 1 <= len(value) <= 12
            and all(_number(v) and v >= 0 for v in value)
        )
        return (
            None
            if good
            else f"give a list of 1 to 12 sizes from 0 to {LARGEST:g}, such as [5, 10, 20, 40]."
        )

    items = {"type": "number", "minimum": 0}
    return Field(
        {"type": "array", "items": items, "minItems": 1, "maxItems": 12}, check, required=True
    )


def _number(value: Any) -> bool:
    """A number that a double holds: no truth value, and not beyond all bounds."""
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
    )  # NaN compares as false


# --- values by their schema ---

TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: (
        isinstance(value, int) and _number(value) and abs(value) <= MOST_OF["integer"]
    ),
    "number": _number,
    "null": lambda value: value is None,
}


def misfit(value: Any, schema: Schema, where: str = "") -> str | None:
    """What of a value does not fit its schema, or None: as much of JSON Schema as our own schemas
    use.
    """
    name = where or "the set"
    if "const" in schema and value != schema["const"]:
        return f"{name} must be {schema['const']!r}."
    if "enum" in schema and not any(
        value == one and type(value) is type(one) for one in schema["enum"]
    ):
        return f"{name} must be one of {', '.join(map(str, schema['enum']))}."
    kinds = schema.get("type", [])
    listed = [kinds] if isinstance(kinds, str) else kinds
    if listed and not any(TYPES[kind](value) for kind in listed):
        return f"{name} {_beyond(value, listed) or 'must be of type ' + ' or '.join(listed)}."
    if "minimum" in schema and value < schema["minimum"]:
        return f"{name} must be at least {schema['minimum']}."
    if isinstance(value, dict):
        return _misfit_object(value, schema, where)
    if isinstance(value, list) and "items" in schema:
        return next(
            filter(None, (misfit(item, schema["items"], f"each of {name}") for item in value)), None
        )
    return None


def _beyond(value: Any, kinds: Sequence[str]) -> str:
    """What is wrong with a number that is of one of these kinds but for its size."""
    most = max((MOST_OF[kind] for kind in kinds if kind in MOST_OF), default=math.inf)
    large = isinstance(value, int | float) and abs(value) > most
    return f"is too large a number, up or down: at most {most:g} is taken" if large else ""


def _misfit_object(value: Mapping[str, Any], schema: Schema, where: str) -> str | None:
    known = schema.get("properties", {})
    rest = schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            return f"{name} is missing."
    for name, item in value.items():
        fits = known.get(name, rest)
        if fits is False:
            return f"there is no field {str(name)[:40]!r}; known are {', '.join(known)}."
        wrong = None if fits is True else misfit(item, fits, where or str(name)[:40])
        if wrong is not None:
            return wrong
    return None


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
    method = {"method": choice(METHODS, "How to search.")}
    protected = words_field(
        "Words or positions that the label should not depend on.", required=True
    )
    return {
        "explain": {**shared, **more, **method},
        "contrast": {**shared, "cost": more["cost"], "seed": more["seed"]},
        "bias": {**shared, "protected": protected},
        "profile": {**shared, **more, "steps": steps_field()},
        "neighbours": {
            "word": word_field(limits),
            "model": shared["model"],
            "perturbation": shared["perturbation"],
        },
    }


TASKS = ("explain", "bias")


def corpus(models: Sequence[str], limits: Limits) -> dict[str, Field]:
    """The fields of a file of texts and what is asked of each of them."""
    shared = questions(models, limits)["explain"]
    return {
        "texts": string_field("The file itself.", limits.upload, required=True),
        "format": choice(
            ("csv", "jsonl"),
            "A CSV file with the columns text[,label][,id], or JSONL with those keys.",
        ),
        "name": string_field("The file's name, for the report.", LONGEST_NAME),
        "task": choice(
            TASKS, "Which words are enough, or whether the label depends on protected words."
        ),
        "protected": strings_field("Protected words.", None),
        "groups": strings_field("Bundled groups of protected words.", groups()),
        **{name: shared[name] for name in ("model", "perturbation", "padding", "seconds")},
    }


def string_field(description: str, longest: int, required: bool = False) -> Field:
    def check(value: Any) -> str | None:
        good = isinstance(value, str) and len(value) <= longest
        return None if good else f"give a string of at most {longest:,} characters."

    schema = {"type": "string", "maxLength": longest, "description": description}
    return Field(schema if required else {**schema, "default": ""}, check, required)


def strings_field(description: str, names: Sequence[str] | None) -> Field:
    def check(value: Any) -> str | None:
        good = (
            isinstance(value, list)
            and len(value) <= MOST
            and all(isinstance(one, str) for one in value)
        )
        if not good or (names is not None and not {*value} <= {*names}):
            return (
                f"give a list of at most {MOST} words."
                if names is None
                else f"choose some of {', '.join(names)}."
            )
        return None

    items = {"type": "string"} if names is None else {"type": "string", "enum": list(names)}
    return Field(
        {
            "type": "array",
            "items": items,
            "maxItems": MOST,
            "default": [],
            "description": description,
        },
        check,
    )


def parse(body: bytes) -> Any:
    """Strict JSON: no NaN, no towers of brackets, no name twice."""
    try:
        return json.loads(body, parse_constant=_refuse, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise Invalid("body", f"this is not JSON ({error}).") from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a name that comes twice is refused, as one of its two values would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is in it twice")
    return found


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def validated(data: Any, fields: Mapping[str, Field]) -> dict[str, Any]:
    """The question with defaults filled in, or Invalid for the first field that is wrong."""
    if not isinstance(data, dict):
        raise Invalid("body", "send a JSON object.")
    for name, value in data.items():
        if half_a_character([name, value]):
            raise Invalid(
                name if name in fields else "body",
                "there is half a character in it (a lone surrogate).",
            )
        if name not in fields:
            raise Invalid(str(name)[:40], f"there is no such field; known are {', '.join(fields)}.")
    return {name: _value(name, field, data) for name, field in fields.items()}


def half_a_character(value: Any) -> bool:
    """Whether any string in it is not proper Unicode."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _value(name: str, field: Field, data: Mapping[str, Any]) -> Any:
    if name not in data:
        if field.required:
            raise Invalid(name, "this field is missing.")
        return dict(DEFAULT_SET) if name == "perturbation" else field.schema.get("default")
    problem = field.check(data[name])
    if problem is not None:
        raise Invalid(name, problem)
    return data[name]
