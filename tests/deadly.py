"""A perturbation that kills the process which meets a certain word: once, or every time."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import suffice as sf
from suffice.sets.regions import Region


@dataclass(frozen=True)
class Deadly:
    """Boxes around the k nearest words; at `word` the process dies (once, when `mark` is a file to
    leave behind).
    """

    k: int
    word: str
    mark: str = ""
    at_most: int | None = None

    def around(self, classifier: sf.Classifier, text: sf.Text) -> Region:
        if self.word in text.tokens and not (self.mark and Path(self.mark).exists()):
            if self.mark:
                Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return sf.KNNBox(self.k).around(classifier, text)

    def narrowed(self, classifier: sf.Classifier, text: sf.Text) -> Deadly:
        return self

    def to_dict(self) -> dict[str, Any]:
        return sf.KNNBox(self.k).to_dict()
