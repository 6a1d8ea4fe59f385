"""Attribution: in which share of the explanations each word stands, counted and not estimated."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from suffice import work
from suffice.errors import InputError
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.model.text import Text, Word
from suffice.optimise.cost import Cost
from suffice.optimise.min_cost_hitting_set import bits, mask_of, min_cost_hitting_set
from suffice.optimise.node import Node
from suffice.optimise.published.hs import sparse_attack
from suffice.optimise.word_tree import Outcome, WordTreeSearch
from suffice.proof.certificate import Certificate
from suffice.sets.perturbations import Perturbation
from suffice.settings import DEFAULT, Settings
from suffice.verbs.answer import Answer
from suffice.verbs.answering import FORMAT, Every, every_of, every_set, finished, summary
from suffice.verbs.black_box import explaining, flips
from suffice.verbs.engines import (
    OneHotEngine,
    OnProgress,
    WordTreeEngine,
    answering,
    engine_for,
    word_tree_search,
)
from suffice.verbs.explanation import Explanation
from suffice.verbs.question import Given, Named, Padding, Question
from suffice.verbs.scarce import caveats
from suffice.verbs.why import needed_words
from suffice.verbs.wording import empty, fitting, placed
from suffice.verify.contract import OutOfTime, Proved, Refuted, Witness

LIMIT = 100
MOST = 2**53  # explanations that a limit may name


@dataclass(frozen=True)
class Share:
    """In how many of the explanations a word stands."""

    word: Word
    count: int
    share: float


@dataclass(frozen=True, eq=False)
class Attribution(Answer):
    """In which share of the explanations each word stands.

    `of` says of which: "optimal" (the cheapest) or "minimal" (no word can be left out). `necessary`
    are the words that every one of them holds, `some` those that only some hold. When `complete` is
    False there may be more than those found: shares are then of the ones found, and `necessary`
    lists only words that every explanation must hold, because changing one of them alone flips the
    label.
    """

    of: Literal["optimal", "minimal"]
    explanations: tuple[Explanation, ...]
    shares: tuple[Share, ...]
    necessary: tuple[Word, ...]
    complete: bool
    label: str
    text: Text
    reason: str = ""
    certificate: Certificate | None = None  # that these are all the optimal ones
    stats: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    proved: tuple[str, ...] = ()  # what the checker accepted, in words

    def __post_init__(self) -> None:
        if not self.reason and not (self.complete and self.explanations):
            raise ValueError(
                "An attribution that lacks explanations does so for a reason: say which."
            )

    @property
    def some(self) -> tuple[Word, ...]:
        fixed = {word.position for word in self.necessary}
        return tuple(
            item.word for item in self.shares if item.count and item.word.position not in fixed
        )

    def sentence(self) -> str:
        if not self.explanations:
            return f"No {self._kind} explanation was found: {self.reason}."
        if "nothing" in self.meta:
            return empty(self.meta["nothing"], self.label)
        wish = fitting(self.text, self.meta)
        told = f"{self._counted()} {self._held()}"
        return f"For a set{wish}: {told[0].lower()}{told[1:]}" if wish else told

    @property
    def _kind(self) -> str:
        return "optimal" if self.of == "optimal" else "subset-minimal"

    def _counted(self) -> str:
        total = len(self.explanations)
        several = f"{total} {self._kind} explanation{'' if total == 1 else 's'}"
        if not self.complete:
            return f"At least {several} {'exists' if total == 1 else 'exist'} ({self.reason})."
        proved = " (proved)" if self.meta.get("proved") == "all" else ""
        return f"There {'is' if total == 1 else 'are'} {several}{proved}."

    def _held(self) -> str:
        """The words of all and of some, where all are known."""
        if not self.complete:
            return self._known()
        if len(self.explanations) == 1:
            fixed = placed(self.text, self.necessary)
            return f"It holds {fixed}." if fixed else "It is empty: no word is needed."
        return (
            f"In all of them: {placed(self.text, self.necessary) or 'no word'}; in some: "
            f"{self._shared()}."
        )

    def _known(self) -> str:
        """What can be said where not all are known: words that every one must hold, and shares of
        those found.
        """
        fixed = (
            f"Every explanation holds {placed(self.text, self.necessary)}. "
            if self.necessary
            else ""
        )
        return f"{fixed}In some of those found: {self._shared()}."

    def _shared(self) -> str:
        fixed = {word.position for word in self.necessary}
        some = [item for item in self.shares if item.count and item.word.position not in fixed]
        ranked = sorted(some, key=lambda item: (-item.count, item.word.position))
        return (
            ", ".join(f"{placed(self.text, [item.word])} ({item.share:.0%})" for item in ranked)
            or "no word"
        )

    def to_shap(self) -> dict[str, Any]:
        """Fields for `shap.Explanation(**fields)`: the share of the explanations that hold each
        word.

        For SHAP's plots and tables only: shares are no contributions to a score, so there are no
        base values.
        """
        from suffice.render.frames import shap_of

        return shap_of(self)

    def _repr_html_(self) -> str:
        from suffice.render.cells import attribution

        return attribution(self)

    def __repr__(self) -> str:
        return f"<Attribution over {len(self.explanations)} {self.of} explanations>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "of": self.of,
            "complete": self.complete,
            "reason": self.reason,
            "label": self.label,
            "text": self.text.source,
            "cut": list(self.text.cut),
            "words": [
                {**asdict(item.word), "count": item.count, "share": item.share}
                for item in self.shares
            ],
            "necessary": [word.position for word in self.necessary],
            "explanations": [list(result.positions) for result in self.explanations],
            "proved": list(self.proved),
            "certificate": summary(self.certificate),
            "stats": dict(self.stats),
            "meta": dict(self.meta),
        }


def _none(question: Question, witness: Witness) -> str:
    """Why there is no explanation at all."""
    if witness.positions:
        return "no explanation avoids the excluded words"
    rival = (question.blackbox or question.classifier).labels[witness.rival]
    return f"the label {question.label!r} is a tie with {rival!r} as the text stands"


def _lost(found: tuple[Explanation, ...]) -> str:
    """Why those found may be none: their certificates were not accepted."""
    lost = any({"rejected", "unchecked"} & one.meta.keys() for one in found)
    return "the checker did not accept all of their certificates" if lost else ""


def _empty(found: tuple[Explanation, ...]) -> bool:
    """Whether the label stays whatever is changed."""
    return bool(found) and not found[0].positions


def attribute(
    classifier: Classifier | BlackBox,
    text: Given,
    *,
    perturbation: Perturbation | None = None,
    of: Literal["optimal", "minimal"] = "optimal",
    limit: int = LIMIT,
    cost: Cost = None,
    include: Named = (),
    exclude: Named = (),
    padding: Padding = "fixed",
    seconds: float = 60.0,
    seed: int = 0,
    max_queries: int | None = None,
    cache: str | Path | None = None,
    on_progress: OnProgress | None = None,
    self_check: bool = True,
    settings: Settings = DEFAULT,
) -> Attribution:
    """For each word the share of explanations that hold it.

    `of` says of which explanations: "optimal", all the cheapest ones; or "minimal", all from which
    no word can be left out, the cheapest first. At most `limit` of them are looked for; `complete`
    on the result says whether that was all.
    """
    question = Question(
        classifier,
        text,
        perturbation=perturbation,
        cost=cost,
        include=include,
        exclude=exclude,
        padding=padding,
        seconds=seconds,
        seed=seed,
        max_queries=max_queries,
        cache=cache,
        settings=settings,
        more={"of": of, "limit": limit},
    )
    return attributed(question, on_progress, self_check)


def attributed(
    question: Question, on_progress: OnProgress | None = None, self_check: bool = True
) -> Attribution:
    """The answer to a question."""
    of = question.more.get("of", "optimal")
    limit = question.more.get("limit", LIMIT)
    if of not in ("optimal", "minimal"):
        raise InputError(f"`of` must be 'optimal' or 'minimal', not {of!r}.")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit < MOST:
        raise InputError(f"The limit must be a whole number of at least 1, not {limit!r}.")
    if question.blackbox is not None:
        with work.counted():
            return _asked(question, on_progress, self_check)
    with answering():
        started = time.monotonic()
        hunt = _search_for(question, of, on_progress)
        outcomes = list(islice(hunt.outcomes(), limit + 1))
        found = tuple(finished(question, one, started, self_check) for one in outcomes[:limit])
        more = ("there are more than the limit" if len(outcomes) > limit else hunt.doubt) or _lost(
            found
        )
        necessary = _necessary(question, found, complete=not more)
        sets = [
            (one.held, one.proof)
            for one in outcomes
            if one.held is not None and one.proof is not None
        ]
        every = (
            Every()
            if more or hunt.root is None
            else every_set(question, sets, hunt.root, self_check)
        )
        stats = {
            "seconds": time.monotonic() - started,
            **hunt.stats,
            "work": work.so_far(),
        }
    return Attribution(
        of=of,
        explanations=found,
        shares=_shares(question, found),
        necessary=necessary,
        complete=not more,
        label=question.label,
        text=question.text,
        reason=more or hunt.reason,
        certificate=every.certificate,
        stats=stats,
        meta={**question.meta(), **every.meta, **caveats(question, label_stays=_empty(found))},
        proved=every.proved,
    )


@dataclass(eq=False)
class _Collected:
    """What a black box's search said: the sets, why there may be more, why there is none, and that
    these are all.
    """

    found: list[Explanation] = field(default_factory=list)
    more: str = ""
    reason: str = ""
    every: Every = field(default_factory=Every)


def _asked(question: Question, on_progress: OnProgress | None, self_check: bool) -> Attribution:
    """The answer to a question to a black box."""
    started = time.monotonic()
    of = question.more.get("of", "optimal")
    heard = _collect(question, of, on_progress, self_check)
    found = tuple(heard.found)
    every = heard.every
    more = heard.more or _lost(found)
    return Attribution(
        of=of,
        explanations=found,
        shares=_shares(question, found),
        necessary=_necessary(question, found, complete=not more),
        complete=not more,
        label=question.label,
        text=question.text,
        reason=more or heard.reason,
        certificate=every.certificate,
        stats={
            "seconds": time.monotonic() - started,
            "queries": question.asked.meter.spent,
            "work": work.so_far(),
        },
        meta={**question.meta(), **every.meta, **caveats(question, label_stays=_empty(found))},
        proved=every.proved,
    )


def _collect(
    question: Question, of: str, on_progress: OnProgress | None, self_check: bool
) -> _Collected:
    heard = _Collected()
    limit = question.more.get("limit", LIMIT)
    for one in explaining.every(question, on_progress, self_check, of == "minimal"):
        match one:
            case str():
                heard.more = one
            case Certificate():
                heard.every = every_of(question, one, self_check)
            case Explanation(witness=Witness() as witness):
                heard.reason = _none(question, witness)
            case Explanation(meta={"reason": str(why)}) if (
                one.status != "optimal" and of == "optimal"
            ):
                heard.more = why
            case _ if len(heard.found) == limit:
                heard.more = "there are more than the limit"
                break
            case _:
                heard.found.append(one)
    return heard


def _search_for(question: Question, of: str, on_progress: OnProgress | None) -> _Optimal | _Minimal:
    if of == "optimal":
        return _Optimal(question, engine_for(question, question.budget, on_progress))
    return _Minimal(question, word_tree_search(question, question.budget, on_progress))


class _Optimal:
    """Every cheapest explanation, by the search that found the first."""

    def __init__(self, question: Question, equal: WordTreeEngine | OneHotEngine) -> None:
        self.question = question
        self.equal = equal
        self.doubt = ""
        self.reason = ""
        self.root: Node | None = None  # shows that these are all

    @property
    def stats(self) -> dict[str, int]:
        return self.equal.stats

    def outcomes(self) -> Iterator[Outcome]:
        first = self.equal.run()
        if first.witness is not None:
            self.reason = _none(self.question, first.witness)
            return
        if not first.finished:
            self.doubt = first.reason or "the search did not finish"
            return
        for held, proof in self.equal.sets(first.upper):
            yield replace(first, held=held, proof=proof)
        self.root = self.equal.tree(first.upper)
        if self.root is None:
            self.doubt = (
                "time is up"
                if self.equal.budget.exhausted
                else "it is not shown that these are all"
            )


class _Minimal:
    """Every subset-minimal explanation, the cheapest first.

    The cheapest set that shares a word with every attack known and contains no explanation known is
    asked about: a set that suffices is minimal (a part of it would have been cheaper), and one that
    does not gives a new attack.
    """

    def __init__(self, question: Question, search: WordTreeSearch) -> None:
        self.question = question
        self.search = search
        self.doubt = ""
        self.reason = ""
        self.root = None
        self.stats = search.cache.stats
        self.attacks: list[int] = []
        self.found: list[int] = []

    def outcomes(self) -> Iterator[Outcome]:
        try:
            yield from self._outcomes()
        except OutOfTime:
            self.doubt = "time is up"

    def _outcomes(self) -> Iterator[Outcome]:
        task = self.search.task
        attacker = self.search.cache.oracle.attacker
        if isinstance(answer := self._ask(task.everything), Refuted):
            self.reason = _none(self.question, answer.witness)
            return
        rng = np.random.default_rng(task.seed)
        while (cover := self._next()) is not None:
            held = _mask(bits(cover), len(task.include))
            answer = self._ask(held)
            if isinstance(answer, Proved):
                self.found.append(cover)
                yield self._outcome(held, answer)
            elif isinstance(answer, Refuted):
                self.attacks.append(mask_of(sparse_attack(attacker, answer.witness, rng).positions))
            else:
                self.doubt = "time is up" if task.budget.exhausted else "some sets are undecided"
                return

    def _ask(self, held: Bools) -> Proved | Refuted | None:
        if self.search.budget.exhausted:
            return None
        answer = self.search.cache.ask(held[None], self.search.budget.subproblems)[0]
        return answer if isinstance(answer, Proved | Refuted) else None

    def _next(self) -> int | None:
        """The cheapest set that hits all attacks and holds no known explanation; None when there is
        none.

        Exactly the cheapest: a solver that allows a gap may add a word to it, and the set would not
        be minimal.
        """
        task = self.search.task
        units = [int(unit) for unit in task.costs.units]
        look = task.budget.check_time
        include, exclude = (
            mask_of(np.flatnonzero(some).tolist()) for some in (task.include, ~task.everything)
        )
        return min_cost_hitting_set(self.attacks, units, include, exclude, self.found, look)

    def _outcome(self, held: Bools, proof: Proved) -> Outcome:
        """Proved to suffice; that nothing cheaper does is not claimed of each."""
        task = self.search.task
        lower = task.costs.of(task.include)
        cost = task.costs.of(held)
        root = Node(task.include, task.exclude, 0)
        unclaimed = "that nothing is cheaper is not claimed"
        return Outcome(held, proof, lower, cost, root, None, {}, finished=False, reason=unclaimed)


def _mask(positions: Sequence[int], length: int) -> Bools:
    mask = np.zeros(length, dtype=bool)
    mask[list(positions)] = True
    return mask


def _shares(question: Question, found: tuple[Explanation, ...]) -> tuple[Share, ...]:
    counts = [sum(word.position in one.positions for one in found) for word in question.text.words]
    total = max(len(found), 1)
    return tuple(
        Share(word, n, n / total) for word, n in zip(question.text.words, counts, strict=True)
    )


def _necessary(
    question: Question, found: tuple[Explanation, ...], complete: bool
) -> tuple[Word, ...]:
    """Named in every explanation: by counting when all are known, else those whose change alone
    flips the label.
    """
    words = question.text.words
    if complete:
        return tuple(
            word for word in words if found and all(word.position in one.positions for one in found)
        )
    asked_of = None if question.blackbox is None else {*question.include, *flips.flippers(question)}
    forced = needed_words(question) if asked_of is None else asked_of
    return tuple(word for word in words if word.position in forced)
