"""Importers: models of other packages as classifiers, each compared with the original before it is
given away.
"""
