"""Margins of bags of words over all texts of a lattice: bounded from below, or refuted by a text.

With the norm l2 the margin is N / sqrt(S) + b, where N and S sum w v(c) and v(c)^2 over features
and v(c) is the value of a count c. Its sign is that of the norm form F = N + b sqrt(S). The root
is bounded from below by a line in S: by its chord over a range of S where b > 0 (ranges are cut
until the chord is tight), by a tangent to -sqrt(S) where b < 0. What is left is a sum of one
function h_f(c_f) per feature. A feature that may occur twice or more is bounded by a line too,
h_f(c) >= s c + min over c of (h_f(c) - s c) for any slope s. Then every choice has a price of its
own and the cheapest text is found exactly: word by word, or as a shortest path where pairs of
neighbours count. Where the bound does not decide, branch and bound splits the texts: by how often
a feature counts on which its line loses much, or by one word's choices.

With no norm S plays no part, and with l1 h_f(c) = w v + b |v|. A text without any known feature
has the margin b.

Read in this order: count_ranges.py (how often features may count), instance.py (the question, and
the verdicts), separable_minimum.py (the cheapest text for prices), feature_lines.py (the functions
h_f and their slopes), segment_bound.py (the bound for one subset of the texts), text_branching.py
(branch and bound over such subsets).

Method: piecewise-linear bounds of the norm, branch and bound (theory, section 10).
"""

from suffice.verify.text.norm_form.instance import (
    InstanceProved,
    InstanceRefuted,
    InstanceUnknown,
    InstanceVerdict,
    NormSegment,
    TextInstance,
    negated,
)
from suffice.verify.text.norm_form.separable_minimum import cheapest_text
from suffice.verify.text.norm_form.text_branching import decide_instance

__all__ = [
    "InstanceProved",
    "InstanceRefuted",
    "InstanceUnknown",
    "InstanceVerdict",
    "NormSegment",
    "TextInstance",
    "cheapest_text",
    "decide_instance",
    "negated",
]
