"""Bundled substitutes: the words that may stand in a word's place, and the groups of words that
audits exchange.
"""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from suffice.errors import InputError
from suffice.model.saved import BUNDLED

Table: TypeAlias = MappingProxyType[str, tuple[str, ...]]

ALIKE = 0.8  # how alike two names are written, of 1
FOLDER = BUNDLED / "substitutes"


@cache
def substitutes() -> Table:
    """The substitutes of each frequent English word, the most usual first."""
    return read(FOLDER / "substitutes.tsv")


@cache
def group(name: str) -> Table:
    """The words of one group, such as gender, each with those that audits put in its place."""
    if name not in groups():
        raise InputError(f"There is no group {name!r}: use one of {', '.join(groups())}.")
    return read(FOLDER / "groups" / f"{name}.tsv")


@cache
def groups() -> tuple[str, ...]:
    """The names of the groups that come with the package."""
    names = (file.name for file in (FOLDER / "groups").iterdir())
    return tuple(sorted(name.removesuffix(".tsv") for name in names if name.endswith(".tsv")))


def in_case_of(word: str, other: str) -> str:
    """A substitute in the case of the word that it replaces: Sarah, Fatima; HER, HIS; Old,
    Middle-aged.

    A single capital is the first letter of a word (A), not a word in capitals. Where every part of
    a joined word has a capital, every part of the substitute takes one.
    """
    if word == word.lower():
        return other
    if word == word.upper() and sum(map(str.isalpha, word)) > 1:
        return other.upper()
    if not word[0].isupper():
        return other  # iPhone, eBay: no case that another word could take
    joined = all(part[:1].isupper() for part in word.split("-"))
    return "-".join(map(_capital, other.split("-"))) if joined and "-" in word else _capital(other)


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def like_group(word: str) -> str:
    """The group whose name a word that stands in no table is written like: a slip, probably; else
    nothing.
    """
    if any(word.lower() in table for table in (*map(group, groups()), substitutes())):
        return ""
    return next(iter(difflib.get_close_matches(word.lower(), groups(), 1, ALIKE)), "")


def read(file: Path) -> Table:
    """A table with one word a line, a tab, and its substitutes with commas between; lines with #
    are remarks.
    """
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return MappingProxyType({word: tuple(others.split(",")) for word, others in rows})
