"""Sound linear lower bounds over sets of inputs, for many sets at once (CROWN, alpha-CROWN,
beta-CROWN).

A row of coefficients over the scores is carried back through the network. At each relu it is
replaced by the relu's lower line where the coefficient is positive (slope alpha, free in [0, 1] for
an unstable unit) and by its upper chord where it is negative; at a smooth curve by the lines of
`smooth`, and at a maximum by those of `max_lines`, which go through all its candidates. A unit that
a proof has split on also gets a multiplier beta >= 0 (sign s: the row becomes A - beta s), unless
the split is on who wins a maximum. At the input the set's own support function gives the least
value. In the first step, upper planes over the whole input may stand for the lines above relus and
maxima.

Every bound that leaves this folder is already lowered by an a-priori bound of the rounding error
(Higham's gamma), so "bound > 0" holds for the real-number network. The argument: replacing a row A
by the floats computed for A @ W changes A·z by at most gamma(n) |A| |W| |h|, and |h| is bounded
once per problem over the largest region.

Read in this order: magnitudes (how large everything can get), prepared (the problem prepared),
relaxation (bounds of hidden units and the lines around them), intermediate (how these bounds are
computed), dual (what a proof may choose), backward (the bound of a row), primal (where it is
attained), ascent (better choices); then the planes, and the ascent over them.

Method: CROWN with optimised slopes and split multipliers, lowered by rounding errors (theory,
section 2).
"""

from suffice.verify.nets.crown.ascent import dual_ascent
from suffice.verify.nets.crown.backward import (
    BackwardPass,
    BoundBatch,
    SpecRows,
    backward_bound,
    margin_rows,
    written_planes,
)
from suffice.verify.nets.crown.dual import Dual, canonical_dual, chosen_lines, initial_dual
from suffice.verify.nets.crown.intermediate import intermediate_bounds, step_bounds
from suffice.verify.nets.crown.magnitudes import enclosing_box
from suffice.verify.nets.crown.prepared import PreparedProblem, error_magnitudes, prepared_original
from suffice.verify.nets.crown.primal import branching_scores, room
from suffice.verify.nets.crown.relaxation import IntermediateBounds, Signs

__all__ = [
    "BackwardPass",
    "BoundBatch",
    "Dual",
    "IntermediateBounds",
    "PreparedProblem",
    "Signs",
    "SpecRows",
    "backward_bound",
    "branching_scores",
    "canonical_dual",
    "chosen_lines",
    "dual_ascent",
    "enclosing_box",
    "error_magnitudes",
    "initial_dual",
    "intermediate_bounds",
    "margin_rows",
    "prepared_original",
    "room",
    "step_bounds",
    "written_planes",
]
