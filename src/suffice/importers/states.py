"""From counts to what the model of a pipeline sees: factors, a norm, and a linear map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its subpackages load on first use

from suffice.importers import sklearn_streams
from suffice.importers.kinds import VECTORIZERS, NotLowered, kind_of
from suffice.model.bag import Count, Norm
from suffice.model.network import Floats, Ints


@dataclass(frozen=True, eq=False)
class State:
    """scale * tf(c), over the norm, through a linear map (None: as it is, a vector: factors, a
    matrix: a map).
    """

    scale: Floats
    tf: Count
    norm: Norm
    after: Any
    scaled: int = 0  # how many factors are in `scale`

    def back(self, rows: Floats) -> Floats:
        """Rows over what the model sees as rows over the features."""
        if self.after is None:
            return rows
        if self.after.ndim == 1:
            return np.asarray(rows * self.after)
        return np.asarray(rows @ self.after)

    def places(self) -> tuple[Ints, Floats]:
        """For each feature that the model sees the one that it is made of, and by which factor."""
        count = len(self.scale)
        if self.after is None:
            return np.arange(count), np.ones(count)
        if self.after.ndim == 1:
            return np.arange(count), np.asarray(self.after)
        matrix = self.after.tocsr() if hasattr(self.after, "tocsr") else None
        if matrix is None or (np.diff(matrix.indptr) != 1).any():
            raise NotLowered("trees stand after a step that mixes features")
        return np.asarray(matrix.indices, dtype=np.int64), np.asarray(matrix.data, dtype=np.float64)

    @property
    def plain(self) -> bool:
        return self.norm is None and self.tf == "count" and (self.after is None)


def vectorized(first: Any) -> tuple[State, list[Any]]:
    """The state after the vectorizers, and the vectorizers."""
    if kind_of(first) != "FeatureUnion":
        return _vectorized(_counted(first), first), [first]
    found = [
        _part(name, part, first.transformer_weights)
        for name, part in first.transformer_list
        if part != "drop"
    ]
    return _joined([state for state, _ in found]), [vectorizer for _, vectorizer in found]


def _counted(vectorizer: Any) -> State:
    if kind_of(vectorizer) not in VECTORIZERS:
        raise NotLowered(f"{type(vectorizer).__name__} is not one of {', '.join(VECTORIZERS)}")
    return State(np.ones(sklearn_streams.width(vectorizer)), "count", None, None)


def _part(name: str, part: Any, factors: Mapping[str, float] | None) -> tuple[State, Any]:
    """One part of a FeatureUnion: a vectorizer, or a pipeline that begins with one."""
    vectorizer, *steps = [step for _, step in part.steps] if kind_of(part) == "Pipeline" else [part]
    state = _vectorized(_counted(vectorizer), vectorizer)
    for step in steps:
        state = through(state, step)
    factor = (factors or {}).get(name)
    if factor is not None:
        state = _scaled(state, np.full(_sees(state), float(factor)))
    return state, vectorizer


def _joined(states: Sequence[State]) -> State:
    """The parts of a FeatureUnion side by side."""
    if len(states) == 1:
        return states[0]
    if any(state.norm is not None for state in states):
        raise NotLowered("the parts of the FeatureUnion have norms of their own")
    if len({state.tf for state in states}) > 1:
        raise NotLowered("the parts of the FeatureUnion count differently")
    after = None
    if any(state.after is not None for state in states):
        after = scipy.sparse.block_diag([_matrix(state) for state in states]).tocsr()
    return State(np.concatenate([state.scale for state in states]), states[0].tf, None, after, 2)


def _matrix(state: State) -> Any:
    if state.after is None:
        return scipy.sparse.eye_array(len(state.scale))
    return scipy.sparse.diags_array(state.after) if state.after.ndim == 1 else state.after


def _vectorized(state: State, vectorizer: Any) -> State:
    kind = kind_of(vectorizer)
    if vectorizer.binary:
        state = replace(state, tf="once")
    if kind == "TfidfVectorizer":
        return _tfidf(state, vectorizer)
    if kind == "HashingVectorizer":
        if vectorizer.alternate_sign and vectorizer.binary:
            raise NotLowered("HashingVectorizer(binary=True, alternate_sign=True) counts signs")
        return _normed(state, vectorizer.norm)
    return state


def _tfidf(state: State, step: Any) -> State:
    if step.sublinear_tf and state.tf == "count":
        state = replace(state, tf="log")
    if step.use_idf:
        state = _scaled(state, np.asarray(step.idf_, dtype=np.float64))
    return _normed(state, step.norm)


def _scaled(state: State, factors: Floats) -> State:
    if state.norm is None and state.after is None:
        return replace(state, scale=state.scale * factors, scaled=state.scaled + 1)
    if state.after is None:
        return replace(state, after=factors)
    if state.after.ndim == 1:
        return replace(state, after=state.after * factors)
    return replace(state, after=factors[:, None] * state.after)


def _normed(state: State, norm: Any) -> State:
    if norm is None:
        return state
    if norm not in ("l1", "l2"):
        raise NotLowered(f"the norm {norm!r} is not understood")
    if state.norm is not None or state.after is not None:
        raise NotLowered("a norm is taken twice, or after another step")
    return replace(state, norm=norm)


def through(state: State, step: Any) -> State:
    match kind_of(step):
        case "TfidfTransformer":
            if not state.plain and (
                step.sublinear_tf or state.norm is not None or state.after is not None
            ):
                raise NotLowered("TfidfTransformer stands after another norm or step")
            return _tfidf(state, step)
        case "Normalizer":
            return _normed(state, step.norm)
        case "MaxAbsScaler":
            return _scaled(state, 1.0 / np.asarray(step.scale_, dtype=np.float64))
        case "StandardScaler" if not step.with_mean:
            return (
                _scaled(state, 1.0 / np.asarray(step.scale_, dtype=np.float64))
                if step.with_std
                else state
            )
        case (
            "SelectKBest"
            | "SelectPercentile"
            | "SelectFpr"
            | "SelectFdr"
            | "SelectFwe"
            | "VarianceThreshold"
        ):
            return _selected(state, np.asarray(step.get_support()))
        case "TruncatedSVD":
            return _mapped(state, np.asarray(step.components_, dtype=np.float64))
        case "FunctionTransformer" if _dense(step.func):
            return state
        case _:
            raise NotLowered(f"{type(step).__name__} is no step that is understood")


def _dense(function: Any) -> bool:
    """Whether a function only writes a sparse matrix out: `lambda x: x.toarray()`, whatever x is
    called.
    """
    code = getattr(function, "__code__", None)
    plain = (lambda x: x.toarray()).__code__
    return code is not None and (code.co_code, code.co_names) == (plain.co_code, plain.co_names)


def _selected(state: State, support: Any) -> State:
    kept = np.flatnonzero(support)
    shape = (len(kept), len(support))
    return _mapped(
        state,
        scipy.sparse.csr_matrix((np.ones(len(kept)), (np.arange(len(kept)), kept)), shape=shape),
    )


def _mapped(state: State, matrix: Any) -> State:
    if state.after is None:
        return replace(state, after=matrix)
    if state.after.ndim == 1:
        return replace(
            state,
            after=matrix.multiply(state.after).tocsr()
            if hasattr(matrix, "tocsr")
            else matrix * state.after,
        )
    return replace(state, after=matrix @ state.after)


def binarized(state: State) -> State:
    """BernoulliNB asks only whether a feature is above zero."""
    if state.after is not None and state.after.ndim != 1:
        raise NotLowered("BernoulliNB stands after a step that mixes features")
    if (state.scale <= 0).any() or (state.after is not None and (state.after <= 0).any()):
        raise NotLowered("BernoulliNB stands after factors that are not above zero")
    return State(np.ones(len(state.scale)), "once", None, None)


def _sees(state: State) -> int:
    """How many numbers come out."""
    return (
        len(state.scale)
        if state.after is None or state.after.ndim == 1
        else int(state.after.shape[0])
    )
