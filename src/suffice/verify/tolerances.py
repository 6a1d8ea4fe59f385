"""Tolerances: the numbers of the prover that follow from arithmetic or from the file format.

None of them is for anybody to tune. Those that a checker measures by as well are at least as
cautious here as there (tests/verify/test_tolerances.py), so that what the prover calls proved is
proved to every reader. The checkers have their own, and share nothing with these.

Method: a-priori rounding errors after Higham (theory, section 2).
"""

from __future__ import annotations

import math

# --- arithmetic of doubles and singles ---

# IEEE double: a result is off by this part of itself at most.
UNIT_ROUNDOFF = 2.0**-53
# Of singles it is 2^-24; four times that covers a sum in any order, products and their own error.
SINGLE_ROUNDING = 2.0**-22
# The smallest exponent of a double, that of its smallest subnormal number.
MIN_EXPONENT = -1074
# More than a sum of products loses below the smallest normal number.
UNDERFLOW_ERROR = 2.0**-1022
# Products of numbers up to OVERFLOW_LIMIT that underflow lose less than UNDERFLOW_CUSHION times the
# rounding error in all; the checker believes numbers up to 2^800, which is more.
OVERFLOW_LIMIT = 1e100
UNDERFLOW_CUSHION = 1e-100
# Below all numbers that matter and above zero: keeps quotients finite where nothing is proved, and
# a gain that small counts as none.
SMALLEST = 1e-300

# --- rounding of backward bounds ---

# Gamma = factor (N + terms) u, N the most inputs plus outputs of a step; where there are maxima, a
# coefficient goes to all of their candidates. The checker derives 6 and 9 with 32 + 2 L terms
# (proof/check/network.py) for L steps; 8 and 12 exceed that wherever N + 32 >= 6 L.
GAMMA_FACTOR = 8
GAMMA_FACTOR_WITH_MAXIMA = 12
GAMMA_TERMS = 32
# A coefficient that a plane takes counts three times: the row of the plane, the row without it, and
# the offset are each worked out from terms of that size.
PLANE_ROUNDING_FACTOR = 3
# A chord is raised by this part of its upper end: slope, intercept and their product are six
# roundings at most.
CHORD_ROUNDING = 8 * UNIT_ROUNDOFF
# The intercept above a maximum is a sum over its candidates: two roundings for each chord and one
# for each addition, and this many additions besides; with a factor of two to spare, as the
# checker's.
MAXIMUM_ROUNDING = 8 * UNIT_ROUNDOFF
MAXIMUM_TERMS = 8
# Sums over tuples of winners: additions beyond one for each number of the input, which count both
# in the row of the plane and in the row without it.
TUPLE_TERMS = 40
# Magnitudes and interval bounds are widened by this part: beyond the rounding of any step with up
# to four million inputs (2 N u), and far below what a bound gives.
WIDENING = 1e-9
# The box around a ball, and when a point counts as outside: far beyond the rounding of a norm.
BALL_WIDENING = 1e-12

# --- what readers that round differently must decide alike ---

# A fraction of the magnitude within which bounds count as zero, and candidates as constants.
ZERO_TOLERANCE = 2.0**-32
# A relu's line below is flat unless its upper bound exceeds the negated lower one by this ratio.
TIE_RATIO = 1 + 2.0**-20
# Lower bounds of candidates this close to the largest, as a fraction of the way to the largest
# upper bound, count as equal: the first one gives the line below.
TIE_TOLERANCE = 2.0**-20
# Numbers that set an order are rounded to so many binary digits of the largest: nine decimal ones,
# which agree wherever results agree to that, on any machine.
QUANTISED_BITS = 30

# --- lines around smooth curves ---

# Cells of the grid over an interval, and of how many grid points one gives a slope that is tried:
# no finer than the checker's, whose lines must not be worse.
CURVE_CELLS = 32
CURVE_SLOPE_STRIDE = 4
# The points of the grid are rounded: its cells may be wider by this ratio.
CURVE_CELL_RATIO = 1.001

# --- numbers that certificates hold ---

# Shares of planes are multiples of one over these, which singles hold exactly and which pack well;
# the second is for planes of a smoothed ascent, whose many small steps coarse shares would undo.
SHARE_DENOMINATOR = 256
ROW_SHARE_DENOMINATOR = 2048
# A set of options and a word's place share an integer of 63 bits: 15 are left for the place.
MAX_CODED_OPTIONS = 48

# --- points that are run ---

# A margin counts as above zero when it exceeds so many times its error: a checker adds up in
# another order, and bounds the error by other terms.
ERROR_FACTOR = 4
# Forward errors: gamma = factor (N + terms) u, twice Higham's gamma, with the bias and its sum.
FORWARD_FACTOR = 2
FORWARD_TERMS = 4
# A mixture of corners, in roundings of each corner: weights, products, the sum and the quotient.
MIXTURE_ROUNDING = 64 * UNIT_ROUNDOFF
# What options add is summed in another order elsewhere: two roundings for each of a word's numbers,
# with a factor of eight to spare.
OPTION_SUM_ROUNDING = 16 * UNIT_ROUNDOFF

# --- ascents and solvers, of which nothing is believed ---

# Keeps quotients of Adam and of normalised rows finite, in singles and doubles.
EPSILON = 1e-12
# Lower weights never fall below this part of the largest during an ascent: their logarithms stay
# finite, and they can come back.
MIN_LOG_WEIGHT = -12.0
# An ascent in singles ends at a bound this part of its first absolute value above zero: rows are
# rounded to shares afterwards, and the bound is worked out anew in doubles.
GOAL_FRACTION = 0.01
# A score that is positive and below all others: no unit that crosses zero counts as settled.
MIN_SPLIT_SCORE = 1e-12
# HiGHS and Marabou are exact to 1e-7 or so: a margin within ten times that of zero, in units of the
# margin's weights, is not known to them.
SOLVER_MARGIN = 1e-6
# Beside larger numbers (its infinity is 1e20) the tolerances of HiGHS mean nothing.
MAX_SOLVER_COEFFICIENT = 1e8
# HiGHS wants a positive time limit. [seconds]
MIN_SOLVER_SECONDS = 1e-3
# HiGHS oversteps a ball by its tolerance; what is run must lie inside, so points are pulled in by
# this part of the radius.
BALL_PULL = 1e-9
# Multipliers of contradicting splits prove any margin once they are large: so many times what the
# violation, at least MIN_VIOLATION, needs, and within the range of the singles that hold them.
INFEASIBLE_SCALE = 1e6
MIN_VIOLATION = 1e-12
MAX_MULTIPLIER = 1e12

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
