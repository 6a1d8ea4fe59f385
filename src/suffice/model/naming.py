"""Naming: names for functions and objects that change with what they do, so that no answer is taken for another's."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import re
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

INSTALLED = {"site-packages", "dist-packages"}  # folders of libraries, whose code is named by its place


def named(function: Callable[..., Any]) -> str:
    """Where it comes from, and a digest of its code and of the data that it closes over, holds or names."""
    kind = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{kind}.{name} {_digest(function)[:16]}"


def content(made: Any) -> str:
    """SHA-256 of an object as pickle writes it, its functions and classes by what they are made of."""
    out = io.BytesIO()
    try:
        _ByContent(out, protocol=4).dump(made)
    except Exception:  # a lock, a connection, a file
        return _digest(made)
    return hashlib.sha256(out.getvalue()).hexdigest()


class _ByContent(pickle.Pickler):
    """Never to be read again: a function or a class of a user's own stands as the name of what it is made of."""

    def reducer_override(self, made: Any) -> Any:
        if not isinstance(made, FunctionType | type) or _of_a_library(made.__module__ or ""):
            return NotImplemented
        if isinstance(made, FunctionType):
            return str, (named(made),)
        methods = sorted((name, one) for name, one in vars(made).items() if isinstance(one, FunctionType))
        return str, (made.__qualname__, *(named(one) for _, one in methods))


def _of_a_library(module: str) -> bool:
    top = module.split(".")[0]
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return (top in sys.stdlib_module_names and top != "__main__") or not INSTALLED.isdisjoint(Path(file).parts)


def _digest(made: Any) -> str:
    try:
        parts = json.dumps(_Making().of(made))
    except RecursionError:  # it holds lists within lists without end
        parts = ""
    return hashlib.sha256(parts.encode()).hexdigest()


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
