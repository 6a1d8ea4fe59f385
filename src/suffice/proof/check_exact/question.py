"""The question of a certificate, as its header has it: which texts, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .inputs import Inputs
from .model import Model
from .rationals import Span, Vector, exact
from .reading import WHOLE, NotForThis, Places, Unreadable, fields, need, places, strings, whole
from .tokens import as_read
from .words import KEYS, Word, one_of, read_sets

NAMES = "certificate model text perturbation features label claim"


@dataclass(frozen=True, eq=False)
class Question:
    """A text, by the vectors of its words; `words` has what each may become, at most so many of them at once."""

    model: Model
    own: Sequence[Vector]
    words: Sequence[Word]
    features: Places
    label: int
    rivals: Mapping[str, int]
    kind: str  # of the perturbation set
    limited: bool  # whether it says how many words may change
    at_most: int
    reach: Mapping[int, Span]  # bounds of units by intervals, over all of these texts

    def inputs(self, free: Places, opened: Places, costs: list[int], budget: int) -> Inputs:
        """Texts that change free words; of those the open ones are paid for."""
        words = [word if i in free else one_of(self.own[i]) for i, word in enumerate(self.words)]
        choices = max(len(word.points) for word in self.words) if self.kind in KEYS else 0
        return Inputs(self.own, words, choices, opened, costs, budget, self.at_most)


def read_question(head: Any, model: Model) -> Question:
    """What the header says but for its claim."""
    need_format(head)
    _, digest, text, data, features, label, _ = fields(head, NAMES)
    need(digest == model.head["digest"], "it is about another model")
    tokens = strings(text)
    need(len(tokens) == model.head["length"] and as_read(model, tokens), "the model does not read the text so")
    several, mine = places(features, range(len(tokens))), model.head["labels"].index(label)
    rivals = {name: j for j, name in enumerate(model.head["labels"]) if name != label}
    kind, at_most = data.get("kind"), whole(data.get("at_most", len(tokens)), 1, WHOLE)
    own = [exact(model.table[model.place(token)]) for token in tokens]
    sets = read_sets({name: value for name, value in data.items() if name != "at_most"}, model, tokens, own)
    words = [word if i in several else one_of(own[i]) for i, word in enumerate(sets)]
    reach = model.intervals([span for word in words for span in word.spans()])
    return Question(model, own, words, several, mine, rivals, kind, "at_most" in data, at_most, reach)


def need_format(head: Any) -> None:
    kind = head.get("certificate") if type(head) is dict else None
    if type(kind) is str and kind.startswith("asked"):
        raise NotForThis("The certificate is about a black box, which has to be run: not checked by this one.")
    if type(kind) is not int or kind != 2:
        raise Unreadable("Line 1 is not the header of a certificate of format 2.")
