"""Reductions of a problem before it is bounded; each tells proofs and inputs back in the terms of
the whole.
"""
