"""Characters that are read as several words: each shows once, marked where one of its words is."""

from __future__ import annotations

import numpy as np
import pytest

import suffice as sf
from suffice.model.classifier import Classifier
from suffice.model.network import Network
from suffice.model.text import rewritten
from suffice.model.tokenizers import Pattern
from suffice.render import guarantee, phrases

WORDS = {"<PAD>": 0.0, "<UNK>": 0.0, "1": 0.5, "2": -1.0, "good": 2.0, "film": 0.1}


def reader(once: bool = False) -> Classifier:
    network = Network.dense([(np.array([[1.0] * 6, [-1.0] * 6]), np.zeros(2))])
    table = np.array([[value] for value in WORDS.values()])
    tokenizer = Pattern(r"\w+", accents="unicode", once=once)
    return Classifier(network, table, list(WORDS), ["pos", "neg"], 6, tokenizer=tokenizer)


@pytest.mark.parametrize("source", ["a ½ film", "½ good ½ film", " ½ ", "x½y good", "½½"])
@pytest.mark.parametrize("needed", [(), (0,), (1,), (0, 1)])
def test_every_character_shows_once(source, needed):
    text = reader().read(source)
    assert "".join(piece.text for piece in phrases.pieces(text, needed)) == source
    assert rewritten(text, {}) == source


def test_a_character_is_marked_where_one_of_its_words_is():
    text = reader().read("a ½ film")
    assert (text.tokens[:4], text.shared) == (("a", "1", "2", "film"), (2,))
    for needed in ((1,), (2,), (1, 2)):
        assert [piece.text for piece in phrases.pieces(text, needed) if piece.role == "needed"] == [
            "½"
        ]
    assert "Read as several words: '½' as '1' and '2'." in guarantee.notes(text)


def test_words_are_written_where_the_character_that_they_share_is_gone():
    text = reader().read("a ½ film")
    assert rewritten(text, {1: ""}) == "a 2 film"
    assert rewritten(text, {3: ""}) == "a ½"
    assert rewritten(text, {1: "", 2: ""}) == "a film"


def test_where_words_count_once_the_first_that_is_left_has_the_character():
    text = reader(once=True).read("1 ½ film")
    assert ([word.text for word in text.words], text.shared) == (["1", "½", "film"], ())


def test_a_text_of_evidence_has_the_character_once_and_survives_its_file():
    found = sf.explain(reader(), "½ good ½ film", perturbation=sf.Deletion())
    (without,) = [detail.flip.text for detail in found.details if detail.flip and detail.flip.text]
    assert without == "½ ½ film"
    again = sf.Explanation.from_json(found.to_json())
    assert again.text == found.text
    assert "½2" not in found.to_html()


def test_no_text_is_shown_for_a_change_of_a_part_of_a_character():
    found = sf.contrast(reader(), "a ½ film", perturbation=sf.Deletion())
    assert [found.text.tokens[i] for i in found.positions] == ["2"]
    assert found.flip.text is None
    assert str(found).endswith("'2' is blanked.")


def test_a_word_of_spaces_shows_as_these():
    def halves(source: str) -> list[tuple[str, int, int]]:
        return [(char, i, i + 1) for i, char in enumerate(source)]

    network = Network.dense([(np.array([[1.0] * 6, [-1.0] * 6]), np.zeros(2))])
    table = np.array([[value] for value in WORDS.values()])
    text = Classifier(network, table, list(WORDS), ["pos", "neg"], 6, tokenizer=halves).read("a  b")
    assert [word.text for word in text.words] == ["a", " ", " ", "b"]
    assert "".join(piece.text for piece in phrases.pieces(text, (1,))) == "a  b"
