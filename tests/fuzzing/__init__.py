"""The kinds of random questions that tests/fuzz.py asks."""
