"""Question: text, set, costs, words asked for and limits, read and checked once; every verb starts
from one.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy

from suffice.errors import InputError
from suffice.model.answers import Answers
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.network import Bools, Floats
from suffice.model.numbers import double
from suffice.model.text import Text
from suffice.optimise.certificate_lines import header, positions
from suffice.optimise.cost import Cost, Costs, costs
from suffice.sets.perturbations import BundledSubstitutes, Marks, Perturbation, RealWords
from suffice.sets.regions import Choice
from suffice.sets.still import refuse_moved
from suffice.sets.table import BY_NAME
from suffice.sets.table import from_dict as set_from_dict
from suffice.settings import DEFAULT, Settings
from suffice.verbs.rewriting import shown
from suffice.verify.contract import Budget, Problem, Witness, winner
from suffice.verify.exact import predicted_class
from suffice.verify.queries import Meter, QuerySession
from suffice.version import __version__

Given: TypeAlias = str | Sequence[str] | Text
Named: TypeAlias = Sequence[str | int]
Padding: TypeAlias = Literal["fixed", "feature"]
FORMAT = 1
METHODS = ("search", "hs", "msa")
KEYS = (
    "text",
    "perturbation",
    "cost",
    "include",
    "exclude",
    "padding",
    "method",
    "oracle",
    "seconds",
    "seed",
)
FINDING = 0.75  # of the time; what is left of it is for checking the proof that was found
GRACE = 1.0  # seconds that a check may take in any case
LIMITS = ("confidence", "max_queries")  # of black boxes; saved only where they are given
MORE = ("towards", "of", "limit", "size", "prefer")  # what some verbs add


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Question:
    """Everything that is asked of one text: the central noun, the same for Python, command line,
    page and batch.

    What is given is read and checked here, before any work is done: a text becomes the words that
    the classifier sees, words to include and exclude become positions, and a set keeps only what
    the text can use. `to_dict` and `from_dict` save and restore it.
    """

    classifier: Classifier
    text: Text
    perturbation: Perturbation
    cost: Cost
    include: tuple[int, ...]
    exclude: tuple[int, ...]
    padding: Padding
    method: str
    oracle: str
    seconds: float
    seed: int
    confidence: float | None
    max_queries: int | None
    settings: Settings
    # what a verb adds: towards, of, limit, size
    more: Mapping[str, Any] = field(default_factory=dict)

    def __init__(
        self,
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
        seconds: float = 60.0,
        seed: int = 0,
        confidence: float | None = None,
        max_queries: int | None = None,
        cache: str | Path | None = None,
        settings: Settings = DEFAULT,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        _check_kinds(classifier, perturbation, padding, method)
        if not isinstance(settings, Settings):
            raise InputError(f"Settings must be sf.Settings(...), not {shortened(repr(settings))}.")
        if isinstance(classifier, BlackBox):
            _check_asking(perturbation, padding, method, oracle, confidence, max_queries)
            classifier = classifier if cache is None else replace(classifier, cache=cache)
        else:
            _refuse_asking(confidence=confidence, max_queries=max_queries, cache=cache)
        read = classifier.read(text)
        wanted, barred = _asked_for(read, include, exclude, padding)
        chosen = BundledSubstitutes() if perturbation is None else perturbation
        values = {
            "classifier": classifier,
            "text": read,
            "perturbation": chosen.narrowed(classifier, read),
            "cost": cost,
            "include": wanted,
            "exclude": barred,
            "padding": padding,
            "method": method,
            "oracle": oracle,
            "seconds": _seconds(seconds),
            "seed": _seed(seed),
            "confidence": confidence,
            "max_queries": max_queries,
            "settings": settings,
            "more": dict(more or {}),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if isinstance(text, str):
            object.__setattr__(self, "_is_string", True)  # as it was read just now

    def __repr__(self) -> str:
        source = self.text.source
        shown = source if len(source) <= 60 else f"{source[:57]}..."
        return (
            f"<Question of {shown!r}: {self.perturbation.to_dict()['kind']}, "
            f"{len(self.text.words)} words>"
        )

    # --- what the parts mean ---

    @cached_property
    def costs(self) -> Costs:
        return costs(self.cost, self.text)

    @cached_property
    def features(self) -> Bools:
        """The positions that may change and be explained."""
        return np.arange(len(self.text)) < (
            len(self.text.words) if self.padding == "fixed" else len(self.text)
        )

    @cached_property
    def included(self) -> Bools:
        return _mask(self.include, len(self.text))

    @cached_property
    def excluded(self) -> Bools:
        return _mask(self.exclude, len(self.text))

    @cached_property
    def problem(self) -> Problem:
        """The question as the prover takes it."""
        region = self.perturbation.around(self.classifier, self.text)
        refuse_moved(self.classifier, region, self.features)
        label = predicted_class(self.classifier.network, self.classifier.embed(self.text))
        return Problem(
            self.classifier.network,
            region,
            label,
            self.features,
            self.perturbation.at_most,
            settings=self.settings,
        )

    @property
    def blackbox(self) -> BlackBox | None:
        """The classifier, where it is one that can only be run."""
        return self.classifier if isinstance(self.classifier, BlackBox) else None

    @cached_property
    def asked(self) -> QuerySession:
        """The question as it is put to a black box."""
        box = self.blackbox
        assert box is not None
        assert isinstance(self.perturbation, RealWords)
        given = self.perturbation.options(self.text, Marks("", box.mask))
        pairs = zip(self.text.tokens, given, strict=True)
        options = tuple(
            tuple(dict.fromkeys(new for new in words if new != token)) for token, words in pairs
        )
        return QuerySession(
            box,
            self.text,
            options,
            self.perturbation.at_most,
            Meter(Budget(), self.max_queries),
            settings=self.settings,
        )

    @property
    def blanks(self) -> bool:
        """Whether words that go leave their places empty, so that what is left is not the text
        without them.
        """
        kind = BY_NAME.get(str(self.perturbation.to_dict().get("kind")))
        return kind is not None and kind.removes and self.classifier.ordered

    @property
    def movable(self) -> Bools:
        """The positions that may change at all."""
        if self.blackbox is None:
            return self.problem.region.movable()
        return np.array([bool(words) for words in self.asked.options])

    @cached_property
    def others(self) -> tuple[tuple[str, ...], ...] | None:
        """What may stand at each position instead of its word, "" for nothing; None where words
        move as vectors.
        """
        if self.blackbox is not None:
            return self.asked.options
        region = self.problem.region
        pad = self.classifier.pad
        if not isinstance(region, Choice):
            return None
        return tuple(
            tuple("" if name == pad else name for name in names[1:]) for names in region.names
        )

    @property
    def label(self) -> str:
        place = self.asked.label if self.blackbox is not None else self.problem.label
        return self.classifier.labels[place]

    @property
    def budget(self) -> Budget:
        """The time to find an answer, from now on; a proof has to be checked too, texts that were
        run have not.
        """
        only_run = self.blackbox is not None and self.blackbox.bag is None
        return Budget(self.seconds if only_run else FINDING * self.seconds)

    @property
    def checking(self) -> float:
        """The seconds that checking a proof may take, so that finding and checking keep to the
        limit together.
        """
        return GRACE + (1 - FINDING) * self.seconds

    def rival(self, label: Any) -> int:
        """The index of a label that the text does not have."""
        place = self.classifier.label_index(label)
        if self.classifier.labels[place] == self.label:
            raise InputError(f"The text has the label {self.label!r} already: give another one.")
        return place

    # --- for people and for files ---

    def header(self, claim: dict[str, Any]) -> dict[str, Any]:
        """How a certificate for this question begins."""
        return header(self.classifier, self.text, self.problem, self.perturbation.to_dict(), claim)

    def witness(self, found: Witness | None) -> Witness | None:
        """The witness with names for people, and with its text where the classifier does not keep
        the label on it.
        """
        if found is None or self.blackbox is not None:
            return found
        names = (self._word(found.point[i], i) for i in found.positions)
        words = tuple("" if name == self.classifier.pad else name for name in names)
        real = isinstance(self.problem.region, Choice)
        scores = self.classifier.predict_input(found.point).scores
        label = self.classifier.labels[winner(scores, self.problem.label, found.rival)]
        named = replace(found, label=label, words=words, real=real)
        return shown(self.classifier, self.text, named)

    def _word(self, vector: Floats, position: int) -> str:
        region = self.problem.region
        if isinstance(region, Choice):
            names = region.names[position]
            hits = (region.points[position, : len(names)] == vector).all(-1)
            return names[int(hits.argmax())]
        distance = ((self.classifier.table - vector) ** 2).sum(-1)
        special = [
            self.classifier.lookup[self.classifier.pad],
            self.classifier.lookup[self.classifier.unknown],
        ]
        distance[special] = np.inf
        return self.classifier.vocabulary[int(distance.argmin())]

    def to_dict(self) -> dict[str, Any]:
        """The question as plain data: with the same classifier, `from_dict` asks it again."""
        return {
            "format": FORMAT,
            "model": self.classifier.digest,
            "text": self.text.source
            if self._is_string
            else list(self.text.tokens[: len(self.text.words)]),
            "perturbation": self.perturbation.to_dict(),
            "cost": None if self.cost is None else self.costs.by_word(self.text),
            "include": list(self.include),
            "exclude": list(self.exclude),
            "padding": self.padding,
            "method": self.method,
            "oracle": self.oracle,
            "seconds": self.seconds,
            "seed": self.seed,
            **{name: getattr(self, name) for name in LIMITS if getattr(self, name) is not None},
            **self.more,
        }

    @cached_property
    def _is_string(self) -> bool:
        """Whether reading the source again gives the same words; a list of words may not."""
        try:
            return self.classifier.read(self.text.source) == self.text
        except InputError:
            return False

    @staticmethod
    def from_dict(data: Mapping[str, Any], classifier: Classifier | BlackBox) -> Question:
        """The question that `to_dict` described, refused where it was asked of another
        classifier.
        """
        if not isinstance(data, Mapping) or data.get("format") != FORMAT or "text" not in data:
            raise InputError(
                f"This is not a saved question of format {FORMAT}: save one with "
                "`Question.to_dict()`."
            )
        if "model" not in data and "meta" in data:
            raise InputError(
                "This is an answer, not a question: save its `question`, or `Question.to_dict()`."
            )
        if data.get("model") != classifier.digest:
            own = classifier.digest[:12]
            other = str(data.get("model"))[:12]
            raise InputError(
                f"The question was asked of another classifier (digest {other}; this one has "
                f"{own})."
            )
        strange = sorted(data.keys() - {*KEYS, *LIMITS, *MORE, "format", "model"})
        if strange:  # what an answer says of itself is no part of a question
            raise InputError(f"A saved question has no field {strange[0]!r}: take it out.")
        known = {name: data[name] for name in (*KEYS, *LIMITS) if name in data}
        more = {name: data[name] for name in MORE if name in data}
        text = known.pop("text")
        known["perturbation"] = set_from_dict(known.get("perturbation"))
        return Question(classifier, text, **known, more=more)

    def meta(self) -> dict[str, Any]:
        """What a result says of how it was asked."""
        asked = {name: value for name, value in self.to_dict().items() if name != "format"}
        # the answer holds it, but not whether it was given as a list of words
        text = asked.pop("text")
        words = {} if isinstance(text, str) else {"words": text}
        versions = {
            "suffice": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        }
        return {
            **asked,
            **words,
            "versions": versions,
            "settings": self.settings.digest,
            **({} if self.blackbox is None else {"asked": self._how_asked()}),
            **({"blanks": True} if self.blanks else {}),
        }

    def _how_asked(self) -> dict[str, Any]:
        """Of a black box: its name, how far its numbers move, what a reader should know, and what
        rests on a file.
        """
        self.asked.recheck_answers()
        box = self.asked.blackbox
        said = {"name": box.name, "tolerance": box.answers.tolerance, "notes": list(box.told)}
        return said | (
            {} if box.cache is None else {"file": self._filed(Path(box.cache).name, box.answers)}
        )

    @staticmethod
    def _filed(name: str, answers: Answers) -> dict[str, Any]:
        """How many texts rest on the word of a file of answers, and how many were asked again."""
        return {"name": name, "texts": len(answers.rests), "again": answers.again}


# --- reading ---


def check_classifier(given: Any) -> None:
    """Refuse what is no classifier of ours; the message says what makes one of it."""
    shown = shortened(repr(given))
    if isinstance(given, str) and " " in given:
        raise InputError(f"The classifier comes first, then the text: {shown} is no classifier.")
    if isinstance(given, str):
        raise InputError(f"Give a classifier, not the name {shown}: sf.load({shown}) loads one.")
    if not hasattr(given, "read") or isinstance(given, type):
        raise InputError(f"Give a classifier, not {shown}: {_made_by(given)}.")


def _made_by(given: Any) -> str:
    """Which of our functions makes a classifier of something."""
    if hasattr(given, "predict_proba") or hasattr(given, "decision_function"):
        return "sf.from_sklearn makes one of a pipeline"
    if hasattr(given, "tokenizer") or hasattr(given, "config"):
        return "sf.from_huggingface makes one of a model or a pipeline"
    if hasattr(given, "state_dict"):
        return "sf.from_torch makes one of a network"
    if callable(given) and not isinstance(given, type):
        return (
            "sf.from_function(predict, labels=[...]) makes one of a function from texts to scores"
        )
    return "sf.load, sf.Classifier or one of sf.from_... makes one"


def shortened(shown: str) -> str:
    line = " ".join(shown.split())
    return line if len(line) <= 80 else f"{line[:77]}..."


def _refuse_asking(**limits: Any) -> None:
    """What is said of black boxes means nothing for a classifier that is computed."""
    for name, value in limits.items():
        if value is not None:
            raise InputError(
                f"{name}={value!r} is for black boxes (sf.from_function and its like), and "
                "this classifier is none: "
                "leave it out."
            )


def _check_kinds(classifier: Any, perturbation: Any, padding: Any, method: Any) -> None:
    check_classifier(classifier)
    if isinstance(perturbation, type):
        raise InputError(f"Give a set, not its class: sf.{perturbation.__name__}(...) makes one.")
    if perturbation is not None and not hasattr(perturbation, "around"):
        raise InputError(
            f"{perturbation!r} is no perturbation set: give one such as sf.Deletion() or "
            "sf.KNNBox(15)."
        )
    if padding not in ("fixed", "feature"):
        raise InputError(f"Padding must be 'fixed' or 'feature', not {padding!r}.")
    if method not in METHODS:
        raise InputError(f"There is no method {method!r}: choose {', '.join(METHODS)}.")


def _check_asking(
    perturbation: Any, padding: Any, method: Any, oracle: Any, confidence: Any, max_queries: Any
) -> None:
    """What makes no sense for a classifier that can only be run."""
    if perturbation is not None and not isinstance(perturbation, RealWords):
        raise InputError(
            f"A black box has no embedding, so {type(perturbation).__name__}, a set of "
            "vectors, cannot be asked of it: "
            "use a set of real words: sf.Deletion(), sf.Mask(), sf.WordSwap({...}) or "
            "sf.RemoveOrSwap({...}); on the "
            "command line --deletion, --mask or --swaps."
        )
    if padding != "fixed":
        raise InputError("A black box has no padding: leave `padding` away.")
    if (method, oracle) != ("search", "bounds"):
        raise InputError(
            "A black box is asked, whatever the method: leave `method` and `oracle` away."
        )
    if confidence is not None and not (isinstance(confidence, float) and 0 < confidence < 1):
        raise InputError(
            f"The confidence must be a number between 0 and 1 such as 0.99, not {confidence!r}."
        )
    whole = isinstance(max_queries, int) and not isinstance(max_queries, bool)
    if max_queries is not None and (not whole or max_queries < 1):
        raise InputError(f"max_queries must be a whole number of at least 1, not {max_queries!r}.")


def _asked_for(
    text: Text, include: Named, exclude: Named, padding: Padding
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The positions to include and those to exclude."""
    known = len(text.words) if padding == "fixed" else len(text)
    wanted = _positions(text, include, known, "include")
    barred = _positions(text, exclude, known, "exclude")
    both = sorted({*wanted} & {*barred})
    if both:
        raise InputError(f"The word {text.tokens[both[0]]!r} is both included and excluded.")
    return wanted, barred


def _positions(text: Text, given: Named, count: int, role: str) -> tuple[int, ...]:
    check_listed(given, role)
    return text.positions(list(given), count)


def check_listed(given: Any, role: str) -> None:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise InputError(f"`{role}` takes a list of words or positions, not {given!r}.")


def _seconds(given: Any) -> float:
    if (
        isinstance(given, bool)
        or not isinstance(given, int | float | np.integer | np.floating)
        or not given > 0
    ):
        hint = ': float("inf") is no limit' if given is None else ""
        raise InputError(
            f"The time limit must be a positive number of seconds, not {given!r}{hint}."
        )
    return double(given)


def _seed(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise InputError(f"The seed must be a whole number of at least 0, not {given!r}.")
    return int(given)


def _mask(places: tuple[int, ...], length: int) -> Bools:
    mask = np.zeros(length, dtype=bool)
    mask[list(places)] = True
    return mask


__all__ = ["Given", "Named", "Padding", "Question", "positions"]
