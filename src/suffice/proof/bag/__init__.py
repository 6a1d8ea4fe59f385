"""Bags: checks what was computed about a pipeline that is laid open as a bag of words. Written apart from the prover.

`bounds` has the least of a margin over many texts, by walking through the words (`chain` where features reach over
them); `check` reads claims and their splits, `tables` those of trees. That no cheaper set is enough follows from
`rules`, or from `ceilings`.
"""
