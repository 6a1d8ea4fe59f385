"""Moves: how far words of a region can move linear forms."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np

from suffice.model.network import Bools, Floats
from suffice.model.step import Step
from suffice.prove.inputs.numbers import steady
from suffice.sets.regions import Ball, Box, Choice, Hull, Region

Chosen: TypeAlias = tuple[int, ...] | None  # the choices of a word in the first half of a split; None: it is bought


class Falling(Protocol):
    """A batch of input sets: an anchor point each, and how far a linear form can fall from it."""

    @property
    def anchor(self) -> Floats:
        """(n or 1, length, dimension)."""

    def fall(self, rows: Floats) -> Floats:
        """Least value of rows·(v - anchor): rows (n, r, length, dimension) to (n, r)."""


def by_input(inputs: Falling, step: Step, rows: Floats) -> Floats:
    """The least value of rows over a step's units by what they are over the input."""
    over = np.asarray(rows.reshape(-1, rows.shape[-1]) @ step.weight).reshape(*rows.shape[:2], -1)
    anchor = inputs.anchor
    found = np.matmul(over, anchor.reshape(len(anchor), -1, 1))[..., 0]
    return np.asarray(found + inputs.fall(over.reshape(*over.shape[:2], *anchor.shape[1:])))


def falls(region: Region, rows: Floats, allowed: Bools | None = None) -> Floats:
    """How far each word, if it is free, can move rows (..., length, dimension) down: (..., length)."""
    match region:
        case Box() | Ball(p=np.inf):
            middle, radius = region.spread
            down = np.einsum("...ld,ld->...l", np.abs(rows), radius)
            return np.asarray(np.einsum("...ld,ld->...l", rows, middle) - down)
        case Ball(radius=radius, p=p):
            return np.asarray(-radius * np.linalg.norm(rows, ord=2 if p == 2 else np.inf, axis=-1))
        case Hull() | Choice():
            shaped = rows if rows.ndim == 4 else rows[None]
            found = choices(region, shaped, allowed).min(-1)
            return np.asarray(found if rows.ndim == 4 else found[0])


def word_falls(region: Region, word: int, rows: Floats) -> Floats:
    """How far one word, if it is free, can move rows (r, dimension) down: (r,)."""
    match region:
        case Box() | Ball(p=np.inf):
            middle, radius = (side[word] for side in region.spread)
            return np.asarray(rows @ middle - np.abs(rows) @ radius)
        case Ball(radius=radius, p=p):
            return np.asarray(-radius * np.linalg.norm(rows, ord=2 if p == 2 else np.inf, axis=-1))
        case Hull() | Choice():
            return np.asarray((rows @ (region.points[word] - region.center[word]).T).min(-1))


def choices(region: Region, rows: Floats, allowed: Bools | None) -> Floats:
    """rows·(point - center) for rows (n, r, length, dimension) and every allowed point: (n, r, length, m)."""
    points = points_of(region) - region.center[:, None]
    n, r, length, dimension = rows.shape
    flat = rows.reshape(n * r, length, dimension).transpose(1, 0, 2)
    values = np.matmul(flat, points.transpose(0, 2, 1)).transpose(1, 0, 2).reshape(n, r, length, -1)
    return values if allowed is None else np.where(allowed[:, None], values, np.inf)


def values(region: Region, row: Floats) -> Floats:
    """row·v for every choice v of every word."""
    return np.asarray(np.einsum("lmd,ld->lm", points_of(region), row))


def split_choices(region: Region, allowed: Bools | None, position: int, row: Floats) -> tuple[Chosen, Bools, Bools]:
    """The half of a word's choices with the lower values, and what is allowed with these and with the others."""
    assert allowed is not None
    options = np.flatnonzero(allowed[0, position])
    order = options[np.argsort(steady(values(region, row)[position, options][None])[0], kind="stable")]
    chosen = np.isin(np.arange(allowed.shape[-1]), order[: max(1, len(order) // 2)])
    others = (np.arange(allowed.shape[1]) != position)[:, None]
    first, second = (allowed & (others | keep)[None] for keep in (chosen, ~chosen))
    return tuple(int(i) for i in np.flatnonzero(chosen)), first, second


def points_of(region: Region) -> Floats:
    assert isinstance(region, Hull | Choice)
    return region.points
