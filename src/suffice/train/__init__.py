"""Training small classifiers that can be explained, also with the worst case in the loss."""
