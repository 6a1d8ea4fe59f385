"""Questions about one text."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from rich.console import Console

import suffice as sf
from suffice.cli import NEGATIVE, PROVED, UNDECIDED, reading
from suffice.cli.commands.giving import (
    code,
    errors,
    give,
    print_answer,
    refuse_costs,
    save_certificate,
)
from suffice.errors import InputError
from suffice.model.numbers import exactly
from suffice.render import terminal
from suffice.verbs.engines import progress as asking
from suffice.verbs.explain import explained
from suffice.verbs.wording import authority

BIAS_CODES = {"independent": PROVED, "dependent": NEGATIVE, "unknown": UNDECIDED}
FLIP_CODES = {"optimal": PROVED, "none": NEGATIVE, "found": UNDECIDED, "unknown": UNDECIDED}
GROWN = (
    "cost",
    "include",
    "exclude",
    "padding",
    "seconds",
    "seed",
    "max_queries",
)  # of a question, for a profile


def explain(args: argparse.Namespace) -> int:
    reading.check_folders(args.html, args.certificate)
    if args.all and args.why_wrong is not None:
        raise InputError("--why-wrong is about one explanation: leave --all out.")
    question = reading.question(args)
    if args.all and (question.method, question.oracle) != ("search", "bounds"):
        raise InputError(
            "--all goes with the method search and the oracle bounds: name no other ones."
        )
    with terminal.live(errors(), lambda: asking(question)) as progress:
        if args.all:
            from suffice.verbs.explain_all import all_explained

            every = all_explained(question, progress)
            results = list(every)
            certificate = every.certificate
        else:
            results = [explained(question, args.why_wrong, progress)]
            certificate = None
    try:
        if args.html:
            results[0].save_html(args.html)
        # of all sets, or of the first
        save_certificate(args.certificate, certificate or results[0].certificate)
    finally:
        for result in results:
            _print_explanation(args, result, question.classifier)
    return max(map(code, results))


def _print_explanation(
    args: argparse.Namespace, result: sf.Explanation, classifier: sf.Classifier | sf.BlackBox
) -> None:
    if args.json and args.all:
        print(result.to_json(indent=None))
    elif args.json:
        print(_looked_at(result).to_json())
    else:
        result = _looked_at(result)
        files = {"swaps.json": args.swaps or "swaps.json", "cost.json": args.cost or "cost.json"}
        terminal.show_explanation(
            Console(), result, classifier.predict(result.text), args.model, files
        )
        if result.mistake is not None:
            from suffice.render.auditors import show_mistake

            show_mistake(Console(), result.mistake)


def _looked_at(result: sf.Explanation) -> sf.Explanation:
    """The answer with all that people are shown of it; where Ctrl-C ends the look, the answer
    alone.
    """
    try:
        with terminal.waiting(errors(), "the answer is there; looking at each word"):
            _ = result.details, result.alternatives, result.further
    except KeyboardInterrupt:
        return replace(result, look=None, count=None, ahead=None)
    return result


def contrast(args: argparse.Namespace) -> int:
    from suffice.verbs.contrast import contrasted

    reading.check_folders(args.certificate)
    question = reading.question(args, **({} if args.towards is None else {"towards": args.towards}))
    with terminal.live(errors(), lambda: asking(question)) as progress:
        result = contrasted(question, progress)
    give(args, result, terminal.show_contrast)
    return FLIP_CODES[result.status]


def bias(args: argparse.Namespace) -> int:
    from suffice.corpus.audit import read_protected
    from suffice.render.auditors import show_bias
    from suffice.verbs.bias import guarded, judged

    reading.check_folders(args.certificate)
    refuse_costs(args)
    question = reading.question(args)
    if args.protected is not None:
        words = read_protected(args.protected)
        listed = (
            words
            if isinstance(words, list)
            else [word for group in words.values() for word in group]
        )
        question = replace(question, exclude=guarded(question, listed))
    elif args.question is None:
        raise InputError(
            "Name the protected words: --protected "
            f"{' or --protected '.join(('she,he', 'gender', 'FILE'))}."
        )
    result = judged(question)
    give(args, result, show_bias)
    unproved = result.status == "independent" and (
        result.trivial or authority(result.meta, "enough") != "proved"
    )
    return UNDECIDED if unproved else BIAS_CODES[result.status]


def repair(args: argparse.Namespace) -> int:
    from suffice.render.auditors import show_repair
    from suffice.verbs.repair import repaired

    reading.check_folders(args.certificate)
    question = reading.question(args)
    if args.words is not None:
        named: list[str | int] = [
            int(w) if w.isdecimal() else w for w in args.words.split(",") if w
        ]
        if not named:
            raise InputError("No words are named: --words good,film (or their positions).")
        given = question.text.positions(named, int(question.features.sum()))
        question = replace(question, include=given)
    elif args.question is None:
        raise InputError("Name the words: --words good,film (or their positions).")
    with terminal.live(errors(), lambda: asking(question)) as progress:
        result = repaired(question, progress)
    give(args, result, show_repair)
    return code(result.explanation)


def profile(args: argparse.Namespace) -> int:
    from suffice.render.auditors import show_profile

    reading.check_folders(args.plot)
    if args.plot:
        from suffice.render.plots import check_installed

        check_installed()
    question = reading.question(args)
    family, steps = reading.growing(question.perturbation, args.steps)
    settings = {name: getattr(question, name) for name in GROWN}
    with terminal.live(errors()) as progress:
        result = sf.profile(
            question.classifier, question.text, family, steps, on_progress=progress, **settings
        )
    try:
        if args.plot:
            result.plot().savefig(args.plot)
        if args.certificates:
            _save_profile(Path(args.certificates), result)
    finally:
        print_answer(args, result, show_profile)
    return max(map(code, result.explanations))


def _save_profile(folder: Path, result: sf.Profile) -> None:
    """The certificates of all steps and of both radii, as far as there are any."""
    steps = zip(result.steps, result.explanations, strict=True)
    found = {f"{result.parameter}-{exactly(step)}": one.certificate for step, one in steps} | dict(
        result.radii
    )
    folder.mkdir(parents=True, exist_ok=True)
    for name, certificate in found.items():
        if certificate is not None:
            certificate.save(folder / f"{name}.certificate")


def attribute(args: argparse.Namespace) -> int:
    from suffice.render.auditors import show_attribution
    from suffice.verbs.attribute import attributed

    reading.check_folders(args.certificate)
    question = reading.question(args, of=args.of, limit=args.limit)
    with terminal.live(errors(), lambda: asking(question)) as progress:
        result = attributed(question, progress)
    give(args, result, show_attribution)
    if result.complete:
        return PROVED if result.explanations else NEGATIVE
    return UNDECIDED
