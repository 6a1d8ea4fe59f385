"""The graph of affine tensors: branches, sums and every layer equal torch, and smooth curves keep
their word.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.model import graph
from suffice.model.curves import CURVES, FUZZ
from suffice.model.network import Network

torch = pytest.importorskip("torch")
F = torch.nn.functional
torch.set_num_threads(1)


def forward(scores: graph.Tensor, points: np.ndarray) -> np.ndarray:
    """Any tensor's values: two spare outputs make a network of it."""
    flat = scores.reshape((-1,))
    padded = graph.concatenate([flat, flat.pick(np.array([-1, -1]))], 0)
    return (
        Network.of(padded)
        .forward(points.reshape(len(points), -1))[:, :-2]
        .reshape(len(points), *scores.shape)
    )


def same(ours: graph.Tensor, theirs: torch.Tensor, points: np.ndarray) -> None:
    assert ours.shape == tuple(theirs.shape[1:])
    np.testing.assert_allclose(forward(ours, points), theirs.numpy(), rtol=1e-9, atol=1e-9)


def points(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(3, *shape))


def weights(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed + 1).normal(size=shape)


def test_the_textcnn_of_kim_takes_one_step_per_round_for_all_widths_together():
    x = graph.start((9, 4)).permute((1, 0))
    batch = points(0, 9, 4)
    theirs = torch.from_numpy(batch).transpose(1, 2)
    ours = []
    other = []
    for width in (2, 3, 4):
        kernel = weights(width, 5, 4, width)
        ours.append(x.conv(kernel).relu().max(1))
        other.append(F.relu(F.conv1d(theirs, torch.from_numpy(kernel))).amax(2))
    joined = graph.concatenate(ours, 0)
    same(joined, torch.cat(other, 1), batch)
    network = Network.of(joined.linear(weights(9, 2, 15)))
    # the maxima of 8, 7 and 6 places, each with the 0 of its relu; scores
    assert len(network.steps) == 2
    assert sorted(len(group) for group in network.steps[0].maxima) == [7] * 5 + [8] * 5 + [9] * 5
    slow = network.relus_only()
    assert slow.relus == 5 * (8 + 7 + 6)
    np.testing.assert_allclose(slow.forward(batch), network.forward(batch), atol=1e-9)


def test_a_residual_block_waits_as_a_sum_and_not_as_its_terms():
    x = graph.start((6, 4))
    batch = points(1, 6, 4)
    mean, (one, two) = x.mean(0), (weights(1, 7, 4), weights(2, 4, 7))
    ours = graph.add(mean, mean.linear(one).relu().linear(two)).relu()
    theirs = torch.from_numpy(batch).mean(1)
    same(
        ours,
        F.relu(theirs + F.relu(theirs @ torch.from_numpy(one).T) @ torch.from_numpy(two).T),
        batch,
    )
    network = Network.of(ours.linear(weights(3, 2, 4)))
    assert [len(step.bias) for step in network.steps] == [
        7 + 4,
        4,
        2,
    ]  # the mean waits as 4 numbers, not as 24


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_random_graphs_of_branches_equal_torch(seed):
    rng = np.random.default_rng(seed)
    batch = points(seed, 3, 4)
    known = [(graph.start((3, 4)), torch.from_numpy(batch))]
    for _ in range(int(rng.integers(3, 9))):
        (a, ta), (b, tb) = (known[int(rng.integers(len(known)))] for _ in range(2))
        w = torch.from_numpy(rng.normal(size=(4, 4)))
        match int(rng.integers(8)):
            case 0:
                new = a.relu(), F.relu(ta)
            case 1:
                new = a.linear(w.numpy()), ta @ w.T
            case 2:
                new = graph.add(a, b), ta + tb
            case 3:
                new = graph.maximum(a, b), torch.maximum(ta, tb)
            case 4:
                new = a.leaky_relu(0.2), F.leaky_relu(ta, 0.2)
            case 5:
                new = graph.concatenate([a[:1], b[1:]], 0), torch.cat([ta[:, :1], tb[:, 1:]], 1)
            case 6:
                new = a.clip(-0.5, 0.7), ta.clip(-0.5, 0.7)
            case _:
                new = graph.subtract(a, b.max(0, keepdims=True)), ta - tb.amax(1, keepdim=True)
        known.append(new)
    same(*known[-1], batch)


CONVOLUTIONS = [
    {"padding": 2},
    {"stride": 2, "padding": 1},
    {"dilation": 2},
    {"groups": 2},
    {"groups": 4, "stride": 3},
]


@pytest.mark.parametrize("more", CONVOLUTIONS, ids=str)
def test_convolutions_equal_torch(more):
    batch = points(2, 4, 8)
    kernel = weights(2, 8, 4 // more.get("groups", 1), 3)
    bias = weights(3, 8)
    theirs = F.conv1d(*map(torch.from_numpy, (batch, kernel, bias)), **more)
    same(graph.start((4, 8)).conv(kernel, bias, **more), theirs, batch)


@pytest.mark.parametrize("window", [(2, 3), (3, 2)])
@pytest.mark.parametrize("stride", [(1, 2), (2, 2), (3, 1)])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("ceil", [False, True])
def test_pools_with_padding_and_ceil_equal_torch(window, stride, padding, ceil):
    batch = points(4, 2, 5, 6)
    x = graph.start((2, 5, 6))
    t = torch.from_numpy(batch)
    same(
        x.max_pool(window, stride, padding, ceil=ceil),
        F.max_pool2d(t, window, stride, padding, 1, ceil),
        batch,
    )
    for count in (False, True):
        theirs = F.avg_pool2d(t, window, stride, padding, ceil, count)
        same(x.average_pool(window, stride, padding, ceil=ceil, count_padding=count), theirs, batch)


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 4), (3, 7)])
def test_adaptive_pools_equal_torch(size):
    batch = points(5, 2, 5, 7)
    x = graph.start((2, 5, 7))
    t = torch.from_numpy(batch)
    same(x.adaptive_pool(size, "max"), F.adaptive_max_pool2d(t, size), batch)
    same(x.adaptive_pool(size, "average"), F.adaptive_avg_pool2d(t, size), batch)


def test_asymmetric_padding_and_dilated_windows():
    batch = points(6, 2, 7)
    padded = F.pad(torch.from_numpy(batch), (1, 2), value=-np.inf)
    same(graph.start((2, 7)).max_pool(2, 2, [(1, 2)], 3), F.max_pool1d(padded, 2, 2, 0, 3), batch)


SMOOTH = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "gelu": F.gelu,
    "gelu_tanh": lambda t: F.gelu(t, approximate="tanh"),
    "silu": F.silu,
    "elu": F.elu,
    "softplus": F.softplus,
    "exp": torch.exp,
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_curves_equal_torch(name):
    batch = points(7, 3, 4) * 3
    same(graph.start((3, 4)).curve(name), SMOOTH[name](torch.from_numpy(batch)), batch)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 2), (2, 4), (5, 3)])
def test_softmax_equals_torch(axis, shape):
    batch = points(8, *shape) * 3
    same(graph.start(shape).softmax(axis), torch.softmax(torch.from_numpy(batch), axis + 1), batch)


@pytest.mark.parametrize("name", CURVES)
def test_what_a_curve_says_of_itself_is_true(name):
    """Slope, steepness, bend and range against differences, over random intervals."""
    curve = CURVES[name]
    rng = np.random.default_rng(0)
    centers = rng.uniform(-8, 8, 400)
    widths = 10.0 ** rng.uniform(-4, 1, 400)
    low = centers - widths
    high = centers + widths
    z = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 501)
    value = curve.value(z)
    slope = curve.slope(z)
    gap = np.diff(z, axis=1)
    secant = np.diff(value, axis=1) / gap
    noise = 1e-11 / gap
    assert (np.abs(secant) <= curve.steep(low, high)[:, None] * (1 + 1e-9) + noise).all()
    assert (
        np.abs(np.diff(slope, axis=1) / gap) <= curve.bend(low, high)[:, None] * (1 + 1e-9) + noise
    ).all()
    assert (
        secant
        >= np.minimum(slope[:, 1:], slope[:, :-1]) - curve.bend(low, high)[:, None] * gap - noise
    ).all()
    least, most = curve.range(low, high)
    assert (value >= least[:, None]).all()
    assert (value <= most[:, None]).all()
    assert (most - value.max(1) <= 4 * FUZZ * (1 + np.abs(z).max(1) + np.abs(value).max(1))).all()


BAD = {
    "no such curve": lambda x: x.curve("cube"),
    "a pick beyond the end": lambda x: x.pick(np.array([12])),
    "a weight of other width": lambda x: x.linear(np.ones((2, 3))),
    "a bias of other length": lambda x: x.linear(np.ones((2, 4)), np.ones(3)),
    "weights that are not numbers": lambda x: x.scale(np.nan),
    "shapes that do not broadcast": lambda x: graph.add(x, x[:2]),
    "groups that do not divide": lambda x: x.conv(np.ones((3, 3, 2)), groups=2),
    "padding for another axis": lambda x: x.max_pool(2, 2, (1, 1)),
    "a window of padding only": lambda x: x.max_pool(1, 1, 2),
    "a clip to nothing": lambda x: x.clip(1.0, 0.0),
    "a softmax too wide": lambda x: (
        x.reshape((1, 12)).pick(np.zeros((1, 65), dtype=int)).softmax(1)
    ),
    "a mean of nothing": lambda x: x[:0].mean(0),
}


@pytest.mark.parametrize("wrong", BAD.values(), ids=BAD.keys())
def test_what_does_not_fit_is_a_value_error(wrong):
    with pytest.raises(ValueError, match=r"\w"):
        wrong(graph.start((3, 4)))


def test_layers_of_torch_in_a_row_make_no_more_steps_than_before():
    network = Network.of(
        graph.start((2, 3)).reshape((6,)).linear(np.eye(6)).relu().linear(weights(0, 2, 6))
    )
    assert [len(step.bias) for step in network.steps] == [6, 2]
