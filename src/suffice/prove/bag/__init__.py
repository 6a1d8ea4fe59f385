"""The worst case of a bag of words: the least margin over all texts that a layout allows, proved or shown by a text.

With the norm l2 the margin N/sqrt(S) + b has the sign of N + b sqrt(S), where N and S are sums over features of
w v(c) and v(c)^2, v(c) being what a count c becomes. The square root is bounded from below by a line: by its chord
over a range of S where b > 0 (ranges are cut until it is tight), by a tangent to -sqrt(S) where b < 0. What is left is
a sum of one function h_f(c_f) per feature. A feature that may occur twice or more is bounded by a line too,
h_f(c) >= s c + min over c of (h_f(c) - s c) for any slope s, and then every choice has a price of its own and the
cheapest text is found exactly: word by word, or along a shortest path where pairs of neighbours count. Where the bound
does not decide, the texts are split in two: by how often a feature on which its line loses much counts, or by one
word's choices.

With no norm S plays no part, and with l1 h_f(c) = w v + b |v|. A text without any known feature has the margin b.

Read in this order: ranges.py (how often features may count), case.py (the question, and what is found), cheapest.py
(the cheapest text for prices), features.py (the functions h_f and their slopes), bound.py (the bound for one part of
the texts), hunt.py (parts are split until all of them are decided).
"""

from suffice.prove.bag.case import Case, Fails, Found, Holds, Open, Stretch, turned
from suffice.prove.bag.cheapest import cheapest_text
from suffice.prove.bag.hunt import decide

__all__ = ["Case", "Fails", "Found", "Holds", "Open", "Stretch", "cheapest_text", "decide", "turned"]
