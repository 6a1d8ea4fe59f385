"""The cheapest sufficient set of a bag of words, by cutting planes and majorants.

The search is QuerySearch's, but a candidate is proved by its worst case instead of by running every
text, and a text that flips excludes more than one set. A cut gives each word a weight and says how
much an explanation must weigh: a Lagrangian cut of a failing text, or, where the label stays
flipped whichever q of some words are put back, the count q + 1 of them. The cheapest set that keeps
all cuts is the lower bound.

Read in this order: cut.py (cuts, and the master problem over them), shrink_attack.py (failing texts
made small), separation.py (cuts from failing texts), pool.py (the facts learnt so far), lp_loop.py
and majorant_bounds.py (two ways to a higher lower bound), cut_search.py (the search),
fewest_changes.py (the flip of fewest words), cut_lines.py (lines of certificates).

Method: cutting planes, majorants (theory, section 8).
"""

from suffice.optimise.cuts.cut_search import CutSearch
from suffice.optimise.cuts.fewest_changes import fewest_changes

__all__ = ["CutSearch", "fewest_changes"]
