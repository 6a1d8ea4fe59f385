"""The experiments on made-up data: every item runs, a second run computes nothing, rows are what
explain says.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

import suffice as sf
from experiments import asking, paper, plan, report, tables, training
from experiments.store import Job, Store

pytest.importorskip("torch")
pytestmark = pytest.mark.slow

GOOD = ("lovely", "bright", "warm", "funny")
BAD = ("dull", "awful", "cold", "boring")
FILLER = ("the", "film", "was", "and", "quite", "a", "story", "with", "its", "cast")
# lime, shap, anchor and spacy warn when they are loaded or run
QUIET = pytest.mark.filterwarnings("ignore")


def made_up(count: int, seed: int) -> list[tuple[str, int]]:
    rng = random.Random(seed)
    rows = []
    for number in range(count):
        words = rng.choices(FILLER, k=rng.randint(3, 8)) + rng.choices((BAD, GOOD)[number % 2], k=2)
        rng.shuffle(words)
        rows.append((" ".join(words), number % 2))
    return rows


def write(path: Path, rows: list[tuple[str, int]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["text,label", *(f"{text},{label}" for text, label in rows)]
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layout of the real data folder, with made-up texts."""
    root = tmp_path_factory.mktemp("data")
    for place, name in enumerate(("sst2", "twitter")):
        for part, count in (("train", 240), ("train_phrases", 60), ("dev", 30), ("test", 40)):
            write(root / name / f"{part}.csv.gz", made_up(count, 10 * place + len(part)))
    # six classes, each told by its first word
    asked = ("short", "what", "why", "who", "where", "many")
    rows = [(f"{asked[n % 6]} {text}", n % 6) for n, (text, _) in enumerate(made_up(240, 5))]
    write(root / "trec6" / "train.csv.gz", rows[:200])
    write(root / "trec6" / "test.csv.gz", rows[200:])
    capital = [(text.replace("cast", "Cast"), label) for text, label in made_up(200, 6)]
    write(root / "imdb" / "train.csv.gz", capital)
    (root / "samples").mkdir()
    for name in ("sst", "twitter"):
        texts = [text for text, _ in made_up(6, 7)]
        (root / "samples" / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    labels = [
        f"{name},{line},{(line - 1) % 2},test"
        for name in ("sst", "twitter")
        for line in range(1, 7)
    ]
    (root / "samples" / "labels.csv").write_text(
        "\n".join(["set,line,label,split", *labels]) + "\n", encoding="utf-8"
    )
    (root / "synonyms").mkdir()
    swaps = {"lovely": ["bright", "dull"], "awful": ["warm"], "film": ["story"]}
    (root / "synonyms" / "counterfitted_neighbors.json.gz").write_bytes(
        gzip.compress(json.dumps(swaps).encode())
    )
    return root


@pytest.fixture(scope="module")
def out(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole small run."""
    folder = tmp_path_factory.mktemp("out")
    assert paper.main(["--data", str(data), "--out", str(folder), "--small", "--workers", "0"]) == 0
    return folder


@QUIET
def test_the_report_has_every_section_and_nothing_is_missing(out: Path) -> None:
    text = (out / "RESULTS.md").read_text(encoding="utf-8")
    titles = [
        line
        for line in report.TEMPLATE.read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    ]
    assert len(titles) == 10
    assert [title for title in titles if title not in text.splitlines()] == []
    assert report.MISSING not in text
    assert [
        name
        for name in ("growth-eps", "growth-k", "robust-sst")
        if not (out / "figures" / f"{name}.png").exists()
    ] == []


@QUIET
def test_every_table_row_says_seed_and_machine(out: Path) -> None:
    lines = (out / "RESULTS.md").read_text(encoding="utf-8").splitlines()
    heads = [line for line in lines if line.endswith("| seed | machine |")]
    assert len(heads) >= 17
    assert sum(line.endswith("| M1 |") for line in lines) >= 50
    rows = [
        json.loads(line)
        for path in (out / "rows").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert [row for row in rows if not {"settings", "seed", "machine", "command"} <= set(row)] == []


@QUIET
def test_a_second_run_computes_nothing(
    data: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper, "work", lambda plan, job: pytest.fail(f"computed again: {job}"))
    assert paper.compute(plan.small(data, out), list(paper.ITEMS), 0) == 0


@QUIET
def test_a_line_cut_off_by_a_kill_is_computed_again(data: Path, out: Path, tmp_path: Path) -> None:
    small = plan.small(data, out)
    jobs = paper.ITEMS["boxes"].jobs(small)
    rows = tmp_path / "boxes.jsonl"
    rows.write_text(
        (out / "rows" / "boxes.jsonl").read_text(encoding="utf-8")[:-20], encoding="utf-8"
    )
    store = Store(tmp_path)
    assert sum(not store.has(job) for job in jobs) == 1


@QUIET
def test_a_row_is_what_explain_says(data: Path, out: Path) -> None:
    small = plan.small(data, out)
    job = next(
        job for job in paper.ITEMS["boxes"].jobs(small) if job.settings["padding"] == "feature"
    )
    row = Store(out / "rows").get(job)
    assert row is not None
    model = sf.load(out / "models" / job.settings["model"])
    for place, text in enumerate(plan.samples(data, "sst")[: small.texts]):
        found = sf.explain(
            model, text, perturbation=sf.KNNBox(job.settings["size"]), padding="feature"
        )
        assert found.status == "optimal"
        assert row["status"][place] in (
            "optimal",
            "sufficient",
        )  # a busy machine may have cut the run short
        assert row["lower"][place] <= found.cost <= len(row["positions"][place])
        assert row["check"][place] == "cheapest"
        if row["status"][place] == "optimal":
            assert row["positions"][place] == list(found.positions)


@QUIET
def test_a_training_row_tells_of_the_model_that_its_command_makes(data: Path, out: Path) -> None:
    small = plan.small(data, out)
    row = Store(out / "rows").get(training.job(small, small.pairs[0]))
    assert row is not None
    assert row["command"].startswith(
        "suffice train sst2/train.csv.gz sst2/train.csv.gz sst2/train_phrases.csv.gz --kind fc"
    )
    assert row["digest"] == sf.load(out / "models" / row["name"]).digest
    assert str(data) not in row["command"]


@QUIET
def test_the_texts_of_the_data_stay_in_the_runs_folder(data: Path, out: Path) -> None:
    texts = plan.samples(data, "sst")[:2]
    shown = (out / "RESULTS.md").read_text(encoding="utf-8")
    kept = (out / "examples.md").read_text(encoding="utf-8").replace("**", "")
    assert [text for text in texts if text in shown.replace("**", "")] == []
    assert [text for text in texts if text not in kept] == []


def test_only_what_was_asked_for_is_told(tmp_path: Path, data: Path) -> None:
    small = plan.small(data, tmp_path)
    path = tmp_path / "RESULTS.md"
    report.write(small, Store(tmp_path / "rows"), path)
    assert path.read_text(encoding="utf-8").count(report.MISSING) >= 10


def test_shares_and_lengths_of_a_row() -> None:
    row = {
        "positions": [[], [0, 1], [1]],
        "features": [2, 2, 2],
        "status": ["optimal", "sufficient", "optimal"],
    }
    row["check"] = ["cheapest", "cheapest", "cheapest"]
    assert asking.lengths(row) == [0, 2, 1]
    assert asking.shares(row) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert asking.solved(row) == 2
    assert asking.solved({**row, "check": ["cheapest", "cheapest", "rejected"]}) == 1


def test_the_full_run_has_the_sizes_of_the_paper() -> None:
    full = plan.Plan(Path("data"), Path("out"))
    assert full.ks == (8, 10, 15, 25, 30)
    assert full.eps == (0.01, 0.05, 0.1)
    assert full.texts == 40
    made = training.models(full)
    for data in ("sst", "twitter", "imdb"):
        for kind in ("fc", "cnn"):
            mine = [m for m in made if (m.data, m.kind, m.robust, m.seed) == (data, kind, "", 1)]
            assert {m.length for m in mine} == {10, 25, 50, 100}
            assert {m.layers for m in mine} == {3, 4, 5, 6}
    assert len({m.name for m in made}) == len(made)


def test_two_settings_are_two_rows_and_the_same_settings_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(Job("a", {"x": 1, "y": 2}), {"seed": 0})
    store.add(Job("a", {"x": 2, "y": 2}), {"seed": 0})
    again = Store(tmp_path)
    assert again.has(Job("a", {"y": 2, "x": 1}))
    assert not again.has(Job("a", {"x": 3, "y": 2}))
    assert not again.has(Job("b", {"x": 1, "y": 2}))
    assert len(again.rows("a")) == 2


def test_every_piece_of_the_template_is_made() -> None:
    import string

    names = {
        name.split(".")[0]
        for _, name, _, _ in string.Formatter().parse(report.TEMPLATE.read_text("utf-8"))
        if name
    }
    assert names == {*tables.PIECES, "plan", "machines", "in_short"}
