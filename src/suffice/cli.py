"""The command line: parse, delegate, print, exit code.

Exit codes: 0 answered with proof; 1 answered in the negative (infeasible, rejected); 2 bad input or misuse, with
one line on standard error; 3 undecided within the limit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console

import suffice as sf
from suffice.corpus import corpus, engines
from suffice.errors import InputError, NotACertificate, Rejected, SufficeError
from suffice.model import classifier as models
from suffice.render import auditors, terminal
from suffice.render import corpus as report
from suffice.sets.perturbations import Perturbation

Command = Callable[[argparse.Namespace], int]
PROVED, NEGATIVE, MISUSE, UNDECIDED = 0, 1, 2, 3
STATUS_CODES = {"optimal": PROVED, "infeasible": NEGATIVE, "sufficient": UNDECIDED, "unknown": UNDECIDED}
BIAS_CODES = {"independent": PROVED, "dependent": NEGATIVE, "unknown": UNDECIDED}
FLIP_CODES = {"optimal": PROVED, "none": NEGATIVE, "found": UNDECIDED, "unknown": UNDECIDED}


class Parser(argparse.ArgumentParser):
    """argparse, but misuse is one line."""

    def error(self, message: str) -> NoReturn:
        print(f"suffice: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(MISUSE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; every expected failure is one line on standard error and exit code 2."""
    args = build_parser().parse_args(argv)
    _any_text(sys.stdout, getattr(args, "json", False))
    command: Command = args.run
    try:
        return command(args)
    except SufficeError as error:
        return _complain(str(error))
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (the reader went away; so do we, quietly)
        return PROVED
    except OSError as error:
        return _complain(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))


def _any_text(stream: Any, json: bool) -> None:
    """Let any text out of a stream that is not UTF-8: JSON as UTF-8, for people with question marks."""
    encoding = getattr(stream, "encoding", None) or "utf-8"  # a StringIO has none and takes anything
    if encoding.lower().replace("-", "") != "utf8" and hasattr(stream, "reconfigure"):
        stream.reconfigure(**({"encoding": "utf-8"} if json else {"errors": "replace"}))


def _complain(message: str) -> int:
    print(f"suffice: {' '.join(message.split())}", file=sys.stderr)
    return MISUSE


# --- the commands ---


def run_explain(args: argparse.Namespace) -> int:
    check_folders(args.html, args.certificate)
    classifier, text = models.load(args.model), read_text(args.text)
    question: dict[str, Any] = {
        "perturbation": perturbation(args),
        "cost": read_costs(args.cost),
        "include": args.include,
        "exclude": args.exclude,
        "padding": args.padding,
        "seconds": args.seconds,
        "seed": args.seed,
    }
    with terminal.live(_errors()) as progress:
        if args.all:
            results = list(sf.explain_all(classifier, text, on_progress=progress, **question))
        else:
            chosen = {"method": args.method, "oracle": args.oracle, "expected": args.why_wrong}
            results = [sf.explain(classifier, text, on_progress=progress, **chosen, **question)]
    for result in results:
        _print_explanation(args, result, classifier)
    _save(args, results)
    return max(STATUS_CODES[result.status] for result in results)


def _print_explanation(args: argparse.Namespace, result: sf.Explanation, classifier: sf.Classifier) -> None:
    if args.json:
        print(result.to_json(indent=None if args.all else 2))
    else:
        terminal.show_explanation(Console(), result, classifier.predict(result.text))
        if result.mistake is not None:
            auditors.show_mistake(Console(), result.mistake)


def _save(args: argparse.Namespace, results: Sequence[sf.Explanation]) -> None:
    """The first result as HTML and certificate, where asked for."""
    if args.html:
        results[0].save_html(args.html)
    if args.certificate:
        certificate = results[0].certificate
        if certificate is None:
            raise InputError("There is no certificate to save: the answer was not proved by our own bounds.")
        certificate.save(args.certificate)


def run_contrast(args: argparse.Namespace) -> int:
    classifier, text = models.load(args.model), read_text(args.text)
    with terminal.live(_errors()) as progress:
        result = sf.contrast(
            classifier,
            text,
            perturbation=perturbation(args),
            cost=read_costs(args.cost),
            towards=args.towards,
            padding=args.padding,
            seconds=args.seconds,
            seed=args.seed,
            on_progress=progress,
        )
    if args.json:
        print(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
    else:
        terminal.show_contrast(Console(), result)
    return FLIP_CODES[result.status]


def run_bias(args: argparse.Namespace) -> int:
    check_folders(args.certificate)
    classifier, text = models.load(args.model), read_text(args.text)
    words = corpus.read_protected(args.protected)
    listed = words if isinstance(words, list) else [word for group in words.values() for word in group]
    result = sf.bias(
        classifier,
        text,
        listed,
        perturbation=perturbation(args),
        padding=args.padding,
        oracle=args.oracle,
        seconds=args.seconds,
    )
    _print_answer(args, result, auditors.show_bias)
    _save_certificate(args.certificate, result.certificate)
    return BIAS_CODES[result.status]


def run_repair(args: argparse.Namespace) -> int:
    check_folders(args.certificate)
    classifier, text = models.load(args.model), read_text(args.text)
    words: list[str | int] = [int(w) if w.isdecimal() else w for w in args.words.split(",") if w]
    with terminal.live(_errors()) as progress:
        result = sf.repair(classifier, text, words, on_progress=progress, **_settings(args))
    _print_answer(args, result, auditors.show_repair)
    _save_certificate(args.certificate, result.certificate)
    return STATUS_CODES[result.status]


def run_profile(args: argparse.Namespace) -> int:
    check_folders(args.plot)
    classifier, text = models.load(args.model), read_text(args.text)
    family, steps = growing(args)
    settings = {key: value for key, value in _settings(args).items() if key != "perturbation"}
    with terminal.live(_errors()) as progress:
        result = sf.profile(classifier, text, family, steps, on_progress=progress, **settings)
    if args.plot:
        result.plot().savefig(args.plot)
    _print_answer(args, result, auditors.show_profile)
    return max(STATUS_CODES[one.status] for one in result.explanations)


def run_attribute(args: argparse.Namespace) -> int:
    classifier, text = models.load(args.model), read_text(args.text)
    with terminal.live(_errors()) as progress:
        result = sf.attribute(classifier, text, of=args.of, limit=args.limit, on_progress=progress, **_settings(args))
    _print_answer(args, result, auditors.show_attribution)
    return PROVED if result.complete else UNDECIDED


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
def run_batch(args: argparse.Namespace) -> int:
    classifier = models.load(args.model)
    options = {key: value for key, value in _settings(args).items() if key != "perturbation"}
    with auditors.bar(_errors(), "explaining") as on_row:
        lines = corpus.batch(
            classifier, args.texts, args.out, certificates=args.certificates, on_row=on_row, **_running(args), **options
        )
    errors = sum("error" in line for line in lines)
    print(f"{len(lines)} texts, {errors} errors: {args.out}", file=sys.stderr)
    return PROVED


@stoppable
def run_audit(args: argparse.Namespace) -> int:
    page = Path(args.report)
    check_folders(args.report)
    classifier = models.load(args.model)
    with auditors.bar(_errors(), "auditing") as on_row:
        found = corpus.audit(
            classifier,
            args.texts,
            page.with_suffix(".jsonl"),
            corpus.read_protected(args.protected),
            certificates=page.with_suffix(".certificates"),
            compare=args.compare,
            padding=args.padding,
            seconds=args.seconds,
            on_row=on_row,
            **_running(args),
        )
    facts = [
        ("Model", f"{args.model} ({classifier.digest[:12]})"),
        ("Protected", args.protected),
        ("Allowed changes", report.allowed(perturbation(args).to_dict())),
    ]
    page.write_text(report.page(found, f"Audit of {Path(args.texts).name}", facts), encoding="utf-8")
    page.with_suffix(".csv").write_text(corpus.to_csv(found), encoding="utf-8", newline="")
    print(found)
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


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """What every question about words has in common."""
    return {
        "perturbation": perturbation(args),
        "cost": read_costs(args.cost),
        "padding": args.padding,
        "seconds": args.seconds,
        "seed": args.seed,
    }


def _running(args: argparse.Namespace) -> dict[str, Any]:
    """How a long run is done."""
    return {
        "perturbation": perturbation(args),
        "workers": args.workers,
        "engine": args.engine,
        "fresh": args.fresh,
    }


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


def run_check(args: argparse.Namespace) -> int:
    classifier = models.load(args.model)
    try:
        checked = sf.check(Path(args.certificate), classifier)
    except Rejected as error:
        print(f"Rejected: {error}")
        return NEGATIVE
    except NotACertificate as error:
        return _complain(f"{args.certificate} is not a certificate: {error}")
    print(checked.sentence)
    return PROVED


def run_models(args: argparse.Namespace) -> int:
    found = [(name, models.load(name)) for name in models.bundled()]
    if args.json:
        print(json.dumps([{"name": name, **_facts(model)} for name, model in found], indent=2))
    else:
        terminal.show_models(Console(), [(name, _facts(model)) for name, model in found])
    return PROVED


def _facts(model: sf.Classifier) -> dict[str, Any]:
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


def run_serve(args: argparse.Namespace) -> int:
    from suffice.web import serve

    serve(args.host, args.port, args.model, args.workers, args.allow_host)
    return PROVED


def run_train(args: argparse.Namespace) -> int:
    from suffice.train.train import run_train as train

    return train(args)


def run_import(args: argparse.Namespace) -> int:
    from suffice.importers.command import run_import as bring_in

    return bring_in(args)


# --- reading what was given ---


def check_folders(*paths: str | None) -> None:
    """Refuse output files that could not be written, before any work is done."""
    for path in paths:
        if path is not None and not Path(path).resolve().parent.is_dir():
            raise InputError(f"There is no folder to write {path!r} into.")


def read_text(given: str) -> str:
    """The text itself, or standard input for "-"."""
    if given == "-":
        try:
            return sys.stdin.buffer.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"Standard input is not UTF-8: byte {error.start} cannot be decoded.") from error
    if any("\udc80" <= char <= "\udcff" for char in given):
        raise InputError("The text is not UTF-8: it holds bytes that cannot be decoded.")
    return given


def read_json(path: str, what: str) -> Mapping[str, Any]:
    """A JSON object from a file, plain or gzip-compressed."""
    import gzip

    raw = Path(path).read_bytes()
    try:
        data = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"The {what} file {path!r} is not JSON: {error}.") from error
    if not isinstance(data, dict):
        raise InputError(f"The {what} file {path!r} must hold a JSON object from words to values.")
    return data


def read_costs(path: str | None) -> Mapping[str, float] | None:
    return None if path is None else read_json(path, "cost")


def perturbation(args: argparse.Namespace) -> Perturbation:
    """The perturbation set that the options name; k-NN boxes with k = 15 when they name none."""
    if args.norm != math.inf and args.eps is None:
        raise InputError("--norm goes with --eps.")
    if args.eps is not None:
        return sf.EpsilonBall(args.eps, args.norm)
    if args.knn_hull is not None:
        return sf.KNNHull(args.knn_hull)
    if args.swaps is not None:
        return sf.WordSwap(read_json(args.swaps, "swaps"))
    if args.deletion:
        return sf.Deletion()
    return sf.KNNBox(15 if args.knn_box is None else args.knn_box)


def growing(args: argparse.Namespace) -> tuple[Callable[[Any], Perturbation], list[float]]:
    """What grows in a profile, and its steps: k of boxes unless an option names another set."""
    if args.swaps is not None or args.deletion:
        raise InputError("A profile needs sets that grow: --knn-box, --knn-hull or --eps.")
    numbers = [part for part in args.steps.split(",") if part.strip()]
    try:
        if args.eps is not None:
            return partial(sf.EpsilonBall, p=args.norm), [float(number) for number in numbers]
        family = sf.KNNHull if args.knn_hull is not None else sf.KNNBox
        return family, [int(number) for number in numbers]
    except ValueError as error:
        raise InputError(f"--steps takes numbers with commas between them, not {args.steps!r}.") from error


def _errors() -> Console:
    return Console(stderr=True)


# --- the parser ---


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="suffice", description="Which words of a text suffice to decide a classifier's answer, with proof."
    )
    parser.add_argument("--version", action="version", version=f"suffice {sf.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    _add_explain(commands.add_parser("explain", parents=[_question()], help="the cheapest set of words that suffices"))
    contrast = commands.add_parser("contrast", parents=[_question()], help="the cheapest change that flips the label")
    contrast.add_argument("--towards", metavar="LABEL", help="count only flips to this label")
    contrast.set_defaults(run=run_contrast)
    _add_auditors(commands)
    check = commands.add_parser("check", help="check a certificate with the independent checker")
    check.add_argument("certificate", metavar="CERTIFICATE")
    check.add_argument("--model", default="sst-fc25", metavar="NAME|FOLDER")
    check.set_defaults(run=run_check)
    listing = commands.add_parser("models", help="list the bundled models")
    listing.add_argument("--json", action="store_true", help="print JSON and nothing else")
    listing.set_defaults(run=run_models)
    _add_serve(commands.add_parser("serve", help="the page, on this machine (extra: web)"))
    _add_train(commands.add_parser("train", help="train a small classifier on a CSV file (extra: train)"))
    _add_import(commands.add_parser("import", help="bring your own network: .onnx, .pt2, .keras or .h5"))
    return parser


def _question() -> Parser:
    """The options that every question about a text shares."""
    parent = Parser(add_help=False)
    parent.add_argument("text", metavar="TEXT", help='the text, or "-" for standard input')
    _add_settings(parent)
    parent.add_argument("--json", action="store_true", help="print JSON and nothing else")
    return parent


def _corpus() -> argparse.ArgumentParser:
    """The options that every question about many texts shares."""
    parent = Parser(add_help=False)
    parent.add_argument("texts", metavar="TEXTS", help="CSV (columns text[,label]) or JSONL, also gzipped")
    _add_settings(parent)
    parent.add_argument("--workers", type=int, default=1, metavar="N", help="processes (default: 1)")
    parent.add_argument("--engine", choices=engines.ENGINES, default="local", help="ray: on a cluster (extra: ray)")
    parent.add_argument("--fresh", action="store_true", help="start over instead of going on where a run stopped")
    return parent


def _add_settings(parent: argparse.ArgumentParser) -> None:
    parent.add_argument("--model", default="sst-fc25", metavar="NAME|FOLDER", help="default: sst-fc25")
    sets = parent.add_mutually_exclusive_group()
    sets.add_argument("--knn-box", type=int, metavar="K", help="box around the K nearest words (default: 15)")
    sets.add_argument("--knn-hull", type=int, metavar="K", help="convex hull of the K nearest words")
    sets.add_argument("--eps", type=float, metavar="E", help="ball of radius E around the embedding")
    sets.add_argument("--swaps", metavar="FILE", help="JSON: word to list of substitutes")
    sets.add_argument("--deletion", action="store_true", help="a free word may be deleted")
    parent.add_argument("--norm", type=float, default=math.inf, metavar="1|2|inf", help="of the ball (default: inf)")
    parent.add_argument("--cost", metavar="FILE", help="JSON: word to cost (others cost 1)")
    parent.add_argument("--padding", choices=["fixed", "feature"], default="fixed")
    parent.add_argument("--seconds", type=float, default=60.0, metavar="S", help="time limit (default: 60)")
    parent.add_argument("--seed", type=int, default=0, metavar="N")


def _add_auditors(commands: Any) -> None:
    """The auditor's verbs."""
    asked, many = [_question()], [_corpus()]
    bias = commands.add_parser("bias", parents=asked, help="does the label depend on protected words?")
    bias.add_argument("--protected", required=True, metavar="FILE|WORDS", help="a file of words, or she,he")
    bias.add_argument("--oracle", choices=["bounds", "milp", "marabou"], default="bounds")
    bias.add_argument("--certificate", metavar="FILE", help="save the certificate")
    bias.set_defaults(run=run_bias)
    repair = commands.add_parser("repair", parents=asked, help="do these words suffice, and if not, which more?")
    repair.add_argument("--words", required=True, metavar="WORDS", help="words or positions, with commas between")
    repair.add_argument("--certificate", metavar="FILE", help="save the certificate")
    repair.set_defaults(run=run_repair)
    profile = commands.add_parser("profile", parents=asked, help="how the explanation grows with the sets")
    profile.add_argument("--steps", default="5,10,15,25", metavar="SIZES", help="of k or eps (default: 5,10,15,25)")
    profile.add_argument("--plot", metavar="FILE", help="save a plot (extra: plot)")
    profile.set_defaults(run=run_profile)
    attribute = commands.add_parser("attribute", parents=asked, help="the share of explanations with each word")
    attribute.add_argument("--of", choices=["optimal", "minimal"], default="optimal")
    attribute.add_argument("--limit", type=int, default=100, metavar="N", help="explanations at most (default: 100)")
    attribute.set_defaults(run=run_attribute)
    batch = commands.add_parser("batch", parents=many, help="explain every text of a file (resumes)")
    batch.add_argument("--out", required=True, metavar="RESULTS.jsonl", help="one line per text as it is done")
    batch.add_argument("--certificates", metavar="FOLDER", help="save every certificate")
    batch.set_defaults(run=run_batch)
    audit = commands.add_parser("audit", parents=many, help="bias over a file of texts, with a report (resumes)")
    audit.add_argument("--protected", required=True, metavar="FILE|WORDS", help="a file of words, or she,he")
    audit.add_argument("--report", required=True, metavar="REPORT.html", help="CSV, JSONL, certificates go beside it")
    audit.add_argument("--compare", metavar="OLD.jsonl", help="an older audit, say of another model version")
    kinds = ["dependent", "unknown", "error", "worse"]
    audit.add_argument("--fail-on", action="append", default=[], choices=kinds, help="exit with 1 (repeatable)")
    audit.set_defaults(run=run_audit)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--include", action="append", default=[], metavar="WORD", help="must be in the set (repeatable)"
    )
    parser.add_argument("--exclude", action="append", default=[], metavar="WORD", help="must not be in it (repeatable)")
    parser.add_argument("--method", choices=["search", "hs", "msa"], default="search")
    parser.add_argument("--oracle", choices=["bounds", "milp", "marabou"], default="bounds")
    parser.add_argument("--why-wrong", metavar="LABEL", help="the label that a misclassified text should have")
    parser.add_argument("--all", action="store_true", help="every optimal set (with --json: one line each)")
    parser.add_argument("--html", metavar="FILE", help="save a report")
    parser.add_argument("--certificate", metavar="FILE", help="save the certificate")
    parser.set_defaults(run=run_explain)


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="default: 8000; 0 takes a free one")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="default: 127.0.0.1, this machine only")
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
        metavar="NAME|FOLDER",
        help="offer this model (repeatable; default: all bundled)",
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="searches at the same time (default: the cores, at most 4)"
    )
    parser.set_defaults(run=run_serve)


def _add_train(parser: argparse.ArgumentParser) -> None:
    from suffice.train.train import add_train_arguments

    add_train_arguments(parser)
    parser.set_defaults(run=run_train)


def _add_import(parser: argparse.ArgumentParser) -> None:
    from suffice.importers.command import add_import_arguments

    add_import_arguments(parser)
    parser.set_defaults(run=run_import)


if __name__ == "__main__":
    raise SystemExit(main())
