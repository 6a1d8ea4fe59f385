"""What is explained: texts, tokenizers, networks in one normal form, and the classifier around
them.
"""
