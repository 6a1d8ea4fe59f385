"""Restorations: one perturbed text that proves that no explanation costs q or less.

Take a perturbed text p that flips the label. Whoever fixes a set of words puts those words of p
back to the original. If the label stays flipped however words worth at most q are put back, no
explanation costs q or less: each of them would leave a flipped text possible. `greedy_undo` and
swaps find out what undoes an attack; `branch.decide_restorations` proves that nothing cheaper does,
by bounds over the choice of words in which the budget q is spent inside the propagation
(`input_sets.Restorations`).

Method: restoration lemma, fractional knapsack inside CROWN (theory, section 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy  # its subpackages load on first use

from suffice import work
from suffice.model.network import Bools, Floats, Ints
from suffice.optimise.cost import Costs
from suffice.sets.regions import Box
from suffice.settings import RESOURCES, RestorationSearch
from suffice.verify import tolerances
from suffice.verify.contract import Budget, Problem, Proved, Unknown
from suffice.verify.nets.attack import gradients_at_first_step
from suffice.verify.nets.branch import UndoneBy, decide_restorations
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.nets.input_sets import Restorations, chunk_slices, quantised
from suffice.verify.proof_tree import Tree


@dataclass(frozen=True, eq=False)
class Restoration:
    """The evidence that no explanation costs `budget` or less: the text, the rival it lets win, the
    proof.
    """

    perturbed: Floats
    rival: int
    budget: int
    proof: Tree


@dataclass(frozen=True, eq=False)
class Attack:
    """A perturbed text, the rival that wins there, and the words that undo it, at which cost (inf:
    none do).
    """

    perturbed: Floats
    rival: int
    index: int  # among the texts it was chosen from
    undo_cost: float
    undo_words: Bools
    undo_order: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RestorationProver:
    """Ranks attacks by what undoes them, strengthens them, and proves that no affordable words undo
    them.
    """

    prepared: PreparedProblem
    costs: Costs
    budget: Budget
    # by attacked text, words that undo it
    known_undos: dict[bytes, list[Bools]] = field(default_factory=dict)

    @property
    def settings(self) -> RestorationSearch:
        return self.prepared.problem.settings.restorations

    @property
    def quick_subproblems(self) -> int:
        """For a first idea of what can be proved: as many as may be open at once."""
        return self.settings.most_open[0]

    def hardest(self, texts_given: Sequence[Floats], open_words: Bools) -> Attack:
        """Among perturbed texts, the one that takes most of the open words to undo."""
        problem = self.prepared.problem
        texts = np.stack(texts_given)
        rivals = np.asarray(quantised(problem.margins(texts)).argmin(-1))
        undo = greedy_undo(
            problem,
            texts,
            rivals,
            np.repeat(open_words[None], len(texts), axis=0),
            self.costs.units,
            self.budget,
        )
        sets = [
            self._cheapest_undo(*undo_of_text, open_words)
            for undo_of_text in zip(texts, undo.words, undo.cost, strict=True)
        ]
        best = int(np.argmax([cost for _, cost in sets]))
        words, cost = sets[best]
        return Attack(texts[best], int(rivals[best]), best, cost, words, undo.order[best])

    def _cheapest_undo(
        self, text: Floats, words: Bools, cost: float, open_words: Bools
    ) -> tuple[Bools, float]:
        """What undoes an attack at the lowest cost: these words, or some that a proof came upon."""
        known = [
            (words_found, float(self.costs.of(words_found)))
            for words_found in self.known_undos.get(text.tobytes(), ())
        ]
        affordable = [
            (words_found, cost_found)
            for words_found, cost_found in known
            if not (words_found & ~open_words).any()
        ]
        return min([(words, float(cost)), *affordable], key=lambda pair: pair[1])

    def strengthened_by_cost(
        self,
        perturbed: Floats,
        open_words: Bools,
        free: Bools,
        wanted_cost: float,
        sets: Sequence[Bools],
    ) -> Floats:
        """An attack on the free words that takes more to undo, as far as one is found; until
        undoing costs `wanted_cost`.

        Words that undo it are looked for, and the text is moved so that none of the sets found so
        far undoes it; `sets` are some of words that should not.
        """
        problem = self.prepared.problem
        text = perturbed
        best = perturbed
        best_score = (-np.inf, -np.inf)
        rival = int(quantised(problem.margins(perturbed[None])).argmin(-1)[0])
        undo_sets = list(sets)
        budget = int(min(wanted_cost - 1, self.costs.of(open_words)))
        clear_margin = self._clear_margin(rival)
        text = (
            _moved_against(problem, text, np.stack(undo_sets), free, rival, clear_margin)
            if undo_sets
            else text
        )
        idle_rounds = 0
        least_progress = self.settings.least_progress
        for _ in range(self.settings.rounds):
            undo = greedy_undo(
                problem,
                text[None],
                np.array([rival]),
                open_words[None],
                self.costs.units,
                self.budget,
            )
            words = undo.words[0]
            margin = np.inf
            if undo.cost[0] >= wanted_cost:
                words, margin = self._most_helpful(text, rival, undo.order[0], open_words, budget)
            score = float(undo.cost[0]), -margin
            idle_rounds = (
                0
                if score > (best_score[0], best_score[1] + least_progress * abs(clear_margin))
                else idle_rounds + 1
            )
            best, best_score = (text, score) if score > best_score else (best, best_score)
            if margin < clear_margin or idle_rounds > self.settings.idle_rounds:
                break
            undo_sets.append(words)
            text = _moved_against(problem, text, np.stack(undo_sets), free, rival, clear_margin)
        return best

    def _clear_margin(self, rival: int) -> float:
        """Below which margin it is clear that nothing undoes an attack: proofs over maxima leave
        more room to lines.
        """
        problem = self.prepared.problem
        return (
            0.0
            if self.prepared.pooled is None
            else -self.settings.clear_share * float(problem.margins(problem.center[None])[0, rival])
        )

    def strengthened_by_margin(
        self, perturbed: Floats, open_words: Bools, free: Bools, budget: int
    ) -> Floats:
        """An attack on the free words that leaves the label further behind whatever is put back at
        a cost of `budget`.

        As far as one is found: the text is moved against the sets that help the label most, one
        more of them each time.
        """
        problem = self.prepared.problem
        text = perturbed
        best = perturbed
        least_margin = np.inf
        rival = int(quantised(problem.margins(perturbed[None])).argmin(-1)[0])
        help_sets = list[Bools]()
        idle_rounds = 0
        least_progress = self.settings.least_progress
        for _ in range(self.settings.rounds):
            undo = greedy_undo(
                problem,
                text[None],
                np.array([rival]),
                open_words[None],
                self.costs.units,
                self.budget,
            )
            helpful, margin = self._most_helpful(text, rival, undo.order[0], open_words, budget)
            idle_rounds = (
                0
                if margin < least_margin - least_progress * abs(least_margin)
                or not np.isfinite(least_margin)
                else idle_rounds + 1
            )
            best, least_margin = (text, margin) if margin < least_margin else (best, least_margin)
            if idle_rounds > self.settings.idle_rounds:
                break
            help_sets.append(helpful)
            text = _moved_against(problem, text, np.stack(help_sets), free, rival, -np.inf)
        return best

    def _first_affordable(self, order: Sequence[int], budget: int) -> Bools:
        """The first of the words, as many as the cost pays for."""
        affordable = np.zeros(len(self.costs.units), dtype=bool)
        words = np.array(order, dtype=np.int64)
        affordable[words[np.cumsum(self.costs.units[words]) <= budget]] = True
        return affordable

    def decide(
        self,
        attacks: Sequence[Attack],
        open_words: Sequence[Bools],
        budgets: Sequence[int],
        subproblems: int | None = None,
        plain: bool = False,
    ) -> list[Restoration | UndoneBy | Unknown]:
        """For each attack, its open words and a cost: the proof that no such cost undoes it, or
        words that do.

        With `plain`, upper planes are optimised late: where others failed, splitting words takes
        less time than better bounds.
        """
        questions = list(zip(attacks, open_words, budgets, strict=True))
        answers: list[Restoration | UndoneBy | Unknown | None] = [
            self._undo_by_swaps(*one) for one in questions
        ]
        undecided = [i for i, answer in enumerate(answers) if answer is None]
        for i, answer in zip(
            undecided,
            self._decide_by_bounds([questions[i] for i in undecided], subproblems, plain),
            strict=True,
        ):
            answers[i] = answer
        found = [answer for answer in answers if answer is not None]
        for attack, answer_found in zip(attacks, found, strict=True):
            if isinstance(answer_found, UndoneBy):
                self.known_undos.setdefault(attack.perturbed.tobytes(), []).append(
                    answer_found.words
                )
        return found

    def _decide_by_bounds(
        self, questions: Sequence[tuple[Attack, Bools, int]], subproblems: int | None, plain: bool
    ) -> list[Restoration | UndoneBy | Unknown]:
        if not questions:
            return []
        attacks, open_words, budgets = zip(*questions, strict=True)
        perturbed = np.stack([attack.perturbed for attack in attacks])
        budget_limits = np.array(budgets, dtype=np.float64)
        inputs = Restorations(
            self.prepared.problem.center,
            perturbed,
            np.stack(open_words),
            self.costs.units,
            budget_limits,
        )
        rivals = np.array([attack.rival for attack in attacks])
        pooled = self.prepared.pooled is not None
        if subproblems is None:
            fewest, most = self.settings.proof_subproblems
            subproblems = self.settings.proof_work // self.prepared.subproblem_work
            subproblems = min(most, max(fewest, subproblems))
        most_open = self.settings.most_open[pooled]  # then words are split instead
        limits = Budget(
            self.budget.seconds_left, subproblems, max_open=most_open, late_planes=plain
        )
        answers = decide_restorations(self.prepared, inputs, rivals, limits)
        return [
            _proved(attack, limit, verdict)
            for attack, limit, verdict in zip(attacks, budgets, answers, strict=True)
        ]

    def _undo_by_swaps(self, attack: Attack, open_words: Bools, budget: int) -> UndoneBy | None:
        """Words worth at most `budget` that undo an attack, where swapping words finds some."""
        words, margin = self._most_helpful(
            attack.perturbed, attack.rival, attack.undo_order, open_words, budget
        )
        return UndoneBy(words) if margin >= 0 else None

    def _most_helpful(
        self, text: Floats, rival: int, order: Sequence[int], open_words: Bools, budget: int
    ) -> tuple[Bools, float]:
        """The words worth at most `budget` that help the label most when they are put back, and the
        margin then.

        As far as swaps find them, from the first words of an order that helps.
        """
        problem = self.prepared.problem
        patience = 0 if self.prepared.pooled is None else self.settings.rounds
        swaps = SwapSearch(
            problem, text, rival, self._first_affordable(order, budget), self.costs.units, budget
        )
        words = swaps.run(open_words, self.budget, patience)
        if patience and swaps.margin < 0:
            other = SwapSearch(problem, text, rival, open_words, self.costs.units, budget).reduced()
            other.run(open_words, self.budget)
            words = other.words if other.margin > swaps.margin else words
        return words, float(
            problem.margins(np.where(words[:, None], problem.center, text)[None])[0, rival]
        )

    def highest_excluded(
        self, attack: Attack, open_words: Bools, low: int, high: int, subproblems: int | None = None
    ) -> tuple[int, Restoration | None]:
        """By bisection between two costs, the lowest that is not ruled out, and the proof for all
        below.
        """
        proof: Restoration | None = None
        while low < high and not self.budget.exhausted:
            budget = (low + high) // 2
            answer = self.decide([attack], [open_words], [budget], subproblems)[0]
            if isinstance(answer, Restoration):
                proof = answer
                low = budget + 1
            else:
                high = budget
        return low, proof


def _proved(
    attack: Attack, budget: int, answer: Proved | UndoneBy | Unknown
) -> Restoration | UndoneBy | Unknown:
    if not isinstance(answer, Proved):
        return answer
    assert answer.evidence is not None
    return Restoration(attack.perturbed, attack.rival, budget, answer.evidence[0])


# --- trying ---


def _moved_against(
    problem: Problem, text: Floats, sets: Bools, free: Bools, rival: int, wanted_margin: float = 0.0
) -> Floats:
    """The text moved, within the sets of its free words, to where the label loses though any of
    `sets` is put back.

    Until its margin is below `wanted_margin` there.
    """
    first = problem.network.steps[0]
    rivals = np.full(len(sets), rival)
    restored = sets.astype(np.float64)
    settings = problem.settings.restorations
    for step in range(settings.steps):
        z = first.apply(text.reshape(1, -1)) + restored @ _RestorationRows(problem, text[None]).rows
        margins, slopes = gradients_at_first_step(problem, z, rivals)
        if margins.max() < wanted_margin:
            break
        spread = max(float(np.ptp(margins)), tolerances.TIE)
        weights = np.exp(settings.sharpness * (margins - margins.max()) / spread)
        slope = quantised(_by_word(problem, (1.0 - restored).T @ (weights[:, None] * slopes))[None])
        corner = problem.region.minimiser(slope)[0]
        # Frank-Wolfe steps that shrink to a third over the rounds
        size = settings.step_size / (1 + 2 * step / settings.steps)
        moved = text + size * (corner - text)
        text = np.where(free[:, None], moved, problem.center)
    region = problem.region  # moves may end a rounding outside
    return np.clip(text, region.lower, region.upper) if isinstance(region, Box) else text


@dataclass(frozen=True, eq=False)
class GreedyUndo:
    """Greedy undoing of attacks: the cost (n,), inf if none is found, and the words (n, length), in
    `order`.
    """

    cost: Floats
    words: Bools
    order: tuple[tuple[int, ...], ...]


def greedy_undo(
    problem: Problem,
    perturbed: Floats,
    rivals: Ints,
    open_words: Bools,
    cost: Floats,
    budget: Budget | None = None,
) -> GreedyUndo:
    """Put words back one at a time, always the one that helps the label most for its cost, until it
    is back.

    Only the first step sees the words, and linearly: what restoring each of them adds there is
    worked out once.
    """
    z = problem.network.steps[0].apply(perturbed.reshape(len(perturbed), -1))
    rows = _RestorationRows(problem, perturbed)
    words = np.zeros(open_words.shape, dtype=bool)
    total = np.zeros(len(perturbed))
    margin = _margin(problem, z, rivals)
    order: list[list[int]] = [[] for _ in perturbed]
    alive = np.arange(len(perturbed))
    while len(alive := alive[margin[alive] < 0]):
        if budget is not None:
            budget.check_time()
        candidates = open_words[alive] & ~words[alive]
        has_open = candidates.any(-1)
        total[alive[~has_open]] = np.inf
        alive = alive[has_open]
        candidates = candidates[has_open]
        if not len(alive):
            break
        margins_after = rows.margins(z, alive, rivals)
        best = np.where(
            candidates, quantised((margins_after - margin[alive, None]) / cost), -np.inf
        ).argmax(-1)
        words[alive, best] = True
        total[alive] += cost[best]
        z[alive] += rows.rows_of(alive, best)
        margin[alive] = margins_after[np.arange(len(alive)), best]
        for item, word in zip(alive, best, strict=True):
            order[item].append(int(word))
    return GreedyUndo(total, words, tuple(tuple(o) for o in order))


class SwapSearch:
    """Local search over the words of an attack that are put back: swaps one for one that raise the
    margin.

    The words cost no more than `budget` in all, before and after. Words swapped without gain are
    tabu for a while.
    """

    def __init__(
        self, problem: Problem, text: Floats, rival: int, words: Bools, cost: Floats, budget: float
    ) -> None:
        self.problem = problem
        self.settings = problem.settings.restorations
        self.rival = rival
        self.words = words.copy()
        self.cost = cost
        self.budget = budget
        rows = _RestorationRows(problem, text[None])
        self.restoration_rows = rows.rows_of(
            np.zeros(rows.length, dtype=np.int64), np.arange(rows.length)
        )
        self.z = problem.network.steps[0].apply(text.reshape(1, -1))[0] + self.restoration_rows[
            words
        ].sum(0)
        self.margin = float(self._margins(self.z[None])[0])

    def run(self, open_words: Bools, budget: Budget, patience: int = 0) -> Bools:
        """The words after every swap with some of the open ones.

        Where none helps and the label is not back, up to `patience` are made all the same: others
        may help after them.
        """
        best = (self.margin, self.words.copy(), self.z)
        tabu_until = np.zeros(len(self.words), dtype=np.int64)
        idle_swaps = 0
        for swap_number in range(self.settings.swaps):
            inside, outside = (
                np.flatnonzero(side & (tabu_until <= swap_number))
                for side in (self.words, open_words & ~self.words)
            )
            found = None if budget.exhausted else self._best_swap(inside, outside)
            if found is None:
                break
            idle_swaps = (
                0 if found[0] > best[0] + tolerances.SWAP_GAIN * abs(best[0]) else idle_swaps + 1
            )
            if idle_swaps > patience or (idle_swaps and best[0] >= 0):
                break
            self._swap(*found)
            # a third of the patience: three swaps may each be tried again before it ends
            tabu_until[list(found[1:])] = swap_number + patience // 3
            best = best if idle_swaps else (self.margin, self.words.copy(), self.z)
        self.margin, self.words, self.z = best
        return self.words

    def reduced(self) -> SwapSearch:
        """With fewer words, until they cost no more than the budget: each time without the one that
        helps least.
        """
        while self.cost[self.words].sum() > self.budget:
            inside = np.flatnonzero(self.words)
            margins = self._margins(self.z - self.restoration_rows[inside])
            least = int(((self.margin - margins) / self.cost[inside]).argmin())
            self.words[inside[least]] = False
            self.z = self.z - self.restoration_rows[inside[least]]
            self.margin = float(margins[least])
        return self

    def _best_swap(self, inside: Ints, outside: Ints) -> tuple[float, int, int] | None:
        """The swap after which the margin is highest: of words that matter least alone for those
        that help most.
        """
        inside = self._promising(inside, -1.0)
        outside = self._promising(outside, 1.0)
        if not len(inside) or not len(outside):
            return None
        trial = (self.z - self.restoration_rows[inside])[:, None] + self.restoration_rows[outside]
        reached = self._margins(trial.reshape(-1, len(self.z))).reshape(trial.shape[:2])
        budget_left = self.budget - self.cost[self.words].sum()
        scores = np.where(
            self.cost[outside] - self.cost[inside][:, None] <= budget_left, reached, -np.inf
        )
        removed, added = np.unravel_index(scores.argmax(), scores.shape)
        return float(scores[removed, added]), int(inside[removed]), int(outside[added])

    def _swap(self, margin: float, removed: int, added: int) -> None:
        self.words[removed] = False
        self.words[added] = True
        self.z = self.z - self.restoration_rows[removed] + self.restoration_rows[added]
        self.margin = margin

    def _promising(self, words: Ints, sign: float) -> Ints:
        """The words after which the margin is highest, once they are back (sign 1) or no longer
        back (-1).
        """
        most = min(self.settings.swaps, int((RESOURCES.chunk_numbers / len(self.z)) ** 0.5))
        if len(words) <= most:
            return words
        return words[
            np.argsort(-self._margins(self.z + sign * self.restoration_rows[words]), kind="stable")[
                :most
            ]
        ]

    def _margins(self, z: Floats) -> Floats:
        """Margins (n,), up to their last digits, from sums (n, units) of the first step on."""
        return np.asarray(quantised(_margin(self.problem, z, np.full(len(z), self.rival))[None])[0])


class _RestorationRows:
    """What restoring each word of each text adds to the first step: rows (n · length, units),
    sparse where that is.
    """

    def __init__(self, problem: Problem, perturbed: Floats) -> None:
        self.problem = problem
        self.length = problem.center.shape[0]
        first = problem.network.steps[0]
        moves = problem.center - perturbed
        if isinstance(first.weight, np.ndarray):
            rows = first.weight.reshape(len(first.bias), *problem.center.shape)
            # (length, n, units)
            added = np.matmul(moves.transpose(1, 0, 2), rows.transpose(1, 2, 0))
            self.rows = added.transpose(1, 0, 2).reshape(-1, len(first.bias))
        else:
            self.rows = _sparse_adds(first.by_word(self.length), moves, len(first.bias))

    def rows_of(self, texts: Ints, words: Ints) -> Floats:
        """The rows of one word for each text."""
        return _dense(self.rows[texts * self.length + words])

    def margins(self, z: Floats, texts: Ints, rivals: Ints) -> Floats:
        """For each text and each word the margin (n, length) once that word is restored too."""
        found = np.empty((len(texts), self.length))
        every = np.arange(self.length)
        for chunk in chunk_slices(self.length, z.shape[1] * len(texts)):
            trial = z[texts, None] + self._block(texts, chunk)
            rivals_repeated = np.repeat(rivals[texts], len(every[chunk]))
            found[:, chunk] = _margin(
                self.problem, trial.reshape(-1, z.shape[1]), rivals_repeated
            ).reshape(len(texts), -1)
        return found

    def _block(self, texts: Ints, words: slice) -> Floats:
        """The rows of some words of each text: (n, words, units)."""
        if isinstance(self.rows, np.ndarray):
            return np.asarray(self.rows.reshape(-1, self.length, self.rows.shape[1])[texts, words])
        rows = texts[:, None] * self.length + np.arange(self.length)[words]
        return _dense(self.rows[rows.ravel()]).reshape(*rows.shape, -1)


def _dense(rows: Any) -> Floats:
    return rows if isinstance(rows, np.ndarray) else np.asarray(rows.toarray())


def _by_word(problem: Problem, rows: Floats) -> Floats:
    """Rows (length, units) over the first step's units, one for each word, as rows over that word's
    numbers.
    """
    first, (length, dimension) = problem.network.steps[0], problem.center.shape
    if isinstance(first.weight, np.ndarray):
        weights = first.weight.reshape(-1, length, dimension).transpose(1, 0, 2)
        return np.asarray(np.matmul(rows[:, None], weights)[:, 0])
    blocks = enumerate(first.by_word(length))
    return np.stack([rows[word, units] @ block for word, (units, block) in blocks])


def _sparse_adds(
    blocks: Sequence[tuple[Ints, Floats]], moves: Floats, units: int
) -> scipy.sparse.csr_array:
    """What moving each word of each text adds to each unit, as sparse rows (n · length, units)."""
    added = [block @ moves[:, word].T for word, (_, block) in enumerate(blocks)]
    data = [added[word][:, text] for text in range(len(moves)) for word in range(len(blocks))]
    columns = [rows for _ in moves for rows, _ in blocks]
    ends = np.cumsum([0, *(len(rows) for rows in columns)])
    return scipy.sparse.csr_array(
        (np.concatenate(data), np.concatenate(columns), ends), (len(columns), units)
    )


def _margin(problem: Problem, z: Floats, rivals: Ints) -> Floats:
    """Margins (n,) against one rival each, from the first step's pre-activations on."""
    work.count("undo_points", len(z))
    values = z
    for step, after in pairwise(problem.network.steps):
        values = step.onward(values, after)
    others = np.asarray(problem.rivals)[rivals]
    return np.asarray(values[:, problem.label] - values[np.arange(len(z)), others])
