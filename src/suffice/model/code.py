"""Code: what compiled code does, and what it reads: names of its module, modules that it imports,
attributes.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from types import CodeType

# With these a program may look up whatever stands in one of its strings.
LOOKUPS = {"eval", "exec", "globals", "vars", "getattr", "attrgetter", "methodcaller"}
IMPORTERS = {"__import__", "import_module", "modules"}  # the last: of sys
AROUND = (
    "NAME",
    "GLOBAL",
    "DEREF",
    "CLOSURE",
    "CLASSDEREF",
)  # instructions that load what is not local
ADDERS = {"append", "extend"}
WORD = re.compile(r"[^\W\d]\w*")
DOTTED = re.compile(rf"{WORD.pattern}(?:\.{WORD.pattern})*")


@dataclass
class Reads:
    """What code and the functions inside it look up: `globals` in their module, `names` in
    anything.

    `imports` are the modules that they import, as written: the name, and the level of a relative
    import. `spoken` are those that their strings may name. `used` are variables around it, with
    those of its module, of which more is done than that a list is added to: what a program only
    writes is no part of what it answers.
    """

    globals: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    imports: set[tuple[str, int]] = field(default_factory=set)
    spoken: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)


def reads(code: CodeType) -> Reads:
    found = Reads()
    strings = set[str]()
    for one in _all(code):
        _read(one, found)
        strings |= {text for const in one.co_consts for text in _strings(const)}
    found.names |= {text for text in strings if text.isidentifier()}
    if found.names & LOOKUPS:
        words = {word for text in strings for word in WORD.findall(text)}
        found.names |= words
        found.globals |= words
        found.used |= words
    if found.names & IMPORTERS:
        found.spoken = {text for text in strings if DOTTED.fullmatch(text)}
    return found


def _all(code: CodeType) -> Iterator[CodeType]:
    """The code and all code inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _all(const)


def _read(code: CodeType, found: Reads) -> None:
    found.names |= set(code.co_names)
    before: list[object] = [
        0,
        None,
    ]  # the last two constants: before an import its level, and what is taken from it
    steps = list(dis.get_instructions(code))
    for step, after in pairwise([*steps, steps[-1]]):
        name = step.opname
        if name == "IMPORT_NAME":
            found.imports.add((str(step.argval), before[0] if isinstance(before[0], int) else 0))
        elif name in ("LOAD_CONST", "LOAD_SMALL_INT"):
            before = [before[1], step.argval]
        elif name.startswith("LOAD") and any(part in name for part in AROUND):
            found.globals.add(str(step.argval))
            if after.opname not in ("LOAD_METHOD", "LOAD_ATTR") or after.argval not in ADDERS:
                found.used.add(str(step.argval))


def _strings(const: object) -> Iterator[str]:
    if isinstance(const, str):
        yield const
    elif isinstance(const, tuple | frozenset):
        for one in const:
            yield from _strings(one)
