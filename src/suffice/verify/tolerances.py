"""Tolerances of the prover: numbers that follow from arithmetic or from the format of certificates.

No setting: where a checker has a number of its own, ours stays on the safe side of it, and a test
compares the two.
"""

from __future__ import annotations

import math

# --- texts: the norm form, tables, cuts ---

# Of all that is added up: forms within this of zero decide nothing. Sums of a million doubles lose
# about 1e-10 of that, which is the checker's own share.
FORM_SHARE = 1e-9
# How many tolerances of a form a failing text must be below zero: prover and checker each round,
# in an order of their own.
FORM_FACTOR = 2.0
# A range of S this narrow is a point. A chord over a range of relative width r loses r^2 / 32 of
# the root, a tangent that is off by r loses r^2 / 2 of it: less than FORM_SHARE.
NARROW_RANGE = math.sqrt(FORM_SHARE)
# Of all that is added up: a line that loses no more than this on a feature is exact.
LINE_GAP = 1e-12
# Rounds a sum of some thousand terms up.
ROUND_UP = 1.0 + 1e-12
# Of all that is added up: how far a slope may leave the range of its feature's steps. The format
# says a tenth, and the checker measures it with its own rounding.
SLOPE_MARGIN = 0.0999
# Less than any difference that matters: breaks ties only.
TIE = 1e-12
# Keeps a quotient finite and a tolerance above zero.
TINY = 1e-30
# Where a bracket of a multiplier begins at zero: doubling does the rest.
FIRST_STEP = 1e-9
# Squared length of a subgradient (of words put back, less fractions of words) that is zero.
NO_DIRECTION = 1e-9
# Margins of models that are run on rows of features: closer to zero than this they are run as
# strings. Rows and strings differ by the order of sums.
MODEL_MARGIN = 1e-7
# The same of trees, whose sums we make ourselves.
TREE_MARGIN = 1e-9
# Relative: what a solver in doubles may overlook (the feasibility tolerance of HiGHS for integers).
SOLVER = 1e-6

# --- the optimiser ---

# Relative: a swap that raises a margin by less lives on rounding, and could be undone for ever.
SWAP_GAIN = 1e-6
# Decimal digits of a word's worth that all machines agree on.
WORTH_DIGITS = 6
