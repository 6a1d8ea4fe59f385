"""from_torch: layers alone and together give the module's own scores; what cannot be bounded is
refused by name.
"""

from __future__ import annotations

import json
import pickle
import sys
import warnings
import zipfile

import numpy as np
import pytest

import suffice as sf
from suffice.errors import ModelError
from suffice.importers import rules
from suffice.importers import torch as torch_importer
from suffice.importers.compare import random_rows, scores_of

torch = pytest.importorskip("torch")
nn = torch.nn
F = torch.nn.functional

LENGTH = 10
WIDTH = 6
WORDS = ["<PAD>", "<UNK>", *(f"w{i}" for i in range(22))]
LABELS = ["no", "yes"]
MANY = len(WORDS)


class Body(nn.Module):
    """An embedding, something in the middle on (1, length, width) or (1, width, length), and a
    linear end.
    """

    def __init__(self, middle, outputs=2, channels_first=True, table=WIDTH):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), table)
        self.middle = middle
        self.channels_first = channels_first
        probe = middle(self._arranged(self.embedding(torch.zeros(1, LENGTH, dtype=torch.long))))
        self.end = nn.Linear(probe.numel(), outputs)

    def _arranged(self, x):
        return x.transpose(1, 2) if self.channels_first else x

    def forward(self, words):
        return self.end(self.middle(self._arranged(self.embedding(words))).flatten(1))


class Step(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def seeded(make):
    torch.manual_seed(3)
    return make()


def imported(module, length=LENGTH, labels=LABELS, **more):
    return sf.from_torch(module, vocabulary=WORDS, labels=labels, length=length, **more)


def answers(module, rows, outputs=2):
    with torch.no_grad():
        return np.stack(
            [module(torch.as_tensor(row[None])).numpy().reshape(outputs) for row in rows]
        )


def assert_same(module, **more):
    """Our scores are those of the module in double precision, to 1e-6."""
    module = module.double().eval()
    classifier = imported(module, **more)
    rows = random_rows(classifier, 60, seed=7)
    assert np.abs(scores_of(classifier, rows) - answers(module, rows)).max() < 1e-6
    return classifier


def trained_norm(norm):
    """Batch norm whose running statistics are not the ones it starts with."""
    with torch.no_grad():
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
        norm.weight.uniform_(-1, 1)
        norm.bias.uniform_(-1, 1)
    return norm.eval()


LAYERS = {
    "flatten": lambda: nn.Flatten(),
    "linear": lambda: nn.Linear(LENGTH, 4),
    "linear without bias": lambda: nn.Linear(LENGTH, 4, bias=False),
    "conv1d": lambda: nn.Conv1d(WIDTH, 4, 3),
    "conv1d strided": lambda: nn.Conv1d(WIDTH, 4, 3, stride=2, padding=2, dilation=2, bias=False),
    "conv1d groups": lambda: nn.Conv1d(WIDTH, 4, 3, groups=2),
    "conv1d same": lambda: nn.Conv1d(WIDTH, 4, 4, padding="same"),
    "conv1d valid": lambda: nn.Conv1d(WIDTH, 4, 4, padding="valid"),
    "conv2d": lambda: nn.Sequential(nn.Unflatten(1, (1, WIDTH)), nn.Conv2d(1, 3, (WIDTH, 3), padding=(0, 1))),
    "conv2d strided": lambda: nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Conv2d(2, 4, 2, (1, 2), 1, (2, 1), 2)),
    "max pool": lambda: nn.MaxPool1d(2),
    "max pool padded": lambda: nn.MaxPool1d(3, stride=2, padding=1, dilation=2, ceil_mode=True),
    "max pool 2d": lambda: nn.Sequential(nn.Unflatten(1, (2, 3)), nn.MaxPool2d((2, 3), (1, 2), (1, 0))),
    "average pool": lambda: nn.AvgPool1d(3, stride=2),
    "average pool padded": lambda: nn.AvgPool1d(3, stride=2, padding=1, ceil_mode=True),
    "average pool not counted": lambda: nn.AvgPool1d(3, padding=1, count_include_pad=False),
    "average pool 2d": lambda: nn.Sequential(nn.Unflatten(1, (2, 3)), nn.AvgPool2d(2, 1, 1)),
    "adaptive average that divides": lambda: nn.AdaptiveAvgPool1d(5),
    "adaptive average that does not": lambda: nn.AdaptiveAvgPool1d(3),
    "adaptive max that divides": lambda: nn.AdaptiveMaxPool1d(5),
    "adaptive max that does not": lambda: nn.AdaptiveMaxPool1d(4),
    "adaptive 2d": lambda: nn.Sequential(nn.Unflatten(1, (2, 3)), nn.AdaptiveAvgPool2d((2, 3))),
    "mean": lambda: Step(lambda x: x.mean(2)),
    "sum": lambda: Step(lambda x: x.sum(-1, keepdim=True)),
    "max": lambda: Step(lambda x: x.max(dim=2).values),
    "max of all": lambda: Step(lambda x: x.max().reshape(1, 1) + x.mean(1)),
    "amax": lambda: Step(lambda x: x.amax((1, 2), keepdim=True) - x),
    "min": lambda: Step(lambda x: x.min(dim=2)[0] + x.amin(2)),
    "batch norm": lambda: trained_norm(nn.BatchNorm1d(WIDTH)),
    "batch norm 2d": lambda: nn.Sequential(nn.Unflatten(1, (2, 3)), trained_norm(nn.BatchNorm2d(2))),
    "batch norm without weights": lambda: nn.BatchNorm1d(WIDTH, affine=False),
    "dropout": lambda: nn.Dropout(0.5),
    "dropout in place": lambda: nn.Dropout(0.5, inplace=True),
    "relu": lambda: nn.ReLU(),
    "relu in place": lambda: nn.Sequential(nn.Conv1d(WIDTH, 4, 1), nn.ReLU(inplace=True)),
    "leaky relu": lambda: nn.LeakyReLU(0.2),
    "prelu": lambda: nn.PReLU(),
    "prelu of channels": lambda: nn.PReLU(WIDTH, init=0.3),
    "relu6": lambda: nn.ReLU6(),
    "hardtanh": lambda: nn.Hardtanh(-0.4, 0.7),
    "hardsigmoid": lambda: nn.Hardsigmoid(),
    "clamp": lambda: Step(lambda x: x.clamp(-0.3, 0.5) + x.clamp(min=0.1) + x.clamp(max=0.2)),
    "tanh": lambda: nn.Tanh(),
    "sigmoid": lambda: nn.Sigmoid(),
    "gelu": lambda: nn.GELU(),
    "gelu by tanh": lambda: nn.GELU(approximate="tanh"),
    "silu": lambda: nn.SiLU(),
    "elu": lambda: nn.ELU(),
    "elu with alpha": lambda: nn.ELU(0.5),
    "celu": lambda: nn.CELU(0.6),
    "selu": lambda: nn.SELU(),
    "softplus": lambda: nn.Softplus(),
    "softplus with beta": lambda: nn.Softplus(beta=2),
    "softmax": lambda: nn.Softmax(dim=1),
    "abs": lambda: Step(torch.abs),
    "written out silu": lambda: Step(lambda x: x * torch.sigmoid(x)),
    "written out gelu": lambda: Step(lambda x: 0.5 * x * (1 + torch.erf(x / 2**0.5))),
    "written out softplus": lambda: Step(lambda x: torch.log(1 + torch.exp(x))),
    "residual": lambda: Step(lambda x: x + F.relu(x) * 2 - 0.5),
    "constants": lambda: Step(lambda x: (3 - x) / 4 + 2 * x),
    "in place arithmetic": lambda: Step(lambda x: F.relu(x).mul_(2).add_(x)),
    "maximum": lambda: Step(lambda x: torch.maximum(x, -x) + torch.minimum(x, 2 * x)),
    "concatenation": lambda: Step(lambda x: torch.cat([x, F.relu(x), torch.ones(1, WIDTH, 2)], 2)),
    "stack": lambda: Step(lambda x: torch.stack([x, -x], 1)),
    "view": lambda: Step(lambda x: x.reshape(1, 3, -1)[:, 1:, ::2]),
    "permute": lambda: Step(lambda x: x.permute(2, 0, 1).contiguous().view(5, -1)[None]),
    "select": lambda: Step(lambda x: x[:, 2].unsqueeze(1).squeeze(0)[:, :WIDTH] + x[..., -1:].mT),
    "split": lambda: Step(lambda x: x.split(4, 2)[1] - x.chunk(3, 2)[0]),
    "pad": lambda: Step(lambda x: F.pad(x, (1, 2), value=0.5)),
    "expand": lambda: Step(lambda x: x.mean(2, keepdim=True).expand(-1, -1, 3) + x[:, :, :3].flip(2)),
    "repeat": lambda: Step(lambda x: x.repeat(1, 2, 1)),
    "constant matrix": lambda: Step(lambda x: torch.ones(3, WIDTH) @ x @ torch.eye(LENGTH)),
    "einsum": lambda: Step(lambda x: torch.einsum("bcl,cd->bld", x, torch.full((WIDTH, 2), 0.3))),
    "positions": lambda: Step(lambda x: x + torch.arange(LENGTH) / 10),
}  # fmt: skip
SINGLE_PRECISION = {
    "concatenation",
    "constant matrix",
    "einsum",
}  # their constants are made in float32


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize("name", sorted(LAYERS))
def test_a_layer_gives_the_scores_of_the_module(name):
    kind = torch.float32 if name in SINGLE_PRECISION else torch.float64
    torch.set_default_dtype(kind)
    try:
        module = seeded(lambda: Body(LAYERS[name]())).to(kind)
        classifier = imported(module)
    finally:
        torch.set_default_dtype(torch.float32)
    rows = random_rows(classifier, 60, seed=7)
    gap = np.abs(scores_of(classifier, rows) - answers(module.eval(), rows)).max()
    assert gap < (1e-5 if name in SINGLE_PRECISION else 1e-6)
    assert classifier.meta["import"]["largest difference"] < 1e-5


# --- layers together ---


def random_middle(rng):
    """A few one-dimensional layers that fit each other, with a residual branch and a concatenation
    somewhere.
    """
    channels = WIDTH
    layers = []
    for _ in range(rng.integers(2, 5)):
        match rng.integers(6):
            case 0:
                new = int(rng.integers(1, 4)) * 2
                layers.append(
                    nn.Conv1d(channels, new, int(rng.integers(1, 4)), padding=1, groups=2)
                )
                channels = new
            case 1:
                layers.append(
                    rng.choice(
                        [nn.MaxPool1d(2, 1, 1), nn.AvgPool1d(3, 1, 1), nn.AdaptiveMaxPool1d(4)]
                    )
                )
            case 2:
                layers.append(
                    rng.choice(
                        [nn.ReLU(), nn.LeakyReLU(), nn.ReLU6(), nn.GELU(), nn.Tanh(), nn.ELU(0.7)]
                    )
                )
            case 3:
                layers.append(trained_norm(nn.BatchNorm1d(channels)))
            case 4:
                layers.append(Step(lambda x: x + F.relu(x - 0.1)))
            case 5:
                layers.append(Step(lambda x: torch.cat([x, -x.clamp(-1, 0.5)], 1)))
                channels *= 2
    return nn.Sequential(*layers)


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_give_the_scores_of_the_module(seed):
    torch.manual_seed(seed)
    assert_same(Body(random_middle(np.random.default_rng(seed))))


class Kim(nn.Module):
    """The convolutional sentence classifier of Kim (2014): filters of several widths, the maximum
    of each.
    """

    def __init__(self, dimension=5, filters=3, widths=(2, 3, 4), words=MANY):
        super().__init__()
        self.embedding = nn.Embedding(words, dimension, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(dimension, filters, width) for width in widths)
        self.dropout = nn.Dropout(0.5)
        self.end = nn.Linear(filters * len(widths), 2)

    def forward(self, words):
        x = self.embedding(words).transpose(1, 2)
        found = [F.relu(layer(x)).max(dim=2).values for layer in self.convolutions]
        return F.log_softmax(self.end(self.dropout(torch.cat(found, 1))), dim=1)


SENTENCES = [
    ("a warm and funny film that stays with you", 1),
    ("funny clever and full of warm people", 1),
    ("a clever story told with a warm heart", 1),
    ("the actors are great and the story is clever", 1),
    ("a dull film that never wakes up", 0),
    ("dull people in a boring story", 0),
    ("the story is boring and the jokes are stale", 0),
    ("a stale film with boring actors", 0),
]


def test_a_trained_text_cnn_from_import_to_certificate(tmp_path):
    words = ["<PAD>", "<UNK>", *sorted({word for text, _ in SENTENCES for word in text.split()})]
    torch.manual_seed(1)
    module = Kim(words=len(words))
    rows = [[words.index(word) for word in text.split()] for text, _ in SENTENCES]
    inputs = torch.tensor([(row + [0] * LENGTH)[:LENGTH] for row in rows])
    classes = torch.tensor([label for _, label in SENTENCES])
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(80):
        optimizer.zero_grad()
        F.nll_loss(module(inputs), classes).backward()
        optimizer.step()
    assert module.training
    classifier = sf.from_torch(module, vocabulary=words, labels=LABELS, length=LENGTH)
    assert module.training  # the caller's module stays as it was
    assert classifier.predict("a warm and clever film").label == "yes"
    assert classifier.predict("boring and dull").label == "no"
    classifier.save(tmp_path / "model")
    again = sf.load(tmp_path / "model")
    assert again.digest == classifier.digest
    assert again.meta["import"]["from"] == "the Kim module"
    result = sf.explain(again, "a warm and clever film", perturbation=sf.KNNBox(k=3))
    assert result.status == "optimal"
    assert sf.check(result.certificate, classifier)


# --- words ---


class Summed(nn.Module):
    """A bag of words, with whatever a function makes of the vectors."""

    def __init__(self, function, rows=MANY):
        super().__init__()
        self.first = nn.Embedding(rows, 4)
        self.second = nn.Embedding(rows, 3)
        self.end = nn.Linear(7, 2)
        self.function = function

    def forward(self, words):
        return self.end(self.function(self, words))


def test_several_tables_of_the_same_words_stand_side_by_side():
    module = seeded(
        lambda: Summed(lambda self, w: torch.cat([self.first(w), self.second(w)], 2).max(1).values)
    )
    classifier = assert_same(module)
    tables = [module.first.weight, module.second.weight]
    assert np.array_equal(classifier.table, np.hstack([table.detach().numpy() for table in tables]))


def test_one_table_used_twice_is_one_embedding():
    both = seeded(
        lambda: Summed(
            lambda self, w: torch.cat([self.first(w), F.relu(self.first(w))[..., :3]], 2).sum(1)
        )
    )
    assert assert_same(both).dimension == 4


def test_masked_words_are_looked_up_as_masked():
    def masked(self, words):
        mask = (words != 0).unsqueeze(-1)
        return torch.cat(
            [(self.first(words) * mask), self.second(words).masked_fill(~mask, 0.25)], 2
        ).sum(1)

    classifier = assert_same(seeded(lambda: Summed(masked)))
    assert np.array_equal(classifier.table[0], [0] * 4 + [0.25] * 3)


@pytest.mark.parametrize("low", [-1e4, -1e9])
def test_a_maximum_over_real_words_is_one_with_a_low_padding(low):
    """Of padding alone it is as low as that, and single precision is off by as much more."""

    def masked(self, words):
        padding = (words == 0).unsqueeze(-1)
        tables = (self.first(words), self.second(words))
        return torch.cat([vectors.masked_fill(padding, low).amax(1) for vectors in tables], 1)

    module = seeded(lambda: Summed(masked)).eval()
    found = imported(module)
    rows = random_rows(found, 60, seed=4)
    rows = rows[(rows != 0).any(1)]
    assert np.abs(scores_of(found, rows) - answers(module, rows)).max() < 1e-5
    assert found.table[0].tolist() == [low] * 7


def test_a_count_of_words_is_a_column_of_its_own():
    def counted(self, words):
        count = (words > 1).to(self.end.weight.dtype).sum(1, keepdim=True)
        return torch.cat([self.first(words).sum(1), count, count * 2, 1 - count], 1)

    assert assert_same(seeded(lambda: Summed(counted))).dimension == 5


# --- means over a mask, as users write them ---


def divided(self, words, count):
    mask = (words != 0).unsqueeze(-1).float()
    return (self.embedding(words) * mask).sum(1) / count(mask)


def spread(self, words):
    mask = (words != 0).unsqueeze(-1).expand(-1, -1, 4).float()
    return torch.sum(self.embedding(words) * mask, 1) / torch.clamp(mask.sum(1), min=1e-9)


def weighted(self, words):
    mask = (words != 0).to(self.places.dtype)
    return torch.bmm(
        (mask / mask.sum(1, keepdim=True)).unsqueeze(1), self.embedding(words)
    ).squeeze(1)


def two_tables(self, words):
    there = words.ne(0)
    count = there.sum(1, keepdim=True).clamp(min=1)
    first = self.embedding(words).masked_fill(~there.unsqueeze(2), 0.0).sum(1) / count
    return first + (self.second(words) * there[..., None]).sum(1) / count


def shifted(self, words):
    """The mean of what stands before it has biases of its own, and padding adds to it."""
    return (F.relu(self.embedding(words)) + self.places).sum(1) / (words != 0).sum(
        1, keepdim=True
    ).clamp(min=1)


MASKED = {
    "a plain division": lambda self, words: divided(self, words, lambda mask: mask.sum(1)),
    "at least one": lambda self, words: divided(self, words, lambda mask: mask.sum(1).clamp(min=1)),
    "at least a hair": lambda self, words: divided(self, words, lambda mask: mask.sum(1).clamp_min(1e-9)),
    "a hair more": lambda self, words: divided(self, words, lambda mask: mask.sum(1) + 1e-8),
    "one more": lambda self, words: divided(self, words, lambda mask: mask.sum(1) + 1),
    "a root": lambda self, words: divided(self, words, lambda mask: mask.sum(1).sqrt()),
    "the maximum with one": lambda self, words: divided(self, words, lambda mask: torch.maximum(mask.sum(1), ONE)),
    "one where there are none": lambda self, words: divided(
        self, words, lambda mask: torch.where(mask.sum(1) == 0, ONE, mask.sum(1))
    ),
    "times the reciprocal": lambda self, words: divided(self, words, lambda mask: 1 / mask.mean(1)) / LENGTH,
    "means of both": lambda self, words: (self.embedding(words) * (words != 0)[..., None]).mean(1)
    / (words != 0).float().mean(1, keepdim=True),
    "a mask as wide as the vectors": spread,
    "weights that add up to one": weighted,
    "einsum": lambda self, words: torch.einsum("bl,bld->bd", (words != 0).type_as(self.places), self.embedding(words))
    / (words != 0).sum(1, keepdim=True),
    "behind dropout": lambda self, words: (self.dropout(self.embedding(words)) * (words > 0)[..., None])
    .sum(1).div((words > 0).sum(1, keepdim=True)),
    "turned": lambda self, words: (self.embedding(words).transpose(1, 2) * (words != 0).unsqueeze(1)).sum(2)
    / (words != 0).sum(1).unsqueeze(1),
    "padding's own vector is zero": lambda self, words: self.zeroed(words).sum(1) / (words != 0).sum(1, keepdim=True),
    "padding's own vector is not": lambda self, words: self.embedding(words).sum(1)
    / (words != 0).sum(1, keepdim=True).clamp(min=1),
    "two tables": two_tables,
    "unknown words left out, too": lambda self, words: (self.embedding(words) * (words > 1)[..., None]).sum(1)
    / (words > 1).sum(1, keepdim=True).clamp(min=1),
    "sums that have biases": shifted,
}  # fmt: skip
ONE = torch.ones(())


class Averaged(nn.Module):
    def __init__(self, mean, between=nn.ReLU, outputs=2):
        super().__init__()
        self.embedding, self.second = nn.Embedding(MANY, 4), nn.Embedding(MANY, 4)
        self.zeroed = nn.Embedding(MANY, 4, padding_idx=0)
        self.places, self.dropout = nn.Parameter(torch.randn(1, LENGTH, 4)), nn.Dropout(0.5)
        self.end = nn.Sequential(
            nn.Linear(4, 6), between(), nn.Linear(6, 5), nn.LeakyReLU(), nn.Linear(5, outputs)
        )
        self.mean = mean

    def forward(self, words):
        return self.end(self.mean(self, words))


def texts_of_every_number_of_words(length, seed=0):
    """Index rows with padding anywhere, as words that are removed leave it, and without
    any word.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for count in [0, 0, *range(length + 1)] * 6:
        row = np.zeros(length, dtype=np.int64)
        row[rng.permutation(length)[:count]] = rng.integers(1, MANY, count)
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("outputs", [1, 2, 3])
@pytest.mark.parametrize("name", sorted(MASKED))
def test_a_mean_over_a_mask_has_the_order_of_the_modules_scores(name, outputs):
    """By one positive factor for each text; where the module divides by zero it has no answer, and
    here is a tie.
    """
    module = seeded(lambda: Averaged(MASKED[name], outputs=outputs)).double().eval()
    found = imported(module, labels=["a", "b", "c"][: max(2, outputs)])
    rows = texts_of_every_number_of_words(found.length)
    theirs = answers(module, rows, outputs)
    ours = scores_of(found, rows)
    theirs = np.hstack([np.zeros((len(rows), 1)), theirs]) if outputs == 1 else theirs
    known = np.isfinite(theirs).all(1)
    assert known[(rows > 1).any(1)].all()
    assert not ours[~known].any()
    factor = np.abs(ours[known]).sum(1) / np.abs(theirs[known]).sum(1)
    assert (factor > 0).all()
    assert np.abs(ours[known] - theirs[known] * factor[:, None]).max() < 1e-6 * np.abs(ours).max()


def test_what_a_mean_over_a_mask_answers_is_proved_of_the_module():
    module = seeded(lambda: Averaged(MASKED["a plain division"])).eval()
    found = imported(module)
    text = ["w2", "w5", "w9", "w12"]
    result = sf.explain(found, text, perturbation=sf.Deletion())
    assert result.status == "optimal"
    assert result.meta["checked"]
    # the text without words has no answer, so that no label is sure without any word
    assert result.positions
    own = np.array(found.read(text).indices)
    every = [
        np.where(np.isin(np.arange(LENGTH), [i for i in range(4) if kept >> i & 1]), own, 0)
        for kept in range(16)
    ]
    with np.errstate(all="ignore"):
        winners = dict(enumerate(answers(module, np.array(every))))
    keeps = {
        kept: np.isfinite(row).all() and LABELS[int(row.argmax())] == result.label
        for kept, row in winners.items()
    }

    def suffices(chosen):
        return all(keeps[kept] for kept in range(16) if kept & chosen == chosen)

    cheapest = min(chosen.bit_count() for chosen in range(16) if suffices(chosen))
    assert suffices(sum(1 << i for i in result.positions))
    assert len(result.positions) == cheapest


def test_no_set_moves_the_coordinate_that_counts_words():
    """Whether a word is counted hangs on the word: a ball of vectors, or a box from padding to
    words, would move it.
    """
    found = imported(seeded(lambda: Averaged(MASKED["at least one"])))
    (column,) = found.meta["import"]["still"]
    assert found.table[:, column].tolist() == [0.0] + [1.0] * (MANY - 1)
    for perturbation, more in ((sf.EpsilonBall(0.1), {}), (sf.KNNBox(2), {"padding": "feature"})):
        with pytest.raises(sf.InputError, match="counts or marks words by what they are"):
            sf.explain(found, "w1 w2", perturbation=perturbation, **more)
    center = found.embed(found.read("w1 w2"))
    wide = np.where(np.arange(center.shape[1]) == column, 0.0, 0.1)
    assert (
        sf.explain(found, "w1 w2", perturbation=sf.Boxes(center - wide, center + wide)).status
        == "optimal"
    )
    with pytest.raises(sf.InputError, match=f"boxes without extent in the coordinates {column}"):
        sf.explain(found, "w1 w2", perturbation=sf.Boxes(center - 0.1, center + 0.1))
    for perturbation in (
        sf.KNNBox(2),
        sf.KNNHull(2),
        sf.WordSwap({"w1": ["w7"]}),
        sf.EpsilonBall(0.0),
    ):
        assert sf.explain(found, "w1 w2", perturbation=perturbation).status == "optimal"
    assert (
        sf.explain(found, "w1 w2", perturbation=sf.Deletion(), padding="feature").status
        == "optimal"
    )


def test_what_a_saved_model_says_of_such_coordinates_is_kept(tmp_path):
    imported(seeded(lambda: Averaged(MASKED["at least one"]))).save(tmp_path / "model")
    with pytest.raises(sf.InputError, match="use KNNBox or KNNHull"):
        sf.explain(sf.load(tmp_path / "model"), "w1 w2", perturbation=sf.EpsilonBall(0.1))


UNEQUAL = {
    "another look at the words": (
        lambda self, words: MASKED["at least one"](self, words) + self.embedding(words).amax(1),
        "add.Tensor at the top .*stands beside another look at the words",
    ),
    "another mean of the words": (
        lambda self, words: MASKED["at least one"](self, words) + MASKED["one more"](self, words),
        "add.Tensor at the top .*stands beside another look at the words",
    ),
    "the number of words beside it": (
        lambda self, words: MASKED["at least one"](self, words) + (words != 0).float().sum(1, keepdim=True),
        "add.Tensor at the top .*stands beside another look at the words",
    ),
    "padding's vector divided by no words": (
        lambda self, words: self.embedding(words).sum(1) / (words != 0).sum(1, keepdim=True),
        (r"div.Tensor at the top .*what padding adds is divided by zero: take at least 1, as "
            r"clamp\(min=1\) does"),
    ),
    "a number of words that may be below zero": (
        lambda self, words: divided(self, words, lambda mask: mask.sum(1) - 2),
        "div.Tensor at the top .*not above zero for some numbers of words",
    ),
    "the padding is another word": (
        lambda self, words: (self.embedding(words) * (words != 3)[..., None]).sum(1)
        / (words != 3).sum(1, keepdim=True),
        "Its means leave out 'w1', and count '<PAD>', the padding, as a word: give pad='w1'",
    ),
    "one mean times another": (
        lambda self, words: MASKED["at least one"](self, words) * MASKED["at least one"](self, words),
        "mul.Tensor at the top .*both depend on the text",
    ),
    "what is learnt for each word": (
        lambda self, words: (self.embedding(words) * self.second(words)[..., :1]).sum(1)
        / self.second(words)[..., 0].sum(1, keepdim=True),
        "mul.Tensor at the top .*both depend on the text",
    ),
    "words in the order of their places": (
        lambda self, words: (self.embedding(words) * (torch.arange(LENGTH) < (words != 0).sum(1))[None, :, None]).sum(1)
        / (words != 0).sum(1, keepdim=True),
        "cannot be imported",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(UNEQUAL))
def test_what_is_no_mean_over_words_is_refused_with_the_reason(name):
    mean, reason = UNEQUAL[name]
    with pytest.raises(ModelError, match=f"(?s){reason}"):
        imported(seeded(lambda: Averaged(mean)))


@pytest.mark.parametrize("between", [nn.Tanh, nn.GELU, nn.Sigmoid])
def test_a_mean_over_a_mask_before_smooth_activations_is_refused(between):
    """Then the scores times the number of words are not the network on the sum."""
    with pytest.raises(
        ModelError, match=r"exact only with activations of straight pieces.*sf\.from_function"
    ):
        imported(seeded(lambda: Averaged(MASKED["at least one"], between)))


def test_smooth_activations_before_a_mean_over_a_mask_are_no_obstacle():
    def mean(self, words):
        return torch.tanh(self.zeroed(words)).sum(1) / (words != 0).sum(1, keepdim=True).clamp(
            min=1
        )

    module = seeded(lambda: Averaged(mean)).double().eval()
    found = imported(module)
    rows = texts_of_every_number_of_words(found.length)
    times = np.maximum((rows != 0).sum(1), 1)[:, None]
    assert np.abs(scores_of(found, rows) / times - answers(module, rows)).max() < 1e-6


def test_positions_may_have_vectors_too():
    class Placed(Summed):
        def __init__(self, function):
            super().__init__(function)
            self.places = nn.Embedding(LENGTH, 4)

    def placed(self, words):
        vectors = self.first(words) + self.places(torch.arange(words.shape[1]))
        return torch.cat([vectors, self.second(words)], 2).amax(1)

    assert_same(seeded(lambda: Placed(placed)))


class Bag(nn.Module):
    def __init__(self, mode, **more):
        super().__init__()
        self.bag = nn.EmbeddingBag(len(WORDS), 4, mode=mode, **more)
        self.end = nn.Linear(4, 2)

    def forward(self, words):
        return self.end(self.bag(words))


@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
def test_bags_of_words(mode):
    assert_same(seeded(lambda: Bag(mode)))


@pytest.mark.parametrize("left_out", [0, 3, MANY - 1])
def test_a_sum_that_leaves_padding_out_is_a_sum_with_zeros(left_out):
    module = seeded(lambda: Bag("sum", padding_idx=left_out))
    with torch.no_grad():
        module.bag.weight[left_out] = 5.0  # which PyTorch never adds, whatever stands there
    assert_same(module)


def test_a_maximum_that_leaves_padding_out_is_refused():
    with pytest.raises(
        ModelError, match=r"embedding_bag\S* at bag \(EmbeddingBag.*padding_idx leaves words out"
    ):
        imported(Bag("max", padding_idx=0))


def test_a_mean_that_leaves_padding_out_is_the_same_network_times_the_number_of_words():
    module = seeded(lambda: deep_bag(nn.ReLU(), padding_idx=0))
    with torch.no_grad():
        module.bag.weight[0] = 5.0  # which PyTorch never adds, whatever stands there
    found = imported(module)
    rng = np.random.default_rng(0)
    rows = []
    for count in [
        0,
        1,
        2,
        *range(1, found.length + 1),
    ] * 8:  # the text without words too: PyTorch's mean is zero there
        row = np.zeros(found.length, dtype=np.int64)
        row[rng.permutation(found.length)[:count]] = rng.integers(1, MANY, count)
        rows.append(row)
    rows = np.array(rows)
    theirs = answers(module, rows).astype(np.float64)
    ours = found.network.forward(found.table[rows]) / np.maximum((rows != 0).sum(1), 1)[:, None]
    assert np.allclose(ours, theirs, atol=1e-5)
    result = sf.explain(found, [WORDS[i] for i in (2, 3, 4, 5)], perturbation=sf.Deletion())
    assert result.status == "optimal"
    assert result.meta["checked"]


def deep_bag(between, **more):
    module = Bag("mean", **more)
    module.end = nn.Sequential(nn.Linear(4, 6), between, nn.Linear(6, 2))
    return module


def test_a_mean_that_leaves_padding_out_needs_straight_pieces_and_the_padding_by_its_name():
    with pytest.raises(ModelError, match="exact only with activations of straight pieces"):
        imported(seeded(lambda: deep_bag(nn.Tanh(), padding_idx=0)))
    with pytest.raises(ModelError, match="give pad='w1'"):
        imported(seeded(lambda: deep_bag(nn.ReLU(), padding_idx=3)))


def test_a_module_of_vectors_takes_an_embedding():
    class Vectors(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv1d(5, 3, 3)
            self.end = nn.Linear(3, 2)

        def forward(self, x):
            return self.end(F.relu(self.layer(x.transpose(1, 2))).amax(2))

    module = seeded(Vectors).double()
    table = np.random.default_rng(0).normal(size=(len(WORDS), 5))
    classifier = imported(module, embedding=table)
    rows = random_rows(classifier, 50, seed=2)
    with torch.no_grad():
        theirs = module(torch.as_tensor(table[rows])).numpy()
    assert np.abs(scores_of(classifier, rows) - theirs).max() < 1e-9


def test_vectors_that_are_shortened_when_looked_up_are_refused():
    module = seeded(
        lambda: Summed(lambda self, w: torch.cat([self.first(w), self.second(w)], 2).sum(1))
    )
    module.first.max_norm = 1.0
    with pytest.raises(ModelError, match=r"at first .Embedding.*max_norm shortens"):
        imported(module)


@pytest.mark.parametrize("words", [WORDS[:-1], [*WORDS, "one more"]])
def test_a_vocabulary_that_does_not_fit_the_table_is_refused(words):
    module = seeded(lambda: Bag("sum"))
    with pytest.raises(
        ModelError, match=f"the table has 24 rows but the vocabulary has {len(words)} words"
    ):
        sf.from_torch(module, vocabulary=words, labels=LABELS, length=LENGTH)


def test_a_vocabulary_may_be_a_mapping():
    module = seeded(lambda: Bag("sum"))
    numbers = {word: number for number, word in reversed(list(enumerate(WORDS)))}
    assert sf.from_torch(module, numbers, LABELS, LENGTH).vocabulary == tuple(WORDS)
    with pytest.raises(ModelError, match="without gaps"):
        sf.from_torch(module, numbers | {"w0": 99}, LABELS, LENGTH)


# --- ends ---


class Ended(nn.Module):
    def __init__(self, outputs, function):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Embedding(len(WORDS), 3), nn.Flatten(), nn.Linear(3 * LENGTH, outputs)
        )
        self.function = function

    def forward(self, words):
        return self.function(self.layers(words))


@pytest.mark.parametrize(
    "end", [lambda z: z, lambda z: z.softmax(1), lambda z: F.log_softmax(z, -1)]
)
def test_a_last_softmax_is_left_away(end):
    module = seeded(lambda: Ended(3, end)).double()
    classifier = imported(module, labels=["a", "b", "c"])
    rows = random_rows(classifier, 50, seed=1)
    plain = answers(module.layers, rows, 3)
    assert np.abs(scores_of(classifier, rows) - plain).max() < 1e-9
    assert not classifier.network.curved


@pytest.mark.parametrize(
    "end", [lambda z: z, torch.sigmoid, lambda z: z.sigmoid()[:, 0], lambda z: z[:, 0]]
)
def test_a_single_output_is_the_score_of_the_second_label(end):
    module = seeded(lambda: Ended(1, end)).double()
    classifier = imported(module)
    rows = random_rows(classifier, 50, seed=1)
    ours = scores_of(classifier, rows)
    assert not ours[:, 0].any()
    assert np.abs(ours[:, 1:] - answers(module.layers, rows, 1)).max() < 1e-9


def test_a_softmax_over_one_output_is_no_order_of_labels():
    """It is 1 whatever the text, and so says nothing; to leave it away would invent an answer."""
    with pytest.raises(ModelError, match="lies between 0 and 1 on all texts"):
        imported(seeded(lambda: Ended(1, lambda z: z.softmax(1))))


@pytest.mark.parametrize("end", [lambda z: torch.sigmoid(z).clamp(0.01, 0.99), F.hardsigmoid])
def test_a_probability_that_no_sigmoid_ends_is_refused(end):
    """It turns at 1/2, a score turns at 0: taken as a score every text would get the
    second label.
    """
    with pytest.raises(ModelError, match="lies between 0 and 1 on all texts"):
        imported(seeded(lambda: Ended(1, end)))


def test_a_softmax_over_the_wrong_axis_is_kept():
    classifier = imported(seeded(lambda: Ended(2, lambda z: z.softmax(0))))
    assert np.array_equal(scores_of(classifier, random_rows(classifier)), np.ones((64, 2)))


@pytest.mark.parametrize(("outputs", "labels"), [(3, LABELS), (2, ["a", "b", "c"]), (1, ["a"])])
def test_labels_must_fit_the_outputs(outputs, labels):
    with pytest.raises(ModelError, match=f"There are {len(labels)} labels"):
        imported(seeded(lambda: Ended(outputs, lambda z: z)), labels=labels)


# --- refusals ---


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), 4)
        self.memory = kind(4, 3, batch_first=True)
        self.end = nn.Linear(3, 2)

    def forward(self, words):
        return self.end(self.memory(self.embedding(words))[0][:, -1])


def test_a_plain_recurrent_network_is_a_deep_one():
    assert_same(seeded(lambda: Recurrent(nn.RNN)))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_recurrent_layers_are_refused_by_name_and_place(kind):
    with pytest.raises(ModelError) as refused:
        imported(seeded(lambda: Recurrent(kind)))
    assert f"at memory ({kind.__name__}, test_import_torch.py line" in str(refused.value)
    assert "recurrent" in str(refused.value)
    assert rules.KNOWN in str(refused.value)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.ask = nn.Linear(WIDTH, 4)

    def forward(self, x):
        return F.softmax(self.ask(x) @ self.ask(x).transpose(1, 2), -1) @ x


REFUSED = {
    "layer norm": (
        lambda: nn.LayerNorm(WIDTH),
        r"layer_norm.*at middle \(LayerNorm, .*spread that depends on the text",
    ),
    "attention": (
        Attention,
        (
            r"matmul.*at middle \(Attention, test_import_torch.py line \d+\).*both depend on the "
            r"text.*from_function"
        ),
    ),
    "multi-head attention": (
        lambda: nn.TransformerEncoderLayer(WIDTH, 2, 4, batch_first=True),
        "cannot be imported",
    ),
    "product": (lambda: Step(lambda x: x * x.roll(1, 1)), "middle .Step"),
    "sort": (
        lambda: Step(lambda x: x.sort(1).values),
        "sort.*not among the operators that are known",
    ),
    "rounding": (lambda: Step(lambda x: x.to(torch.int32) * 1.0), "rounds"),
    "dropout that is on": (
        lambda: Step(lambda x: F.dropout(x, 0.5)),
        "this dropout is on in eval mode too",
    ),
    "mish": (lambda: nn.Mish(), "mish.*not among the operators that are known"),
    "almost silu": (
        lambda: Step(lambda x: x * torch.sigmoid(1.1 * x)),
        r"mul.*middle \(Step.*both depend",
    ),
    "almost gelu": (
        lambda: Step(lambda x: 0.5 * x * (1 + torch.erf(x))),
        r"erf.*middle \(Step.*not among",
    ),
    "silu up to 7": (
        lambda: Step(lambda x: x * torch.sigmoid(x.clamp(-7, 7))),
        r"mul.*middle \(Step.*both depend",
    ),
    "softplus that jumps": (lambda: nn.Softplus(threshold=3), "its threshold of 3 makes it jump"),
    "statistics of a batch": (
        lambda: Step(lambda x: F.batch_norm(x, None, None, training=True)),
        "cannot be imported",
    ),
}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_bounded_is_refused_by_name_and_place(name):
    middle, reason = REFUSED[name]
    with pytest.raises(ModelError, match=f"(?s){reason}"):
        imported(seeded(lambda: Body(middle(), channels_first=False)))


def test_a_way_that_depends_on_the_text_is_refused_with_its_line():
    def forked(x):
        return -x if x.sum() > 0 else x

    with pytest.raises(
        ModelError, match=r"test_import_torch.py line \d+ .*must not depend on the values of a text"
    ):
        imported(seeded(lambda: Body(Step(forked))))


def test_a_wrong_import_is_refused_with_the_largest_difference(monkeypatch):
    """Here the importer is wrong on purpose: relu6 without its upper bound."""
    from suffice.importers import torch_rules as importer

    for name in ("relu6", "hardtanh"):
        monkeypatch.setitem(importer.RULES, name, lambda a: a.self.relu())
    module = seeded(lambda: Body(nn.Sequential(Step(lambda x: 5 * x), nn.ReLU6())))
    with pytest.raises(
        ModelError, match=r"disagrees with the Body module: the largest difference is \d\.\d+ of"
    ):
        imported(module)


def test_a_module_that_answers_at_random_is_refused():
    class Noisy(Bag):
        def forward(self, words):
            return super().forward(words) + torch.rand(1, 2)

    with pytest.raises(ModelError, match=r"rand.* at the top .Noisy.*it is random"):
        imported(Noisy("sum"))


@pytest.mark.parametrize("given", [{"weight": 1}, 3])
def test_what_is_no_module_is_refused(given):
    with pytest.raises(ModelError, match=r"is no torch.nn.Module"):
        imported(given)


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(sf.MissingExtra, match=r"extra 'torch'"):
        imported(None)


def test_a_module_that_cannot_be_copied_is_refused():
    module = Bag("sum")
    module.part = module.bag.weight * 2
    with pytest.raises(ModelError, match="cannot be copied"):
        imported(module)


def test_half_precision_is_refused():
    with pytest.raises(ModelError, match="half precision"):
        imported(Bag("sum").half())


def test_two_outputs_are_refused():
    with pytest.raises(ModelError, match="1 inputs and 2 outputs"):
        imported(seeded(lambda: Ended(2, lambda z: (z, z))))


# --- files ---


def test_an_exported_program_and_its_file(tmp_path):
    module = seeded(Kim).eval()
    words = torch.zeros(1, LENGTH, dtype=torch.long)
    program = export(module, words)
    torch.export.save(program, tmp_path / "model.pt2")
    digests = {
        imported(given).digest
        for given in (module, program, tmp_path / "model.pt2", str(tmp_path / "model.pt2"))
    }
    assert len(digests) == 1
    assert imported(tmp_path / "model.pt2").meta["import"]["from"] == "model.pt2"


def test_a_program_for_other_lengths_or_batches(tmp_path):
    module = seeded(Kim).eval()
    batch = torch.export.Dim("batch", max=64)
    program = export(module, torch.zeros(4, LENGTH, dtype=torch.long), dynamic_shapes=({0: batch},))
    assert imported(program).digest == imported(module).digest
    with pytest.raises(ModelError, match=r"one text of shape \(1, 7\)"):
        imported(program, length=7)
    fixed = export(module, torch.zeros(4, LENGTH, dtype=torch.long))
    with pytest.raises(ModelError, match=r"one text of shape \(1, 10\)"):
        imported(fixed)


def export(module, words, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch's own, about its own insides
        return torch.export.export(module, (words,), **more)


def test_weights_alone_and_pickles_are_refused_and_not_loaded(tmp_path):
    module = seeded(lambda: Bag("sum"))
    torch.save(module.state_dict(), tmp_path / "weights.pt")
    with pytest.raises(ModelError, match=r"weights.pt holds weights only.*load_state_dict"):
        imported(tmp_path / "weights.pt")
    torch.save(Trap(tmp_path / "sprung"), tmp_path / "whole.pth")
    with pytest.raises(ModelError, match=r"whole.pth is a pickle.*torch.export.save"):
        imported(tmp_path / "whole.pth")
    assert not (tmp_path / "sprung").exists()


class Trap:
    """What a hostile pickle does."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return type(self.path).touch, (self.path,)


def rewritten(folder, change, module=None):
    """A good file with the entries (by their names below the top folder) changed by
    `change(entries)`.
    """
    module = seeded(Kim) if module is None else module
    torch.export.save(
        export(module.eval(), torch.zeros(1, LENGTH, dtype=torch.long)), folder / "good.pt2"
    )
    with zipfile.ZipFile(folder / "good.pt2") as good:
        entries = {name.partition("/")[2]: good.read(name) for name in good.namelist()}
    change(entries)
    with zipfile.ZipFile(folder / "bad.pt2", "w") as bad:
        for name, content in entries.items():
            bad.writestr(f"bad/{name}", content)
    return folder / "bad.pt2"


def edited(name, edit):
    def change(entries):
        data = json.loads(entries[name])
        edit(data)
        entries[name] = json.dumps(data).encode()

    return change


WEIGHTS = "data/weights/model_weights_config.json"
CONSTANTS = "data/constants/model_constants_config.json"


def test_a_file_that_is_written_again_is_read(tmp_path):
    assert (
        imported(rewritten(tmp_path, lambda entries: None)).digest == imported(seeded(Kim)).digest
    )


def traps(trap):
    """Ways to bring a pickle to torch.export.load, each of which runs it there."""
    pickled = pickle.dumps(trap)

    def weight(path, use_pickle):
        def change(entries):
            def edit(data):
                first = next(iter(data["config"].values()))
                first |= {"path_name": path, "use_pickle": use_pickle}

            edited(WEIGHTS, edit)(entries)
            entries[f"data/weights/{path}"] = pickled

        return change

    def constant(path, use_pickle):
        def change(entries):
            entry = {
                "path_name": path,
                "is_param": False,
                "use_pickle": use_pickle,
                "tensor_meta": None,
            }
            edited(CONSTANTS, lambda data: data["config"].update(trap=entry))(entries)
            entries[f"data/constants/{path}"] = pickled

        return change

    def legacy(name):
        return lambda entries: entries.update({name: pickled})

    return {
        "a pickled weight": weight("weight_0", True),
        "a pickled weight in a subpath": weight("sub/w", True),
        "a pickled weight above": weight("../w", True),
        "a flag that is no boolean": weight("weight_0", 1),
        "an opaque object": constant("opaque_obj_0", False),
        "a custom object": constant("custom_obj_0", False),
        "a pickled constant": constant("tensor_0", True),
        "old weights": legacy("data/weights/model.pt"),
        "old constants": legacy("data/constants/model.pt"),
        "the oldest format": lambda e: (
            e.clear(),
            e.update({"serialized_state_dict.pt": pickled, "version": b"8.14"}),
        ),
        "a second model": lambda e: e.update({"models/other.json": e["models/model.json"]}),
        "compiled code": legacy("data/aotinductor/model/x.so"),
    }


@pytest.mark.parametrize("kind", traps(None))
def test_a_trap_in_an_exported_file_is_not_sprung(kind, tmp_path):
    file = rewritten(tmp_path, traps(Trap(tmp_path / "sprung"))[kind])
    with pytest.raises(ModelError, match=r"bad\.pt2 (cannot be imported|is no file)"):
        imported(file)
    assert not (tmp_path / "sprung").exists()


def test_a_pickle_that_is_not_needed_is_not_looked_at(tmp_path):
    """torch.export.save adds the example inputs as a pickle."""
    trap = pickle.dumps(Trap(tmp_path / "sprung"))
    file = rewritten(
        tmp_path, lambda entries: entries.update({"data/sample_inputs/model.pt": trap})
    )
    assert imported(file).digest == imported(seeded(Kim)).digest
    assert not (tmp_path / "sprung").exists()


def program(edit):
    return edited("models/model.json", lambda data: edit(data["graph_module"]["graph"], data))


def first_node(**changes):
    return program(lambda graph, _: graph["nodes"][0].update(changes))


def text(value):
    return [{"name": "x", "arg": {"as_string": value}, "kind": 1}]


HOSTILE = {
    "Python's own functions": (
        first_node(target="torch.os.system", inputs=text("touch sprung")),
        "torch.os.system",
    ),
    "a function of PyTorch": (first_node(target="torch.load", inputs=text("x")), "'torch.load'"),
    "an operator that reads files": (
        first_node(target="torch.ops.aten.from_file.default"),
        "from_file.default",
    ),
    "an operator of somebody": (
        first_node(target="torch.ops.other.op.default"),
        "no operator that is known",
    ),
    "private names": (
        first_node(target="torch.ops.aten.__class__.default"),
        "no operator that is known",
    ),
    "whatever lies in memory": (
        first_node(target="torch.ops.aten.empty.memory_format"),
        "no operator that is known",
    ),
    "an operator unknown here": (
        first_node(target="torch.ops.aten.lstm.input"),
        "a recurrent layer multiplies",
    ),
    "a formula as an argument": (
        first_node(
            inputs=[
                {"name": "x", "kind": 1, "arg": {"as_sym_int": {"as_expr": {"expr_str": "exit()"}}}}
            ]
        ),
        "takes a sym int",
    ),
    "a graph as an argument": (
        first_node(inputs=[{"name": "x", "kind": 1, "arg": {"as_graph": {}}}]),
        "takes a graph",
    ),
    "an object as an input": (
        edited(
            "models/model.json",
            lambda data: data["graph_module"]["signature"]["input_specs"].append(
                {"custom_obj": {}}
            ),
        ),
        "takes custom_obj as an input",
    ),
    "JSON without end": (
        lambda entries: entries.update({"models/model.json": b"[" * 100_000}),
        "no file of torch",
    ),
    "JSON of another kind": (
        lambda entries: entries.update({"models/model.json": b"[]"}),
        "no file of torch",
    ),
}


@pytest.mark.parametrize(("change", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_an_operator_or_argument_that_is_not_listed_is_refused(
    change, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=message):
        imported(rewritten(tmp_path, change))
    assert not (tmp_path / "sprung").exists()


def test_code_in_guards_and_shapes_is_not_run(tmp_path):
    call = f"__import__('pathlib').Path({str(tmp_path / 'sprung')!r}).touch()"

    def edit(graph, data):
        data["guards_code"] = [call]
        data["range_constraints"] = {call: {"min_val": 0, "max_val": 4}}
        graph["sym_int_values"] = {"s0": {"as_expr": {"expr_str": call, "hint": None}}}
        data["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = call
        for node in graph["nodes"]:
            node["metadata"] = {"nn_module_stack": call, "source_fn_stack": call, "torch_fn": call}

    assert imported(rewritten(tmp_path, program(edit))).digest == imported(seeded(Kim)).digest
    assert not (tmp_path / "sprung").exists()


def first_weight(**changes):
    def edit(data):
        next(iter(data["config"].values()))["tensor_meta"].update(changes)

    return edited(WEIGHTS, edit)


def whole(*sizes):
    return [{"as_int": size} for size in sizes]


LARGE = {
    "a shape beyond what is stored": (
        first_weight(sizes=whole(10**6, 10**6)),
        "numbers are stored",
    ),
    "one number for all": (
        first_weight(sizes=whole(10**6, 10**6), strides=whole(0, 0)),
        "numbers are stored",
    ),
    "an offset beyond what is stored": (
        first_weight(storage_offset={"as_int": 10**9}),
        "numbers are stored",
    ),
    "strides beyond what is stored": (first_weight(strides=whole(10**9, 1)), "numbers are stored"),
    "negative sizes": (first_weight(sizes=whole(-1, -1)), "a size is"),
    "half precision": (first_weight(dtype=6), "half precision"),
    "no plain tensor": (first_weight(layout=1), "no plain tensor"),
    "a constant of a terabyte": (
        program(
            lambda graph, _: (
                graph["nodes"].append(
                    {
                        "target": "torch.ops.aten.expand.default",
                        "inputs": [
                            {"name": "self", "kind": 1, "arg": graph["outputs"][0]},
                            {"name": "size", "kind": 1, "arg": {"as_ints": [10**11, 2]}},
                        ],
                        "outputs": [{"as_tensor": {"name": "large"}}],
                    }
                )
                or _["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"][
                    "as_tensor"
                ].update(name="large")
            )
        ),
        "gives 200000000000 numbers",
    ),
}


@pytest.mark.parametrize(("change", "message"), LARGE.values(), ids=LARGE.keys())
def test_sizes_are_compared_with_what_is_there(change, message, tmp_path):
    with pytest.raises(ModelError, match=message):
        imported(rewritten(tmp_path, change))


def test_compressed_entries_are_refused(tmp_path):
    good = rewritten(tmp_path, lambda entries: None)
    with (
        zipfile.ZipFile(good) as archive,
        zipfile.ZipFile(tmp_path / "zip.pt2", "w", zipfile.ZIP_DEFLATED) as other,
    ):
        for name in archive.namelist():
            other.writestr(name, archive.read(name))
    with pytest.raises(ModelError, match="is compressed"):
        imported(tmp_path / "zip.pt2")


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize("name", sorted(LAYERS))
def test_every_layer_that_is_known_can_be_read_from_a_file(name, tmp_path):
    module = seeded(lambda: Body(LAYERS[name]()))
    read = torch_importer._read(torch, rewritten(tmp_path, lambda entries: None, module))
    rows = np.random.default_rng(0).integers(MANY, size=(20, LENGTH))
    assert read.length == LENGTH
    assert np.array_equal(answers(read.module, rows), answers(module.eval(), rows))


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_a_damaged_file_is_refused(tmp_path, content):
    (tmp_path / "model.pt2").write_bytes(content)
    with pytest.raises(ModelError, match=r"model.pt2 is no file of torch.export.save"):
        imported(tmp_path / "model.pt2")
    with pytest.raises(ModelError, match="There is no file"):
        imported(tmp_path / "none.pt2")


# --- what refusals advise ---


def test_a_padding_that_means_leave_out_may_be_named_as_a_refusal_says():
    """The module leaves out word 3, so that its texts were padded with that."""
    module = seeded(lambda: Averaged(UNEQUAL["the padding is another word"][0]))
    with pytest.raises(ModelError, match="give pad='w1'"):
        imported(module)
    found = imported(module, pad="w1")
    rows = random_rows(found, 60, seed=3)
    rows = rows[(rows != 3).any(1)]
    ours = scores_of(found, rows) / (rows != 3).sum(1)[:, None]
    assert np.abs(ours - answers(module.eval(), rows)).max() < 1e-5


def test_padding_that_would_be_divided_by_zero_goes_as_a_refusal_says():
    refused, _ = UNEQUAL["padding's vector divided by no words"]
    with pytest.raises(ModelError, match="or set the row of the padding to zero"):
        imported(seeded(lambda: Averaged(refused)))
    module = seeded(lambda: Averaged(refused))
    with torch.no_grad():
        module.embedding.weight[0] = 0.0
    imported(module)
    imported(seeded(lambda: Averaged(MASKED["padding's own vector is not"])))  # clamp(min=1)


def test_long_vectors_may_be_shortened_once_as_a_refusal_says():
    module = seeded(
        lambda: Summed(lambda self, w: torch.cat([self.first(w), self.second(w)], 2).sum(1))
    )
    module.first.max_norm = 1.0
    rows = np.arange(MANY)[:, None].repeat(LENGTH, 1)
    theirs = answers(module, rows)
    with torch.no_grad():
        module.first.weight.div_(module.first.weight.norm(dim=1, keepdim=True).clamp(min=1.0))
    module.first.max_norm = None
    assert np.abs(scores_of(imported(module), rows) - theirs).max() < 1e-4


def test_a_network_that_is_refused_can_be_asked_as_the_refusal_says():
    module = seeded(lambda: Recurrent(nn.LSTM)).eval()
    with pytest.raises(
        ModelError,
        match=r"it can be asked as it is: sf\.from_function\(predict, labels=\[\.\.\.\]\)",
    ):
        imported(module)
    number = {word: i for i, word in enumerate(WORDS)}

    def predict(texts):
        rows = [[number.get(word, 1) for word in text.split()][:LENGTH] for text in texts]
        inputs = torch.tensor([row + [0] * (LENGTH - len(row)) for row in rows])
        with torch.no_grad():
            return module(inputs).double().numpy()

    found = sf.from_function(predict, labels=LABELS, name="the recurrent network")
    assert sf.explain(found, "w1 w2 w3", perturbation=sf.Deletion()).status == "optimal"
