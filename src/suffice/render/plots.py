"""Plots (extra: plot): how explanations grow, how the bounds close, how often each word is needed.

Each function gives back a matplotlib figure that belongs to nobody's global state: save it with
`figure.savefig("plot.svg")` or `.png`, or let a notebook show it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from suffice.errors import InputError, MissingExtra
from suffice.render import phrases
from suffice.render.style import LIGHT

if TYPE_CHECKING:
    from suffice.verbs.attribute import Attribution
    from suffice.verbs.profile import Profile

Figure: TypeAlias = Any
Record: TypeAlias = tuple[float, float, float, tuple[int, ...]]  # what on_progress gets


def profile(
    grown: Profile | Sequence[float],
    costs: Sequence[float] | None = None,
    lower_bounds: Sequence[float] | None = None,
    parameter: str = "k",
) -> Figure:
    """The cost of the cheapest explanation against k or ε: of a Profile, or of plain lists of steps and costs."""
    steps, upper, lower, name = _grown(grown, costs, lower_bounds, parameter)
    figure, axes = _figure(6.4, 3.6)
    if lower is not None and any(a < b for a, b in zip(lower, upper, strict=True)):
        axes.fill_between(steps, lower, upper, color=LIGHT["wash"], label="not yet decided")
        axes.plot(steps, lower, color=LIGHT["accent"], linestyle="--", linewidth=1.5, label="proved lower bound")
    axes.plot(steps, upper, color=LIGHT["accent"], linewidth=2, marker="o", markersize=5, label="cheapest proved set")
    for step, cost in zip(steps, upper, strict=True):
        if math.isfinite(cost):
            axes.annotate(
                f"{cost:g}", (step, cost), (0, 8), textcoords="offset points", ha="center", color=LIGHT["ink"]
            )
    axes.set_xlabel({"k": "nearest words k", "eps": "radius ε"}.get(name, name))
    return _finish(figure, axes, "Words needed, as what a free word may become grows", "cost")


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
    axes.fill_between(elapsed, lower, upper, step="post", color=LIGHT["wash"], label="not yet decided")
    axes.step(elapsed, upper, where="post", color=LIGHT["accent"], linewidth=2, label="at most")
    axes.step(elapsed, lower, where="post", color=LIGHT["accent"], linewidth=2, linestyle="--", label="at least")
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
        axes.annotate(f"{share:.0%}", (100 * share, place), (5, 0), textcoords="offset points", va="center")
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
    if legend and len(axes.get_lines()) > 1:
        axes.legend(frameon=False, labelcolor=LIGHT["soft"], fontsize=9)
    return figure
