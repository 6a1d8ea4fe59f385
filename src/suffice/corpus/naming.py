"""Naming: a name for a function that changes with what it does, so that no run goes on with another one's answers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from suffice.corpus.rows import digest


def named(function: Callable[..., Any]) -> str:
    """Where it comes from, and a digest of its code and of the data that it closes over, holds or names."""
    kind = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", type(function).__qualname__)
    try:
        return f"{kind}.{name} {digest({'made of': _Making().of(function)})}"
    except RecursionError:  # it holds lists within lists without end
        return f"{kind}.{name}"


class _Making:
    """What something is made of as JSON, each thing once: what comes again is only said to."""

    def __init__(self) -> None:
        self.seen: dict[int, Any] = {}  # holds what was seen, so that no number comes again for something else

    def of(self, value: Any) -> Any:
        if value is None or value is ... or isinstance(value, bool | int | float | complex | str | bytes):
            return [type(value).__qualname__, repr(value)]
        if not isinstance(value, tuple | frozenset):  # of constants that are alike there may be one, or two
            if id(value) in self.seen:
                return "again"
            self.seen[id(value)] = value
        return [type(value).__qualname__, self._parts(value)]

    def _parts(self, value: Any) -> Any:
        match value:
            case FunctionType():
                return [self._code(value), *self._each((value.__defaults__, value.__kwdefaults__, value.__closure__))]
            case CodeType():
                return [value.co_code.hex(), list(value.co_names), *self._each(value.co_consts)]
            case CellType():
                return self.of(_content(value))
            case partial():
                return self._each((value.func, value.args, value.keywords))
            case MethodType():
                return self._each((value.__func__, value.__self__))
            case BuiltinMethodType():  # words.__contains__ is one of a set
                return [value.__qualname__, self.of(value.__self__)]
            case type() | ModuleType():
                return value.__name__
            case _:
                return self._data(value)

    def _data(self, value: Any) -> Any:
        match value:
            case re.Pattern():
                return [repr(value.pattern), value.flags]
            case np.ndarray() if value.dtype != object:
                return [str(value.dtype), list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
            case Mapping():
                return sorted((self._each(pair) for pair in value.items()), key=json.dumps)
            case Set():
                return sorted(map(self.of, value), key=json.dumps)
            case Sequence():
                return self._each(value)
            case _:
                inner = (getattr(value, name, None) for name in ("__qualname__", "__wrapped__", "__dict__"))
                return [_shown(value), *self._each((*inner, _called(type(value))))]

    def _code(self, function: FunctionType) -> Any:
        """Its code, and what stands behind the names in it."""
        known = {name: function.__globals__[name] for name in _names(function.__code__) & function.__globals__.keys()}
        return self._each((function.__code__, known))

    def _each(self, values: Any) -> list[Any]:
        return [self.of(value) for value in values]


def _shown(value: Any) -> str:
    """How an object writes itself, unless that is where it lies in memory."""
    try:
        shown = repr(value)
    except Exception:  # of somebody else's object
        return ""
    return "" if " at 0x" in shown else shown


def _called(kind: type) -> Any:
    """What runs when an object of this kind is called, where that is written in Python."""
    return next((base.__dict__["__call__"] for base in kind.__mro__ if "__call__" in base.__dict__), None)


def _names(code: CodeType) -> set[str]:
    """What code and the functions inside it look up by name."""
    return {*code.co_names}.union(*(_names(one) for one in code.co_consts if isinstance(one, CodeType)))


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
