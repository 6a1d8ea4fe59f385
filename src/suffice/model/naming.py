"""Naming: digests of programs by what they are made of: the same in every process, another one
where that is another.

A program is followed through all that it reaches in its user's own files: functions with what they
hold, close over and name, classes with all that stands in them and in those above them, modules
that are named, objects and data. Code counts as it was compiled, which is what runs. What belongs
to an installed package stands as its name and version, and is not followed. What can be neither
followed nor named is Untold.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import importlib
import importlib.util
import json
import re
import secrets
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from suffice.errors import InputError
from suffice.model.code import Reads, reads
from suffice.model.owners import PYTHON, package_of

PLAIN = {bool, int, float, complex, str, type(None), type(...), type(NotImplemented)}
DESCRIPTORS = (
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ClassMethodDescriptorType,
    WrapperDescriptorType,
)
# Nothing that an answer depends on: what threads wait for, and memories that empty themselves.
IDLE = (
    type(threading.Lock()),
    type(threading.RLock()),
    weakref.WeakKeyDictionary,
    weakref.WeakValueDictionary,
    weakref.WeakSet,
)
# Of a class: what Python itself keeps there, and what is not run.
UNREAD = {
    "__dict__",
    "__weakref__",
    "__doc__",
    "__module__",
    "__annotations__",
    "_abc_impl",
    "__firstlineno__",
}
UNREAD |= {"__static_attributes__", "__annotate__", "__annotate_func__", "__annotations_cache__"}
# Of objects of scikit-learn: an address, how long fitting took, and what stands in them a second
# time.
SKLEARN = {"_stop_words_id", "refit_time_", "cv_results_", "named_estimators_"}
HOOKS = ("__reduce_ex__", "__reduce__", "__getstate__")
# What a class of the user's own holds where it is a kind of one of these.
HELD: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (dict, lambda value: list(dict.items(value))),
    (list, lambda value: list(list.__iter__(value))),
    (tuple, lambda value: tuple(tuple.__iter__(value))),
    (set, lambda value: frozenset(set.__iter__(value))),
    (frozenset, lambda value: frozenset(frozenset.__iter__(value))),
    (str, str.__str__),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))),
    (int, int.__int__),
    (float, float.__float__),
    (np.ndarray, np.asarray),
)
DEEP = 8  # sets within sets that are looked into


class Untold(InputError):
    """A program holds something, `what`, that no digest can stand for."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"A digest covers code and data, and {what} is neither: leave it out of what is given."
        )
        self.what = what


def named(function: Callable[..., Any]) -> str:
    """Where it comes from, and a digest of what it is made of."""
    kind = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{kind}.{name} {content(function)[:16]}"


def content(made: Any) -> str:
    """SHA-256 over what something is made of."""
    return _Walk().digest(made)


def told(made: Any) -> tuple[str, str]:
    """Its content; or where no digest can stand for it a name that nothing else has, and what is to
    blame.
    """
    try:
        return content(made), ""
    except Untold as error:
        return secrets.token_hex(32), error.what


class _Walk:
    """All that is reached, numbered as it is met and described once, one in the other by numbers:
    no round has an end.

    What is plain, tuples and sets are described where they stand: of those that are alike there may
    be one, or two.
    """

    def __init__(self, depth: int = 0) -> None:
        self.depth = depth
        self.things: list[Any] = []  # held, so that no id comes again for something else
        self.paths: list[str] = []  # how each of them is reached, for people
        self.numbers: dict[int, int] = {}
        self.values: dict[int, tuple[Any, str]] = {}
        self.path = ""
        self.modules: list[ModuleType] = []  # of the user's own
        self.names: set[str] = set()  # that are read of anything, anywhere
        self.read: set[tuple[str, str]] = set()  # names of modules that were followed

    def digest(self, made: Any) -> str:
        sha = hashlib.sha256(json.dumps([PYTHON, self.of(made)]).encode())
        done = 0
        while done < len(self.things):
            self.path = self.paths[done]
            sha.update(json.dumps(self._parts(self.things[done])).encode())
            done += 1
            if done == len(self.things):
                sha.update(json.dumps(list(self._of_modules())).encode())
        return sha.hexdigest()

    def of(self, value: Any, label: str = "") -> Any:
        """A description; what has parts of its own is named by a number, and described
        in its turn.
        """
        kind = type(value)
        if kind in PLAIN:
            return f"{kind.__name__} {value!r}"
        if kind in (bytes, bytearray, memoryview):
            data = bytes(value)
            return f"bytes {len(data)} {hashlib.sha256(data).hexdigest()}"
        if kind in (tuple, set, frozenset):
            return self._value(value, label)
        if isinstance(value, np.generic):
            return [
                "scalar",
                repr(value.dtype),
                value.tobytes().hex() if value.dtype.kind != "O" else repr(value),
            ]
        known = _known(value)
        return known if known is not None else f"# {self._number(value, label)}"

    def _number(self, value: Any, label: str) -> int:
        if id(value) not in self.numbers:
            self.numbers[id(value)] = len(self.things)
            self.things.append(value)
            self.paths.append(f"{self.path}.{label}".strip("."))
        return self.numbers[id(value)]

    def _value(self, value: Any, label: str) -> str:
        if id(value) not in self.values:
            try:
                parts = (
                    [self.of(one, label) for one in value]
                    if type(value) is tuple
                    else self._members(value)
                )
            except RecursionError:
                raise Untold(f"a tuple too deep to be read{self._where(label)}") from None
            text = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
            self.values[id(value)] = value, f"{type(value).__name__} {len(value)} {text}"
        return self.values[id(value)][1]

    def _members(self, value: Any) -> list[str]:
        """Each by itself, as they have no order."""
        plain = [f"{type(one).__name__} {one!r}" for one in value if type(one) in PLAIN]
        others = [one for one in value if type(one) not in PLAIN]
        if others and self.depth >= DEEP:
            raise Untold(
                f"a set that holds itself, or sets within sets without end{self._where('')}"
            )
        return sorted([*plain, *(_Walk(self.depth + 1).digest(one) for one in others)])

    def _where(self, label: str) -> str:
        path = f"{self.path}.{label}".strip(".")
        return f" ({path})" if path else ""

    # --- what things are made of ---

    def _parts(self, value: Any) -> Any:
        match value:
            case FunctionType():
                return self._function(value)
            case type():
                return [
                    "class",
                    value.__qualname__,
                    self._each((type(value), *value.__bases__)),
                    self._inside(value),
                ]
            case ModuleType():
                self.modules.append(value)
                return ["module", value.__name__]
            case MethodType():
                return ["method", self.of(value.__func__), self.of(value.__self__, value.__name__)]
            case BuiltinFunctionType() | MethodWrapperType():  # words.__contains__ is one of a set
                return ["of", value.__name__, self.of(value.__self__)]
            case staticmethod() | classmethod():
                return [type(value).__name__, self.of(value.__func__)]
            case property():
                return ["property", *self._each((value.fget, value.fset, value.fdel))]
            case functools._lru_cache_wrapper():
                return [
                    "cached",
                    self.of(value.__wrapped__),
                    repr(sorted(value.cache_parameters().items())),
                ]
            case weakref.ref():
                return ["reference", self.of(value())]
            case CellType():
                return ["cell", self.of(_inside_of(value))]
            case CodeType():
                return self._code(value)
            case _:
                return self._data(value)

    def _each(self, values: Any) -> list[Any]:
        return [self.of(value) for value in values]

    def _attributes(self, held: Mapping[str, Any]) -> list[Any]:
        """Whatever their order."""
        return [[str(name), self.of(held[name], str(name))] for name in sorted(held, key=str)]

    def _inside(self, kind: type) -> list[Any]:
        return self._attributes(
            {name: one for name, one in vars(kind).items() if name not in UNREAD}
        )

    # --- functions ---

    def _function(self, function: FunctionType) -> Any:
        """One of a package by its name and by what it was made with; the others by their code and
        what that reads.
        """
        module = str(function.__globals__.get("__name__", ""))
        code = function.__code__
        package = package_of(module)
        found = reads(code) if package is None else None
        cells = zip(code.co_freevars, map(_inside_of, function.__closure__ or ()), strict=True)
        free = self._attributes(
            {name: one for name, one in cells if found is None or _counts(found, name, one)}
        )
        held = [free, self._attributes(vars(function))]
        if found is None:
            return ["function", package, f"{module}.{code.co_qualname}", *held]
        given = [self.of(function.__defaults__), self._attributes(function.__kwdefaults__ or {})]
        return [
            "function",
            self._code(code),
            *held,
            *given,
            *self._looked_up(found, function.__globals__),
        ]

    def _code(self, code: CodeType) -> list[Any]:
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        run = hashlib.sha256(code.co_code + b" " + code.co_exceptiontable).hexdigest()
        names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        inner = [
            self._code(one) if isinstance(one, CodeType) else self.of(one) for one in code.co_consts
        ]
        return [counts, run, names, inner]

    def _looked_up(self, found: Reads, around: dict[str, Any]) -> list[Any]:
        """What stands behind the names in code; what it reads of modules is followed when all names
        are known.
        """
        self.names |= found.names
        known = {
            name: around[name]
            for name in found.globals & around.keys()
            if _counts(found, name, around[name])
        }
        package = str(
            around.get("__package__") or str(around.get("__name__", "")).rpartition(".")[0]
        )
        imported = [
            self._imported("." * level + name, package) for name, level in sorted(found.imports)
        ]
        spoken = [self._imported(name, "") for name in sorted(found.spoken) if _there(name)]
        return [self._attributes(known), imported, spoken]

    def _imported(self, name: str, package: str) -> Any:
        """A module that code imports when it runs; what it takes from it is among the names that it
        reads.
        """
        try:
            full = importlib.util.resolve_name(name, package)
            owner = package_of(full)
            if owner is not None:
                return [full, owner]
            module = importlib.import_module(full)
        except Exception as error:  # of somebody else's module
            what = (
                f"the module {name!r}, which cannot be imported ({type(error).__name__}: {error})"
            )
            raise Untold(f"{what}{self._where('')}") from error
        return [self.of(one, one.__name__) for one in (sys.modules[full.partition(".")[0]], module)]

    def _of_modules(self) -> Iterator[Any]:
        """What the user's own modules hold under the names that are read somewhere, as far as it is
        new.
        """
        for module in list(self.modules):
            held = vars(module)
            for name in sorted(self.names & held.keys()):
                if (module.__name__, name) not in self.read:
                    self.read.add((module.__name__, name))
                    self.path = module.__name__
                    yield [module.__name__, name, self.of(held[name], name)]

    # --- data ---

    def _data(self, value: Any) -> Any:
        kind = type(value)
        if kind is list:
            return ["list", *self._each(value)]
        if kind in (
            dict,
            MappingProxyType,
        ):  # in their order, in which a program may go through them
            return [
                kind.__name__,
                *([self.of(key), self.of(one, str(key))] for key, one in value.items()),
            ]
        if kind is re.Pattern:
            return ["pattern", repr(value.pattern), value.flags]
        if isinstance(value, np.dtype):
            return ["dtype", repr(value)]
        if kind in (np.ndarray, np.memmap):
            return self._array(value)
        if kind.__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
            return self._tensor(value)
        if isinstance(value, IDLE):
            return ["idle", kind.__name__]
        if isinstance(value, set | frozenset | np.ndarray) or any(
            _own(_definer(kind, hook)) for hook in HOOKS
        ):
            return self._object(value)
        return self._reduced(value)

    def _array(self, array: Any) -> Any:
        """By its bytes; field by field where it has some, as nothing is known of the bytes between
        them.
        """
        if array.dtype.names is not None:
            return [
                "record",
                array.shape,
                [[name, self._array(array[name])] for name in array.dtype.names],
            ]
        if array.dtype.hasobject or array.dtype.kind == "T":
            return ["objects", repr(array.dtype), array.shape, *self._each(array.ravel().tolist())]
        return [
            "array",
            repr(array.dtype),
            array.shape,
            hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest(),
        ]

    def _tensor(self, tensor: Any) -> Any:
        try:
            array = (
                tensor.detach()
                .cpu()
                .contiguous()
                .flatten()
                .view(sys.modules["torch"].uint8)
                .numpy()
            )
        except (RuntimeError, TypeError, NotImplementedError) as error:  # sparse, or quantised
            raise Untold(
                f"a tensor whose numbers cannot be read ({error}){self._where('')}"
            ) from error
        return ["tensor", str(tensor.dtype), list(tensor.shape), self._array(array)]

    def _object(self, value: Any) -> Any:
        """Of the user's own: whatever it holds, not what it says of itself."""
        held = [self.of(inside(value)) for kind, inside in HELD if isinstance(value, kind)]
        slots = {
            name: member.__get__(value)
            for kind in type(value).__mro__
            for name, member in vars(kind).items()
            if isinstance(member, MemberDescriptorType) and _own(kind) and hasattr(value, name)
        }
        return [
            "object",
            self.of(type(value)),
            held,
            self._attributes({**slots, **getattr(value, "__dict__", {})}),
        ]

    def _reduced(self, value: Any) -> Any:
        """By what pickle would write of it."""
        kind = type(value)
        try:
            made = (
                copyreg.dispatch_table[kind](value)
                if kind in copyreg.dispatch_table
                else value.__reduce_ex__(4)
            )
        except Exception as error:  # a connection, a file, a generator
            raise Untold(f"a {kind.__module__}.{kind.__qualname__}{self._where('')}") from error
        if isinstance(made, str):  # it says under which name it stands in a package
            module = next(
                (
                    one
                    for one in _modules_of(value)
                    if package_of(one) and _stands(value, one, made)
                ),
                None,
            )
            if module is None:
                raise Untold(
                    f"a {kind.__module__}.{kind.__qualname__} called {made!r}{self._where('')}"
                )
            return ["global", f"{module}.{made}", package_of(module)]
        parts: list[Any] = [*made, None, None, None]
        return [
            "object",
            *self._each(parts[:2]),
            self._state(kind, parts[2]),
            [] if parts[3] is None else self._each(parts[3]),
            [] if parts[4] is None else [self._each(pair) for pair in parts[4]],
        ]

    def _state(self, kind: type, state: Any) -> Any:
        if (
            isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict)
        ):  # attributes, and slots
            return [self._state(kind, part) for part in state]
        if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
            return self.of(state)
        fitted = any(one.__module__.partition(".")[0] == "sklearn" for one in kind.__mro__)
        return self._attributes(
            {name: one for name, one in state.items() if not (fitted and name in SKLEARN)}
        )


def _counts(found: Reads, name: str, value: Any) -> bool:
    """Whether a variable is part of what code answers: not a list that it only adds to."""
    return type(value) is not list or name in found.used


def _there(name: str) -> bool:
    """Whether a string names a module of the user's own."""
    top = name.partition(".")[0]
    try:
        return package_of(top) is None and (
            top in sys.modules or importlib.util.find_spec(top) is not None
        )
    except (ImportError, ValueError):
        return False


def _known(value: Any) -> str | None:
    """What stands in an installed package under its own name: that name, and the version of the
    package.
    """
    if isinstance(value, ModuleType):
        package = package_of(value.__name__)
        return None if package is None else f"module {value.__name__} {package}"
    if isinstance(value, DESCRIPTORS):
        kind = value.__objclass__
        return f"descriptor {kind.__qualname__}.{value.__name__} {package_of(kind.__module__)}"
    name: Any = getattr(value, "__qualname__", getattr(value, "__name__", None))
    for module in _modules_of(value) if isinstance(name, str) else ():
        package = package_of(module)
        if package is not None and _stands(value, module, name):
            return f"{type(value).__name__} {module}.{name} {package}"
    return None


def _modules_of(value: Any) -> Iterator[str]:
    """Where it may stand: a wrapper says that it is what it wraps, which its globals do not."""
    around = getattr(value, "__globals__", None)
    said = (
        around.get("__name__") if isinstance(around, dict) else getattr(value, "__module__", None)
    )
    module = said if isinstance(said, str) else type(value).__module__
    yield module
    yield module.partition(".")[0]


def _stands(value: Any, module: str, name: str) -> bool:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value or (
        isinstance(value, MethodType | BuiltinFunctionType) and found == value
    )


def _own(kind: type | None) -> bool:
    return kind is not None and package_of(kind.__module__) is None


def _definer(kind: type, name: str) -> type | None:
    return next((one for one in kind.__mro__ if name in vars(one)), None)


def _inside_of(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None
