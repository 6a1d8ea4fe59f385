"""Bags: checks what was computed about a pipeline that is laid open as a bag of words. Written apart from the prover.

`regions` says which texts are meant, `forms` what their margin is, and `bounds` has its least over many of them, by
walking through the words (`chain` where features reach over them); `check` reads claims and their splits, `tables`
those of trees. That no cheaper set is enough follows from `rules`, or from `ceilings`.
"""
