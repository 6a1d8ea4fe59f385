"""Answer: what the answers of all verbs can do: become JSON, and be compared with one another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from suffice.model.text import Text
from suffice.verbs.wording import cut_off

# what is not the answer itself: how long it took, evidence in files of its own, what was looked up
# since
ASIDE = {
    "stats",
    "certificate",
    "certificates",
    "verdict_certificate",
    "alternatives",
    "why",
    "further",
}


class Answer:
    """The answer of a verb. Two are equal that give the same answer to the same question, however
    long each took.

    It prints as its sentence, followed by the words of the text that the classifier does not see.
    """

    if TYPE_CHECKING:  # a property that is there would be the default of a field

        @property
        def text(self) -> Text: ...

    def sentence(self) -> str:
        """The answer, for people."""
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{self.sentence()} {cut_off(self.text)}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        raise NotImplementedError

    def to_json(self, indent: int | None = 2) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self._itself == other._itself

    def __hash__(self) -> int:
        return hash(self._itself)

    @property
    def _itself(self) -> str:
        return json.dumps(_without_asides(self.to_dict()), sort_keys=True)


def _without_asides(answer: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in answer.items() if name not in ASIDE}
    if "meta" in kept:
        kept["meta"] = {name: value for name, value in kept["meta"].items() if name != "versions"}
    if "explanation" in kept:
        kept["explanation"] = _without_asides(kept["explanation"])
    if "explanations" in kept:
        kept["explanations"] = [
            _without_asides(one) if isinstance(one, Mapping) else one
            for one in kept["explanations"]
        ]
    return kept
