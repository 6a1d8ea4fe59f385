"""Tokenizers: how a string becomes words, each with its start and end in that string.

Four kinds: `Words` (the default), `Pattern` (a regular expression, as in scikit-learn), `HuggingFace` (a
`tokenizers.Tokenizer`) and `Custom` (any function of a string). All but the last are saved with the classifier.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

from suffice.errors import InputError, MissingExtra, ModelError
from suffice.model.text import Piece, split

FILE = "tokenizer.json"  # where a model folder keeps the tokenizer of Hugging Face


@dataclass(frozen=True)
class Words:
    """Words and punctuation marks in lower case: what suffice's own models read."""

    once: ClassVar[bool] = False

    def __call__(self, source: str) -> list[Piece]:
        return split(source)

    def header(self) -> str:
        return "words"


@dataclass(frozen=True)
class Pattern:
    """What a regular expression matches, after lower case and without accents if wished, except the `skip` words.

    With one group in the pattern, the group is the word. `once` is for models of sets of words: a word that occurs
    again does not count again, so only its first occurrence is read.
    """

    pattern: str = r"(?u)\b\w\w+\b"
    lowercase: bool = True
    accents: Literal["keep", "unicode", "ascii"] = "keep"
    skip: tuple[str, ...] = ()
    once: bool = False

    def __post_init__(self) -> None:
        try:
            groups = re.compile(self.pattern).groups
        except (re.error, TypeError) as error:
            raise InputError(f"The pattern {self.pattern!r} is no regular expression: {error}.") from error
        if groups > 1:
            raise InputError(f"The pattern {self.pattern!r} has {groups} groups: a word can be one of them only.")
        if self.accents not in ("keep", "unicode", "ascii"):
            raise InputError(f"accents must be 'keep', 'unicode' or 'ascii', not {self.accents!r}.")
        object.__setattr__(self, "skip", tuple(sorted(self.skip)))

    def __call__(self, source: str) -> list[Piece]:
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
        """The string that the pattern sees, and for each of its characters the place it came from."""
        plain, origin = source, list(range(len(source)))
        if self.lowercase:  # one character may become two (İ), whatever stands around it
            origin = [place for place, char in enumerate(source) for _ in char.lower()]
            plain = source.lower()
        if self.accents == "keep" or plain.isascii():
            return plain, origin
        bare = [(_bare(char, self.accents), place) for char, place in zip(plain, origin, strict=True)]
        return "".join(chars for chars, _ in bare), [place for chars, place in bare for _ in chars]


@dataclass(frozen=True)
class HuggingFace:
    """A `tokenizers.Tokenizer` as its JSON string. Special tokens ([CLS], [SEP]), padding and cutting are kept out."""

    json: str
    once: ClassVar[bool] = False

    def __call__(self, source: str) -> list[Piece]:
        found = self._tokenizer.encode(source, add_special_tokens=False)
        return [(token, start, end) for token, (start, end) in zip(found.tokens, found.offsets, strict=True)]

    def header(self) -> dict[str, Any]:
        return {"kind": "hugging-face", "sha256": hashlib.sha256(self.json.encode()).hexdigest()}

    def vocabulary(self) -> tuple[str, ...]:
        """Its tokens in the order of their numbers, as an embedding's rows are."""
        numbers: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        if sorted(numbers.values()) != list(range(len(numbers))):
            raise ModelError("The tokenizer's numbers have gaps: give the vocabulary as a list of words yourself.")
        return tuple(sorted(numbers, key=numbers.__getitem__))

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra("tokenizers", "tokenizers") from error
        try:
            made = Tokenizer.from_str(self.json)
        except Exception as error:  # the package raises Exception itself
            raise ModelError(f"This is not the JSON of a Hugging Face tokenizer: {error}.") from error
        made.no_padding()
        made.no_truncation()
        return made


@dataclass(frozen=True)
class Custom:
    """Any function from a string to a list of words, or of (word, start, end). Only its name is saved."""

    function: Callable[[str], Iterable[Any]]

    @property
    def once(self) -> bool:
        return bool(getattr(self.function, "once", False))

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__qualname__", type(self.function).__qualname__))

    def __call__(self, source: str) -> list[Piece]:
        found = list(self.function(source))
        if all(isinstance(item, str) for item in found):
            return located(source, found)
        return [_triple(item, source, self.name) for item in found]

    def header(self) -> dict[str, Any]:
        return {"kind": "custom", "name": self.name, "once": self.once}


Tokenizer: TypeAlias = Words | Pattern | HuggingFace | Custom


def as_tokenizer(given: Any) -> Tokenizer:
    """A tokenizer from what a user gives: "words", one of ours, one of Hugging Face's, or a function."""
    if isinstance(given, Words | Pattern | HuggingFace | Custom):
        return given
    if given is None or given == "words":
        return Words()
    if type(given).__module__.split(".")[0] == "tokenizers" and hasattr(given, "encode"):
        return _hugging_face(given)
    if callable(given):
        return Custom(given)
    raise InputError(f"A tokenizer is 'words', a function of a string, or a tokenizers.Tokenizer, not {given!r}.")


def from_header(data: Any, json: str | None, brought: Custom | None) -> Tokenizer:
    """The tokenizer that a saved classifier names; `json` is the file beside it, `brought` the caller's own."""
    match data:
        case "words":
            return Words()
        case {"kind": "pattern"}:
            return Pattern(**{name: value for name, value in data.items() if name != "kind"})
        case {"kind": "hugging-face"} if json is not None:
            return HuggingFace(json)
        case {"kind": "custom"} if brought is not None:
            return brought
        case _:
            raise ModelError(f"There is no tokenizer {data!r}, or its file {FILE} is missing.")


def own_function(data: Any, given: Any) -> Custom | None:
    """The function that a saved classifier needs from the caller, once it is the one it was saved with."""
    if not (isinstance(data, dict) and data.get("kind") == "custom"):
        if given is not None:
            raise ModelError("This model is saved with its tokenizer: load it without the argument `tokenizer`.")
        return None
    name = str(data.get("name"))
    if given is None:
        call = f"load(folder, tokenizer={name.rsplit('.', 1)[-1]})"
        raise ModelError(f"This model reads texts with your function {name!r}, which is not saved: use {call}.")
    made = as_tokenizer(given)
    if not isinstance(made, Custom) or made.name != name:
        raise ModelError(f"This model was saved with the tokenizer {name!r}, which is not {given!r}.")
    return made


def located(source: str, words: Sequence[str]) -> list[Piece]:
    """Where each of the words stands in the string, in order and in any case."""
    found, at = [], 0
    for word in words:
        match = re.compile(re.escape(word), re.IGNORECASE).search(source, at) if word else None
        if match is None:
            raise InputError(
                f"The tokenizer gives {word!r}, which is not in the text after character {at}: let it give "
                "(word, start, end) for each word."
            )
        at = match.end()
        found.append((word, match.start(), at))
    return found


def _hugging_face(given: Any) -> HuggingFace:
    added = given.num_special_tokens_to_add(False)
    if added:
        raise InputError(
            f"This tokenizer adds {added} special tokens (such as [CLS]) to each text, which are no words. If the "
            "model was trained without them, give a tokenizer without post_processor; if with them, give a function "
            "that makes (token, start, end) for all of them."
        )
    return HuggingFace(given.to_str())


def _triple(item: Any, source: str, name: str) -> Piece:
    match item:
        case (str(word), int(start), int(end)) if word and 0 <= start <= end <= len(source):
            return word, start, end
        case _:
            raise InputError(
                f"The tokenizer {name!r} must give words, or (word, start, end) inside the text of {len(source)} "
                f"characters; it gave {item!r}."
            )


def _bare(char: str, accents: str) -> str:
    """One character without accents, as scikit-learn strips them."""
    plain = unicodedata.normalize("NFKD", char)
    if accents == "ascii":
        return plain.encode("ascii", "ignore").decode()
    return "".join(part for part in plain if not unicodedata.combining(part))
