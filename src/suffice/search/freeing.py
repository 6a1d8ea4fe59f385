"""Freeing: upper bounds, by letting words go as long as the others are proved to suffice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.model.network import Bools, Ints
from suffice.prove.bounds import Items, Pass, hidden, margin_bound, margin_rows, plain, settled
from suffice.prove.inputs import Free, steady
from suffice.prove.lean import told
from suffice.prove.tree import Leaf
from suffice.prove.verdict import Proved
from suffice.search.inquiry import Inquiry

SHORT = 4  # subproblems


def free_many(inquiry: Inquiry) -> None:
    """Free words in order of least harm, as many as plain bounds allow."""
    if not inquiry.oracle.form.finite:
        return
    found, proof = _all_free(inquiry)
    if proof is not None and not inquiry.task.include.any():
        inquiry.learn(inquiry.task.include, proof)  # no word is needed
        return
    held, order = inquiry.task.everything, _harmless_first(inquiry, found)
    sets = np.repeat(held[None], len(order) + 1, axis=0)  # first nothing is freed: is it enough at all?
    for i, word in enumerate(order, 1):
        sets[i:, word] = False
    inquiry.ask(sets, 0)


def free_singly(inquiry: Inquiry, words: Ints) -> None:
    """Free words, those first by which attacks gain least, one more at a time as long as short looks allow it."""
    alone = np.zeros((len(words), len(inquiry.task.everything)), dtype=bool)
    alone[np.arange(len(words)), words] = True
    margins = inquiry.oracle.attacker.attack(alone, budget=inquiry.task.budget).margin
    held = inquiry.task.everything
    for word in words[np.argsort(-steady(margins[None])[0], kind="stable")]:
        held = held & (np.arange(len(held)) != word)
        if not isinstance(inquiry.ask(held[None], SHORT)[0], Proved):
            return


def free_more(inquiry: Inquiry) -> None:
    """Free more words of the best set, as many as bounds with optimised slopes allow."""
    while inquiry.best is not None and inquiry.lowest < inquiry.upper and not inquiry.task.budget.spent:
        held = inquiry.best[0]
        alone = _free_each(inquiry, held, np.flatnonzero(held & ~inquiry.task.include))
        if not len(alone):
            return
        _free_together(inquiry, held, alone)


def approach(inquiry: Inquiry, candidate: Bools) -> None:
    """With how many more words is a set, which need not suffice, proved to?

    Bisection, the most harmful words first.
    """
    order = [word for word in harmless_first(inquiry)[::-1] if not candidate[word]]
    sets = np.repeat(candidate[None], len(order) + 1, axis=0)
    for i, word in enumerate(order, 1):
        sets[i:, word] = True
    low, high = 0, len(order)  # the first `low` are not enough, as far as one can tell
    while not inquiry.task.budget.spent:
        affordable = [i for i in range(low + 1, high) if inquiry.task.costs.of(sets[i]) < inquiry.upper]
        if not affordable:
            return
        many = affordable[len(affordable) // 2]
        enough = isinstance(inquiry.look_at(sets[many]), Proved)
        low, high = (low, many) if enough else (many, high)


def free_by_attacks(inquiry: Inquiry, sets: Sequence[Bools]) -> None:
    """Of sets, each part of the one before, prove one that is as small as complete looks allow: by bisection."""
    open_ = [held for held in sets if inquiry.task.costs.of(held) < inquiry.upper]
    while open_ and not inquiry.task.budget.spent:
        middle = len(open_) // 2
        enough = isinstance(inquiry.look_at(open_[middle], as_it_is=True), Proved)
        open_ = open_[middle + 1 :] if enough else open_[:middle]


def withstanding(inquiry: Inquiry) -> list[Bools]:
    """Sets of words, each without a word of the one before, that attacks find hardest to flip; as long as none does."""
    task, features = inquiry.task, inquiry.task.problem.features
    held, found = task.everything, list[Bools]()
    while len(words := np.flatnonzero(held & ~task.include)) and not task.budget.spent:
        sets = np.repeat(held[None], len(words), axis=0)
        sets[np.arange(len(words)), words] = False
        margins = inquiry.oracle.attacker.attack(features & ~sets, budget=task.budget).margin
        best = int(steady(margins[None])[0].argmax())
        if margins[best] <= 0:
            break
        held = sets[best]
        found.append(held)
    return found


def _free_each(inquiry: Inquiry, held: Bools, words: Ints) -> Ints:
    """Those of the words that can be freed on top, each alone; the most harmless first."""
    sets = np.repeat(held[None], len(words), axis=0)
    sets[np.arange(len(words)), words] = False
    proved = np.array([isinstance(answer, Proved) for answer in inquiry.ask_optimised(sets)], dtype=bool)
    ranked = harmless_first(inquiry)
    return ranked[np.isin(ranked, words[proved])]


def _free_together(inquiry: Inquiry, held: Bools, words: Ints) -> None:
    """Free as many of the words as go together, by bisection."""
    low, high = 1, len(words)  # one of them goes
    while low < high:
        many = (low + high + 1) // 2
        trial = held.copy()
        trial[words[:many]] = False
        if isinstance(inquiry.ask_optimised(trial[None])[0], Proved):
            low = many
        else:
            high = many - 1


def _all_free(inquiry: Inquiry) -> tuple[Pass, Proved | None]:
    """Bounds of the margins while every word is free, and the proof that none is needed, where they are one."""
    problem, form = inquiry.task.problem, inquiry.oracle.form
    rivals, inputs = np.arange(len(problem.rivals)), Free(problem.region, problem.features[None])
    bounds = hidden(form, inputs, budget=inquiry.task.budget)
    wide, spread = inputs.take(np.zeros_like(rivals)), bounds.take(np.zeros_like(rivals))
    dual = plain(spread)
    found = margin_bound(form, Items(wide, spread, margin_rows(form, rivals)), dual)
    if not (found.bound > 0).all():
        return found, None
    chosen = settled(form, spread, dual)
    leaves = map(Leaf, chosen.alpha, chosen.beta)
    return found, Proved(tuple(told(form, leaf) for leaf in leaves))


def harmless_first(inquiry: Inquiry) -> Ints:
    """The words that may be freed, by how little they could lower the margin per unit of cost saved."""
    return _harmless_first(inquiry, _all_free(inquiry)[0])


def _harmless_first(inquiry: Inquiry, found: Pass) -> Ints:
    task, problem = inquiry.task, inquiry.task.problem
    harm = -problem.region.support(found.inputs) + (found.inputs * problem.center).sum(-1)
    words = np.flatnonzero(task.everything & ~task.include)
    score = harm.max(0)[words] / task.costs.units[words]
    return words[np.argsort(steady(score[None])[0], kind="stable")]
