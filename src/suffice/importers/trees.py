"""Trees, forests and boosted trees (of scikit-learn, XGBoost and LightGBM) as one table
of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.importers import boosters
from suffice.importers.boosters import Tree
from suffice.importers.kinds import BOOSTERS, NotLowered
from suffice.model.network import Floats, Ints
from suffice.model.trees import LEAF, Trees

SINGLE = ("DecisionTreeClassifier", "ExtraTreeClassifier")
FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier")
BOOSTED = ("GradientBoostingClassifier", "HistGradientBoostingClassifier")
KINDS = (*SINGLE, *FORESTS, *BOOSTED, *BOOSTERS)
DOUBLES = (
    "HistGradientBoostingClassifier",
    "LGBMClassifier",
)  # the others compare in single precision


def grown(
    kind: str, model: Any, columns: Ints, factors: Floats, exact: bool, sparse: bool
) -> Trees:
    """The trees of a model whose feature j is `factors[j]` times the column `columns[j]` of the
    bag.
    """
    read = (kind not in DOUBLES, exact and bool((factors == 1.0).all()))
    if kind in BOOSTERS:
        return _extra(kind, model, columns, factors, read, sparse)
    if getattr(model, "n_outputs_", 1) != 1:
        raise NotLowered("the model gives several labels to one text")
    classes = len(model.classes_)
    if kind in SINGLE:
        trees = [_voting(model.tree_, 1.0)]
        bias = np.zeros(classes)
    elif kind in FORESTS:
        share = 1.0 / len(model.estimators_)
        trees = [_voting(one.tree_, share) for one in model.estimators_]
        bias = np.zeros(classes)
    elif kind == "GradientBoostingClassifier":
        trees, bias = _boosted(model, classes)
    else:
        trees, bias = _binned(model, classes)
    return _joined(trees, bias, columns, factors, read)


def _extra(
    kind: str, model: Any, columns: Ints, factors: Floats, read: tuple[bool, bool], sparse: bool
) -> Trees:
    found, began = boosters.trees_of(kind, model, sparse)
    classes = len(model.classes_)
    trees = [tree._replace(value=_one_column(tree.value, place, classes)) for place, tree in found]
    made = _joined(trees, _one_column(began, None, classes), columns, factors, read)
    return replace(made, rounding=boosters.lost(found, began)) if kind == "XGBClassifier" else made


def _voting(tree: Any, share: float) -> Tree:
    value = np.asarray(tree.value[:, 0, :], dtype=np.float64)
    value = value / value.sum(1, keepdims=True) * share
    return _tree(tree, value)


def _tree(tree: Any, value: Floats) -> Tree:
    feature = np.where(tree.children_left < 0, LEAF, tree.feature)
    threshold = np.asarray(tree.threshold, dtype=np.float64)
    return Tree(feature, threshold, tree.children_left, tree.children_right, value)


def _boosted(model: Any, classes: int) -> tuple[list[Tree], Floats]:
    """Raw scores; two labels have one of them, which is the second label's."""
    if type(model.init_).__name__ != "DummyClassifier":
        raise NotLowered("GradientBoostingClassifier(init=...) starts from a model of its own")
    start = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]
    trees = [
        _tree(one.tree_, _one_column(one.tree_.value[:, 0, 0] * model.learning_rate, k, classes))
        for stage in model.estimators_
        for k, one in enumerate(stage)
    ]
    return trees, _one_column(np.asarray(start), None, classes)


def _binned(model: Any, classes: int) -> tuple[list[Tree], Floats]:
    trees = []
    for stage in model._predictors:
        for k, one in enumerate(stage):
            nodes = one.nodes
            if nodes["is_categorical"].any():
                raise NotLowered("HistGradientBoostingClassifier splits categories")
            leaf = nodes["is_leaf"].astype(bool)
            feature = np.where(leaf, LEAF, nodes["feature_idx"].astype(np.int64))
            left = nodes["left"].astype(np.int64)
            right = nodes["right"].astype(np.int64)
            value = _one_column(nodes["value"].astype(np.float64), k, classes)
            trees.append(
                Tree(feature, nodes["num_threshold"].astype(np.float64), left, right, value)
            )
    return trees, _one_column(
        np.asarray(model._baseline_prediction, dtype=np.float64).ravel(), None, classes
    )


def _one_column(values: Floats, place: int | None, classes: int) -> Floats:
    """Numbers of one label as rows over all labels; without a place, one number per raw score."""
    if place is None:
        return (
            np.concatenate([[0.0], values]) if classes == 2 else np.array(values, dtype=np.float64)
        )
    found = np.zeros((len(values), classes))
    found[:, 1 if classes == 2 else place] = values
    return found


def _joined(
    trees: Sequence[Tree], bias: Floats, columns: Ints, factors: Floats, read: tuple[bool, bool]
) -> Trees:
    sizes = [len(tree.feature) for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    feature = np.concatenate([tree.feature for tree in trees]).astype(np.int64)
    inner = feature != LEAF
    left = np.concatenate([tree.left + root for tree, root in zip(trees, roots, strict=True)])
    right = np.concatenate([tree.right + root for tree, root in zip(trees, roots, strict=True)])
    return Trees(
        roots=roots,
        column=np.where(inner, columns[feature], LEAF),
        factor=np.where(inner, factors[feature], 1.0),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        left=left.astype(np.int64),
        right=right.astype(np.int64),
        value=np.where(inner[:, None], 0.0, np.concatenate([tree.value for tree in trees])),
        bias=bias,
        single=read[0],
        exact=read[1],
    )
