"""Fuzz of black boxes: rugged functions against all allowed texts, and pipelines of scikit-learn
laid open.

A case is one question with one verb; its certificate is read by the checker of black boxes, which
runs or works out every text anew (the second checker leaves these to it). Of a question's
certificates some are altered: the checker may accept one only if what it claims is true.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import suffice as sf
from fuzzing.common import Wrong, accept, need
from suffice.errors import NotACertificate, Rejected
from suffice.verify.contract import Proved, Refuted
from tests.blackboxes import SWAPS, WORDS, Truth, box, is_true, mask
from tests.forging import forged


def one(seed: int, counts: Counter[str]) -> Iterator[str]:
    rng = np.random.default_rng([19, seed])
    made = box(seed, int(rng.integers(2, 4)), float(rng.choice([0.3, 1.0, 3.0])))
    words = rng.choice(WORDS, int(rng.integers(2, 6))).tolist()
    limit = [None, None, 1, 2][int(rng.integers(4))]
    chosen = [
        sf.Deletion(at_most=limit),
        sf.WordSwap(SWAPS, at_most=limit),
        sf.RemoveOrSwap(SWAPS, at_most=limit),
    ]
    cost = {word: int(rng.integers(1, 4)) for word in words} if rng.integers(2) else None
    common = {"perturbation": chosen[int(rng.integers(3))]}
    truth = Truth(sf.Question(made, words, cost=cost, **common))
    found: list[sf.Certificate] = []
    checks: list[Callable[[], sf.Certificate]] = [
        partial(explained, truth, made, words, cost, common),
        partial(contrasted, truth, made, words, cost, common),
        *(
            partial(sufficient, truth, made, words, held, common)
            for held in subsets(rng, len(words))
        ),
    ]
    for check in checks:
        counts["cases"] += 1
        try:
            found.append(check())
        except Wrong as error:
            yield f"{' '.join(words)} under {common['perturbation'].to_dict()}: {error}"
    counts["altered"] += ALTERED if found else 0
    for said in altered(rng, made, found):
        yield f"{' '.join(words)} under {common['perturbation'].to_dict()}: {said}"


ALTERED = 8  # certificates of a question


def altered(
    rng: np.random.Generator, made: sf.BlackBox, found: list[sf.Certificate]
) -> Iterator[str]:
    """Certificates with something else in them: which are accepted, but false."""
    for _ in range(ALTERED if found else 0):
        lines = json.loads(json.dumps(list(found[int(rng.integers(len(found)))].lines)))
        what, lines = forged(lines, rng)
        try:
            sf.check(sf.Certificate(tuple(lines)), made)
        except (Rejected, NotACertificate):
            continue
        if not is_true(made, lines[0]):
            yield f"{what}: accepted, but false"


def subsets(rng: np.random.Generator, count: int) -> list[list[int]]:
    """A few sets of words."""
    return [np.flatnonzero(rng.random(count) < 0.5).tolist() for _ in range(4)]


def explained(
    truth: Truth, made: sf.BlackBox, words: list[str], cost: Any, common: dict[str, Any]
) -> sf.Certificate:
    found = sf.explain(made, words, cost=cost, **common)
    need(found.status == "optimal", f"explain: {found.status}")
    need(mask(found.positions) in truth.cheapest, f"not a cheapest explanation: {found.positions}")
    return accept(found.certificate, made)


def contrasted(
    truth: Truth, made: sf.BlackBox, words: list[str], cost: Any, common: dict[str, Any]
) -> sf.Certificate:
    found = sf.contrast(made, words, cost=cost, **common)
    least = min(map(truth.price, truth.flips), default=None)
    need(
        found.status == ("none" if least is None else "optimal"),
        f"contrast: {found.status}, the truth is {least}",
    )
    need(least is None or found.cost == least, f"a flip for {found.cost}, the truth is {least}")
    return accept(found.certificate, made)


def sufficient(
    truth: Truth, made: sf.BlackBox, words: list[str], held: list[int], common: dict[str, Any]
) -> sf.Certificate:
    found = sf.is_robust(made, words, held, **common)
    true = truth.robust(mask(held))
    need(
        isinstance(found, Proved if true else Refuted), f"{found!r} for {held}, the truth is {true}"
    )
    return accept(found.certificate, made)  # type: ignore[union-attr]


def pipelines(seed: int, counts: Counter[str]) -> Iterator[str]:
    """One fitted pipeline, as tests/pipelines.py judges it; scikit-learn is brought in here, as it
    takes a while.
    """
    from suffice.importers.kinds import NotLowered
    from suffice.settings import DEFAULT
    from tests.pipelines import judged, kinds

    rng = np.random.default_rng([23, seed])
    name = list(kinds())[seed // 7 % len(kinds())]
    vars(DEFAULT.queries)["few_texts"] = 0  # tables for short texts too
    try:
        counts["cases" if judged(rng, kinds()[name](rng)) != "close" else "undecided"] += 1
    except NotLowered:
        counts["undecided"] += 1
    except AssertionError as error:
        yield f"{name}: {error}"
