"""Which set is cheapest? Searches over words, hitting sets, flips, and how their evidence is
written down.
"""
