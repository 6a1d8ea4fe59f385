"""Tokenizers: how a string becomes words, each with its start and end in that string.

Four kinds: `Words` (the default), `Pattern` (a regular expression, as in scikit-learn),
`HuggingFace` (a `tokenizers.Tokenizer`) and `Custom` (any function of a string). All but the last
are saved with the classifier.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

from suffice.errors import InputError, MissingExtra, ModelError
from suffice.model.patterns import why_refused
from suffice.model.text import Span, split

FILE = "tokenizer.json"  # where a model folder keeps the tokenizer of Hugging Face
LONGEST_JSON = 2**26  # characters of it
MOST_GROWTH = 64  # how many times as long the replacements of a tokenizer may make a text
# What GPT-2, Llama 3 and Qwen 2 split texts by: these run in reasonable time, though not for the
# reasons that suffice.model.patterns knows.
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
KNOWN_PATTERNS = (
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|" + _WORDS % "{1,3}",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|" + _WORDS % "",
)


@dataclass(frozen=True)
class Words:
    """Words and punctuation marks in lower case: what suffice's own models read."""

    once: ClassVar[bool] = False

    def __call__(self, source: str) -> list[Span]:
        return split(source)

    def header(self) -> str:
        return "words"


@dataclass(frozen=True)
class Pattern:
    """What a regular expression matches, after lower case and without accents if wished, except the
    `skip` words.

    With one group in the pattern, the group is the word. `once` is for models of sets of words: a
    word that occurs again does not count again, so only its first occurrence is read.
    """

    pattern: str = r"(?u)\b\w\w+\b"
    lowercase: bool = True
    accents: Literal["keep", "unicode", "ascii"] = "keep"
    skip: tuple[str, ...] = ()
    once: bool = False

    def __post_init__(self) -> None:
        try:
            slow = why_refused(self.pattern)
            groups = 0 if slow else re.compile(self.pattern).groups
        except (re.error, TypeError, RecursionError, OverflowError) as error:
            raise InputError(
                f"The pattern {self.pattern!r} is no regular expression: {error}."
            ) from error
        if slow:
            raise InputError(
                f"The pattern {self.pattern[:80]!r} is not taken, as it could take for ever "
                f"on some text: {slow}. Most "
                r"readers of words need no more than \b\w\w+\b; for anything else give a "
                r"function of the text."
            )
        if groups > 1:
            raise InputError(
                f"The pattern {self.pattern!r} has {groups} groups: a word can be one of them only."
            )
        if self.accents not in ("keep", "unicode", "ascii"):
            raise InputError(f"accents must be 'keep', 'unicode' or 'ascii', not {self.accents!r}.")
        if not all(isinstance(value, bool) for value in (self.lowercase, self.once)):
            raise InputError(
                f"lowercase and once are True or False, not {self.lowercase!r} and {self.once!r}."
            )
        if not all(isinstance(word, str) for word in self.skip):
            raise InputError("The words to skip must be strings.")
        object.__setattr__(self, "skip", tuple(sorted(self.skip)))

    def __call__(self, source: str) -> list[Span]:
        plain, origin = self._normal(source)
        group = re.compile(self.pattern).groups
        found = []
        for match in re.finditer(self.pattern, plain):
            word, (start, end) = match.group(group), match.span(group)
            if word and word not in self._skipped:
                found.append((word, origin[start], origin[end - 1] + 1))
        return found

    def header(self) -> dict[str, Any]:
        return {
            "kind": "pattern",
            "pattern": self.pattern,
            "lowercase": self.lowercase,
            "accents": self.accents,
            "skip": list(self.skip),
            "once": self.once,
        }

    @cached_property
    def _skipped(self) -> frozenset[str]:
        return frozenset(self.skip)

    def _normal(self, source: str) -> tuple[str, list[int]]:
        """The string that the pattern sees, and for each of its characters the place it
        came from.
        """
        plain = source
        origin = list(range(len(source)))
        if self.lowercase:  # one character may become two (İ), whatever stands around it
            origin = [place for place, char in enumerate(source) for _ in char.lower()]
            plain = source.lower()
        if self.accents == "keep" or plain.isascii():
            return plain, origin
        bare = [
            (_bare(char, self.accents), place) for char, place in zip(plain, origin, strict=True)
        ]
        return "".join(chars for chars, _ in bare), [place for chars, place in bare for _ in chars]


@dataclass(frozen=True)
class HuggingFace:
    """A `tokenizers.Tokenizer` as its JSON string. Special tokens ([CLS], [SEP]), padding and
    cutting are kept out.
    """

    json: str
    once: ClassVar[bool] = False

    def __call__(self, source: str) -> list[Span]:
        found = self._tokenizer.encode(source, add_special_tokens=False)
        return [
            (token, start, end)
            for token, (start, end) in zip(found.tokens, found.offsets, strict=True)
        ]

    def header(self) -> dict[str, Any]:
        return {"kind": "hugging-face", "sha256": hashlib.sha256(self.json.encode()).hexdigest()}

    @property
    def content(self) -> str:
        return self.json

    def vocabulary(self) -> tuple[str, ...]:
        """Its tokens in the order of their numbers, as an embedding's rows are."""
        numbers: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        if sorted(numbers.values()) != list(range(len(numbers))):
            raise ModelError(
                "The tokenizer's numbers have gaps: give the vocabulary as a list of words "
                "yourself."
            )
        return tuple(sorted(numbers, key=numbers.__getitem__))

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra("tokenizers", "tokenizers") from error
        refuse_unsafe(self.json)
        try:
            made = Tokenizer.from_str(self.json)
        except Exception as error:  # the package raises Exception itself
            raise ModelError(
                f"This is not the JSON of a Hugging Face tokenizer: {error}."
            ) from error
        made.no_padding()
        made.no_truncation()
        return made


@dataclass(frozen=True)
class Custom:
    """Any function from a string to a list of words, or of (word, start, end). Only its name is
    saved.
    """

    function: Callable[[str], Iterable[Any]]

    @property
    def once(self) -> bool:
        return bool(getattr(self.function, "once", False))

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__qualname__", type(self.function).__qualname__))

    def __call__(self, source: str) -> list[Span]:
        found = list(self.function(source))
        if all(isinstance(item, str) for item in found):
            return located(source, found)
        return [_triple(item, source, self.name) for item in found]

    def header(self) -> dict[str, Any]:
        return {"kind": "custom", "name": self.name, "once": self.once}


def refuse_unsafe(text: str) -> None:
    """A ModelError where the JSON of a tokenizer asks for what may take for ever, or is not the
    same twice.
    """
    if len(text) > LONGEST_JSON:
        raise ModelError(
            f"The tokenizer has {len(text)} characters; at most {LONGEST_JSON} are read."
        )
    try:
        parts = list(_objects(json.loads(text)))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"This is not the JSON of a Hugging Face tokenizer: {error}.") from error
    for part in parts:
        pattern = part.get("Regex")
        if (
            isinstance(pattern, str)
            and pattern not in KNOWN_PATTERNS
            and (slow := _why_slow(pattern))
        ):
            raise ModelError(f"The tokenizer's pattern {pattern[:80]!r} is not taken: {slow}.")
        if part.get("dropout"):
            raise ModelError(
                "The tokenizer has a dropout, so that the same text may be read in another way."
            )
    growth = math.prod(_growth(part) for part in parts if part.get("type") == "Replace")
    if growth > MOST_GROWTH:
        raise ModelError(
            f"The tokenizer's replacements may make a text more than {MOST_GROWTH} times as long."
        )


def _objects(data: Any) -> Iterator[dict[str, Any]]:
    """Every JSON object in it, its vocabulary aside."""
    waiting = [data]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting += [value for name, value in item.items() if name not in ("vocab", "merges")]
        elif isinstance(item, list):
            waiting += item


def _why_slow(pattern: str) -> str:
    try:
        return why_refused(pattern)
    except re.error as error:
        return f"it is not known here ({error})"


def _growth(part: Mapping[str, Any]) -> float:
    """By how much a replacement may make a text longer."""
    match part:
        case {"pattern": {"String": str(old)}, "content": str(new)} if old:
            return max(1.0, len(new) / len(old))
        case _:
            return len(str(part.get("content", ""))) + 1.0


Tokenizer: TypeAlias = Words | Pattern | HuggingFace | Custom


def as_tokenizer(given: Any) -> Tokenizer:
    """A tokenizer from what a user gives: "words", one of ours, one of Hugging Face's, or a
    function.
    """
    if isinstance(given, Words | Pattern | HuggingFace | Custom):
        return given
    if given is None or given == "words":
        return Words()
    if type(given).__module__.split(".")[0] == "tokenizers" and hasattr(given, "encode"):
        return _hugging_face(given)
    if callable(given):
        return Custom(given)
    raise InputError(
        f"A tokenizer is 'words', a function of a string, or a tokenizers.Tokenizer, not {given!r}."
    )


def from_header(data: Any, saved: str | None, brought: Custom | None) -> Tokenizer:
    """The tokenizer that a saved classifier names; `saved` is the file beside it, `brought` the
    caller's own.
    """
    match data:
        case "words":
            return Words()
        case {"kind": "pattern"}:
            return Pattern(**{name: value for name, value in data.items() if name != "kind"})
        case {"kind": "hugging-face"} if saved is not None:
            return HuggingFace(saved)
        case {"kind": "custom"} if brought is not None:
            return brought
        case _:
            raise ModelError(f"There is no tokenizer {data!r}, or its file {FILE} is missing.")


def own_function(data: Any, given: Any) -> Custom | None:
    """The function that a saved classifier needs from the caller, once it is the one it was saved
    with.
    """
    if not (isinstance(data, dict) and data.get("kind") == "custom"):
        if given is not None:
            raise ModelError(
                "This model is saved with its tokenizer: load it without the argument `tokenizer`."
            )
        return None
    name = str(data.get("name"))
    if given is None:
        call = f"load(folder, tokenizer={name.rsplit('.', 1)[-1]})"
        raise ModelError(
            f"This model reads texts with your function {name!r}, which is not saved: use {call}."
        )
    made = as_tokenizer(given)
    if not isinstance(made, Custom) or made.name != name:
        raise ModelError(
            f"This model was saved with the tokenizer {name!r}, which is not {given!r}."
        )
    return made


def located(source: str, words: Sequence[str]) -> list[Span]:
    """Where each of the words stands in the string, in order and in any case."""
    found = []
    at = 0
    for word in words:
        match = re.compile(re.escape(word), re.IGNORECASE).search(source, at) if word else None
        if match is None:
            raise InputError(
                f"The tokenizer gives {word!r}, which is not in the text after character "
                f"{at}: let it give "
                "(word, start, end) for each word."
            )
        at = match.end()
        found.append((word, match.start(), at))
    return found


def _hugging_face(given: Any) -> HuggingFace:
    added = given.num_special_tokens_to_add(False)
    if added:
        raise InputError(
            f"This tokenizer adds {added} special tokens (such as [CLS]) to each text, which "
            "are no words. If the "
            "model was trained without them, give a tokenizer without post_processor; if with "
            "them, give a function "
            "that makes (token, start, end) for all of them."
        )
    return HuggingFace(given.to_str())


def _triple(item: Any, source: str, name: str) -> Span:
    match item:
        case (str(word), int(start), int(end)) if word and 0 <= start <= end <= len(source):
            return word, start, end
        case _:
            raise InputError(
                f"The tokenizer {name!r} must give words, or (word, start, end) inside the "
                f"text of {len(source)} "
                f"characters; it gave {item!r}."
            )


def _bare(char: str, accents: str) -> str:
    """One character without accents, as scikit-learn strips them."""
    plain = unicodedata.normalize("NFKD", char)
    if accents == "ascii":
        return plain.encode("ascii", "ignore").decode()
    return "".join(part for part in plain if not unicodedata.combining(part))
