"""Deletion: upper bounds, by leaving words out of a sufficient set as long as the rest is proved.

Method: deletion and bisection from bounds, slopes and attacks (theory, section 7).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Ints
from suffice.optimise.oracle_cache import OracleCache
from suffice.verify.contract import Proved
from suffice.verify.nets.crown import (
    BackwardPass,
    BoundBatch,
    backward_bound,
    canonical_dual,
    initial_dual,
    intermediate_bounds,
    margin_rows,
)
from suffice.verify.nets.input_sets import Free, quantised
from suffice.verify.nets.presolve.dominated import postsolve_tree
from suffice.verify.proof_tree import Leaf


def free_many(cache: OracleCache) -> None:
    """Free words in order of least harm, as many as plain bounds allow."""
    if not cache.oracle.prepared.finite:
        return
    backward, proof = _all_free(cache)
    if proof is not None and not cache.task.include.any():
        cache.record(cache.task.include, proof)  # no word is needed
        return
    held = cache.task.everything
    order = _harmless_first(cache, backward)
    # first nothing is freed: is it enough at all?
    sets = np.repeat(held[None], len(order) + 1, axis=0)
    for i, word in enumerate(order, 1):
        sets[i:, word] = False
    cache.ask(sets, 0)


def free_singly(cache: OracleCache, words: Ints) -> None:
    """Free words, those first by which attacks gain least, one more at a time as long as short
    looks allow it.
    """
    single_words = np.zeros((len(words), len(cache.task.everything)), dtype=bool)
    single_words[np.arange(len(words)), words] = True
    margins = cache.oracle.attacker.attack(single_words, budget=cache.task.budget).margin
    held = cache.task.everything
    for word in words[np.argsort(-quantised(margins[None])[0], kind="stable")]:
        held = held & (np.arange(len(held)) != word)
        subproblems = cache.task.settings.word_tree.deletion_subproblems
        if not isinstance(cache.ask(held[None], subproblems)[0], Proved):
            return


def free_more(cache: OracleCache) -> None:
    """Free more words of the best set, as many as bounds with optimised slopes allow."""
    while cache.best is not None and cache.lower < cache.upper and not cache.task.budget.exhausted:
        held = cache.best[0]
        alone = _free_each(cache, held, np.flatnonzero(held & ~cache.task.include))
        if not len(alone):
            return
        _free_together(cache, held, alone)


def complete_candidate(cache: OracleCache, candidate: Bools) -> None:
    """With how many more words is a set, which need not suffice, proved to?

    Bisection, the most harmful words first.
    """
    order = [word for word in harmless_first(cache)[::-1] if not candidate[word]]
    sets = np.repeat(candidate[None], len(order) + 1, axis=0)
    for i, word in enumerate(order, 1):
        sets[i:, word] = True
    # the first `low` are not enough, as far as one can tell
    low = 0
    high = len(order)
    while not cache.task.budget.exhausted:
        affordable = [i for i in range(low + 1, high) if cache.task.costs.of(sets[i]) < cache.upper]
        if not affordable:
            return
        count = affordable[len(affordable) // 2]
        suffices = isinstance(cache.probe(sets[count]), Proved)
        low, high = (low, count) if suffices else (count, high)


def free_by_attacks(cache: OracleCache, sets: Sequence[Bools]) -> None:
    """Of sets, each part of the one before, prove one that is as small as complete looks allow: by
    bisection.
    """
    cheaper = [held for held in sets if cache.task.costs.of(held) < cache.upper]
    while cheaper and not cache.task.budget.exhausted:
        middle = len(cheaper) // 2
        enough = isinstance(cache.probe(cheaper[middle], as_it_is=True), Proved)
        cheaper = cheaper[middle + 1 :] if enough else cheaper[:middle]


def resistant_sets(cache: OracleCache) -> list[Bools]:
    """Sets of words, each without a word of the one before, that attacks find hardest to flip; as
    long as none does.
    """
    task = cache.task
    features = cache.task.problem.features
    held = task.everything
    sets_found = list[Bools]()
    while len(words := np.flatnonzero(held & ~task.include)) and not task.budget.exhausted:
        sets = np.repeat(held[None], len(words), axis=0)
        sets[np.arange(len(words)), words] = False
        margins = cache.oracle.attacker.attack(features & ~sets, budget=task.budget).margin
        best = int(quantised(margins[None])[0].argmax())
        if margins[best] <= 0:
            break
        held = sets[best]
        sets_found.append(held)
    return sets_found


def _free_each(cache: OracleCache, held: Bools, words: Ints) -> Ints:
    """Those of the words that can be freed on top, each alone; the most harmless first."""
    sets = np.repeat(held[None], len(words), axis=0)
    sets[np.arange(len(words)), words] = False
    proved = np.array(
        [isinstance(answer, Proved) for answer in cache.ask_optimised(sets)], dtype=bool
    )
    by_harm = harmless_first(cache)
    return by_harm[np.isin(by_harm, words[proved])]


def _free_together(cache: OracleCache, held: Bools, words: Ints) -> None:
    """Free as many of the words as go together, by bisection."""
    # one of them goes
    low = 1
    high = len(words)
    while low < high:
        count = (low + high + 1) // 2
        trial = held.copy()
        trial[words[:count]] = False
        if isinstance(cache.ask_optimised(trial[None])[0], Proved):
            low = count
        else:
            high = count - 1


def _all_free(cache: OracleCache) -> tuple[BackwardPass, Proved | None]:
    """Bounds of the margins while every word is free, and the proof that none is needed, where they
    are one.
    """
    problem = cache.task.problem
    form = cache.oracle.prepared
    rivals = np.arange(len(problem.rivals))
    inputs = Free(problem.region, problem.features[None])
    bounds = intermediate_bounds(form, inputs, budget=cache.task.budget)
    every_input = inputs.take(np.zeros_like(rivals))
    bounds_of_rival = bounds.take(np.zeros_like(rivals))
    dual = initial_dual(bounds_of_rival)
    backward = backward_bound(
        form, BoundBatch(every_input, bounds_of_rival, margin_rows(form, rivals)), dual
    )
    if not (backward.bound > 0).all():
        return backward, None
    canonical = canonical_dual(form, bounds_of_rival, dual)
    leaves = map(Leaf, canonical.alpha, canonical.beta)
    return backward, Proved(tuple(postsolve_tree(form, leaf) for leaf in leaves))


def harmless_first(cache: OracleCache) -> Ints:
    """The words that may be freed, by how little they could lower the margin per unit of cost
    saved.
    """
    return _harmless_first(cache, _all_free(cache)[0])


def _harmless_first(cache: OracleCache, backward: BackwardPass) -> Ints:
    task = cache.task
    problem = cache.task.problem
    harm = -problem.region.support(backward.input_coefficients) + (
        backward.input_coefficients * problem.center
    ).sum(-1)
    words = np.flatnonzero(task.everything & ~task.include)
    score = harm.max(0)[words] / task.costs.units[words]
    return words[np.argsort(quantised(score[None])[0], kind="stable")]
