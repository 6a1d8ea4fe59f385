"""Jobs: the side of a worker process. A question comes in through a pipe; progress, an answer and
its details go out.

A worker is one process, so that whatever it does can be stopped at once (SIGINT: a search gives
back the best it has proved, anything else ends) or, if need be, killed, without touching the server
or the other searches.

An answer goes out as soon as it is checked. What takes longer and not everybody reads (what each
word may become and why it is there, the equally cheap sets, the report) follows, and is left at
that when somebody else waits.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, TypeAlias

import suffice as sf
from suffice.corpus import audit as audits
from suffice.corpus.batch import Explaining
from suffice.corpus.findings import slim, summarise
from suffice.corpus.journal import read_journal
from suffice.corpus.rows import Row
from suffice.errors import SufficeError
from suffice.importers.named import load_any
from suffice.model.blackbox import BlackBox
from suffice.render import details, growth, guarantee, phrases, verdicts
from suffice.render.audit import page as audit_page
from suffice.sets import table
from suffice.sets.perturbations import Perturbation, for_audits
from suffice.sets.substitutes import group
from suffice.verbs.answering import self_checked
from suffice.verbs.bias import guarded, judged
from suffice.verbs.contrast import contrasted
from suffice.verbs.engines import OnProgress
from suffice.verbs.explain import explained
from suffice.verbs.question import KEYS, Question

Payload: TypeAlias = dict[str, Any]
Send: TypeAlias = Callable[[str, Payload], None]
TOLD = 500  # words that one word may become, told at once
PAUSE = 0.05  # seconds between two reports with the same bounds


class Stop:
    """Whether the job was asked to stop. The signal interrupts what is done under `listening`, and
    nothing else.
    """

    def __init__(self) -> None:
        self.heard = self.asked = False

    def signal(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if self.heard:
            raise KeyboardInterrupt

    @contextmanager
    def listening(self) -> Iterator[None]:
        self.heard = True
        try:
            yield
        finally:
            self.heard = False


STOP = Stop()


def main(pipe: Connection) -> None:
    """Answer questions until the server goes away."""
    signal.signal(signal.SIGINT, STOP.signal)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    pipe.send(("ready", {}))
    while True:
        try:
            verb, question = pipe.recv()
        except EOFError:
            return
        try:
            work(verb, question, lambda kind, data: pipe.send((kind, data)))
        except BrokenPipeError:
            return


def work(verb: str, question: Payload, send: Send) -> None:
    """One job, from question to answer; every failure is an answer too."""
    STOP.asked = False
    send("begun", {})
    try:
        with STOP.listening():
            found = WORK[verb](question, send)
    except KeyboardInterrupt:
        send(
            "refused",
            {"message": "Stopped before the answer was proved and checked, so nothing is claimed."},
        )
    except SufficeError as error:
        send("refused", {"message": str(error)})
    except Exception as error:
        print(f"suffice: a job failed: {type(error).__name__}: {error}", file=sys.stderr)
        send(
            "failed", {"message": "this question met an error in suffice; the server's log has it"}
        )
    else:
        send("answer", _answer(found))
        _follow(found, send)
        send("done", {})


@lru_cache(maxsize=16)
def classifier(folder: str) -> sf.Classifier | BlackBox:
    return load_any(folder)


def reporter(send: Send) -> OnProgress:
    """Progress to the page: every change of a bound, and a sign of life now and then."""
    last: list[Any] = [None, 0.0]

    def report(lower: float, upper: float, elapsed: float, words: tuple[int, ...]) -> None:
        if STOP.asked:
            raise KeyboardInterrupt  # what comes after the stopped search need not begin
        now = time.monotonic()
        if last[0] != (lower, upper, words) or now - last[1] > PAUSE:
            last[:] = [(lower, upper, words), now]
            send(
                "progress",
                {"lower": lower, "upper": upper, "elapsed": elapsed, "positions": list(words)},
            )

    return report


# --- the verbs ---


def _question(asked: Payload, send: Send) -> Question:
    """The question itself; the text as the classifier sees it is told at once."""
    given = {name: value for name, value in asked.items() if name in KEYS and name != "text"}
    if "perturbation" in given:
        given["perturbation"] = table.from_dict(given["perturbation"])
    question = Question(classifier(asked["folder"]), asked["text"], **given)
    send("text", _seen(question))
    return question


def _seen(question: Question) -> Payload:
    """The text as the classifier sees it, and what it says: known before any search."""
    prediction = question.classifier.predict(question.text)
    odds = prediction.probabilities or [None] * len(prediction.scores)
    told = zip(question.classifier.labels, prediction.scores, odds, strict=True)
    return {
        "pieces": [piece._asdict() for piece in phrases.pieces(question.text, ())],
        "label": prediction.label,
        "sure": phrases.sure(prediction),
        "scores": [
            {"label": label, "score": score, "probability": odd} for label, score, odd in told
        ],
        "notes": guarantee.notes(question.text),
    }


def explain(asked: Payload, send: Send) -> sf.Explanation:
    question = _question(asked, send)
    if isinstance(question.classifier, BlackBox):  # every text that its proof names has been run
        return explained(question, on_progress=reporter(send))
    result = explained(question, on_progress=reporter(send), self_check=False)
    send("phase", {"name": "checking"})
    return self_checked(result, question)


def contrast(asked: Payload, send: Send) -> sf.Contrast:
    return contrasted(_question(asked, send), reporter(send))


def bias(asked: Payload, send: Send) -> sf.Bias:
    allowed = for_audits(table.from_dict(asked["perturbation"]))
    question = _question({**asked, "perturbation": allowed.to_dict()}, send)
    return judged(replace(question, exclude=guarded(question, asked["protected"])))


def profile(asked: Payload, send: Send) -> sf.Profile:
    question = _question(asked, send)
    given = {
        name: asked[name] for name in ("cost", "include", "exclude", "padding", "seconds", "seed")
    }
    family = grown(asked["perturbation"])
    return sf.profile(
        question.classifier,
        question.text,
        family,
        asked["steps"],
        on_progress=reporter(send),
        **given,
    )


def grown(given: Payload) -> Callable[[float], Perturbation]:
    """Sets of one kind by their size: of those that have none, by how many words change at once."""
    kind = table.BY_NAME[given["kind"]]
    name = kind.grows or "at_most"
    whole = name == "at_most" or kind.schema[name]["type"] == "integer"

    def made(size: float) -> Perturbation:
        if whole and size != int(size):
            raise sf.InputError(f"{name} must be a whole number, not {size:g}.")
        return table.from_dict({**given, name: int(size) if whole else size})

    return made


@dataclass(frozen=True)
class Told:
    """Plain data as an answer."""

    data: Payload

    def to_dict(self) -> Payload:
        return self.data

    def sentence(self) -> str:
        return ""


def neighbours(asked: Payload, _: Send) -> Told:
    """What a word may become; `more` counts what is not told."""
    allowed = table.from_dict(asked["perturbation"])
    found = sf.neighbours(classifier(asked["folder"]), asked["word"], perturbation=allowed)
    return Told(
        {
            "words": [phrases.visible(word) for word in found[:TOLD]],
            "more": max(0, len(found) - TOLD),
        }
    )


VERBS: dict[str, Callable[[Payload, Send], Any]] = {
    "explain": explain,
    "contrast": contrast,
    "bias": bias,
    "profile": profile,
    "neighbours": neighbours,
}


# --- rows of a file, and the report of an audit ---


def row(asked: Payload, _: Send) -> Told:
    """One row of a file; whatever is wrong with it is in its line."""
    return Told(_row_verb(json.dumps(asked["asked"], sort_keys=True))(Row(**asked["row"])).line)


def report(asked: Payload, _: Send) -> Told:
    """The report of an audit and its table, from the lines that are done."""
    verb = _row_verb(json.dumps(asked["asked"], sort_keys=True))
    assert isinstance(verb, audits.Auditing)
    found = summarise(slim(line) for line in read_journal(asked["path"]))
    title = f"Audit of {asked['name'] or 'a file'}"
    return Told({"html": audit_page(found, title, audits.facts(verb)), "csv": audits.to_csv(found)})


@lru_cache(maxsize=4)
def _row_verb(asked: str) -> Explaining | audits.Auditing:
    """What is asked of every row; kept, because a file has many rows."""
    given = json.loads(asked)
    model = classifier(given["folder"])
    allowed = table.from_dict(given["perturbation"])
    options = {"padding": given["padding"], "seconds": given["seconds"]}
    if given["task"] == "explain":
        return Explaining(model, allowed, options)
    protected = {name: list(group(name)) for name in given["groups"]}
    words = {"words": given["protected"]} if given["protected"] else {}
    return audits.auditing(
        model, {**protected, **words} if protected else given["protected"], allowed, options
    )


WORK = {**VERBS, "row": row, "report": report}


# --- answers, and what follows them ---


def _answer(found: Any) -> Payload:
    certificate = getattr(found, "certificate", None)
    return {
        "result": found.to_dict(),
        "sentence": found.sentence(),
        "certificate": None if certificate is None else certificate.data,
        **_shown(found),
    }


def _shown(found: Any) -> Payload:
    """The answer in the words that reports use."""
    match found:
        case sf.Explanation():
            said = _said(phrases.headline(found), phrases.badge(found), phrases.meaning(found))
            return {"shown": {**said, "scope": guarantee.scope(found)}}
        case sf.Contrast():
            said = _said(
                verdicts.flip_headline(found), verdicts.flip_badge(found), verdicts.turned(found)
            )
            return {"shown": {**said, "scope": _scope(found)}}
        case sf.Bias():
            said = _said(
                verdicts.bias_headline(found), verdicts.bias_badge(found), found.sentence()
            )
            return {"shown": {**said, "scope": _scope(found)}}
        case sf.Profile():
            said = _said(
                verdicts.growth_headline(found), verdicts.growth_badge(found), found.sentence()
            )
            last = found.explanations[-1]
            drawn = {
                "chart": growth.chart(found),
                "caption": growth.caption(found),
                "legend": growth.legend(found),
            }
            return {"shown": {**said, **drawn, "scope": guarantee.scope(last)}}
        case _:
            return {}


def _said(headline: str, badge: tuple[str, str, str], meaning: str) -> Payload:
    tone, sign, words = badge
    return {
        "headline": headline,
        "badge": {"tone": tone, "sign": sign, "text": words},
        "meaning": phrases.visible(meaning),
    }


def _scope(found: sf.Contrast | sf.Bias) -> list[tuple[str, str]]:
    return guarantee.scope_of(found.meta, guarantee.certified(found.certificate, found.meta))


def _follow(found: Any, send: Send) -> None:
    """The report; of an explanation the details too, but stopped, its report does without them."""
    if isinstance(found, sf.Contrast | sf.Bias | sf.Profile):
        send("report", {"html": found.to_html()})
    elif isinstance(found, sf.Explanation):
        _follow_explanation(found, send)


def _follow_explanation(found: sf.Explanation, send: Send) -> None:
    whole = False
    with suppress(KeyboardInterrupt), STOP.listening():
        if not STOP.asked:
            _details(found, send)
            report = found.to_html()
            whole = True
    send("report", {"html": report if whole else _plain(found).to_html()})


def _details(found: sf.Explanation, send: Send) -> None:
    # first, because what is said of a word depends on it
    equal = getattr(found, "alternatives", None)
    if equal is not None:
        send("equal", {**equal.to_dict(), "sentence": phrases.equally(found, equal)})
    send("words", {"words": [details.about(found, detail) for detail in found.details]})
    seen, command = phrases.next_question(found)
    if seen:
        send("next", {"sentence": seen, "command": command})


def _plain(found: sf.Explanation) -> sf.Explanation:
    """The explanation with what is known by now; as in pickles, what would have to be looked for is
    left out.
    """
    return copy(found)
