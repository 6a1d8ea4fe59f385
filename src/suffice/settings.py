"""Settings: the tuned numbers of search and verification, in the open and passed in.

None of them changes what is true: whatever they are, an answer is proved, refuted by an input that
was run, or unknown, and both checkers read its certificate with numbers of their own. They change
how much work an answer takes, and which of several proofs or equally cheap sets is found. Below
each field stands what it is and what it trades, and in brackets its unit and the benchmark that
chose it.

What follows from arithmetic or from the format of certificates is no setting: it stands in
`suffice.verify.tolerances`, and in each checker once more. What the machine has (memory, caches)
is in `Resources`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

# --- networks: backward bounds and the planes that they choose ---


# --- networks: attacks, presolve, branch and bound ---


# --- texts: pipelines, tables, black boxes ---


# --- the optimiser ---


@dataclass(frozen=True)
class Resources:
    """What the machine has: memory, caches, and how long one piece of work may take between two
    looks at the clock.
    """


RESOURCES = Resources()


@dataclass(frozen=True)
class Settings:
    """All tuned numbers, by what they are about: `replace(settings, branching=Branching(...))`."""

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data, group by group."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """A name for these numbers: the first 16 digits of a SHA-256 of them."""
        data = json.dumps(self.to_dict(), sort_keys=True, default=float)
        return hashlib.sha256(data.encode()).hexdigest()[:16]


DEFAULT = Settings()
