"""Joint reasoning over several maxima: mini-buckets of maxima, and reduced-cost fixing of who wins
each.
"""
