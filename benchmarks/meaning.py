"""Do the answers speak? Sizes, stop words and agreement with people, beside LIME, SHAP and Anchors
on the same model.

    python benchmarks/meaning.py /path/to/sst2 [--model sentiment] [--texts 200] [--others 60]
    [--set default]

Prints, over SST test sentences: the share of empty answers, of one to three words, of half the text
or more; the share of stop words among the words of the answers; and the agreement with people.
People are SST's own labels of phrases: a word whose one-word phrase has a label carries it.
Agreement is the share of an explanation's words that carry the label's sentiment, less those that
carry the other one. LIME and SHAP give as many words as our answer has (their best first, at least
one); Anchors as many as it likes. Only sentences with a non-empty answer are compared; "ours less
theirs" is the mean of the differences on the same sentences, with its standard error. Seconds are
those of the processor.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import statistics
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import suffice as sf
from suffice.verbs.prefer import STOP_WORDS

sys.path.insert(0, str(Path(__file__).parents[1]))
from experiments.explainers import NAMED, seen

SETS = {"default": None, "deletion": sf.Deletion(), "knn-box": sf.KNNBox(15)}


def rows(path: Path) -> Iterator[tuple[str, int]]:
    with gzip.open(path, "rt", encoding="utf8", newline="") as file:
        for row in csv.DictReader(file):
            yield row["text"].strip(), int(row["label"])


def lexicon(folder: Path) -> dict[str, int]:
    """Words that people labelled on their own: 1 positive, 0 negative; those labelled both ways are
    left out.
    """
    found: dict[str, set[int]] = {}
    for text, label in rows(folder / "train_phrases.csv.gz"):
        if " " not in text:
            found.setdefault(text.lower(), set()).add(label)
    return {word: labels.pop() for word, labels in found.items() if len(labels) == 1}


def is_stop(word: str) -> bool:
    return word.lower() in STOP_WORDS or not any(char.isalnum() for char in word)


def agreement(words: Sequence[str], label: int, carries: dict[str, int]) -> float:
    """From 1, every word carries the label's sentiment, to -1, every word carries the other."""
    signs = [
        0 if word.lower() not in carries else 1 if carries[word.lower()] == label else -1
        for word in words
    ]
    return sum(signs) / len(signs)


def timed(model: sf.Classifier, text: str) -> tuple[sf.Explanation, float]:
    """Our answer, and its seconds."""
    started = time.process_time()
    return sf.explain(
        model, text, perturbation=SETS[args.set], seconds=60
    ), time.process_time() - started


def sizes(answers: Sequence[sf.Explanation]) -> dict[str, float]:
    counts = [(len(answer.positions), len(answer.text.words)) for answer in answers]
    words = [word.text for answer in answers for word in answer.words]
    total = len(counts)
    return {
        "optimal": sum(answer.status == "optimal" for answer in answers) / total,
        "empty": sum(count == 0 for count, _ in counts) / total,
        "one to three words": sum(1 <= count <= 3 for count, _ in counts) / total,
        "half the text or more": sum(count >= length / 2 for count, length in counts) / total,
        "stop words": sum(map(is_stop, words)) / max(1, len(words)),
    }


def others(model: sf.Classifier, answer: sf.Explanation, name: str) -> tuple[list[str], float]:
    """The words that another explainer names, and its seconds."""
    text = answer.text.source
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named, _ = NAMED[name](model, text, {"samples": 5000, "seconds": 30})
    places = named(max(1, len(answer.positions)))
    return [answer.text.words[i].text for i in places], time.process_time() - started


def compare(
    model: sf.Classifier, answers: Sequence[sf.Explanation], carries: dict[str, int]
) -> Iterator[str]:
    """A line per explainer: its agreement, the share that is refuted over the same set, its
    seconds.
    """
    spoken = [answer for answer in answers if answer.positions]
    label = {name: index for index, name in enumerate(model.labels)}
    own = [
        agreement([w.text for w in answer.words], label[answer.label], carries) for answer in spoken
    ]
    yield f"suffice   agreement {statistics.mean(own):+.3f}   refuted 0 %   {len(spoken)} sentences"
    for name in ("lime", "shap", "anchors"):
        found: list[tuple[float, float, bool, float]] = []
        for answer, mine in zip(spoken, own, strict=True):
            try:
                words, seconds = others(model, answer, name)
            except (TimeoutError, sf.InputError):
                continue
            if not words:
                continue
            verdict = sf.is_robust(model, answer.text, words, perturbation=SETS[args.set])
            score = agreement(words, label[answer.label], carries)
            found.append((score, mine - score, isinstance(verdict, sf.Refuted), seconds))
        scores, ahead, refuted, times = zip(*found, strict=True)
        error = statistics.stdev(ahead) / len(ahead) ** 0.5
        yield (
            f"{name:9} agreement {statistics.mean(scores):+.3f}   ours less theirs "
            f"{statistics.mean(ahead):+.3f} "
            f"(standard error {error:.3f})   refuted {sum(refuted) / len(refuted):.0%}   "
            f"{statistics.median(times):.2f} s in the median   {len(found)} sentences"
        )


def main() -> None:
    folder = Path(args.data)
    model = sf.load(args.model)
    texts = [seen(model, text) for text, _ in rows(folder / "test.csv.gz")][: args.texts]
    answers, seconds = zip(*(timed(model, text) for text in texts), strict=True)
    print(f"{args.model}, {args.set}, {len(texts)} SST test sentences")
    for name, value in sizes(answers).items():
        print(f"  {name:22} {value:.1%}")
    print(
        f"  seconds                {statistics.median(seconds):.3f} in the median, "
        f"{max(seconds):.2f} at most"
    )
    carries = lexicon(folder)
    for line in compare(model, answers[: args.others], carries) if args.others else ():
        print(f"  {line}")


def arguments() -> Any:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="the folder sst2")
    parser.add_argument("--model", default="sentiment")
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument(
        "--others", type=int, default=60, help="sentences given to the other explainers"
    )
    parser.add_argument("--set", choices=SETS, default="default")
    return parser.parse_args()


if __name__ == "__main__":
    args = arguments()
    main()
