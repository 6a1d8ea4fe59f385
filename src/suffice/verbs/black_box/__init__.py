"""The verbs asked of a black box: its texts are run, or its worst case is computed where the model
is laid open.
"""
