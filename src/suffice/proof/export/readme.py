"""Readme: what an exported folder holds, for the person who is to believe it or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.model.classifier import Classifier
from suffice.model.network import Floats

TINY = 1e-8  # weights below this have misled tools


@dataclass(frozen=True)
class Weights:
    """Of all weights written: the largest relative change that single precision would make, and how
    many are tiny.
    """

    rounding: float = 0.0
    tiny: int = 0

    def with_those_of(self, numbers: Sequence[Floats]) -> Weights:
        found = np.concatenate([array[array != 0].ravel() for array in numbers])
        with np.errstate(over="ignore"):
            change = np.abs(found.astype(np.float32).astype(np.float64) - found) / np.abs(found)
        most = float(change.max(initial=0.0))
        return Weights(max(self.rounding, most), max(self.tiny, int((np.abs(found) < TINY).sum())))


PAGE = """Questions of a certificate, for other tools
===========================================

Classifier: {digest}
Labels, in the order of Y_0, Y_1, ...: {labels}

instances.csv lists network, question and time limit, as VNN-COMP has it. Each question in vnnlib/ asks whether there is
an input X of its network in onnx/ that meets all its constraints. Its first line says which answer the certificate
needs; the list below says it again.

  unsat  A leaf of a proof: no input that is left there breaks the claim. A "sat" with an X at which the network itself
         meets the constraints would show that the leaf does not hold.
  sat    A point that the certificate gives: X can only be that point, and the constraint must hold there.

What these answers do not show: that the leaves cover all cases, that the allowed changes are those asked for, that a
point is an allowed text, and what sets of words cost. `suffice check CERTIFICATE --model M` checks all of that.

Networks. X are the numbers of all {length} words of the text, {dimension} each. Y are the scores, then the sums of all
hidden units with a relu, by number. In onnx/attacked-*.onnx X has, for each word that an attack changed, how far it is
back (1: its own vector, 0: the attack's), and the last Y is what the words that are back cost. Between 0 and 1 lie no
texts; the leaves hold there too.

Rounding. All is in double precision and nothing was rounded: the networks are the classifier's own numbers. A decimal
stands for the double nearest to it. {single}
{tiny}
A tool that computes with floating point may be wrong about scores that are almost equal. Check a point that it
gives with the network itself.

Questions
---------
{questions}
"""


def readme(
    classifier: Classifier,
    questions: Sequence[tuple[str, str, str]],
    skipped: Sequence[tuple[str, str]],
    weights: Weights,
) -> str:
    lines = [f"{path}  {answer}  {about}" for path, answer, about in questions]
    if skipped:
        lines += ["", "Not written (what these lines claim is not among the questions)"]
        lines += [f"{name}  {reason}" for name, reason in skipped]
    return PAGE.format(
        digest=classifier.digest,
        labels=", ".join(map(repr, classifier.labels)),
        length=classifier.length,
        dimension=classifier.dimension,
        single=_single(weights.rounding),
        tiny=_tiny(weights.tiny),
        questions="\n".join(lines),
    )


def _single(rounding: float) -> str:
    if not rounding:
        return (
            "Every weight is a single-precision number too, so a tool that reads float32 has the "
            "same network."
        )
    return (
        "A tool that reads float32 answers about another network:\n"
        f"its weights differ from these by up to {rounding:.1e} of their size."
    )


def _tiny(count: int) -> str:
    if not count:
        return "No weight other than 0 is below 1e-8 in size."
    return (
        f"{count} weights of a network are not 0 but below 1e-8 in size: Marabou 2.0 has said "
        "unsat wrongly then."
    )
