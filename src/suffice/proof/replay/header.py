"""The header of a certificate about a black box: text, options of its words, label and claim.

Method: claims (theory, section 13).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.model.blackbox import BlackBox
from suffice.model.text import Text, rewritten
from suffice.proof.replay.given_question import need, options_of, positions_in, text_of
from suffice.proof.replay.limits import MOST_CHANGES_WORK

HEADER = {"certificate", "model", "name", "mask", "text", "words", "perturbation", "label", "claim"}


@dataclass(frozen=True, eq=False)
class Header:
    """What a certificate is about: `label` is a place in the model's labels, `limit` how many words
    may change.
    """

    head: Mapping[str, Any]
    text: Text
    options: Sequence[Sequence[str]]
    limit: int
    labels: Sequence[str]
    label: int

    @property
    def claim(self) -> Mapping[str, Any]:
        return self.head["claim"]  # type: ignore[no-any-return]

    @property
    def at_most(self) -> int | None:
        """The limit as it is written; None where any number of words may change."""
        return self.head["perturbation"].get("at_most")  # type: ignore[no-any-return]

    @property
    def others(self) -> list[str]:
        """All labels but the text's own."""
        return [name for name in self.labels if name != self.head["label"]]

    def places(self, name: str) -> list[int]:
        """The positions that the claim names."""
        return positions_in(self.claim[name], len(self.text.words), name)

    def movable(self, places: Sequence[int] | None = None) -> list[int]:
        """Those of the places, or of all, whose words may become something."""
        return [
            i for i in (range(len(self.options)) if places is None else places) if self.options[i]
        ]

    def free(self, held: Sequence[int]) -> list[int]:
        return [i for i in self.movable() if i not in set(held)]

    def written(self, changes: Iterator[dict[int, str]]) -> Iterator[str]:
        """The texts that changes make of the original."""
        return (rewritten(self.text, change) for change in changes)


def read_header(head: Mapping[str, Any], blackbox: BlackBox) -> Header:
    """The header, which must be about this black box."""
    need(head.keys() == HEADER, f"the header must have exactly these: {', '.join(sorted(HEADER))}")
    need(head["model"] == blackbox.digest, "it is about another model (the digest differs)")
    need(head["mask"] == blackbox.mask, "the model writes a masked word in another way")
    need(type(head["name"]) is str, "the name must be a string")
    text = text_of(head["text"], head["words"])
    options = options_of(head["perturbation"], text.tokens, blackbox.mask)
    limit = head["perturbation"].get("at_most")
    need(
        limit is None or (type(limit) is int and limit >= 1),
        "at_most must be a whole number of at least 1",
    )
    limit = len(options) if limit is None else limit
    few_enough = limit >= len(options) or limit * len(options) <= MOST_CHANGES_WORK
    need(few_enough, "too many words with too large a limit")
    labels = list(blackbox.labels)
    need(head["label"] in labels, "the label is none of the model's")
    return Header(head, text, options, limit, labels, labels.index(head["label"]))
