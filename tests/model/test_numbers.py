"""Numbers for people: what is printed is the very number, and as people write it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import suffice as sf
from suffice.model.numbers import exactly
from suffice.sets.table import command_options, sentence


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1, "1"),
        (2.0, "2"),
        (0.1, "0.1"),
        (1234567.5, "1234567.5"),
        (1e6, "1000000"),
        (12345678, "12345678"),
        (1e-5, "1e-05"),
        (math.inf, "inf"),
        (1e300, "1e+300"),
    ],
)
def test_numbers_are_written_as_they_were_given(value, said):
    assert exactly(value) == said


@given(st.floats(allow_nan=False))
def test_no_digit_is_lost(value):
    assert float(exactly(value)) == value


def test_a_radius_is_not_rounded_in_the_sentence_nor_in_the_command():
    data = sf.EpsilonBall(0.123456789).to_dict()
    assert "0.123456789" in sentence(data)
    assert "0.123456789" in command_options(data)
