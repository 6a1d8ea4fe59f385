"""Plots (extra: plot): how explanations grow, how the bounds close, how often each word is needed.

Each function gives back a matplotlib figure that belongs to nobody's global state: save it with
`figure.savefig("plot.svg")` or `.png`, or let a notebook show it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from suffice.errors import InputError, MissingExtra
from suffice.model.numbers import exactly
from suffice.render import phrases
from suffice.render.style import LIGHT

if TYPE_CHECKING:
    from suffice.verbs.attribute import Attribution
    from suffice.verbs.profile import Profile

Figure: TypeAlias = Any
Level: TypeAlias = tuple[float, float, float]  # a size, what it costs at least, what it costs
Record: TypeAlias = tuple[float, float, float, tuple[int, ...]]  # what on_progress gets


def profile(
    grown: Profile | Sequence[float],
    costs: Sequence[float] | None = None,
    lower_bounds: Sequence[float] | None = None,
    parameter: str = "k",
) -> Figure:
    """The cost of the cheapest explanation against k or ε: of a Profile, or of plain lists of steps
    and costs.

    Between two sizes nothing was asked: what is drawn there is all that the cost can be, because
    sets that lie inside others never cost more. Where no size lies between, or both ends agree,
    that is a plain step.
    """
    steps, upper, lower, name = _grown(grown, costs, lower_bounds, parameter)
    levels = list(zip(steps, upper if lower is None else lower, upper, strict=True))
    figure, axes = _figure(6.4, 3.6)
    for left, right in pairwise(levels):
        _draw_between(axes, left, right, whole=name != "eps")
    gaps = {"color": LIGHT["accent"], "linewidth": 1.5, "linestyle": "--"}
    for step, low, high in levels:
        if low < high:
            axes.plot([step, step], [low, high], label="lower bound to cost", **gaps)
    dots = {"color": LIGHT["accent"], "linestyle": "none", "marker": "o", "markersize": 5}
    axes.plot(steps, upper, label="cheapest proved set", **dots)
    for step, cost in zip(steps, upper, strict=True):
        if math.isfinite(cost):
            axes.annotate(
                exactly(cost),
                (step, cost),
                (0, 8),
                textcoords="offset points",
                ha="center",
                color=LIGHT["ink"],
            )
    axes.set_xlabel(
        {"k": "nearest words k", "eps": "radius ε", "at_most": "words that change at once"}.get(
            name, name
        )
    )
    if name != "eps":
        axes.xaxis.get_major_locator().set_params(integer=True)
    return _finish(figure, axes, "Words needed, as what a free word may become grows", "cost")


def _draw_between(axes: Any, left: Level, right: Level, whole: bool) -> None:
    """A level where both ends agree, a step where no size lies between, else a field that holds all
    that can be.
    """
    (start, low, before), (end, _, high) = left, right
    if low == high:
        axes.plot([start, end], [low, high], color=LIGHT["accent"], linewidth=2)
    elif whole and end - start == 1:
        axes.plot([start, end, end], [before, before, high], color=LIGHT["accent"], linewidth=2)
    elif math.isfinite(high):
        axes.fill_between(
            [start, end],
            low,
            high,
            color=LIGHT["wash"],
            linewidth=0,
            label="not asked, or not decided",
        )


def _grown(
    grown: Profile | Sequence[float],
    costs: Sequence[float] | None,
    lower_bounds: Sequence[float] | None,
    parameter: str,
) -> tuple[list[float], list[float], list[float] | None, str]:
    if isinstance(grown, Sequence):
        if costs is None or len(costs) != len(grown) or not len(grown):
            raise InputError("Give a profile, or a list of steps and a list of as many costs.")
        lower = None if lower_bounds is None else _drawable(lower_bounds)
        return list(grown), _drawable(costs), lower, parameter
    return list(grown.steps), _drawable(grown.costs), _drawable(grown.lower_bounds), grown.parameter


def _drawable(values: Iterable[float]) -> list[float]:
    """What does not exist (an infinite cost) is a gap in the line."""
    return [value if math.isfinite(value) else math.nan for value in values]


def bounds(records: Sequence[Record]) -> Figure:
    """Lower and upper bound over time, from what `on_progress` was given."""
    if not records:
        raise InputError("There is nothing to plot: on_progress was never called.")
    lower, upper, elapsed, _ = zip(*records, strict=True)
    figure, axes = _figure(6.4, 3.2)
    axes.fill_between(
        elapsed, lower, upper, step="post", color=LIGHT["wash"], label="not yet decided"
    )
    axes.step(elapsed, upper, where="post", color=LIGHT["accent"], linewidth=2, label="at most")
    axes.step(
        elapsed,
        lower,
        where="post",
        color=LIGHT["accent"],
        linewidth=2,
        linestyle="--",
        label="at least",
    )
    axes.set_xlabel("seconds")
    return _finish(figure, axes, "The proof closes", "cost")


def attribution(shares: Attribution | Mapping[str, float]) -> Figure:
    """In which share of the explanations each word stands, as bars in the order of the text."""
    pairs = _pairs(shares)
    if not pairs:
        raise InputError("There is nothing to plot: no word has a share.")
    figure, axes = _figure(6.4, 0.9 + 0.3 * len(pairs))
    places = range(len(pairs))
    colours = [LIGHT["accent"] if share >= 1 else "#8aa4d9" for _, share in pairs]
    axes.barh(places, [100 * share for _, share in pairs], color=colours, height=0.62)
    for place, (_, share) in zip(places, pairs, strict=True):
        axes.annotate(
            f"{share:.0%}", (100 * share, place), (5, 0), textcoords="offset points", va="center"
        )
    axes.set_yticks(list(places), [_plain(word) for word, _ in pairs])
    axes.invert_yaxis()
    axes.set_xlim(0, 112)
    axes.set_xticks([0, 25, 50, 75, 100], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    return _finish(figure, axes, "Share of the explanations with each word", "", legend=False)


def _pairs(shares: Attribution | Mapping[str, float]) -> list[tuple[str, float]]:
    if isinstance(shares, Mapping):
        return list(shares.items())
    return [(item.word.text, item.share) for item in shares.shares]


def _plain(word: str) -> str:
    """A word as matplotlib should print it: dollars are not mathematics."""
    return phrases.visible(word).replace("$", r"\$")


def check_installed() -> None:
    """Say that matplotlib is missing before any work is done, not after it."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("plot", "matplotlib")


def _figure(width: float, height: float) -> tuple[Figure, Any]:
    try:
        from matplotlib.figure import Figure as Base
    except ImportError as error:
        raise MissingExtra("plot", "matplotlib") from error

    class Shown(Base):
        def _repr_png_(self) -> bytes:
            data = io.BytesIO()
            self.savefig(data, format="png", dpi=144)
            return data.getvalue()

    figure = Shown(figsize=(width, height), layout="constrained", facecolor="white")
    return figure, figure.add_subplot()


def _finish(figure: Figure, axes: Any, title: str, scale: str, legend: bool = True) -> Figure:
    axes.set_title(title, loc="left", color=LIGHT["ink"], fontsize=11, fontweight="bold", pad=12)
    axes.set_ylabel(scale, color=LIGHT["soft"])
    axes.xaxis.label.set_color(LIGHT["soft"])
    axes.tick_params(colors=LIGHT["soft"], length=0)
    axes.grid(axis="y" if legend else "x", color=LIGHT["line"], linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT["line"])
    if legend:
        axes.margins(y=0.15)
        axes.set_ylim(bottom=0)
        axes.yaxis.get_major_locator().set_params(integer=True)
    named = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))  # each name once
    if legend and len(named) > 1:
        axes.legend(
            named.values(), named.keys(), frameon=False, labelcolor=LIGHT["soft"], fontsize=9
        )
    return figure
