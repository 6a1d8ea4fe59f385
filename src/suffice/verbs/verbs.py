"""The verbs people call: explain, explain_all, contrast and is_robust, from texts and words to answers."""

from __future__ import annotations

import contextlib
import math
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy
from threadpoolctl import ThreadpoolController

from suffice.errors import InputError, NotACertificate, Rejected
from suffice.model.classifier import Classifier
from suffice.model.network import Bools, Floats
from suffice.model.text import Text
from suffice.proof.certificate import Certificate
from suffice.proof.check import check
from suffice.prove.exact import predicted
from suffice.prove.oracles import make_oracle
from suffice.prove.oracles.bounds import BoundsOracle
from suffice.prove.verdict import Budget, Problem, Proved, Refuted, Unknown, Verdict, Witness
from suffice.search import writing as certify
from suffice.search.cost import Cost, Costs, costs
from suffice.search.flip import Contrast, Flip, cheapest_flip
from suffice.search.hitting import hitting_sets
from suffice.search.msa import maximum_universal_subset
from suffice.search.task import Task
from suffice.search.words import Outcome, Search, optimal_sets
from suffice.sets.perturbations import Perturbation
from suffice.sets.regions import Choice
from suffice.verbs.explanation import Explanation, Status
from suffice.verbs.mistake import Mistake, Push
from suffice.verbs.why import details
from suffice.version import __version__

Given: TypeAlias = str | Sequence[str] | Text
Words: TypeAlias = Sequence[str | int]
Padding: TypeAlias = Literal["fixed", "feature"]
OnProgress: TypeAlias = Callable[[float, float, float, tuple[int, ...]], None]
METHODS = ("search", "hs", "msa")


@dataclass(frozen=True, eq=False)
class Question:
    """Everything that was asked, read and checked: the start of every verb."""

    classifier: Classifier
    text: Text
    perturbation: Perturbation
    problem: Problem
    costs: Costs
    include: Bools
    exclude: Bools
    settings: Mapping[str, Any]

    @property
    def label(self) -> str:
        return self.classifier.labels[self.problem.label]

    def header(self, claim: dict[str, Any]) -> dict[str, Any]:
        data = self.perturbation.to_dict()
        if "swaps" in data:  # only what this text can use: a certificate need not hold a whole thesaurus
            mine = {*self.text.tokens, *(token.lower() for token in self.text.tokens)}
            data["swaps"] = {word: others for word, others in data["swaps"].items() if word in mine}
        return certify.header(self.classifier, self.text, self.problem, data, claim)

    def witness(self, found: Witness | None) -> Witness | None:
        """The witness with names for people."""
        if found is None:
            return None
        words = tuple(self._word(found.point[i], i) for i in found.positions)
        real = isinstance(self.problem.region, Choice)
        return replace(found, label=self.classifier.labels[found.rival], words=words, real=real)

    def _word(self, vector: Floats, position: int) -> str:
        region = self.problem.region
        if isinstance(region, Choice):
            names = region.names[position]
            hits = (region.points[position, : len(names)] == vector).all(-1)
            return names[int(hits.argmax())]
        distance = ((self.classifier.table - vector) ** 2).sum(-1)
        special = [self.classifier.lookup[self.classifier.pad], self.classifier.lookup[self.classifier.unknown]]
        distance[special] = np.inf
        return self.classifier.vocabulary[int(distance.argmin())]

    def meta(self) -> dict[str, Any]:
        return {
            "model": self.classifier.digest,
            "perturbation": self.perturbation.to_dict(),
            **self.settings,
            "versions": {
                "suffice": __version__,
                "numpy": np.__version__,
                "scipy": scipy.__version__,
                "python": platform.python_version(),
            },
        }


def explain(
    classifier: Classifier,
    text: Given,
    *,
    perturbation: Perturbation,
    cost: Cost = None,
    include: Words = (),
    exclude: Words = (),
    padding: Padding = "fixed",
    method: str = "search",
    oracle: str = "bounds",
    expected: str | None = None,
    seconds: float = 60.0,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    self_check: bool = True,
) -> Explanation:
    """The cheapest set of words that decides the label whatever the allowed changes of the others, with proof.

    `include` and `exclude` are words (every occurrence) or positions that the set must or must not hold. When
    time runs out, the best proved set and a lower bound of the cost come back. The certificate is checked by
    the independent checker before this returns, unless `self_check` is False.

    `expected` is the label that a misclassified text should have: the result's `mistake` then says which of the words
    push towards the wrong label, and the cheapest change that would put it right (a quarter of the time is for that).
    """
    if method not in METHODS:
        raise InputError(f"There is no method {method!r}: choose {', '.join(METHODS)}.")
    with single_threaded():
        question = ask(classifier, text, perturbation, cost, include, exclude, padding)
        question = noted(question, method=method, oracle=oracle, seed=seed, seconds=seconds)
        started, budget = time.monotonic(), timed(seconds)
        wanted = None if expected is None else _rival(question, expected)
        share = budget if wanted is None else timed(seconds * 0.75)
        outcome = _run(question, method, oracle, share, seed, on_progress)
        stats = {"seconds": time.monotonic() - started, **outcome.stats}
        result = _explanation(question, outcome, _certificate(question, outcome), stats)
        if wanted is not None:
            result = replace(result, mistake=_mistake(question, result, wanted, budget, seed))
        return self_checked(result, classifier) if self_check else result


def explain_all(
    classifier: Classifier,
    text: Given,
    *,
    perturbation: Perturbation,
    cost: Cost = None,
    include: Words = (),
    exclude: Words = (),
    padding: Padding = "fixed",
    seconds: float = 60.0,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    self_check: bool = True,
) -> Iterator[Explanation]:
    """Every optimal explanation, each once, as it is found. Infeasible or undecided: that one answer."""
    with single_threaded():
        question = ask(classifier, text, perturbation, cost, include, exclude, padding)
        question = noted(question, method="search", oracle="bounds", seed=seed, seconds=seconds)
        started = time.monotonic()
        search = searcher(question, BoundsOracle(question.problem), timed(seconds), seed, on_progress)
        outcome = search.run()
    if outcome.witness is not None or not outcome.finished:
        yield finished(question, outcome, started, self_check)
        return
    sets = optimal_sets(search, outcome.upper)
    while True:
        with single_threaded():
            found = next(sets, None)
        if found is None:
            return
        one = replace(outcome, held=found[0], proof=found[1])
        yield finished(question, one, started, self_check)


def is_robust(
    classifier: Classifier,
    text: Given,
    positions: Words,
    *,
    perturbation: Perturbation,
    padding: Padding = "fixed",
    oracle: str = "bounds",
    seconds: float = 60.0,
) -> Verdict:
    """Do these words (or positions) suffice? Proved, Refuted with a witness, or Unknown with a reason."""
    with single_threaded():
        question = ask(classifier, text, perturbation, None, positions, (), padding)
        free = question.problem.features & ~question.include
        answer = make_oracle(oracle, question.problem).ask(free[None], timed(seconds))[0]
        return public(question, answer)


def contrast(
    classifier: Classifier,
    text: Given,
    *,
    perturbation: Perturbation,
    cost: Cost = None,
    towards: str | None = None,
    padding: Padding = "fixed",
    seconds: float = 60.0,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> Contrast:
    """The cheapest set of words whose change flips the label, with the flip.

    With `towards`, a flip counts only when that label reaches the present one (among more than two labels, a third may
    then beat both).
    """
    with single_threaded():
        question = ask(classifier, text, perturbation, cost, (), (), padding)
        question = noted(question, seed=seed, seconds=seconds, **({} if towards is None else {"towards": towards}))
        started = time.monotonic()
        report = _reporter(question, on_progress)
        rivals = None if towards is None else [_rival(question, towards)]
        oracle = BoundsOracle(question.problem)
        flip = cheapest_flip(question.problem, question.costs, oracle, timed(seconds), seed, report, rivals)
        return _contrast(question, flip, time.monotonic() - started)


# --- reading the question ---


def ask(
    classifier: Classifier,
    given: Given,
    perturbation: Perturbation,
    cost: Cost,
    include: Words,
    exclude: Words,
    padding: Padding,
) -> Question:
    """Read and check everything that was given; every mistake is found here, before any work is done."""
    if padding not in ("fixed", "feature"):
        raise InputError(f"Padding must be 'fixed' or 'feature', not {padding!r}.")
    text = classifier.read(given)
    count = len(text.words) if padding == "fixed" else len(text)
    features = np.arange(len(text)) < count
    wanted = _mask(text, include, count, "include")
    barred = _mask(text, exclude, count, "exclude")
    if (wanted & barred).any():
        word = text.tokens[int((wanted & barred).argmax())]
        raise InputError(f"The word {word!r} is both included and excluded.")
    region = perturbation.around(classifier, text)
    label = predicted(classifier.network, classifier.embed(text))
    problem = Problem(classifier.network, region, label, features)
    settings = {
        "padding": padding,
        "include": certify.positions(wanted),
        "exclude": certify.positions(barred),
    }
    return Question(classifier, text, perturbation, problem, costs(cost, text), wanted, barred, settings)


def _mask(text: Text, given: Words, count: int, role: str) -> Bools:
    if isinstance(given, str):
        raise InputError(f"`{role}` takes a list of words or positions, not the string {given!r}.")
    mask = np.zeros(len(text), dtype=bool)
    mask[list(text.positions(given, count))] = True
    return mask


def noted(question: Question, **settings: Any) -> Question:
    return replace(question, settings={**question.settings, **settings})


def timed(seconds: float) -> Budget:
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or not seconds > 0:
        raise InputError(f"The time limit must be a positive number of seconds, not {seconds!r}.")
    return Budget(float(seconds))


# --- running ---


def _run(
    question: Question, method: str, oracle: str, budget: Budget, seed: int, on_progress: OnProgress | None
) -> Outcome:
    asked = make_oracle(oracle, question.problem)
    work = task(question, budget, seed, on_progress)
    match method:
        case "hs":
            return hitting_sets(work, asked)
        case "msa":
            return maximum_universal_subset(work, asked)
        case _ if isinstance(asked, BoundsOracle):
            return Search(work, asked).run()
        case _:
            return Search(work, BoundsOracle(question.problem), complete=asked).run()


def task(question: Question, budget: Budget, seed: int, on_progress: OnProgress | None) -> Task:
    """The question as every method takes it."""
    report = _reporter(question, on_progress)
    return Task(question.problem, question.costs, question.include, question.exclude, budget, seed, report)


def searcher(
    question: Question, oracle: BoundsOracle, budget: Budget, seed: int, on_progress: OnProgress | None
) -> Search:
    return Search(task(question, budget, seed, on_progress), oracle)


def _reporter(question: Question, on_progress: OnProgress | None) -> Callable[[int, int, float, Bools], None] | None:
    if on_progress is None:
        return None

    def report(lower: int, upper: int, elapsed: float, held: Bools) -> None:
        price = question.costs.price
        on_progress(price(lower), price(upper), elapsed, tuple(certify.positions(held)))

    return report


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """One BLAS thread: our matrices are small, and sums then come out the same on any machine.

    Overflow is no news either: what is not finite is looked for where it matters and is never a proof.
    """
    with _controller().limit(limits=1), np.errstate(over="ignore", invalid="ignore"):
        yield


# --- answers ---


def finished(question: Question, outcome: Outcome, started: float, self_check: bool) -> Explanation:
    stats = {"seconds": time.monotonic() - started, **outcome.stats}
    with single_threaded():
        result = _explanation(question, outcome, _certificate(question, outcome), stats)
        return self_checked(result, question.classifier) if self_check else result


def _explanation(
    question: Question, outcome: Outcome, certificate: Certificate | None, stats: Mapping[str, Any]
) -> Explanation:
    held = outcome.held
    everything = question.problem.features & ~question.exclude
    shown = everything if held is None else held
    meta = question.meta() | ({"reason": outcome.reason} if outcome.reason else {})
    positions = () if outcome.witness is not None else tuple(certify.positions(shown))
    price = question.costs.price
    return Explanation(
        status=_status(outcome, everything),
        positions=positions,
        words=tuple(question.text.words[i] for i in positions if i < len(question.text.words)),
        cost=math.inf if outcome.witness is not None else price(question.costs.of(shown)),
        lower_bound=math.inf if outcome.witness is not None else price(outcome.lower),
        label=question.label,
        text=question.text,
        witness=question.witness(outcome.witness),
        certificate=certificate,
        stats=dict(stats),
        meta=meta,
        look=None if outcome.witness is not None else lambda: details(question.problem, shown, question.witness),
    )


def _status(outcome: Outcome, everything: Bools) -> Status:
    if outcome.witness is not None:
        return "infeasible"
    if outcome.held is None or outcome.proof is None:
        return "unknown"
    if outcome.finished:
        return "optimal"
    return "sufficient" if (outcome.held != everything).any() else "unknown"


def _certificate(question: Question, outcome: Outcome) -> Certificate | None:
    """The evidence as a certificate; None where an external solver's word is all there is."""
    labels, problem = question.classifier.labels, question.problem
    if outcome.witness is not None:
        head = question.header({"kind": "infeasible", "exclude": certify.positions(question.exclude)})
        return certify.assemble(head, [certify.counterexample(labels, problem, outcome.witness)])
    if outcome.held is None or outcome.proof is None or outcome.proof.evidence is None:
        return None
    proof = certify.sufficient(labels, problem, outcome.proof)
    tree = outcome.root.evidence
    if tree is None:
        head = question.header({"kind": "sufficient", "positions": certify.positions(outcome.held)})
        return certify.assemble(head, proof)
    lower = outcome.lower if outcome.finished else outcome.root.lower
    claim = certify.cheapest_claim(outcome.held, question.costs, question.include, question.exclude, lower)
    return certify.assemble(question.header(claim), proof, certify.cheapest(labels, problem, tree))


def self_checked(result: Explanation, classifier: Classifier) -> Explanation:
    """The result, lowered if the independent checker rejects its certificate: its words are a mere candidate then."""
    if result.certificate is None:
        return replace(result, meta={**result.meta, "checked": False})
    try:
        checked = check(result.certificate, classifier)
    except (Rejected, NotACertificate) as error:
        meta = {**result.meta, "checked": False, "rejected": str(error)}
        return replace(result, status="unknown", lower_bound=0.0, certificate=None, meta=meta)
    return replace(result, meta={**result.meta, "checked": True, "proved": checked.kind})


def public(question: Question, answer: Verdict) -> Verdict:
    """An oracle's verdict with names for people and a certificate where there is evidence."""
    labels, problem = question.classifier.labels, question.problem
    held = certify.positions(question.include)
    match answer:
        case Proved(evidence=evidence) if evidence is not None:
            head = question.header({"kind": "sufficient", "positions": held})
            return replace(answer, certificate=certify.assemble(head, certify.sufficient(labels, problem, answer)))
        case Refuted(witness=witness):
            head = question.header({"kind": "refuted", "positions": held})
            shown = certify.assemble(head, [certify.counterexample(labels, problem, witness)])
            named = question.witness(witness)
            assert named is not None
            return replace(answer, witness=named, certificate=shown)
        case Proved() | Unknown():
            return answer


def _rival(question: Question, label: str) -> int:
    """The index of a label that the text does not have."""
    if label == question.label:
        raise InputError(f"The text has the label {label!r} already: give another one.")
    return question.classifier.label_index(label)


def _mistake(question: Question, result: Explanation, expected: int, budget: Budget, seed: int) -> Mistake:
    """Which words of the explanation push towards the wrong label, and the cheapest change towards the expected one."""
    problem, started = question.problem, budget.elapsed
    flip = cheapest_flip(problem, question.costs, BoundsOracle(problem), budget, seed, rivals=[expected])
    found = _contrast(question, flip, budget.elapsed - started)
    changed = problem.center if found.flip is None else found.flip.point
    return Mistake(
        label=question.label,
        expected=question.classifier.labels[expected],
        pushes=_pushes(question, result, expected),
        status=found.status,
        cost=found.cost,
        lower_bound=found.lower_bound,
        flip=found.flip,
        changed_text=found.flipped_text,
        winner=question.classifier.predict_input(changed).label,
    )


def _pushes(question: Question, result: Explanation, expected: int) -> tuple[Push, ...]:
    """What deleting each word (padding in its place) takes from the label's lead over the expected label."""
    classifier, center = question.classifier, question.problem.center
    points = np.repeat(center[None], len(result.words) + 1, axis=0)
    for row, word in enumerate(result.words):
        points[row, word.position] = classifier.table[classifier.lookup[classifier.pad]]
    scores = classifier.network.forward(points)
    lead = scores[:, question.problem.label] - scores[:, expected]
    return tuple(Push(word, float(lead[-1] - lead[row])) for row, word in enumerate(result.words))


def _contrast(question: Question, flip: Flip, seconds: float) -> Contrast:
    price = question.costs.price
    witness = question.witness(flip.witness)
    positions = () if witness is None else witness.positions
    mask = np.zeros(len(question.text), dtype=bool)
    mask[list(positions)] = True
    return Contrast(
        status=flip.status,
        positions=positions,
        words=tuple(question.text.words[i] for i in positions if i < len(question.text.words)),
        cost=math.inf if witness is None else price(question.costs.of(mask)),
        lower_bound=math.inf if flip.status == "none" else price(flip.lower),
        label=question.label,
        text=question.text,
        flip=witness,
        stats={"seconds": seconds, **flip.stats},
        meta=question.meta(),
    )
