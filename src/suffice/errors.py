"""Every exception of suffice, each with a message that says what was wrong and what to do.

SufficeError
├── InputError          what the caller gave is wrong: a text, a word, a number, a file
│   ├── ModelError      a classifier that is missing, damaged or does not fit together
│   └── NotACertificate a file that is not a certificate at all
├── MissingExtra        an optional package is needed and not installed
└── Rejected            a certificate that does not prove what it claims, or not what was asked
    └── NotChecked      one that would take longer to check than it was given: nothing is known of
    it
"""

from __future__ import annotations


class SufficeError(Exception):
    """The root: catch this to catch everything suffice raises on purpose."""


class InputError(SufficeError, ValueError):
    """What the caller gave cannot be used; the message says which value and what would do."""


class ModelError(InputError):
    """A classifier is missing, damaged, or its parts do not fit together."""


class NotACertificate(InputError):
    """A file is not a certificate: wrong format, truncated, or beyond the limits."""


class MissingExtra(SufficeError, ImportError):
    """An optional package is needed; the message is the command that installs it."""

    def __init__(self, extra: str, package: str) -> None:
        super().__init__(
            f"This needs {package}: install suffice with the extra {extra!r}, in a clone by  "
            f"pip install -c constraints.txt '.[{extra}]'"
        )


class Rejected(SufficeError):
    """A certificate fails; `line` is the first line (counted from 1) that does not hold."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class NotChecked(Rejected):
    """A certificate could not be checked within the time given: it is not accepted, and nothing is
    said against it.
    """
