"""Bias: independent and dependent are proved and right, anything else is unknown and says why."""

from __future__ import annotations

import json

import numpy as np
import pytest
from judges import Judge

import suffice as sf
from suffice.cli import main
from suffice.render import verdicts
from suffice.verbs import accepting
from suffice.verbs import bias as biases
from suffice.verify.contract import Unknown

SEEDS = range(24)


@pytest.fixture(scope="module")
def sst() -> sf.Classifier:
    return sf.load("sst-fc25")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_verdict_is_that_of_trying_every_text(seed):
    judge = Judge(seed, classes=2 + seed % 2)
    protected = [seed % 4, (seed + 1) % 4]
    found = sf.bias(judge.classifier, judge.words, protected, perturbation=judge.perturbation)
    others = [i for i in range(4) if i not in protected]
    assert found.status == ("independent" if judge.robust(others) else "dependent")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_witness_changes_protected_words_only_and_the_label(seed):
    judge = Judge(seed)
    found = sf.bias(judge.classifier, judge.words, [0, 1], perturbation=judge.perturbation)
    if found.status == "dependent":
        assert found.witness is not None
        assert set(found.witness.positions) <= {0, 1}
        changed = found.to_dict()["changed_text"].split()
        assert judge.classifier.predict(changed).label == found.witness.label != found.label


def test_both_verdicts_occur_and_their_certificates_are_accepted(tiny):
    kinds = set()
    for seed in range(12):
        judge = Judge(seed)
        for perturbation in (
            judge.perturbation,
            sf.KNNBox(3),
            sf.KNNHull(3),
            sf.EpsilonBall(0.4, 2),
            sf.Deletion(),
        ):
            found = sf.bias(judge.classifier, judge.words, [0, 2], perturbation=perturbation)
            assert found.certificate is not None
            kinds.add((found.status, sf.check(found.certificate, judge.classifier).kind))
    assert kinds == {("independent", "independent"), ("dependent", "infeasible")}


def test_no_sampled_change_of_words_proved_independent_changes_the_label():
    rng = np.random.default_rng(0)
    for seed in range(12):
        judge = Judge(seed)
        found = sf.bias(judge.classifier, judge.words, [1, 3], perturbation=sf.KNNBox(4))
        if found.status == "independent":
            region = sf.KNNBox(4).around(judge.classifier, found.text)
            points = np.repeat(region.center[None], 200, axis=0)
            points[:, [1, 3]] = region.sample(rng, 200)[:, [1, 3]]
            assert {judge.classifier.predict_input(point).label for point in points} == {
                judge.label
            }


def test_a_function_sees_each_word_as_it_is_written(sst):
    seen = []

    def titled(word: str) -> bool:
        seen.append(word)
        return word.istitle()

    found = sf.bias(sst, "Ada met IBM , ada left", titled, perturbation=sf.KNNBox(5))
    assert seen == ["Ada", "met", "IBM", ",", "ada", "left"]
    assert found.positions == (0,)


def test_a_word_stands_for_all_its_occurrences_and_absent_words_do_not_matter(sst):
    found = sf.bias(sst, "She said she knew", ["she", "nobody"], perturbation=sf.KNNBox(5))
    assert [word.text for word in found.words] == ["She", "she"]


def test_a_text_without_protected_words_is_trivially_independent_and_says_so(sst):
    found = sf.bias(sst, "a fine film", ["she"], perturbation=sf.KNNBox(5))
    assert (found.status, found.trivial, found.positions) == ("independent", True, ())
    assert str(found).startswith("Nothing to prove: no protected word is in the text")
    assert found.certificate is not None


def test_protected_words_that_cannot_change_prove_nothing_and_it_says_so(sst):
    found = sf.bias(
        sst, "she made a fine film", ["she"], perturbation=sf.WordSwap({"film": ["movie"]})
    )
    assert (found.status, found.trivial, found.certificate) == ("unknown", True, None)
    assert [word.text for word in found.untested] == ["she"]
    assert str(found) == "Nothing was tested: 'she' could become nothing (no counterpart)."
    assert verdicts.bias_badge(found) == ("warn", "?", "undecided")


def test_what_protected_words_could_become_is_named_and_what_was_not_tested(sst):
    """Only the words that could become something are called independent."""
    found = sf.bias(
        sst,
        "she made a fine film , she said",
        ["she", "film"],
        perturbation=sf.WordSwap({"she": ["he"]}),
    )
    assert (found.status, found.meta["checked"]) == ("independent", True)
    assert str(found) == (
        "Independent: no allowed change of 'she' changes the label 'positive' (proved). 'she' "
        "could become 'he'. "
        "'film' could become nothing (no counterpart), and was not tested."
    )
    assert verdicts.bias_headline(found) == "The label does not depend on 'she'"
    data = found.to_dict()
    assert data["options"] == [
        {"position": i, "words": ["he"] if i != 4 else []} for i in found.positions
    ]
    assert data["untested"] == [4]
    both = sf.RemoveOrSwap({"film": ["movie", "picture"]})
    named = "'she' could be removed; 'film' could become 'movie' or 'picture' or be removed."
    assert named in str(sf.bias(sst, "she made a fine film", ["she", "film"], perturbation=both))
    assert "could" not in str(
        sf.bias(sst, "she made a fine film", ["she"], perturbation=sf.EpsilonBall(0.01))
    )


def test_a_word_that_is_read_like_its_counterpart_was_tested():
    """To a network both have the same vector: the label does not depend on which of them stands
    there.
    """
    network = sf.Network.dense([([[1.0], [-1.0]], [0.5, 0.0])])
    words = ["<PAD>", "<UNK>", "she", "he"]
    table = [[0.0], [1.0], [2.0], [2.0]]
    clf = sf.Classifier(network, table, words, ["up", "down"], 1, pad="<PAD>", unknown="<UNK>")
    found = sf.bias(clf, "she", ["she"], perturbation=sf.WordSwap({"she": ["he"]}))
    assert (found.status, found.trivial, found.untested) == ("independent", False, ())


@pytest.mark.parametrize("words", [["she", "he"], ["emily", "anna"]])
def test_that_a_protected_word_is_missing_counts_only_where_removal_was_asked_for(words):
    """A program that asks for some name or pronoun, whichever: without one it says
    something else.
    """
    judge = sf.from_function(
        lambda texts: [[float(any(w in t.split() for w in words)), 0.5] for t in texts], ["a", "b"]
    )
    text = f"{words[0]} won"
    free = sf.bias(judge, text, [words[0]], perturbation=sf.WordSwap({words[0]: words[1:]}))
    plain = sf.bias(judge, text, [words[0]])
    gone = sf.bias(judge, text, [words[0]], perturbation=sf.Deletion())
    assert "" not in plain.options[0]
    assert (free.status, gone.status) == ("independent", "dependent")
    if words[0] == "she":
        assert plain.status == "independent"
        assert sf.audit(judge, [text], "gender").overall.independent == 1
    assert sf.audit(judge, [text], [words[0]], perturbation=sf.Deletion()).overall.dependent == 1


@pytest.mark.parametrize("protected", ["she", [99], [True], [1.5]])
def test_what_cannot_be_protected_is_refused(sst, protected):
    with pytest.raises(sf.InputError):
        sf.bias(sst, "she made a fine film", protected, perturbation=sf.KNNBox(5))


def test_a_bundled_group_is_protected_by_its_name(sst):
    found = sf.bias(sst, "She made a fine film for boys", "gender", perturbation=sf.KNNBox(5))
    assert [word.text for word in found.words] == ["She", "boys"]


def test_without_a_set_a_protected_word_may_become_its_counterpart():
    """A classifier that decides by "he" alone: only the counterpart, neither removal nor a synonym,
    flips the label.
    """

    def predict(texts: list[str]) -> list[list[float]]:
        return [[0.2, 0.8] if "he" in text.split() else [0.8, 0.2] for text in texts]

    clf = sf.from_function(predict, labels=["no", "yes"], name="by-he")
    found = sf.bias(clf, "she made a fine film", "gender")
    assert (found.status, found.to_dict()["changed_text"]) == ("dependent", "he made a fine film")
    assert sf.audit(clf, ["she made a fine film", "a film"], "gender").overall.dependent == 1
    assert sf.explain(clf, "she made a fine film").status == "optimal"
    # elsewhere the default set stays as it is
    assert sf.explain(clf, "she made a fine film").positions == ()


def test_the_command_knows_the_bundled_groups(capsys):
    assert main(
        ["bias", "she made a fine film for old men", "--protected", "gender,age", "--json"]
    ) in (0, 1)
    said = json.loads(capsys.readouterr().out)
    assert [word["text"] for word in said["words"]] == ["she", "old", "men"]
    assert "he" in said["meta"]["perturbation"]["swaps"]["she"]


def test_a_rejected_certificate_makes_the_answer_unknown(sst, monkeypatch):
    def reject(certificate, classifier, seconds):
        raise sf.Rejected(3, "no")

    monkeypatch.setattr(accepting, "check", reject)
    found = sf.bias(sst, "she made a fine film", ["she"], perturbation=sf.KNNBox(5))
    assert (found.status, found.certificate, found.witness) == ("unknown", None, None)
    assert "did not accept" in found.reason


class Shrugging:
    name = "shrugging"

    def __init__(self, problem):
        pass

    def ask(self, free, budget):
        return [Unknown("I do not know")] * len(free)


def test_an_undecided_oracle_gives_unknown_with_its_reason(sst, monkeypatch, capsys):
    monkeypatch.setattr(biases, "make_oracle", lambda name, problem: Shrugging(problem))
    found = sf.bias(sst, "she made a fine film", ["she"], perturbation=sf.KNNBox(5))
    assert (found.status, found.reason, found.certificate) == ("unknown", "I do not know", None)
    assert main(["bias", "she made a fine film", "--protected", "she"]) == 3
    capsys.readouterr()


# --- the command ---

DEPENDENT = ["bias", "she says it is fine , he says it is not", "--knn-box", "400"]


def test_the_command_exits_with_0_when_independent_and_1_when_dependent(capsys, tmp_path):
    saved = tmp_path / "c"
    asked = ["bias", "she made a fine film", "--knn-box", "5", "--protected", "she,he"]
    assert main([*asked, "--certificate", str(saved)]) == 0
    assert "Independent: no allowed change of 'she'" in capsys.readouterr().out
    assert main(["check", str(saved)]) == 0
    assert "stays the label whatever 'she'" in capsys.readouterr().out
    assert main([*DEPENDENT, "--protected", "he"]) == 1
    assert "Dependent: changing only 'he'" in capsys.readouterr().out


def test_the_command_reads_protected_words_from_a_file(capsys, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("[men]\nHe  # any case\n[women]\nshe\n", encoding="utf-8")
    assert main([*DEPENDENT, "--protected", str(words), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["status"], [word["text"] for word in data["words"]]) == (
        "dependent",
        ["she", "he"],
    )


@pytest.mark.parametrize("given", ["missing.txt", "missing.json", ","])
def test_the_command_refuses_what_names_no_words(given, capsys):
    assert main([*DEPENDENT, "--protected", given]) == 2
    said = capsys.readouterr().err
    assert said.startswith("suffice: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("seed", range(4))
def test_another_oracle_gives_the_same_verdict(seed):
    judge = Judge(seed)
    asked = [
        sf.bias(
            judge.classifier, judge.words, [0, 1], perturbation=sf.KNNBox(3), oracle=oracle
        ).status
        for oracle in ("bounds", "milp")
    ]
    assert asked[0] == asked[1]


def test_a_proof_in_which_no_unit_can_change_sides_is_accepted(sst):
    found = sf.bias(
        sst, "she made a brilliant film", ["she"], perturbation=sf.WordSwap({"she": ["he"]})
    )
    assert (found.status, found.meta["checked"]) == ("independent", True)


def test_a_label_that_is_a_tie_before_anything_changes_does_not_depend_on_protected_words():
    """It was called dependent, also in texts without any protected word. Whether words may change
    is not the point.
    """
    clf = sf.load("sentiment")
    even = sf.from_function(
        lambda texts: [[0.5, 0.5]] * len(texts), ["negative", "positive"], "even"
    )
    empty = sf.bias(clf, "zxqv blorp", ["she"])
    held = sf.bias(even, "zxqv blorp", ["blorp"])
    assert (empty.status, empty.trivial, empty.tied, empty.certificate) == (
        "independent",
        True,
        "positive",
        None,
    )
    tie = "the label 'negative' is a tie with 'positive' as the text stands."
    assert str(empty) == f"Nothing to prove: no protected word is in the text, and {tie}"
    assert (held.status, held.tied, held.certificate) == ("unknown", "positive", None)
    assert (
        str(held)
        == f"Undecided: {tie} 'blorp' could become nothing (no counterpart), and was not tested."
    )
    for asked in (clf, even):
        rate = sf.audit(asked, ["zxqv blorp", "zxqv"], ["blorp"]).overall
        assert (rate.dependent, rate.unknown, rate.trivial) == (0, 1, 1)


def test_nothing_is_claimed_of_a_tie_where_a_protected_word_may_become_an_unknown_one():
    """It was called independent, as words that become unknown ones are no change to speak of; a tie
    may end by one.
    """
    network = sf.Network.dense([([[1.0], [-1.0]], [0.0, 0.0])])
    words = ["<PAD>", "<UNK>", "she"]
    clf = sf.Classifier(
        network, [[0.0], [1.0], [0.0]], words, ["up", "down"], 1, pad="<PAD>", unknown="<UNK>"
    )
    found = sf.bias(clf, "she", ["she"], perturbation=sf.WordSwap({"she": ["zxqv"]}))
    assert (found.status, found.tied, found.trivial) == ("unknown", "down", False)


def test_a_tie_is_called_one():
    """Equal scores count against the label, but no other label wins."""
    rows = {"she won": [1.0, 0.0], "he won": [0.5, 0.5], "they won": [0.1, 0.9]}
    judge = sf.from_function(lambda texts: [rows[text] for text in texts], ["up", "down"], "even")
    for other, said in (
        ("he", "lets 'down' reach 'up' (a tie)"),
        ("they", "turns 'up' into 'down'"),
    ):
        found = sf.bias(judge, "she won", ["she"], perturbation=sf.WordSwap({"she": [other]}))
        assert str(found) == f"Dependent: changing only 'she' {said}. 'she' could become {other!r}."


@pytest.mark.parametrize(
    ("text", "item", "positions"),
    [
        ("a film from New  York , new york !", "new york", (3, 4, 6, 7)),
        ("an african-american tale", "African-American", (1,)),
        ("the U.S. army", "U.S.", (1, 2, 3, 4)),
        ("new yorkers in york", "new york", ()),
        ("york new york", "New", (1,)),
    ],
)
def test_a_protected_name_of_several_words_is_found_where_it_stands(text, item, positions):
    """It was passed over, and the label called independent of it."""
    clf = sf.load("sentiment")
    assert sf.bias(clf, text, [item], perturbation=sf.Deletion()).positions == positions


def test_a_group_with_a_name_of_several_words_is_counted(tmp_path):
    clf = sf.from_function(
        lambda texts: np.array([[0.0, 1.0 if "York" in t else -1.0] for t in texts]), ["no", "yes"]
    )
    cities = {"cities": ["New York", "Paris"]}
    found = sf.audit(clf, ["we like New York", "we like Rome"], cities, perturbation=sf.Deletion())
    assert found.overall.dependent == 1
    assert [(one.name, one.dependent) for one in found.by_group] == [("cities", 1)]


def test_a_function_that_flips_on_a_name_with_its_capital_is_dependent():
    seen = sf.from_function(
        lambda texts: [[0, 1] if "Fatima" in t else [1, 0] for t in texts], ["in", "out"], "door"
    )
    found = sf.bias(seen, "I met Sarah today", "names")
    assert found.status == "dependent"
    assert found.witness.text == "I met Fatima today"
    assert sf.check(found.certificate, seen).kind == "infeasible"
