"""Every kind of claim over real words, against enumeration: the checker accepts what is true and
has its evidence.

The evidence is made here without the prover: trees that pick every word down to single texts, and
word trees that decide on every word. What is true is decided by trying all texts, in fractions.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from brute import KINDS, Case, make_case

import suffice as sf
from suffice.errors import Rejected
from suffice.optimise import certificate_lines
from suffice.optimise.cheapest_flip import cheapest_flip
from suffice.optimise.word_tree import optimal_sets
from suffice.proof.check import Checked, check
from suffice.sets.table import from_dict
from suffice.verbs.engines import single_threaded, word_tree_search
from suffice.verbs.question import Question
from suffice.verify.contract import Budget
from suffice.verify.nets.bounds_oracle import BoundsOracle

LEAF = {"leaf": {"alpha": None, "beta": {}}}
Lines = list[dict[str, Any]]
Texts = list[tuple[int, ...]]  # one choice per position


def cases(seeds: int) -> Iterator[Case]:
    for kind, seed, at_most in itertools.product(KINDS, range(seeds), (False, True)):
        yield make_case(kind, seed, at_most)


# --- evidence made by hand ---


def picked(
    case: Case, free: set[int], budget: int | None, costs: Sequence[int], count: int
) -> Iterator[dict[str, Any]]:
    """A proof tree that decides on everything: first which words change, then what they become."""
    most = max(map(len, case.choices))
    places = sorted(free)

    def choose(words: list[int], left: list[int]) -> Iterator[dict[str, Any]]:
        if not words:
            yield LEAF
        elif len(left) > 1:
            yield {"pick": words[0], "chosen": left[:1]}
            yield from choose(words, left[:1])
            yield from choose(words, left[1:])
        else:
            yield from choose(words[1:], list(range(most)))

    def pay(at: int, paid: list[int], left: int, count: int) -> Iterator[dict[str, Any]]:
        if at == len(places):
            yield from choose(paid, list(range(most)))
        elif costs[places[at]] > left or not count:
            yield from pay(at + 1, paid, left, count)
        else:
            yield {"pick": places[at]}
            yield from pay(at + 1, [*paid, places[at]], left - costs[places[at]], count - 1)
            yield from pay(at + 1, paid, left, count)

    if most == 1 or budget is None:
        yield from choose(places, list(range(most))) if most > 1 else iter([LEAF])
    else:
        yield from pay(0, [], budget, count)


def sufficiency(case: Case, free: set[int]) -> Iterator[dict[str, Any]]:
    for rival in case.rivals:
        yield {"prove": "sufficient", "rival": case.classifier.labels[rival]}
        limited = "at_most" in case.data
        ones = [1] * case.length
        yield from picked(case, free, case.at_most if limited else None, ones, case.length)


def word_tree(
    case: Case, below: int, listed: list[list[int]], held: frozenset[int], out: frozenset[int]
) -> Lines:
    """Decide on every word until cost, a listed set or an attack closes the node; [] if nothing
    ever does.
    """
    if case.cost(held) >= below:
        return [{"cost": True}]
    if sorted(held) in listed:
        return [{"set": listed.index(sorted(held))}]
    flips = case.flips(set(out))
    if flips:
        return [{"attack": case.point(*flips[0])}]
    rest = [i for i in range(case.length) if i not in held | out]
    if not rest:
        # it is not true: the claim is false, and this line is where it fails
        return [{"cost": True}]
    first = word_tree(case, below, listed, held | {rest[0]}, out)
    return [{"word": rest[0]}, *first, *word_tree(case, below, listed, held, out | {rest[0]})]


def explanations(case: Case) -> list[list[int]]:
    """All sufficient sets of the least cost."""
    everything = [
        set(c)
        for n in range(case.length + 1)
        for c in itertools.combinations(range(case.length), n)
    ]
    enough = [held for held in everything if not case.flips(set(range(case.length)) - held)]
    least = min((case.cost(held) for held in enough), default=-1)
    return sorted(sorted(held) for held in enough if case.cost(held) == least)


def all_lines(case: Case, listed: list[list[int]]) -> Lines:
    claim = {
        "kind": "all",
        "sets": listed,
        **case.priced,
        "include": [],
        "exclude": [],
        "cost": case.cost(listed[0]),
    }
    proofs = [
        line for held in listed for line in sufficiency(case, set(range(case.length)) - set(held))
    ]
    tree = word_tree(case, case.cost(listed[0]) + 1, listed, frozenset(), frozenset())
    return [case.header(claim), *proofs, {"prove": "all"}, *tree]


def cheapest_lines(case: Case, held: list[int], lower: int) -> Lines:
    claim = {"kind": "cheapest", "positions": held, **case.priced, "include": [], "exclude": []}
    claim |= {"cost": case.cost(held), "lower": lower}
    proofs = sufficiency(case, set(range(case.length)) - set(held))
    return [
        case.header(claim),
        *proofs,
        {"prove": "cheapest"},
        *word_tree(case, lower, [], frozenset(), frozenset()),
    ]


def flip_lines(case: Case, found: Any, lower: int, towards: int | None = None) -> Lines:
    claim: dict[str, Any] = {"kind": "flip", **case.priced, "lower": lower}
    claim |= {"towards": None if towards is None else case.classifier.labels[towards]}
    where = None if found is None else sorted(case.changed(found[0]))
    claim |= {"positions": where, "cost": None if where is None else case.cost(where)}
    lines = [case.header(claim), *([] if found is None else [{"point": case.point(*found)}])]
    unit = int(np.gcd.reduce(case.costs))
    costs = [cost // unit for cost in case.costs]
    for rival in (case.rivals if towards is None else [towards]) if lower else []:
        lines.append({"prove": "flip", "rival": case.classifier.labels[rival]})
        lines += picked(case, set(range(case.length)), (lower - 1) // unit, costs, case.at_most)
    return lines


def packed(lines: Lines) -> bytes:
    return gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode())


def accepted(lines: Lines, case: Case) -> bool:
    try:
        return isinstance(check(packed(lines), case.classifier), Checked)
    except Rejected:
        return False


def clear(case: Case) -> bool:
    """Doubles can prove what is not a tie by a hair: no margin but a tie is that close to zero
    here.
    """
    everything = itertools.product(*(range(len(row)) for row in case.choices))
    margins = [case.margin(text, case.label, j) for text in everything for j in case.rivals]
    return all(abs(margin) > 1e-9 for margin in margins)


# --- what is true is accepted, what is false is not ---


def test_sufficiency_is_accepted_exactly_where_it_is_true():
    seen = {True: 0, False: 0}
    for case in cases(6):
        for size in range(case.length + 1):
            for held in itertools.combinations(range(case.length), size):
                free = set(range(case.length)) - {*held}
                lines = [
                    case.header({"kind": "sufficient", "positions": list(held)}),
                    *sufficiency(case, free),
                ]
                truth = not case.flips(free)
                found = accepted(lines, case)
                assert truth or not found, case.data
                assert found or not truth or not clear(case), case.data
                seen[truth] += 1
    assert min(seen.values()) > 100


def test_a_refutation_is_accepted_exactly_where_no_more_words_change_than_may():
    seen = {True: 0, False: 0}
    for case in cases(8):
        everywhere = replace(
            case, data={key: value for key, value in case.data.items() if key != "at_most"}
        )
        for text, rival in everywhere.flips(set(range(case.length)))[:20]:
            claim = {"kind": "refuted", "positions": []}
            few = len(case.changed(text)) <= case.at_most
            assert accepted([case.header(claim), {"point": case.point(text, rival)}], case) == few
            seen[few] += 1
    assert min(seen.values()) > 20


def test_the_cheapest_set_is_accepted_and_one_unit_more_is_not():
    seen = 0
    for case in cases(8):
        found = explanations(case)
        if found:
            cost = case.cost(found[0])
            assert accepted(cheapest_lines(case, found[0], cost), case) or not clear(case)
            dearer = sorted({*found[0], *range(case.length)})
            if case.cost(dearer) > cost:
                assert not accepted(cheapest_lines(case, dearer, cost + 1), case)
                seen += 1
    assert seen > 20


def test_all_sets_are_accepted_and_a_list_that_lacks_one_or_has_another_is_not():
    several = 0
    others = 0
    for case in cases(12):
        found = explanations(case)
        if not found:
            continue
        assert accepted(all_lines(case, found), case) or not clear(case)
        if len(found) > 1:
            assert not accepted(all_lines(case, found[1:]), case)
            several += 1
        same = [
            c for n in range(case.length + 1) for c in itertools.combinations(range(case.length), n)
        ]
        wrong = [
            list(c) for c in same if case.cost(c) == case.cost(found[0]) and list(c) not in found
        ]
        if wrong:
            assert not accepted(all_lines(case, sorted([*found, wrong[0]])), case)
            others += 1
    assert several > 2
    assert others > 20


def test_a_set_of_the_list_closes_only_the_node_that_holds_just_its_words():
    """At the root nothing is held yet: the line would say that no other set needs to be
    looked at.
    """
    for case in cases(6):
        found = explanations(case)
        if found and found[0]:
            lines = all_lines(case, found)
            start = lines.index({"prove": "all"}) + 1
            assert not accepted([*lines[:start], {"set": 0}], case)
            assert not accepted(
                [*lines[:start], {"word": found[0][0]}, {"set": 0}, {"set": 0}], case
            )


def test_the_cheapest_flip_is_accepted_and_one_unit_more_is_not():
    seen = {"flip": 0, "none": 0, "too much": 0}
    for case in cases(10):
        everything = set(range(case.length))
        flips = sorted(case.flips(everything), key=lambda found: case.cost(case.changed(found[0])))
        if not flips:
            assert accepted(flip_lines(case, None, case.cost(everything) + 1), case) or not clear(
                case
            )
            seen["none"] += 1
            continue
        best = case.cost(case.changed(flips[0][0]))
        assert accepted(flip_lines(case, flips[0], best), case) or not clear(case)
        assert not accepted(flip_lines(case, None, best + 1), case)
        dear = flips[-1]
        if case.cost(case.changed(dear[0])) > best:
            assert not accepted(flip_lines(case, dear, best + 1), case)
            assert accepted(flip_lines(case, dear, best), case) or not clear(case)
            seen["too much"] += 1
        seen["flip"] += 1
    assert min(seen.values()) > 8


def test_a_flip_towards_one_label_says_nothing_of_the_others():
    seen = 0
    for case in cases(10):
        everything = set(range(case.length))
        rivals = case.rivals
        ways = {j: case.flips(everything, [j]) for j in rivals}
        for aim in rivals:
            costs = sorted(case.cost(case.changed(text)) for text, _ in ways[aim])
            lower = costs[0] if costs else case.cost(everything) + 1
            lines = flip_lines(case, None, lower, aim)
            assert accepted(lines, case) or not clear(case)
            others = [found for j in rivals if j != aim for found in ways[j]]
            if others and lower <= case.cost(case.changed(others[0][0])):
                assert not accepted(flip_lines(case, others[0], lower, aim), case)
                seen += 1
    assert seen > 3


def test_a_lower_bound_without_its_proofs_is_not_accepted():
    for case in itertools.islice(cases(2), 8):
        lines = flip_lines(case, None, 1)
        assert not accepted(lines[:1], case)
        assert not accepted([{**lines[0], "claim": {**lines[0]["claim"], "lower": -1}}], case)
        assert accepted(flip_lines(case, None, 0), case)


# --- the same claims by the search itself ---


def searched(case: Case) -> Lines | None:
    """The certificate that the search's own tree gives for "these are all", where it comes to an
    end.
    """
    prices = dict(zip(case.tokens, case.costs, strict=True))
    question = Question(
        case.classifier, list(case.tokens), perturbation=from_dict(case.data), cost=prices
    )
    with single_threaded():
        search = word_tree_search(question, question.budget, None)
        outcome = search.run()
        if outcome.witness is not None or not outcome.finished:
            return None
        found = list(optimal_sets(search, outcome.upper))
        root = getattr(search, "frontier", search).root
    head = question.header(
        certificate_lines.all_claim(
            [held for held, _ in found], question.costs, *[question.included] * 2
        )
    )
    proofs = certificate_lines.all_sets(case.classifier.labels, question.problem, found, root)
    return json.loads(json.dumps([head, *proofs]))  # type: ignore[no-any-return]


def flipped(case: Case) -> Lines:
    """The certificate of the cheapest flip that the prover finds, and of its proof that there is no
    cheaper one.
    """
    prices = dict(zip(case.tokens, case.costs, strict=True))
    question = Question(
        case.classifier, list(case.tokens), perturbation=from_dict(case.data), cost=prices
    )
    problem = question.problem
    costs = question.costs
    with single_threaded():
        flip = cheapest_flip(problem, costs, BoundsOracle(problem), Budget(30))
    head = question.header(certificate_lines.flip_claim(flip.witness, costs, flip.lower, None))
    lines = [
        head,
        *certificate_lines.flip(case.classifier.labels, problem.rivals, flip.witness, flip.proof),
    ]
    return json.loads(json.dumps(lines))  # type: ignore[no-any-return]


def test_the_provers_own_trees_show_that_no_flip_is_cheaper():
    seen = {"flip": 0, "none": 0}
    for case in cases(6):
        if not clear(case) or len({*case.tokens}) < case.length:
            continue  # words that come twice cost the same in a question
        lines = flipped(case)
        everything = set(range(case.length))
        costs = [case.cost(case.changed(text)) for text, _ in case.flips(everything)]
        unit = Fraction(lines[0]["claim"]["unit"])
        assert lines[0]["claim"]["lower"] * unit == min(costs, default=case.cost(everything) + unit)
        assert accepted(lines, case)
        seen["flip" if costs else "none"] += 1
    assert min(seen.values()) > 5


def test_the_searchs_own_tree_shows_that_its_sets_are_all():
    seen = 0
    for case in cases(8):
        if len({*case.tokens}) < case.length:
            continue  # words that come twice cost the same in a question
        lines = searched(case)
        if lines is not None:
            assert sorted(lines[0]["claim"]["sets"]) == explanations(case)
            assert accepted(lines, case)
            fewer = {
                **lines[0],
                "claim": {**lines[0]["claim"], "sets": lines[0]["claim"]["sets"][1:]},
            }
            assert not accepted([fewer, *lines[1:]], case)
            seen += 1
    assert seen > 8


def test_what_is_said_of_all_sets_says_how_many_words_change_at_once():
    """'plot' and 'thin' do not suffice where all others change at once: without the limit the
    sentence is false.
    """
    found = sf.explain_all(
        sf.load("sst-fc25"),
        "the plot is thin but the acting is superb",
        perturbation=sf.Deletion(at_most=2),
    )
    (only,) = list(found)
    assert [word.text for word in only.words] == ["plot", "thin"]
    assert (
        "this set of words suffices (at most 2 at once) and costs 2: 'plot' and 'thin'"
        in found.proved
    )


def test_a_radius_that_is_said_to_be_proved_is_the_one_that_was():
    found = sf.profile(
        sf.load("sst-fc25"), "a gorgeous and funny movie .", sf.EpsilonBall, [0.1, 0.5], seconds=20
    )
    sizes = {float(fact.split(":")[0].removeprefix("at eps = ")) for fact in found.proved}
    assert sizes == {found.free_until, found.needed_from}
    assert "some word is needed" in found.proved[-1]
