"""The version, read from the installed package."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("suffice")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"
