"""Training: it learns, it repeats itself exactly, and it says clearly what is wrong
with the data.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import suffice as sf
from suffice.cli import main
from suffice.errors import InputError, MissingExtra
from suffice.model.saved import load
from suffice.train import robust as robustly
from suffice.train.arguments import add_train_arguments
from suffice.train.command import run_train
from suffice.train.data import Data, prepare, read_rows
from suffice.train.data import Example as Row
from suffice.train.fit import Trained, train
from suffice.train.recipe import Recipe

torch = pytest.importorskip("torch")

GOOD = ("sunny", "bright", "warm", "lovely")
BAD = ("rainy", "dark", "cold", "awful")
FILLER = ("the", "day", "was", "very", "and", "quite", "today", "here")


def made_up(count: int, seed: int = 0) -> list[Row]:
    """Texts of filler with one or two telling words, alternating between the labels."""
    rng = random.Random(seed)
    rows = []
    for number in range(count):
        words = rng.choices(FILLER, k=rng.randint(3, 7)) + rng.choices((BAD, GOOD)[number % 2], k=2)
        rng.shuffle(words)
        rows.append(Row(" ".join(words), str(number % 2)))
    return rows


def write(path: Path, rows: list[Row]) -> Path:
    lines = ["text,label", *(f"{row.text},{row.label}" for row in rows)]
    content = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture(scope="module")
def weather() -> Data:
    return prepare(made_up(600), tests={"test": made_up(100, seed=1)}, labels=("bad", "good"))


QUICK = {
    "fc": Recipe("fc", length=9, dimension=3, hidden=(8,), epochs=20),
    "cnn": Recipe("cnn", length=9, dimension=3, hidden=(4,), filters=4, epochs=20),
}


@pytest.fixture(scope="module", params=["fc", "cnn"])
def trained(request: pytest.FixtureRequest, weather: Data) -> Trained:
    return train(weather, QUICK[request.param])


def test_both_kinds_learn_and_report_every_part(trained: Trained) -> None:
    assert set(trained.accuracies) == {"train", "dev", "test"}
    assert trained.accuracies["test"] > 0.9
    assert trained.classifier.predict("a sunny and lovely day").label == "good"
    assert trained.classifier.predict("a dark and awful day").label == "bad"


def test_a_hundred_rows_are_gone_over_often_enough_to_learn_from() -> None:
    few = prepare(made_up(120), tests={"test": made_up(100, seed=1)})
    heard: list[float] = []
    found = train(few, Recipe(length=9, dimension=3, hidden=(8,)), heard.append)
    assert found.accuracies["test"] > 0.9
    assert len(heard) > 500
    assert Recipe().epochs_over(100_000) == 10
    assert Recipe(epochs=3).epochs_over(100) == 3


@pytest.mark.parametrize("kind", ["fc", "cnn"])
def test_the_same_seed_gives_the_same_weights_and_another_does_not(
    weather: Data, kind: str
) -> None:
    recipe = Recipe(kind, length=9, dimension=2, hidden=(4,), filters=2, epochs=1, seed=5)
    other = Recipe(kind, length=9, dimension=2, hidden=(4,), filters=2, epochs=1, seed=6)
    digest = train(weather, recipe).classifier.digest
    torch.rand(7)  # what the caller drew from torch's generator does not matter
    assert train(weather, recipe).classifier.digest == digest
    assert train(weather, other).classifier.digest != digest


def test_training_leaves_the_callers_torch_as_it_was(weather: Data) -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    threads = torch.get_num_threads()
    strict = torch.are_deterministic_algorithms_enabled()
    train(weather, Recipe(length=9, dimension=2, hidden=(4,), epochs=1))
    assert torch.equal(torch.rand(3), expected)
    assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()) == (
        threads,
        strict,
    )


def test_the_saved_classifier_is_the_trained_one(trained: Trained, tmp_path: Path) -> None:
    trained.classifier.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.digest == trained.classifier.digest
    assert np.all(again.table[again.lookup["<PAD>"]] == 0)
    assert again.predict("a bright day") == trained.classifier.predict("a bright day")


def test_every_epoch_is_reported(weather: Data) -> None:
    heard: list[float] = []
    train(weather, Recipe(length=9, dimension=2, hidden=(4,), epochs=3), heard.append)
    assert len(heard) == 2 + 3  # the bag of words first
    assert all(0 <= accuracy <= 1 for accuracy in heard)


def test_more_rows_give_words_that_the_training_rows_lack() -> None:
    more = [
        Row("a glorious day", "1"),
        Row("a glorious sky", "1"),
        Row("gloomy and gloomy", "0"),
    ] * 10
    trained = train(
        prepare(made_up(300), more=more), Recipe(length=9, dimension=2, hidden=(4,), epochs=1)
    )
    assert {"glorious", "gloomy"} <= set(trained.classifier.vocabulary)


def test_the_vocabulary_is_capped(weather: Data) -> None:
    recipe = Recipe(length=9, dimension=2, hidden=(4,), epochs=1, words=5)
    vocabulary = train(weather, recipe).classifier.vocabulary
    assert vocabulary[:2] == ("<PAD>", "<UNK>")
    assert len(vocabulary) == 7


# --- data ---


def test_rows_seen_in_test_or_dev_are_not_trained_on() -> None:
    rows = [
        Row("a fine day", "1"),
        Row("A fine, day", "1"),
        Row("a FINE day", "1"),
        Row("a bad day", "0"),
    ]
    data = prepare(rows, dev=[Row("a bad day", "0")], tests={"test": [Row("A fine day", "1")]})
    assert data.train == [Row("A fine, day", "1")]


def test_without_dev_a_tenth_is_set_aside() -> None:
    rows = [Row(f"text number {n}", str(n % 2)) for n in range(50)]
    data = prepare(rows)
    assert len(data.dev) == 5
    assert sorted([*data.train, *data.dev]) == sorted(rows)


def test_labels_may_be_numbers_or_names() -> None:
    numbered = [Row(f"text {n}", str(n % 11)) for n in range(44)]
    assert prepare(numbered).labels == tuple(str(n) for n in range(11))
    named = [Row(f"text {n}", ("no", "yes")[n % 2]) for n in range(40)]
    assert prepare(named).labels == ("no", "yes")
    assert prepare(named, labels=("yes", "no")).labels == ("yes", "no")


def test_csv_is_read_plain_and_compressed(tmp_path: Path) -> None:
    rows = made_up(4)
    assert read_rows(write(tmp_path / "rows.csv", rows)) == rows
    assert read_rows(write(tmp_path / "rows.csv.gz", rows)) == rows


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"sentence,label\nfine,1\n", "needs the header text,label"),
        (b"", "needs the header text,label"),
        (b"text,label\n", "holds no rows"),
        (b"text,label\nfine,1\nfine\n", "Line 3"),
        (b"text,label\nfine, day,1\n", "Line 2"),
        (b"text,label\n,1\n", "Line 2"),
        (b"text,label\n\xff\xfe,1\n", "cannot be read"),
        (b'text,label\n"fine,1\n', "cannot be read"),
    ],
)
def test_a_bad_csv_is_refused_with_the_reason(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "rows.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_rows(tmp_path / "rows.csv")


def test_a_file_that_is_missing_or_not_gzip_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_rows(tmp_path / "none.csv")
    (tmp_path / "rows.csv.gz").write_bytes(b"text,label\nfine,1\n")
    with pytest.raises(InputError, match="cannot be read"):
        read_rows(tmp_path / "rows.csv.gz")


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ([Row("a", "1"), Row("b", "1")], (), "at least two different labels"),
        ([Row("a", "0"), Row("b", "1")], (), "too few rows"),
        ([Row("a", "0"), Row("b", "2")] * 10, ("no", "yes"), "label '2' is unknown"),
        ([Row("a", "0"), Row("b", "1")], ("same", "same"), "at least two different labels"),
    ],
)
def test_unusable_rows_are_refused(rows: list[Row], labels: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare(rows, labels=labels)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "rnn"},
        {"length": 0},
        {"hidden": (0,)},
        {"drop": 1.0},
        {"noise": -1.0},
        {"kind": "cnn", "length": 13},
        {"robust": "x"},
    ],
)
def test_an_impossible_recipe_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Recipe(**wrong)  # type: ignore[arg-type]


# --- robust training ---


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("0.05", robustly.Robust("eps", 0.05)),
        ("eps:2", robustly.Robust("eps", 2.0)),
        ("knn:10", robustly.Robust("knn", 10.0)),
        ("knn:10:0.5", robustly.Robust("knn", 10.0, 0.5)),
        ("eps:0.1:1", robustly.Robust("eps", 0.1, 1.0)),
    ],
)
def test_what_robust_takes(given: str, expected: robustly.Robust) -> None:
    assert robustly.parse(given) == expected


WRONG = (
    "zero eps: 0 -1 knn:0 knn:2.5 knn ball:3 eps:inf eps:nan : knn:3: knn:3:0 knn:3:2 knn:3:nan "
    "0.1:0.5 knn:3:1:1"
)


@pytest.mark.parametrize("given", WRONG.split())
def test_what_robust_does_not_take(given: str) -> None:
    with pytest.raises(InputError, match="knn:10"):
        Recipe(robust=given)


def random_body(kind: str) -> tuple[torch.nn.Sequential, tuple[int, ...]]:
    nn = torch.nn
    if kind == "fc":
        return nn.Sequential(
            nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3)
        ), (6,)
    return nn.Sequential(nn.Conv2d(2, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 3)), (2, 3, 3)


@pytest.mark.parametrize("kind", ["fc", "cnn"])
def test_no_point_of_a_box_gives_a_rival_more_than_the_bounds_say(kind: str) -> None:
    torch.manual_seed(3)
    body, shape = random_body(kind)
    center = torch.randn(1, *shape)
    radius = 0.3 * torch.rand(1, *shape)
    with torch.no_grad():
        box = robustly.through(torch, list(body)[:-1], robustly.Interval(center, radius))
        points = center + radius * (2 * torch.rand(2000, *shape) - 1)
        scores = body(points)
        for right in range(3):
            most = robustly.leads(body[-1], box, torch.tensor([right]))[0]
            seen = (scores - scores[:, [right]]).max(0).values
            assert (seen <= most + 1e-5).all()
            assert most[right] == 0
            assert (most < seen + 5).all()  # and they are not simply infinite


def test_a_box_without_a_radius_has_the_scores_of_its_centre() -> None:
    body, shape = random_body("fc")
    point = torch.randn(4, *shape)
    box = robustly.through(
        torch, list(body)[:-1], robustly.Interval(point, torch.zeros_like(point))
    )
    found = robustly.leads(body[-1], box, torch.tensor([0, 1, 2, 0]))
    scores = body(point)
    assert torch.allclose(
        found, scores - scores.gather(1, torch.tensor([[0], [1], [2], [0]])), atol=1e-6
    )


def test_the_boxes_in_training_are_those_of_the_explanations(trained: Trained) -> None:
    classifier = trained.classifier
    table = torch.from_numpy(classifier.table.copy())
    boxes = robustly.spread(torch, table, robustly.Robust("knn", 3))
    text = classifier.read("the sunny day was awful")
    region = sf.KNNBox(3).around(classifier, text)
    rows = list(text.indices[:5])
    assert np.allclose(region.lower[:5], classifier.table[rows] - boxes.down[rows].numpy())
    assert np.allclose(region.upper[:5], classifier.table[rows] + boxes.up[rows].numpy())


def test_robust_training_needs_fewer_words_and_still_learns(weather: Data) -> None:
    def words(robust: str) -> tuple[float, int]:
        found = train(weather, Recipe(length=9, dimension=3, hidden=(8,), epochs=40, robust=robust))
        texts = [row.text for row in weather.tests["test"][:20]]
        held = [
            sf.explain(found.classifier, text, perturbation=sf.EpsilonBall(0.3)).positions
            for text in texts
        ]
        return found.accuracies["test"], sum(map(len, held))

    (plain, many), (robust, few), (_, some) = words(""), words("eps:0.2:0.5"), words("eps:0.2:0.01")
    assert plain > 0.9
    assert robust > 0.9
    assert few < many / 2
    assert few < some  # a smaller share counts for less


def test_a_robust_model_is_not_chosen_before_the_boxes_have_grown() -> None:
    assert robustly.ramp(0.0) == 0
    assert robustly.ramp(robustly.RAMP / 2) == 0.5
    assert robustly.ramp(1.0) == 1
    assert not robustly.settled(robustly.RAMP)
    assert robustly.settled(1.0)


# --- the command ---


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add_train_arguments(parser)
    said, following = run_train(parser.parse_args(words))
    print(f"{said}\n{following}")
    return 0


def test_the_command_saves_a_model_with_a_card_that_repeats_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("rows.csv"), made_up(300))
    write(Path("held.csv.gz"), made_up(50, seed=1))
    options = (
        "--length 9 --dimension 2 --hidden 4 --epochs 2 --no-shift --robust knn:2 --labels "
        "bad,good --test held.csv.gz"
    )
    assert command("rows.csv", *options.split(), "--out", "model") == 0
    printed = capsys.readouterr().out
    assert re.match(
        r"Right on [\d.]+% of the rows in train, [\d.]+% of the rows in dev, .*held\. Saved in",
        printed,
    )
    again = Path("model/README.md").read_text(encoding="utf-8").split("```\n")[1].split()
    assert again[:2] == ["suffice", "train"]
    assert command(*again[2:-1], "copy") == 0
    assert load("copy").digest == load("model").digest


def test_suffice_train_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write(tmp_path / "rows.csv", made_up(100))
    options = [
        "--kind",
        "cnn",
        "--length",
        "9",
        "--hidden",
        "4",
        "--epochs",
        "1",
        "--out",
        str(tmp_path / "model"),
    ]
    assert main(["train", str(rows), *options]) == 0
    assert load(tmp_path / "model").labels == ("0", "1")
    assert main(["train", str(tmp_path / "none.csv"), *options]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_that_is_there_is_not_written_over_without_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write(tmp_path / "rows.csv", made_up(60))
    asked = [
        "train",
        str(rows),
        "--length",
        "9",
        "--hidden",
        "4",
        "--epochs",
        "1",
        "--out",
        str(tmp_path / "model"),
    ]
    (tmp_path / "model").mkdir()  # an empty one may be filled
    assert main(asked) == 0
    assert f"suffice explain TEXT --model {tmp_path / 'model'}" in capsys.readouterr().out
    before = load(tmp_path / "model").digest
    assert main([*asked, "--seed", "5"]) == 2
    assert "--force" in capsys.readouterr().err
    assert load(tmp_path / "model").digest == before
    assert main([*asked, "--seed", "5", "--force"]) == 0
    assert load(tmp_path / "model").digest != before


def test_an_existing_card_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    rows = write(tmp_path / "rows.csv", made_up(100))
    command(
        str(rows),
        "--length",
        "9",
        "--hidden",
        "4",
        "--epochs",
        "1",
        "--out",
        str(tmp_path),
        "--force",
    )
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "mine"


def test_without_torch_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    rows = write(tmp_path / "rows.csv", made_up(20))
    with pytest.raises(MissingExtra, match=r"extra 'train'"):
        command(str(rows), "--out", str(tmp_path / "model"))
