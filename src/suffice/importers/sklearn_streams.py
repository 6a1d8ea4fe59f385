"""scikit-learn's vectorizers as streams: which functions are understood, and the parts of a
FeatureUnion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from suffice.importers.kinds import NotLowered, kind_of
from suffice.model.streams import Kind, Stream

# A token pattern is understood when it is made of these: then what ends a token can be said.
ATOM = re.compile(
    r"\(\?u\)|\\b|(?P<eats>\\[wd]|\[(?:[^\[\]^\\]|\\[wd\-'])+\]|[\w'’@#\-])|\(\?:|[()|]|[+*?]|\{\d+(?:,\d*)?\}"
)
# Written out character by character, whatever stands beside it (but for a capital sigma, which is
# looked for).
LETTERS: tuple[Callable[[str], str], ...] = (str.lower, str.upper, str.casefold)
METHODS = (
    lambda text: text.lower(),
    lambda text: text.upper(),
    lambda text: text.casefold(),
    lambda text: text,
)
SPLIT = ("\\S+", "(?u)\\S+")

Column = Callable[[str], tuple[int, float] | None]


def read(vectorizer: Any, offset: int) -> Stream:
    """One vectorizer as a stream whose features begin at a column; NotLowered says what is in the
    way.
    """
    kind = kind_read(vectorizer)
    given = vectorizer.get_params()
    prepare = vectorizer.build_preprocessor()
    tokens, separates = (
        words(vectorizer) if kind == "word" else ((lambda text: ()), (lambda char: False))
    )
    low, high = vectorizer.ngram_range
    return Stream(
        kind=kind,
        orders=(int(low), int(high)),
        prepare=lru_cache(100_000)(prepare),
        tokens=tokens,
        separates=separates,
        stop=frozenset(vectorizer.get_stop_words() or ())
        if given["analyzer"] == "word"
        else frozenset(),
        analyze=vectorizer.build_analyzer(),
        column=_shifted(columns(vectorizer), offset),
        begins=_beginning(vectorizer, kind),
    )


def kind_read(vectorizer: Any) -> Kind:
    """How a vectorizer cuts texts, if that is understood."""
    given = vectorizer.get_params()
    name = type(vectorizer).__name__
    if given["input"] != "content":
        raise NotLowered(f"{name}(input={given['input']!r}) does not take strings")
    if callable(given["analyzer"]):
        raise NotLowered(f"{name}(analyzer=...) is a function of its own")
    if given["preprocessor"] is not None and not _by_letter(given["preprocessor"]):
        raise NotLowered(f"{name}(preprocessor=...) is a function of its own")
    if callable(given["strip_accents"]):
        raise NotLowered(f"{name}(strip_accents=...) is a function of its own")
    if np.dtype(given["dtype"]) not in (np.float64, np.int64):
        raise NotLowered(f"{name}(dtype={np.dtype(given['dtype']).name}) rounds too much")
    match given["analyzer"]:
        case "char":
            return "char"
        case "char_wb":
            return "char_wb"
    return "split" if _pattern(vectorizer) is None else "word"


def _by_letter(function: Any) -> bool:
    return function in LETTERS or any(_same(function, known) for known in METHODS)


def _same(function: Any, known: Any) -> bool:
    """Whether a function is written like a known one, whatever its argument is called."""
    code = getattr(function, "__code__", None)
    plain = known.__code__
    return code is not None and (code.co_code, code.co_names, code.co_consts) == (
        plain.co_code,
        plain.co_names,
        plain.co_consts,
    )


def _pattern(vectorizer: Any) -> str | None:
    """The pattern of the tokens; None where they are what stands between spaces."""
    own = vectorizer.tokenizer
    if own is None:
        return None if vectorizer.token_pattern in SPLIT else str(vectorizer.token_pattern)
    if own is str.split or _same(own, lambda text: text.split()):
        return None
    pattern = getattr(own, "__self__", None)
    if isinstance(pattern, re.Pattern) and own == pattern.findall and pattern.flags == re.UNICODE:
        return None if pattern.pattern in SPLIT else str(pattern.pattern)
    raise NotLowered(f"{type(vectorizer).__name__}(tokenizer=...) is a function of its own")


def words(vectorizer: Any) -> tuple[Callable[[str], Sequence[str]], Callable[[str], bool]]:
    """The tokens of a string, and whether a character ends every token."""
    pattern = _pattern(vectorizer) if kind_read(vectorizer) == "word" else None
    if pattern is None:
        raise NotLowered("its tokens are not those of a pattern")
    eats = _eaters(pattern)
    prepare, cut = vectorizer.build_preprocessor(), vectorizer.build_tokenizer()
    stop = frozenset(vectorizer.get_stop_words() or ())

    def tokens(text: str) -> list[str]:
        return [token for token in cut(prepare(text)) if token not in stop]

    def separates(char: str) -> bool:
        made = prepare(char)
        return bool(made) and not any(
            _wordlike(c) or any(e.fullmatch(c) for e in eats) for c in made
        )

    return lru_cache(100_000)(tokens), lru_cache(10_000)(separates)


def _wordlike(char: str) -> bool:
    return char.isalnum() or char == "_"


def _eaters(pattern: str) -> list[re.Pattern[str]]:
    """What a token pattern takes character by character; patterns that look further are not
    understood.
    """
    found = []
    at = 0
    while at < len(pattern):
        hit = ATOM.match(pattern, at)
        if hit is None:
            raise NotLowered(f"token_pattern={pattern!r} is not understood")
        if hit["eats"] is not None:
            found.append(re.compile(hit["eats"]))
        at = hit.end()
    return found


def width(vectorizer: Any) -> int:
    """How many features there are."""
    if kind_of(vectorizer) == "HashingVectorizer":
        return int(vectorizer.n_features)
    return len(vectorizer.vocabulary_)


def columns(vectorizer: Any) -> Column:
    """The place and sign of a feature."""
    if kind_of(vectorizer) == "HashingVectorizer":
        hasher = vectorizer._get_hasher()

        def hashed(feature: str) -> tuple[int, float] | None:
            row = hasher.transform([[feature]])
            return int(row.indices[0]), float(row.data[0])

        return lru_cache(1_000_000)(hashed)
    places = {
        str(feature): (int(column), 1.0) for feature, column in vectorizer.vocabulary_.items()
    }
    return places.get


def _shifted(column: Column, offset: int) -> Column:
    if not offset:
        return column

    def found(feature: str) -> tuple[int, float] | None:
        place = column(feature)
        return None if place is None else (place[0] + offset, place[1])

    return found


def _beginning(vectorizer: Any, kind: Kind) -> Callable[[str], bool]:
    if kind_of(vectorizer) == "HashingVectorizer":
        return lambda run: True
    begun: set[str] = set()
    for feature in map(str, vectorizer.vocabulary_):
        symbols = feature if kind in ("char", "char_wb") else feature.split(" ")
        joined = "" if kind in ("char", "char_wb") else " "
        begun.update(joined.join(symbols[:k]) for k in range(1, len(symbols)))
    return begun.__contains__
