"""Runner: texts are run again; by how much the label leads, and whether that is too close to zero.

Method: queries with a measured tolerance (theory, section 12).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from suffice.errors import Rejected
from suffice.model.blackbox import BlackBox
from suffice.model.network import Floats
from suffice.proof.replay.limits import CHUNK


@dataclass
class Runner:
    """The black box, and the label of the text; `ran` counts the texts, `look` looks at
    the clock.
    """

    blackbox: BlackBox
    label: int
    ignore_cache: bool
    check_time: Callable[[], None]
    rival: int | None = None  # the label that flips are counted to; None: any other
    texts_run: int = 0

    def keeps(self, text: str) -> bool:
        return bool((self.margins([text]) > 0).all())

    def all_keep(self, texts: Iterator[str]) -> None:
        """Rejected, with a text, unless every text clearly keeps the label."""
        while chunk := list(islice(texts, CHUNK)):
            self.check_time()
            failing = ~(self.margins(chunk) > 0)
            if failing.any():
                text = chunk[int(failing.argmax())]
                raise Rejected(
                    0, f"run again, this text does not clearly keep the label: {text[:100]!r}"
                )

    def margins(self, texts: Sequence[str]) -> Floats:
        """Margins of texts as they are run now; NaN where they are too close to call."""
        return self.settled_margins(texts, self.rows(texts))

    def settled_margins(self, texts: Sequence[str], rows: Mapping[str, Floats]) -> Floats:
        """The margins that scores make; what is close is run once more, alone."""
        if not texts:
            return np.zeros(0)
        answers = self.blackbox.answers
        margins = dict(zip(rows, self._leads(np.array(list(rows.values()))).tolist(), strict=True))
        tolerance = answers.tolerance
        for text, margin in margins.items():
            if abs(margin) <= tolerance and tolerance:
                again = float(self._leads(answers.ask([text]))[0])
                margins[text] = again if abs(again) > tolerance else math.nan
        return np.array([margins[text] for text in texts])

    def rows(self, given: Sequence[str]) -> dict[str, Floats]:
        """The scores of each text, run now; the first are run once more, to see how far numbers
        move.
        """
        answers = self.blackbox.answers
        texts = list(dict.fromkeys(given))
        self.texts_run += len(texts)
        if not self.ignore_cache or answers.moves is None:
            known = dict(zip(texts, answers.scores(texts), strict=True))
            if not self.ignore_cache:
                return known
        found: dict[str, Floats] = {}
        for batch in answers.batches(texts):
            self.check_time()
            found.update(zip(batch, answers.ask(batch), strict=True))
        return found

    def _leads(self, rows: Floats) -> Floats:
        """By how much the label is ahead of the best other one, or of the one that flips are
        counted to.
        """
        rivals = (
            np.delete(rows, self.label, axis=1).max(1)
            if self.rival is None
            else rows[:, self.rival]
        )
        return np.asarray(rows[:, self.label] - rivals)
