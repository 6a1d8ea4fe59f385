"""The commands: each takes what the parser read, asks, writes files, prints, and gives an exit code.

Files come first, as a reader who goes away (`| head`) ends a command at what it prints; where one cannot be written,
the answer is printed all the same.

What only one command needs is loaded by it, so that the others start quickly.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

from rich.console import Console

import suffice as sf
from suffice.cli import NEGATIVE, PROVED, UNDECIDED, reading
from suffice.errors import InputError, NotACertificate, NotChecked, Rejected
from suffice.importers.named import load_any
from suffice.model.classifier import BUNDLED, bundled, load
from suffice.model.numbers import exactly
from suffice.render import terminal
from suffice.render.layout import say, show_command, show_path, show_verdict
from suffice.verbs.explain import explained
from suffice.verbs.explanation import least_by
from suffice.verbs.running import progress as asking
from suffice.verbs.wording import authority

Command = Callable[[argparse.Namespace], int]
STATUS_CODES = {
    "optimal": PROVED,
    "infeasible": NEGATIVE,
    "sufficient": UNDECIDED,
    "tested": UNDECIDED,
    "unknown": UNDECIDED,
}
BIAS_CODES = {"independent": PROVED, "dependent": NEGATIVE, "unknown": UNDECIDED}
GROWN = ("cost", "include", "exclude", "padding", "seconds", "seed", "max_queries")  # of a question, for a profile
FLIP_CODES = {"optimal": PROVED, "none": NEGATIVE, "found": UNDECIDED, "unknown": UNDECIDED}


# --- questions about one text ---


def explain(args: argparse.Namespace) -> int:
    reading.check_folders(args.html, args.certificate)
    if args.all and args.why_wrong is not None:
        raise InputError("--why-wrong is about one explanation: leave --all out.")
    question = reading.question(args)
    if args.all and (question.method, question.oracle) != ("search", "bounds"):
        raise InputError("--all goes with the method search and the oracle bounds: name no other ones.")
    with terminal.live(_errors(), lambda: asking(question)) as progress:
        if args.all:
            from suffice.verbs.explain_all import all_explained

            every = all_explained(question, progress)
            results, certificate = list(every), every.certificate
        else:
            results, certificate = [explained(question, args.why_wrong, progress)], None
    try:
        if args.html:
            results[0].save_html(args.html)
        _save_certificate(args.certificate, certificate or results[0].certificate)  # of all sets, or of the first
    finally:
        for result in results:
            _print_explanation(args, result, question.classifier)
    return max(map(_code, results))


def _code(result: sf.Explanation) -> int:
    """What an explanation exits with: what rests on the word of a solver or a method is not proved."""
    unproved = result.status == "optimal" and "nothing" not in result.meta and least_by(result) != "proved"
    return UNDECIDED if unproved else STATUS_CODES[result.status]


def _print_explanation(
    args: argparse.Namespace, result: sf.Explanation, classifier: sf.Classifier | sf.BlackBox
) -> None:
    if args.json and args.all:
        print(result.to_json(indent=None))
    elif args.json:
        _ = result.alternatives, result.details, result.further  # what people are shown is in the data, too
        print(result.to_json())
    else:
        files = {"swaps.json": args.swaps or "swaps.json", "cost.json": args.cost or "cost.json"}
        terminal.show_explanation(Console(), result, classifier.predict(result.text), args.model, files)
        if result.mistake is not None:
            from suffice.render.auditors import show_mistake

            show_mistake(Console(), result.mistake)


def contrast(args: argparse.Namespace) -> int:
    from suffice.verbs.contrast import contrasted

    reading.check_folders(args.certificate)
    question = reading.question(args, **({} if args.towards is None else {"towards": args.towards}))
    with terminal.live(_errors(), lambda: asking(question)) as progress:
        result = contrasted(question, progress)
    _give(args, result, terminal.show_contrast)
    return FLIP_CODES[result.status]


def bias(args: argparse.Namespace) -> int:
    from suffice.corpus.audit import read_protected
    from suffice.render.auditors import show_bias
    from suffice.verbs.bias import guarded, judged

    reading.check_folders(args.certificate)
    _refuse_costs(args)
    question = reading.question(args)
    if args.protected is not None:
        words = read_protected(args.protected)
        listed = words if isinstance(words, list) else [word for group in words.values() for word in group]
        question = replace(question, exclude=guarded(question, listed))
    elif args.question is None:
        raise InputError(
            f"Name the protected words: --protected {' or --protected '.join(('she,he', 'gender', 'FILE'))}."
        )
    result = judged(question)
    _give(args, result, show_bias)
    unproved = result.status == "independent" and not result.trivial and authority(result.meta, "enough") != "proved"
    return UNDECIDED if unproved else BIAS_CODES[result.status]


def _refuse_costs(args: argparse.Namespace) -> None:
    if args.cost is not None:
        raise InputError("Costs are of words that are held or changed, and do not matter here: leave --cost out.")


def repair(args: argparse.Namespace) -> int:
    from suffice.render.auditors import show_repair
    from suffice.verbs.repair import repaired

    reading.check_folders(args.certificate)
    question = reading.question(args)
    if args.words is not None:
        named: list[str | int] = [int(w) if w.isdecimal() else w for w in args.words.split(",") if w]
        given = question.text.positions(named, int(question.features.sum()))
        question = replace(question, include=given)
    elif args.question is None:
        raise InputError("Name the words: --words good,film (or their positions).")
    with terminal.live(_errors(), lambda: asking(question)) as progress:
        result = repaired(question, progress)
    _give(args, result, show_repair)
    return _code(result.explanation)


def profile(args: argparse.Namespace) -> int:
    from suffice.render.auditors import show_profile

    reading.check_folders(args.plot)
    if args.plot:
        from suffice.render.plots import check_installed

        check_installed()
    question = reading.question(args)
    family, steps = reading.growing(question.perturbation, args.steps)
    settings = {name: getattr(question, name) for name in GROWN}
    with terminal.live(_errors()) as progress:
        result = sf.profile(question.classifier, question.text, family, steps, on_progress=progress, **settings)
    try:
        if args.plot:
            result.plot().savefig(args.plot)
        if args.certificates:
            _save_profile(Path(args.certificates), result)
    finally:
        _print_answer(args, result, show_profile)
    return max(map(_code, result.explanations))


def _save_profile(folder: Path, result: sf.Profile) -> None:
    """The certificates of all steps and of both radii, as far as there are any."""
    steps = zip(result.steps, result.explanations, strict=True)
    found = {f"{result.parameter}-{exactly(step)}": one.certificate for step, one in steps} | dict(result.radii)
    folder.mkdir(parents=True, exist_ok=True)
    for name, certificate in found.items():
        if certificate is not None:
            certificate.save(folder / f"{name}.certificate")


def attribute(args: argparse.Namespace) -> int:
    from suffice.render.auditors import show_attribution
    from suffice.verbs.attribute import attributed

    reading.check_folders(args.certificate)
    question = reading.question(args, of=args.of, limit=args.limit)
    with terminal.live(_errors(), lambda: asking(question)) as progress:
        result = attributed(question, progress)
    _give(args, result, show_attribution)
    if result.complete:
        return PROVED if result.explanations else NEGATIVE
    return UNDECIDED


# --- questions about many texts ---


def stoppable(command: Command) -> Command:
    """Ctrl-C ends a long run with one line: what is done is on the disk."""

    @wraps(command)
    def run(args: argparse.Namespace) -> int:
        try:
            return command(args)
        except KeyboardInterrupt:
            print("suffice: stopped; the same command goes on where this one was", file=sys.stderr)
            return UNDECIDED

    return run


@stoppable
def batch(args: argparse.Namespace) -> int:
    from suffice.corpus.batch import explained_rows
    from suffice.corpus.running import Run, keep
    from suffice.corpus.summary import Tally
    from suffice.render import auditors

    reading.check_folders(args.summary)
    reading.check_limits(args)
    for read in (args.texts, args.out):
        keep(read, args.summary)
    classifier, tally = load_any(args.model), Tally()
    with auditors.bar(_errors(), "explaining") as on_row:
        run = Run(args.out, args.certificates, args.workers, args.engine, args.fresh, on_row)
        for row in explained_rows(classifier, args.texts, run, **reading.settings(args)):
            tally.add(row.line)
    summary = tally.summary()
    if args.summary:
        Path(args.summary).write_text(json.dumps(summary.to_dict(), indent=2) + "\n", encoding="utf-8")
    auditors.show_summary(_errors(), summary, args.out)
    return UNDECIDED if summary.failed else PROVED


@stoppable
def audit(args: argparse.Namespace) -> int:
    from suffice.corpus.audit import read_protected
    from suffice.render import auditors

    reading.check_folders(args.report)
    reading.check_limits(args)
    _refuse_costs(args)
    classifier = load_any(args.model)
    with auditors.bar(_errors(), "auditing") as on_row:
        found = sf.audit(
            classifier,
            args.texts,
            read_protected(args.protected),
            report=args.report,
            perturbation=reading.perturbation(args),
            compare=args.compare,
            recheck=args.recheck,
            padding=args.padding,
            seconds=args.seconds,
            workers=args.workers,
            engine=args.engine,
            fresh=args.fresh,
            on_row=on_row,
            **reading.asking(args),
        )
    say(Console(), str(found))
    show_path(Console(), "Report", args.report)
    return NEGATIVE if any(_fails(found, kind) for kind in args.fail_on) else PROVED


def _fails(found: Any, kind: str) -> bool:
    match kind:
        case "dependent":
            return bool(found.overall.dependent)
        case "unknown":
            return bool(found.overall.unknown)
        case "error":
            return bool(found.errors)
        case _:
            return found.comparison is not None and any(one.worse for one in found.comparison.changed)


# --- certificates, models, and the rest ---


def check(args: argparse.Namespace) -> int:
    if args.exact:
        return _check_exactly(args)
    classifier, path = load_any(args.model), Path(args.certificate)
    if path.is_dir():
        return _check_folder(args, classifier, path)
    try:
        checked = sf.check(
            path, classifier, **_compared_with(args, classifier), seconds=args.seconds, sample=args.sample
        )
    except NotChecked as error:
        return _judged("warn", "?", f"Not checked: {error}", UNDECIDED)
    except Rejected as error:
        return _judged("bad", "✗", f"Rejected: {error}", NEGATIVE)
    except NotACertificate as error:
        raise InputError(f"{args.certificate} cannot be checked. {error}") from error
    if checked.sampled or checked.kind == "tested":
        return _judged("test", "≈", f"Not a proof. {checked.sentence}", UNDECIDED)
    return _judged("good", "✓", f"Proved. {checked.sentence}", PROVED)


def _judged(tone: str, sign: str, sentence: str, code: int) -> int:
    """What the checker says: its first words with sign and tone, the rest plain."""
    first, stop, rest = sentence.partition(". ")
    show_verdict(Console(), tone, sign, *((first, stop + rest) if tone in ("good", "test") else (sentence, "")))
    return code


def _check_exactly(args: argparse.Namespace) -> int:
    """The second checker: rational numbers, and nothing of suffice; it says itself what it found."""
    from suffice.proof import check_exact

    if Path(args.certificate).is_dir():
        raise InputError("--exact checks one certificate, not a folder: name a file in it.")
    if args.question is not None or args.text is not None or args.sample is not None:
        raise InputError("--exact checks the certificate alone: leave --question, --text and --sample out.")
    folder = BUNDLED / args.model if args.model in bundled() else Path(args.model)
    if not folder.is_dir():
        raise InputError(f"--exact reads a saved folder or a bundled model, not {args.model!r}.")
    reading.check_limits(args)
    return check_exact.main([args.certificate, str(folder), str(args.seconds)])


def _compared_with(args: argparse.Namespace, classifier: sf.Classifier | sf.BlackBox) -> dict[str, Any]:
    """The question that a person has: what the certificate must be about."""
    if args.question is None:
        return {} if args.text is None else {"text": args.text}
    return {"question": sf.Question.from_dict(reading.read_json(args.question, "question"), classifier)}


def _check_folder(args: argparse.Namespace, classifier: sf.Classifier | sf.BlackBox, folder: Path) -> int:
    """Every certificate of a folder, counted and timed; those that fail or are not checked in time are named."""
    from suffice.corpus.evidence import recheck

    if args.question is not None or args.text is not None or args.sample is not None:
        raise InputError("A folder is checked as a whole: leave --question, --text and --sample out.")
    done = recheck(folder, classifier, args.seconds)
    for name, reason in (*done.failed, *done.unchecked):
        say(Console(), f"{name}: {reason}")
    say(Console(), str(done))
    return NEGATIVE if done.failed else UNDECIDED if done.unchecked else PROVED


def export(args: argparse.Namespace) -> int:
    """The questions of a certificate; 3 where some of them could not be written."""
    from suffice.proof.export import export

    try:
        done = export(Path(args.certificate), load_any(args.model), args.vnnlib)
    except Rejected as error:
        return _judged("bad", "✗", f"Rejected: {error}", NEGATIVE)
    say(Console(), str(done))
    return UNDECIDED if done.skipped else PROVED


def words(args: argparse.Namespace) -> int:
    from suffice.verbs.neighbours import every_set

    classifier = load_any(args.model)
    found = every_set(classifier, args.word)
    if args.json:
        print(json.dumps({name: list(others) for name, others in found.items()}, indent=2, ensure_ascii=False))
    else:
        terminal.show_words(Console(), args.word, found, bool(classifier.read(args.word).unknown))
    return PROVED


def models(args: argparse.Namespace) -> int:
    found = [(name, load(name)) for name in bundled()]
    if args.json:
        print(json.dumps([{"name": name, **_facts(model)} for name, model in found], indent=2))
    else:
        terminal.show_models(Console(), [(name, _facts(model)) for name, model in found])
    return PROVED


def _facts(model: sf.Classifier) -> Mapping[str, Any]:
    return {
        "labels": list(model.labels),
        "length": model.length,
        "dimension": model.dimension,
        "vocabulary": len(model.vocabulary),
        "weights": model.network.weights,
        "relus": model.network.relus,
        "digest": model.digest,
        "meta": dict(model.meta),
    }


def serve(args: argparse.Namespace) -> int:
    from suffice.web import serve

    serve(args.host, args.port, args.model, args.workers, args.allow_host)
    return PROVED


def train(args: argparse.Namespace) -> int:
    from suffice.train.command import run_train

    return _done(*run_train(args))


def bring_in(args: argparse.Namespace) -> int:
    from suffice.importers.command import run_import

    return _done(*run_import(args))


def _done(what: str, command: str) -> int:
    """What was made, and the command to try next."""
    say(Console(), what)
    show_command(Console(), command)
    return PROVED


# --- printing ---


def _give(args: argparse.Namespace, result: Any, show: Callable[[Console, Any], None]) -> None:
    """Save the certificate, then print the answer."""
    try:
        _save_certificate(args.certificate, result.certificate)
    finally:
        _print_answer(args, result, show)


def _print_answer(args: argparse.Namespace, result: Any, show: Callable[[Console, Any], None]) -> None:
    if args.json:
        print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
    else:
        show(Console(), result)


def _save_certificate(path: str | None, certificate: sf.Certificate | None) -> None:
    if path is None:
        return
    if certificate is None:
        raise InputError("There is no certificate to save: the answer was not proved by our own bounds.")
    certificate.save(path)


def _errors() -> Console:
    return Console(stderr=True)
