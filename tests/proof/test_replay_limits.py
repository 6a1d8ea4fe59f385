"""Checks of pipelines and of black boxes keep to the time they are given: whenever it ends, nothing
is accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import suffice as sf
from suffice.errors import InputError, NotChecked
from suffice.importers.kinds import NotLowered
from suffice.importers.sklearn_asked import opened
from suffice.model.blackbox import BlackBox
from suffice.proof.check import limits
from suffice.settings import DEFAULT
from tests.helpers import set_numbers
from tests.pipelines import kinds, question

TEXT = "the film was not good and the plot was very very dull"


def asked(texts: list[str]) -> Any:
    found = np.array([text.count("o") - 2.5 for text in texts])
    return np.stack([-found, found], 1)


def proofs(kind: str) -> Iterator[tuple[BlackBox, Any]]:
    """Some boxes of a kind, each with a certificate."""
    if kind == "asked":
        box = sf.from_function(asked, labels=["few", "many"], name="letters")
        yield box, sf.explain(box, TEXT, perturbation=sf.Deletion(at_most=2)).certificate
        yield box, sf.contrast(box, TEXT, perturbation=sf.Deletion(at_most=2)).certificate
        return
    for seed in range(4):
        rng = np.random.default_rng([7, seed])
        try:
            pipeline = kinds()[kind](rng)
            box, (source, made, *_) = opened(pipeline), question(rng, glued=kind == "streams")
        except NotLowered:
            continue
        found = sf.explain(box, source if kind == "streams" else TEXT, perturbation=made)
        if found.certificate is not None:
            yield box, found.certificate


def stopping(after: int) -> Any:
    """A limit that ends at this look."""
    left = iter([False] * after)

    def look(self: limits.Limit, line: int = 0) -> None:
        if next(left, True):
            raise NotChecked(line, "not checked")

    return look


def looks(monkeypatch: pytest.MonkeyPatch, certificate: Any, box: BlackBox) -> int:
    """How often a check of a certificate looks at the clock."""
    seen: list[int] = []
    monkeypatch.setattr(limits.Limit, "check_time", lambda *_: seen.append(0))
    sf.check(certificate, box)
    return len(seen)


@pytest.mark.parametrize("kind", ["weights", "trees", "rows", "streams", "asked"])
def test_whenever_the_time_ends_nothing_is_accepted(kind, monkeypatch):
    set_numbers(monkeypatch, DEFAULT.queries, few_texts=0)  # tables for short texts too
    said: set[str] = set()
    for box, certificate in list(proofs(kind)):
        said |= {name for line in certificate.lines[1:] for name in line}
        total = looks(monkeypatch, certificate, box)
        for after in {*range(min(total, 20)), *range(0, total, max(1, total // 10)), total - 1}:
            monkeypatch.setattr(limits.Limit, "check_time", stopping(after))
            with pytest.raises(NotChecked):
                sf.check(certificate, box)
        assert total > len(certificate.lines[1:])  # one line may take hours
    of_kind = {
        "weights": "computed",
        "trees": "tables",
        "rows": "tables",
        "streams": "computed",
        "asked": "flip",
    }
    assert of_kind[kind] in said


def test_a_proof_of_a_pipeline_that_takes_too_long_says_so(monkeypatch):
    ((box, certificate), *_) = proofs("weights")
    with pytest.raises(NotChecked, match="not checked within 1e-09 seconds; a longer limit may do"):
        sf.check(certificate, box, seconds=1e-9)
    for wrong in (0, -1, float("nan"), "long", True):
        with pytest.raises(InputError, match="time limit"):
            sf.check(certificate, box, seconds=wrong)


def test_an_answer_about_a_pipeline_whose_check_takes_too_long_is_not_called_proved(monkeypatch):
    ((box, _), *_) = proofs("weights")
    monkeypatch.setattr(limits.Limit, "check_time", stopping(3))
    found = sf.explain(box, TEXT, perturbation=sf.Deletion())
    assert (found.status, found.proved) == ("unknown", ())
