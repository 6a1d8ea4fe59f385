"""Opened: explanations of a classifier that can be run and whose worst case can be computed (a bag of words).

The walk is that of `asking`, but a candidate is proved by its worst case instead of by running every text, and a text
that flips teaches more than one set. A rule gives each word a weight and says how much an explanation must weigh: a
failing text with what putting each word back can add to its margin (`gains`), or, where the label stays flipped
whichever q of some words are put back, q + 1 of them. The cheapest set that keeps all rules is the lower bound.

Read in this order: rules.py (what they are, and the cheapest sets that keep them), failing.py (failing texts made
small), lessons.py (the rules that they teach), known.py (what is known so far), shares.py and ceilings.py (two ways to
a higher lower bound), search.py (the search), flips.py (the flip of fewest words), writing.py (lines of certificates).
"""

from suffice.search.opened.flips import fewest_changes
from suffice.search.opened.search import Opened

__all__ = ["Opened", "fewest_changes"]
