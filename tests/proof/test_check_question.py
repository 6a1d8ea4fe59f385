"""The checker and the person who asks: the same question, what is said, how long it takes, what is
refused.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from helpers import make_classifier

import suffice as sf
from suffice.errors import InputError, NotACertificate, NotChecked, Rejected
from suffice.model.classifier import Classifier
from suffice.model.network import Network, Step
from suffice.model.tokenizers import Pattern
from suffice.proof.check import check, evidence, limits, points
from suffice.verify.exact import exact_scores

LEAF = {"leaf": {"alpha": None, "beta": {}}}
Lines = list[dict[str, Any]]


def adder(
    words: dict[str, float], length: int = 3, threshold: float = 1.5, **more: Any
) -> Classifier:
    """The margin of "yes" is the sum of the words' values less the threshold."""
    table = {"<PAD>": 0.0, "<UNK>": 0.0, **words}
    network = Network.dense([([[1.0] * length, [0.0] * length], [-threshold, 0.0])])
    return Classifier(
        network, [[v] for v in table.values()], list(table), ["yes", "no"], length, **more
    )


def header(
    classifier: Classifier, text: Sequence[str], data: Any, claim: Any, **more: Any
) -> dict[str, Any]:
    tokens = [*text, *["<PAD>"] * (classifier.length - len(text))]
    head = {"certificate": 2, "model": classifier.digest, "text": tokens, "perturbation": data}
    return {**head, "features": list(range(len(text))), "label": "yes", "claim": claim, **more}


def lines(classifier: Classifier, text: Sequence[str], data: Any, claim: Any, **more: Any) -> Lines:
    """A claim of sufficiency and its proof, for a network without hidden units."""
    return [
        header(classifier, text, data, claim, **more),
        {"prove": "sufficient", "rival": "no"},
        LEAF,
    ]


def run(given: Lines, classifier: Classifier, **asked: Any) -> Any:
    return check(SimpleNamespace(lines=tuple(given)), classifier, **asked)


GOOD = adder({"good": 1.0, "fine": 1.0, "bad": 0.25, "awful": -3.0})
GONE = {"kind": "deletion"}
BOTH = {"kind": "sufficient", "positions": [0, 1]}
SWAPS = {"kind": "word-swap", "swaps": {"good": ["fine"], "bad": ["awful"]}}


def cheapest(**more: Any) -> dict[str, Any]:
    claim = {
        "kind": "cheapest",
        "positions": [0, 1],
        "costs": [2, 3, 2],
        "unit": "1/20",
        "cost": 5,
        "lower": 5,
    }
    return {**claim, "include": [], "exclude": [], **more}


def tree(**more: Any) -> Lines:
    """good and fine are needed: each of them alone, removed, ends the lead."""
    attacks = [
        {"changed": [i], "vectors": {"f8": base64.b64encode(bytes(8)).decode()}, "rival": "no"}
        for i in (0, 1)
    ]
    nodes = [{"word": 1}, {"cost": True}, {"attack": attacks[1]}]
    if 0 not in more.get("include", ()):
        nodes = [{"word": 0}, *nodes, {"attack": attacks[0]}]
    made = lines(GOOD, ["good", "fine", "bad"], GONE, cheapest(**more))
    return [*made, {"prove": "cheapest"}, *nodes]


# --- the same question ---


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"text": "Good, fine bad".replace(",", "")},
        {"text": ["good", "fine", "bad"]},
        {"text": GOOD.read("good fine bad")},
        {"perturbation": sf.Deletion()},
        {"perturbation": {"kind": "deletion"}},
        {"cost": {"good": 0.1, "fine": 0.15, "bad": 0.1}},
        {"cost": lambda word: {"fine": 0.15}.get(word, 0.1)},
        {"include": [], "exclude": []},
        {"text": "good fine bad", "perturbation": sf.Deletion(), "include": (), "exclude": ()},
    ],
)
def test_what_is_asked_is_what_it_is_about(asked):
    assert run(tree(), GOOD, **asked).optimal


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"text": "good fine fine"}, "another text: 'good fine bad'"),
        ({"text": "good fine"}, "another text"),
        ({"text": ["bad", "fine", "good"]}, "another text"),
        ({"perturbation": sf.KNNBox(2)}, "another perturbation set"),
        (
            {"perturbation": {"kind": "deletion", "at_most": 2}},
            "another perturbation set: there, {'at_most'",
        ),
        ({"cost": {}}, "other costs: there, 'good' costs 1/10, not 1"),
        (
            {"cost": {"good": 0.1, "fine": 0.150001, "bad": 0.1}},
            "other costs: there, 'fine' costs 3/20",
        ),
        ({"include": ["good"]}, "other words to include: there, none"),
        ({"exclude": [2]}, "other words to exclude: there, none"),
    ],
)
def test_another_question_is_rejected_and_the_part_named(asked, part):
    with pytest.raises(Rejected) as refusal:
        run(tree(), GOOD, **asked)
    assert part in str(refusal.value)
    assert refusal.value.line == 1


def test_padding_that_may_change_is_another_question():
    text = ["good", "fine"]
    gone = sf.Deletion()
    for padding, other in itertools.permutations(("fixed", "feature")):
        found = sf.explain(GOOD, text, perturbation=gone, padding=padding).certificate
        asked = sf.Question(GOOD, text, perturbation=gone, padding=padding)
        assert sf.check(found, GOOD, question=asked).optimal
        with pytest.raises(Rejected, match="other positions may change"):
            sf.check(found, GOOD, question=replace(asked, padding=other))


def test_a_flip_towards_another_label_answers_another_question():
    def scores(texts):
        return np.array(
            [[1.0 + ("good" in t), 1.0 - ("bad" in t), 0.5 + ("fine" in t)] for t in texts]
        )

    box = sf.from_function(scores, ["yes", "no", "perhaps"])
    net = make_classifier(5, classes=3)
    for clf, text in ((box, ["good", "fine"]), (net, ["word1", "word2"])):
        label = clf.predict(text).label
        rivals = [None, *(one for one in clf.labels if one != label)]
        for towards in rivals:
            found = sf.contrast(clf, text, perturbation=sf.Deletion(), towards=towards)
            for asked in rivals:
                question = sf.Question(
                    clf, text, perturbation=sf.Deletion(), more={"towards": asked}
                )
                if asked == towards:
                    assert sf.check(found.certificate, clf, question=question).kind == "flip"
                else:
                    with pytest.raises(Rejected, match="another label to turn to"):
                        sf.check(found.certificate, clf, question=question)


def test_a_question_of_independence_is_about_these_protected_words():
    box = sf.from_function(
        lambda texts: np.array([[2.0, len(t) / 99] for t in texts]), ["yes", "no"]
    )
    for clf, text in ((box, ["good", "fine"]), (GOOD, ["good", "fine", "bad"])):
        found = sf.bias(clf, text, [len(text) - 1], perturbation=sf.WordSwap({text[-1]: ["good"]}))
        assert found.status == "independent"
        asked = sf.Question(
            clf, text, perturbation=sf.WordSwap({text[-1]: ["good"]}), exclude=[len(text) - 1]
        )
        assert sf.check(found.certificate, clf, question=asked).kind == "independent"
        for others in ((), (0,), (0, len(text) - 1)):
            with pytest.raises(Rejected, match="other words to exclude"):
                sf.check(found.certificate, clf, question=replace(asked, exclude=others))


def test_a_question_and_its_parts_are_not_given_together():
    with pytest.raises(InputError, match="A question says all of it"):
        sf.check(b"", GOOD, "good", question=sf.Question(GOOD, "good"))


def test_include_and_exclude_are_part_of_the_question_and_of_the_sentence():
    found = run(tree(include=[0], exclude=[2]), GOOD, include=["good"], exclude=["bad"])
    assert "Nothing cheaper that holds 'good' and avoids 'bad' suffices." in found.sentence
    assert found.proved == (
        "the text has the label 'yes'",
        (
            "'good' and 'fine' suffice: 'yes' stays the label whatever the other words become; "
            "that costs 0.25"
        ),
        "nothing cheaper that holds 'good' and avoids 'bad' suffices",
    )
    for asked in (
        {"include": []},
        {"include": ["fine"]},
        {"exclude": []},
        {"exclude": [2], "include": [0, 1]},
    ):
        with pytest.raises(Rejected, match="other words to"):
            run(tree(include=[0], exclude=[2]), GOOD, **asked)


def test_substitutes_are_compared_for_the_words_of_the_text():
    made = lines(GOOD, ["good", "fine"], SWAPS, BOTH)
    more = {"good": ["fine"], "bad": ["awful"], "unused": ["good"]}
    for same in (
        sf.WordSwap(more),
        sf.WordSwap({"Good": ["fine"]}),
        {"kind": "word-swap", "swaps": {"good": ["fine"]}},
    ):
        assert run(made, GOOD, perturbation=same).kind == "sufficient"
    for other in (
        {},
        {"good": []},
        {"good": ["fine", "bad"]},
        {"good": ["fine"], "fine": ["good"]},
    ):
        with pytest.raises(Rejected, match="another perturbation set"):
            run(made, GOOD, perturbation=sf.WordSwap(other))
    with pytest.raises(Rejected, match="another perturbation set"):
        run(made, GOOD, perturbation=sf.RemoveOrSwap({"good": ["fine"]}))


def test_a_proof_about_some_of_the_words_is_not_one_about_the_text():
    some = lines(
        GOOD, ["good", "fine", "bad"], GONE, {"kind": "sufficient", "positions": []}, features=[]
    )
    assert "so nothing is said about changes" in run(some, GOOD).sentence
    with pytest.raises(Rejected, match="only some of the text's words"):
        run(some, GOOD, text="good fine bad")


def test_what_cannot_be_a_question_is_an_input_error():
    for asked in (
        {"seconds": 0},
        {"seconds": "long"},
        {"seconds": True},
        {"seconds": float("nan")},
    ):
        with pytest.raises(InputError, match="time limit"):
            run(tree(), GOOD, **asked)
    wrong = [
        {"perturbation": 3},
        {"cost": [1.0]},
        {"include": "good"},
        {"exclude": 1},
        {"text": ""},
        {"text": [3]},
    ]
    for asked in wrong:
        with pytest.raises(InputError):
            run(tree(), GOOD, **asked)
    with pytest.raises(Rejected, match="without these words"):
        run(tree(), GOOD, include=["nowhere"])
    with pytest.raises(InputError, match="load"):
        check(SimpleNamespace(lines=()), "sst-fc25")  # type: ignore[arg-type]


# --- what is said ---


def test_the_sentence_names_text_label_changes_costs_and_substitutes():
    found = run(tree(), GOOD).sentence
    assert found == (
        f"For the classifier {GOOD.digest[:16]}, over the real numbers: the text 'good fine "
        "bad' has the label 'yes'. "
        "Each of its 3 words may become padding (its place stays), all at once. 'good' and "
        "'fine' suffice: 'yes' "
        "stays the label whatever the other words become; that costs 0.25. Nothing cheaper "
        "suffices. Words cost: "
        "'good' 0.1, 'fine' 0.15, 'bad' 0.1."
    )
    data = {"kind": "word-swap", "swaps": {"good": ["bad"], "awful": ["good"]}, "at_most": 1}
    swaps = run(lines(GOOD, ["good", "fine"], data, BOTH), GOOD).sentence
    assert (
        "one of its substitutes ('good': 'bad'), at most 1 of them at once; 1 of them cannot."
        in swaps
    )


def test_what_is_said_of_no_words_is_a_sentence():
    sentiment = sf.load("sentiment")
    rugged = sf.from_function(lambda texts: np.array([[0.4, 0.6]] * len(texts)), ["n", "y"])
    tied = sf.explain(sentiment, "…")
    assert (
        tied.proved[1]
        == "no set of words suffices: 'negative' does not lead in the text as it stands"
    )
    for clf in (sentiment, rugged):
        found = sf.bias(clf, "great", ["zebra"], perturbation=sf.Deletion())
        assert found.proved[1] == "no word was named that the label could depend on"


def test_a_price_is_written_as_a_person_counts():
    third = tree(unit="1/3")
    assert "that costs 5/3." in run(third, GOOD).sentence
    assert "that costs 10." in run(tree(unit="2"), GOOD).sentence
    assert (
        "nothing that costs less than 0.2 suffices; what lies between is open"
        in run(tree(lower=4), GOOD).proved[-1]
    )


def test_a_radius_is_written_as_it_is_and_not_rounded_up():
    ball = {"kind": "epsilon-ball", "eps": 0.1, "p": 2}
    assert (
        "within 0.1 of its own"
        in run(lines(GOOD, ["good", "fine"], ball, {**BOTH, "positions": [0]}), GOOD).sentence
    )
    hardly = {**ball, "eps": 0.1 - 2**-30}
    found = run(lines(GOOD, ["good", "fine"], hardly, {**BOTH, "positions": [0]}), GOOD).sentence
    assert f"within {0.1 - 2**-30!r} of its own" in found


@pytest.mark.parametrize(
    "unit", ["", "0", "1/0", "0/3", "-1", "1.5", "1/2/3", " 1", "1e3", "٣", 1, None, "1" * 500]
)
def test_a_unit_is_a_positive_fraction(unit):
    with pytest.raises(Rejected):
        run(tree(unit=unit), GOOD)


def test_a_lower_bound_below_zero_is_none():
    with pytest.raises(Rejected, match="lower"):
        run(tree(lower=-1), GOOD)


# --- words of a list ---


def test_words_are_taken_as_they_are_and_shown_as_a_list_where_their_string_is_read_otherwise():
    """To this classifier the string AWFUL is awful; the word AWFUL of a list is an unknown one."""
    made = lines(GOOD, ["good", "fine", "AWFUL"], GONE, {"kind": "sufficient", "positions": [0, 1]})
    assert (
        "the words ['good', 'fine', 'AWFUL'], taken as they are, have the label"
        in run(made, GOOD).sentence
    )
    assert run(made, GOOD, text=["good", "fine", "AWFUL"])
    with pytest.raises(Rejected, match="another text"):
        run(made, GOOD, text="good fine AWFUL")
    for word in ("nowhere", "it's", "7", "!"):
        said = run(lines(GOOD, ["good", "fine", word], GONE, BOTH), GOOD).sentence
        assert f"the text {f'good fine {word}'!r} has the label" in said
    for word in ("<UNK>", "<PAD>", "...", "Fine", "'mr", "+3"):
        assert run(lines(GOOD, ["good", "fine", word], GONE, BOTH), GOOD)


def test_what_no_list_of_words_can_hold_is_refused():
    for word in ("two words", " good", "", "\t"):
        with pytest.raises(Rejected, match="is not one word"):
            run(lines(GOOD, ["good", "fine", word], GONE, BOTH), GOOD)


def test_a_word_of_the_vocabulary_that_a_list_can_hold_is_allowed():
    dots = adder({"good": 1.0, "fine": 1.0, "...": 0.0})
    assert run(lines(dots, ["good", "fine", "..."], GONE, BOTH), dots)


def test_where_words_count_once_none_comes_twice():
    once = adder({"good": 1.0, "fine": 1.0, "bad": 0.25}, tokenizer=Pattern(once=True))
    assert run(lines(once, ["good", "fine", "bad"], GONE, BOTH), once)
    with pytest.raises(Rejected, match="count once"):
        run(
            lines(
                once, ["good", "fine", "fine"], {"kind": "epsilon-ball", "eps": 0.1, "p": 1}, BOTH
            ),
            once,
        )
    with pytest.raises(Rejected, match="counts once"):
        run(
            lines(
                once,
                ["good", "fine", "bad"],
                {"kind": "word-swap", "swaps": {"bad": ["good"]}},
                BOTH,
            ),
            once,
        )
    with pytest.raises(Rejected, match="count once"):
        run(lines(once, ["good", "fine", "bad"], {"kind": "knn-box", "k": 1}, BOTH), once)


# --- files that would take long, or much ---


def deep(classifier: Classifier, splits: int) -> Iterator[dict[str, Any]]:
    """A complete tree over some units, each leaf of which is worked on."""
    yield header(
        classifier, ["word1"], {"kind": "knn-box", "k": 3}, {"kind": "sufficient", "positions": [0]}
    )
    yield {"prove": "sufficient", "rival": "no"}

    def below(unit: int) -> Iterator[dict[str, Any]]:
        if unit == splits:
            yield LEAF
        else:
            yield {"split": unit}
            yield from below(unit + 1)
            yield from below(unit + 1)

    yield from below(0)


def slow() -> Classifier:
    """Forty relus twice over; the label leads by a lot when nothing moves."""
    rng = np.random.default_rng(0)
    layers = [
        (rng.normal(size=(40, 6)), rng.normal(size=40)),
        (rng.normal(size=(40, 40)), np.zeros(40)),
    ]
    network = Network.dense([*layers, (np.zeros((2, 40)), np.array([1.0, 0.0]))])
    table = rng.normal(size=(12, 2))
    return Classifier(
        network, table, ["<PAD>", "<UNK>", *(f"word{i}" for i in range(10))], ["yes", "no"], 3
    )


def test_a_small_file_that_would_take_long_is_not_checked_to_its_end():
    """A million leaves in a few kilobytes."""
    classifier, ended = slow(), False

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal ended
        yield from deep(classifier, 20)
        ended = True

    with pytest.raises(NotChecked, match=r"not checked within 0\.3 seconds") as refusal:
        check(SimpleNamespace(lines=counted()), classifier, seconds=0.3)
    assert refusal.value.line > 3
    assert not ended
    assert isinstance(refusal.value, Rejected)  # whoever asks for Rejected is safe


def test_the_limit_is_looked_at_between_leaves_words_and_products(monkeypatch):
    """Whichever look is the first after the end, nothing is accepted."""
    looks = itertools.count()
    before = limits.Limit.check_time

    def counting(self: Any, line: int = 0) -> None:
        next(looks)
        before(self, line)

    monkeypatch.setattr(limits.Limit, "check_time", counting)
    box = header(GOOD, ["good", "fine"], {"kind": "knn-hull", "k": 1}, BOTH)
    given = [box, {"prove": "sufficient", "rival": "no"}, LEAF]
    assert run(given, GOOD)
    total = next(looks)
    for last in range(total):
        left = iter([False] * last + [True] * 1000)

        def ending(self: Any, line: int = 0, left: Any = left) -> None:
            if next(left):
                raise NotChecked(line, "not checked")

        monkeypatch.setattr(limits.Limit, "check_time", ending)
        with pytest.raises(NotChecked):
            run(given, GOOD)
    assert total >= 5


def test_open_branches_fill_no_memory(monkeypatch):
    """Picks that leave one choice after the other, each with all that is left beside it."""
    words = [f"w{i}" for i in range(3000)]
    classifier = adder(dict.fromkeys(words, 1.0), length=3)
    data = {"kind": "word-swap", "swaps": {"w0": words[1:], "w1": words[2:], "w2": words[3:]}}
    picks = ({"pick": 0, "chosen": list(range(i))} for i in range(2999, 0, -1))
    claim = {"kind": "sufficient", "positions": []}
    head = header(classifier, ["w0", "w1", "w2"], data, claim)
    monkeypatch.setattr(evidence, "MAX_OPEN_BYTES", 2**20)
    tracemalloc.start()
    try:
        with pytest.raises(Rejected, match="too deep"):
            check(
                SimpleNamespace(
                    lines=itertools.chain([head, {"prove": "sufficient", "rival": "no"}], picks)
                ),
                classifier,
            )
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


def test_a_pick_that_leaves_nothing_on_one_side_is_none():
    for chosen in ([], [0, 1], [5]):
        made = lines(
            GOOD, ["good", "fine", "bad"], GONE, {"kind": "sufficient", "positions": [0, 1]}
        )
        with pytest.raises(Rejected):
            run([*made[:2], {"pick": 2, "chosen": chosen}, LEAF, LEAF], GOOD)
        assert run([*made[:2], {"pick": 2, "chosen": [1]}, LEAF, LEAF], GOOD)
        with pytest.raises(Rejected, match="both sides"):
            run([*made[:2], {"pick": 0, "chosen": [0]}, LEAF, LEAF], GOOD)  # a fixed word


def test_a_key_that_comes_twice_is_refused():
    text = "".join(json.dumps(line) + "\n" for line in tree())
    assert check(gzip.compress(text.encode()), GOOD).optimal
    twice = text.replace('"beta": {}', '"beta": {"0": 1.0, "0": 2.0}')
    with pytest.raises(NotACertificate, match="twice"):
        check(gzip.compress(twice.encode()), GOOD)


def test_format_1_is_refused_with_a_sentence():
    with pytest.raises(NotACertificate, match="format 1, which is no longer read"):
        run([{**tree()[0], "certificate": 1}], GOOD)


# --- numbers that doubles do not hold ---


def beyond(weight: float) -> Classifier:
    """The margin of "yes" is 1 - relu(5 + w·x) with x = 2^-1024: about -4, whatever w is.

    Where (w - |w|) / 2 is -inf, the relu seems to be off, and the margin to be 1.
    """
    classifier = adder({"good": 2.0**-1024}, length=1)
    hidden = Step(np.array([[weight]]), np.array([5.0]), np.array([True]))
    last = Step(np.array([[-1.0], [0.0]]), np.array([1.0, 0.0]), np.array([False, False]))
    # a classifier refuses such weights itself
    object.__setattr__(classifier, "network", Network((hidden, last)))
    classifier.__dict__.pop("digest", None)
    return classifier


@pytest.mark.parametrize(
    "weight", [1.0, 1e150, 2.0**799, 2.0**801, 2.0**1023, -(2.0**1023), 1.7e308, -1.7e308]
)
def test_no_weight_is_so_large_that_something_false_is_accepted(weight):
    classifier = beyond(weight)
    claim = {"kind": "sufficient", "positions": []}
    alone = {"kind": "word-swap", "swaps": {}}
    with pytest.raises(Rejected):
        run(lines(classifier, ["good"], alone, claim), classifier)
    empty = {"changed": [], "vectors": {"f8": ""}, "rival": "yes"}
    refuted = [
        header(classifier, ["good"], alone, {"kind": "refuted", "positions": []}, label="no"),
        {"point": empty},
    ]
    with pytest.raises(Rejected):  # "no" leads clearly: the text is no counterexample
        run(refuted, classifier)


@pytest.mark.parametrize("size", [2.0**700, 2.0**900, 2.0**1023])
def test_vectors_that_overflow_prove_nothing(size):
    """x - y with x = y = size: the difference is a tie, but the sizes are beyond what doubles
    compare.
    """
    classifier = adder({"good": 1.0, "fine": 1.0}, length=2, threshold=0.0)
    table = np.array([[0.0], [0.0], [size], [size]])
    object.__setattr__(classifier, "embedding", table)
    steps = (Step(np.array([[2.0, -2.0], [0.0, 0.0]]), np.zeros(2), np.array([False, False])),)
    object.__setattr__(classifier, "network", Network(steps))
    for name in ("digest", "columns"):
        classifier.__dict__.pop(name, None)
    with pytest.raises(Rejected):
        run(
            lines(classifier, ["good", "fine"], {"kind": "word-swap", "swaps": {}}, BOTH),
            classifier,
        )


def test_a_certificate_for_a_bundled_model_says_what_it_is_about():
    classifier = sf.load("sst-fc25")
    text = "a gorgeous , witty , seductive movie ."
    result = sf.explain(
        classifier, text, perturbation=sf.Deletion(at_most=None), include=["witty"], seconds=20
    )
    asked = {
        "text": text,
        "perturbation": sf.Deletion(),
        "cost": {},
        "include": ["witty"],
        "exclude": [],
    }
    found = check(result.certificate, classifier, **asked)
    assert set(found.positions) == set(result.positions)
    assert "nothing cheaper that holds 'witty'" in found.proved[-1]
    with pytest.raises(Rejected, match="other words to include"):
        check(result.certificate, classifier, include=[])


def test_exact_scores_have_the_sign_of_fractions():
    """Whole numbers over a common denominator, beside fractions all the way."""
    for seed in range(5):
        classifier = make_classifier(seed, length=4, hidden=(5, 4), classes=3)
        values = classifier.embed(classifier.read(["word1", "word2"])).ravel()
        scores = points.exact_scores(classifier.network.steps, values.tolist(), limits.Limit.of(60))
        floats = classifier.network.forward(values)
        assert np.argsort(scores).tolist() == np.argsort(floats).tolist()
        ratio = scores[0] / scores[1]
        assert ratio == pytest.approx(floats[0] / floats[1], rel=1e-9)
    assert replace(GOOD).digest == GOOD.digest


@pytest.mark.parametrize("sparse", [False, True])
def test_exact_scores_of_texts_with_empty_places_are_those_of_fractions(sparse):
    """Zeros are left out of the sums by checker and prover; here they are multiplied
    like all else.
    """
    rng = np.random.default_rng(4)
    for empty in (0, 3, 6):
        first = np.where(rng.random((5, 6)) < 0.5, rng.standard_normal((5, 6)), 0.0)
        weight = scipy.sparse.csr_array(first) if sparse else first
        last = Step(rng.standard_normal((3, 5)), rng.standard_normal(3), np.zeros(3, dtype=bool))
        network = Network((Step(weight, rng.standard_normal(5), np.ones(5, dtype=bool)), last))
        values = np.where(rng.permutation(6) < empty, 0.0, rng.standard_normal(6))
        sums = [
            _sum(row, values, bias) for row, bias in zip(first, network.steps[0].bias, strict=True)
        ]
        hidden = [max(Fraction(0), total) for total in sums]
        wanted = [_sum(row, hidden, bias) for row, bias in zip(last.weight, last.bias, strict=True)]
        assert exact_scores(network, values) == wanted
        scaled = points.exact_scores(network.steps, values.tolist(), limits.Limit.of(60))
        assert [Fraction(score, scaled[0]) for score in scaled] == [
            score / wanted[0] for score in wanted
        ]


def _sum(weights, values, bias):
    return Fraction(bias) + sum(
        (Fraction(w) * Fraction(v) for w, v in zip(weights, values, strict=True)), Fraction(0)
    )


# --- budgets are spent inside the bound, not only by picks ---


def worth(values: Sequence[float], threshold: float) -> Classifier:
    """Words w0, w1, … of these values; the margin of "yes" is the sum of those that are left, less
    the threshold.
    """
    return adder({f"w{i}": value for i, value in enumerate(values)}, len(values), threshold)


@pytest.mark.parametrize("seed", range(6))
def test_a_single_leaf_under_at_most_knows_just_what_so_many_words_can_do(seed):
    """Linear, so the bound is exact: the r most valuable words removed, and no more than these."""
    rng = np.random.default_rng(seed)
    values = rng.permutation(np.arange(1.0, 6.0)).tolist()
    words = [f"w{i}" for i in range(5)]
    for r, kept in itertools.product(range(1, 6), np.arange(-0.5, 15.0)):
        classifier = worth(values, float(kept))
        data = {"kind": "deletion", "at_most": r}
        made = lines(classifier, words, data, {"kind": "sufficient", "positions": [0]}, label="yes")
        rest = sum(values) - sum(sorted(values[1:], reverse=True)[:r])
        assert accepted(made, classifier) == (rest > kept)


@pytest.mark.parametrize("seed", range(6))
def test_a_single_leaf_of_a_flip_proof_knows_what_a_budget_can_buy(seed):
    """With equal costs exactly; with others, nothing false is accepted, and what fits whole words
    is exact again.
    """
    rng = np.random.default_rng(seed)
    values = rng.permutation(np.arange(1.0, 6.0)).tolist()
    words = [f"w{i}" for i in range(5)]
    unequal = rng.integers(1, 4, 5).tolist()
    seen = {True: 0, False: 0}
    for costs, lower, kept, r in itertools.product(
        ([2] * 5, unequal), range(1, 9), np.arange(-0.5, 15.0, 2), (None, 1)
    ):
        classifier = worth(values, float(kept))
        data = {"kind": "deletion", **({} if r is None else {"at_most": r})}
        claim = {
            "kind": "flip",
            "positions": None,
            "towards": None,
            "costs": costs,
            "unit": "1",
            "cost": None,
        }
        head = header(classifier, words, data, {**claim, "lower": lower})
        sets = [
            s for n in range(6) for s in itertools.combinations(range(5), n) if r is None or n <= r
        ]
        worst = max(sum(values[i] for i in s) for s in sets if sum(costs[i] for i in s) < lower)
        found = accepted([head, {"prove": "flip", "rival": "no"}, LEAF], classifier)
        true = sum(values) - worst > kept
        assert true or not found
        assert found or not true or len(set(costs)) > 1
        seen[found] += 1
    assert min(seen.values()) > 20


def accepted(given: Lines, classifier: Classifier) -> bool:
    try:
        return bool(run(given, classifier))
    except Rejected:
        return False


def test_choices_of_an_open_word_are_picked_only_where_every_open_word_is_paid_for():
    classifier = worth([1.0, 2.0], 0.5)
    words = ["w0", "w1"]
    for r, fine in ((1, False), (2, True)):
        made = lines(
            classifier,
            words,
            {"kind": "deletion", "at_most": r},
            {"kind": "sufficient", "positions": [1]},
        )
        head = {**made[0], "claim": {"kind": "sufficient", "positions": []}}
        picked = [head, made[1], {"pick": 0, "chosen": [1]}, LEAF, LEAF]
        with pytest.raises(Rejected, match="bound of this leaf" if fine else "has to be paid for"):
            run(picked, classifier)
    always = worth([1.0, 2.0], -0.5)
    claim = {"kind": "sufficient", "positions": []}
    made = lines(always, words, {"kind": "deletion", "at_most": 2}, claim)
    assert run([*made[:2], {"pick": 0, "chosen": [1]}, LEAF, LEAF], always)


def test_a_flip_changes_all_the_words_that_it_is_said_to_cost():
    gone = {"changed": [0], "vectors": {"f8": base64.b64encode(bytes(8)).decode()}, "rival": "no"}
    claim = {"kind": "flip", "towards": None, "costs": [1, 1, 1], "unit": "1", "lower": 0}
    for positions, fine in (([0], True), ([0, 1], False)):
        said = {**claim, "positions": positions, "cost": len(positions)}
        assert (
            accepted([header(GOOD, ["good", "fine", "bad"], GONE, said), {"point": gone}], GOOD)
            == fine
        )


@pytest.mark.parametrize(
    ("sets", "reason"),
    [
        ([[0, 1], [0]], "must cost"),
        ([[0, 1], [0, 1]], "twice"),
        ([], "at least one"),
        ([[0, 1], [1, 2]], "include"),
    ],
)
def test_all_sets_are_different_cost_the_same_and_fit(sets, reason):
    claim = {
        "kind": "all",
        "sets": sets,
        "costs": [2, 3, 2],
        "unit": "1",
        "include": [0],
        "exclude": [],
        "cost": 5,
    }
    with pytest.raises(Rejected, match=reason) as refusal:
        run([header(GOOD, ["good", "fine", "bad"], GONE, claim)], GOOD)
    assert refusal.value.line == 1
