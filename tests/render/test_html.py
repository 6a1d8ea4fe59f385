"""The report: one file that reads without network or script, shows why, and treats every text as
text.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import suffice as sf
from suffice.render import guarantee, html, phrases, style
from suffice.verbs.why import counterexamples

TEXT = "A gripping, beautifully acted film that never quite loses its nerve"
VOID = {"meta", "link", "br", "img", "input"}


class Page(HTMLParser):
    """A page as a list of tags and its visible text; unbalanced tags are an error."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script", "title"):
            self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.said).split())

    def having(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture(scope="module")
def classifier():
    return sf.load("sst-fc25")


@pytest.fixture(scope="module")
def answer(classifier):
    return sf.explain(classifier, TEXT, perturbation=sf.KNNBox(120))


# --- one file, no network, no script ---


def test_it_is_one_file_that_loads_nothing_and_runs_nothing(answer, tmp_path):
    answer.save_html(tmp_path / "report.html")
    source = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(source)
    names = Counter(tag for tag, _ in page.tags)
    assert not names.keys() & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    assert not re.search(r"url\(|@import|https?:|//[a-z]", source)
    assert not [
        name
        for _, attributes in page.tags
        for name in attributes
        if name.startswith("on") or name == "src"
    ]


def test_its_parts_are_named_for_those_who_do_not_see_it(answer):
    page = Page(answer.to_html())
    names = Counter(tag for tag, _ in page.tags)
    assert names["main"] == names["h1"] == names["header"] == names["footer"] == 1
    assert names["h2"] >= 3
    assert page.having("html")[0]["lang"] == "en"
    assert page.having("mark")
    described = {
        attributes["aria-describedby"]
        for _, attributes in page.tags
        if "aria-describedby" in attributes
    }
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert described == set(ids)
    assert len(ids) == len(set(ids))


def test_colours_keep_their_contrast_in_both_palettes():
    for palette in (style.LIGHT, style.DARK):
        for text, ground in style.PAIRS:
            assert contrast(palette[text], palette[ground]) >= 4.5, (text, ground)


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (s / 12.92 if s <= 0.03928 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_dark_light_and_print_are_provided_for():
    sheet = style.sheet(html.REPORT)
    assert "prefers-color-scheme:dark" in sheet
    assert "@media print" in sheet
    assert sheet.count("{") == sheet.count("}")


# --- what it says ---


def test_the_text_is_there_with_the_needed_words_marked(answer):
    page = answer.to_html()
    reading = page[page.index('class="reading"') : page.index('class="hint"')]
    marked = re.findall(r"<mark[^>]*>(.*?)</mark>", reading)
    assert marked == [word.text for word in answer.words]


def test_each_word_says_what_it_may_become_and_why_it_is_needed(answer):
    page = Page(answer.to_html())
    for detail in answer.details:
        assert detail.options[0] in page.text
    needed = [detail for detail in answer.details if detail.position in answer.positions]
    assert all(detail.flip is not None for detail in needed)
    assert page.text.count(" free, the label could turn “negative”") == 3 * len(needed)


def test_the_counterexamples_are_true(classifier, answer):
    """Each changes the needed word or free ones only, stays in the sets, and really flips the
    label.
    """
    text = classifier.read(TEXT)
    region = sf.KNNBox(120).around(classifier, text)
    held = sf.is_robust(classifier, TEXT, answer.positions, perturbation=sf.KNNBox(120))
    assert isinstance(held, sf.Proved)
    for detail in answer.details:
        if detail.flip is not None:
            others = set(answer.positions) - {detail.position}
            assert not others & set(detail.flip.positions)
            rest = sf.is_robust(classifier, TEXT, sorted(others), perturbation=sf.KNNBox(120))
            assert isinstance(rest, sf.Refuted)
            assert detail.flip.label == "negative"
    assert region.names[1][:8] == answer.details[1].options


MIXED = (
    "the plot is thin but the acting is superb",
    "My daughter loved it, but I was bored to tears.",
    "Nobody in the cast can act, and yet it is a charming little film.",
    "The actors do their best, but nothing can save this dull script.",
)


@pytest.mark.parametrize("text", MIXED)
@pytest.mark.parametrize("change", [sf.Deletion(), None])
def test_each_word_of_a_set_with_nothing_to_spare_has_a_text_that_shows_why(text, change):
    """Attacks miss some of them: such a flip exists, since the set without the word is
    not enough.
    """
    result = sf.explain(sf.load("sentiment"), text, perturbation=change)
    assert result.status == "optimal"
    assert result.positions
    for position in result.positions:
        flip = result.details[position].flip
        assert flip is not None
        assert flip.text is not None
        assert sf.load("sentiment").predict(flip.text).label != result.label


def test_counterexamples_come_with_points_that_the_network_confirms(classifier):
    from suffice.verbs.question import Question

    question = Question(classifier, TEXT, perturbation=sf.KNNBox(120))
    held = question.problem.features.copy()
    held[5:] = False
    for word, witness in counterexamples(question.problem, held).items():
        assert word in range(5)
        assert classifier.predict_input(witness.point).label != question.label
        assert question.problem.region.contains(witness.point).all()
        assert not set(witness.positions) & (set(range(5)) - {word})


def test_it_states_the_guarantee_its_scope_and_how_to_check(answer):
    page = Page(answer.to_html())
    for said in (
        "no allowed change of the others can change the label “positive”",
        "120 nearest words",
        "What is not covered",
        "a tie counts against it",
        "accepted by the independent checker",
        "suffice check answer.cert --model MODEL --question question.json",
        "suffice explain --question question.json --model MODEL --certificate answer.cert",
        answer.meta["model"],
        answer.certificate.digest,
    ):
        assert said in page.text


SETS = [
    sf.KNNHull(200),
    sf.EpsilonBall(0.8),
    sf.EpsilonBall(0.8, 2),
    sf.Deletion(),
    sf.WordSwap({"film": ["mess"]}),
]


@pytest.mark.parametrize("perturbation", SETS, ids=lambda p: p.to_dict()["kind"])
def test_every_kind_of_set_has_its_words(classifier, perturbation):
    result = sf.explain(classifier, TEXT, perturbation=perturbation, seconds=10)
    page = Page(result.to_html())
    said = guarantee.allowed(perturbation.to_dict(), blanks=True).split("(")[0].strip(" .")
    assert said in page.text
    assert ("blanked" in said) == isinstance(perturbation, sf.Deletion)


def test_an_infeasible_answer_shows_its_witness(classifier):
    result = sf.explain(classifier, TEXT, perturbation=sf.KNNBox(500), exclude=range(12))
    page = Page(result.to_html())
    assert "No set that does without the 12 excluded words is enough" in page.text
    assert "Witness: negative when" in page.text
    assert "inf" not in page.text.split()


@pytest.mark.parametrize("status", ["optimal", "sufficient", "unknown"])
def test_every_status_makes_a_page(answer, status):
    result = replace(answer, status=status)
    assert phrases.badge(result)[2] in Page(result.to_html()).text


def test_an_answer_read_from_json_makes_a_page_too(answer):
    page = Page(sf.Explanation.from_json(answer.to_json()).to_html())
    assert "2 of 12 words are enough" in page.text
    assert "cannot change" not in page.text


# --- hostile texts ---

HOSTILE = [
    "<script>alert(1)</script> great film",
    "</style><img src=x onerror=alert(1)> great film",
    '" onmouseover="alert(1)" \' autofocus onfocus=\'alert(1) great film',
    "--></title></main><!-- great &lt;b&gt; film &amp;",
    "great \u202emlif\u202c \u2066film\u2069 \x1b[31m \x00",
    "javascript:alert(1) {{7*7}} ${7*7} %s great film `",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_text(classifier, text):
    result = sf.explain(classifier, text, perturbation=sf.Deletion())
    for source in (result.to_html(), result._repr_html_()):
        page = Page(source)
        names = Counter(tag for tag, _ in page.tags)
        assert not names.keys() & {"script", "img"}
        assert not [
            name for _, attributes in page.tags for name in attributes if name.startswith("on")
        ]
        assert not set(source) & set("\u202e\u202c\u2066\u2069\x1b\x00")
        assert reading(source) == phrases.visible(text)


def reading(source: str) -> str:
    """The text as a reader sees it, without what shows only on hover."""
    start = source.index('<p class="reading"')
    shown = re.sub(
        r'<span class="tip"[^>]*>(?:<span>.*?</span>)*</span>',
        "",
        source[start : source.index("</p>", start)],
    )
    return "".join(Page(shown + "</p>").said)


def test_hostile_labels_and_vocabularies_stay_text():
    import numpy as np

    classifier = sf.Classifier(
        network=sf.Network.dense([(np.eye(2), np.zeros(2))]),
        embedding=[[0.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [1.0, 0.5]],
        vocabulary=["<PAD>", "<UNK>", "<b>good</b>", "<script>x</script>", "fine"],
        labels=["<img src=x>", "\u202enegative"],
        length=1,
    )
    result = sf.explain(classifier, ["<b>good</b>"], perturbation=sf.KNNHull(2))
    page = Page(result.to_html())
    assert not {tag for tag, _ in page.tags} & {"script", "img", "b"}
    assert "<script>x</script>" in page.text
    assert "\u202e" not in result.to_html()


def test_a_report_with_script_is_only_the_authors_own():
    page = html.document("title <b>", "<p>body</p>", script="let x = 1;")
    assert "<script>let x = 1;</script>" in page
    assert "title &lt;b&gt;" in page
