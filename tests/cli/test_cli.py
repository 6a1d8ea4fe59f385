"""The command line: what it prints, its exit codes, and one clear line for every misuse."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import make_classifier
from rich.cells import cell_len

import suffice as sf
from suffice.cli import main
from suffice.cli.parser import CODES, build_parser
from suffice.corpus.audit import read_protected
from suffice.model.saved import DEFAULT

TEXT = "a quiet , moving film that is never dull"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small saved classifier with words that are easily flipped."""
    path = tmp_path_factory.mktemp("model")
    make_classifier(seed=3, length=4, hidden=(6,)).save(path)
    return str(path)


def run(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "suffice.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, **more)  # type: ignore[call-overload, no-any-return]


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The single line on standard error that a misuse gives, with exit code 2 and nothing on
    standard output.
    """
    try:
        code = main(list(arguments))
    except SystemExit as stop:
        code = int(str(stop.code))
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    assert err.startswith("suffice: ")
    assert err.count("\n") == 1
    return err


def test_explain_shows_the_marked_text_the_label_the_proof_and_the_time() -> None:
    done = run("explain", TEXT, "--knn-box", "60")
    assert done.returncode == 0
    assert re.search(r"\[\w+\]", done.stdout)  # brackets, since a pipe has no colour
    assert "\x1b" not in done.stdout
    assert "positive" in done.stdout
    assert "proved, and nothing cheaper is enough" in done.stdout
    assert "accepted by the independent checker" in " ".join(done.stdout.split())
    assert re.search(r"\d\.\d\d s", done.stdout)
    assert done.stderr == ""


def test_json_is_exactly_the_dictionary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", TEXT, "--knn-box", "40", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    result = sf.explain(sf.load(DEFAULT), TEXT, perturbation=sf.KNNBox(40))
    assert all(data is not None for data in (result.alternatives, result.details, result.further))
    wanted = result.to_dict()
    for data in (printed, wanted):
        data["stats"].pop("seconds")
    assert printed == json.loads(json.dumps(wanted))


def test_exit_code_1_for_an_exclusion_that_cannot_be_met(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = TEXT.split()
    code = main(["explain", TEXT, "--eps", "50", *(f"--exclude={word}" for word in words)])
    assert code == 1
    assert "Witness" in capsys.readouterr().out


def test_exit_code_3_when_time_runs_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", TEXT, "--knn-box", "80", "--seconds", "1e-9"]) == 3
    assert "undecided" in capsys.readouterr().out


def test_include_and_exclude_reach_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", TEXT, "--deletion", "--include", "film", "--exclude", "that", "--json"])
    words = [word["text"] for word in json.loads(capsys.readouterr().out)["words"]]
    assert "film" in words
    assert "that" not in words


def test_all_prints_one_json_line_per_optimal_set(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", TEXT, "--deletion", "--all", "--json"])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len({tuple(f["positions"]) for f in found}) == len(found)
    assert {f["status"] for f in found} == {"optimal"}


def test_every_perturbation_option_is_understood(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    swaps = tmp_path / "swaps.json"
    swaps.write_text(json.dumps({"quiet": ["loud"], "moving": ["boring"]}))
    kinds = {
        "knn-hull": ["--knn-hull", "5"],
        "epsilon-ball": ["--eps", "0.1", "--norm", "2"],
        "word-swap": ["--swaps", str(swaps)],
        "deletion": ["--deletion"],
        "knn-box": ["--knn-box", "15"],
        "mask": ["--mask"],
        "removal-or-swap": [],
    }
    for kind, options in kinds.items():
        main(["explain", TEXT, *options, "--json"])
        assert json.loads(capsys.readouterr().out)["meta"]["perturbation"]["kind"] == kind


def test_json_says_why_each_word_is_there_which_sets_are_as_cheap_and_what_to_ask_next(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["explain", "The plot is dull and the jokes fall flat.", "--deletion", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert [one["position"] for one in said["why"]] == said["positions"]
    assert (
        sf.load("sentiment").predict(said["why"][0]["text"]).label
        == said["why"][0]["label"]
        != said["label"]
    )
    assert said["positions"] in said["alternatives"]["sets"]
    main(["explain", "boring dull tedious awful", "--deletion", "--at-most", "1", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["positions"] == said["why"] == []
    assert said["further"]["perturbation"]["kind"] == "deletion"


def test_the_next_question_names_the_files_that_were_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    swaps = tmp_path / "mine.json"
    costs = tmp_path / "dear.json"
    swaps.write_text(json.dumps({"story": ["tale"]}))
    costs.write_text(json.dumps({"dull": 2}))
    main(["explain", "a dull story", "--swaps", str(swaps), "--cost", str(costs)])
    told = "".join(capsys.readouterr().out.split())
    assert f"--deletion--swaps{swaps}--cost{costs}" in told


def test_contrast_finds_a_flip_of_real_words(
    capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    code = main(["contrast", "word1 word2 word3", "--model", folder, "--deletion", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert code == {"optimal": 0, "none": 1}[data["status"]]


def test_every_verb_saves_the_certificate_of_its_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: str
) -> None:
    text = "word1 word2 word3"
    asked = ["--model", folder, "--deletion"]
    verbs = {"contrast": ["contrast"], "attribute": ["attribute"], "all": ["explain", "--all"]}
    for name, words in verbs.items():
        main(
            [
                words[0],
                text,
                *words[1:],
                *asked,
                "--certificate",
                str(tmp_path / f"{name}.certificate"),
            ]
        )
    main(
        [
            "profile",
            text,
            *asked,
            "--at-most",
            "1",
            "--steps",
            "1,2",
            "--certificates",
            str(tmp_path / "profile"),
        ]
    )
    kinds = {
        path.stem: sf.check(path, sf.load(folder)).kind
        for path in sorted(tmp_path.rglob("*.certificate"))
    }
    assert (kinds["contrast"], kinds["attribute"], kinds["all"]) == ("flip", "all", "all")
    assert {"at_most-1", "at_most-2"} <= kinds.keys()
    assert {"free_until", "needed_from"} & kinds.keys()
    capsys.readouterr()
    assert main(["check", str(tmp_path), "--model", folder]) == 0


def test_a_saved_certificate_checks_and_a_changed_one_does_not(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: str
) -> None:
    path = tmp_path / "proof.gz"
    assert main(["explain", TEXT, "--knn-box", "30", "--certificate", str(path)]) == 0
    capsys.readouterr()
    assert main(["check", str(path)]) == 0
    assert "proved" in capsys.readouterr().out.lower()
    assert main(["check", str(path), "--model", folder]) == 1  # another model
    assert "Rejected: line 1" in capsys.readouterr().out
    path.write_bytes(b"not a certificate")
    assert main(["check", str(path)]) == 2
    assert "This is not a certificate" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none.gz")]) == 2
    said = capsys.readouterr().err
    assert "cannot be read: No such file" in said
    assert "not a certificate" not in said


@pytest.mark.parametrize("command", [["check"], ["export", "--vnnlib", "questions"]])
def test_a_file_that_is_no_certificate_is_named_once(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.gz").write_bytes(b"not a certificate")
    for name, why in (("./none.gz", "No such file"), ("text.gz", "This is not a certificate")):
        assert main([*command, name]) == 2
        said = capsys.readouterr().err
        assert why in said
        assert said.count(Path(name).name) == 1
        assert said.count("cannot be") == 1


def test_html_is_saved(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert main(["explain", TEXT, "--html", str(path)]) == 0
    assert "<html" in path.read_text(encoding="utf-8")


def test_models_lists_what_is_bundled(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--json"]) == 0
    names = [model["name"] for model in json.loads(capsys.readouterr().out)]
    assert "sst-fc25" in names
    assert main(["models"]) == 0
    assert "sst-fc25" in capsys.readouterr().out


def test_it_runs_from_any_folder_and_reads_standard_input(tmp_path: Path) -> None:
    done = run("explain", "-", "--json", cwd=tmp_path, input=TEXT)
    assert json.loads(done.stdout)["text"]["source"] == TEXT


def test_unknown_and_cut_words_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "zzyzx " + "good " * 70])
    out = capsys.readouterr().out
    assert "seen as unknown: 'zzyzx'" in out
    assert "Cut off" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", ""], "no words"),
        (["explain", "   "], "no words"),
        (["explain", TEXT, "--model", "no-such-model"], "no-such-model"),
        (["explain", TEXT, "--knn-box", "-1"], "-1"),
        (["explain", TEXT, "--knn-box", "many"], "many"),
        (["explain", TEXT, "--knn-box", "99999999"], "99999999"),
        (["explain", TEXT, "--eps", "-0.5"], "-0.5"),
        (["explain", TEXT, "--eps", "nan"], "nan"),
        (["explain", TEXT, "--eps", "1", "--norm", "3"], "3"),
        (["explain", TEXT, "--norm", "2"], "--eps"),
        (["explain", TEXT, "--eps", "1", "--knn-box", "3"], "do not go together"),
        (["explain", TEXT, "--include", "zebra"], "zebra"),
        (["explain", TEXT, "--exclude", "zebra"], "zebra"),
        (["explain", TEXT, "--seconds", "0"], "0"),
        (["explain", TEXT, "--seconds", "nan"], "nan"),
        (["explain", TEXT, "--swaps", "no-such-file.json"], "no-such-file.json"),
        (["explain", TEXT, "--html", "/no/such/folder/x.html"], "/no/such/folder/x.html"),
        (["explain", "\udcff\udcfe"], "UTF-8"),
        (["explain", "good \ud83d film"], "surrogate"),
        (["check", "no-such-file"], "no-such-file"),
        (["explain", "a", "quiet", "film"], "into quotes"),
        (["explain", "sentiment", TEXT], "--model"),
        (["frobnicate"], "frobnicate"),
        ([], "COMMAND"),
    ],
)
def test_misuse_is_one_clear_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert said in complaint(capsys, *arguments)


def test_undecodable_bytes_are_refused() -> None:
    command = [
        os.fsencode(sys.executable),
        b"-m",
        b"suffice.cli",
        b"explain",
        b"\xff\xfe good film",
    ]
    done = subprocess.run(command, capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"")
    piped = run("explain", "-", input="x")  # a text pipe works ...
    assert piped.returncode in (0, 1, 3)
    raw = subprocess.run(
        [sys.executable, "-m", "suffice.cli", "explain", "-"],
        input=b"\xff good",
        capture_output=True,
    )
    assert (raw.returncode, raw.stdout) == (2, b"")  # ... bytes that are no text do not


def damage(folder: str, target: Path, how: str) -> str:
    shutil.copytree(folder, target)
    weights = target / "weights.safetensors"
    match how:
        case "truncated":
            weights.write_bytes(weights.read_bytes()[:-100])
        case "empty":
            weights.write_bytes(b"")
        case "no vocabulary":
            (target / "vocabulary.txt").unlink()
        case "edited":
            raw = bytearray(weights.read_bytes())
            raw[-1] ^= 1
            weights.write_bytes(bytes(raw))
        case "nan":
            raw = bytearray(weights.read_bytes())
            raw[-8:] = np.array([np.nan]).tobytes()
            weights.write_bytes(bytes(raw))
        case "labels":
            text = (target / "classifier.json").read_text()
            (target / "classifier.json").write_text(text.replace('"label1"', '"label1", "label2"'))
        case _:
            (target / "classifier.json").write_text("{")
    return str(target)


@pytest.mark.parametrize(
    "how", ["truncated", "empty", "no vocabulary", "edited", "nan", "labels", "json"]
)
def test_a_damaged_model_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: str, how: str
) -> None:
    assert (
        "model"
        in complaint(
            capsys, "explain", "word1", "--model", damage(folder, tmp_path / "m", how)
        ).lower()
    )


def test_costs_from_a_file_must_be_positive_numbers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    costs = tmp_path / "costs.json"
    for wrong in ('{"film": -1}', '{"film": "dear"}', "[1, 2]", "not json"):
        costs.write_text(wrong)
        complaint(capsys, "explain", TEXT, "--cost", str(costs))
    costs.write_text('{"film": 2.5}')
    assert main(["explain", TEXT, "--cost", str(costs)]) == 0


def test_words_shows_what_a_word_may_become_by_every_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["words", "good", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "great" in found["bundled substitutes"]
    assert len(found["nearest words"]) == 10
    assert main(["words", "he"]) == 0
    assert "group gender" in capsys.readouterr().out


def test_the_second_checker_says_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: str
) -> None:
    path = tmp_path / "proof.gz"
    assert (
        main(
            [
                "explain",
                "word1 word2 word3",
                "--model",
                folder,
                "--deletion",
                "--certificate",
                str(path),
            ]
        )
        == 0
    )
    assert main(["check", str(path), "--model", folder, "--exact"]) == 0
    assert "Proved, in rational numbers" in capsys.readouterr().out
    assert main(["check", str(path), "--exact"]) == 1  # another model
    assert main(["check", str(path), "--exact", "--text", "word1"]) == 2
    assert main(["check", str(path), "--model", folder, "--exact", "--seconds", "1e-9"]) == 3
    assert "Not checked: line 1: not checked within 1e-09 seconds" in capsys.readouterr().out
    assert main(["check", str(path), "--model", folder, "--exact", "--seconds", "0"]) == 2


def test_a_text_or_a_word_that_begins_with_a_dash_is_told_how_to_be_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = complaint(capsys, "explain", "-great")
    assert "unrecognized arguments: -great; if that is a text, put -- before it" in said
    assert main(["explain", "--", "-great"]) == 0
    capsys.readouterr()
    said = complaint(capsys, "explain", "-great film", "--exclude", "-great")
    assert (
        "argument --exclude: expected one argument; one that begins with a dash is joined by ="
        in said
    )
    assert main(["explain", "good -great film", "--exclude=-"]) == 0


def test_a_limit_that_is_none_is_refused_before_any_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, and not in a line of results for each text."""
    texts = tmp_path / "texts.csv"
    out = tmp_path / "out.jsonl"
    texts.write_text("text\na good film\n", encoding="utf-8")
    assert "time limit must be" in complaint(
        capsys, "batch", str(texts), "--out", str(out), "--seconds", "0"
    )
    report = ["--report", str(tmp_path / "audit.html")]
    assert "time limit must be" in complaint(
        capsys, "audit", str(texts), "--protected", "a", *report, "--seconds", "nan"
    )
    assert "number of workers" in complaint(
        capsys, "batch", str(texts), "--out", str(out), "--workers", "0"
    )
    assert not out.exists()


def test_no_protected_words_are_named_as_what_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert complaint(capsys, "bias", TEXT, "--protected", "").endswith(
        "'' must name at least one protected word.\n"
    )


@pytest.mark.parametrize(
    "asked",
    [
        ["explain", TEXT, "--all", "--method", "msa"],
        ["explain", TEXT, "--all", "--oracle", "milp"],
        ["bias", TEXT, "--protected", "film", "--cost", "costs.json"],
        [
            "audit",
            "texts.csv",
            "--protected",
            "film",
            "--report",
            "audit.html",
            "--cost",
            "costs.json",
        ],
    ],
)
def test_no_option_is_dropped_in_silence(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert re.search("name no other ones|leave --cost out", complaint(capsys, *asked))


@pytest.mark.parametrize(
    ("chosen", "code", "said"),
    [
        (["--method", "search"], 0, "proved, and nothing cheaper is enough"),
        (["--method", "hs"], 3, "nothing cheaper according to the method hs, not checked"),
        (["--method", "msa", "--oracle", "milp"], 3, "according to HiGHS, not checked"),
    ],
)
def test_what_rests_on_the_word_of_a_solver_or_method_is_not_exited_with_as_proved(
    chosen, code, said, capsys
):
    assert (
        main(["explain", "a gorgeous film", "--model", "trec-fc15", "--knn-box", "40", *chosen])
        == code
    )
    assert said in " ".join(capsys.readouterr().out.split())


def test_independence_on_the_word_of_a_solver_is_not_exited_with_as_proved(capsys):
    asked = [
        "bias",
        "she gave a fine performance",
        "--protected",
        "she,he",
        "--model",
        "sst-fc25",
        "--knn-box",
        "1",
    ]
    assert main(asked) == 0
    assert main([*asked, "--oracle", "milp"]) == 3
    assert "according to HiGHS, not checked" in " ".join(capsys.readouterr().out.split())


def test_a_folder_of_certificates_is_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, folder: str
) -> None:
    for number in (1, 2):
        kept = tmp_path / f"{number}.cert"
        main(
            [
                "explain",
                f"word{number} word3",
                "--model",
                folder,
                "--deletion",
                "--certificate",
                str(kept),
            ]
        )
    assert main(["check", str(tmp_path), "--model", folder]) == 0
    assert "2 of 2 certificates accepted" in capsys.readouterr().out
    (tmp_path / "3.cert").write_bytes(b"nothing")
    assert main(["check", str(tmp_path), "--model", folder]) == 1
    assert "2 of 3 certificates accepted, 1 not" in capsys.readouterr().out


# --- one layout, as wide as the terminal ---

VERBS = {
    "explain": [],
    "contrast": ["--deletion"],
    "bias": ["--protected", "quiet,film"],
    "repair": ["--words", "quiet"],
    "profile": ["--deletion", "--steps", "1,2"],
    "attribute": ["--deletion"],
}


@pytest.mark.parametrize("width", [40, 60, 120])
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_same_layout_at_any_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, verb: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    main([verb, TEXT, *VERBS[verb]])
    lines = capsys.readouterr().out.split("\n")
    assert max(map(cell_len, lines)) <= width
    assert [lines[0], lines[2]] == ["", ""]
    assert lines[1].strip().split("  ")[0] in ("positive", "negative")
    assert lines[3].startswith("    ")  # the text
    assert all(line.startswith("  ") for line in lines if line)
    assert any(line.lstrip().startswith(("✓", "✗", "◐", "–", "?")) for line in lines)
    assert re.search(r"\d\.\d\d s\.$", " ".join(line.strip() for line in lines).strip())
    assert lines[-2:] == ["", ""]


def test_the_width_is_that_of_the_terminal_also_when_the_output_is_piped() -> None:
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 150, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"} | {
        "TERM": "xterm"
    }
    command = [
        sys.executable,
        "-m",
        "suffice.cli",
        "bias",
        " ".join([TEXT] * 4),
        "--protected",
        "quiet",
    ]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stdin=theirs,
        stderr=theirs,
        env=environment,
        encoding="utf-8",
    )
    os.close(theirs)
    os.close(ours)
    assert 100 < max(map(cell_len, done.stdout.split("\n"))) <= 150


WRITTEN = {
    "explain": ["--certificate", "--html"],
    "contrast": ["--certificate"],
    "bias": ["--certificate"],
    "repair": ["--certificate"],
    "attribute": ["--certificate"],
    "profile": ["--certificates"],
}


@pytest.mark.parametrize("verb", WRITTEN)
def test_files_are_written_though_nobody_reads_the_answer(tmp_path: Path, verb: str) -> None:
    files = {option: tmp_path / option for option in WRITTEN[verb]}
    options = [part for option, file in files.items() for part in (option, str(file))]
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "suffice.cli", verb, TEXT, *VERBS[verb], *options]
    subprocess.run(command, stdout=writer, check=False)
    os.close(writer)
    assert [file.name for file in files.values() if not file.exists()] == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["explain", TEXT], 0),
        (["explain", TEXT, "--json"], 0),
        (["explain", "qqqq"], 1),
        (["models"], 0),
    ],
)
def test_a_reader_who_goes_away_does_not_change_the_exit_code(
    options: list[str], code: int
) -> None:
    """`suffice explain ... | head -1` ended with 1, which is an answer in the negative."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "suffice.cli", *options]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (code, "")


def test_ctrl_c_ends_a_command_with_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("suffice.cli.commands.model_tools.load_any", stopped)
    assert main(["words", "good"]) == 3
    assert capsys.readouterr() == ("", "suffice: stopped before it was done\n")


def test_ctrl_c_while_words_are_looked_at_leaves_the_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("suffice.verbs.answering.details", stopped)
    assert main(["explain", TEXT]) == 0
    out, err = capsys.readouterr()
    assert "proved, and nothing cheaper is enough" in out
    assert err == ""


def test_the_line_end_of_standard_input_is_not_part_of_the_text() -> None:
    """As `echo` and editors add one."""
    for end in ("", "\n", "\r\n"):
        done = run("explain", "-", "--json", input=f"a good film{end}")
        assert json.loads(done.stdout)["text"]["source"] == "a good film"


@pytest.mark.parametrize("verb", WRITTEN)
def test_an_answer_whose_file_cannot_be_written_is_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, verb: str
) -> None:
    taken = tmp_path / "taken"  # where a file is wanted there is a folder, and the other way round
    taken.touch() if verb == "profile" else taken.mkdir()
    code = main([verb, TEXT, *VERBS[verb], WRITTEN[verb][0], str(taken)])
    out, err = capsys.readouterr()
    assert code == 2
    assert err.startswith("suffice: ")
    assert TEXT.split()[0] in out


def test_an_audit_names_the_worst_rows_where_nobody_opens_the_report(tmp_path: Path) -> None:
    texts = tmp_path / "texts.csv"
    woman = "the story of a woman who cannot forget"
    texts.write_text("text\n" + f"{woman}\n" * 6 + '""\na fine film\n', encoding="utf-8")
    swaps = tmp_path / "swaps.json"
    swaps.write_text('{"woman": ["man"]}', encoding="utf-8")
    report = str(tmp_path / "report.html")
    done = run(
        "audit", str(texts), "--protected", "woman", "--swaps", str(swaps), "--report", report
    )
    said = " ".join(done.stdout.split())
    assert f"Row 5, dependent: “{woman}” (woman → man: positive)" in said
    assert "Row 6, " not in said
    assert "The other 2 are in the report." in said
    texts.write_text("text\n" + f"{woman}\n" * 6, encoding="utf-8")
    done = run(
        "audit",
        str(texts),
        "--protected",
        "woman",
        "--swaps",
        str(swaps),
        "--report",
        report,
        "--fresh",
    )
    assert "The other one is in the report." in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["explian", "x"], "did you mean explain?"),
        (["explain", "x", "--padding", "futures"], "did you mean feature?"),
        (["a quiet film"], 'suffice explain "a fine film"'),
    ],
)
def test_a_slip_is_answered_with_what_was_probably_meant(
    capsys: pytest.CaptureFixture[str], options: list[str], hint: str
) -> None:
    assert hint in complaint(capsys, *options)


@pytest.mark.parametrize("command", ["", *CODES, "models", "train"])
def test_help_says_what_the_exit_codes_mean(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    with pytest.raises(SystemExit):
        main([*([command] if command else []), "--help"])
    foot = capsys.readouterr().out.partition("exit codes:\n")[2]
    assert "  0  " in foot
    assert "  2  bad input or misuse" in foot
    assert ("  3  " in foot) == (command not in ("models", "train"))


def test_an_answer_is_no_question_and_is_called_what_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = sf.explain(sf.load(DEFAULT), TEXT)
    path = tmp_path / "answer.json"
    path.write_text(answer.to_json(), encoding="utf-8")
    assert "This is an answer, not a question" in complaint(
        capsys, "explain", "--question", str(path)
    )
    path.write_text(json.dumps(answer.question), encoding="utf-8")  # which the message names
    assert main(["explain", "--question", str(path), "--json"]) == 0
    assert sf.Explanation.from_json(capsys.readouterr().out).positions == answer.positions
    path.write_text("[]", encoding="utf-8")
    assert "an object with a question, not list" in complaint(
        capsys, "explain", "--question", str(path)
    ).replace("a JSON object", "an object")


def test_the_first_help_has_examples_that_run_and_a_line_for_each_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(re.search(rf"^    {name} +\S", shown, re.MULTILINE) for name in CODES)
    examples = [shlex.split(line) for line in re.findall(r"^  suffice (.*)$", shown, re.MULTILINE)]
    assert [main(example) for example in examples if example != ["serve"]] == [0, 0, 0]


def test_every_command_that_answers_has_its_exit_codes() -> None:
    commands = set(build_parser()._subparsers._group_actions[0].choices)  # type: ignore[union-attr, arg-type]
    assert set(CODES) | {"words", "models", "serve", "train", "import"} == commands


# --- what was asked is what is answered ---


def saved(path: Path, **asked: object) -> str:
    path.write_text(
        json.dumps(sf.Question(sf.load(DEFAULT), TEXT, **asked).to_dict()), encoding="utf-8"
    )
    return str(path)


@pytest.mark.parametrize(
    "option",
    [
        ["--at-most", "1"],
        ["--exclude", "film"],
        ["--deletion"],
        ["--padding", "feature"],
        ["--knn-box", "3"],
    ],
)
def test_a_saved_question_does_not_swallow_another_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: list[str]
) -> None:
    said = complaint(capsys, "explain", "--question", saved(tmp_path / "q.json"), *option)
    assert f"holds the whole question: leave {option[0]} out" in said


def test_a_saved_question_may_be_given_another_limit(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    main(["explain", "--question", saved(tmp_path / "q.json"), "--seconds", "7", "--json"])
    assert json.loads(capsys.readouterr().out)["meta"]["seconds"] == 7.0


def test_a_profile_grows_a_saved_question(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = saved(tmp_path / "q.json", perturbation=sf.Deletion(at_most=2), include=["film"])
    assert main(["profile", "--question", asked, "--steps", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["steps"] == [1, 2]
    assert all(one["meta"]["include"] == [4] for one in found["explanations"])
    assert found["explanations"][0]["meta"]["perturbation"] == {"kind": "deletion", "at_most": 1}


def test_why_wrong_is_not_dropped_where_all_are_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "leave --all out" in complaint(
        capsys, "explain", TEXT, "--all", "--why-wrong", "negative"
    )


@pytest.mark.parametrize("option", ["--cost", "--swaps"])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('{"film": ["a"], "film": ["b"]}', "'film' is in it twice"),
        ("[" * 200_000, "lists within lists"),
    ],
)
def test_a_file_that_would_lose_something_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str, data: str, said: str
) -> None:
    (tmp_path / "data.json").write_text(data, encoding="utf-8")
    assert said in complaint(capsys, "explain", TEXT, option, str(tmp_path / "data.json"))


def test_a_plot_without_matplotlib_is_refused_before_any_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("suffice.render.plots.find_spec", lambda name: None)
    assert "extra 'plot'" in complaint(
        capsys, "profile", TEXT, "--plot", str(tmp_path / "plot.png")
    )


# --- sentences that are true of this very text ---


def test_words_that_stand_twice_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "not good , not bad , not great"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Without 'not' (position 0): “good" in said
    assert "Without 'not' (position 6): “not good" in said


def test_of_a_long_text_some_of_the_words_that_were_cut_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # it sees 25 words, and 40 more are named
    main(["explain", "great film " + "dull " * 5_000, "--model", "sst-fc25"])
    said = " ".join(capsys.readouterr().out.split())
    assert said.endswith("dull” and 4937 more words.")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--protected", "zebra"], "  – Nothing to prove: no protected word is in the text"),
        (["--protected", "film", "--eps", "0"], "  ? Nothing was tested: "),
        (["--protected", "that"], "  ? Nothing was tested: "),
    ],
)
def test_where_there_is_nothing_to_prove_the_sign_says_so(
    capsys: pytest.CaptureFixture[str], asked: list[str], said: str
) -> None:
    """And the exit code is not that of a proof."""
    assert main(["bias", TEXT, *asked]) == 3
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("word", ["genders", "Religions", "nationalities", "ages", "she,genders"])
@pytest.mark.parametrize("verb", ["bias", "audit"])
def test_a_word_that_is_written_like_a_group_is_asked_about(capsys, tmp_path, verb, word):
    """It would be found in no text, and an audit without a finding looks like a clean one."""
    (tmp_path / "t.csv").write_text("text\nshe made a film\n", encoding="utf-8")
    rest = (
        ["she made a film"]
        if verb == "bias"
        else [str(tmp_path / "t.csv"), "--report", str(tmp_path / "r.html")]
    )
    assert re.search(
        r"did you mean (gender|religion|nationality|age)\?",
        complaint(capsys, verb, *rest, "--protected", word),
    )


@pytest.mark.parametrize("word", ["she", "religious", "aged", "film"])
def test_a_word_of_the_language_is_taken_for_a_word(word):
    assert read_protected(word) == [word]


def test_a_group_beside_a_word_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    said = complaint(capsys, "bias", "she made a film", "--protected", "gender,imam")
    assert "'gender' is a bundled group of words and 'imam' is none" in said


def test_what_a_program_says_when_it_fails_plays_no_tricks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "x\x1b[31m").mkdir()
    said = complaint(capsys, "explain", TEXT, "--cost", str(tmp_path / "x\x1b[31m"))
    assert "\x1b" not in said


def test_a_profile_of_a_tie_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "…", "--steps", "1"]) == 1
    out = capsys.readouterr().out
    assert "infeasible  no set" in out
    assert "✗ No set suffices" in out


HURRIED = {"explain": [], "attribute": [], "explain --all": ["--all"]}


@pytest.mark.parametrize("verb", HURRIED)
def test_where_time_is_up_that_is_the_reason(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert (
        main([verb.split()[0], "great film not bad at all", "--seconds", "1e-7", *HURRIED[verb]])
        == 3
    )
    said = " ".join(capsys.readouterr().out.split())
    assert ": time is up." in said
    assert "clear label" not in said


def test_a_profile_that_shows_nothing_names_no_explanation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["profile", "great film not bad at all", "--seconds", "1e-7"]) == 3
    assert "in the explanation at" not in capsys.readouterr().out


def test_attribute_of_a_tie_is_answered_in_the_negative(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attribute", "…"]) == 1
    assert "is a tie with" in capsys.readouterr().out
