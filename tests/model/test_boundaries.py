"""Boundaries: words as Unicode's rules cut them, characters where a script has no spaces, signs
that stay whole.
"""

from __future__ import annotations

import numpy as np
import pytest

import suffice as sf
from suffice.model.boundaries import segments
from suffice.model.text import rewritten, written

ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


def words(source: str) -> list[str]:
    return [word for word, _, _ in segments(source)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        # WB5 to WB7: letters, and what stands between them
        ("can't stop; e.g. the U.S.A.", ["can't", "stop", ";", "e.g", ".", "the", "U.S.A", "."]),
        ("it’s l·l צה״ל", ["it’s", "l·l", "צה״ל"]),
        ("a.example.com/b", ["a.example.com", "/", "b"]),
        ("'mr dogs' .net", ["'", "mr", "dogs", "'", ".", "net"]),
        # WB8 to WB12: digits
        ("3.14 1,000.5 A4 4K 7, 8", ["3.14", "1,000.5", "A4", "4K", "7", ",", "8"]),
        ("12:30 1.a b.2", ["12", ":", "30", "1", ".", "a", "b", ".", "2"]),
        # WB13: Katakana, connectors
        ("テレビ foo_bar __x", ["テレビ", "foo_bar", "__x"]),
        ("ﾃﾚﾋﾞ ラーメン", ["ﾃﾚﾋﾞ", "ラーメン"]),
        # WB4: marks belong to what they stand on
        ("cafe\u0301 e\u0301le\u0300ve", ["cafe\u0301", "e\u0301le\u0300ve"]),
        ("हिन्दी फ़िल्म है।", ["हिन्दी", "फ़िल्म", "है", "।"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        # WB3c, WB15, WB16: emoji and flags
        ("👩‍👩‍👧👍🏽❤️🔥", ["👩‍👩‍👧", "👍🏽", "❤️", "🔥"]),
        ("🇩🇪🇫🇷🇯", ["🇩🇪", "🇫🇷", "🇯"]),
        (f"{ENGLAND} 1️⃣ 🏳️‍🌈", [ENGLAND, "1️⃣", "🏳️‍🌈"]),
        # as the standard lets its users choose
        (
            "O'Neil Anne-Marie 90's a--b -c",
            ["O'Neil", "Anne-Marie", "90's", "a", "-", "-", "b", "-", "c"],
        ),
        ("한국어 영화", ["한국어", "영화"]),
        (
            "fan\u00adtastic she\u200e \ufeffhe",
            ["fan\u00adtastic", "she", "\u200e", "\ufeff", "he"],
        ),
        ("½ x² Ⅳ", ["½", "x²", "Ⅳ"]),
    ],
)
def test_words_are_those_of_unicodes_rules(source, found):
    assert words(source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("我喜欢这部电影。", list("我喜欢这部电影。")),
        ("映画はテレビより良い", ["映", "画", "は", "テレビ", "よ", "り", "良", "い"]),
        ("我爱NLP模型3.5版", ["我", "爱", "NLP", "模", "型", "3.5", "版"]),
        ("น้ำดีมาก", ["น้ำ", "ดี", "ม", "า", "ก"]),
        ("ខ្ញុំស្រ", ["ខ្ញុំ", "ស្រ"]),
        ("ບໍ່ດີນຳ", ["ບໍ່", "ດີ", "ນຳ"]),
        ("တက္ကသိုလ်", ["တ", "က္က", "သို", "လ်"]),
        ("བོད་སྐད།", ["བོད", "་", "སྐད", "།"]),
        ("葛\U000e0100城", ["葛\U000e0100", "城"]),
    ],
)
def test_where_a_script_has_no_spaces_each_cluster_of_characters_is_a_word(source, found):
    assert words(source) == found


EMOTICONS = [
    ":)",
    ":-)",
    ";P",
    ":'(",
    "=D",
    ":(((",
    "<3",
    "</3",
    ":*",
    ":/",
    "8-)",
    "(-:",
    "^_^",
    ">_<",
    "-_-",
    ":3",
]
EMOTICONS += ["¯\\_(ツ)_/¯", "(^_^)", "\\o/", ":|", ">:(", "XD"]


@pytest.mark.parametrize("sign", EMOTICONS)
def test_emoticons_stay_whole(sign):
    assert words(f"good film {sign} great") == ["good", "film", sign, "great"]
    assert words(f"great {sign}") == ["great", sign]


@pytest.mark.parametrize(
    "source",
    [
        "http://a.b",
        "see (note:)",
        "x<30",
        "f(a; b;)",
        "at 5:30",
        "Note:)",
        "a=(b+c)",
        "say :path/x",
        "a::b",
    ],
)
def test_what_only_looks_like_an_emoticon_is_none(source):
    assert not {*words(source)} & {*EMOTICONS, ":)", ";)", ":/", "=(", "<3", ":3", ":p", "::"}


def test_nothing_is_lost_but_white_space():
    rng = np.random.default_rng(0)
    signs = [
        *"ab1Éβ日はテ한ก้ำ.,:;'’-_)(<3^=😀👍 ",
        "\u200d",
        "\u0301",
        "\u200b",
        "\u200e",
        "🏽",
        "🇩",
        "\ufe0f",
        "\t",
        "្",
        "\x00",
    ]
    for _ in range(2000):
        source = "".join(rng.choice(signs, size=12))
        found = segments(source)
        last = 0
        for word, start, end in found:
            assert word == source[start:end] != ""
            assert not source[last:start].strip()
            last = end
        assert not source[last:].strip()


def test_a_sentence_without_spaces_has_its_deciding_character_named():
    box = sf.from_function(
        lambda texts: [["好" in t, "好" not in t] for t in texts], ["yes", "no"], name="好"
    )
    question = sf.Question(box, "这部电影很好看。", perturbation=sf.Deletion())
    found = sf.explain(box, question.text, perturbation=sf.Deletion())
    assert [word.text for word in found.words] == ["好"]
    assert found.details[found.positions[0]].flip.text == "这部电影很看。"
    assert sf.check(
        found.certificate,
        box,
        question=sf.Question(box, "这部电影很好看。", perturbation=sf.Deletion()),
    ).optimal


def test_what_is_left_of_a_text_is_read_as_the_words_that_are_left():
    rng = np.random.default_rng(0)
    for _ in range(500):
        text = written(
            "x"
            + "".join(
                rng.choice(["我", "は", "テレ", "ดี", "abc", "é", "1", " ", "，", "！"], size=9)
            )
        )
        out = {int(i) for i in np.flatnonzero(rng.random(len(text.words)) < 0.4)}
        kept = [word.text for word in text.words if word.position not in out]
        left = rewritten(text, dict.fromkeys(out, ""))
        assert (words(left) if left else []) == kept
