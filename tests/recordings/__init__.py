"""Recordings: answers to a few hundred questions of all kinds, which a restructuring is held
against.
"""
