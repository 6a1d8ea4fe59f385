"""The complete answer: branch and bound on units, and on words where that promises more.

Subproblems of many queries are bounded in one batch, the lowest bounds of each query first. A split
on a unit makes its relu linear on both sides, and brings lines closer to a smooth curve; the split
enters the bound through a multiplier. A subproblem is closed when its bound is above zero or its
splits contradict each other; the point where an open one attains its bound is run through the real
network each time. With a budget, words that the bound cannot do without are taken on the way. Over
`Free` and `WithinBudget` the margin must stay above zero; over `Restorations` it must stay below.

Method: branch and bound with BaBSR scores and beta-CROWN multipliers (theory, section 5).

Read in this order: subproblem.py (parts of a query, and the proof that they make), point_tests.py
(which points answer it), split.py (a subproblem in two), branch_run.py (what a run shares),
batching.py (what subproblems in one batch share), evaluate.py (closed, attacked, reopened or given
up), planes.py (upper planes of maxima), loop.py (rounds, and what to split next), root.py (stronger
roots before splits), unit_branching.py and word_branching.py (the two ways of bounding),
region_queries.py (the doors).
"""

from suffice.verify.nets.branch.region_queries import (
    decide,
    decide_flips,
    decide_restorations,
    input_sets_of,
)
from suffice.verify.nets.branch.subproblem import UndoneBy

__all__ = ["UndoneBy", "decide", "decide_flips", "decide_restorations", "input_sets_of"]
