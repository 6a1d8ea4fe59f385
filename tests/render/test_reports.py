"""The reports of flips, protected words, growth and audits: true of the question, one file each,
safe, themed.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

import suffice as sf
from suffice.corpus.findings import summarise
from suffice.render import audit, growth, style, verdicts
from suffice.sets.perturbations import for_audits

TEXT = "the jokes fall flat, but the cast is wonderful and the songs are great fun."


@pytest.fixture(scope="module")
def model():
    return sf.load("sentiment")


@pytest.fixture(scope="module")
def answers(model):
    grown = sf.profile(model, TEXT, lambda limit: sf.Deletion(at_most=limit), [1, 2, 4])
    return {
        "contrast": sf.contrast(model, TEXT),
        "bias": sf.bias(model, TEXT, ["jokes"]),
        "profile": grown,
    }


@pytest.mark.parametrize("verb", ["contrast", "bias", "profile"])
def test_every_report_is_one_file_that_runs_and_loads_nothing(answers, verb, tmp_path):
    page = answers[verb].to_html()
    assert "<script" not in page
    assert not re.findall(r'(?:src|href)="(?!data:application/json)', page)
    assert "url(" not in page
    answers[verb].save_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page


@pytest.mark.parametrize("verb", ["contrast", "bias"])
def test_a_report_holds_exactly_the_question_that_was_asked(answers, model, verb):
    coded = re.search(
        r'href="data:application/json;charset=utf-8,([^"]*)"', answers[verb].to_html()
    )[1]
    again = sf.Question.from_dict(json.loads(unquote(coded)), model)
    guarded = {"exclude": ["jokes"], "perturbation": for_audits(None)} if verb == "bias" else {}
    asked = sf.Question(model, TEXT, **guarded)
    assert again.to_dict() == asked.to_dict()


def test_proved_is_said_only_where_the_checker_accepted(answers):
    for verb, badge in (("contrast", verdicts.flip_badge), ("bias", verdicts.bias_badge)):
        checked = answers[verb]
        assert badge(checked)[0] == "good"
        doubted = replace(checked, meta={**checked.meta, "checked": False})
        tone, _, words = badge(doubted)
        assert tone == "warn"
        assert "proved" not in words
        assert 'class="badge good"' not in doubted.to_html()


def test_growth_is_called_proved_only_where_every_size_is(answers):
    grown = answers["profile"]
    assert verdicts.growth_badge(grown)[0] == "good"
    first = grown.explanations[0]
    doubted = replace(first, meta={**first.meta, "checked": False})
    some = replace(grown, explanations=(doubted, *grown.explanations[1:]))
    assert verdicts.growth_badge(some) == (
        "warn",
        "◐",
        "proved at 2 of 3 sizes asked; bounds at the others",
    )


def test_an_aim_is_part_of_what_is_said_of_a_flip():
    model = sf.load("topic")
    text = "the team won the cup"
    aim = next(label for label in model.labels if label != model.predict(text).label)
    allowed = sf.WordSwap({"cup": ["trophy"]})
    flip = sf.contrast(model, text, perturbation=allowed, towards=aim)
    shown = replace(flip, status="none", flip=None, positions=(), words=())
    assert verdicts.flip_headline(shown) == f"Nothing turns it into “{aim}”"
    assert f"turns the label into “{aim}”" in verdicts.flip_badge(shown)[2]
    assert "flips the label" not in verdicts.flip_badge(shown)[2]


def test_nothing_to_prove_is_not_called_independence(model):
    trivial = sf.bias(model, TEXT, ["Mary"])
    assert verdicts.bias_headline(trivial) == "Nothing to prove"
    assert verdicts.bias_badge(trivial)[0] != "good"


def test_hostile_texts_and_labels_stay_text(model):
    text = 'great <script>alert(1)</script> film "onload=x \u202e'
    for page in (
        sf.contrast(model, text).to_html(),
        sf.bias(model, text, ["film"]).to_html(),
        sf.profile(model, text, lambda limit: sf.Deletion(at_most=limit), [1, 2]).to_html(),
    ):
        assert "<script" not in page
        assert "\u202e" not in page


# --- growth as steps ---


def grown(steps, costs, lower=None, parameter="k"):
    named = lambda size: f"{parameter} = {size:g}"  # noqa: E731
    return SimpleNamespace(
        steps=steps, costs=costs, lower_bounds=lower or costs, parameter=parameter, named=named
    )


def test_between_sizes_that_were_not_asked_nothing_is_claimed_but_the_range():
    drawn = growth.chart(grown([5, 15, 40], [1.0, 1.0, 3.0]))
    assert drawn.count("<rect") == 1  # only where the cost rises
    assert growth.legend(grown([5, 15, 40], [1.0, 1.0, 3.0])).startswith("Pale")


def test_neighbouring_whole_sizes_make_a_plain_step():
    drawn = growth.chart(grown([1, 2, 3], [1.0, 2.0, 3.0]))
    assert "<rect" not in drawn
    assert growth.legend(grown([1, 2, 3], [1.0, 2.0, 3.0])) == ""
    lines = re.findall(r'x1="([\d.]+)%" x2="([\d.]+)%" y1="([\d.]+)" y2="([\d.]+)"', drawn)
    assert all(a == b or c == d for a, b, c, d in lines)


def test_a_cost_that_is_not_decided_is_a_range_and_what_is_impossible_has_no_cost():
    drawn = growth.chart(grown([1, 2], [2.0, float("inf")], [1.0, float("inf")]))
    assert ">1–2<" in drawn
    assert ">none<" in drawn
    assert "inf" not in drawn
    assert "nan" not in drawn


# --- audits ---


def line(row, status="independent", trivial=False):
    base = {
        "row": row,
        "text": f"text {row}",
        "label": "positive",
        "status": status,
        "trivial": trivial,
    }
    return {
        **base,
        "reason": "",
        "protected": [],
        "witness": None,
        "by_word": [],
        "by_group": [],
        "checked": True,
    }


def test_what_did_not_happen_has_no_colour():
    page = audit.page(summarise([line(1), line(2, trivial=True)]), "Audit")
    badges = re.findall(
        r'<span class="badge (\w+)"><span aria-hidden="true">.</span> (\d+ [^<]*)</span>', page
    )
    assert {words: tone for tone, words in badges} == {
        "0 dependent": "plain",
        "0 undecided": "plain",
        "1 independent": "good",
        "1 nothing to prove": "plain",
        "0 errors": "plain",
    }


def test_every_number_says_what_it_is_where_there_is_no_head():
    page = audit.page(summarise([line(1)]), "Audit")
    assert re.findall(r'<td class="number"(?! data-head)', page) == []


# --- notebooks ---


def test_notebook_cells_follow_the_theme_of_the_notebook(answers):
    for result in answers.values():
        cell = result._repr_html_()
        assert style.THEMES["dark"] in cell
        assert style.THEMES["light"] in cell
    assert style.THEMES["dark"] not in answers["bias"].to_html()
