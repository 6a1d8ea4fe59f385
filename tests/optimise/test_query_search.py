"""Black boxes: every answer of every verb agrees with asking all allowed texts for all sets of
words.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import suffice as sf
from suffice.optimise import query_search
from suffice.optimise.min_cost_hitting_set import (
    hitting_sets_up_to,
    mask_cost,
    min_cost_hitting_set,
)
from suffice.proof.certificate import Certificate
from suffice.settings import DEFAULT
from suffice.verify.contract import Budget
from suffice.verify.queries import Meter, OutOfBudget, QuerySession
from tests.blackboxes import SWAPS, WORDS, Truth, box, mask
from tests.helpers import set_numbers

SETS = [
    sf.Deletion(),
    sf.Deletion(at_most=1),
    sf.Deletion(at_most=2),
    sf.Deletion(at_most=3),
    sf.Mask(),
    sf.Mask("***", at_most=2),
    sf.WordSwap(SWAPS),
    sf.WordSwap(SWAPS, at_most=2),
    sf.RemoveOrSwap(SWAPS, at_most=2),
    sf.RemoveOrSwap(SWAPS),
]


def some_question(number: int) -> dict[str, object]:
    """Settings of all kinds, by number."""
    rng = np.random.default_rng(number)
    count = int(rng.integers(1, 8))
    words = [str(word) for word in rng.permutation(WORDS)[:count]]
    places = [int(i) for i in rng.permutation(count)]
    include = places[: int(rng.integers(0, 2))] if number % 3 == 0 else []
    exclude = (
        [i for i in places[1 : 1 + int(rng.integers(0, 3))] if i not in include]
        if number % 4 == 1
        else []
    )
    costs = {word: float(rng.integers(1, 5)) / 2 for word in words} if number % 2 else None
    return {
        "text": " ".join(words),
        "perturbation": SETS[number % len(SETS)],
        "cost": costs,
        "include": include,
        "exclude": exclude,
    }


def case(number: int) -> tuple[sf.BlackBox, str, dict[str, object], Truth]:
    clf = box(number, 2 + number % 3, (0.2, 1.0, 3.0)[number % 3])
    settings = some_question(number)
    text = str(settings.pop("text"))
    return clf, text, settings, Truth(sf.Question(clf, text, **settings))


@pytest.mark.parametrize("part", range(8))
def test_the_cheapest_explanation_is_that_of_full_enumeration(part):
    for number in range(part * 150, part * 150 + 150):
        clf, text, settings, truth = case(number)
        result = sf.explain(clf, text, **settings)
        if not truth.explanations:
            assert result.status == "infeasible", number
            assert mask(result.witness.positions) in truth.flips
            assert mask(result.witness.positions) & ~mask(settings["exclude"]) == 0
            continue
        assert result.status == "optimal", (number, result)
        assert mask(result.positions) in truth.cheapest, number
        assert result.cost == result.lower_bound == truth.price(next(iter(truth.cheapest)))
        assert result.label == clf.labels[truth.label]
        assert result.meta["checked"] is True
        assert sf.check(result.certificate, clf).optimal


def test_every_cheapest_explanation_is_listed_once():
    for number in range(250):
        clf, text, settings, truth = case(number)
        every = sf.explain_all(clf, text, **settings)
        found = [mask(one.positions) for one in every if one.status == "optimal"]
        assert len(found) == len(set(found))
        assert set(found) == truth.cheapest, number
        assert every.complete
        assert (every.certificate is not None) == bool(found)
        if found:
            assert sf.check(every.certificate, clf).kind == "all"
            assert any("no other set" in fact for fact in every.proved)


def test_a_list_of_the_cheapest_sets_that_is_not_whole_or_not_true_is_rejected():
    """A set left out, a set put in, another cost, no flips: each is refused."""
    rejected = 0
    for number in range(120):
        clf, text, settings, truth = case(number)
        every = sf.explain_all(clf, text, **settings)
        if not list(every) or every.certificate is None:
            continue
        head, *lines = every.certificate.lines
        sets = head["claim"]["sets"]
        count = len(head["claim"]["sets"])
        proofs = lines[:count]
        flips = lines[count:]
        extra = [
            i
            for i in range(len(truth.question.text))
            if i not in sets[0] and i not in settings["exclude"]
        ]
        forged = [
            (sets[1:], [*proofs[1:], *flips]),  # one is missing
            (sets, [*proofs[1:], *flips]),
            ([*sets, sets[0]], [*proofs, proofs[0], *flips]),
            *([(sets, proofs)] if flips else []),
            *(([sorted([*sets[0], i]), *sets[1:]], [*proofs, *flips]) for i in extra),
            ([sets[0][1:], *sets[1:]], [*proofs, *flips]) if sets[0] else ([], flips),
        ]
        for claimed, evidence in forged:
            claim = {**head["claim"], "sets": claimed}
            with pytest.raises(sf.Rejected):
                sf.check(Certificate(({**head, "claim": claim}, *evidence)), clf)
            rejected += 1
    assert rejected > 400


def test_the_cheapest_flip_is_that_of_full_enumeration():
    for number in range(400):
        clf, text, settings, truth = case(number)
        settings = {name: settings[name] for name in ("perturbation", "cost")}
        rival = (
            next(i for i in range(len(clf.labels)) if i != truth.label) if number % 5 == 0 else None
        )
        flips = truth.flips if rival is None else truth.flips_to(rival)
        towards = None if rival is None else clf.labels[rival]
        result = sf.contrast(clf, text, towards=towards, **settings)
        if result.certificate is not None:
            assert sf.check(result.certificate, clf).kind == "flip"
            assert result.meta["checked"] is True
        if not flips:
            assert result.status == "none", number
            assert result.flip is None
            continue
        assert result.status == "optimal", number
        assert mask(result.positions) in flips
        assert result.cost == result.lower_bound == min(map(truth.price, flips)), number
        row = clf.function([result.flipped_text])[0]
        assert row[truth.label] <= (row.max() if rival is None else row[rival])


def test_bias_is_that_of_full_enumeration():
    statuses = set()
    for number in range(300):
        clf, text, settings, truth = case(number)
        words = len(truth.question.text)
        out = [i for i in range(words) if (number >> i) & 1]
        result = sf.bias(clf, text, out, perturbation=settings["perturbation"])
        free = any(flip & ~mask(out) == 0 for flip in truth.flips)
        statuses.add((result.status, result.trivial))
        if out and not (truth.masks & mask(out)).any():  # none of them could become anything
            assert (result.status, result.trivial) == ("unknown", True), number
            assert result.certificate is None
            continue
        assert result.status == ("dependent" if free else "independent"), number
        assert result.certificate is not None
        assert sf.check(result.certificate, clf).kind == ("infeasible" if free else "independent")
    assert statuses == {
        ("dependent", False),
        ("independent", False),
        ("independent", True),
        ("unknown", True),
    }


def test_is_robust_and_repair_are_those_of_full_enumeration():
    for number in range(300):
        clf, text, settings, truth = case(number)
        held = [i for i in range(len(truth.question.text)) if (number >> i) & 1]
        plain = {name: settings[name] for name in ("perturbation", "cost")}
        verdict = sf.is_robust(clf, text, held, perturbation=plain["perturbation"])
        robust = truth.robust(mask(held))
        assert isinstance(verdict, sf.Proved if robust else sf.Refuted), number
        assert sf.check(verdict.certificate, clf).kind == ("sufficient" if robust else "refuted")
        repair = sf.repair(clf, text, held, **plain)
        assert repair.sufficed is robust
        best = Truth(sf.Question(clf, text, include=held, **plain))
        assert mask(repair.positions) in best.cheapest


def test_attribution_counts_all_explanations():
    for number in range(150):
        clf, text, settings, truth = case(number)
        optimal = sf.attribute(clf, text, **settings)
        assert optimal.complete
        assert {mask(one.positions) for one in optimal.explanations} == truth.cheapest
        minimal = sf.attribute(clf, text, of="minimal", **settings)
        assert minimal.complete
        assert {mask(one.positions) for one in minimal.explanations} == truth.minimal, number


def test_a_profile_over_at_most_is_an_explanation_at_each_step():
    for number in range(40):
        clf, text, settings, _ = case(number)
        words = len(sf.Question(clf, text).text)
        steps = list(range(1, words + 1))
        found = sf.profile(
            clf, text, lambda r: sf.Deletion(at_most=r), steps, cost=settings["cost"]
        )
        assert found.parameter == "at_most"
        for step, result in zip(found.steps, found.explanations, strict=True):
            truth = Truth(
                sf.Question(
                    clf, text, perturbation=sf.Deletion(at_most=step), cost=settings["cost"]
                )
            )
            assert mask(result.positions) in truth.cheapest
        empty = [
            step
            for step, result in zip(found.steps, found.explanations, strict=True)
            if not result.positions
        ]
        assert found.free_until == (max(empty) if empty else None)
        singles = {flip.bit_length() - 1 for flip in truth.flips if flip.bit_count() == 1}
        assert {item.word.position for item in found.growth if item.needed} == singles


def test_a_mistake_is_put_right_by_the_cheapest_change():
    for number in range(60):
        clf, text, settings, truth = case(number)
        expected = next(i for i in range(len(clf.labels)) if i != truth.label)
        plain = {name: settings[name] for name in ("perturbation", "cost")}
        result = sf.explain(clf, text, expected=clf.labels[expected], **plain)
        flips = truth.flips_to(expected)
        assert result.mistake.status == ("optimal" if flips else "none")
        if flips:
            assert result.mistake.cost == min(map(truth.price, flips))
            assert result.mistake.winner == clf.predict(result.mistake.changed_text).label


# --- hitting sets ---


def test_covers_are_the_cheapest_of_all_subsets():
    rng = np.random.default_rng(0)
    for _ in range(600):
        words = int(rng.integers(1, 9))
        sets = [int(m) for m in rng.integers(1, 1 << words, size=int(rng.integers(0, 12)))]
        costs = [int(c) for c in rng.integers(1, 6, size=words)]
        include, exclude = (
            int(m)
            for m in rng.integers(0, 1 << words, size=2) & rng.integers(0, 1 << words, size=2)
        )
        exclude &= ~include
        apart = [int(m) for m in rng.integers(1, 1 << words, size=int(rng.integers(0, 4)))]
        good = [
            m
            for m in range(1 << words)
            if m & include == include and not m & exclude and all(m & one for one in sets)
        ]
        found = min_cost_hitting_set(sets, costs, include, exclude)
        assert (None if found is None else mask_cost(found, costs)) == min(
            (mask_cost(m, costs) for m in good), default=None
        )
        free = [m for m in good if not any(one & m == one for one in apart)]
        away = min_cost_hitting_set(sets, costs, include, exclude, apart)
        assert (None if away is None else mask_cost(away, costs)) == min(
            (mask_cost(m, costs) for m in free), default=None
        )
        if found is not None:
            least = mask_cost(found, costs)
            known = min_cost_hitting_set(
                sets, costs, include, exclude, known_lower=int(rng.integers(0, least + 1))
            )
            assert mask_cost(known, costs) == least
            every = list(hitting_sets_up_to(sets, costs, least, include, exclude))
            assert sorted(every) == sorted(m for m in good if mask_cost(m, costs) == least)


# --- limits ---


def test_nothing_is_asked_twice():
    seen: list[str] = []
    inner = box(3).function

    def predict(texts):
        seen.extend(texts)
        return inner(texts)

    clf = sf.from_function(predict, ["no", "yes"])
    first = sf.explain(clf, " ".join(WORDS[:7]), perturbation=sf.Deletion())
    once = len(seen)
    assert first.stats["queries"] == once
    assert len(seen) - len(set(seen)) <= 5  # the texts asked again to see whether numbers move
    again = sf.explain(clf, " ".join(WORDS[:7]), perturbation=sf.Deletion())
    assert len(seen) == once
    assert again.stats["queries"] == 0
    assert again.positions == first.positions


@pytest.mark.parametrize("limit", [1, 3, 10, 25, 40, 80, 200])
def test_bounds_are_valid_when_the_texts_run_out(limit):
    for number in range(30):
        clf = box(number, smooth=2.0)
        settings = some_question(number)
        text = " ".join(WORDS[:8])
        plain = {"perturbation": settings["perturbation"], "cost": None}
        truth = Truth(sf.Question(clf, text, **plain))
        best = truth.price(next(iter(truth.cheapest)))
        result = sf.explain(box(number, smooth=2.0), text, max_queries=limit, **plain)
        assert result.stats["queries"] <= limit
        assert result.lower_bound <= best <= result.cost
        assert result.status in ("optimal", "sufficient", "unknown")
        if result.status != "unknown":
            assert truth.robust(mask(result.positions))
            assert sf.check(result.certificate, clf).lower == result.lower_bound
        else:
            assert result.meta["reason"]
        flip = sf.contrast(box(number, smooth=2.0), text, max_queries=limit, **plain)
        least = min(map(truth.price, truth.flips), default=math.inf)
        assert flip.lower_bound <= least <= flip.cost


def test_ctrl_c_gives_valid_bounds():
    for moment in (2, 5, 9, 14):
        inner, calls = box(5, smooth=2.0).function, [0]

        def predict(texts, inner=inner, calls=calls, moment=moment):
            calls[0] += 1
            if calls[0] == moment + 5:
                raise KeyboardInterrupt
            return inner(texts)

        clf = sf.from_function(predict, ["no", "yes"])
        text = " ".join(WORDS)
        truth = Truth(sf.Question(box(5, smooth=2.0), text, perturbation=sf.Deletion()))
        result = sf.explain(clf, text, perturbation=sf.Deletion())
        best = truth.price(next(iter(truth.cheapest)))
        assert result.lower_bound <= best <= result.cost
        if result.status == "sufficient":
            assert truth.robust(mask(result.positions))
        if calls[0] > moment + 5:
            assert result.meta["reason"] == "interrupted"


def test_no_time_is_no_proof():
    clf = box(5)
    result = sf.explain(clf, " ".join(WORDS), perturbation=sf.Deletion(), seconds=1e-6)
    assert result.status == "unknown"
    assert result.meta["reason"] == "time is up"
    assert isinstance(
        sf.is_robust(clf, " ".join(WORDS), [0], perturbation=sf.Deletion(), seconds=1e-6),
        sf.Unknown,
    )
    assert (
        sf.bias(clf, " ".join(WORDS), [0, 1], perturbation=sf.Deletion(), seconds=1e-6).status
        == "unknown"
    )
    assert (
        sf.contrast(clf, " ".join(WORDS), perturbation=sf.Deletion(), seconds=1e-6).status
        == "unknown"
    )
    assert not sf.attribute(clf, " ".join(WORDS), perturbation=sf.Deletion(), seconds=1e-6).complete


def test_a_flip_is_shown_even_where_time_is_up():
    clf = box(3)
    asked = QuerySession(clf, clf.read(" ".join(WORDS)), tuple(("",) for _ in WORDS), None)
    change = ((1, ""),)
    flip = asked.observed_flip(change)
    asked.meter = Meter(Budget(seconds=0.0))
    assert asked.witness(flip).text == asked.write(change)
    with pytest.raises(OutOfBudget):
        asked.margins([((2, ""),)])


def test_after_a_climb_only_the_larger_changes_are_asked(monkeypatch):
    """All changes of one word, of two, ... now further and now less far, then the rest: together
    all changes.
    """
    grown, above, adding = [], [], QuerySession.sets_with

    def noted(self, word, others, limit, climbed=0):
        sets = list(adding(self, word, others, limit, climbed))
        grown.extend(sets)
        above.append(climbed)
        assert all(len(one) > climbed for one in sets)
        return iter(sets)

    set_numbers(monkeypatch, DEFAULT.queries, few_texts=0)
    monkeypatch.setattr(query_search.QuerySearch, "_fits_budget", lambda self, free: False)
    monkeypatch.setattr(query_search, "greedy_attack", lambda asked, free, rival=None: None)
    monkeypatch.setattr(QuerySession, "sets_with", noted)
    for number in range(300):
        clf, text, settings, truth = case(number)
        rooms = np.random.default_rng(number)
        monkeypatch.setattr(
            Meter, "remaining", lambda self, rooms=rooms: 80.0 * rooms.integers(0, 3)
        )
        result = sf.explain(clf, text, **settings)
        assert result.status == ("optimal" if truth.explanations else "infeasible"), number
        assert not truth.explanations or mask(result.positions) in truth.cheapest
    assert sum(climbed > 1 for climbed in above) > 50
    assert len(grown) > 50


def test_a_climb_says_nothing_of_words_that_were_held():
    def both(texts):
        """No only where a and b are gone, and nothing else."""
        return np.array([[0.5, float(text != "c d")] for text in texts])

    question = sf.Question(
        sf.from_function(both, ["no", "yes"]), "a b c d", perturbation=sf.Deletion()
    )
    search = query_search.QuerySearch(question.asked, [1, 1, 1, 1])
    assert search.enumerate_by_size(0b0001) is None
    assert search.sizes_done == (0b0001, 3)
    assert search.enumerate_all(0b0001) is None
    assert search.enumerate_all(0).mask == 0b0011
