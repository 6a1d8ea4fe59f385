"""Work: what was done for one question, counted where it is done.

`with counted() as work:` opens a count, and whatever is done inside adds to it: a count inside
another adds to both. Nothing outlives the question, threads do not see each other's counts, and
where none is open nothing is counted. The same question with the same seed takes the same work on
any machine, as long as no limit of time cuts in; other arithmetic (another BLAS) may move a few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# What is counted, and one of what it is.
NAMES = {
    "backward_passes": "one row of coefficients, carried back from the scores to one set of inputs",
    "intermediate_bounds": "one step's units bounded over one set of inputs",
    "ascent_steps": "one step of one subproblem's slopes, multipliers or planes",
    "attack_points": "one input at which an attack took the margin or its gradient",
    "attack_descents": "one coordinate descent over the options of a text",
    "forward_points": "one input run through the network, outside of attacks",
    "subproblems": "one subproblem of branch and bound that was bounded",
    "option_nodes": "one node of branch and bound over options that was bounded",
    "fixing_states": "one state of tuple fixing that was to be closed",
    "enumerated_inputs": "one input of a list of all that are left",
    "linear_programs": "one linear program solved",
    "integer_programs": "one mixed-integer program of a network solved",
    "master_solves": "one master problem solved: a cheapest set of words that meets all clues",
    "sets_asked": "one set of words about which an oracle was asked",
    "search_nodes": "one node of the search over words",
    "undo_points": "one restoration of an attacked text whose margin was worked out",
    "texts": "one text that a classifier was asked about",
    "text_subproblems": "one part of a text's variants that was bounded in norm form",
    "trellis_passes": "one cheapest text, by a shortest path or word by word",
    "table_entries": "one entry of a table of margins over a text's variants",
    "majorants": "one linear majorant of the sets' worst margins",
}

_open: ContextVar[tuple[Counter[str], ...]] = ContextVar("suffice_work", default=())


@contextmanager
def counted(work: Counter[str] | None = None) -> Iterator[Counter[str]]:
    """A count that is open inside the block; one that was given goes on where it stood."""
    work = Counter() if work is None else work
    token = _open.set((*_open.get(), work))
    try:
        yield work
    finally:
        _open.reset(token)


def count(name: str, n: int = 1) -> None:
    """That `n` more of something were done, in every count that is open."""
    for work in _open.get():
        work[name] += n


def so_far() -> dict[str, int]:
    """What the innermost open count holds, by name, without zeros; empty where none is open."""
    opened = _open.get()
    return as_data(opened[-1]) if opened else {}


def as_data(work: Counter[str]) -> dict[str, int]:
    """A count as plain data, in the order of names, without zeros."""
    return {name: int(work[name]) for name in sorted(work) if work[name]}
