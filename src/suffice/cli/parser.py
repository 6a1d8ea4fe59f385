"""The parser: every command and its options; those of perturbation sets come from the table of
sets.
"""

from __future__ import annotations

import argparse
import difflib
import math
import re
import sys
from typing import Any, NoReturn

from rich.console import Console

from suffice.cli import MISUSE, NEGATIVE, PROVED, UNDECIDED
from suffice.cli import commands as run
from suffice.corpus.pools import ENGINES
from suffice.model.saved import DEFAULT
from suffice.sets.substitutes import groups
from suffice.sets.table import KINDS
from suffice.verbs.question import METHODS
from suffice.version import __version__

PROTECTED = f"a file of words, she,he, or bundled groups of words: {', '.join(groups())}"
MODEL = (
    "a name or folder, FILE.skops, FILE.bin (fastText), hf:FOLDER or python:module:object "
    f"(default: {DEFAULT})"
)


# what the exit codes 0, 1 and 3 of a command mean; an empty one does not occur, and 2 is misuse
# everywhere
CODES: dict[str, tuple[str, str, str]] = {
    "explain": (
        "proved, or nothing to prove",
        "proved that no set fits what was excluded",
        "open within the limit, only tested, or on the word of a solver or method",
    ),
    "contrast": (
        "proved: the cheapest change",
        "no allowed change flips the label",
        "open within the limit",
    ),
    "bias": (
        "proved independent",
        "dependent, with a text that shows it",
        "open within the limit, on the word of a solver, or nothing to prove",
    ),
    "repair": (
        "proved, or nothing to prove",
        "proved that no set fits what was excluded",
        "open within the limit",
    ),
    "profile": (
        "every step proved",
        "some step has no set that fits",
        "some step open within the limit",
    ),
    "attribute": (
        "all explanations were found",
        "there is none",
        "not all were found within the limit",
    ),
    "batch": (
        "every text was answered",
        "",
        "some text failed, nothing was proved, or the run was stopped",
    ),
    "audit": (
        "done, and something was proved",
        "done, and there is something that --fail-on names",
        "some text failed, nothing was proved, or the run was stopped",
    ),
    "check": ("accepted: a proof", "rejected", "not checked within the limit, or not a proof"),
    "export": (
        "every question was written",
        "the certificate is rejected",
        "some could not be written",
    ),
}
# how argparse speaks of words that no option and no place takes, and of an option without its value
LOOSE = "unrecognized arguments: "
BARE = "expected one argument"
PADDING = "feature: what fills a short text up may change and be in the set, too"
ORACLE = "who decides whether words suffice (default: bounds); milp and marabou are other solvers"
OF = "the cheapest sets (default), or all from which no word can be left out"
EXAMPLES = """examples:
  suffice explain "a quiet , moving film"
  suffice contrast "a quiet , moving film" --deletion
  suffice bias "she gave a fine performance" --protected gender
  suffice serve"""
ANY = (
    "answered with proof, or done",
    "answered in the negative: infeasible, dependent, rejected",
    "undecided",
)


def exit_codes(command: str = "") -> str:
    """The exit codes of a command as the foot of its help."""
    done, negative, open_ = CODES.get(command, ("done", "", "")) if command else ANY
    misuse = "bad input or misuse: one line on standard error says what to do"
    meant = {PROVED: done, NEGATIVE: negative, MISUSE: misuse, UNDECIDED: open_}
    return "\n".join(
        ["exit codes:", *(f"  {code}  {meaning}" for code, meaning in meant.items() if meaning)]
    )


class Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal, in a pipe too, with room for commands, which stand further in
    than options.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=Console().width - 2)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action.choices, dict):
            self._action_max_length = max(
                self._action_max_length, 4 + max(map(len, action.choices))
            )


class Parser(argparse.ArgumentParser):
    """argparse, but misuse is one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": Help, **settings})

    def error(self, message: str) -> NoReturn:
        print(f"suffice: {message}{_hint(message)} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(MISUSE)


def _hint(message: str) -> str:
    """What to do about misuse, where argparse does not say it."""
    if message.startswith(f"{LOOSE}-"):
        return "; if that is a text, put -- before it, which ends the options"
    if message.startswith(LOOSE):
        return "; put the whole text into quotes, and name a model by --model"
    if "invalid choice: '" in message:
        return _nearest(*re.findall(r"'([^']*)'", message))
    if message.endswith(BARE):
        return "; one that begins with a dash is joined by =, as in  --exclude=-word"
    return ""


def _nearest(given: str = "", *choices: str) -> str:
    """What was probably meant: a choice that is written like it, or a text without its command."""
    if " " in given.strip():
        return '; a text comes after its command, as in  suffice explain "a fine film"'
    meant = difflib.get_close_matches(given, choices, 1)
    return f"; did you mean {meant[0]}?" if meant else ""


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="suffice",
        description="Which words of a text suffice to decide a classifier's answer, with proof.",
        epilog=f"{EXAMPLES}\n\n{exit_codes()}\n\nsuffice COMMAND --help tells more of each.",
    )
    parser.add_argument("--version", action="version", version=f"suffice {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=Parser
    )
    _add_explain(
        commands.add_parser(
            "explain", parents=[_question()], help="the cheapest set of words that suffices"
        )
    )
    _add_contrast(
        commands.add_parser(
            "contrast", parents=[_question()], help="the cheapest change that flips the label"
        )
    )
    _add_auditors(commands)
    _add_check(
        commands.add_parser(
            "check", help="check a certificate, or a folder of them, with the independent checker"
        )
    )
    _add_export(
        commands.add_parser(
            "export", help="the questions behind a certificate, for other tools (extra: onnx)"
        )
    )
    _add_words(commands.add_parser("words", help="what a word may become, by every set"))
    listing = commands.add_parser("models", help="list the bundled models")
    listing.add_argument("--json", action="store_true", help="print JSON and nothing else")
    listing.set_defaults(run=run.models)
    _add_serve(commands.add_parser("serve", help="the page, on this machine (extra: web)"))
    _add_train(
        commands.add_parser("train", help="train a small classifier on a CSV file (extra: train)")
    )
    _add_import(
        commands.add_parser("import", help="bring your own network: .onnx, .pt2, .keras or .h5")
    )
    for name, command in commands.choices.items():
        command.epilog = exit_codes(name)
    return parser


def _question() -> Parser:
    """The options that every question about a text shares."""
    parent = Parser(add_help=False)
    parent.add_argument(
        "text", nargs="?", metavar="TEXT", help='the text, or "-" for standard input'
    )
    parent.add_argument(
        "--question", metavar="FILE", help="a question saved as JSON, instead of TEXT and options"
    )
    _add_settings(parent)
    parent.add_argument("--json", action="store_true", help="print JSON and nothing else")
    return parent


def _corpus() -> argparse.ArgumentParser:
    """The options that every question about many texts shares."""
    parent = Parser(add_help=False)
    parent.add_argument(
        "texts", metavar="TEXTS", help="CSV (columns text[,label]) or JSONL, also gzipped"
    )
    _add_settings(parent)
    parent.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes (default: 1)"
    )
    parent.add_argument(
        "--engine", choices=ENGINES, default="local", help="ray: on a cluster (extra: ray)"
    )
    parent.add_argument(
        "--fresh", action="store_true", help="start over instead of going on where a run stopped"
    )
    return parent


def _add_settings(parent: argparse.ArgumentParser) -> None:
    parent.add_argument("--model", default=DEFAULT, metavar="MODEL", help=MODEL)
    for kind in KINDS:
        if kind.flag is not None:
            parent.add_argument(kind.flag.name, **kind.flag.takes)
    parent.add_argument(
        "--norm", type=float, default=math.inf, metavar="1|2|inf", help="of the ball (default: inf)"
    )
    parent.add_argument(
        "--at-most", type=int, metavar="R", help="no more than R of the free words change at once"
    )
    parent.add_argument("--cost", metavar="FILE", help="JSON: word to cost (others cost 1)")
    parent.add_argument("--padding", choices=["fixed", "feature"], default="fixed", help=PADDING)
    parent.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="time limit (default: 60)"
    )
    parent.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of random starts (default: 0)"
    )
    parent.add_argument(
        "--max-queries", type=int, metavar="N", help="of a black box: ask N texts at most"
    )
    parent.add_argument(
        "--cache", metavar="FILE", help="of a black box: keep its answers in this file"
    )


def _add_contrast(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--towards", metavar="LABEL", help="count only flips to this label")
    parser.add_argument("--certificate", metavar="FILE", help="save the certificate")
    parser.set_defaults(run=run.contrast)


def _add_auditors(commands: Any) -> None:
    """The auditor's verbs."""
    asked = [_question()]
    many = [_corpus()]
    _add_bias(
        commands.add_parser("bias", parents=asked, help="does the label depend on protected words?")
    )
    _add_repair(
        commands.add_parser(
            "repair", parents=asked, help="do these words suffice, and if not, which more?"
        )
    )
    _add_profile(
        commands.add_parser(
            "profile", parents=asked, help="how the explanation grows with the sets"
        )
    )
    _add_attribute(
        commands.add_parser(
            "attribute", parents=asked, help="the share of explanations with each word"
        )
    )
    _add_batch(
        commands.add_parser("batch", parents=many, help="explain every text of a file (resumes)")
    )
    _add_audit(
        commands.add_parser(
            "audit", parents=many, help="bias over a file of texts, with a report (resumes)"
        )
    )


def _add_bias(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--protected", metavar="FILE|WORDS|GROUPS", help=PROTECTED)
    parser.add_argument(
        "--oracle", choices=["bounds", "milp", "marabou"], default="bounds", help=ORACLE
    )
    parser.add_argument("--certificate", metavar="FILE", help="save the certificate")
    parser.set_defaults(run=run.bias)


def _add_repair(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--words", metavar="WORDS", help="words or positions, with commas between")
    parser.add_argument("--certificate", metavar="FILE", help="save the certificate")
    parser.set_defaults(run=run.repair)


def _add_profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--steps", metavar="SIZES", help="of k (default: 5,10,15,25), eps, or at once (1,2,3)"
    )
    parser.add_argument("--plot", metavar="FILE", help="save a plot (extra: plot)")
    parser.add_argument(
        "--certificates", metavar="FOLDER", help="save those of every step and of both radii"
    )
    parser.set_defaults(run=run.profile)


def _add_attribute(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--of", choices=["optimal", "minimal"], default="optimal", help=OF)
    parser.add_argument(
        "--limit", type=int, default=100, metavar="N", help="explanations at most (default: 100)"
    )
    parser.add_argument(
        "--certificate", metavar="FILE", help="save the certificate that these are all"
    )
    parser.set_defaults(run=run.attribute)


def _add_batch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", required=True, metavar="RESULTS.jsonl", help="one line per text as it is done"
    )
    _add_confidence(parser)
    parser.add_argument("--certificates", metavar="FOLDER", help="save every certificate")
    parser.add_argument(
        "--summary", metavar="FILE", help="save the counts, medians and slowest texts as JSON"
    )
    parser.set_defaults(run=run.batch)


def _add_audit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--protected", required=True, metavar="FILE|WORDS|GROUPS", help=PROTECTED)
    parser.add_argument(
        "--report",
        required=True,
        metavar="REPORT.html",
        help="CSV, JSONL, certificates go beside it",
    )
    parser.add_argument(
        "--compare", metavar="OLD.jsonl", help="an older audit, say of another model version"
    )
    parser.add_argument(
        "--recheck", action="store_true", help="check the certificates of rows done before again"
    )
    kinds = ["dependent", "unknown", "error", "worse"]
    parser.add_argument(
        "--fail-on", action="append", default=[], choices=kinds, help="exit with 1 (repeatable)"
    )
    parser.set_defaults(run=run.audit)


def _add_confidence(parser: argparse.ArgumentParser) -> None:
    meaning = "of a black box: what cannot be proved may be tested (0.99, say)"
    parser.add_argument("--confidence", type=float, metavar="C", help=meaning)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="WORD",
        help="must be in the set (repeatable)",
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="WORD",
        help="must not be in it (repeatable)",
    )
    parser.add_argument(
        "--method", choices=METHODS, default="search", help="hs and msa: as published, to compare"
    )
    parser.add_argument(
        "--oracle", choices=["bounds", "milp", "marabou"], default="bounds", help=ORACLE
    )
    _add_confidence(parser)
    parser.add_argument(
        "--why-wrong", metavar="LABEL", help="the label that a misclassified text should have"
    )
    parser.add_argument(
        "--all", action="store_true", help="every optimal set (with --json: one line each)"
    )
    parser.add_argument("--html", metavar="FILE", help="save a report")
    parser.add_argument("--certificate", metavar="FILE", help="save the certificate")
    parser.set_defaults(run=run.explain)


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("certificate", metavar="CERTIFICATE|FOLDER")
    parser.add_argument(
        "--model", metavar="MODEL", help=f"{MODEL}; of a FOLDER: those that are saved in it"
    )
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument(
        "--question", metavar="FILE", help="the question, saved as JSON, that it must answer"
    )
    asked.add_argument("--text", metavar="TEXT", help="the text that it must be about")
    parser.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="time limit of each (default: 60)"
    )
    parser.add_argument(
        "--sample", type=int, metavar="N", help="of a black box: run N of the texts only (no proof)"
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="with the second checker: rational numbers, slow and small",
    )
    parser.set_defaults(run=run.check)


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("certificate", metavar="CERTIFICATE")
    parser.add_argument(
        "--model", default=DEFAULT, metavar="NAME|FOLDER", help=f"default: {DEFAULT}"
    )
    parser.add_argument(
        "--vnnlib", required=True, metavar="FOLDER", help="a new folder: ONNX and VNN-LIB files"
    )
    parser.set_defaults(run=run.export)


def _add_words(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("word", metavar="WORD")
    parser.add_argument("--model", default=DEFAULT, metavar="MODEL", help=MODEL)
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.set_defaults(run=run.words)


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=int, default=8000, metavar="N", help="default: 8000; 0 takes a free one"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="default: 127.0.0.1, this machine only",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name under which others reach it (repeatable)",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="MODEL",
        help=(
            "offer this model: name, FOLDER, hf:FOLDER or python:module:object (repeatable; "
            "default: all bundled)"
        ),
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="searches at the same time (default: the cores, at most 4)",
    )
    parser.set_defaults(run=run.serve)


def _add_train(parser: argparse.ArgumentParser) -> None:
    from suffice.train.arguments import add_train_arguments

    add_train_arguments(parser)
    parser.set_defaults(run=run.train)


def _add_import(parser: argparse.ArgumentParser) -> None:
    from suffice.importers.arguments import add_import_arguments

    add_import_arguments(parser)
    parser.set_defaults(run=run.bring_in)
