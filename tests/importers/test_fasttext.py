"""fastText's .bin files, made by fastText 0.9.2 itself, against what it said; and files that are
cut or wrong.

`fasttext/said.json` has the settings of each training (400 made-up lines) and the probabilities of
some texts.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

import suffice as sf
from suffice.cli import main
from suffice.errors import ModelError
from suffice.importers.fasttext import from_fasttext, hashed
from suffice.importers.named import load_any
from tests.blackboxes import Truth, mask

HERE = Path(__file__).parent / "fasttext"
SAID = json.loads((HERE / "said.json").read_text(encoding="utf-8"))
PUBLISHED = 1e-4  # fastText adds 1e-5 to every probability, and computes in single precision


def softmax(scores: np.ndarray) -> np.ndarray:
    odds = np.exp(scores - scores.max(1, keepdims=True))
    return odds / odds.sum(1, keepdims=True)


@pytest.mark.parametrize("name", ["parts", "tree"])
def test_parts_and_runs_of_words_and_trees_are_asked_and_say_what_fasttext_says(name: str) -> None:
    clf = from_fasttext(HERE / f"{name}.bin")
    assert isinstance(clf, sf.BlackBox)
    assert clf.meta["import"]["way"] == "asked as a function"
    assert any("not laid open" in note for note in clf.notes)
    said = SAID[name]["said"]
    rows = softmax(clf.scores(list(said)))
    theirs = np.array([[shares[label] for label in clf.labels] for shares in said.values()])
    assert np.abs(rows - theirs).max() < PUBLISHED


def test_whole_words_become_a_network_that_orders_labels_as_fasttext_does() -> None:
    clf = from_fasttext(HERE / "words.bin")
    assert isinstance(clf, sf.Classifier)
    assert "averages" in clf.meta["import"]["note"]
    for text, shares in SAID["words"]["said"].items():
        if text:
            counted = 1 + sum(word in clf.vocabulary for word in text.split())
            mean = softmax(np.array([clf.predict(text).scores]) / counted)[0]
            assert mean == pytest.approx([shares[label] for label in clf.labels], abs=PUBLISHED)


def test_a_text_is_cut_where_fasttext_cuts_it() -> None:
    clf = from_fasttext(HERE / "words.bin")
    assert clf.read("Dull.\tfilm\u00a0of us").tokens[:3] == ("Dull.", "film\u00a0of", "us")


def test_the_answers_are_the_cheapest_over_all_allowed_texts() -> None:
    clf = from_fasttext(HERE / "parts.bin")
    text = "a lovely film and a dull story"
    result = sf.explain(clf, text, perturbation=sf.Deletion())
    assert result.status == "optimal"
    assert (
        mask(result.positions) in Truth(sf.Question(clf, text, perturbation=sf.Deletion())).cheapest
    )
    assert sf.check(result.certificate, load_any(str(HERE / "parts.bin"))).optimal


def test_the_command_line_takes_the_file(capsys) -> None:
    for name in ("words", "parts"):
        assert (
            main(
                [
                    "explain",
                    "the film was lovely",
                    "--deletion",
                    "--model",
                    str(HERE / f"{name}.bin"),
                ]
            )
            == 0
        )
        assert "proved" in capsys.readouterr().out


def test_bytes_above_127_are_hashed_as_negative_numbers() -> None:
    assert hashed(b"a") == 0xE40C292C  # FNV-1a
    assert (
        hashed("é".encode())
        == (((2166136261 ^ 0xFFFFFFC3) * 16777619 % 2**32) ^ 0xFFFFFFA9) * 16777619 % 2**32
    )


# --- files that are wrong ---


def changed(tmp_path: Path, at: int, layout: str, value: float) -> Path:
    data = bytearray((HERE / "parts.bin").read_bytes())
    struct.pack_into(f"<{layout}", data, at, value)
    path = tmp_path / "changed.bin"
    path.write_bytes(data)
    return path


DICTIONARY = 4 + 4 + 12 * 4 + 8  # mark, version, settings, a number of the training


@pytest.mark.parametrize(
    ("at", "layout", "value", "reason"),
    [
        (0, "i", 1, "is no model of fastText"),
        (4, "i", 99, "version 99"),
        (8, "i", 2**30, "vectors should be"),
        (8, "i", -4, "cannot be"),
        (8 + 7 * 4, "i", 1, "no labels"),
        (8 + 8 * 4, "i", 2**31 - 1, "vectors should be"),
        (8 + 8 * 4, "i", 0, "need buckets"),
        (DICTIONARY, "i", 2**31 - 1, "ends before what it declares"),
        (DICTIONARY + 4, "i", 3, "do not make"),
        (DICTIONARY + 20, "q", 5, "pruned"),
        (-17 - 3 * 4 * 4, "B", 1, "quantised"),
        (-4, "f", float("nan"), "not finite"),
    ],
)
def test_wrong_sizes_and_kinds_are_refused_by_name(
    tmp_path, at: int, layout: str, value: float, reason: str
) -> None:
    size = (HERE / "parts.bin").stat().st_size
    with pytest.raises(ModelError, match=reason):
        from_fasttext(changed(tmp_path, at % size, layout, value))


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path) -> None:
    data = (HERE / "words.bin").read_bytes()
    for size in [*range(0, len(data), 37), len(data) - 1]:
        path = tmp_path / "cut.bin"
        path.write_bytes(data[:size])
        with pytest.raises(ModelError, match="fastText"):
            from_fasttext(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(ModelError, match="goes on after its end"):
        from_fasttext(path)


def test_a_quantised_file_is_refused_by_its_ending(tmp_path) -> None:
    with pytest.raises(ModelError, match="quantised"):
        load_any(str(tmp_path / "model.ftz"))
    with pytest.raises(ModelError, match="There is no file"):
        load_any(str(tmp_path / "model.bin"))
