"""The complete answer: branch and bound on relus, and on words where that is needed.

Subproblems of many questions are worked on together, the hardest of each question first. Splitting a unit
makes its relu linear on both sides, and brings lines closer to a smooth curve; the split itself enters the bound
through a multiplier. A subproblem is closed when its bound is above zero or its splits contradict each other; the
point where an open one attains its bound is tried on the real network each time. Where words are bought with a
budget, those that the bound cannot do without are decided on the way. Over `Free` and `Freed` words the margin must
stay above zero; over `Restored` words it must stay below.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats, Ints
from suffice.prove.attack import margins, slide, slides
from suffice.prove.bounds import (
    NEAR,
    Dual,
    Form,
    Hidden,
    Items,
    Pass,
    Signs,
    chosen_lines,
    hidden,
    lines_above,
    losses,
    margin_bound,
    margin_rows,
    optimise,
    outer_sides,
    plain,
    settled,
    step_bounds,
)
from suffice.prove.choices import Sums
from suffice.prove.choices import narrowed as fewer
from suffice.prove.climb import Climbed, Ground, Pace, climbed
from suffice.prove.climb_back import Way, climbed_back
from suffice.prove.exact import confirm
from suffice.prove.inputs import Chosen, Free, Freed, Interval, Restored
from suffice.prove.lean import told, within
from suffice.prove.narrow import Narrow, narrowed, worth_it
from suffice.prove.peaks import Peaks
from suffice.prove.program import leaf_program
from suffice.prove.runs import CLOSED, few
from suffice.prove.sieve import sifted
from suffice.prove.tilts import PACE, Tilts
from suffice.prove.tree import Above, Leaf, Pick, Split, Stated, Tree
from suffice.prove.verdict import Budget, OutOfTime, Proved, Refuted, Unknown, Verdict
from suffice.sets.regions import Ball, Box, Choice

BATCH = 256  # subproblems per round, if they are small
WORK = 2 * 10**8  # multiplications per round: it should take a fraction of a second, as time is looked at in between
MEMORY = 10**9  # bytes that the subproblems of a run may take in all
PER_QUESTION = 48  # of one question, so that a hard one does not starve the others
STUCK = 16  # subproblems at zero that a question may have before it is given up: another may hold a flip
STEPS = 4, 64  # of slope and multiplier ascent per subproblem, at least and at most
AROUND, AROUND_STEPS = 4, 20  # points that small steps lead away from, and how many
TRIED = 4  # of inputs that were all run, those that may answer the question
TOGETHER = 32  # subproblems per round where only words are decided on: more do not fit the cache
DESCENTS = 6  # rounds of these in which the best point is made better
HARD = 64  # subproblems of a question after which lines above first relus are tilted too
LATE = 128  # of one that is to be asked plainly
MANY, SOON = 64, 4  # of these relus, from which on that is worth while sooner
TILTED_STEPS = 12  # of ascent, at least, where they are
HOPE, MORE = 24, 3.0  # times as many subproblems tell whether there is hope, if each doubling gains that much more
WIDE = 8_000  # shares of such lines from which on bounds of later steps' units are narrowed too
ROOT_STEPS = 48  # of ascent at a root whose hidden bounds were narrowed
SLOW = 0.04  # the pace of shares of lines above maxima
CLIMB, SOME = Pace(100, (0.033, 0.0009), (0.09, 0.0035)), 0.02  # where they begin, and what each candidate has then
CLIMB_ON, LITTLE = Pace(40, (0.006, 0.0009), (0.04, 0.0035)), 1e-5  # and after that
CLIMB_LONG = Pace(100, (0.004, 0.0003), (0.03, 0.001))  # where that is not enough
SHARES = 400_000  # of lines above maxima that are worked on together: more take longer and far more memory
MAXIMA = 16  # with lines above, from which on splits on single ones are too many
WEIGHTS = 5 * 10**5  # of candidates, up to which it pays to look at several maxima at once
FEW = 16  # below this many subproblems in a round, each is split on several units at once


InputSet: TypeAlias = Free | Freed | Restored


@dataclass(frozen=True, eq=False)
class Restorable:
    """A set of words (a mask) that, put back, undoes the attack at an affordable cost."""

    words: Bools


Answer: TypeAlias = Verdict | Restorable
# Says of points where bounds are attained, (n, length, dimension), one for each set, and of their margins against the
# rival asked about, which of them answer their question.
Judge: TypeAlias = Callable[[Sequence[InputSet], Floats, Floats], Sequence[Answer | None]]


@dataclass(eq=False)
class Subproblem:
    """A part of one question against one rival, on its way to being closed or split."""

    question: int
    rival: int
    inputs: InputSet
    signs: Signs
    bound: float
    steps: tuple[Interval, ...] = ()  # bounds of the first steps, as far as they are known, before splits cut them
    dual: Dual | None = None
    loss: Floats | None = None
    row: Floats | None = None  # of the bound, over the input
    word: int | None = None  # to be decided on, where that is known
    cut: int | tuple[int, Chosen] | None = None  # the unit, or the word and its choices, that it was split on
    halves: tuple[Subproblem, Subproblem] | None = None
    over: Subproblem | None = None  # what it is half of, where that was split before it was bounded
    above: Above | None = None  # the tilted lines that close it
    narrow: Narrow | None = None  # what is known of hidden units everywhere below the root
    tree: Tree | None = None  # the proof, where all its inputs were run
    many: bool = False  # inputs, known to be too many for that
    closed: bool = False

    @property
    def covered(self) -> bool:
        """Whether a part that it belongs to is closed, so that it need not be."""
        return self.over is not None and (self.over.closed or self.over.covered)


@dataclass(eq=False)
class _Question:
    roots: list[Subproblem]
    open: list[Subproblem] = field(default_factory=list)
    spent: int = 0
    stuck: int = 0
    first: tuple[int, float] | None = None  # subproblems and the lowest bound when it was first split
    answer: Answer | None = None


def decide(form: Form, free: Bools, budget: Budget) -> list[Verdict]:
    """Do the words that are not free suffice? A verdict for each row of `free` (n, length)."""
    form.about(free)
    form = _over(form, np.asarray(free.any(0)))
    rivals = [list(range(len(form.problem.rivals)))] * len(free)
    way = Branching if form.problem.source is None else WordByWord
    answers = way(form, sets_of_free(form, free, choosable=True), rivals, 1.0, _flips(form), budget).run()
    return [answer for answer in answers if not isinstance(answer, Restorable)]


def decide_restorations(
    form: Form, inputs: Restored, rivals: Ints, budget: Budget
) -> list[Proved | Restorable | Unknown]:
    """Does every affordable restoration leave the rival ahead? Proved, a set that does not, or Unknown."""
    assert form.problem.source is None, "proofs with numbers of units are about the original alone"
    form.about((inputs.start != inputs.center).any(-1))
    form = within(form, np.minimum(inputs.start.min(0), inputs.center), np.maximum(inputs.start.max(0), inputs.center))
    answers = Branching(form, inputs, [[int(j)] for j in rivals], -1.0, _undone(form), budget).run()
    return [answer for answer in answers if not isinstance(answer, Refuted)]


def decide_flips(
    form: Form, opened: Bools, cost: Floats, limit: float, rivals: Sequence[int], budget: Budget
) -> Verdict:
    """Can changing words worth at most `limit` lift one of the rivals to the label? Refuted shows how.

    A limit on how many words change at once is one of cost too if words cost the same.
    """
    assert form.problem.source is None, "proofs with numbers of units are about the original alone"
    form.about(opened)
    equal, most = (cost == cost[0]).all(), float(form.problem.limit)
    worth = np.array([min(float(limit), cost[0] * most) if equal else float(limit)])
    count = None if equal or most >= opened.sum() else np.array([most])
    nobody = np.zeros((1, len(opened)), dtype=bool)
    inputs = Freed(form.problem.region, nobody, opened[None], cost, worth, _every_choice(form, 1), count)
    answer = Branching(form, inputs, [list(rivals)], 1.0, _flips(form, rivals), budget).run()[0]
    assert not isinstance(answer, Restorable)
    return answer


def _over(form: Form, free: Bools) -> Form:
    """The form for questions in which only these words (length,) move."""
    region = form.problem.region
    if not isinstance(region, Box | Ball):
        return form
    lower, upper = (np.where(free[:, None], side, region.center) for side in outer_sides(region))
    return within(form, lower, upper)


def sets_of_free(form: Form, free: Bools, choosable: bool = False) -> Free | Freed:
    """What the question about each row of `free` ranges over; with a limit on changes, who changes is a choice too."""
    problem, allowed = form.problem, _every_choice(form, len(free)) if choosable else None
    if free.sum(-1).max(initial=0) <= problem.limit:
        return Free(problem.region, free, allowed)
    most = np.full(len(free), float(problem.limit))
    return Freed(problem.region, np.zeros_like(free), free, np.ones(free.shape[1]), most, allowed)


def _every_choice(form: Form, count: int) -> Bools | None:
    """Every choice allowed, where the region is one of choices and a proof may branch on them."""
    if not isinstance(form.problem.region, Choice):
        return None
    return np.ones((count, *form.problem.region.points.shape[:2]), dtype=bool)


def _flips(form: Form, aims: Sequence[int] | None = None) -> Judge:
    """A point that a rival wins (one of the `aims`), confirmed, refutes."""

    def judge(sets: Sequence[InputSet], points: Floats, margins: Floats) -> list[Answer | None]:
        answers: list[Answer | None] = [None] * len(points)
        hits = np.flatnonzero(margins <= 1e-9).tolist()
        if hits:
            words = np.concatenate([_words(sets[i]) for i in hits])
            for i, witness in zip(hits, confirm(form.problem, points[hits], words, aims=aims), strict=True):
                answers[i] = None if witness is None else Refuted(witness)
        return answers

    return judge


def _undone(form: Form) -> Judge:
    """A point that the label wins, if whole words of it are restored, shows how the attack is undone."""

    def judge(sets: Sequence[InputSet], points: Floats, margins: Floats) -> list[Answer | None]:
        answers: list[Answer | None] = [None] * len(points)
        for i in np.flatnonzero(margins >= 0).tolist():
            inputs = sets[i]
            assert isinstance(inputs, Restored)
            restored = (points[i] == inputs.center).all(-1)
            if (restored | (points[i] == inputs.start[0]).all(-1)).all():
                answers[i] = Restorable(restored & form.problem.features)
        return answers

    return judge


def _words(inputs: InputSet) -> Bools:
    """The words (1, length) that can move in a set."""
    assert not isinstance(inputs, Restored)
    return inputs.words


class Branching:
    """One run of branch and bound over a batch of questions."""

    def __init__(
        self,
        form: Form,
        inputs: InputSet,
        rivals: Sequence[Sequence[int]],
        sign: float,
        judge: Judge,
        budget: Budget,
    ) -> None:
        self.form, self.sign, self.judge, self.budget = form, sign, judge, budget
        self.batch = min(form.together, max(4, min(BATCH, WORK // form.work)))
        least, most = STEPS
        self.steps = min(most, max(least, 2 ** len(form.steps)))  # a deep network gains more by them than by splits
        self.tilts = _tilts(form, sign, inputs) if form.steps else None
        self.wide = isinstance(inputs, Free) and worth_it(form) and self.tilts is not None and self.tilts.size > WIDE
        self.grounds: dict[bytes, Ground] = {}  # by the words that are free
        self.ways: dict[int, Way] = {}  # by question
        shares = 0 if self.tilts is None else 4 * self.tilts.size
        if isinstance(self.tilts, Peaks):
            self.batch = min(self.batch, max(FEW, SHARES // self.tilts.size))
        self.room = MEMORY // (56 * form.units + 16 * form.problem.center.size + shares + 1500)  # subproblems that fit
        self.questions = [
            _Question([self._root(q, j, inputs.take(slice(q, q + 1))) for j in mine]) for q, mine in enumerate(rivals)
        ]

    def _root(self, question: int, rival: int, inputs: InputSet) -> Subproblem:
        return Subproblem(question, rival, inputs, np.zeros(self.form.units, dtype=np.int8), -np.inf)

    def run(self) -> list[Answer]:
        if not self.form.finite:
            return [Unknown("the network can overflow over this region")] * len(self.questions)
        self._evaluate([root for question in self.questions for root in question.roots])
        self._narrow()
        self._sieve()
        while batch := self._hardest():
            depth = 1 if self.grounds else _at_once(len(batch))
            self._evaluate([half for part in batch for half in self._split(part, depth)])
        return [self._verdict(question) for question in self.questions]

    def _verdict(self, question: _Question) -> Answer:
        if question.answer is not None:
            return question.answer
        if question.open and not question.spent:
            return Unknown("time ran out before the first bound was known")
        if question.open:
            worst = min(part.bound for part in question.open)
            why = "" if self.room > 0 else ", and more would not fit into memory"
            return Unknown(f"undecided after {question.spent} subproblems: the best bound is {worst:.3g}{why}")
        if question.stuck:
            return Unknown(self._why_stuck)
        return Proved(tuple(told(self.form, _stated(root)) for root in question.roots))

    @property
    def _why_stuck(self) -> str:
        if self.form.curved is not None:
            return "bounds of smooth activations leave it open, and no complete answer exists for them"
        return "the margin is too close to zero to be decided"

    def _hardest(self) -> list[Subproblem]:
        """The subproblems to split next: the lowest bounds of every undecided question within its budget."""
        if self.budget.spent or self.room <= 0:
            return []
        within = [q for q in self.questions if q.answer is None and q.open and q.spent < self.budget.subproblems]
        live = [question for question in within if not self._given_up(question)]
        share = max(1, min(PER_QUESTION, self.batch // max(1, len(live))))
        batch: list[Subproblem] = []
        for question in live[: self.batch]:
            question.open.sort(key=lambda part: part.bound)
            batch += question.open[:share]
            del question.open[:share]
        return batch

    def _given_up(self, question: _Question) -> bool:
        return len(question.open) > self.budget.crowd or (self.budget.promising and self._hopeless(question))

    def _hopeless(self, question: _Question) -> bool:
        """Whether its bound would stay below zero though every doubling of subproblems did far more than so far."""
        spent, worst = max(1, question.spent), min(part.bound for part in question.open)
        if question.first is None:
            question.first = spent, worst
        before, lowest = question.first
        if spent < HOPE * before or not np.isfinite(lowest):
            return False
        gain = (worst - lowest) / np.log2(spent / before)
        return bool(worst + MORE * gain * np.log2(self.budget.subproblems / spent) < 0)

    # --- bounding ---

    def _evaluate(self, parts: Sequence[Subproblem]) -> None:
        """Bound, attack and close fresh subproblems; what time does not allow stays open."""
        self.room -= len(parts)
        for start in range(0, len(parts), self.batch):
            some = [p for p in parts[start : start + self.batch] if not (self._answered(p) or p.covered)]
            try:
                self.budget.look()
                if some:
                    self._evaluate_batch(some)
            except OutOfTime:
                for part in some:
                    if part.halves is None:
                        self.questions[part.question].open.append(part)

    def _answered(self, part: Subproblem) -> bool:
        return self.questions[part.question].answer is not None

    def _evaluate_batch(self, parts: list[Subproblem]) -> None:
        """One pass closes most of them; what is left is worth more work."""
        inputs, stacked = _joined(parts), np.stack([p.signs for p in parts])
        signs = stacked if stacked.any() else None
        bounds = hidden(self.form, inputs, signs, partial(self._step, parts, inputs), self.budget)
        rows = margin_rows(self.form, np.array([p.rival for p in parts]), self.sign)
        tilts = self.tilts if any(self._tilts_now(part) for part in parts) else None
        batch, dual = Items(inputs, bounds, rows, signs, tilts), _inherited(parts, bounds, tilts)
        found = margin_bound(self.form, batch, dual)
        known = np.where(bounds.contradicted, np.inf, found.bound)
        closing = settled(self.form, bounds, dual) if (known > 0).any() else dual
        for i, part in enumerate(parts):
            part.bound = float(known[i])
            if part.bound > 0 and not part.covered:
                _close(part, closing, found, tilts, i)
            part.steps = part.steps if part.halves is None else ()
        fresh = [i for i, part in enumerate(parts) if part.halves is None and not part.covered]
        for i in fresh:
            self.questions[parts[i].question].spent += 1
        left = np.array([i for i in fresh if known[i] <= 0 and not self._run_all(parts[i])], dtype=np.int64)
        if len(left) == len(parts):
            self._work_on(parts, batch, dual, found)
        elif len(left):
            self._work_on([parts[i] for i in left], batch.take(left), dual.take(left), found.take(left))

    def _tilts_now(self, part: Subproblem) -> bool:
        """Lines above relus are tilted once a question has turned out to be hard, those above maxima once they were."""
        if part.narrow is not None:
            return True
        if isinstance(self.tilts, Peaks):
            return part.dual is not None and part.dual.share is not None
        if self.budget.plain:
            return self.questions[part.question].spent >= LATE
        many = self.tilts is not None and len(self.tilts.units) > MANY
        return self.questions[part.question].spent >= (min(HARD, SOON) if many else HARD)

    def _narrow(self) -> None:
        """In a wide network, better bounds of the later steps' units for every root that is open, and another look."""
        if not self.wide:
            return
        for root in [part for question in self.questions for part in question.open]:
            if not isinstance(root.inputs, Free) or self.budget.spent or root.dual is None:
                continue
            self.questions[root.question].open.remove(root)
            rows = margin_rows(self.form, np.array([root.rival]), self.sign)
            root.narrow = narrowed(self.form, root.inputs, rows, self.budget)
            root.steps, root.loss, root.row = (), None, None
            self._evaluate([root])

    def _sieve(self) -> None:
        """Where there is nothing but maxima of numbers that move on their own, look at several of them at once."""
        peaks = self.tilts
        if not isinstance(peaks, Peaks) or not only_maxima(self.form) or len(peaks.units) < MAXIMA:
            return
        for root in [part for question in self.questions for part in question.open]:
            climbed = root.dual is not None and root.dual.share is not None
            if climbed and isinstance(root.inputs, Free) and not self._answered(root):
                with contextlib.suppress(OutOfTime):
                    self._sift(root, peaks)

    def _sift(self, root: Subproblem, peaks: Peaks) -> None:
        """A root is closed, its question answered, or left as it was."""
        question, rows = self.questions[root.question], margin_rows(self.form, np.array([root.rival]), self.sign)
        bounds = hidden(self.form, root.inputs, None, partial(self._step, [root], root.inputs), self.budget)
        batch = Items(root.inputs, bounds, rows, None, peaks)
        ground = self._ground(root, batch, peaks)
        if ground.land.above.rows.size > WEIGHTS:
            return

        def tried(at: Floats) -> bool:
            self._try_around([root], ground.points(at))
            return question.answer is not None

        assert root.dual is not None
        share = 0.25 if self.budget.promising else 0.5  # of the time: others are asked about as well, and splits follow
        limit = replace(self.budget, seconds=self.budget.elapsed + share * self.budget.left)
        root.tree = sifted(self.form, batch, root.dual, ground, limit, tried)
        if root.tree is not None:
            root.closed = True
            question.open.remove(root)

    def _run_all(self, part: Subproblem) -> bool:
        """Where few inputs are left, run all of them: the part is closed, or its question answered."""
        question = self.questions[part.question]
        runs = None if part.many or question.answer is not None else few(self.form, part.inputs)
        if runs is None:
            part.many = True
            return question.answer is not None
        margins = self.sign * runs.margins(part.rival, self.budget)
        if (margins > runs.error(part.rival)).all():
            part.bound, part.tree, part.closed = float(margins.min()), runs.tree, True
            return True
        lowest = np.argsort(margins, kind="stable")[:TRIED]
        self._try([part] * len(lowest), runs.points(lowest))
        return question.answer is not None

    def _ascent(self, first: Subproblem, batch: Items) -> int:
        """How many steps: more with tilted lines, and most at a root whose hidden bounds were narrowed."""
        fresh = first.dual is not None and first.dual.share is None
        if first.narrow is not None and first.cut is None and fresh:
            return ROOT_STEPS
        steps: int = self.steps if batch.tilts is None else max(self.steps, TILTED_STEPS)
        return steps

    def _work_on(self, parts: list[Subproblem], batch: Items, dual: Dual, found: Pass) -> None:
        """Better slopes and multipliers, and where these do not do, other lines around maxima."""
        if not isinstance(batch.tilts, Peaks) or not only_maxima(self.form):
            pace = SLOW if isinstance(batch.tilts, Peaks) else PACE
            found, dual = optimise(self.form, batch, dual, found, self._ascent(parts[0], batch), self.budget, pace)
        if isinstance(self.tilts, Peaks):
            for some in _alike(parts, found.bound <= 0):
                self._climb([parts[i] for i in some], batch.take(some), dual.take(some), found.take(some), self.tilts)
            done = np.flatnonzero(found.bound > 0)
            parts, batch, dual, found = [parts[i] for i in done], batch.take(done), dual.take(done), found.take(done)
        if parts:
            self._conclude(parts, batch, dual, found)

    def _climb(self, parts: list[Subproblem], batch: Items, dual: Dual, found: Pass, peaks: Peaks) -> None:
        """Lines above maxima have rows of their own from here on, and those of the parts of these subproblems."""
        pace, least = CLIMB_ON, LITTLE
        if batch.tilts is None:
            batch = replace(batch, tilts=peaks)
            slopes = chosen_lines(self.form, batch.bounds, dual)[1]
            dual = replace(dual, share=peaks.start(slopes[:, peaks.members]))
            found, pace, least = margin_bound(self.form, batch, dual), CLIMB, SOME
        if isinstance(batch.inputs, Restored):
            back = climbed_back(
                self.form, batch, dual, found, self._way(parts[0], batch, peaks), pace, least, self.budget
            )
            for part, loss in zip(parts, back.loss, strict=True):
                part.word = int(loss.argmax()) if loss.any() else None
            self._conclude(parts, batch, back.dual, back.found, np.zeros_like(back.found.over))
            return
        ground = self._ground(parts[0], batch, peaks)
        result = climbed(self.form, batch, dual, found, ground, pace, least, self.budget)
        if len(low := np.flatnonzero((result.found.bound <= 0) & result.unfinished)):
            self._climb_again([parts[i] for i in low], batch.take(low), result.take(low), ground)
            high = np.flatnonzero((result.found.bound > 0) | ~result.unfinished)
            parts, batch, result = [parts[i] for i in high], batch.take(high), result.take(high)
        if parts:
            self._try_around(parts, result.points)
            self._conclude(parts, batch, result.dual, result.found, result.loss)

    def _climb_again(self, parts: list[Subproblem], batch: Items, result: Climbed, ground: Ground) -> None:
        """Where no split would do, as lines below maxima are not good enough yet."""
        result = climbed(self.form, batch, result.dual, result.found, ground, CLIMB_LONG, LITTLE, self.budget)
        self._try_around(parts, result.points)
        self._conclude(parts, batch, result.dual, result.found, result.loss)

    def _try_around(self, parts: list[Subproblem], points: Floats) -> None:
        """Try these points, and what small steps from the lowest of them lead to."""
        problem, rivals = self.form.problem, np.array([part.rival for part in parts])
        self._try(parts, points)
        if slides(problem) and not self._answered(parts[0]):
            low = np.argsort(margins(problem, points, rivals), kind="stable")[:AROUND]
            free = np.concatenate([_words(parts[i].inputs) for i in low])
            self._try([parts[i] for i in low], slide(problem, free, points[low], rivals[low], AROUND_STEPS).point)

    def _ground(self, part: Subproblem, batch: Items, peaks: Peaks) -> Ground:
        """Where subproblems of this set of free words climb."""
        assert isinstance(part.inputs, Free)
        key, first = part.inputs.free.tobytes(), self.form.steps[0]
        if key not in self.grounds:
            assert first.groups is not None
            assert batch.bounds.live is not None
            below = np.isin(first.groups.leaders, _above(self.form, -self.sign, first.groups.leaders))
            live = np.asarray(batch.bounds.live[:, : len(first.bias)].any(0))
            self.grounds[key] = Ground.of(first, peaks, np.flatnonzero(below), part.inputs.free[0], live)
        return self.grounds[key]

    def _way(self, part: Subproblem, batch: Items, peaks: Peaks) -> Way:
        """Where subproblems about this attacked text climb."""
        first, root = self.form.steps[0], self.questions[part.question].roots[0]
        if part.question not in self.ways:
            assert isinstance(root.inputs, Restored)
            assert batch.bounds.live is not None
            assert first.groups is not None
            below = np.isin(first.groups.leaders, _above(self.form, -self.sign, first.groups.leaders))
            live = np.asarray(batch.bounds.live[:, : len(first.bias)].any(0))
            self.ways[part.question] = Way.of(first, peaks, np.flatnonzero(below), root.inputs, live)
        return self.ways[part.question]

    def _conclude(
        self, parts: list[Subproblem], batch: Items, dual: Dual, found: Pass, first: Floats | None = None
    ) -> None:
        """Close what is proved; attack the rest, and keep it with what to split it on (`first`: in the first step)."""
        self._try(parts, batch.inputs.minimiser(found.inputs))
        bounds, pooled = batch.bounds, np.flatnonzero(self.form.steps[0].pooled) if self.form.steps else ()
        known = first is not None and only_maxima(self.form)
        loss = np.zeros_like(found.over) if known else losses(self.form, batch, found, dual)
        if first is not None:
            loss[:, pooled] = first[:, pooled]
        chord = np.where(bounds.loose, np.abs(np.minimum(found.over, 0.0)) * bounds.shift, 9 * loss)
        if isinstance(batch.tilts, Tilts):  # such lines give away far less than chords do
            chord[:, batch.tilts.units] = loss[:, batch.tilts.units]
        score = np.where(bounds.crossing(self.form), chord + 0.1 * loss + 1e-12, loss)
        closing = settled(self.form, bounds, dual) if (found.bound > 0).any() else dual
        for i, part in enumerate(parts):
            part.bound, part.dual = float(found.bound[i]), dual.take(slice(i, i + 1))
            if part.bound > 0:
                _close(part, closing, found, batch.tilts, i)
            else:
                part.loss, part.row = score[i], found.inputs[i]
                self._keep(part, bounds, i)

    def _step(self, parts: list[Subproblem], inputs: InputSet, place: int, found: Hidden) -> Interval:
        """The bounds of a step: the same for all parts of an input set that are split alike in the steps before it."""
        units, fresh = self.form.slices[place], [i for i, part in enumerate(parts) if len(part.steps) == place]
        keys = [(id(parts[i].inputs), parts[i].signs[: units.start].tobytes()) for i in fresh]
        if fresh:
            different = dict(zip(keys, fresh, strict=True))
            if len(different) < len(parts):
                rows = np.array(list(different.values()))
                inputs, found = inputs.take(rows), found.take(rows)
            lower, upper = step_bounds(self.form, inputs, found, place, self.budget)
            mine = {key: (lower[row : row + 1], upper[row : row + 1]) for row, key in enumerate(different)}
            for i, key in zip(fresh, keys, strict=True):
                parts[i].steps = (*parts[i].steps, mine[key])
        sides = [p.steps[place] if p.narrow is None else p.narrow.cut(p.steps[place], units) for p in parts]
        return np.concatenate([low for low, _ in sides]), np.concatenate([high for _, high in sides])

    def _try(self, parts: list[Subproblem], points: Floats) -> None:
        """Run the points where the bounds are attained through the real network: one may answer the question."""
        margins = self.form.problem.margins(points)[np.arange(len(parts)), [part.rival for part in parts]]
        for part, answer in zip(parts, self.judge([p.inputs for p in parts], points, margins), strict=True):
            question = self.questions[part.question]
            if question.answer is None:
                question.answer = answer

    # --- splitting ---

    def _keep(self, part: Subproblem, bounds: Hidden, item: int) -> None:
        """Put an open subproblem back, or settle it when nothing is left to split."""
        question = self.questions[part.question]
        assert part.loss is not None
        assert part.row is not None
        if question.answer is not None:
            return
        if part.loss.any() or part.inputs.word(part.row, any_word=True) is not None:
            question.open.append(part)
        elif not self._finish(part, bounds.take(slice(item, item + 1))) and question.answer is None:
            question.stuck += 1
            if question.stuck == STUCK:
                question.answer = Unknown(self._why_stuck)

    def _split(self, part: Subproblem, depth: int) -> list[Subproblem]:
        """Its parts, on one word or on up to `depth` relus at once; in a small round, on sure words too."""
        assert part.loss is not None
        assert part.row is not None
        relus, (rest, closing) = int(np.count_nonzero(part.loss)), _follow(part, depth)
        word = part.inputs.word(part.row, any_word=not relus) if part.word is None else part.word
        if word is not None and (not relus or self._by_words(part.inputs) or part.inputs.few(part.row, relus)):
            return [rest, *closing] if closing else list(_split_word(part, word))
        levels = [[rest]]
        for unit in np.argsort(-part.loss, kind="stable")[: min(depth, relus)]:
            kept = 1 + next(place for place, units in enumerate(self.form.slices) if unit < units.stop)
            level = [_split_unit(above, int(unit), kept, above is not rest) for above in levels[-1]]
            levels.append([half for halves in level for half in halves])
        part.loss, part.row, part.steps = None, None, ()  # its parts stand for it now
        return [*(half for level in levels[1:] for half in level), *closing]

    def _by_words(self, inputs: InputSet) -> bool:
        """A split at zero does not straighten a smooth curve, and a word put back settles many candidates of maxima."""
        return self.form.curved is not None or (self.form.pooled is not None and isinstance(inputs, Restored))

    # --- nothing left to split ---

    def _finish(self, part: Subproblem, bounds: Hidden) -> bool:
        """All relus are linear here: better multipliers, or a flip, settle it. False when neither does."""
        inputs = part.inputs.decided
        if inputs is None or not inputs.free.any() or self.form.curved is not None:
            return False  # a single point that the rounding error leaves open stays open, as do smooth curves
        solved = leaf_program(self.form, inputs, bounds, part.signs, part.rival)
        if solved is None:
            return False
        dual, point, shares = solved
        rows = margin_rows(self.form, np.array([part.rival]), self.sign)
        found = margin_bound(self.form, Items(inputs, bounds, rows, part.signs[None]), dual)
        if found.bound[0] > 0:
            part.bound = float(found.bound[0])
            _close(part, settled(self.form, bounds, dual), found, None, 0)
            return True
        if point is None:
            return False
        mixed = None if shares is None else shares[None]
        witness = confirm(self.form.problem, point[None], inputs.free, mixed)[0]
        if witness is not None:
            self.questions[part.question].answer = Refuted(witness)
        return witness is not None


class WordByWord(Branching):
    """Branch and bound on words alone, with one pass of plain bounds for each subproblem.

    In coordinates of choices a pass costs so little that deciding on another word goes further than better slopes do.
    """

    def __init__(
        self,
        form: Form,
        inputs: InputSet,
        rivals: Sequence[Sequence[int]],
        sign: float,
        judge: Judge,
        budget: Budget,
    ) -> None:
        super().__init__(_fewer_units(form, inputs), inputs, rivals, sign, judge, budget)
        self.batch, self.rounds = min(self.batch, TOGETHER), 0
        assert self.form.problem.source is not None
        self.sums = Sums(self.form.problem.source, self.form.steps[0].bias)

    def _evaluate_batch(self, parts: list[Subproblem]) -> None:
        inputs = _joined(parts)
        first = self._first_step(inputs)
        bounds = hidden(self.form, inputs, None, lambda place, _: None if place else first, self.budget)
        rows = margin_rows(self.form, np.array([p.rival for p in parts]), self.sign)
        found = margin_bound(self.form, Items(inputs, bounds, rows), None)
        for part, bound, row in zip(parts, found.bound, found.inputs, strict=True):
            self.questions[part.question].spent += 1
            part.bound, part.row = float(bound), row
            if part.bound > 0:
                part.tree, part.closed, part.row = CLOSED, True, None
        left = np.flatnonzero(found.bound <= 0)
        if len(left):
            open_ = [parts[i] for i in left]
            points = inputs.take(left).minimiser(found.inputs[left])
            self._try(open_, points)
            self._descend(open_, points)
            for part in open_:
                self._keep_open(part)

    def _descend(self, parts: list[Subproblem], points: Floats) -> None:
        """In the first rounds: change one word at a time of the best point as long as the margin falls."""
        problem, region = self.form.problem, self.form.problem.region
        part, point = parts[0], points[0]
        assert isinstance(region, Choice)
        self.rounds += 1
        if self.rounds > DESCENTS or not isinstance(part.inputs, Free) or self.questions[part.question].answer:
            return
        words = np.flatnonzero(part.inputs.free[0])
        least = np.inf
        while True:
            self.budget.look()
            trials = np.repeat(point[None], len(words) * problem.center.shape[1], axis=0)
            at = np.repeat(words, problem.center.shape[1])
            trials[np.arange(len(at)), at] = region.points[words].reshape(len(at), -1)
            margins = self.sign * problem.margins(trials)[:, part.rival]
            best = int(margins.argmin())
            if not len(margins) or margins[best] >= least:
                break
            least, point = float(margins[best]), trials[best]
        self._try([part], point[None])

    def _first_step(self, inputs: InputSet) -> Interval | None:
        """Bounds of the first step's units; None where words are bought, which the sums do not know of."""
        if not isinstance(inputs, Free):
            return None
        assert inputs.allowed is not None
        form, (least, most) = self.form, self.form.reach[0]
        lower, upper = self.sums.over(inputs.free, inputs.allowed)
        error, bent = form.gamma * form.size[0], form.steps[0].bent
        lower, upper = np.maximum(lower - error, least), np.minimum(upper + error, most)
        return np.where(bent, lower, 0.0), np.where(bent, upper, np.inf)

    def _keep_open(self, part: Subproblem) -> None:
        """Put it back; where no word is left to decide on, the input itself may be far enough from zero."""
        question = self.questions[part.question]
        assert part.row is not None
        if question.answer is not None:
            return
        if (word := part.inputs.word(part.row, any_word=True)) is not None:
            part.word = word
            question.open.append(part)
        elif not self._run_all(part):
            question.answer = Unknown(self._why_stuck)

    def _split(self, part: Subproblem, depth: int) -> list[Subproblem]:
        assert part.word is not None
        halves = _split_word(part, part.word)
        part.row = None
        return list(halves)


def _tilts(form: Form, sign: float, inputs: InputSet) -> Tilts | Peaks | None:
    """What may be tilted: lines above relus of the first step, or above its maxima."""
    first, region = form.steps[0], form.problem.region
    if first.groups is None:
        return Tilts.of(first, _above(form, sign, form.unsettled[0]), inputs, region)
    if isinstance(inputs, Restored) and not only_maxima(form):
        return None
    some = np.flatnonzero(np.isin(first.groups.leaders, _above(form, sign, first.groups.leaders)))
    whole = first if form.whole is None else form.whole.steps[0]
    return Peaks.of(first, some, NEAR * form.size[0], inputs, region, whole)


def only_maxima(form: Form) -> bool:
    """Whether there is nothing but maxima of the input to choose lines for."""
    return len(form.steps) == 1 and bool(form.steps[0].pooled.all())


def _above(form: Form, sign: float, units: Ints) -> Ints:
    """Those units of the first step that may take a line above: with one hidden step that is known."""
    if len(form.steps) > 1:
        return units
    return np.asarray(units[(sign * form.margin.dense()[:, units] < 0).any(0)])


def _fewer_units(form: Form, inputs: InputSet) -> Form:
    """The form without the candidates that cannot win while only these words move."""
    moving = form.problem.features if isinstance(inputs, Restored) else np.asarray(inputs.words.any(0))
    return Form.of(fewer(form.problem, moving))


def _at_once(batch: int) -> int:
    """On how many units to split each subproblem of a round: a small batch costs as much as a larger one."""
    return max(1, int(np.log2(FEW / batch)) if batch < FEW else 1)


def _alike(parts: list[Subproblem], chosen: Bools) -> list[Ints]:
    """The places of chosen subproblems, those with the same words free, or of one question, together."""
    found: dict[bytes | int, list[int]] = {}
    for i in np.flatnonzero(chosen):
        inputs = parts[i].inputs
        key = inputs.free.tobytes() if isinstance(inputs, Free) else parts[i].question
        found.setdefault(key, []).append(int(i))
    return [np.array(places) for places in found.values()]


def _joined(parts: list[Subproblem]) -> InputSet:
    first, *rest = [part.inputs for part in parts]
    return first.join(rest)  # type: ignore[arg-type]


def _inherited(parts: list[Subproblem], bounds: Hidden, tilts: Tilts | Peaks | None) -> Dual:
    """Each subproblem's dual from the one it is a part of, or the plain one at a root; shares begin as chords."""
    base = plain(bounds)
    if tilts is not None:
        base = replace(base, share=_first_shares(parts, bounds, tilts))
    for i, part in enumerate(parts):
        if part.dual is not None:
            base.alpha[i], base.beta[i] = part.dual.alpha[0], part.dual.beta[0]
            if base.share is not None and part.dual.share is not None:
                base.share[i] = part.dual.share[0]
    return base


def _first_shares(parts: list[Subproblem], bounds: Hidden, tilts: Tilts | Peaks) -> Floats:
    """Shares as they begin; none where all have theirs from what they are half of, as these take long over maxima."""
    if isinstance(tilts, Tilts):
        return tilts.chords(bounds.up)
    if all(part.dual is not None and part.dual.share is not None for part in parts):
        return np.zeros((len(parts), *tilts.span.shape), dtype=np.float32)
    return tilts.start(bounds.up[:, tilts.members])


def _close(part: Subproblem, dual: Dual, found: Pass, tilts: Tilts | Peaks | None, item: int) -> None:
    """Keep what the proof needs of it, an item of what was bounded together, and nothing else."""
    mine = slice(item, item + 1)
    part.dual, part.closed = Dual(dual.alpha[mine].copy(), dual.beta[mine].copy()), True
    part.above = lines_above(tilts, dual, found, item)
    part.loss, part.row, part.steps, part.halves = None, None, (), None


def _stated(root: Subproblem) -> Tree:
    """The proof of a root, after what it states of hidden units."""
    tree = _tree(root)
    for bound in reversed(() if root.narrow is None else root.narrow.proofs):
        tree = Stated(bound, tree)
    return tree


def _tree(part: Subproblem) -> Tree:
    if part.tree is not None:
        return part.tree
    if part.halves is None:
        assert part.closed
        assert part.dual is not None
        return Leaf(part.dual.alpha[0], part.dual.beta[0], part.above)
    branches = (_tree(part.halves[0]), _tree(part.halves[1]))
    match part.cut:
        case int(unit):
            return Split(unit, branches)
        case (position, chosen):
            return Pick(position, chosen, branches)
        case _:
            raise AssertionError("a subproblem with halves was split on something")


# --- splits ---


def _half(part: Subproblem) -> Subproblem:
    half = Subproblem(part.question, part.rival, part.inputs, part.signs.copy(), part.bound, part.steps, part.dual)
    half.many, half.narrow = part.many, part.narrow
    return half


def _split_unit(part: Subproblem, unit: int, steps: int, fresh: bool) -> tuple[Subproblem, Subproblem]:
    """Its halves at zero of a unit, up to whose step bounds stay; a fresh one can be closed without them."""
    part.cut = unit
    part.halves = (_half(part), _half(part))
    for half in part.halves:
        half.over, half.steps = part if fresh else None, part.steps[:steps]
    part.halves[0].signs[unit], part.halves[1].signs[unit] = -1, 1
    return part.halves


def _split_word(part: Subproblem, position: int) -> tuple[Subproblem, Subproblem]:
    assert part.row is not None
    chosen, taken, rest = part.inputs.halves(position, part.row)
    part.cut, part.halves = (position, chosen), (_half(part), _half(part))
    part.halves[0].inputs, part.halves[1].inputs = taken, rest
    for half in part.halves:
        half.steps, half.row, half.many = (), part.row, False
    return part.halves


def _follow(part: Subproblem, depth: int) -> tuple[Subproblem, list[Subproblem]]:
    """Take words that cannot be done without: what remains, and the subproblems without each, which soon close.

    As many as leave the round as small as `depth` relus do; none where it is large already.
    """
    closing: list[Subproblem] = []
    if depth > 1 and part.row is not None:
        for word in part.inputs.sure(part.row, -part.bound)[: 2**depth]:
            part, without = _split_word(part, int(word))
            closing.append(without)
    return part, closing
