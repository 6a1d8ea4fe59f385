"""The checker's own numbers for bags of words and tables: what rounding may lose, and what a check
may take.

The prover has numbers of its own; a test says that they are on the safe side of these.

Method: rounding of sums, fixed by the certificate format (theory, section 13).
"""

from __future__ import annotations

from fractions import Fraction

# --- what follows from arithmetic, or from the format ---

# Of all that is added up: what a sum of up to a million doubles may lose.
ROUNDING_SHARE = 1e-10
# Of the sizes of all that is added up, for each term: what one operation of doubles may lose,
# twice.
ROUNDING = 2.0**-52
# Steps of a term beside its sum, each of which rounds.
ROUNDED_STEPS = 16
# The part of it that is taken for what the features of any text could add up to, which is more
# than any one text adds up; all of it is taken for the bias.
FORM_WEIGHT = 0.1
# Keeps a tolerance above zero.
TINY = 1e-30
# Rounds a sum of some thousand terms up.
ROUND_UP = 1.0 + 1e-12
# Of all that is added up: how far a slope may leave the range of its feature's steps.
SLOPE_MARGIN = 0.1
# Relative: scores of bag and program may differ by this much.
AGREEMENT = 1e-7
# Margins closer to zero are run: of trees (True), whose sums are exact but for their order, and of
# a model that is run on rows of features.
NEAR_ZERO = {True: 1e-10, False: 1e-8}
# A fraction of a word this close to a whole number is one. It chooses where sets are split, and
# proves nothing.
INTEGRAL = 1e-6
# Of all weights of a cut: by more than this its threshold must lie beyond what words can add up to.
INFEASIBLE = 1e-9
# Multipliers of the solver above this are taken; any choice of them gives a bound.
ACTIVE = 1e-12
# In units of cost: what is taken off a bound before it is rounded up to a whole number. Bounds are
# fractions here; thresholds carry the prover's tolerance.
ROUNDED_OFF = Fraction(1, 10**7)
# Costs more than any set of words.
NO_BOUND = 10**18

# --- what a check may take ---

MOST_COUNTED_CHANGES = 64  # changes that are counted on a path of neighbours
MOST_EDGES = 1_000_000  # edges of a trellis
MOST_NODES = 400  # nodes of the search for a cheaper set
MOST_COSTS = 20_000  # different costs of sets
MOST_CELLS = 2**26  # of a table of words by costs, or by choices
MOST_ROWS = 2**20  # texts of a table
MOST_UNCLEAR = 2_000  # texts that are run beside a table
MOST_RUNS = 2**21  # runs of tokens that are looked up
CHUNK = 2**14  # rows of features at a time
