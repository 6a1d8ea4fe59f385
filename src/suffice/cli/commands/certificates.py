"""Certificates: checked, and written for other tools."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

import suffice as sf
from suffice.cli import NEGATIVE, PROVED, UNDECIDED, reading
from suffice.errors import InputError, NotACertificate, NotChecked, Rejected
from suffice.importers.named import load_any
from suffice.model.saved import BUNDLED, DEFAULT, bundled
from suffice.render.layout import say, show_verdict


def check(args: argparse.Namespace) -> int:
    if args.exact:
        return _check_exactly(args)
    path = Path(args.certificate)
    if path.is_dir():
        return _check_folder(args, path)
    classifier = load_any(args.model or DEFAULT)
    try:
        checked = sf.check(
            path,
            classifier,
            **_compared_with(args, classifier),
            seconds=args.seconds,
            sample=args.sample,
        )
    except NotChecked as error:
        return _judged("warn", "?", f"Not checked: {error}", UNDECIDED)
    except Rejected as error:
        return _judged("bad", "✗", f"Rejected: {error}", NEGATIVE)
    except NotACertificate as error:
        raise _about(path, "checked", error) from error
    if checked.sampled or checked.kind == "tested":
        return _judged("test", "≈", f"Not a proof. {checked.sentence}", UNDECIDED)
    return _judged("good", "✓", f"Proved. {checked.sentence}", PROVED)


def _about(path: Path, done: str, error: NotACertificate) -> InputError:
    """What is wrong with a file, which is named once: where it could not be opened, that is said
    already.
    """
    said = str(error)
    return InputError(said if repr(str(path)) in said else f"{path} cannot be {done}. {said}")


def _judged(tone: str, sign: str, sentence: str, code: int) -> int:
    """What the checker says: its first words with sign and tone, the rest plain."""
    first, stop, rest = sentence.partition(". ")
    show_verdict(
        Console(),
        tone,
        sign,
        *((first, stop + rest) if tone in ("good", "test") else (sentence, "")),
    )
    return code


def _check_exactly(args: argparse.Namespace) -> int:
    """The second checker: rational numbers, and nothing of suffice; it says itself what
    it found.
    """
    from suffice.proof import check_exact

    if Path(args.certificate).is_dir():
        raise InputError("--exact checks one certificate, not a folder: name a file in it.")
    if args.question is not None or args.text is not None or args.sample is not None:
        raise InputError(
            "--exact checks the certificate alone: leave --question, --text and --sample out."
        )
    model = args.model or DEFAULT
    folder = BUNDLED / model if model in bundled() else Path(model)
    if not folder.is_dir():
        raise InputError(f"--exact reads a saved folder or a bundled model, not {model!r}.")
    reading.check_limits(args)
    return check_exact.main([args.certificate, str(folder), str(args.seconds)])


def _compared_with(
    args: argparse.Namespace, classifier: sf.Classifier | sf.BlackBox
) -> dict[str, Any]:
    """The question that a person has: what the certificate must be about."""
    if args.question is None:
        return {} if args.text is None else {"text": args.text}
    return {
        "question": sf.Question.from_dict(reading.read_json(args.question, "question"), classifier)
    }


def _check_folder(args: argparse.Namespace, folder: Path) -> int:
    """Every certificate of a folder, counted and timed; those that fail or are not checked in time
    are named.
    """
    from suffice.corpus.folder_check import recheck

    if args.question is not None or args.text is not None or args.sample is not None:
        raise InputError(
            "A folder is checked as a whole: leave --question, --text and --sample out."
        )
    given = None if args.model is None else load_any(args.model)
    done = recheck(folder, given, args.seconds, load_any)
    for sentence in done.strange:
        say(Console(), sentence)
    for name, reason in (*done.failed, *done.unchecked):
        say(Console(), f"{name}: {reason}")
    say(Console(), str(done))
    if done.failed or (done.strange and given is not None):
        return NEGATIVE
    return UNDECIDED if done.unchecked or done.strange else PROVED


def export(args: argparse.Namespace) -> int:
    """The questions of a certificate; 3 where some of them could not be written."""
    from suffice.proof.export import export

    path = Path(args.certificate)
    try:
        done = export(path, load_any(args.model), args.vnnlib)
    except Rejected as error:
        return _judged("bad", "✗", f"Rejected: {error}", NEGATIVE)
    except NotACertificate as error:
        raise _about(path, "exported", error) from error
    say(Console(), str(done))
    return UNDECIDED if done.skipped else PROVED
