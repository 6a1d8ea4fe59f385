"""Jobs: the side of a worker process. A question comes in through a pipe, progress and an answer go out.

A worker is one process, so that a search can be stopped at once (SIGINT: the search gives back the best it has
proved) or, if need be, killed, without touching the server or the other searches.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any, TypeAlias

import suffice as sf
from suffice.errors import SufficeError
from suffice.render import phrases
from suffice.sets import table
from suffice.sets.perturbations import Perturbation
from suffice.verbs.answering import self_checked
from suffice.verbs.running import OnProgress

Payload: TypeAlias = dict[str, Any]
Send: TypeAlias = Callable[[str, Payload], None]
PAUSE = 0.05  # seconds between two reports with the same bounds


class Stop:
    """Whether the running job was asked to stop. The signal interrupts a search once, and nothing while idle."""

    def __init__(self) -> None:
        self.running = self.asked = False

    def signal(self, number: int, frame: FrameType | None) -> None:
        if self.running and not self.asked:
            self.asked = True
            raise KeyboardInterrupt


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
    try:
        answer, message = VERBS[verb](question, send), None
    except KeyboardInterrupt:
        answer, message = None, "stopped before anything was proved"
    except SufficeError as error:
        answer, message = None, str(error)
    except Exception as error:
        print(f"suffice: a job failed: {type(error).__name__}: {error}", file=sys.stderr)
        send("failed", {"message": "this question met an error in suffice; the server's log has it"})
        return
    finally:
        STOP.running = False
    send("answer", answer) if answer is not None else send("refused", {"message": str(message)})


@lru_cache(maxsize=16)
def classifier(folder: str) -> sf.Classifier:
    return sf.load(folder)


def reporter(send: Send) -> OnProgress:
    """Progress to the page: every change of a bound, and a sign of life now and then."""
    last: list[Any] = [None, 0.0]

    def report(lower: float, upper: float, elapsed: float, words: tuple[int, ...]) -> None:
        if STOP.asked:
            raise KeyboardInterrupt  # what comes after the stopped search need not begin
        now = time.monotonic()
        if last[0] != (lower, upper, words) or now - last[1] > PAUSE:
            last[:] = [(lower, upper, words), now]
            send("progress", {"lower": lower, "upper": upper, "elapsed": elapsed, "positions": list(words)})

    return report


# --- the verbs ---


def _common(question: Payload) -> tuple[sf.Classifier, str, Payload]:
    model = classifier(question["folder"])
    rest = {name: value for name, value in question.items() if name not in ("folder", "model", "text")}
    if "perturbation" in rest:
        rest["perturbation"] = table.from_dict(rest["perturbation"])
    return model, question["text"], rest


def explain(question: Payload, send: Send) -> Payload:
    model, text, rest = _common(question)
    send("text", _seen(model, text))
    STOP.running = True
    result = sf.explain(model, text, on_progress=reporter(send), self_check=False, **rest)
    STOP.running = False
    result = self_checked(result, model)
    return {
        **_answer(result),
        "shown": _shown(result),
        "html": result.to_html(),
    }


def _seen(model: sf.Classifier, text: str) -> Payload:
    """The text as the classifier sees it, and what it says: known before any search."""
    read, prediction = model.read(text), model.predict(text)
    pieces = [piece._asdict() for piece in phrases.pieces(read, ())]
    sure = max(prediction.probabilities)
    return {"pieces": pieces, "label": prediction.label, "probability": sure, "notes": phrases.notes(read)}


def _shown(result: sf.Explanation) -> Payload:
    """The answer in the words that reports use."""
    tone, sign, word = phrases.badge(result)
    return {
        "headline": phrases.headline(result),
        "badge": {"tone": tone, "sign": sign, "text": word},
        "meaning": phrases.meaning(result),
        "price": phrases.price(result),
        "scope": [list(pair) for pair in phrases.scope(result)],
        "words": [phrases.about(result, detail) for detail in result.details],
    }


def contrast(question: Payload, send: Send) -> Payload:
    model, text, rest = _common(question)
    send("text", _seen(model, text))
    STOP.running = True
    result = sf.contrast(model, text, on_progress=reporter(send), **rest)
    return {**_answer(result), "meaning": phrases.turned(result)}


def bias(question: Payload, send: Send) -> Payload:
    model, text, rest = _common(question)
    send("text", _seen(model, text))
    STOP.running = True
    return _answer(sf.bias(model, text, **rest))


def profile(question: Payload, send: Send) -> Payload:
    model, text, rest = _common(question)
    family, steps = FAMILIES[rest.pop("family")], rest.pop("steps")
    send("text", _seen(model, text))
    STOP.running = True
    return _answer(sf.profile(model, text, family, steps, on_progress=reporter(send), **rest))


def _answer(found: Any) -> Payload:
    certificate = getattr(found, "certificate", None)
    return {
        "result": found.to_dict(),
        "sentence": str(found),
        "certificate": None if certificate is None else certificate.data,
    }


def _boxes(k: float) -> Perturbation:
    return sf.KNNBox(int(k))


def _hulls(k: float) -> Perturbation:
    return sf.KNNHull(int(k))


FAMILIES: dict[str, Callable[[float], Perturbation]] = {
    "knn-box": _boxes,
    "knn-hull": _hulls,
    "epsilon-ball": sf.EpsilonBall,
}
VERBS: dict[str, Callable[[Payload, Send], Payload]] = {
    "explain": explain,
    "contrast": contrast,
    "bias": bias,
    "profile": profile,
}
