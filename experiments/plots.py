"""The figures of the report: numbers in, PNG files out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Line: TypeAlias = Sequence[tuple[float, float]]

COLOURS = ("#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#6a4c93", "#30323d")


def lines(
    path: Path, found: Mapping[str, Line], x: str, y: str, title: str, log: bool = False
) -> None:
    """One line per name; the CNN and the FC of a pair share a colour, and the CNN is dashed."""
    figure, axes = _figure()
    pairs = list(dict.fromkeys(name.replace("cnn", "fc") for name in found))
    for name, points in found.items():
        colour = COLOURS[pairs.index(name.replace("cnn", "fc")) % len(COLOURS)]
        style = "--" if "cnn" in name else "-"
        axes.plot(*zip(*points, strict=True), style, color=colour, marker="o", ms=4, label=name)
    if log:
        axes.set_xscale("log")
        ticks = sorted({point for points in found.values() for point, _ in points})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    _finish(figure, axes, path, x, y, title)


def trade_off(
    path: Path, found: Mapping[str, Sequence[tuple[str, float, float]]], title: str
) -> None:
    """Accuracy against length: a point per way of training (name, length, accuracy), numbered."""
    figure, axes = _figure()
    for place, (name, points) in enumerate(found.items()):
        colour = COLOURS[place]
        ranked = sorted(points, key=lambda point: point[1])
        axes.plot(
            [p[1] for p in ranked],
            [p[2] for p in ranked],
            color=colour,
            marker="o",
            ms=4,
            lw=1.2,
            label=name,
        )
        for number, (_, length, accuracy) in enumerate(points, 1):
            axes.annotate(
                str(number),
                (length, accuracy),
                (4, 4),
                textcoords="offset points",
                fontsize=7.5,
                color=colour,
            )
    for number, (name, _, _) in enumerate(
        next(iter(found.values())), 1
    ):  # what the numbers mean, in the legend
        axes.plot([], [], " ", label=f"{number}  {name}")
    _finish(figure, axes, path, "mean words of the explanation", "accuracy on test", title)


def _figure() -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    return figure, figure.add_subplot()


def _finish(figure: Any, axes: Any, path: Path, x: str, y: str, title: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
