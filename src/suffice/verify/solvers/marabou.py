"""A second opinion by Marabou (extra `marabou`), in a process of its own as it can crash.

The margin against each rival is asked to be at most zero; a point that Marabou finds refutes only
after `exact.confirm`. Its "unsat" is reported as its word and is never a certificate: it is known
to be wrong on networks with tiny non-zero weights (below about 1e-8). A crash, an error or a
time-out is Unknown.

The worker (`marabou_worker`) is told the later steps of the network once and then one query after
the other, in lines of JSON: numbers survive that exactly, and nothing in it is code.

Method: an SMT-style solver as a second opinion (theory, section 5).
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import MissingExtra
from suffice.model.network import Bools, Floats, Step
from suffice.sets.regions import Ball, Choice
from suffice.settings import RESOURCES
from suffice.verify.contract import Budget, Problem, Proved, Refuted, Unknown, Verdict, Witness
from suffice.verify.exact import confirm
from suffice.verify.nets.crown import PreparedProblem
from suffice.verify.solvers.milp import AffineMap, Program, perturbed_input, point_of
from suffice.verify.tolerances import SOLVER_MARGIN

NAME = "marabou"
# by its path: it needs nothing of suffice
WORKER_PATH = Path(__file__).with_name("marabou_worker.py")


class MarabouOracle:
    """Marabou behind our three words, for boxes, hulls and the 1- and inf-norm balls."""

    name = NAME

    def __init__(self, problem: Problem) -> None:
        if importlib.util.find_spec("maraboupy") is None:
            raise MissingExtra("marabou", "maraboupy")
        self.problem = replace(problem, network=problem.network.relus_only())
        self.prepared = PreparedProblem.of(self.problem)
        self.worker: _Worker | None = None

    def ask(self, free: Bools, budget: Budget) -> list[Verdict]:
        """One question after the other, as far as the budget goes."""
        return [self._answer(row, budget) for row in free]

    def _answer(self, free: Bools, budget: Budget) -> Verdict:
        region = self.problem.region
        if isinstance(region, Choice):
            return Unknown("sets of real words are not given to Marabou", NAME)
        if isinstance(region, Ball) and region.p == 2:
            return Unknown("balls in the 2-norm are not given to Marabou", NAME)
        if self.prepared.curved is not None:
            return Unknown("smooth activations are not given to Marabou", NAME)
        if not self.prepared.finite:
            return Unknown("the network can overflow over this region", NAME)
        if free.sum() > self.problem.max_changes:
            return Unknown("a limit on how many words change is not given to Marabou", NAME)
        if not free.any():
            witness = confirm(self.problem, self.problem.center[None], free[None])[0]
            return Proved(by=NAME) if witness is None else Refuted(witness, NAME)
        return self._every_rival(free, budget)

    def _every_rival(self, free: Bools, budget: Budget) -> Verdict:
        program = Program()
        inputs = perturbed_input(program, self.problem.region, free)
        first_unknown: Unknown | None = None
        for rival in range(len(self.problem.rivals)):
            answer = self._against(program, inputs, free, rival, budget)
            if isinstance(answer, Refuted):
                return answer
            if isinstance(answer, Unknown) and first_unknown is None:
                first_unknown = answer
        return Proved(by=NAME) if first_unknown is None else first_unknown

    def _against(
        self, program: Program, inputs: AffineMap, free: Bools, rival: int, budget: Budget
    ) -> Verdict:
        """First a margin of at most zero; if Marabou's point does not flip the label, one well
        below.
        """
        for limit in (0.0, -SOLVER_MARGIN):
            if budget.exhausted:
                return Unknown("no time left", NAME)
            found = self._solve(
                _query(program, inputs, self.prepared, rival, limit), budget.seconds_left
            )
            match found:
                case {"status": "unsat"} if limit == 0.0:
                    return Proved(by=NAME)
                case {"status": "sat", "values": values}:
                    witness = self._confirmed(inputs, free, np.array(values, dtype=np.float64))
                    if witness is not None:
                        return Refuted(witness, NAME)
                case {"status": "unsat"}:
                    break
                case _:
                    return Unknown(f"Marabou answered {found['status']}", NAME)
        return Unknown("the lowest margin is within Marabou's tolerance of zero", NAME)

    def _confirmed(self, inputs: AffineMap, free: Bools, values: Floats) -> Witness | None:
        if not np.isfinite(values).all():
            return None
        point, shares = point_of(self.problem.region, free, inputs, values)
        return confirm(
            self.problem, point[None], free[None], None if shares is None else shares[None]
        )[0]

    def _solve(self, query: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The worker's answer; a worker that crashed or is late is thrown away."""
        if self.worker is None:
            self.worker = _Worker(self.prepared.steps[1:] if self.prepared.steps else ())
        found = self.worker.ask(query, seconds)
        if found is None:
            self.worker.stop()
            self.worker = None
        return {"status": "nothing: it crashed or ran out of time"} if found is None else found


def _query(
    program: Program, inputs: AffineMap, prepared: PreparedProblem, rival: int, limit: float
) -> dict[str, Any]:
    """The first step over the input's variables, the constraints among those, and the
    margin's row.
    """
    step = prepared.steps[0] if prepared.steps else None
    first = (
        AffineMap(inputs.matrix[:0], inputs.offset[:0]) if step is None else inputs.through(step)
    )
    margin = inputs.through(prepared.margin) if step is None else None
    row = prepared.margin.dense()[rival] if margin is None else margin.matrix[[rival]].toarray()[0]
    constant = prepared.margin.bias[rival] if margin is None else margin.offset[rival]
    return {
        "lower": program.lower.tolist(),
        "upper": program.upper.tolist(),
        "rows": [
            line for matrix, low, high in program.rows for line in _constraints(matrix, low, high)
        ],
        "first": None if step is None else _layer(first.matrix.toarray(), first.offset, step.relu),
        "margin": {"row": row.tolist(), "limit": float(limit - constant)},
    }


def _constraints(matrix: Any, low: Floats, high: Floats) -> Iterator[dict[str, Any]]:
    """Rows that are an equation or an upper limit, as the regions make them."""
    for row, lower, upper in zip(
        matrix.toarray().tolist(), low.tolist(), high.tolist(), strict=True
    ):
        yield {"row": row, "equal": lower == upper, "limit": upper}


def _layer(weight: Floats, bias: Floats, relu: Bools) -> dict[str, Any]:
    return {"weight": weight.tolist(), "bias": bias.tolist(), "relu": relu.tolist()}


# --- the worker's other end ---


class _Worker:
    """A process that holds the later steps of a network and answers queries, one line each."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(WORKER_PATH)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._send([_layer(step.dense(), step.bias, step.relu) for step in steps])

    def ask(self, query: Mapping[str, Any], seconds: float) -> dict[str, Any] | None:
        """The answer, or None from a worker that is of no more use."""
        assert self.process.stdout is not None
        self._send({**query, "seconds": math.ceil(seconds)})
        if not select.select([self.process.stdout], [], [], seconds + RESOURCES.solver_grace)[0]:
            return None
        try:
            found = json.loads(self.process.stdout.readline())
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def _send(self, message: object) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except OSError:
            return  # it is gone: the answer will not come

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                _close(pipe)

    def __del__(self) -> None:
        self.stop()


def _close(pipe: Any) -> None:
    try:
        pipe.close()
    except OSError:
        return  # what was still to be said to a dead worker
