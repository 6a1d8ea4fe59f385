"""Restoration-proof attacks: one perturbed text that rules out every cheap explanation at once.

Take a perturbed text p that flips the label. Whoever fixes a set of words puts those words of p back to the
original. If the label stays flipped however words worth at most q are put back, then no explanation costs q or
less: each of them would leave a flipped text possible. `stamina` finds out, by trying, how much it takes to undo
an attack; branch.decide_restorations proves that nothing cheaper does, with a linear bound over the choice of
words in which the budget q is spent inside the propagation (inputs.Restored).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy  # its subpackages load on first use

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.attack import first_gradients
from suffice.prove.bounds import Form
from suffice.prove.branch import Restorable, decide_restorations
from suffice.prove.inputs import PIECE, Restored, pieces, steady
from suffice.prove.tree import Tree
from suffice.prove.verdict import Budget, Problem, Proved, Unknown
from suffice.search.cost import Costs
from suffice.sets.regions import Box

TURNS, STEPS = 16, 6  # of making an attack harder to undo: sets of words that undo it, and steps against all of them
IDLE, STRIDE = 2, 0.1  # turns that bring nothing, or less than this share of what is wanted, after which they end
PACE = 0.4  # of these steps, at first
EFFORT = 600  # subproblems for a proof that an attack cannot be undone, where they are small
LEAST, WORK = 240, (4 * 10**9, 64 * 10**8)  # of them in any case, and multiplications of others; also over maxima
QUICK = 24  # for a first idea of what can be proved
CROWD = 24, 96  # of them open at the same time, with which such proofs hardly ever end; and over maxima
EXCHANGES, PAIRED = 64, 48  # of words that are put back for others, and words of either side that are tried in pairs
CLOSER = 1e-6  # what an exchange must help by, as a share of the margin
CLEAR = 0.2  # of the text's own margin: how far the label should stay behind whatever is put back
PATIENCE, WAIT = 16, 5  # exchanges that do not help, and turns that words wait after them, where proofs go over maxima


@dataclass(frozen=True, eq=False)
class Restoration:
    """The evidence that no explanation costs `budget` or less: the text, the rival it lets win, the proof."""

    start: Floats
    rival: int
    budget: int
    proof: Tree


@dataclass(frozen=True, eq=False)
class Attack:
    """A perturbed text, the rival that wins there, and the words that undo it, at which cost (inf: none do)."""

    start: Floats
    rival: int
    place: int  # among the texts it was chosen from
    cost: float
    words: Bools
    order: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Prover:
    """Finds and proves attacks that cannot be undone at an affordable cost."""

    form: Form
    costs: Costs
    budget: Budget
    undone: dict[bytes, list[Bools]] = field(default_factory=dict)  # by attacked text, words that undo it

    def hardest(self, starts: Sequence[Floats], opened: Bools) -> Attack:
        """Among perturbed texts, the one that takes most of the open words to undo."""
        problem, texts = self.form.problem, np.stack(starts)
        rivals = np.asarray(steady(problem.margins(texts)).argmin(-1))
        found = stamina(
            problem, texts, rivals, np.repeat(opened[None], len(texts), axis=0), self.costs.units, self.budget
        )
        sets = [self._cheapest(*one, opened) for one in zip(texts, found.words, found.cost, strict=True)]
        best = int(np.argmax([cost for _, cost in sets]))
        words, cost = sets[best]
        return Attack(texts[best], int(rivals[best]), best, cost, words, found.order[best])

    def _cheapest(self, text: Floats, words: Bools, cost: float, opened: Bools) -> tuple[Bools, float]:
        """What undoes an attack at the lowest cost: these words, or some that a proof came upon."""
        known = [(some, float(self.costs.of(some))) for some in self.undone.get(text.tobytes(), ())]
        affordable = [(some, price) for some, price in known if not (some & ~opened).any()]
        return min([(words, float(cost)), *affordable], key=lambda pair: pair[1])

    def hardened(self, start: Floats, opened: Bools, free: Bools, enough: float, sets: Sequence[Bools]) -> Floats:
        """An attack on the free words that takes more to undo, as far as one is found; until undoing costs `enough`.

        Words that undo it are looked for, and the text is moved so that none of the sets found so far undoes it;
        `sets` are some of words that should not.
        """
        problem, text, best, most = self.form.problem, start, start, (-np.inf, -np.inf)
        rival, known = int(steady(problem.margins(start[None])).argmin(-1)[0]), list(sets)
        level, clear = int(min(enough - 1, self.costs.of(opened))), self._clear(rival)
        text, idle = _against(problem, text, np.stack(known), free, rival, clear) if known else text, 0
        for _ in range(TURNS):
            undone = stamina(problem, text[None], np.array([rival]), opened[None], self.costs.units, self.budget)
            words, margin = undone.words[0], np.inf
            if undone.cost[0] >= enough:
                words, margin = self._helped(text, rival, undone.order[0], opened, level)
            found = float(undone.cost[0]), -margin
            idle = 0 if found > (most[0], most[1] + STRIDE * abs(clear)) else idle + 1
            best, most = (text, found) if found > most else (best, most)
            if margin < clear or idle > IDLE:
                break
            known.append(words)
            text = _against(problem, text, np.stack(known), free, rival, clear)
        return best

    def _clear(self, rival: int) -> float:
        """Below which margin it is clear that nothing undoes an attack: proofs over maxima leave more room to lines."""
        problem = self.form.problem
        return 0.0 if self.form.pooled is None else -CLEAR * float(problem.margins(problem.center[None])[0, rival])

    def deepened(self, start: Floats, opened: Bools, free: Bools, level: int) -> Floats:
        """An attack on the free words that leaves the label further behind whatever is put back at a cost of `level`.

        As far as one is found: the text is moved against the sets that help the label most, one more of them each time.
        """
        problem, text, best, least = self.form.problem, start, start, np.inf
        rival, known, idle = int(steady(problem.margins(start[None])).argmin(-1)[0]), list[Bools](), 0
        for _ in range(TURNS):
            undone = stamina(problem, text[None], np.array([rival]), opened[None], self.costs.units, self.budget)
            helps, margin = self._helped(text, rival, undone.order[0], opened, level)
            idle = 0 if margin < least - STRIDE * abs(least) or not np.isfinite(least) else idle + 1
            best, least = (text, margin) if margin < least else (best, least)
            if idle > IDLE:
                break
            known.append(helps)
            text = _against(problem, text, np.stack(known), free, rival, -np.inf)
        return best

    def _within(self, order: Sequence[int], level: int) -> Bools:
        """The first of the words, as many as the cost pays for."""
        found, words = np.zeros(len(self.costs.units), dtype=bool), np.array(order, dtype=np.int64)
        found[words[np.cumsum(self.costs.units[words]) <= level]] = True
        return found

    def decide(
        self,
        attacks: Sequence[Attack],
        opened: Sequence[Bools],
        levels: Sequence[int],
        effort: int | None = None,
        plain: bool = False,
    ) -> list[Restoration | Restorable | Unknown]:
        """For each attack, its open words and a cost: the proof that no such cost undoes it, or words that do.

        With `plain`, lines are tilted late: where others failed, splitting words takes less time than better bounds.
        """
        asked = list(zip(attacks, opened, levels, strict=True))
        answers: list[Restoration | Restorable | Unknown | None] = [self._undone(*one) for one in asked]
        left = [i for i, answer in enumerate(answers) if answer is None]
        for i, answer in zip(left, self._decide([asked[i] for i in left], effort, plain), strict=True):
            answers[i] = answer
        found = [answer for answer in answers if answer is not None]
        for attack, said in zip(attacks, found, strict=True):
            if isinstance(said, Restorable):
                self.undone.setdefault(attack.start.tobytes(), []).append(said.words)
        return found

    def _decide(
        self, asked: Sequence[tuple[Attack, Bools, int]], effort: int | None, plain: bool
    ) -> list[Restoration | Restorable | Unknown]:
        if not asked:
            return []
        attacks, opened, levels = zip(*asked, strict=True)
        start, budget = np.stack([attack.start for attack in attacks]), np.array(levels, dtype=np.float64)
        inputs = Restored(self.form.problem.center, start, np.stack(opened), self.costs.units, budget)
        rivals = np.array([attack.rival for attack in attacks])
        pooled = self.form.pooled is not None
        most = min(EFFORT, max(LEAST, WORK[pooled] // self.form.effort)) if effort is None else effort
        crowd = CROWD[pooled]  # then words are split instead
        limits = Budget(self.budget.left, most, crowd=crowd, plain=plain)
        answers = decide_restorations(self.form, inputs, rivals, limits)
        return [_proved(attack, level, one) for attack, level, one in zip(attacks, levels, answers, strict=True)]

    def _undone(self, attack: Attack, opened: Bools, level: int) -> Restorable | None:
        """Words worth at most `level` that undo an attack, where exchanging words finds some."""
        words, margin = self._helped(attack.start, attack.rival, attack.order, opened, level)
        return Restorable(words) if margin >= 0 else None

    def _helped(self, text: Floats, rival: int, order: Sequence[int], opened: Bools, level: int) -> tuple[Bools, float]:
        """The words worth at most `level` that help the label most when they are put back, and the margin then.

        As far as exchanges find them, from the first words of an order that helps.
        """
        problem, patience = self.form.problem, 0 if self.form.pooled is None else PATIENCE
        tried = Exchange(problem, text, rival, self._within(order, level), self.costs.units, level)
        words = tried.run(opened, self.budget, patience)
        if patience and tried.margin < 0:
            other = Exchange(problem, text, rival, opened, self.costs.units, level).shrunk()
            other.run(opened, self.budget)
            words = other.words if other.margin > tried.margin else words
        return words, float(problem.margins(np.where(words[:, None], problem.center, text)[None])[0, rival])

    def highest(
        self, attack: Attack, opened: Bools, low: int, high: int, effort: int | None = None
    ) -> tuple[int, Restoration | None]:
        """By bisection between two costs, the lowest that is not ruled out, and the proof for all below."""
        proof: Restoration | None = None
        while low < high and not self.budget.spent:
            level = (low + high) // 2
            answer = self.decide([attack], [opened], [level], effort)[0]
            if isinstance(answer, Restoration):
                proof, low = answer, level + 1
            else:
                high = level
        return low, proof


def _proved(attack: Attack, level: int, answer: Proved | Restorable | Unknown) -> Restoration | Restorable | Unknown:
    if not isinstance(answer, Proved):
        return answer
    assert answer.evidence is not None
    return Restoration(attack.start, attack.rival, level, answer.evidence[0])


# --- trying ---


def _against(problem: Problem, text: Floats, sets: Bools, free: Bools, rival: int, enough: float = 0.0) -> Floats:
    """The text moved, within the sets of its free words, to where the label loses though any of `sets` is put back.

    Until its margin is below `enough` there.
    """
    first, rivals, back = problem.network.steps[0], np.full(len(sets), rival), sets.astype(np.float64)
    for turn in range(STEPS):
        z = first.apply(text.reshape(1, -1)) + back @ _Adds(problem, text[None]).rows
        margins, slopes = first_gradients(problem, z, rivals)
        if margins.max() < enough:
            break
        weight = np.exp((margins - margins.max()) / max(float(np.ptp(margins)), 1e-9) * 4.0)
        slope = steady(_by_word(problem, (1.0 - back).T @ (weight[:, None] * slopes))[None])
        corner = problem.region.minimiser(slope)[0]
        moved = text + PACE / (1 + turn / 3) * (corner - text)
        text = np.where(free[:, None], moved, problem.center)
    region = problem.region  # moves may end a rounding outside
    return np.clip(text, region.lower, region.upper) if isinstance(region, Box) else text


@dataclass(frozen=True, eq=False)
class Stamina:
    """For a batch of attacks: the cost (n,) and the words (n, length), in `order`, that undo each; inf if none do."""

    cost: Floats
    words: Bools
    order: tuple[tuple[int, ...], ...]


def stamina(
    problem: Problem, starts: Floats, rivals: Ints, opened: Bools, cost: Floats, budget: Budget | None = None
) -> Stamina:
    """Put words back one at a time, always the one that helps the label most for its cost, until it is back.

    Only the first step sees the words, and linearly: what restoring each of them adds there is worked out once.
    """
    z = problem.network.steps[0].apply(starts.reshape(len(starts), -1))
    adds = _Adds(problem, starts)
    words, total, margin = np.zeros(opened.shape, dtype=bool), np.zeros(len(starts)), _margin(problem, z, rivals)
    order: list[list[int]] = [[] for _ in starts]
    alive = np.arange(len(starts))
    while len(alive := alive[margin[alive] < 0]):
        if budget is not None:
            budget.look()
        left = opened[alive] & ~words[alive]
        some = left.any(-1)
        total[alive[~some]] = np.inf
        alive, left = alive[some], left[some]
        if not len(alive):
            break
        reached = adds.margins(z, alive, rivals)
        best = np.where(left, steady((reached - margin[alive, None]) / cost), -np.inf).argmax(-1)
        words[alive, best] = True
        total[alive] += cost[best]
        z[alive] += adds.of(alive, best)
        margin[alive] = reached[np.arange(len(alive)), best]
        for item, word in zip(alive, best, strict=True):
            order[item].append(int(word))
    return Stamina(total, words, tuple(tuple(o) for o in order))


class Exchange:
    """Words of an attacked text that are put back, exchanged for others, one for one, as long as that helps the label.

    They cost no more than `level` in all, before and after.
    """

    def __init__(self, problem: Problem, text: Floats, rival: int, words: Bools, cost: Floats, level: float) -> None:
        self.problem, self.rival, self.words = problem, rival, words.copy()
        self.cost, self.level, adds = cost, level, _Adds(problem, text[None])
        self.rows = adds.of(np.zeros(adds.length, dtype=np.int64), np.arange(adds.length))
        self.z = problem.network.steps[0].apply(text.reshape(1, -1))[0] + self.rows[words].sum(0)
        self.margin = float(self._margins(self.z[None])[0])

    def run(self, opened: Bools, budget: Budget, patience: int = 0) -> Bools:
        """The words after every exchange, with some of the open ones.

        Where none helps and the label is not back, up to `patience` are made all the same: others may help after them.
        """
        best, waits, idle = (self.margin, self.words.copy(), self.z), np.zeros(len(self.words), dtype=np.int64), 0
        for turn in range(EXCHANGES):
            inside, outside = (np.flatnonzero(some & (waits <= turn)) for some in (self.words, opened & ~self.words))
            found = None if budget.spent else self._best(inside, outside)
            if found is None:
                break
            idle = 0 if found[0] > best[0] + CLOSER * abs(best[0]) else idle + 1
            if idle > patience or (idle and best[0] >= 0):
                break
            self._exchange(*found)
            waits[list(found[1:])] = turn + min(patience, WAIT)
            best = best if idle else (self.margin, self.words.copy(), self.z)
        self.margin, self.words, self.z = best
        return self.words

    def shrunk(self) -> Exchange:
        """With fewer words, until they cost no more than the level: each time without the one that helps least."""
        while self.cost[self.words].sum() > self.level:
            inside = np.flatnonzero(self.words)
            margins = self._margins(self.z - self.rows[inside])
            least = int(((self.margin - margins) / self.cost[inside]).argmin())
            self.words[inside[least]] = False
            self.z, self.margin = self.z - self.rows[inside[least]], float(margins[least])
        return self

    def _best(self, inside: Ints, outside: Ints) -> tuple[float, int, int] | None:
        """The exchange after which the margin is highest: of words that matter least alone for those that help most."""
        inside, outside = self._likely(inside, -1.0), self._likely(outside, 1.0)
        if not len(inside) or not len(outside):
            return None
        trial = (self.z - self.rows[inside])[:, None] + self.rows[outside]
        reached = self._margins(trial.reshape(-1, len(self.z))).reshape(trial.shape[:2])
        room = self.level - self.cost[self.words].sum()
        found = np.where(self.cost[outside] - self.cost[inside][:, None] <= room, reached, -np.inf)
        back, more = np.unravel_index(found.argmax(), found.shape)
        return float(found[back, more]), int(inside[back]), int(outside[more])

    def _exchange(self, margin: float, back: int, more: int) -> None:
        self.words[back], self.words[more] = False, True
        self.z, self.margin = self.z - self.rows[back] + self.rows[more], margin

    def _likely(self, words: Ints, sign: float) -> Ints:
        """The words after which the margin is highest, once they are back (sign 1) or no longer back (-1)."""
        many = min(PAIRED, int((PIECE / len(self.z)) ** 0.5))
        if len(words) <= many:
            return words
        return words[np.argsort(-self._margins(self.z + sign * self.rows[words]), kind="stable")[:many]]

    def _margins(self, z: Floats) -> Floats:
        """Margins (n,), up to their last digits, from sums (n, units) of the first step on."""
        return np.asarray(steady(_margin(self.problem, z, np.full(len(z), self.rival))[None])[0])


class _Adds:
    """What restoring each word of each text adds to the first step: rows (n · length, units), sparse where that is."""

    def __init__(self, problem: Problem, starts: Floats) -> None:
        self.problem, self.length = problem, problem.center.shape[0]
        first, moves = problem.network.steps[0], problem.center - starts
        if isinstance(first.weight, np.ndarray):
            rows = first.weight.reshape(len(first.bias), *problem.center.shape)
            added = np.matmul(moves.transpose(1, 0, 2), rows.transpose(1, 2, 0))  # (length, n, units)
            self.rows = added.transpose(1, 0, 2).reshape(-1, len(first.bias))
        else:
            self.rows = _sparse_adds(first.by_word(self.length), moves, len(first.bias))

    def of(self, texts: Ints, words: Ints) -> Floats:
        """The rows of one word for each text."""
        return _dense(self.rows[texts * self.length + words])

    def margins(self, z: Floats, texts: Ints, rivals: Ints) -> Floats:
        """For each text and each word the margin (n, length) once that word is restored too."""
        found, every = np.empty((len(texts), self.length)), np.arange(self.length)
        for some in pieces(self.length, z.shape[1] * len(texts)):
            trial = z[texts, None] + self._block(texts, some)
            beaten = np.repeat(rivals[texts], len(every[some]))
            found[:, some] = _margin(self.problem, trial.reshape(-1, z.shape[1]), beaten).reshape(len(texts), -1)
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
    """Rows (length, units) over the first step's units, one for each word, as rows over that word's numbers."""
    first, (length, dimension) = problem.network.steps[0], problem.center.shape
    if isinstance(first.weight, np.ndarray):
        weights = first.weight.reshape(-1, length, dimension).transpose(1, 0, 2)
        return np.asarray(np.matmul(rows[:, None], weights)[:, 0])
    blocks = enumerate(first.by_word(length))
    return np.stack([rows[word, units] @ block for word, (units, block) in blocks])


def _sparse_adds(blocks: Sequence[tuple[Ints, Floats]], moves: Floats, units: int) -> scipy.sparse.csr_array:
    """What moving each word of each text adds to each unit, as sparse rows (n · length, units)."""
    added = [block @ moves[:, word].T for word, (_, block) in enumerate(blocks)]
    data = [added[word][:, text] for text in range(len(moves)) for word in range(len(blocks))]
    columns = [rows for _ in moves for rows, _ in blocks]
    ends = np.cumsum([0, *(len(rows) for rows in columns)])
    return scipy.sparse.csr_array((np.concatenate(data), np.concatenate(columns), ends), (len(columns), units))


def _margin(problem: Problem, z: Floats, rivals: Ints) -> Floats:
    """Margins (n,) against one rival each, from the first step's pre-activations on."""
    values = z
    for step, after in pairwise(problem.network.steps):
        values = step.onward(values, after)
    others = np.asarray(problem.rivals)[rivals]
    return np.asarray(values[:, problem.label] - values[np.arange(len(z)), others])
