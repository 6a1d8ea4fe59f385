"""Moves: how far single words of a region can shift linear forms from its center.

Method: support functions (theory, section 1).
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.model.step import Step
from suffice.sets.regions import Ball, Box, Choice, Hull, Region
from suffice.verify.nets.input_sets.chunks import quantised

# a word's options in the first child of a split; None: it is paid for
ChosenOptions: TypeAlias = tuple[int, ...] | None


class SupportFunction(Protocol):
    """A batch of input sets by their support functions: anchors, and least shifts of linear forms
    from them."""

    @property
    def anchor(self) -> Floats:
        """(n or 1, length, dimension)."""

    def min_shift(self, rows: Floats) -> Floats:
        """Least value of rows·(v - anchor): rows (n, r, length, dimension) to (n, r)."""


def min_via_input(inputs: SupportFunction, step: Step, rows: Floats) -> Floats:
    """The least value of rows over a step's units by what they are over the input."""
    input_rows = np.asarray(rows.reshape(-1, rows.shape[-1]) @ step.weight).reshape(
        *rows.shape[:2], -1
    )
    anchor = inputs.anchor
    found = np.matmul(input_rows, anchor.reshape(len(anchor), -1, 1))[..., 0]
    return np.asarray(
        found + inputs.min_shift(input_rows.reshape(*input_rows.shape[:2], *anchor.shape[1:]))
    )


def word_min_shifts(region: Region, rows: Floats, allowed: Bools | None = None) -> Floats:
    """The least shift of rows (..., length, dimension) by each word, if it is free: (..., length),
    at most 0."""
    match region:
        case Box() | Ball(p=np.inf):
            middle, radius = region.spread
            radius_shift = np.einsum("...ld,ld->...l", np.abs(rows), radius)
            return np.asarray(np.einsum("...ld,ld->...l", rows, middle) - radius_shift)
        case Ball(radius=radius, p=p):
            return np.asarray(-radius * np.linalg.norm(rows, ord=2 if p == 2 else np.inf, axis=-1))
        case Hull() | Choice():
            shaped = rows if rows.ndim == 4 else rows[None]
            shifts = option_shifts(region, shaped, allowed).min(-1)
            return np.asarray(shifts if rows.ndim == 4 else shifts[0])


def min_shifts_of_word(region: Region, word: int, rows: Floats) -> Floats:
    """The least shift of rows (r, dimension) by one word, if it is free: (r,), at most 0."""
    match region:
        case Box() | Ball(p=np.inf):
            middle, radius = (side[word] for side in region.spread)
            return np.asarray(rows @ middle - np.abs(rows) @ radius)
        case Ball(radius=radius, p=p):
            return np.asarray(-radius * np.linalg.norm(rows, ord=2 if p == 2 else np.inf, axis=-1))
        case Hull() | Choice():
            return np.asarray((rows @ (region.points[word] - region.center[word]).T).min(-1))


def option_shifts(region: Region, rows: Floats, allowed: Bools | None) -> Floats:
    """rows·(point - center) for rows (n, r, length, dimension) and every allowed point: (n, r,
    length, m).
    """
    points = option_points(region) - region.center[:, None]
    count, rows_each, length, dimension = rows.shape
    flat = rows.reshape(count * rows_each, length, dimension).transpose(1, 0, 2)
    values = (
        np.matmul(flat, points.transpose(0, 2, 1))
        .transpose(1, 0, 2)
        .reshape(count, rows_each, length, -1)
    )
    return values if allowed is None else np.where(allowed[:, None], values, np.inf)


def option_values(region: Region, row: Floats) -> Floats:
    """row·v for every option v of every word: (length, m)."""
    return np.asarray(np.einsum("lmd,ld->lm", option_points(region), row))


def split_options(
    region: Region, allowed: Bools | None, position: int, row: Floats
) -> tuple[ChosenOptions, Bools, Bools]:
    """The half of a word's options with the lower values, and what is allowed with these and with
    the others."""
    assert allowed is not None
    options = np.flatnonzero(allowed[0, position])
    order = options[
        np.argsort(quantised(option_values(region, row)[position, options][None])[0], kind="stable")
    ]
    chosen = np.isin(np.arange(allowed.shape[-1]), order[: max(1, len(order) // 2)])
    others = (np.arange(allowed.shape[1]) != position)[:, None]
    first, second = (allowed & (others | keep)[None] for keep in (chosen, ~chosen))
    return tuple(int(i) for i in np.flatnonzero(chosen)), first, second


def option_points(region: Region) -> Floats:
    assert isinstance(region, Hull | Choice)
    return region.points
