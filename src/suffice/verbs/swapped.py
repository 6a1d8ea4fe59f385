"""Swapped: words that are in a set only because of what they could become.

A word that speaks against the label may be in the set that is enough for it: not as it stands, but
because one of its substitutes would flip the label. Such a word is told apart where it is proved,
and the checker accepts it, that the rest of the set is enough as long as that word can only go.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from suffice.model.text import Text
from suffice.optimise import certificate_lines
from suffice.sets.perturbations import RemoveOrSwap
from suffice.verbs.accepting import accepted_verdict
from suffice.verbs.details import Detail
from suffice.verbs.question import Question
from suffice.verify.contract import Budget, Proved, Unknown, Verdict
from suffice.verify.queries import Meter
from suffice.verify.solvers import bounds_oracle_for


def with_swap_proofs(
    question: Question, held: Collection[int], known: Sequence[Detail], meter: Meter
) -> tuple[Detail, ...]:
    """What is known of each word, and which are in the set only because of what they
    could become.
    """
    found = []
    for one in known:
        flips = one.flip is not None and one.flip.real and one.position in held
        asked = (
            _without_substitutes(question, frozenset(held), one.position)
            if flips and not _goes(one)
            else None
        )
        found.append(
            one
            if asked is None or meter.budget.exhausted
            else replace(one, swapped=_enough(asked, meter))
        )
    return tuple(found)


def _goes(detail: Detail) -> bool:
    """Whether the word itself is gone in its example, or stays as it is."""
    assert detail.flip is not None
    return not dict(zip(detail.flip.positions, detail.flip.words, strict=True)).get(detail.position)


def _enough(asked: Question, meter: Meter) -> bool:
    """Whether the included words are enough, with proof, as far as the meter allows to look."""
    if asked.blackbox is None:
        answer = _judged(asked, meter.budget)
    elif meter.allows(1):
        from suffice.verbs.black_box import sufficiency  # with all that asks

        limited = replace(
            asked, seconds=max(meter.budget.seconds_left, 1e-3), max_queries=meter.max_queries
        )
        answer = sufficiency.sufficiency(limited)
    else:
        return False
    answer = accepted_verdict(asked, answer)
    return isinstance(answer, Proved) and bool(answer.proved)


def _judged(asked: Question, budget: Budget) -> Verdict:
    """The verdict of our bounds, with a certificate."""
    free = asked.features & ~asked.included
    answer = bounds_oracle_for(asked.problem).ask(
        free[None], replace(budget, seconds=max(budget.seconds_left, 1e-3))
    )[0]
    if not isinstance(answer, Proved) or answer.evidence is None:
        return Unknown("it is not proved")
    head = asked.header({"kind": "sufficient", "positions": list(asked.include)})
    lines = certificate_lines.sufficient(asked.classifier.labels, asked.problem, answer)
    return replace(answer, certificate=certificate_lines.assemble(head, lines))


def _without_substitutes(question: Question, held: frozenset[int], place: int) -> Question | None:
    """The question whether the others are enough, without the substitutes of the word; None where
    it has none, or where the same word stands at a place that is free as well and would lose them
    too.
    """
    given = question.perturbation
    text = question.text
    token = text.tokens[place].lower()
    if not isinstance(given, RemoveOrSwap) or not given.of(text.tokens[place]):
        return None
    alike = {i for i in _places(text, token) if i != place}
    if not alike <= held:
        return None
    swaps = {word: others for word, others in given.swaps.items() if word.lower() != token}
    less = replace(given, swaps=swaps)
    return replace(question, perturbation=less, include=tuple(sorted(held - {place})), exclude=())


def _places(text: Text, token: str) -> list[int]:
    return [i for i, other in enumerate(text.tokens[: len(text.words)]) if other.lower() == token]
