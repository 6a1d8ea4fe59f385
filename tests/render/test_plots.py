"""The plots: figures with the numbers in them, saved as PNG and SVG, and a clear word where
matplotlib is missing.
"""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

import suffice as sf
from suffice.render import plots

TEXT = "A gripping, beautifully acted film that never quite loses its nerve"


@pytest.fixture(scope="module")
def classifier():
    return sf.load("sst-fc25")


def lines(figure) -> list[list[float]]:
    return [list(line.get_ydata()) for line in figure.axes[0].get_lines()]


def test_a_profile_shows_its_costs(classifier):
    grown = sf.profile(classifier, TEXT, sf.KNNBox, [20, 60, 120])
    figure = plots.profile(grown)
    assert isinstance(figure, Figure)
    assert lines(figure)[-1] == list(grown.costs)
    assert figure.axes[0].get_xlabel() == "nearest words k"
    assert [note.get_text() for note in figure.axes[0].texts] == [
        f"{cost:g}" for cost in grown.costs
    ]


def fields(figure) -> list[tuple[float, float, float, float]]:
    """The pale fields: from, to, least, most."""
    boxes = [part.get_paths()[0].get_extents() for part in figure.axes[0].collections]
    return [(box.x0, box.x1, box.y0, box.y1) for box in boxes]


def test_growth_is_drawn_as_steps_at_whole_sizes_and_never_as_a_slope():
    figure = plots.profile([1, 2, 3, 8, 9], [0, 1, 1, 4, 4], parameter="k")
    for line in figure.axes[0].get_lines()[:-1]:
        corners = list(zip(line.get_xdata(), line.get_ydata(), strict=True))
        assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(corners))
    assert lines(figure)[0] == [0, 0, 1]  # 0 at 1, and 1 from 2 on
    assert fields(figure) == [(3, 8, 1, 4)]  # between 3 and 8 the cost is somewhere from 1 to 4


def test_plain_lists_do_as_well_and_an_open_gap_is_shown():
    figure = plots.profile([0.1, 0.2, 0.4], [1, 3, math.inf], [1, 2, 4], parameter="eps")
    gap, upper = lines(figure)
    assert gap == [2, 3]
    assert upper[:2] == [1, 3]
    assert math.isnan(upper[2])
    assert fields(figure)[0] == (0.1, 0.2, 1, 3)
    assert figure.axes[0].get_xlabel() == "radius ε"


def test_the_bounds_over_time_are_what_was_reported(classifier):
    records: list[plots.Record] = []
    sf.explain(
        classifier,
        TEXT,
        perturbation=sf.KNNBox(120),
        on_progress=lambda *record: records.append(record),
    )
    upper, lower = lines(plots.bounds(records))
    assert lower == [record[0] for record in records]
    assert upper == [record[1] for record in records]


def test_attribution_draws_a_bar_for_each_word(classifier):
    shares = sf.attribute(classifier, TEXT, perturbation=sf.KNNBox(120))
    figure = plots.attribution(shares)
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert widths == [100 * item.share for item in shares.shares]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == [item.word.text for item in shares.shares]


def test_figures_are_saved_as_png_and_svg(tmp_path):
    figure = plots.attribution({"$x_1$": 0.5, "\u202eevil": 1.0, "漢字": 0.2, "<script>": 0.1})
    figure.set_layout_engine("none")
    for name, start in [("plot.png", b"\x89PNG"), ("plot.svg", b"<?xml")]:
        with pytest.warns(
            UserWarning, match="missing from font"
        ):  # CJK is not in matplotlib's own font
            figure.savefig(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    assert "<script>" not in (tmp_path / "plot.svg").read_text(encoding="utf-8")


def test_a_notebook_sees_a_picture():
    assert plots.profile([1, 2], [0, 1])._repr_png_().startswith(b"\x89PNG")


def test_nothing_to_plot_is_said():
    for make in (
        lambda: plots.bounds([]),
        lambda: plots.attribution({}),
        lambda: plots.profile([1, 2]),
        lambda: plots.profile([1, 2], [3]),
    ):
        with pytest.raises(sf.InputError):
            make()


def test_figures_leave_no_trace_in_pyplot():
    code = (
        "import sys; from suffice.render import plots; plots.profile([1], [1]); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "matplotlib.pyplot" not in done.stdout.split()


def test_without_matplotlib_the_message_is_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(sf.MissingExtra, match=r"extra 'plot'"):
        plots.bounds([(0.0, 1.0, 0.0, ())])


def test_a_profile_is_anything_with_its_fields():
    made = SimpleNamespace(steps=(1, 2), costs=(0.0, 1.0), lower_bounds=(0.0, 1.0), parameter="k")
    assert lines(plots.profile(made))[-1] == [0.0, 1.0]
