"""Owners: which installed package, in which version, a module belongs to, or that it is a file of
the user's own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import sysconfig
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from suffice.version import __version__

INSTALLED = {"site-packages", "dist-packages"}  # folders of packages
COMPILED = (".so", ".pyd")
PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"
STANDARD = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))


def package_of(module: str) -> str | None:
    """The package that a module is part of, and its version; None for a user's own file, whose code
    is followed.

    A file among the installed packages that no version is known of counts as the user's own. What
    is compiled cannot be followed: the bytes of its file stand for it.
    """
    top = module.partition(".")[0]
    if top == "suffice":
        return f"suffice {__version__}"
    file = _file(module, top)
    if file is None:
        return PYTHON if top in sys.stdlib_module_names and top != "__main__" else None
    return _owner(top, file)


def _file(module: str, top: str) -> Path | None:
    """Where a module lies, loaded or not; None where it has no file."""
    loaded = sys.modules.get(module) or sys.modules.get(top)
    if loaded is not None:
        return _path(
            getattr(loaded, "__file__", None) or next(iter(getattr(loaded, "__path__", ())), None)
        )
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    return None if found is None or not found.has_location else _path(found.origin)


def _path(given: str | None) -> Path | None:
    return None if given is None else Path(given)


@lru_cache(10_000)
def _owner(top: str, file: Path) -> str | None:
    if not INSTALLED.isdisjoint(file.parts):
        version = version_of(top)
        return None if version is None else f"{top} {version}"
    if top in sys.stdlib_module_names and any(file.is_relative_to(folder) for folder in STANDARD):
        return PYTHON
    return compiled(file)


def compiled(file: Path) -> str | None:
    """The bytes of a compiled module, which has no code to follow."""
    if file.suffix not in COMPILED or not file.is_file():
        return None
    return f"compiled {hashlib.sha256(file.read_bytes()).hexdigest()}"


@lru_cache(1000)
def version_of(top: str) -> str | None:
    """The version of an installed package: as it was installed, or by its own word, or of whatever
    brought it.
    """
    from importlib import metadata

    with suppress(metadata.PackageNotFoundError):
        return metadata.version(top)
    said = getattr(sys.modules.get(top), "__version__", None)
    if isinstance(said, str):
        return said
    found = sorted(set(metadata.packages_distributions().get(top, ())))
    return ", ".join(f"{name} {metadata.version(name)}" for name in found) or None
