"""Network: every kind of layer lowered to the normal form gives what PyTorch gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.errors import ModelError
from suffice.model import step as networks
from suffice.model.network import (
    AvgPool,
    BatchNorm,
    Conv1d,
    Conv2d,
    Dense,
    Dropout,
    Flatten,
    Grid,
    Layer,
    MaxPool,
    Mean,
    Network,
    Relu,
    Step,
    Transpose,
    validated,
)

torch = pytest.importorskip("torch")
nn = torch.nn
SOME = settings(max_examples=40)


# --- the same network twice: as torch modules, and as layers of ours ---


class Words(nn.Module):
    """What torch has no module for: a step that only rearranges or averages the words."""

    def __init__(self, layer: Layer, run: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.layer = layer
        self.run = run

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.run(x)


def channels_first() -> nn.Module:
    return Words(Transpose(), lambda x: x.transpose(1, 2))


def grid(rows: int, columns: int) -> nn.Module:
    return Words(
        Grid(rows, columns), lambda x: x.transpose(1, 2).reshape(len(x), -1, rows, columns)
    )


def mean() -> nn.Module:
    return Words(Mean(), lambda x: x.mean(1))


def whole(layer: Layer) -> nn.Module:
    """Global pooling: over every axis after the channels."""
    largest = isinstance(layer, MaxPool)
    return Words(layer, lambda x: x.flatten(2).max(2).values if largest else x.flatten(2).mean(2))


def ours(module: nn.Module) -> Layer:
    """The layer of ours that a torch module stands for."""
    match module:
        case Words():
            return module.layer
        case nn.Linear():
            return Dense(module.weight.detach(), module.bias.detach())
        case nn.Conv1d():
            return Conv1d(
                module.weight.detach(), module.bias.detach(), *module.stride, *module.padding
            )
        case nn.Conv2d():
            return Conv2d(
                module.weight.detach(), module.bias.detach(), module.stride, module.padding
            )
        case nn.MaxPool1d() | nn.MaxPool2d():
            return MaxPool(tuple_of(module.kernel_size), tuple_of(module.stride))
        case nn.AvgPool1d() | nn.AvgPool2d():
            return AvgPool(tuple_of(module.kernel_size), tuple_of(module.stride))
        case nn.BatchNorm1d() | nn.BatchNorm2d():
            parts = (
                module.running_mean,
                module.running_var,
                module.weight.detach(),
                module.bias.detach(),
            )
            return BatchNorm(*parts, eps=module.eps)
        case nn.ReLU():
            return Relu()
        case nn.Flatten():
            return Flatten()
        case nn.Dropout():
            return Dropout()
    raise TypeError(module)


def tuple_of(value: int | tuple[int, ...]) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


def randomise(modules: Sequence[nn.Module], seed: int) -> nn.Sequential:
    """The modules in float64 and evaluation mode with random weights and batch statistics."""
    generator = torch.Generator().manual_seed(seed)
    model = nn.Sequential(*modules).double().eval()
    with torch.no_grad():
        for name, values in [*model.named_parameters(), *model.named_buffers()]:
            if values.is_floating_point():
                noise = torch.randn(values.shape, generator=generator, dtype=torch.float64)
                values.copy_(noise.abs() + 0.1 if name.endswith("running_var") else noise)
    return model


def assert_same(modules: Sequence[nn.Module], shape: tuple[int, int], seed: int) -> Network:
    """Our forward pass on a random batch equals torch's; returns our network."""
    model = randomise(modules, seed)
    network = Network.build([ours(module) for module in model], shape)
    batch = np.random.default_rng(seed).normal(size=(3, *shape))
    with torch.no_grad():
        expected = model(torch.from_numpy(batch)).numpy()
    np.testing.assert_allclose(network.forward(batch), expected, rtol=1e-9, atol=1e-9)
    return network


def head(modules: Sequence[nn.Module], shape: tuple[int, int], classes: int) -> list[nn.Module]:
    """The modules with a Linear on top, of whatever size they need."""
    with torch.no_grad():
        out = nn.Sequential(*modules).double().eval()(torch.zeros(1, *shape, dtype=torch.float64))
    return [*modules, nn.Flatten(), nn.Linear(out[0].numel(), classes)]


seeds = st.integers(0, 2**32 - 1)
classes = st.integers(2, 7)
sizes = st.integers(1, 6)


@given(seeds, st.integers(1, 9), sizes, st.lists(sizes, max_size=3), classes)
@SOME
def test_dense_networks_of_any_depth_equal_torch(seed, length, dimension, hidden, outputs):
    modules: list[nn.Module] = [nn.Flatten()]
    width = length * dimension
    for size in hidden:
        modules += [nn.Linear(width, size), nn.ReLU(), nn.Dropout(0.5)]
        width = size
    network = assert_same([*modules, nn.Linear(width, outputs)], (length, dimension), seed)
    assert (network.outputs, network.relus) == (outputs, sum(hidden))


@given(seeds, st.lists(sizes, min_size=1, max_size=4), classes)
@SOME
def test_the_dense_builder_takes_torch_weights_as_they_are(seed, widths, outputs):
    modules: list[nn.Module] = []
    for a, b in zip(widths, [*widths[1:], outputs], strict=True):
        modules += [nn.Linear(a, b), nn.ReLU()]
    model = randomise(modules[:-1], seed)
    network = Network.dense(
        [(m.weight.detach(), m.bias.detach()) for m in model if isinstance(m, nn.Linear)]
    )
    batch = np.random.default_rng(seed).normal(size=(3, widths[0]))
    expected = model(torch.from_numpy(batch)).detach().numpy()
    np.testing.assert_allclose(network.forward(batch), expected, rtol=1e-9, atol=1e-9)


@given(seeds, st.data(), st.integers(3, 12), sizes, classes)
@SOME
def test_convolution_over_words_equals_torch(seed, data, length, dimension, outputs):
    padding = data.draw(st.integers(0, 3))
    width = data.draw(st.integers(1, min(5, length + 2 * padding)))
    stride = data.draw(st.integers(1, 3))
    kernels = data.draw(sizes)
    convolution = nn.Conv1d(dimension, kernels, width, stride, padding)
    shape = (length, dimension)
    assert_same(head([channels_first(), convolution, nn.ReLU()], shape, outputs), shape, seed)


@given(seeds, st.data(), st.integers(2, 5), st.integers(2, 5), sizes, classes)
@SOME
def test_convolution_over_a_grid_of_words_equals_torch(
    seed, data, rows, columns, dimension, outputs
):
    padding = data.draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    height = data.draw(st.integers(1, min(5, rows + 2 * padding[0])))
    width = data.draw(st.integers(1, min(5, columns + 2 * padding[1])))
    stride = data.draw(st.tuples(st.integers(1, 2), st.integers(1, 3)))
    kernels = data.draw(st.integers(1, 4))
    convolution = nn.Conv2d(dimension, kernels, (height, width), stride, padding)
    shape = (rows * columns, dimension)
    assert_same(head([grid(rows, columns), convolution, nn.ReLU()], shape, outputs), shape, seed)


def test_the_papers_cnn_on_a_5_by_5_grid_equals_torch():
    modules = [
        grid(5, 5),
        nn.Conv2d(5, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d((2, 2)),
        nn.Conv2d(8, 6, 2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(6, 2),
    ]
    network = assert_same(modules, (25, 5), seed=1)
    # 8 × 4 maxima over 2 × 2 and 0, as the relu is one more candidate, and 6 relus of the second
    # convolution
    assert [len(group) for step in network.steps for group in step.maxima] == [5] * 32
    assert network.relus == 6


@pytest.mark.parametrize("kind", [nn.MaxPool1d, nn.AvgPool1d])
@given(seeds, st.data(), st.integers(2, 12), sizes, classes, st.booleans())
@SOME
def test_pooling_over_words_equals_torch(kind, seed, data, length, dimension, outputs, relu):
    """Windows of any size, not only powers of two, and strides that overlap or leave gaps."""
    window = data.draw(st.integers(1, length))
    pool = kind(window, data.draw(st.integers(1, window + 1)))
    first = [channels_first(), nn.Conv1d(dimension, 3, 1)] + [nn.ReLU()] * relu
    shape = (length, dimension)
    assert_same(head([*first, pool], shape, outputs), shape, seed)


@pytest.mark.parametrize("kind", [nn.MaxPool2d, nn.AvgPool2d])
@given(seeds, st.data(), st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), classes)
@SOME
def test_pooling_over_a_grid_equals_torch(kind, seed, data, rows, columns, dimension, outputs):
    window = data.draw(st.tuples(st.integers(1, rows), st.integers(1, columns)))
    stride = data.draw(st.tuples(st.integers(1, window[0] + 1), st.integers(1, window[1] + 1)))
    shape = (rows * columns, dimension)
    assert_same(head([grid(rows, columns), kind(window, stride)], shape, outputs), shape, seed)


@pytest.mark.parametrize("layer", [MaxPool(), AvgPool()], ids=["max", "average"])
@given(seeds, st.integers(1, 3), st.integers(1, 11), sizes, classes, st.booleans())
@SOME
def test_pooling_over_everything_equals_torch(layer, seed, rows, columns, dimension, outputs, flat):
    length = rows * columns
    place = channels_first() if flat else grid(rows, columns)
    convolve = nn.Conv1d(dimension, 4, 1) if flat else nn.Conv2d(dimension, 4, 1)
    modules = [place, convolve, nn.ReLU(), whole(layer), nn.Linear(4, outputs)]
    assert_same(modules, (length, dimension), seed)


@given(seeds, st.integers(1, 12), sizes, st.lists(sizes, max_size=3), classes)
@SOME
def test_networks_over_the_mean_embedding_equal_torch(seed, length, dimension, hidden, outputs):
    """No hidden layer is fastText, one or more are a deep averaging network."""
    modules = [mean()]
    width = dimension
    for size in hidden:
        modules += [nn.Linear(width, size), nn.ReLU()]
        width = size
    assert_same([*modules, nn.Linear(width, outputs)], (length, dimension), seed)


@given(seeds, st.integers(2, 8), sizes, classes, st.booleans())
@SOME
def test_batch_norm_over_words_folds_away(seed, length, dimension, outputs, before):
    """Before or after the relu, per channel of a convolution and per unit of a dense layer."""
    norm = nn.BatchNorm1d(3)
    relu = nn.ReLU()
    middle = [norm, relu] if before else [relu, norm]
    convolved = [
        channels_first(),
        nn.BatchNorm1d(dimension),
        nn.Conv1d(dimension, 3, 2),
        *middle,
        nn.Dropout(),
    ]
    dense = [
        nn.Flatten(),
        nn.Linear(3 * (length - 1), 4),
        nn.BatchNorm1d(4),
        nn.ReLU(),
        nn.Linear(4, outputs),
    ]
    network = assert_same([*convolved, *dense], (length, dimension), seed)
    assert len(network.steps) == 3


@given(seeds, st.integers(2, 4), st.integers(2, 4), sizes, classes)
@SOME
def test_batch_norm_over_a_grid_folds_away(seed, rows, columns, dimension, outputs):
    first = [
        grid(rows, columns),
        nn.Conv2d(dimension, 3, 2),
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.Dropout(),
    ]
    shape = (rows * columns, dimension)
    network = assert_same(head([*first, nn.BatchNorm2d(3)], shape, outputs), shape, seed)
    assert len(network.steps) == 2


deep_stacks = [
    pytest.param(
        [
            channels_first(),
            nn.MaxPool1d(3, 1),
            nn.Conv1d(3, 4, 3),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.AvgPool1d(2),
        ],
        id="pools around a convolution",
    ),
    pytest.param(
        [
            grid(3, 4),
            nn.Conv2d(3, 4, 2),
            nn.MaxPool2d((2, 3)),
            nn.ReLU(),
            nn.BatchNorm2d(4),
            whole(MaxPool()),
        ],
        id="maxima of maxima",
    ),
    pytest.param(
        [
            channels_first(),
            nn.Conv1d(3, 4, 3, 2, 1),
            nn.ReLU(),
            nn.Conv1d(4, 5, 2),
            nn.ReLU(),
            whole(AvgPool()),
        ],
        id="convolutions in a row",
    ),
    pytest.param([nn.Flatten(), nn.ReLU(), nn.ReLU()], id="relus on the embedding itself"),
    pytest.param(
        [nn.Flatten(), nn.Linear(36, 6), nn.Linear(6, 4), nn.ReLU()],
        id="two affine layers in a row",
    ),
]


@pytest.mark.parametrize("modules", deep_stacks)
@pytest.mark.parametrize("outputs", [2, 3, 7])
def test_layers_stacked_in_any_order_equal_torch(modules, outputs):
    assert_same(head(modules, (12, 3), outputs), (12, 3), seed=outputs)


def test_affine_layers_in_a_row_become_one_step():
    network = assert_same([mean(), nn.Linear(3, 6), nn.Dropout(), nn.Linear(6, 2)], (4, 3), seed=0)
    assert len(network.steps) == 1
    assert network.relus == 0


# --- sparse steps ---


@pytest.mark.parametrize("modules", deep_stacks)
def test_sparse_and_dense_steps_give_the_same_scores(modules, monkeypatch):
    model = randomise(head(modules, (12, 3), 3), seed=5)
    layers = [ours(module) for module in model]
    batch = np.random.default_rng(5).normal(size=(4, 12, 3))
    monkeypatch.setattr(networks, "SPARSE_SIZE", 10**9)
    dense = Network.build(layers, (12, 3))
    monkeypatch.setattr(networks, "SPARSE_SIZE", 0)
    monkeypatch.setattr(networks, "SPARSE_DENSITY", 1.1)
    thin = Network.build(layers, (12, 3))
    assert all(isinstance(step.weight, np.ndarray) for step in dense.steps)
    assert not any(isinstance(step.weight, np.ndarray) for step in thin.steps)
    np.testing.assert_allclose(thin.forward(batch), dense.forward(batch), rtol=1e-12, atol=1e-12)
    for one, other in zip(thin.steps, dense.steps, strict=True):
        np.testing.assert_array_equal(one.dense(), other.dense())
        sizes = np.random.default_rng(1).random((2, one.weight.shape[1]))
        for values in (sizes, sizes[0]):
            np.testing.assert_allclose(
                one.magnified(values), values @ np.abs(other.weight).T, rtol=1e-12
            )
            np.testing.assert_allclose(
                other.magnified(values), values @ np.abs(other.weight).T, rtol=1e-12
            )
    assert (thin.weights, thin.relus, thin.inputs) == (dense.weights, dense.relus, dense.inputs)


@pytest.mark.parametrize("sparse", [False, True])
def test_sizes_of_large_weights_are_the_same_in_parts(sparse, monkeypatch):
    rng = np.random.default_rng(4)
    weight = np.where(rng.random((23, 31)) < 0.2, rng.standard_normal((23, 31)), 0.0)
    monkeypatch.setattr(networks, "KEPT", 40)  # a few rows at a time
    step = Step(
        scipy.sparse.csr_array(weight) if sparse else weight, np.zeros(23), np.zeros(23, dtype=bool)
    )
    for values in (rng.random((3, 31)), rng.random(31)):
        np.testing.assert_allclose(step.magnified(values), values @ np.abs(weight).T, rtol=1e-12)


def test_a_large_convolution_is_kept_sparse_without_being_asked():
    rng = np.random.default_rng(0)
    layers = [
        Transpose(),
        Conv1d(rng.normal(size=(8, 5, 3)), rng.normal(size=8)),
        Relu(),
        MaxPool(),
    ]
    network = Network.build([*layers, Dense(rng.normal(size=(2, 8)), np.zeros(2))], (100, 5))
    assert not isinstance(network.steps[0].weight, np.ndarray)
    assert isinstance(network.steps[-1].weight, np.ndarray)


# --- shapes that go in and out ---


def test_the_units_that_see_a_word_and_their_weights_make_up_the_whole():
    rng = np.random.default_rng(2)
    weight = np.where(rng.random((7, 12)) < 0.3, rng.standard_normal((7, 12)), 0.0)
    weight[:, 3:6] = 0.0  # a word that no unit sees
    half = scipy.sparse.csr_array(weight / 2)
    twice = (
        np.repeat(half.data, 2),
        np.repeat(half.indices, 2),
        2 * half.indptr,
    )  # every number in two parts
    step = Step(scipy.sparse.csr_array(twice, shape=(7, 12)), np.zeros(7), np.zeros(7, dtype=bool))
    whole = np.zeros((7, 12))
    for word, (units, seen) in enumerate(step.by_word(4)):
        assert seen.any(1).all()
        whole[units, 3 * word : 3 * word + 3] = seen
    np.testing.assert_array_equal(whole, weight)


@pytest.mark.parametrize("sparse", [False, True])
def test_other_vectors_for_one_word_give_the_scores_of_the_whole(sparse, monkeypatch):
    monkeypatch.setattr(networks, "SPARSE_SIZE", 0 if sparse else 10**9)
    rng = np.random.default_rng(0)
    layers = [
        Transpose(),
        Conv1d(rng.standard_normal((8, 2, 1)), rng.standard_normal(8)),
        Relu(),
        MaxPool(),
        Dense(rng.standard_normal((3, 8)), np.zeros(3)),
    ]
    network = Network.build(layers, shape=(12, 2))
    assert scipy.sparse.issparse(network.steps[0].weight) == sparse
    point = rng.standard_normal((12, 2))
    vectors = rng.standard_normal((5, 2))
    points = np.repeat(point[None], 5, axis=0)
    points[:, 7] = vectors
    assert np.allclose(
        network.forward_but(7, point, vectors), network.forward(points), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("lead", [(), (1,), (3,), (2, 3)])
def test_forward_takes_any_leading_axes_flat_or_as_words(lead):
    rng = np.random.default_rng(0)
    network = Network.dense([(rng.normal(size=(3, 8)), rng.normal(size=3))])
    points = rng.normal(size=(*lead, 4, 2))
    scores = network.forward(points)
    assert scores.shape == (*lead, 3)
    np.testing.assert_array_equal(scores, network.forward(points.reshape(*lead, 8)))


def test_the_size_of_a_network_counts_what_is_not_zero():
    network = Network.dense(
        [([[1.0, 0.0], [2.0, 3.0]], [0.0, 1.0]), ([[1.0, 1.0], [0.0, 1.0]], [0.0, 0.0])]
    )
    assert (network.inputs, network.outputs, network.relus) == (2, 2, 2)
    assert network.weights == 3 + 2 + 3 + 2


def test_a_negative_pre_activation_passes_where_the_mask_is_off():
    step = Step(np.eye(2), np.zeros(2), np.array([True, False]))
    assert step.activate(step.apply(np.array([[-1.0, -1.0]]))).tolist() == [[0.0, -1.0]]


# --- what does not fit together ---

two = Dense(np.ones((2, 6)), np.zeros(2))
misfits = {
    "a weight for other inputs": ([Dense(np.ones((2, 5)), np.zeros(2))], 0, "Dense"),
    "a bias that is too long": ([Dense(np.ones((2, 6)), np.zeros(3))], 0, "Dense"),
    "a bias of one number": ([Dense(np.ones((2, 6)), np.zeros(1))], 0, "Dense"),
    "a bias without an axis": ([Dense(np.ones((2, 6)), 0.0)], 0, "Dense"),
    "a weight without rows": ([Dense(np.ones(6), np.zeros(1))], 0, "Dense"),
    "a ragged weight": ([Dense([[1.0] * 6, [1.0]], np.zeros(2))], 0, "Dense"),
    "words in a weight": ([Dense("heavy", np.zeros(2))], 0, "Dense"),
    "a second layer for other inputs": (
        [two, Relu(), Dense(np.ones((2, 3)), np.zeros(2))],
        2,
        "Dense",
    ),
    "a kernel for other channels": (
        [Transpose(), Conv1d(np.ones((4, 3, 2)), np.zeros(4))],
        1,
        "Conv1d",
    ),
    "a kernel wider than the text": (
        [Transpose(), Conv1d(np.ones((4, 2, 4)), np.zeros(4))],
        1,
        "Conv1d",
    ),
    "a kernel bias that is too short": (
        [Transpose(), Conv1d(np.ones((4, 2, 3)), np.zeros(1))],
        1,
        "Conv1d",
    ),
    "a stride of nothing": (
        [Transpose(), Conv1d(np.ones((4, 2, 1)), np.zeros(4), stride=0)],
        1,
        "Conv1d",
    ),
    "a stride backwards": (
        [Transpose(), Conv1d(np.ones((4, 2, 1)), np.zeros(4), stride=-1)],
        1,
        "Conv1d",
    ),
    "negative padding": (
        [Transpose(), Conv1d(np.ones((4, 2, 1)), np.zeros(4), padding=-1)],
        1,
        "Conv1d",
    ),
    "a 2-d convolution without a grid": (
        [Transpose(), Conv2d(np.ones((1, 2, 1, 1)), [0.0])],
        1,
        "Conv2d",
    ),
    "a 2-d stride of one number": (
        [Grid(1, 3), Conv2d(np.ones((1, 2, 1, 1)), [0.0], (1,))],
        1,
        "Conv2d",
    ),
    "a 1-d convolution on a grid": ([Grid(1, 3), Conv1d(np.ones((1, 2, 1)), [0.0])], 1, "Conv1d"),
    "a grid of other size": ([Grid(2, 2)], 0, "Grid"),
    "a grid of no words": ([Flatten(), Grid(2, 3)], 1, "Grid"),
    "a window wider than the text": ([Transpose(), MaxPool((4,))], 1, "MaxPool"),
    "a window of two axes": ([Transpose(), MaxPool((1, 1))], 1, "MaxPool"),
    "a window of nothing": ([Transpose(), AvgPool((0,))], 1, "AvgPool"),
    "a pool stride backwards": ([Transpose(), AvgPool((2,), (-1,))], 1, "AvgPool"),
    "a pool stride for one axis": ([Grid(1, 3), MaxPool((1, 2), (1,))], 1, "MaxPool"),
    "a pool over a flat layer": ([Flatten(), MaxPool()], 1, "MaxPool"),
    "a window that is not a tuple": ([Transpose(), MaxPool(2)], 1, "MaxPool"),
    "a mean of no words": ([Flatten(), Mean()], 1, "Mean"),
    "batch norm of other channels": ([Transpose(), BatchNorm(*np.ones((4, 3)))], 1, "BatchNorm"),
    "batch norm of one channel": ([Transpose(), BatchNorm(*np.ones((4, 1)))], 1, "BatchNorm"),
    "a negative variance": (
        [Transpose(), BatchNorm([0, 0], [1, -1], [1, 1], [0, 0])],
        1,
        "BatchNorm",
    ),
}


@pytest.mark.parametrize(("layers", "place", "name"), misfits.values(), ids=misfits.keys())
def test_a_layer_that_does_not_fit_is_named(layers, place, name):
    with pytest.raises(ModelError, match=rf"^Layer {place} \({name}\)"):
        Network.build([*layers, Flatten()], (3, 2))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", range(3))
def test_a_weight_that_is_not_finite_is_refused_and_named(bad, where):
    weights = [np.ones((2, 2)) for _ in range(3)]
    weights[where][1, 1] = bad
    weights[where][0, 0] = -bad
    with pytest.raises(ModelError, match=rf"^Layer {2 * where} \(Dense\).*not a finite number"):
        Network.dense([(weight, np.zeros(2)) for weight in weights])


def test_a_bias_that_is_not_finite_is_refused():
    with pytest.raises(ModelError, match="not a finite number"):
        Network.dense([(np.ones((2, 2)), [0.0, math.nan])])


def test_steps_read_from_elsewhere_are_checked_too():
    good = Step(np.ones((2, 2)), np.zeros(2), np.zeros(2, dtype=bool))
    wide = Step(np.ones((2, 3)), np.zeros(2), np.zeros(2, dtype=bool))
    short = Step(np.ones((2, 2)), np.zeros(1), np.zeros(1, dtype=bool))
    nan = Step(np.array([[math.inf, -math.inf], [1.0, 1.0]]), np.zeros(2), np.zeros(2, dtype=bool))
    active = Step(np.ones((2, 2)), np.zeros(2), np.ones(2, dtype=bool))
    assert validated([active, good]) == (active, good)
    for steps, message in [
        ([good, wide], "Step 1 takes 3 values but step 0 gives 2"),
        ([short], "Step 0 has a weight"),
        ([nan], "Step 0 holds a weight that is not a finite number"),
        ([good, active], "The last step must be affine"),
        ([], "The last step"),
    ]:
        with pytest.raises(ModelError, match=message):
            validated(steps)


@pytest.mark.parametrize("weight", [1.0, [1.0, 2.0], [[1.0, 2.0], [3.0]]])
def test_a_first_weight_that_is_not_a_matrix_is_refused(weight):
    with pytest.raises(ModelError, match=r"^Layer 0 \(Dense\)"):
        Network.dense([(weight, [1.0, 2.0])])


def test_a_network_needs_a_layer_and_two_scores():
    with pytest.raises(ModelError, match="at least one"):
        Network.dense([])
    with pytest.raises(ModelError, match="at least two labels"):
        Network.dense([(np.ones((1, 2)), [0.0])])
