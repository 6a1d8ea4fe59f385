"""Tolerances of the checker: what follows from arithmetic, and what all readers must decide alike.

Written for the checker alone: the prover has its own in `suffice.verify.tolerances`, the exact
checker at its top, and none imports another's. The argument for each stands in network.py,
max_lines.py, tuple_fixing.py and curves.py; tests/verify/test_tolerances.py compares them.

Method: a-priori rounding errors after Higham (theory, section 2).
"""

from __future__ import annotations

# --- rounding ---

# IEEE double: a result is off by this part of itself at most.
UNIT_ROUNDOFF = 2.0**-53
# More than all that underflow takes from 2^60 products, once it is multiplied by an error rate.
TINY = 2.0**-800
# G = factor (n + 2 L + terms) u; the second where there are maxima (network.py derives both).
ERROR_FACTOR = 6
ERROR_FACTOR_WITH_MAXIMA = 9
ERROR_TERMS = 32
# A chord is raised by this part of its intercept, of which slope, products and their difference
# take four roundings.
CHORD_RATIO = 1 + 2.0**-50
# The constant above a maximum, for each of its candidates and for so many additions besides.
MAXIMUM_ROUNDING = 8 * UNIT_ROUNDOFF
MAXIMUM_TERMS = 8
# The constant of one line above a sum over options: level, slope, products and their difference.
LINE_ROUNDING = 32 * UNIT_ROUNDOFF
# A difference of two sums of reduced costs, or a radius: two roundings each, with two to spare.
FEW_ROUNDINGS = 4 * UNIT_ROUNDOFF

# --- what readers that round differently must decide alike ---

# A relu's line below is flat unless its upper bound exceeds the negated lower one by this ratio.
TIE_RATIO = 1 + 2.0**-20
# Bounds within this share of a sum's size of zero, or of each other, touch.
ZERO_TOLERANCE = 2.0**-32
# Of the way to the largest upper bound: lower bounds that close together count as equal.
TIE_TOLERANCE = 2.0**-20

# --- smooth curves ---

# NumPy's and SciPy's elementary functions are off by at most this times (1 + |z| + |f(z)|): that is
# some 500 units in the last place.
FUNCTION_ERROR = 2.0**-44
# Cells of the grid over an interval, and of how many of its points one gives a slope that is tried.
CURVE_CELLS = 32
CURVE_SLOPE_STRIDE = 4
# Its points are rounded: cells count as wide as if there were this part of a cell less.
CURVE_CELL_LOSS = 0.01
# The places where functions turn are rounded in the table: they may be that far off.
MINIMISER_ERROR = 1e-3

# --- nearest words ---

# Of the largest squared length, for each coordinate: a product of doubles is within 2^-50 of that.
ROUGH_DISTANCE = 2.0**-40
# Far more than what is lost of squares that are too small for doubles.
TINY_SQUARE = 1e-250
