"""Checks what was computed about a pipeline laid open as a bag of words; apart from the prover.

`subproblems` says which texts are meant, `norm_form` what their margin is, and `bounds` has its
least over many of them, by a shortest path through the words (`trellis` where features reach over
them); `check` reads claims and their splits, `text_tables` those of trees. That no cheaper set
suffices follows from `cuts`, or from `majorants`.

Method: checking (theory, sections 8 to 11 and 13).
"""
