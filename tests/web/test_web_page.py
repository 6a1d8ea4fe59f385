"""The page in a real browser: the main path, stopping, choosing words, hostile texts, keyboard
alone, a phone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import LASTING, TEXT, fits, lasting_model, opened, serving

import suffice as sf
from suffice.sets import table

ANSWERED = "#actions:not([hidden])"


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    folder = lasting_model(tmp_path_factory.mktemp("models") / "lasting")
    with serving("--model", "sst-fc25", "--model", str(folder), "--workers", "2") as found:
        yield found


@pytest.fixture
def page(tab, address) -> Any:
    """The page as it opens."""
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]")
    return tab


def ask(page: Any, text: str = TEXT, size: str = "120") -> None:
    page.fill("#text", text)
    boxes(page, size)
    page.click("#go")
    page.wait_for_selector(ANSWERED)


def boxes(page: Any, size: str) -> None:
    page.select_option("#kind", "knn-box")
    page.fill("#set-k", size)


def ask_lasting(page: Any) -> None:
    """A search that takes minutes."""
    page.select_option("#model", "lasting")
    page.select_option("#kind", "epsilon-ball")
    page.fill("#text", LASTING)
    page.fill("#set-eps", "0.1")
    page.select_option(
        "#seconds", "60"
    )  # the longest: a slow machine must not come to its end before the test does
    page.click("#go")


def needed(page: Any) -> list[str]:
    return [word.strip() for word in page.locator("#words .needed").all_inner_texts()]


def word(page: Any, name: str) -> Any:
    return page.locator("#words button", has_text=name).first


def test_a_text_gets_its_words_and_its_proof(page):
    ask(page)
    assert needed(page) == ["gripping", "beautifully"]
    assert page.inner_text("#headline") == "2 of 12 words are enough"
    assert "proved" in page.inner_text("#badge")
    assert (page.inner_text("#lower"), page.inner_text("#upper")) == ("2", "2")
    assert "accepted by the independent checker" in page.inner_text("#scope")
    assert page.locator("#chart .line").count() == 2


def test_a_word_tells_what_it_may_become_and_why_it_is_needed(page):
    ask(page)
    word(page, "beautifully").click()
    page.wait_for_selector("#inspector .chips")
    told = page.inner_text("#inspector")
    assert "beautifully is" in told
    assert "IT MAY MOVE AMONG" in told.upper()
    assert "as an illustration" in told
    assert "a bound, not the exact fall" in told
    assert page.locator("#inspector .chips li").count() == 9
    page.click("#inspector .chips button:has-text('112 more')")
    page.wait_for_selector("#inspector .chips li >> nth=119")
    named = page.locator("#inspector .chips li").all_inner_texts()
    assert named == list(
        sf.neighbours(sf.load("sst-fc25"), "beautifully", perturbation=sf.KNNBox(120))
    )


def test_a_needed_word_comes_with_a_text_that_the_classifier_was_run_on(page):
    model = sf.load("sst-fc25")
    page.select_option("#kind", "deletion")
    page.fill("#text", TEXT)
    page.click("#go")
    page.wait_for_selector("#alone:not([hidden])")
    page.locator("#words .needed").first.click()
    page.wait_for_selector("#inspector .tried")
    tried = page.evaluate(
        "const one = document.querySelector('.tried').cloneNode(true);"
        "one.querySelectorAll('del').forEach((gone) => gone.remove()); one.textContent"
    )
    assert model.predict(" ".join(tried.split())).label != model.predict(TEXT).label
    assert "was run on this text" in page.inner_text("#inspector")


def test_bars_say_exactly_what_each_word_can_do_alone(page):
    model = sf.load("sst-fc25")
    page.select_option("#kind", "deletion")
    page.fill("#text", "a gripping film")
    page.click("#go")
    page.wait_for_selector("#alone:not([hidden])")
    center = model.embed(model.read("a gripping film"))
    own = model.predict_input(center)
    told = page.locator("#alone .hidden").all_text_contents()
    assert len(told) == 3
    for position, said in enumerate(told):
        center_without = center.copy()
        center_without[position] = model.table[model.lookup[model.pad]]
        without = model.predict_input(center_without)
        moved = (without.margin if without.label == own.label else -without.margin) - own.margin
        figure = float(re.search(r"by at most ([\d.]+)", said)[1])
        assert ("never lowers" in said) == (moved >= 0)
        assert abs(moved) <= figure <= abs(moved) * 1.011


def test_leaving_a_word_out_and_keeping_one_in_change_the_answer(page):
    ask(page)
    word(page, "gripping").click()
    page.click("#inspector button:has-text('Leave out')")
    page.wait_for_selector(ANSWERED)
    assert "gripping" not in needed(page)
    assert word(page, "gripping").get_attribute("class").split() == ["out"]
    word(page, "film").click()
    page.click("#inspector button:has-text('Keep in')")
    page.wait_for_selector(ANSWERED)
    assert "film" in needed(page)
    assert "gripping" not in needed(page)
    page.click("#inspector button:has-text('Keep in')")  # and back
    page.wait_for_selector(ANSWERED)
    assert "film" not in needed(page)


def test_protecting_words_asks_whether_they_matter(page):
    ask(page)
    word(page, "film").click()
    page.click("#inspector button:has-text('Protect')")
    page.wait_for_selector(ANSWERED)
    assert page.get_attribute("#tab-bias", "aria-selected") == "true"
    assert page.inner_text("#headline") == "The label does not depend on 'film'"
    assert "proved independent" in page.inner_text("#badge")


def test_the_sentence_that_answers_comes_before_the_words_and_these_before_the_bounds(page):
    ask(page)
    order = ["#headline", "#meaning", "#badge", "#words", "#gauge", "#scope"]
    tops = [page.locator(part).bounding_box()["y"] for part in order]
    assert tops == sorted(tops)
    assert "marked words" in page.inner_text("#meaning")
    assert page.inner_text("#chart-figure").split("\n")[1] == "cost of the cheapest set"
    assert page.inner_text("#axis-end").endswith(" s")


def test_on_a_phone_the_answer_comes_into_view_and_the_keyboard_stays_where_it_was(
    chromium, address
):
    """The form fills a phone: nothing seemed to happen when the button was pressed."""
    with opened(chromium, viewport={"width": 390, "height": 844}, reduced_motion="reduce") as phone:
        phone.goto(address)
        phone.wait_for_selector("html[data-ready]")
        phone.fill("#text", TEXT)
        phone.focus("#go")
        phone.keyboard.press("Enter")
        phone.wait_for_selector(ANSWERED)
        phone.wait_for_selector("#running", state="hidden")
        assert (
            0
            <= phone.evaluate("document.getElementById('headline').getBoundingClientRect().top")
            < 500
        )
        assert phone.evaluate("document.activeElement.id") == "go"


def test_what_is_all_but_certain_is_not_called_certain(page):
    said = page.evaluate(
        "import('./static/draw.js').then(draw => [0.99996, 1, 0.848].map(draw.percent))"
    )
    assert said == ["over 99.9%", "100.0%", "84.8%"]


def test_all_class_scores_are_shown_the_highest_first(page):
    ask(page)
    said = sf.load("sst-fc25").predict(TEXT)
    shares = [
        float(share.removesuffix("%")) for share in page.locator("#scores .share").all_inner_texts()
    ]
    assert shares == sorted((round(100 * sure, 1) for sure in said.probabilities), reverse=True)
    assert page.inner_text("#scores .top-score .name") == said.label


def test_the_menu_of_sets_is_the_table_and_every_set_can_be_asked_about(page):
    offered = page.locator("#kind option").all_inner_texts()
    assert offered == [kind.may for kind in table.KINDS if kind.may]
    assert page.input_value("#kind") == "bundled-substitutes"
    page.fill("#text", "a fine film")
    for kind in (kind for kind in table.KINDS if kind.may):
        page.select_option("#kind", kind.name)
        assert set(
            page.locator("[data-name]").evaluate_all("all => all.map(one => one.dataset.name)")
        ) == set(kind.schema)
        if "swaps" in kind.schema:
            page.fill("#set-swaps", "fine: good, bad\nfilm: movie")
        page.click("#go")
        page.wait_for_selector(ANSWERED)
        assert page.is_hidden("#problem")


def test_a_limit_on_changes_at_once_is_part_of_the_question(page):
    ask(page)
    page.fill("#at-most", "1")
    with page.expect_request("**/api/explain") as asked:
        page.click("#go")
    assert asked.value.post_data_json["perturbation"] == {"kind": "knn-box", "k": 120, "at_most": 1}
    page.wait_for_selector(ANSWERED)
    page.reload()
    page.wait_for_selector(ANSWERED)
    assert page.input_value("#at-most") == "1"


def test_listed_words_that_cannot_be_read_are_refused_and_not_passed_over(page):
    page.fill("#text", TEXT)
    page.select_option("#kind", "word-swap")
    page.fill("#set-swaps", "film = movie")
    page.click("#go")
    page.wait_for_selector("#problem:has-text('film = movie')")
    assert page.is_enabled("#go")


@pytest.mark.parametrize("field", ["#text", "#set-k", "#at-most", "#kind", "#model"])
def test_an_answer_to_another_question_than_the_one_in_the_form_says_so(page, field):
    ask(page)
    assert page.is_hidden("#stale")
    if field in ("#kind", "#model"):
        page.select_option(field, index=1)
    else:
        page.fill(field, "a bad film" if field == "#text" else "7")
    assert "has changed" in page.inner_text("#stale")
    page.click("#go")
    page.wait_for_selector(f"{ANSWERED}, #problem:not([hidden])")
    assert page.is_hidden("#stale")


def test_equally_cheap_sets_are_told_apart(page):
    """What the server would say of three sets: "acted" in all of them, "A" and "film" in some."""
    ask(page)
    at = {"acted": 4, "A": 0, "film": 5}
    words = {
        name: {"position": position, "text": name, "start": 0, "end": 1}
        for name, position in at.items()
    }
    told = {
        "count": 3,
        "complete": True,
        "sets": [[0, 4], [4, 5]],
        "in_all": [words["acted"]],
        "in_some": [words["A"], words["film"]],
        "sentence": "3 sets are equally cheap.",
    }
    page.route("**/api/explain", lambda route: later(route, "equal", told))
    page.click("#go")
    page.wait_for_selector("#equal:has-text('3 sets are equally cheap.')")
    assert page.locator("#words .sure").all_inner_texts() == ["acted"]
    assert page.locator("#words .some").all_inner_texts() == ["A", "film"]
    assert "in every equally cheap set" in word(page, "acted").get_attribute("aria-label")
    assert "in some equally cheap sets" in word(page, "film").get_attribute("aria-label")
    assert "in no equally cheap set" in word(page, "nerve").get_attribute("aria-label")
    legend = page.locator("#equal .legend li").all_inner_texts()
    assert legend == [
        "1 word in all of the 3 sets",
        "2 words in some of the 3 sets",
        "9 words in none of the 3 sets",
    ]


def later(route: Any, kind: str, data: dict[str, Any]) -> None:
    """What the server answers, with one more event before it is done."""
    answer = route.fetch()
    told = "".join(
        part + "\n\n" for part in answer.text().split("\n\n") if part and "event: done" not in part
    )
    route.fulfill(
        response=answer,
        body=f"{told}event: {kind}\ndata: {json.dumps(data)}\n\nevent: done\ndata: {{}}\n\n",
    )


def test_the_other_tabs_answer(page):
    ask(page)
    page.click("#tab-contrast")
    page.wait_for_selector(ANSWERED)
    assert page.locator("#words ins").count() >= 1
    assert page.locator("#words .changed").count() == page.locator("#words ins").count()
    page.click("#tab-profile")
    page.wait_for_selector(".growth-chart")
    assert page.locator(".growth-chart .cost").count() == 5
    assert "No word is needed up to k =" in page.inner_text("#meaning")


def test_a_search_can_be_watched_and_stopped_and_the_best_is_kept(page):
    ask_lasting(page)
    page.wait_for_selector("#words:has(.needed) button:not(.needed)")
    assert page.is_disabled("#go")
    page.click("#stop")
    page.wait_for_selector(ANSWERED)
    assert "proved enough; cheaper may exist" in page.inner_text("#badge")
    lower = float(page.inner_text("#lower"))
    upper = float(page.inner_text("#upper"))
    assert lower <= upper < 40
    assert len(needed(page)) == upper
    page.wait_for_selector("#running", state="hidden")


def test_stopping_twice_ends_without_an_answer(page):
    ask_lasting(page)
    page.wait_for_selector("#words:has(.needed) button:not(.needed)")
    page.evaluate("document.getElementById('stop').click()")
    page.wait_for_selector("#stop:has-text('without an answer'), " + ANSWERED)
    page.wait_for_selector(ANSWERED + ", #problem:not([hidden])")
    page.wait_for_selector("#go:enabled")


def test_while_in_line_a_question_can_be_stopped_too(page, chromium, address):
    with opened(chromium) as one, opened(chromium) as two:
        for other in (one, two):  # both workers are busy
            other.goto(address)
            other.wait_for_selector("html[data-ready]")
            ask_lasting(other)
            other.wait_for_selector("#words .needed")
        page.fill("#text", TEXT)
        page.click("#go")
        page.wait_for_selector("#phase:has-text('in line')")
        page.click("#stop")
        page.wait_for_selector("#problem:has-text('Stopped')")
        assert page.is_enabled("#go")


def test_a_search_under_way_reads_like_the_text_and_can_be_stopped_without_scrolling(page):
    ask_lasting(page)
    page.wait_for_selector("#words .needed")
    assert page.evaluate("getComputedStyle(document.getElementById('words')).display") == "block"
    places = [page.locator(part).bounding_box()["y"] for part in ("#headline", "#stop", "#words")]
    assert places == sorted(places)
    page.click("#stop")
    page.wait_for_selector(ANSWERED)


def test_a_new_question_takes_the_place_of_a_running_one(page):
    ask_lasting(page)
    page.wait_for_selector("#words .needed")
    page.click("#examples button >> nth=0")
    page.wait_for_selector(ANSWERED)
    assert page.locator("#words").inner_text().strip().startswith("A gripping")


def test_the_link_holds_the_whole_question(page, address):
    ask(page)
    word(page, "gripping").click()
    page.keyboard.press("x")
    page.wait_for_selector(ANSWERED)
    link = page.url
    words = needed(page)
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector(ANSWERED)
    assert page.input_value("#text") == TEXT
    assert page.input_value("#set-k") == "120"
    assert needed(page) == words
    assert "out" in word(page, "gripping").get_attribute("class")


@pytest.mark.parametrize("broken", ["#", "#%%%", "#e30", "#bnVsbA", "#" + "A" * 5000])
def test_a_broken_link_opens_the_empty_page(tab, address, broken):
    tab.goto(address + "/" + broken)
    tab.wait_for_selector("html[data-ready]")
    assert tab.is_hidden("#answer")
    assert tab.input_value("#text") == ""


def test_answers_are_downloaded(page, tmp_path):
    ask(page)
    for kind, name in [
        ("html", "report.html"),
        ("certificate", "answer.cert"),
        ("json", "answer.json"),
    ]:
        with page.expect_download() as waiting:
            page.click(f"#get-{kind}")
        waiting.value.save_as(tmp_path / name)
    classifier = sf.load("sst-fc25")
    assert sf.check(tmp_path / "answer.cert", classifier)
    read = sf.Explanation.from_json((tmp_path / "answer.json").read_text(encoding="utf-8"))
    assert [one.text for one in read.words] == ["gripping", "beautifully"]


HOSTILE = (
    "<script>document.title = 'owned'</script> <img src=x onerror=\"document.title='owned'\"> "
    "</textarea> great film \u202egnihton\u202c ${1} {{2}}"
)


def test_a_hostile_text_stays_text(page):
    ask(page, HOSTILE)
    assert page.title() != "owned"
    assert page.locator("#answer img, #answer script").count() == 0
    shown = page.locator("#words").inner_text()
    assert shown.startswith("<script>document.title = 'owned'</script> <img src=x onerror=")
    assert "\u202e" not in shown
    word(page, "img").click()
    assert "img is" in page.inner_text("#inspector")


def test_mistakes_are_told_in_words(page):
    page.fill("#text", "   ")
    page.click("#go")
    page.wait_for_selector("#problem:not([hidden])")
    assert "at least one word" in page.inner_text("#problem")
    page.fill("#text", TEXT)
    boxes(page, "999999")
    page.click("#go")
    page.wait_for_selector("#problem:has-text('999999')")
    assert page.is_enabled("#go")


def test_everything_works_with_the_keyboard_alone(page):
    press = page.keyboard.press
    press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    until(page, "text")
    page.keyboard.type(TEXT)
    until(page, "go")
    press("Enter")
    page.wait_for_selector(ANSWERED)
    page.wait_for_selector(
        "#running", state="hidden"
    )  # while details are looked for, Stop is a stop too
    until(page, "tab-explain")
    press("Tab")  # the words are one stop, arrows move among them
    press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "gripping"
    assert page.inner_text("#inspector").startswith("gripping is")
    press("i")
    page.wait_for_selector(ANSWERED)
    assert "gripping" in needed(page)
    assert page.evaluate("document.activeElement.textContent") == "gripping"
    press("x")
    page.wait_for_selector(ANSWERED)
    assert "gripping" not in needed(page)
    page.wait_for_selector("#running", state="hidden")
    press("Tab")  # into the choices
    assert page.evaluate("document.activeElement.textContent").startswith("Keep in")
    page.focus("#tab-explain")
    press("ArrowRight")
    page.wait_for_selector(ANSWERED)
    assert page.get_attribute("#tab-contrast", "aria-selected") == "true"


def until(page: Any, name: str) -> None:
    """Tab until the element with this id has the focus."""
    for _ in range(30):
        if page.evaluate("document.activeElement.id") == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reached #{name}")


def test_focus_can_always_be_seen(page):
    ask(page)
    for selector in ("#go", "#tab-explain", "#words button", "#share"):
        page.focus(selector)
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", selector


@pytest.mark.parametrize("width", [360, 390])
def test_it_fits_a_phone(chromium, address, width):
    with opened(
        chromium, viewport={"width": width, "height": 740}, has_touch=True, is_mobile=True
    ) as phone:
        phone.goto(address)
        phone.wait_for_selector("html[data-ready]")
        for tab in phone.locator("[role=tab]").all():
            assert tab.evaluate(
                "one => one.parentElement.scrollWidth <= one.parentElement.clientWidth"
            )
        ask(phone, TEXT + " extraordinarilyunbreakablelongwordthatgoesonandonandonandon")
        assert fits(phone, width)
        word(phone, "gripping").tap()
        assert "gripping is" in phone.inner_text("#inspector")
        phone.tap("#inspector button:has-text('Leave out')")
        phone.wait_for_selector(ANSWERED)
        assert "gripping" not in needed(phone)
        for name in ("contrast", "bias", "profile"):
            phone.tap(f"#tab-{name}")
            phone.wait_for_selector(ANSWERED)
            assert fits(phone, width)


def test_everything_it_loads_is_its_own_and_small(tab, address):
    loaded: list[Any] = []
    tab.on("response", lambda one: loaded.append(one))
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]")
    assert all(one.url.startswith(address) for one in loaded)
    assert len(loaded) <= 12
    assert sum(len(one.body()) for one in loaded) < 100_000


# --- the report, in the same browser ---


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    sf.explain(sf.load("sst-fc25"), TEXT, perturbation=sf.KNNBox(120)).save_html(path)
    return path


def test_the_report_shows_a_words_story_on_hover_and_on_focus(tab, report):
    tab.goto(report.as_uri())
    tip = tab.locator(".tip", has_text="gripping is")
    assert tip.is_hidden()
    tab.hover("mark.word >> nth=0")
    assert tip.is_visible()
    tab.mouse.move(0, 0)
    assert tip.is_hidden()
    tab.focus("mark.word >> nth=0")
    assert tip.is_visible()
    assert "moves towards" in tip.inner_text()


@pytest.mark.parametrize("width", [360, 390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_fits_every_width_and_scheme(chromium, report, width, scheme):
    with opened(chromium, viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        page.goto(report.as_uri())
        assert fits(page, width)
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(250, 248, 244)", "dark": "rgb(17, 20, 26)"}[scheme]


def test_the_report_prints(tab, report):
    tab.goto(report.as_uri())
    pages = tab.pdf(format="A4")
    assert pages.startswith(b"%PDF")
    tab.emulate_media(media="print")
    assert tab.is_hidden(".hint")
    assert tab.is_visible("table")
    tab.emulate_media(media="screen")
