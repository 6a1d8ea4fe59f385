"""Ablation: what every mechanism buys on the rows that we publish, in work and in seconds.

    python benchmarks/ablation.py --data ../shared/data --out ablation.md
    python benchmarks/ablation.py --rows fc textcnn --mechanisms "leaf lp" "pgd" --texts 2

Every question of a row is answered as usual and with one mechanism switched off (by settings, or by
replacing a function), in turn in the same process; seconds and limits are of the processor. The
first table has, for each mechanism and row, seconds without it / seconds with it (above 1: it pays)
and how many answers are another one then; the second the same of all work. An answer that a limit
of time cuts short counts with the time that it took. The last column names what would go with it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import growth
import numpy as np
import pipelines
import search
import vnncomp

import suffice as sf
from suffice import work
from suffice.settings import DEFAULT, Settings
from suffice.verbs.engines import single_threaded
from suffice.verbs.question import Question
from suffice.verify.contract import Budget
from suffice.verify.nets.bounds_oracle import BoundsOracle
from suffice.verify.nets.branch import branch_run
from suffice.verify.nets.crown.max_planes import MaxPlanes
from suffice.verify.nets.crown.relu_planes import ReluPlanes
from suffice.verify.nets.input_sets import Restorations

Off = Callable[[contextlib.ExitStack], None]  # switches a mechanism off until the stack is closed


@dataclass(frozen=True)
class Mechanism:
    """What may be switched off, and the source modules that would go with it."""

    name: str
    off: Off
    modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """Questions that we publish numbers of: `ask` answers the one of that place, within seconds."""

    name: str
    count: int
    ask: Callable[[int, float], Any]


@dataclass
class Measured:
    """One way of answering a row: seconds and work of all its questions, and each answer."""

    seconds: float
    work: Counter[str]
    answers: list[Any]


# --- mechanisms ---


def by_settings(**groups: dict[str, Any]) -> Off:
    """Settings with other numbers in some groups, for every question."""
    changed = {name: replace(getattr(DEFAULT, name), **some) for name, some in groups.items()}
    return lambda stack: stack.enter_context(with_settings(replace(DEFAULT, **changed)))


@contextlib.contextmanager
def with_settings(settings: Settings) -> Iterator[None]:
    made = Question.__init__

    def make(self: Question, *more: Any, **given: Any) -> None:
        made(self, *more, **{**given, "settings": settings})

    problem = vnncomp.problem
    with (
        mock.patch.object(Question, "__init__", make),
        mock.patch.object(
            vnncomp, "problem", lambda *given: replace(problem(*given), settings=settings)
        ),
    ):
        yield


def replaced(*places: str, by: Any) -> Off:
    """Functions, each named "module:name" or "module:Class.name", with another in their place."""

    def off(stack: contextlib.ExitStack) -> None:
        for place in places:
            module, _, path = place.partition(":")
            *owners, name = path.split(".")
            owner: Any = importlib.import_module(f"suffice.{module}")
            for one in owners:
                owner = getattr(owner, one)
            stack.enter_context(mock.patch.object(owner, name, by))

    return off


def without_planes(unwanted: Callable[[Any, Any], bool]) -> Off:
    """No upper planes where `unwanted` says so, of the planes and the sets of inputs."""
    usual = branch_run._upper_planes

    def planes(prepared: Any, sign: Any, inputs: Any) -> Any:
        found = usual(prepared, sign, inputs)
        return None if unwanted(found, inputs) else found

    return replaced("verify.nets.branch.branch_run:_upper_planes", by=planes)


def nothing(*_: Any, **__: Any) -> None:
    return None


def no(*_: Any, **__: Any) -> bool:
    return False


def same(given: Any, *_: Any, **__: Any) -> Any:
    return given


def second(_: Any, given: Any, *__: Any, **___: Any) -> Any:
    return given


def none(*_: Any, **__: Any) -> list[Any]:
    return []


NETS = "verify.nets"
WORD_TREE = "optimise.word_tree"
ONE_HOT = "reduced_to_one_hot"
MECHANISMS = [
    Mechanism("slope ascent", by_settings(ascent={"iterations": (0, 0)}), ("crown/ascent",)),
    Mechanism(
        "refined intermediate bounds",
        by_settings(planes={"refined_from_shares": 10**12}),
        ("crown/refine_intermediate",),
    ),
    Mechanism(
        "planes of relus",
        without_planes(lambda planes, _: isinstance(planes, ReluPlanes)),
        ("crown/relu_planes",),
    ),
    Mechanism(
        "planes of maxima",
        without_planes(lambda planes, _: isinstance(planes, MaxPlanes)),
        ("crown/max_planes", "crown/plane_ascent", "branch/planes", "joint_maxpool"),
    ),
    Mechanism(
        "restoration ascent",
        without_planes(
            lambda planes, inputs: (
                isinstance(planes, MaxPlanes) and isinstance(inputs, Restorations)
            )
        ),
        ("crown/restoration_ascent",),
    ),
    Mechanism(
        "joint maxpool",
        replaced(f"{NETS}.branch.unit_branching:fix_tuples", by=nothing),
        ("joint_maxpool", "proof/check/tuple_fixing"),
    ),
    Mechanism(
        "leaf lp", replaced(f"{NETS}.branch.evaluate:solve_leaf_lp", by=nothing), ("leaf_lp",)
    ),
    Mechanism(
        "enumeration", replaced(f"{NETS}.branch.evaluate:enumerable", by=nothing), ("enumeration",)
    ),
    Mechanism(
        "dominated",
        replaced(f"{NETS}.bounds_oracle:without_dominated", by=same),
        ("presolve/dominated",),
    ),
    Mechanism(
        "restrict", replaced(f"{NETS}.bounds_oracle:suits_few", by=no), ("presolve/restrict",)
    ),
    Mechanism(
        "one hot",
        replaced(f"verbs.engines:{ONE_HOT}", f"verbs.prefer:{ONE_HOT}", by=same),
        ("presolve/one_hot", "branch/word_branching", "optimise/implicit_hitting_set"),
    ),
    Mechanism(
        "option branching",
        replaced(f"{NETS}.bounds_oracle:is_max_of_sums", by=no),
        ("options/option_branching", "options/max_of_sums"),
    ),
    Mechanism("gap weight", by_settings(branching={"gap_weight": 0.0})),
    Mechanism("gap share", by_settings(branching={"gap_share": 0.0})),
    Mechanism(
        "pgd",
        replaced(
            f"{NETS}.bounds_oracle:pgd_applies",
            f"{NETS}.branch.planes:pgd_applies",
            by=no,
        ),
    ),
    Mechanism(
        "deep attacks", replaced(f"{NETS}.bounds_oracle:BoundsOracle._attack_deeply", by=nothing)
    ),
    Mechanism(
        "restorations",
        replaced(f"{WORD_TREE}:WordTreeSearch._close_by_restorations", by=second),
        ("optimise/restoration",),
    ),
    Mechanism(
        "strengthened attacks",
        replaced(f"{WORD_TREE}:WordTreeSearch._strengthen_cost", by=nothing),
    ),
    Mechanism(
        "strengthened margins", replaced(f"{WORD_TREE}:WordTreeSearch._strengthen_margin", by=no)
    ),
    Mechanism(
        "swaps",
        replaced("optimise.restoration:RestorationProver._undo_by_swaps", by=nothing),
        ("optimise/restoration (SwapSearch)",),
    ),
    Mechanism(
        "deletion",
        replaced(f"{WORD_TREE}:free_more", f"{WORD_TREE}:free_singly", by=nothing),
        ("optimise/deletion",),
    ),
    Mechanism("necessary words", replaced(f"{WORD_TREE}:WordTreeSearch._fix_necessary", by=no)),
    Mechanism(
        "lp loop", replaced("optimise.cuts.cut_search:raise_by_lp", by=nothing), ("cuts/lp_loop",)
    ),
    Mechanism(
        "majorants",
        replaced("optimise.cuts.cut_search:is_affordable", by=no),
        ("text/majorants", "cuts/majorant_bounds", "proof/bag/majorants"),
    ),
    Mechanism(
        "lagrangian cuts",
        replaced("verify.text.worst_case:WorstCase.lagrangian_cuts", by=none),
        ("text/lagrangian_cuts (in part)",),
    ),
    Mechanism(
        "greedy flips",
        replaced(
            "optimise.query_search:greedy_attack",
            "optimise.flips_by_cost:greedy_attack",
            by=nothing,
        ),
        ("optimise/greedy_flip",),
    ),
    Mechanism(
        "preference",
        lambda stack: [
            replaced("verbs.prefer:Preference.wanted", by=False)(stack),
            replaced("verbs.black_box.searching:low_content_words", by=none)(stack),
        ][0],
        ("verbs/prefer",),
    ),
]


# --- rows ---


def of_model(name: str, perturbation: Any, verb: Any = sf.explain, *more: Any, **given: Any) -> Any:
    """Questions about a bundled model, on real test texts."""

    def row(data: str, count: int) -> tuple[int, Callable[[int, float], Any]]:
        classifier = sf.load(name)
        texts = list(search.read_texts(data, name, classifier, count))
        return asked(classifier, texts, perturbation, verb, *more, **given)

    return row


def asked(
    classifier: Any, texts: Sequence[str], perturbation: Any, verb: Any, *more: Any, **given: Any
) -> tuple[int, Callable[[int, float], Any]]:
    wanted = {} if perturbation is None else {"perturbation": perturbation}

    def ask(place: int, seconds: float) -> Any:
        return verb(classifier, texts[place], *more, seconds=seconds, **wanted, **given)

    return len(texts), ask


def of_growth(family: str, place: int) -> Any:
    """A row of growth.py, whose network is trained here."""

    def row(data: str, count: int) -> tuple[int, Callable[[int, float], Any]]:
        chosen = growth.FAMILIES[family][place]
        classifier = growth._classifier(chosen, Path(data))
        texts = list(growth.texts(Path(data), chosen.shape, count, chosen.least))
        return asked(classifier, texts, chosen.perturbation or sf.KNNBox(3), sf.explain)

    return row


def safe_nlp(data: str, count: int) -> tuple[int, Callable[[int, float], Any]]:
    """Instances of vnncomp.py, evenly over the file; ten for each text of other rows."""
    file = Path(data) / "safenlp" / "safenlp.npz"
    found = dict(np.load(file, allow_pickle=False))
    nets = {int(which): vnncomp.network(found, int(which)) for which in np.unique(found["which"])}
    places = np.linspace(0, len(found["which"]) - 1, 10 * count).astype(int)

    def ask(place: int, seconds: float) -> Any:
        with single_threaded():
            oracle = BoundsOracle(vnncomp.problem(found, nets, int(places[place])))
            return oracle.ask(np.ones((1, 1), dtype=bool), Budget(seconds))[0]

    return len(places), ask


def of_pipeline(
    name: str, kind: str, change: str, limit: int | None, function: bool = False
) -> Any:
    """Questions of pipelines.py; of a `function`, the pipeline is only run."""

    def row(data: str, count: int) -> tuple[int, Callable[[int, float], Any]]:
        pipeline = pipelines.trained(data, name, kind)
        labels = [str(label) for label in pipeline.classes_]
        swaps = pipelines.substitutes(data)
        removal, swapping = pipelines.CHANGES[change]
        wanted: Any = sf.Deletion(at_most=limit)
        if swapping:
            wanted = (sf.RemoveOrSwap if removal else sf.WordSwap)(swaps, at_most=limit)
        texts = pipelines.chosen(data, name, count)

        def ask(place: int, seconds: float) -> Any:
            box = (
                sf.from_function(pipeline.predict_proba, labels, "a function")
                if function
                else sf.from_sklearn(pipeline)
            )  # anew: what one answer has asked would help the next
            return sf.explain(box, texts[place], perturbation=wanted, seconds=seconds)

        return len(texts), ask

    return row


def first_words(verb: Any, count: int) -> Any:
    """A verb about the first words of the text, which it takes after it."""

    def asked_of(classifier: Any, text: str, **given: Any) -> Any:
        return verb(classifier, text, list(range(count)), **given)

    return asked_of


ROWS: dict[str, Callable[[str, int], tuple[int, Callable[[int, float], Any]]]] = {
    "fc": of_model("sst-fc25", sf.KNNBox(15)),
    "fc long": of_model("imdb-fc100", sf.EpsilonBall(0.05)),
    "cnn": of_model("sst-cnn25", sf.KNNBox(15)),
    "textcnn": of_growth("filters", 1),
    "textcnn k=10": of_growth("dropout", 3),
    "wide": of_growth("width", 1),
    "two wide": of_growth("widths", 2),
    "long": of_growth("words", 2),
    "kim": of_growth("kim", 1),
    "safenlp": safe_nlp,
    "words": of_pipeline("agnews", "words", "both", None),
    "words, 3": of_pipeline("agnews", "words", "both", 3),
    "pairs": of_pipeline("agnews", "words and pairs", "both", None),
    "pairs, 3": of_pipeline("agnews", "words and pairs", "both", 3),
    "trees": of_pipeline("sst2", "forest", "removal", None),
    "function": of_pipeline("sst2", "forest", "removal", 3, function=True),
    "contrast": of_model("sst-fc25", sf.KNNBox(15), sf.contrast),
    "attribute": of_model("sst-fc25", sf.KNNBox(10), sf.attribute, limit=10),
    "bias": of_model("sst-cnn25", sf.KNNBox(15), first_words(sf.bias, 4)),
    "repair": of_model("sst-fc25", sf.KNNBox(15), first_words(sf.repair, 3)),
    "deletion": of_model("sst-cnn25", sf.Deletion()),
}
ROWS["profile"] = lambda data, count: _profiles(data, count)


def _profiles(data: str, count: int) -> tuple[int, Callable[[int, float], Any]]:
    classifier = sf.load("sst-fc25")
    texts = list(search.read_texts(data, "sst-fc25", classifier, count))
    return len(texts), lambda place, seconds: sf.profile(
        classifier, texts[place], sf.KNNBox, [5, 10, 15], seconds=seconds
    )


# --- measuring ---


def main() -> None:
    args = arguments()
    time.monotonic = time.process_time  # the limit as well
    warnings.simplefilter("ignore")
    chosen = [one for one in MECHANISMS if one.name in (args.mechanisms or [one.name])]
    found: dict[tuple[str, str], tuple[Measured, Measured]] = {}
    for name in args.rows:
        count, ask = ROWS[name](args.data, args.texts)
        row = Row(name, count, ask)
        for mechanism in chosen:
            found[mechanism.name, name] = with_and_without(row, mechanism, args.seconds)
            print(said(mechanism.name, name, *found[mechanism.name, name]), flush=True)
    tables = "\n\n".join(
        [
            table("Seconds", found, chosen, args.rows, seconds_cell),
            table("Work", found, chosen, args.rows, work_cell),
        ]
    )
    print("\n" + tables)
    if args.out:
        Path(args.out).write_text(tables + "\n", encoding="utf-8")


def with_and_without(row: Row, mechanism: Mechanism, seconds: float) -> tuple[Measured, Measured]:
    """Both ways in turn, question by question, so that what the machine does meanwhile hits both
    alike; the first question is asked once before, as imports and caches take time.
    """
    usual, without = Measured(0.0, Counter(), []), Measured(0.0, Counter(), [])
    measure(row, 0, seconds, Measured(0.0, Counter(), []))
    for place in range(row.count):
        measure(row, place, seconds, usual)
        with contextlib.ExitStack() as stack:
            mechanism.off(stack)
            measure(row, place, seconds, without)
    return usual, without


def measure(row: Row, place: int, seconds: float, into: Measured) -> None:
    started = time.process_time()
    with work.counted() as counts:
        try:
            answer = facts(row.ask(place, seconds))
        except Exception as error:  # without a mechanism another one may not stand
            answer = f"{type(error).__name__}: {error}"
    into.seconds += time.process_time() - started
    into.work.update(counts)
    into.answers.append(answer)


def facts(answer: Any) -> Any:
    """What was answered: status, cost and bound; which of several equal sets it is does not
    matter.
    """
    if isinstance(answer, sf.Profile):
        return [facts(one) for one in answer.explanations]
    if isinstance(answer, sf.Attribution):
        return answer.complete, len(answer.explanations)
    names = ("status", "cost", "lower_bound")
    return (type(answer).__name__, *(getattr(answer, name, None) for name in names))


# --- the tables ---


def said(mechanism: str, row: str, usual: Measured, without: Measured) -> str:
    """One comparison in words: the sums, the counts that differ, and the answers that do."""
    counts = [
        f"    {name}: {usual.work[name]} -> {without.work[name]}"
        for name in sorted({*usual.work, *without.work})
        if usual.work[name] != without.work[name]
    ]
    answers = [
        f"    answer {place}: {one} -> {other}"
        for place, (one, other) in enumerate(zip(usual.answers, without.answers, strict=True))
        if one != other
    ]
    head = f"{mechanism} / {row}: {usual.seconds:.2f} s -> {without.seconds:.2f} s"
    return "\n".join([head, *counts, *answers])


def ratio(without: float, usual: float) -> str:
    return f"{without / usual:.2f}" if usual else "1.00" if not without else "∞"


def seconds_cell(usual: Measured, without: Measured) -> str:
    pairs = zip(usual.answers, without.answers, strict=True)
    changed = sum(one != other for one, other in pairs)
    return ratio(without.seconds, usual.seconds) + (f" ({changed})" if changed else "")


def work_cell(usual: Measured, without: Measured) -> str:
    """The geometric mean over the kinds of work: a kind of few units counts like one of many."""
    names = [name for name in {*usual.work, *without.work} if usual.work[name] + without.work[name]]
    if not names:
        return "1.00"
    logs = [math.log((without.work[name] + 1) / (usual.work[name] + 1)) for name in names]
    return f"{math.exp(sum(logs) / len(logs)):.2f}"


def table(
    what: str,
    found: dict[tuple[str, str], tuple[Measured, Measured]],
    mechanisms: Sequence[Mechanism],
    rows: Sequence[str],
    cell: Callable[[Measured, Measured], str],
) -> str:
    """Without / with, by mechanism and row; in brackets how many answers are others."""
    lines = [f"| {what}, without | {' | '.join(rows)} | goes with it |"]
    lines.append("|---" * (len(rows) + 2) + "|")
    for one in mechanisms:
        cells = [cell(*found[one.name, row]) for row in rows]
        lines.append(f"| {one.name} | {' | '.join(cells)} | {', '.join(one.modules)} |")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    names = [one.name for one in MECHANISMS]
    parser.add_argument("--mechanisms", nargs="+", choices=names, help="all, if none is named")
    parser.add_argument("--texts", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--out", help="a file for the tables")
    return parser.parse_args()


if __name__ == "__main__":
    main()
