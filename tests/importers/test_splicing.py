"""Token ids put together word by word are those that the tokenizer gives, or the tokenizer is
asked.
"""

from __future__ import annotations

import random

import pytest

from suffice.importers.splicing import Splicer, cuts_at_spaces
from tests.importers.test_huggingface import TEXTS, byte_level, wordpiece

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

ODD = [
    "",
    " ",
    "a  film",
    "film\tnever",
    "film\nbores ",
    "\u00a0film",
    "a\0b",
    "bores\u0301 \u0301",
    "caf\u00e9 BORES",
]
ODD += [
    "[MASK] film",
    "film[MASK]",
    "<mask> film <mask>",
    "the\u3000year",
    "\u2581film",
    "it's 'the' worst-film!!",
]


def fast(model, before, **more):
    inner = tokenizers.Tokenizer(model)
    inner.pre_tokenizer = before
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, **more)


def words():
    found = sorted({word for text in TEXTS for word in text.split()})
    model = tokenizers.models.WordLevel(
        {"?": 0} | {word: i for i, word in enumerate(found, 1)}, unk_token="?"
    )
    return fast(model, tokenizers.pre_tokenizers.WhitespaceSplit(), unk_token="?")


def merging(before):
    """Pairs of letters, one pair across a blank: what stands before a word may change its ids."""
    letters = ["?", *"abcdefghijklmnopqrstuvwxyz", "Ġ", "▁", " "]
    pairs = [(letter, blank) for letter in "aemts" for blank in "Ġ▁ "]
    table = {letter: i for i, letter in enumerate([*letters, *("".join(pair) for pair in pairs)])}
    return fast(tokenizers.models.BPE(table, pairs, unk_token="?"), before, unk_token="?")


def spaced(**more):
    return merging(tokenizers.pre_tokenizers.Metaspace(**more))


def across():
    return merging(tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))


def late():
    steps = [
        tokenizers.pre_tokenizers.ByteLevel(use_regex=False),
        tokenizers.pre_tokenizers.WhitespaceSplit(),
    ]
    return merging(tokenizers.pre_tokenizers.Sequence(steps))


def hungry():
    """A mask that takes the blank behind it."""
    splitter = byte_level()
    splitter.add_tokens([tokenizers.AddedToken("<mask2>", rstrip=True)])
    return splitter


def shaky():
    """Pieces by chance."""
    splitter = byte_level()
    splitter.backend_tokenizer.model.dropout = 0.5
    return splitter


LOCAL = {
    "wordpiece": wordpiece,
    "byte level": byte_level,
    "words": words,
    "metaspace": spaced,
    "metaspace, first": lambda: spaced(prepend_scheme="first"),
}
NOT_LOCAL = {
    "across blanks": across,
    "no cutting": lambda: merging(None),
    "metaspace in one": lambda: spaced(split=False),
    "cut too late": late,
    "hungry mask": hungry,
}


def some_texts(count=300):
    rng = random.Random(5)
    pool = [word for text in TEXTS for word in text.split()] + [
        "[MASK]",
        "<mask>",
        "<mask2>",
        "zzz",
    ]
    made = [" ".join(rng.choices(pool, k=rng.randint(1, 12))) for _ in range(count)]
    return [*ODD, *made, *ODD, "film " * 60]


def same(splicer, splitter, texts, limit):
    for start in range(0, len(texts), 16):
        part = texts[start : start + 16]
        cut = {} if limit is None else {"truncation": True, "max_length": limit}
        assert splicer(part) == dict(splitter(part, **cut))


@pytest.mark.parametrize("limit", [None, 20])
@pytest.mark.parametrize("build", [*LOCAL.values(), *NOT_LOCAL.values()], ids=[*LOCAL, *NOT_LOCAL])
def test_the_ids_are_those_of_the_tokenizer(build, limit):
    splitter = build()
    same(Splicer(splitter, limit), splitter, some_texts(), limit)


@pytest.mark.parametrize("build", LOCAL.values(), ids=LOCAL)
def test_texts_of_known_words_are_not_tokenised_again(build):
    splitter = build()
    splicer = None
    splicer = Splicer(splitter, None)
    splicer(TEXTS)
    assert splicer.local
    splicer.tokenizer = None  # a call would fail
    first, *rest = TEXTS[0].split(" ")
    shorter = [" ".join([first, *rest[i:]]) for i in range(len(rest))]
    assert splicer(shorter)["input_ids"] == splitter(shorter)["input_ids"]


@pytest.mark.parametrize("build", [*NOT_LOCAL.values(), shaky], ids=[*NOT_LOCAL, "shaky"])
def test_what_may_look_across_blanks_is_not_put_together(build):
    assert not cuts_at_spaces(build())


def test_merges_across_blanks_are_seen_in_these_tests():
    splitter = across()
    apart = [splitter([piece])["input_ids"][0] for piece in ("a", " film")]
    assert splitter(["a film"])["input_ids"][0] != apart[0] + apart[1]


def test_a_tokenizer_that_is_not_what_it_says_is_found_out():
    class Liar:
        """Says that it cuts at blanks, and numbers the tokens by their places."""

        def __init__(self):
            self.inner = wordpiece()
            self.backend_tokenizer = self.inner.backend_tokenizer

        def __call__(self, texts, **more):
            found = dict(self.inner(texts, **more))
            return found | {
                "input_ids": [[n + i for i, n in enumerate(row)] for row in found["input_ids"]]
            }

    liar = Liar()
    splicer = Splicer(liar, None)
    splicer.local = True
    same(splicer, liar, some_texts(40), None)
    assert not splicer.local
