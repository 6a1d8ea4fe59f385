"""Explain: the cheapest set of words that decides the label, with proof."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from suffice import work
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.optimise.cost import Cost
from suffice.optimise.published.hs import hitting_sets
from suffice.optimise.published.msa import maximum_universal_subset
from suffice.optimise.word_tree import Outcome, WordTreeSearch
from suffice.sets.perturbations import Perturbation
from suffice.settings import DEFAULT, Settings
from suffice.verbs.answering import finished
from suffice.verbs.contrast import Contrast, contrast_of
from suffice.verbs.engines import OnProgress, answering, run_flip_search, run_search, task
from suffice.verbs.explanation import Explanation
from suffice.verbs.mistake import Mistake, Push
from suffice.verbs.prefer import Preference, preference
from suffice.verbs.question import Given, Named, Padding, Question
from suffice.verbs.wording import placed
from suffice.verify.contract import Budget
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.solvers import make_oracle


def explain(
    classifier: Classifier | BlackBox,
    text: Given,
    *,
    perturbation: Perturbation | None = None,
    cost: Cost = None,
    include: Named = (),
    exclude: Named = (),
    padding: Padding = "fixed",
    method: str = "search",
    oracle: str = "bounds",
    expected: str | None = None,
    seconds: float = 60.0,
    seed: int = 0,
    prefer: str = "content",
    confidence: float | None = None,
    max_queries: int | None = None,
    cache: str | Path | None = None,
    on_progress: OnProgress | None = None,
    self_check: bool = True,
    settings: Settings = DEFAULT,
) -> Explanation:
    """The cheapest set of words that decides the label whatever the allowed changes of the others,
    with proof.

    `perturbation` says what the other words may become; by default each may be removed or become
    one of its bundled substitutes. `include` and `exclude` are words (every occurrence) or
    positions that the set must or must not hold. When time runs out, the best proved set and a
    lower bound of the cost come back. Among equally cheap sets, `prefer` takes one with content
    words before stop words and punctuation ("content") or the first found ("found"); the result's
    `alternatives` are the others. The certificate is checked by the independent checker before this
    returns, unless `self_check` is False; a quarter of `seconds` is for that, and what is not
    checked by then is not claimed.

    `cost` is a mapping from words to prices (others cost 1) or a function of the word; with
    `padding="feature"` the padding after a short text may change and be in the set, too.
    `on_progress(lower, upper, elapsed, positions)` is called whenever more is known. `method` "hs"
    or "msa" and `oracle` "milp" or "marabou" are for comparisons: those of the paper, and other
    solvers. Same input and `seed`, same answer, unless the time limit cuts in.

    `expected` is the label that a misclassified text should have: the result's `mistake` then says
    which of the words push towards the wrong label, and the cheapest change that would put it right
    (a quarter of the time is for that).

    Black boxes only: `max_queries` limits how many texts are asked, `cache` is a file that keeps
    the answers, and with a `confidence` such as 0.99 a set that cannot be proved in time may come
    back as "tested".

    `settings` are the tuned numbers of search and verification, for those who measure; they never
    change what is true.
    """
    question = Question(
        classifier,
        text,
        perturbation=perturbation,
        cost=cost,
        include=include,
        exclude=exclude,
        padding=padding,
        method=method,
        oracle=oracle,
        seconds=seconds,
        seed=seed,
        more={} if preference(prefer) == "content" else {"prefer": prefer},
        confidence=confidence,
        max_queries=max_queries,
        cache=cache,
        settings=settings,
    )
    return explained(question, expected, on_progress, self_check)


def explained(
    question: Question,
    expected: str | None = None,
    on_progress: OnProgress | None = None,
    self_check: bool = True,
) -> Explanation:
    """The answer to a question."""
    with answering(question.blackbox):
        started = time.monotonic()
        budget = question.budget
        wanted = None if expected is None else question.rival(expected)
        share = 1.0 if wanted is None else 0.75
        if question.blackbox is not None:
            from suffice.verbs.black_box import explaining

            result = explaining.explained(question, on_progress, self_check, share)
        else:
            limit = Budget(budget.seconds * share)
            better = Preference(question, limit)
            outcome = better.improved(_run(question, limit, on_progress, better))
            result = finished(question, outcome, started, self_check)
        if wanted is not None:
            mistake = _mistake(question, result, wanted, budget, self_check)
            stats = {**result.stats, "work": work.so_far()}
            result = replace(result, mistake=mistake, stats=stats)
        return result


def _run(
    question: Question, budget: Budget, on_progress: OnProgress | None, better: Preference
) -> Outcome:
    if question.method == "search" and question.oracle == "bounds":
        return run_search(
            question, budget, on_progress, better.preferred_set if better.wanted else None
        )
    oracle = make_oracle(question.oracle, question.problem)
    match question.method:
        case "hs":
            return hitting_sets(task(question, budget, on_progress), oracle)
        case "msa":
            return maximum_universal_subset(task(question, budget, on_progress), oracle)
        case _:
            own = BoundsOracle(question.problem)
            return WordTreeSearch(task(question, budget, on_progress), own, complete=oracle).run()


# --- a wrong label ---


def _mistake(
    question: Question, result: Explanation, expected: int, budget: Budget, self_check: bool
) -> Mistake:
    """Which words of the explanation push towards the wrong label, and the cheapest change towards
    the expected one.
    """
    found = _put_right(question, expected, budget, self_check)
    return Mistake(
        label=question.label,
        expected=question.classifier.labels[expected],
        pushes=_pushes(question, result, expected),
        status=found.status,
        cost=found.cost,
        lower_bound=found.lower_bound,
        flip=found.flip,
        changed_text=found.flipped_text,
        winner=question.label if found.flip is None else found.flip.label,
        authority=found.authority,
        change=found.change,
        reason=found.reason,
    )


def _put_right(question: Question, expected: int, budget: Budget, self_check: bool) -> Contrast:
    started = budget.elapsed
    towards = question.classifier.labels[expected]
    if question.blackbox is not None:
        from suffice.verbs.black_box import flips

        flip = flips.cheapest_flip(question, None, expected, 0.25)
    else:
        flip = run_flip_search(question, budget, rivals=[expected])
    return contrast_of(question, flip, budget.elapsed - started, towards, self_check)


def _pushes(question: Question, result: Explanation, expected: int) -> tuple[Push, ...]:
    """What deleting each word (padding in its place) takes from the label's lead over the expected
    label.
    """
    if question.blackbox is not None:
        from suffice.verbs.black_box import flips

        effects = flips.leads(question, result.positions, expected)
        pairs = zip(result.words, effects, strict=False)  # none: spent
        return tuple(Push(word, effect, placed(question.text, [word])) for word, effect in pairs)
    classifier = question.classifier
    center = question.problem.center
    points = np.repeat(center[None], len(result.words) + 1, axis=0)
    for row, word in enumerate(result.words):
        points[row, word.position] = classifier.table[classifier.lookup[classifier.pad]]
    scores = classifier.network.forward(points)
    lead = scores[:, question.problem.label] - scores[:, expected]
    effects = (lead[-1] - lead[:-1]).tolist()
    pairs = zip(result.words, effects, strict=True)
    return tuple(Push(word, effect, placed(question.text, [word])) for word, effect in pairs)
