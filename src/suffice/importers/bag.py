"""scikit-learn pipelines as a bag of words: which ones can be laid open exactly, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import scipy  # its subpackages load on first use

from suffice.importers import boosters, streams, trees
from suffice.importers.kinds import BAYES, BOOSTERS, LINEAR, VECTORIZERS, NotLowered, kind_of
from suffice.model.bag import Bag, Count, Norm
from suffice.model.network import Floats, Ints
from suffice.model.streams import named
from suffice.model.trees import Trees


def lowered(steps: Sequence[Any]) -> Bag:
    """The steps of a fitted pipeline as a bag of words; NotLowered says what is in the way."""
    first, *between, model = steps
    state, parts = _read(first)
    for step in between:
        state = _through(state, step)
    plain = _plain(parts, model)
    forest, run, curved = None, None, False
    if kind_of(model) in trees.KINDS:
        forest = _forest(model, state, parts, any(kind_of(step) == "FunctionTransformer" for step in between))
        rows, bias = np.zeros((len(forest.bias), 0)), forest.bias
    elif not _linear(model):
        rows, bias, run = np.zeros((len(model.classes_), 0)), np.zeros(len(model.classes_)), _run(model, state)
    else:
        rows, bias, once = _scores(model)
        state, curved = _binarized(state) if once else state, kind_of(model) == "CalibratedClassifierCV"
        rows = state.back(rows)
    whole = _one(parts[0], forest, state) if plain else _several(parts)
    return Bag(
        **whole,
        scale=state.scale,
        tf=state.tf,
        norm=state.norm,
        rows=rows,
        bias=bias,
        examples=_examples(parts),
        curved=curved,
        trees=forest,
        model=run,
    )


def _forest(model: Any, state: _State, parts: Sequence[Any], dense: bool) -> Trees:
    kind, (columns, factors) = kind_of(model), state.places()
    signed = any(kind_of(part) == "HashingVectorizer" and part.alternate_sign for part in parts)
    if kind in BOOSTERS and (signed or (factors <= 0).any() or (state.scale <= 0).any()):
        raise NotLowered(f"{kind} stands after features that may be below zero, or zero and still written down")
    return trees.grown(kind, model, columns, factors, state.norm is None and state.scaled <= 1, not dense)


def _read(first: Any) -> tuple[_State, list[Any]]:
    """The state after the vectorizers, and the vectorizers."""
    if kind_of(first) != "FeatureUnion":
        return _vectorized(_counted(first), first), [first]
    found = [_part(name, part, first.transformer_weights) for name, part in first.transformer_list if part != "drop"]
    return _joined([state for state, _ in found]), [vectorizer for _, vectorizer in found]


def _counted(vectorizer: Any) -> _State:
    if kind_of(vectorizer) not in VECTORIZERS:
        raise NotLowered(f"{type(vectorizer).__name__} is not one of {', '.join(VECTORIZERS)}")
    return _State(np.ones(streams.width(vectorizer)), "count", None, None)


def _part(name: str, part: Any, factors: Mapping[str, float] | None) -> tuple[_State, Any]:
    """One part of a FeatureUnion: a vectorizer, or a pipeline that begins with one."""
    vectorizer, *steps = [step for _, step in part.steps] if kind_of(part) == "Pipeline" else [part]
    state = _vectorized(_counted(vectorizer), vectorizer)
    for step in steps:
        state = _through(state, step)
    factor = (factors or {}).get(name)
    if factor is not None:
        state = _scaled(state, np.full(_sees(state), float(factor)))
    return state, vectorizer


def _sees(state: _State) -> int:
    """How many numbers come out."""
    return len(state.scale) if state.after is None or state.after.ndim == 1 else int(state.after.shape[0])


def _joined(states: Sequence[_State]) -> _State:
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
    return _State(np.concatenate([state.scale for state in states]), states[0].tf, None, after, 2)


def _matrix(state: _State) -> Any:
    if state.after is None:
        return scipy.sparse.eye_array(len(state.scale))
    return scipy.sparse.diags_array(state.after) if state.after.ndim == 1 else state.after


def _plain(parts: Sequence[Any], model: Any) -> bool:
    """Whether single words or pairs are counted, or tables are made: then features belong to words."""
    kinds = [streams.kind_read(part) for part in parts]
    if kinds == ["word"] and (parts[0].ngram_range[1] <= 2 or not _linear(model)):
        return True
    if not _linear(model):
        raise NotLowered(f"{type(model).__name__} stands after features that reach over words")
    return False


def _one(vectorizer: Any, forest: Trees | None, state: _State) -> dict[str, Any]:
    """How a vectorizer reads words."""
    tokens, separates = streams.words(vectorizer)
    column = streams.columns(vectorizer)
    column = _only(column, forest.tested) if forest is not None and state.norm is None else column
    low, high = vectorizer.ngram_range
    return {"tokens": tokens, "separates": separates, "orders": (int(low), int(high)), "column": column}


def _several(parts: Sequence[Any]) -> dict[str, Any]:
    """How streams read whole texts: each feature is a token of its own."""
    starts = np.concatenate([[0], np.cumsum([streams.width(part) for part in parts])]).tolist()
    found = tuple(streams.read(part, start) for part, start in zip(parts, starts, strict=False))

    def tokens(text: str) -> list[str]:
        return [named(k, feature) for k, stream in enumerate(found) for feature in stream.analyze(text)]

    def column(token: str) -> tuple[int, float] | None:
        number, feature = token.split(":", 1)
        return found[int(number)].column(feature)

    ends = {"separates": lambda char: False, "orders": (1, 1), "column": column, "streams": found}
    return {"tokens": lru_cache(10_000)(tokens), **ends}


def _run(model: Any, state: _State) -> Callable[[Any], Floats]:
    """The model itself on rows of features, where its scores follow small changes of them: then rows can be trusted."""
    if not _smooth(model):
        raise NotLowered(f"{type(model).__name__} is no model that is laid open")
    scores = matrix_scores(model)

    def run(rows: Any) -> Floats:
        if state.after is None:
            return scores(rows)
        if state.after.ndim == 1:
            return scores(rows.multiply(state.after).tocsr())
        return scores(rows @ state.after.T)

    return run


def _smooth(model: Any) -> bool:
    """Whether scores move a little where features do, and the label is that of the best score."""
    kind = kind_of(model)
    if kind == "CalibratedClassifierCV":
        return all(_smooth(one.estimator) for one in model.calibrated_classifiers_)
    if kind == "VotingClassifier":
        return model.voting == "soft" and all(map(_smooth, model.estimators_))
    if kind == "OneVsRestClassifier":
        return not model.multilabel_ and all(map(_smooth, model.estimators_))
    return kind in (*LINEAR, *BAYES, "MLPClassifier")


def _only(
    column: Callable[[str], tuple[int, float] | None], tested: frozenset[int]
) -> Callable[[str], tuple[int, float] | None]:
    """Without a norm, features that no tree looks at might as well be unknown."""

    def found(feature: str) -> tuple[int, float] | None:
        place = column(feature)
        return place if place is not None and place[0] in tested else None

    return found


def _examples(vectorizers: Sequence[Any]) -> tuple[str, ...]:
    """Some words to make texts of."""
    known = sorted({str(word).strip() for one in vectorizers for word in getattr(one, "vocabulary_", {})})
    known = [word for word in known if word and " " not in word]
    return (*known[:: max(1, len(known) // 300)], "unheard", "of", ",", "The", "a1")


def linear_scores(pipeline: Any) -> Callable[[list[str]], Floats]:
    """What the pipeline itself says of texts, as numbers that do not saturate: one column per label."""
    scores = matrix_scores(pipeline.steps[-1][1])
    return lambda texts: scores(pipeline[:-1].transform(texts))


def matrix_scores(model: Any) -> Callable[[Any], Floats]:
    """What a model says of rows of features."""

    if (kind := kind_of(model)) in BOOSTERS:
        return lambda rows: boosters.scores(kind, model, rows)

    def scores(rows: Any) -> Floats:
        if hasattr(model, "decision_function"):
            found = np.asarray(model.decision_function(rows), dtype=np.float64)
            return np.stack([np.zeros(len(found)), found], axis=1) if found.ndim == 1 else found
        if hasattr(model, "predict_joint_log_proba"):
            return np.asarray(model.predict_joint_log_proba(rows), dtype=np.float64)
        return np.asarray(model.predict_proba(rows), dtype=np.float64)

    return scores


def largest_difference(bag: Bag, function: Callable[[list[str]], Floats]) -> float:
    """How far bag and pipeline are apart on made-up texts, relative to the size of the scores.

    Probabilities of two labels are compared by sign only: a sigmoid stands between.
    """
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(bag.examples, size=rng.integers(0, 12))) for _ in range(32)]
    theirs = function(texts)
    ours = np.array([bag.scores(bag.tokens(text)) for text in texts])
    clear = ~np.isnan(ours).any(1)  # where the rounding of the program decides there is nothing to compare
    if clear.sum() < len(texts) // 4:
        return np.inf
    theirs, ours = theirs[clear], ours[clear]
    lead, ours_lead = theirs - theirs[:, :1], ours - ours[:, :1]
    if bag.curved:
        return 0.0 if ((lead[:, 1] > 0) == (ours_lead[:, 1] > 0)).all() else np.inf
    size = max(1.0, float(np.abs(lead).max()))
    return float(np.abs(lead - ours_lead).max()) / size


# --- from counts to what the model sees ---


@dataclass(frozen=True, eq=False)
class _State:
    """scale * tf(c), over the norm, through a linear map (None: as it is, a vector: factors, a matrix: a map)."""

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


def _vectorized(state: _State, vectorizer: Any) -> _State:
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


def _tfidf(state: _State, step: Any) -> _State:
    if step.sublinear_tf and state.tf == "count":
        state = replace(state, tf="log")
    if step.use_idf:
        state = _scaled(state, np.asarray(step.idf_, dtype=np.float64))
    return _normed(state, step.norm)


def _scaled(state: _State, factors: Floats) -> _State:
    if state.norm is None and state.after is None:
        return replace(state, scale=state.scale * factors, scaled=state.scaled + 1)
    if state.after is None:
        return replace(state, after=factors)
    if state.after.ndim == 1:
        return replace(state, after=state.after * factors)
    return replace(state, after=factors[:, None] * state.after)


def _normed(state: _State, norm: Any) -> _State:
    if norm is None:
        return state
    if norm not in ("l1", "l2"):
        raise NotLowered(f"the norm {norm!r} is not understood")
    if state.norm is not None or state.after is not None:
        raise NotLowered("a norm is taken twice, or after another step")
    return replace(state, norm=norm)


def _through(state: _State, step: Any) -> _State:
    match kind_of(step):
        case "TfidfTransformer":
            if not state.plain and (step.sublinear_tf or state.norm is not None or state.after is not None):
                raise NotLowered("TfidfTransformer stands after another norm or step")
            return _tfidf(state, step)
        case "Normalizer":
            return _normed(state, step.norm)
        case "MaxAbsScaler":
            return _scaled(state, 1.0 / np.asarray(step.scale_, dtype=np.float64))
        case "StandardScaler" if not step.with_mean:
            return _scaled(state, 1.0 / np.asarray(step.scale_, dtype=np.float64)) if step.with_std else state
        case "SelectKBest" | "SelectPercentile" | "SelectFpr" | "SelectFdr" | "SelectFwe" | "VarianceThreshold":
            return _selected(state, np.asarray(step.get_support()))
        case "TruncatedSVD":
            return _mapped(state, np.asarray(step.components_, dtype=np.float64))
        case "FunctionTransformer" if _dense(step.func):
            return state
        case _:
            raise NotLowered(f"{type(step).__name__} is no step that is understood")


def _dense(function: Any) -> bool:
    """Whether a function only writes a sparse matrix out: `lambda x: x.toarray()`, whatever x is called."""
    code, plain = getattr(function, "__code__", None), (lambda x: x.toarray()).__code__
    return code is not None and (code.co_code, code.co_names) == (plain.co_code, plain.co_names)


def _selected(state: _State, support: Any) -> _State:
    kept = np.flatnonzero(support)
    shape = (len(kept), len(support))
    return _mapped(state, scipy.sparse.csr_matrix((np.ones(len(kept)), (np.arange(len(kept)), kept)), shape=shape))


def _mapped(state: _State, matrix: Any) -> _State:
    if state.after is None:
        return replace(state, after=matrix)
    if state.after.ndim == 1:
        return replace(
            state, after=matrix.multiply(state.after).tocsr() if hasattr(matrix, "tocsr") else matrix * state.after
        )
    return replace(state, after=matrix @ state.after)


def _binarized(state: _State) -> _State:
    """BernoulliNB asks only whether a feature is above zero."""
    if state.after is not None and state.after.ndim != 1:
        raise NotLowered("BernoulliNB stands after a step that mixes features")
    if (state.scale <= 0).any() or (state.after is not None and (state.after <= 0).any()):
        raise NotLowered("BernoulliNB stands after factors that are not above zero")
    return _State(np.ones(len(state.scale)), "once", None, None)


# --- the model ---


def _linear(model: Any) -> bool:
    """Whether a row of weights for each class says it all."""
    match kind_of(model):
        case "OneVsRestClassifier":
            return not model.multilabel_ and all(kind_of(one) in LINEAR for one in model.estimators_)
        case "CalibratedClassifierCV":
            models = model.calibrated_classifiers_
            alone = len(models) == 1 and len(model.classes_) == 2 and model.method == "sigmoid"
            return alone and kind_of(models[0].estimator) in LINEAR
        case kind:
            return kind in (*LINEAR, *BAYES, "BernoulliNB")


def _scores(model: Any) -> tuple[Floats, Floats, bool]:
    """Rows and biases, one per class, and whether only presence counts."""
    kind = kind_of(model)
    if kind in LINEAR:
        return (*_two_rows(model.coef_, model.intercept_, len(model.classes_)), False)
    if kind in BAYES:
        rows = np.asarray(model.feature_log_prob_, dtype=np.float64)
        single = kind == "ComplementNB" and len(model.classes_) > 1
        prior = np.zeros(len(rows)) if single else np.asarray(model.class_log_prior_, dtype=np.float64)
        return rows, prior, False
    if kind == "BernoulliNB":
        return _bernoulli(model)
    if kind == "OneVsRestClassifier":
        return _one_vs_rest(model)
    return _calibrated(model)


def _two_rows(weight: Any, bias: Any, classes: int) -> tuple[Floats, Floats]:
    rows = weight.toarray() if hasattr(weight, "toarray") else np.atleast_2d(weight)
    rows = np.asarray(rows, dtype=np.float64)
    shift = np.broadcast_to(np.asarray(bias, dtype=np.float64), (len(rows),))
    if len(rows) == 1 and classes == 2:
        return np.concatenate([np.zeros_like(rows), rows]), np.concatenate([[0.0], shift])
    if len(rows) != classes:
        raise NotLowered("the model gives several labels to one text")
    return rows, np.array(shift)


def _bernoulli(model: Any) -> tuple[Floats, Floats, bool]:
    if model.binarize != 0.0:
        raise NotLowered(f"BernoulliNB(binarize={model.binarize!r}) is not at zero")
    here = np.asarray(model.feature_log_prob_, dtype=np.float64)
    gone = np.log1p(-np.exp(here))
    return here - gone, np.asarray(model.class_log_prior_ + gone.sum(1), dtype=np.float64), True


def _one_vs_rest(model: Any) -> tuple[Floats, Floats, bool]:
    rows = np.concatenate([np.atleast_2d(e.coef_) for e in model.estimators_])
    bias = np.concatenate([np.atleast_1d(e.intercept_) for e in model.estimators_])
    return (*_two_rows(rows, bias, len(model.classes_)), False)


def _calibrated(model: Any) -> tuple[Floats, Floats, bool]:
    """One calibrated model of two labels: the sigmoid is above a half where its argument is below zero."""
    (only,) = model.calibrated_classifiers_
    (curve,) = only.calibrators
    rows, bias = _two_rows(only.estimator.coef_, only.estimator.intercept_, 2)
    factor = np.array([[0.0], [-float(curve.a_)]])
    return rows * factor, bias * factor[:, 0] + np.array([0.0, -float(curve.b_)]), False
