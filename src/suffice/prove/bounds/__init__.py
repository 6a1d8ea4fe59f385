"""Linear bounds of the margin over sets of inputs, for many sets at once (backward bounds, CROWN).

A row of coefficients over the margin is carried back through the network. At each relu it is replaced by the
relu's lower line where the coefficient is positive (slope alpha, free in [0, 1] for an unstable unit) and by
its upper chord where it is negative; at a smooth curve by the lines of `tangents`, and at a maximum by those of
`maxima`, which go through all its candidates. A unit that a proof has split on also gets a multiplier beta >= 0 (sign
s: the row becomes A - beta s), unless the split is on who wins a maximum. At the input the set's own support function
gives the least value.

Every bound that leaves this folder is already lowered by an a-priori bound of the rounding error, so
"bound > 0" holds for the real-number network. The argument: replacing a row A by the floats computed for A @ W
changes A·z by at most gamma(n) |A| |W| |h|, and |h| is bounded once per problem over the largest region.

Read in this order: magnitudes.py (how large everything can get), form.py (the problem prepared), lines.py (what is
known of hidden units, and the lines around them), backward.py (how that becomes known), dual.py (what a proof may
choose), margin.py (the bound of the margin), attained.py (where it is attained), ascent.py (better choices).
"""

from suffice.prove.bounds.ascent import optimise
from suffice.prove.bounds.attained import losses, room
from suffice.prove.bounds.backward import hidden, step_bounds
from suffice.prove.bounds.dual import Dual, chosen_lines, plain, settled
from suffice.prove.bounds.form import Form, form_of_source, tolls
from suffice.prove.bounds.lines import NEAR, Hidden, Signs
from suffice.prove.bounds.magnitudes import outer_sides
from suffice.prove.bounds.margin import Items, MarginRows, Pass, lines_above, margin_bound, margin_rows

__all__ = [
    "NEAR",
    "Dual",
    "Form",
    "Hidden",
    "Items",
    "MarginRows",
    "Pass",
    "Signs",
    "chosen_lines",
    "form_of_source",
    "hidden",
    "lines_above",
    "losses",
    "margin_bound",
    "margin_rows",
    "optimise",
    "outer_sides",
    "plain",
    "room",
    "settled",
    "step_bounds",
    "tolls",
]
