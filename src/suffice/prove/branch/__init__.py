"""The complete answer: branch and bound on relus, and on words where that is needed.

Subproblems of many questions are worked on together, the hardest of each question first. Splitting a unit
makes its relu linear on both sides, and brings lines closer to a smooth curve; the split itself enters the bound
through a multiplier. A subproblem is closed when its bound is above zero or its splits contradict each other; the
point where an open one attains its bound is tried on the real network each time. Where words are bought with a
budget, those that the bound cannot do without are decided on the way. Over `Free` and `Freed` words the margin must
stay above zero; over `Restored` words it must stay below.

Read in this order: subproblem.py (parts of a question, and the proof that they make), judges.py (which points answer
it), split.py (a subproblem in two), run.py (what a run shares), together.py (what subproblems in one batch share),
settle.py (closed, attacked, kept or given up), climbing.py (lines above maxima), rounds.py (the loop, and what to split
next), roots.py (another look before splits), units.py and words.py (the two ways of bounding), questions.py (the
doors).
"""

from suffice.prove.branch.questions import decide, decide_flips, decide_restorations, sets_of_free
from suffice.prove.branch.subproblem import Restorable

__all__ = ["Restorable", "decide", "decide_flips", "decide_restorations", "sets_of_free"]
