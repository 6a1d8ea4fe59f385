"""Tokenizers: words with their places in the string, saved with the classifier, and words that
count once.
"""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import httpx
import numpy as np
import pytest
from helpers import make_classifier
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import serving
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

import suffice as sf
from suffice.cli import main
from suffice.errors import InputError, MissingExtra, ModelError
from suffice.model import tokenizers as kinds
from suffice.model.patterns import why_refused
from suffice.model.saved import bundled
from suffice.render import phrases

PIECES = ["[PAD]", "[UNK]", "good", "##ness", "bad", "film", "a", "##s", "!", "very"]


def wordpiece(**more: object) -> Tokenizer:
    made = Tokenizer(
        models.WordPiece({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]")
    )
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def byte_level() -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({char: i for i, char in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return made


def subwords(seed: int = 0, length: int = 6) -> sf.Classifier:
    made = make_classifier(seed, length=length)
    return replace(made, vocabulary=PIECES, pad="[PAD]", unknown="[UNK]", tokenizer=wordpiece())


def by_spaces(source: str) -> list[str]:
    return source.lower().split()


def by_letters(source: str) -> list[tuple[str, int, int]]:
    return [(char, i, i + 1) for i, char in enumerate(source) if not char.isspace()]


# --- the default ---


def test_the_bundled_models_keep_their_digests_and_their_words():
    for name in bundled():
        assert sf.load(name).tokenizer == kinds.Words()  # load compares the digest


def test_words_are_the_default_under_any_name():
    tiny = make_classifier(0)
    assert (
        tiny.digest
        == replace(tiny, tokenizer="words").digest
        == replace(tiny, tokenizer=None).digest
    )


@pytest.mark.parametrize("wrong", ["sentences", 3, ["a"]])
def test_what_is_no_tokenizer_is_refused(wrong):
    with pytest.raises(InputError, match="A tokenizer is 'words', a function"):
        replace(make_classifier(0), tokenizer=wrong)


# --- patterns ---

ALPHABET = "aé eİßΣσ Ç1-_ﬁ한\u0301.'日 Å\u212b"


@given(st.text(ALPHABET, max_size=25), st.booleans(), st.sampled_from([None, "unicode", "ascii"]))
@settings(max_examples=300)
def test_a_pattern_reads_exactly_what_scikit_learn_reads(source, lowercase, accents):
    from sklearn.feature_extraction.text import CountVectorizer

    theirs = CountVectorizer(
        lowercase=lowercase, strip_accents=accents, token_pattern=r"(?u)\b\w+\b"
    ).build_analyzer()
    ours = kinds.Pattern(r"(?u)\b\w+\b", lowercase, accents or "keep")(source)
    assert [word for word, _, _ in ours] == theirs(source)
    assert all(0 <= start < end <= len(source) for _, start, end in ours)
    assert all(one[2] <= other[1] for one, other in pairwise(ours))


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("Çà et là", ["Çà", "et", "là"]),
        ("İstanbul ﬁn", ["İstanbul", "ﬁn"]),
        ("ΟΔΟΣ x", ["ΟΔΟΣ", "x"]),
    ],
)
def test_words_that_change_their_length_keep_their_place(source, shown):
    found = kinds.Pattern(r"\w+", accents="unicode")(source)
    assert [source[start:end] for _, start, end in found] == shown


def test_a_group_is_the_word_and_skipped_words_take_no_position():
    found = kinds.Pattern(r"<(\w+)>", skip=("the",))("<The> <Good> film <x>")
    assert found == [("good", 7, 11), ("x", 19, 20)]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("(", "no regular expression"), ("(a)(b)", "has 2 groups"), (None, "no regular")],
)
def test_a_bad_pattern_is_refused(pattern, message):
    with pytest.raises(InputError, match=message):
        kinds.Pattern(pattern)


SLOW = [
    r"(a+)+$",
    r"(a+)+b",
    r"(\w+\s?)+!",
    r"(\w*)*",
    r"\w*\w*\w*!",
    r"(?:\w+|\w)+!",
    r"(?:a|ab)(?:bc|c)*(?:a|ab)*!",
    "a?" * 30 + "a" * 30,
    r"[^!]+!",
    r"[^!]+$",
    r"(?:\w+ )*x",
    r"(.|\s)*x",
    r"(\w)\1+",
    r"(?=\w+!)\w",
    r"\w{500}",
    r"((\w{16}){16}){16}",
    r"(?i)a+",
    r"\w+?",
    "(" * 450 + "a" + ")" * 450,
    "a" * 1001,
]


@pytest.mark.parametrize("pattern", SLOW, ids=range(len(SLOW)))
def test_a_pattern_that_could_take_for_ever_is_refused(pattern, tmp_path):
    if pattern.count("(") < 400:  # nested too deeply for anybody: refused, or harmless
        with pytest.raises(
            InputError, match=r"could take for ever|has 3 groups|no regular expression"
        ):
            kinds.Pattern(pattern)
    made = replace(make_classifier(0), tokenizer=kinds.Pattern())
    made.save(tmp_path)
    file = tmp_path / "classifier.json"
    file.write_text(file.read_text().replace(r"(?u)\\b\\w\\w+\\b", pattern.replace("\\", "\\\\")))
    assert pattern.replace("\\", "\\\\") in file.read_text()
    with pytest.raises(ModelError, match="damaged"):
        sf.load(tmp_path)


QUICK = [
    r"(?u)\b\w\w+\b",
    r"(?u)\b\w+\b",
    r"\b[a-zA-Z]{3,}\b",
    r"[a-z]+(?:'[a-z]+)?",
    r"\w+(?:['’\-]\w+)*|[^\w\s]",
    r"\d+(?:\.\d+)?|\w+|\$[\d\.]+|\S+",
    r"[\u4e00-\u9fff]|\w{2,20}",
    r"<(\w+)>",
    r"(?a)#?\w+",
    r"[^\W\d_]+",
]


@pytest.mark.parametrize("pattern", QUICK)
@given(st.text(alphabet="ab1'’-.$#<> \n_é中!", max_size=30))
@settings(max_examples=30)
def test_patterns_as_people_write_them_are_taken_and_read_as_re_does(pattern, source):
    group = re.compile(pattern).groups
    wanted = [
        (m.group(group), *m.span(group)) for m in re.finditer(pattern, source) if m.group(group)
    ]
    assert kinds.Pattern(pattern, lowercase=False)(source) == wanted


def ways(pattern: str, source: str) -> int:
    """How many ways a matcher that tries all has through a pattern, from all starts, by plain
    recursion.
    """
    tree = list(re._parser.parse(pattern))

    def count(items: list, place: int) -> int:
        if not items:
            return 1
        (kind, value), *rest = items
        match str(kind):
            case "MAX_REPEAT":
                least, most, inner = value
                again = [
                    (
                        kind,
                        (
                            max(least - 1, 0),
                            most if most == re._constants.MAXREPEAT else most - 1,
                            inner,
                        ),
                    )
                ]
                more = (
                    count([*inner, *again, *rest], place)
                    if most and (least or place < len(source))
                    else 0
                )
                return 1 + more + (count(rest, place) if not least else 0)
            case "SUBPATTERN":
                return count([*value[3], *rest], place)
            case "BRANCH":
                return sum(count([*option, *rest], place) for option in value[1])
            case _:
                found = re.compile(_source(kind, value)).match(source, place)
                return 1 + (count(rest, found.end()) if found else 0)

    return sum(count(tree, start) for start in range(len(source)))


def _source(kind: object, value: object) -> str:
    match str(kind), value:
        case "LITERAL", int(code):
            return re.escape(chr(code))
        case "CATEGORY", name:
            return {"CATEGORY_WORD": r"\w", "CATEGORY_SPACE": r"\s"}[str(name)]
        case "IN", list(listed):
            return f"[{''.join(_source(*one) for one in listed)}]"
        case _:
            raise AssertionError((kind, value))


PIECE = st.sampled_from(["a", "b", "-", r"\w", r"\s"])
PATTERNS = st.recursive(
    PIECE,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from("*+?")).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@given(PATTERNS)
@settings(max_examples=300, deadline=None)
def test_a_pattern_that_is_taken_never_has_more_than_a_few_ways_through_a_word(pattern):
    """Against a matcher that tries everything: a bound that no pattern with ambiguous
    loops keeps.
    """
    if why_refused(pattern):
        return
    size = 2 * len(pattern) + 10
    for source in ("a" * 12, "ab" * 6, "a-" * 6, "a " * 6):
        assert ways(pattern, source) <= size * len(source) ** 2


def test_the_count_of_ways_sees_a_pattern_that_explodes():
    assert ways("(?:(?:a)+)+b", "a" * 12) > 2**12


# --- Hugging Face ---


def regexed(pattern: str) -> str:
    made = wordpiece()
    made.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
    return made.to_str()


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(\w+\s?)+!", r"(?=a)b", r"\p{L}+(\p{L}+)*!"])
def test_a_tokenizer_with_a_pattern_that_could_take_for_ever_is_refused(pattern):
    with pytest.raises(ModelError, match=r"pattern .* is not taken"):
        kinds.HuggingFace(regexed(pattern))("good film")


@pytest.mark.parametrize("pattern", [r"\w+|[^\w\s]", *kinds.KNOWN_PATTERNS])
def test_a_tokenizer_with_a_pattern_of_a_known_model_is_taken(pattern):
    assert kinds.HuggingFace(regexed(pattern))("good film")


def test_a_tokenizer_that_makes_a_text_longer_and_longer_is_refused():
    made = wordpiece()
    made.normalizer = normalizers.Sequence([normalizers.Replace("a", "aa")] * 40)
    with pytest.raises(ModelError, match="more than 64 times as long"):
        kinds.HuggingFace(made.to_str())("a film")
    made.normalizer = normalizers.Sequence(
        [normalizers.Replace("é", "ee"), normalizers.Replace(Regex(" +"), " ")]
    )
    assert kinds.HuggingFace(made.to_str())("a film")


def test_a_tokenizer_that_reads_a_text_in_several_ways_is_refused():
    made = byte_level()
    made.model = models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=0.5)
    with pytest.raises(ModelError, match="dropout"):
        kinds.HuggingFace(made.to_str())("ab")


def test_json_of_a_tokenizer_that_is_nested_without_end_is_refused():
    with pytest.raises(ModelError, match="not the JSON"):
        kinds.HuggingFace("[" * 100_000)("a")


def test_subwords_know_their_place_in_the_original_string():
    text = subwords().read("Goodness, a FILM !")
    assert text.tokens == ("good", "##ness", "[UNK]", "a", "film", "!")
    assert [(word.text, word.start, word.end) for word in text.words] == [
        ("Good", 0, 4),
        ("ness", 4, 8),
        (",", 8, 9),
        ("a", 10, 11),
        ("FILM", 12, 16),
        ("!", 17, 18),
    ]
    assert text.unknown == (2,)


def test_pieces_of_one_character_do_not_show_it_twice():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    clf = make_classifier(0, length=4, words=len(alphabet))
    clf = replace(clf, vocabulary=["<PAD>", "<UNK>", *alphabet], tokenizer=byte_level())
    text = clf.read("é a")
    assert text.tokens == ("Ã", "©", "Ġ", "a")
    assert "".join(piece.text for piece in phrases.pieces(text, (1, 2))) == "é a"
    assert [(word.text, word.start, word.end) for word in text.words] == [
        ("é", 0, 1),
        ("©", 1, 1),
        (" ", 1, 2),
        ("a", 2, 3),
    ]


def test_padding_and_cutting_of_the_tokenizer_itself_are_left_out():
    made = wordpiece()
    made.enable_padding(length=9, pad_id=0, pad_token="[PAD]")
    made.enable_truncation(2)
    assert [token for token, _, _ in kinds.as_tokenizer(made)("good film good")] == [
        "good",
        "film",
        "good",
    ]


def test_a_tokenizer_that_adds_special_tokens_is_refused_with_the_way_out():
    made = wordpiece()
    made.post_processor = processors.TemplateProcessing("[PAD] $A", special_tokens=[("[PAD]", 0)])
    with pytest.raises(InputError, match=r"adds 1 special tokens .* without post_processor"):
        kinds.as_tokenizer(made)
    made.post_processor = None
    assert kinds.as_tokenizer(made)("good") == [("good", 0, 4)]


def test_its_vocabulary_is_in_the_order_of_its_numbers():
    assert kinds.as_tokenizer(wordpiece()).vocabulary() == tuple(PIECES)


def test_it_is_saved_with_the_classifier(tmp_path):
    clf = subwords()
    clf.save(tmp_path)
    again = sf.load(tmp_path)
    assert again.digest == clf.digest
    assert again.predict("Goodness, film").scores == clf.predict("Goodness, film").scores
    pickle.loads(pickle.dumps(again)).predict("goodness")


def test_a_saved_tokenizer_that_was_changed_is_found(tmp_path):
    subwords().save(tmp_path)
    file = tmp_path / "tokenizer.json"
    file.write_text(file.read_text(encoding="utf-8").replace("##ness", "##less"), encoding="utf-8")
    with pytest.raises(ModelError, match="digest does not match"):
        sf.load(tmp_path)
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="damaged"):
        sf.load(tmp_path)
    file.unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        sf.load(tmp_path)


def test_without_the_package_the_command_that_installs_it_is_named(monkeypatch):
    made = kinds.as_tokenizer(wordpiece())
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"extra 'tokenizers'"):
        made("good")


@pytest.mark.parametrize("text", ["Goodness, very bad films !", "a goodness"])
def test_subwords_are_explained_contrasted_and_shown(text):
    clf = subwords(3)
    result = sf.explain(clf, text, perturbation=sf.Deletion())
    assert result.status == "optimal"
    for word in result.text.words:
        assert text[word.start : word.end] == word.text
    assert text in re.sub(
        r"<[^>]+>", "", sf.explain(clf, text, perturbation=sf.KNNBox(2)).to_html()
    ).replace("&#x27;", "'")
    flip = sf.contrast(
        clf, text, perturbation=sf.WordSwap({"good": ["bad"], "a": ["very"], "very": ["a"]})
    )
    assert flip.status in ("optimal", "none")


def test_the_command_line_reads_subwords(tmp_path, capsys):
    subwords(3).save(tmp_path)
    code = main(["explain", "Goodness, very bad", "--model", str(tmp_path), "--deletion"])
    shown = capsys.readouterr().out
    assert code in (0, 3)
    assert "ness" in shown


def test_the_page_shows_every_character_of_a_text_of_subwords_once(tmp_path):
    folder = tmp_path / "subwords"
    subwords(3).save(folder)
    source = "Goodness, very bad"
    question = {"text": source, "perturbation": {"kind": "deletion"}}
    with serving("--model", str(folder), "--workers", "1") as address:
        answer = httpx.post(
            f"{address.rstrip('/')}/api/explain", json=question, timeout=60, trust_env=False
        )
    assert answer.status_code == 200
    said = answer.json()
    assert said["positions"] == list(
        sf.explain(subwords(3), source, perturbation=sf.Deletion()).positions
    )
    assert all(source[word["start"] : word["end"]] == word["text"] for word in said["words"])
    shown = phrases.pieces(subwords(3).read(source), tuple(said["positions"]))
    assert "".join(piece.text for piece in shown) == source


# --- any function ---


def test_words_of_a_function_are_found_in_the_string():
    clf = replace(make_classifier(0), tokenizer=by_spaces)
    text = clf.read("Word1 WORD2  word1")
    assert text.tokens[:3] == ("word1", "word2", "word1")
    assert [(word.text, word.start) for word in text.words] == [
        ("Word1", 0),
        ("WORD2", 6),
        ("word1", 13),
    ]


def test_a_function_may_give_the_places_itself():
    assert kinds.as_tokenizer(by_letters)("a b") == [("a", 0, 1), ("b", 2, 3)]


@given(st.lists(st.text("abAB", min_size=1, max_size=3), max_size=8))
def test_every_word_of_a_split_is_located_in_order(words):
    source = " ".join(words)
    found = kinds.located(source, source.lower().split())
    assert [source[a:b] for _, a, b in found] == words
    assert all(one[2] <= other[1] for one, other in pairwise(found))


def test_a_word_that_is_not_in_the_text_is_refused_with_the_word():
    clf = replace(make_classifier(0), tokenizer=lambda source: ["word1", "stemm"])
    with pytest.raises(
        InputError, match="gives 'stemm', which is not in the text after character 5"
    ):
        clf.read("word1 stems")


@pytest.mark.parametrize("item", [("a", 0, 99), ("a", 2, 1), ("", 0, 1), ("a", "0", 1), ("a",), 3])
def test_a_piece_that_makes_no_sense_is_refused(item):
    with pytest.raises(InputError, match="must give words, or"):
        kinds.as_tokenizer(lambda source: [item, "b"])("a b")


def test_a_function_is_not_saved_but_asked_for_by_name(tmp_path):
    clf = replace(make_classifier(0), tokenizer=by_spaces)
    assert clf.digest != make_classifier(0).digest
    clf.save(tmp_path)
    with pytest.raises(
        ModelError,
        match=r"your function 'by_spaces', which is not saved: use load\(folder, tokenizer=by_",
    ):
        sf.load(tmp_path)
    with pytest.raises(ModelError, match="saved with the tokenizer 'by_spaces', which is not"):
        sf.load(tmp_path, tokenizer=by_letters)
    assert (
        sf.load(tmp_path, tokenizer=by_spaces).predict("word1").scores
        == clf.predict("word1").scores
    )


def test_a_tokenizer_that_is_not_needed_is_refused(tmp_path):
    with pytest.raises(ModelError, match="without the argument"):
        sf.load("sst-fc25", tokenizer=by_spaces)


def test_a_list_of_words_goes_around_the_tokenizer():
    clf = replace(make_classifier(0), tokenizer=by_letters)
    assert clf.read(["word1", "word2"]).tokens[:2] == ("word1", "word2")


@pytest.mark.parametrize(
    "how",
    ["words", kinds.Pattern(), wordpiece(), by_spaces],
    ids=["words", "pattern", "hugging-face", "function"],
)
def test_half_a_character_is_refused_before_any_tokenizer_sees_it(how):
    clf = replace(make_classifier(0), tokenizer=how)
    with pytest.raises(InputError, match="surrogate"):
        clf.read("good \ud83d film")


def test_a_pattern_is_saved_as_data(tmp_path):
    how = kinds.Pattern(r"\w+", False, "ascii", ("the", "a"), True)
    clf = replace(make_classifier(0), tokenizer=how)
    clf.save(tmp_path)
    assert sf.load(tmp_path).tokenizer == how
    others = [
        replace(how, once=False),
        replace(how, skip=()),
        replace(how, accents="keep"),
        replace(how, lowercase=True),
    ]
    assert len({replace(clf, tokenizer=other).digest for other in [how, *others]}) == 5


# --- words that count once ---


def once(seed: int = 0) -> sf.Classifier:
    return replace(make_classifier(seed, length=5), tokenizer=kinds.Pattern(r"\w+", once=True))


@pytest.mark.parametrize(
    "given_text", ["word1 word2 word1 word2 word3", ["word1", "word2", "word1", "word2", "word3"]]
)
def test_a_repeat_is_not_read(given_text):
    text = once().read(given_text)
    assert text.tokens == ("word1", "word2", "word3", "<PAD>", "<PAD>")
    assert [word.start for word in text.words] == [0, 6, 24]
    assert text.cut == ()


@pytest.mark.parametrize(
    "swaps",
    [
        {"word1": ["word2"]},
        {"word1": ["word5"], "word2": ["word5"]},
        {"word1": ["WORD2"]},
    ],
)
def test_a_swap_that_could_put_a_word_in_twice_is_refused(swaps):
    with pytest.raises(
        InputError, match=r"counts once, .* 'word\d' could stand at positions 0 and 1"
    ):
        sf.explain(once(), "word1 word2", perturbation=sf.WordSwap(swaps))


def test_swaps_that_keep_words_apart_and_deletion_are_fine():
    swaps = sf.WordSwap({"word1": ["word4", "nowhere"], "word2": ["word5", "elsewhere"]})
    for perturbation in (swaps, sf.Deletion()):
        assert (
            sf.explain(once(), "word1 word2 word1", perturbation=perturbation).status == "optimal"
        )


def test_nearest_words_are_refused_where_words_count_once():
    for perturbation in (sf.KNNBox(2), sf.KNNHull(2)):
        with pytest.raises(InputError, match="Use WordSwap or Deletion"):
            sf.explain(once(), "word1 word2", perturbation=perturbation)
    assert sf.explain(once(), "word1 word2", perturbation=sf.EpsilonBall(0.01)).status == "optimal"


def test_the_checker_refuses_a_set_in_which_a_word_could_count_twice():
    from suffice.proof.check import header, limits, sets

    clf = once()
    tokens = clf.read("word1 word2").tokens
    mask = np.ones(5, dtype=bool)
    data = {"kind": "word-swap", "swaps": {"word1": ["word2"]}}
    head = header.Header(
        "", tokens, data, mask, clf.labels[0], "sufficient", header.Sufficient(mask)
    )
    with pytest.raises(sf.Rejected, match="counts once"):
        sets.read_sets(head, clf, limits.Limit.of(60))


def test_the_example_of_the_folder_format_still_holds(tmp_path: Path):
    once().save(tmp_path)
    assert '"once": true' in (tmp_path / "classifier.json").read_text(encoding="utf-8")
