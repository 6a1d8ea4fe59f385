"""The process in which Marabou runs: lines of JSON in and out, and nothing of suffice.

The first line holds the steps of a network after the first; each further line is a query: the range
of the input's variables, rows over them, the first step as a function of them, and the row of the
margin with its limit.

Method: the other end of `marabou` (theory, section 5).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def serve() -> None:
    """Answer queries from standard input until it ends; Marabou's own chatter goes nowhere."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    steps = json.loads(sys.stdin.readline())
    for line in sys.stdin:
        print(json.dumps(solve(steps, json.loads(line))), file=answers, flush=True)


def solve(steps: Sequence[Any], query: Mapping[str, Any]) -> dict[str, Any]:
    """One query in a process that Marabou may take down."""
    from maraboupy import MarabouCore

    encoding = _Encoding(MarabouCore)
    values = encoding.inputs(query)
    for step in [query["first"], *steps] if query["first"] else []:
        values = encoding.step(step, values)
    encoding.equation(query["margin"]["row"], values, query["margin"]["limit"], "LE")
    options = MarabouCore.Options()
    options._verbosity = 0
    options._timeoutInSeconds = max(1, query["seconds"])
    status, found, _ = MarabouCore.solve(encoding.query(), options, "")
    return {
        "status": status,
        "values": [found[i] for i in range(len(query["lower"]))] if found else [],
    }


class _Encoding:
    """Variables, equations and relus in Marabou's terms."""

    def __init__(self, core: Any) -> None:
        self.core = core
        self.input_query = core.InputQuery()
        self.lower: list[float | None] = []
        self.upper: list[float | None] = []
        self.equations: list[Any] = []
        self.relus: list[tuple[int, int]] = []

    def variable(self, lower: float | None = None, upper: float | None = None) -> int:
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.lower) - 1

    def inputs(self, query: Mapping[str, Any]) -> list[int]:
        values = [self.variable(a, b) for a, b in zip(query["lower"], query["upper"], strict=True)]
        for line in query["rows"]:
            self.equation(
                line["row"],
                values[: len(line["row"])],
                line["limit"],
                "EQ" if line["equal"] else "LE",
            )
        return values

    def step(self, step: Mapping[str, Any], values: Sequence[int]) -> list[int]:
        """z = W h + b, and relu(z) where the step has one."""
        after = []
        for row, bias, relu in zip(step["weight"], step["bias"], step["relu"], strict=True):
            z = self.variable()
            self.equation([*row, -1.0], [*values, z], -bias, "EQ")
            after.append(self.variable(0.0) if relu else z)
            self.relus += [(z, after[-1])] if relu else []
        return after

    def equation(
        self, row: Sequence[float], values: Sequence[int], limit: float, kind: str
    ) -> None:
        """The weighted sum of some variables stands in this relation to a limit."""
        equation = self.core.Equation(getattr(self.core.Equation, kind))
        for weight, value in zip(row, values, strict=True):
            if weight:
                equation.addAddend(weight, value)
        equation.setScalar(limit)
        self.equations.append(equation)

    def query(self) -> Any:
        """All that was added, as Marabou's own query."""
        self.input_query.setNumberOfVariables(len(self.lower))
        for value, (lower, upper) in enumerate(zip(self.lower, self.upper, strict=True)):
            if lower is not None:
                self.input_query.setLowerBound(value, lower)
            if upper is not None:
                self.input_query.setUpperBound(value, upper)
        for equation in self.equations:
            self.input_query.addEquation(equation)
        for before, after in self.relus:
            self.core.addReluConstraint(self.input_query, before, after)
        return self.input_query


if __name__ == "__main__":
    serve()
