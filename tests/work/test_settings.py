"""Random settings change no verdict: answers are those of brute force, and both checkers accept
their certificates, whatever the tuned numbers are.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1]))
import brute
import pipelines
from fuzzing import subsets, vectors
from fuzzing.common import both_accept, exact_model

import suffice as sf
from suffice.importers.kinds import NotLowered
from suffice.settings import DEFAULT, Settings
from suffice.verify.contract import Proved, Refuted, Unknown
from suffice.verify.solvers import make_oracle
from tests.work.slowdowns import with_settings

MULTIPLES = (0.1, 0.5, 1.0, 2.0, 4.0)


def times(value: Any, multiple: float) -> Any:
    """A setting that is so many times another one: whole numbers stay at least 1, parts of a whole
    stay between 0 and 1.
    """
    if is_dataclass(value):
        changed = {one.name: times(getattr(value, one.name), multiple) for one in fields(value)}
        return replace(value, **changed)  # type: ignore[type-var]
    if isinstance(value, tuple):
        return tuple(times(one, multiple) for one in value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, int):
        return max(1, round(value * multiple))
    if 0 < value < 1 <= value * multiple:
        return 1 - (1 - value) / multiple
    return value * multiple


def varied(group: Any) -> st.SearchStrategy[Any]:
    """A group of settings of which each field is a few times its default."""
    one = st.sampled_from(MULTIPLES)
    names = [field.name for field in fields(group)]
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, one)).map(
        lambda chosen: replace(
            group, **{name: times(getattr(group, name), by) for name, by in chosen.items()}
        )
    )


def any_settings() -> st.SearchStrategy[Settings]:
    """Settings of which each field of each group is a few times its default."""
    groups = {field.name: varied(getattr(DEFAULT, field.name)) for field in fields(DEFAULT)}
    return st.fixed_dictionaries(groups).map(lambda chosen: replace(DEFAULT, **chosen))


def extreme(multiple: float) -> Settings:
    """All numbers at once so many times their defaults."""
    return times(DEFAULT, multiple)


def maxima(seed: int, counts: Counter[str]) -> Iterator[str]:
    """Some sets of words of a random TextCNN over boxes: what the usual settings say is the truth,
    and a certificate that both checkers accept.
    """
    rng = np.random.default_rng([29, seed])
    classifier = vectors.text_cnn(rng)
    model = exact_model(classifier)
    text = rng.choice([*brute.WORDS, "nowhere"], classifier.length).tolist()
    asked = sf.Question(classifier, text, perturbation=sf.KNNBox(2), seconds=30)
    usual = replace(asked.problem, settings=DEFAULT)
    free = rng.random((3, classifier.length)) < 0.7
    answers, truths = (
        make_oracle("bounds", problem).ask(free, asked.budget) for problem in (asked.problem, usual)
    )
    for row, answer, truth in zip(free, answers, truths, strict=True):
        counts["cases"] += 1
        if {type(answer), type(truth)} == {Proved, Refuted}:
            yield f"{answer!r}, but usually {truth!r}"
        if not isinstance(answer, Unknown):
            held = tuple(np.flatnonzero(~row).tolist())
            both_accept(subsets.shown(asked, held, answer).certificate, classifier, model)


SEEDS = st.integers(0, 10_000)
FUZZES = {
    "words": (subsets.one, 12),
    "vectors": (vectors.one, 8),
    "maxima": (maxima, 8),
    "curves": (vectors.curved, 12),
}


@pytest.mark.parametrize("kind", FUZZES)
def test_settings_change_no_verdict_of_a_network(kind):
    ask, examples = FUZZES[kind]

    @settings(max_examples=examples)
    @given(chosen=any_settings(), seed=SEEDS)
    @example(chosen=extreme(0.1), seed=1)
    @example(chosen=extreme(4.0), seed=2)
    def hold(chosen: Settings, seed: int) -> None:
        counts = Counter[str]()
        with pytest.MonkeyPatch.context() as patch:
            with_settings(chosen)(patch)
            assert list(ask(seed, counts)) == []
        assert counts["cases"]

    hold()


@settings(max_examples=25)
@given(chosen=any_settings(), seed=SEEDS, kind=st.sampled_from([*pipelines.kinds()]))
@example(chosen=extreme(0.1), seed=1, kind="weights")
@example(chosen=extreme(4.0), seed=2, kind="weights")
@example(chosen=extreme(0.1), seed=3, kind="trees")
def test_settings_change_no_explanation_of_a_pipeline(chosen, seed, kind):
    rng = np.random.default_rng([19, seed])
    with pytest.MonkeyPatch.context() as patch:
        with_settings(chosen)(patch)
        try:
            pipelines.judged(
                rng, pipelines.kinds()[kind](rng), kind.endswith("streams"), kind.startswith("odd")
            )
        except NotLowered:
            return


@settings(max_examples=50)
@given(chosen=any_settings())
def test_random_settings_are_settings(chosen):
    assert chosen.to_dict().keys() == DEFAULT.to_dict().keys()
    for name, value in flat(chosen.to_dict()).items():
        usual = flat(DEFAULT.to_dict())[name]
        assert type(value) is type(usual)
        assert not isinstance(value, int) or value >= 1 or isinstance(value, bool)
        assert not isinstance(value, float) or not 0 < usual < 1 or 0 < value < 1


def test_random_settings_reach_the_problem(monkeypatch):
    with_settings(extreme(2.0))(monkeypatch)
    question = sf.Question(sf.load("trec-fc15"), "how many rivers are there ?")
    assert question.problem.settings == extreme(2.0)
    assert (extreme(2.0) != DEFAULT) == bool(fields(DEFAULT))


def flat(data: Any, name: str = "") -> dict[str, Any]:
    """The numbers of nested data, by their path."""
    if isinstance(data, dict):
        return {k: v for one, part in data.items() for k, v in flat(part, f"{name}.{one}").items()}
    if isinstance(data, list | tuple):
        return flat({str(i): one for i, one in enumerate(data)}, name)
    return {name: data}
