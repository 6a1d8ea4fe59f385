"""XGBoost's and LightGBM's trees as tables of nodes, and what these models say of rows
of features.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy  # its subpackages load on first use

from suffice.importers.kinds import NotLowered
from suffice.model.network import Bools, Floats, Ints
from suffice.model.trees import LEAF

OBJECTIVES = {
    "XGBClassifier": ("binary:logistic", "multi:softprob"),
    "LGBMClassifier": ("binary", "multiclass"),
}
RAW = {"XGBClassifier": "output_margin", "LGBMClassifier": "raw_score"}
SINGLE = 2.0**-24  # what a number in single precision loses, of its size
# raw scores closer than this may be the same once they are probabilities in single precision
CURVE = 1e-6

Node = tuple[int, float, int, int, float]


class Tree(NamedTuple):
    """One number per node: at or below the threshold of its feature a row goes left; leaves have a
    value.
    """

    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    value: Floats


def trees_of(kind: str, model: Any, sparse: bool) -> tuple[list[tuple[int, Tree]], Floats]:
    """The trees, each with the raw score that it adds to, and what these scores begin with.

    Where rows are `sparse`, XGBoost takes a zero for missing.
    """
    objective = str(model.objective_ if kind == "LGBMClassifier" else model.objective)
    if objective not in OBJECTIVES[kind]:
        raise NotLowered(
            f"{kind}(objective={objective!r}) is not one of {', '.join(OBJECTIVES[kind])}"
        )
    if kind == "LGBMClassifier":
        return _light(model)
    found = _extreme(model, sparse)
    empty = (scipy.sparse.csr_matrix if sparse else np.zeros)((1, model.n_features_in_))
    return found, _began(raw(kind, model, empty)[0], found)


def raw(kind: str, model: Any, rows: Any) -> Floats:
    """Raw scores, one column for each (a single one where there are two labels)."""
    said = model.predict(rows, **{RAW[kind]: True})
    found = np.asarray(said, dtype=np.float64)
    return found[:, None] if found.ndim == 1 else found


def scores(kind: str, model: Any, rows: Any) -> Floats:
    """Raw scores with the label that `predict` says on top: none is above it, where a curve rounds
    two to the same.
    """
    found = raw(kind, model, rows)
    if found.shape[1] == 1:
        found = np.concatenate([np.zeros_like(found), found], axis=1)
    said = np.searchsorted(model.classes_, model.predict(rows))
    return np.asarray(np.minimum(found, found[np.arange(len(found)), said][:, None]))


def lost(trees: list[tuple[int, Tree]], began: Floats) -> float:
    """How far sums in single precision, and the label that is made of them, may be from what they
    stand for.
    """
    total = sum(float(np.abs(tree.value).max()) for _, tree in trees) + float(np.abs(began).max())
    return CURVE + 2.0 * (len(trees) + 4) * SINGLE * total


# --- XGBoost ---


def _extreme(model: Any, sparse: bool) -> list[tuple[int, Tree]]:
    if not np.isnan(model.missing):
        raise NotLowered(f"XGBClassifier(missing={model.missing!r}) takes a number for missing")
    booster = model.get_booster()
    best = booster.attr("best_iteration")
    booster = booster if best is None else booster[: int(best) + 1]
    form = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
    if form["name"] != "gbtree":
        raise NotLowered(f"XGBClassifier(booster={form['name']!r}) is no plain sum of trees")
    owner = form["model"]["tree_info"]
    return [
        (int(k), _grown(tree, sparse))
        for k, tree in zip(owner, form["model"]["trees"], strict=True)
    ]


def _grown(tree: dict[str, Any], sparse: bool) -> Tree:
    """A tree in which x goes left at or below a threshold: the number before that below which
    XGBoost goes left.
    """
    if any(tree["split_type"]) or tree["tree_param"].get("size_leaf_vector", "1") not in ("0", "1"):
        raise NotLowered("XGBClassifier splits categories, or its leaves hold several numbers")
    left, right = (np.array(tree[f"{side}_children"], dtype=np.int64) for side in ("left", "right"))
    given = np.array(tree["split_conditions"], dtype=np.float32)
    inner = left >= 0
    made = Tree(
        np.where(inner, np.array(tree["split_indices"], dtype=np.int64), LEAF),
        np.nextafter(given, np.float32(-np.inf)).astype(np.float64),
        left,
        right,
        np.where(inner, 0.0, given.astype(np.float64)),
    )
    return _without_zeros(made, np.array(tree["default_left"], dtype=bool)) if sparse else made


def _without_zeros(tree: Tree, default_left: Bools) -> Tree:
    """The same where zeros go the way of what is missing: a test at zero before the test, if that
    is another way.
    """
    odd = np.flatnonzero((tree.feature != LEAF) & ((tree.threshold >= 0.0) != default_left))
    made = Tree(*(np.concatenate([column, column[odd]]) for column in tree))
    made.left[odd] = np.where(default_left[odd], made.left[odd], made.right[odd])
    made.right[odd] = len(tree.feature) + np.arange(len(odd))
    made.threshold[odd] = 0.0
    return made


def _began(empty: Floats, trees: list[tuple[int, Tree]]) -> Floats:
    """What scores begin with: those of an empty row, less what its leaves add."""
    found = empty.copy()
    for place, tree in trees:
        found[place] -= tree.value[_leaf_of_nothing(tree)]
    return found


def _leaf_of_nothing(tree: Tree) -> int:
    """The leaf that a row of zeros ends in."""
    node = 0
    while tree.feature[node] != LEAF:
        node = int(tree.left[node] if tree.threshold[node] >= 0.0 else tree.right[node])
    return node


# --- LightGBM ---


def _light(model: Any) -> tuple[list[tuple[int, Tree]], Floats]:
    form = model.booster_.dump_model()
    if form["average_output"] or model.get_params().get("linear_tree"):
        raise NotLowered("LGBMClassifier averages its trees, or has lines in their leaves")
    count = form["num_tree_per_iteration"]
    trees = [
        (k % count, _numbered(tree["tree_structure"])) for k, tree in enumerate(form["tree_info"])
    ]
    return trees, np.zeros(count)


def _numbered(root: dict[str, Any]) -> Tree:
    """The nodes of a tree, numbered."""
    nodes = list(_nodes(root, 0))
    feature, threshold, left, right, value = (
        np.array(column) for column in zip(*nodes, strict=True)
    )
    return Tree(
        feature.astype(np.int64),
        threshold.astype(np.float64),
        left,
        right,
        value.astype(np.float64),
    )


def _nodes(node: dict[str, Any], place: int) -> Iterator[Node]:
    """A node and all below it, its left side right behind it."""
    if "split_feature" not in node:
        yield LEAF, 0.0, LEAF, LEAF, float(node["leaf_value"])
        return
    if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
        raise NotLowered("LGBMClassifier splits categories, or takes zero for missing")
    left = list(_nodes(node["left_child"], place + 1))
    behind = place + 1 + len(left)
    yield int(node["split_feature"]), float(node["threshold"]), place + 1, behind, 0.0
    yield from left
    yield from _nodes(node["right_child"], behind)
