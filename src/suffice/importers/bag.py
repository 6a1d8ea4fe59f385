"""scikit-learn pipelines as a bag of words: which ones can be laid open exactly, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from suffice.importers import sklearn_streams, trees
from suffice.importers.kinds import BOOSTERS, NotLowered, kind_of
from suffice.importers.scores import linear, rows_of, scores_after
from suffice.importers.states import State, binarized, through, vectorized
from suffice.model.bag import Bag
from suffice.model.network import Floats
from suffice.model.streams import named
from suffice.model.trees import Trees


def lowered(steps: Sequence[Any]) -> Bag:
    """The steps of a fitted pipeline as a bag of words; NotLowered says what is in the way."""
    first, *between, model = steps
    state, parts = vectorized(first)
    for step in between:
        state = through(state, step)
    plain = _plain(parts, model)
    forest = None
    run = None
    curved = False
    if kind_of(model) in trees.KINDS:
        forest = _forest(
            model, state, parts, any(kind_of(step) == "FunctionTransformer" for step in between)
        )
        rows = np.zeros((len(forest.bias), 0))
        bias = forest.bias
    elif not linear(model):
        rows = np.zeros((len(model.classes_), 0))
        bias = np.zeros(len(model.classes_))
        run = scores_after(model, state)
    else:
        rows, bias, once = rows_of(model)
        state = binarized(state) if once else state
        curved = kind_of(model) == "CalibratedClassifierCV"
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


def _forest(model: Any, state: State, parts: Sequence[Any], dense: bool) -> Trees:
    kind, (columns, factors) = kind_of(model), state.places()
    signed = any(kind_of(part) == "HashingVectorizer" and part.alternate_sign for part in parts)
    if kind in BOOSTERS and (signed or (factors <= 0).any() or (state.scale <= 0).any()):
        raise NotLowered(
            f"{kind} stands after features that may be below zero, or zero and still written down"
        )
    return trees.grown(
        kind, model, columns, factors, state.norm is None and state.scaled <= 1, not dense
    )


def _plain(parts: Sequence[Any], model: Any) -> bool:
    """Whether single words or pairs are counted, or tables are made: then features
    belong to words.
    """
    kinds = [sklearn_streams.kind_read(part) for part in parts]
    if kinds == ["word"] and (parts[0].ngram_range[1] <= 2 or not linear(model)):
        return True
    if not linear(model):
        raise NotLowered(f"{type(model).__name__} stands after features that reach over words")
    return False


def _one(vectorizer: Any, forest: Trees | None, state: State) -> dict[str, Any]:
    """How a vectorizer reads words."""
    tokens, separates = sklearn_streams.words(vectorizer)
    column = sklearn_streams.columns(vectorizer)
    column = _only(column, forest.tested) if forest is not None and state.norm is None else column
    low, high = vectorizer.ngram_range
    return {
        "tokens": tokens,
        "separates": separates,
        "orders": (int(low), int(high)),
        "column": column,
    }


def _several(parts: Sequence[Any]) -> dict[str, Any]:
    """How streams read whole texts: each feature is a token of its own."""
    starts = np.concatenate(
        [[0], np.cumsum([sklearn_streams.width(part) for part in parts])]
    ).tolist()
    found = tuple(
        sklearn_streams.read(part, start) for part, start in zip(parts, starts, strict=False)
    )

    def tokens(text: str) -> list[str]:
        return [
            named(k, feature) for k, stream in enumerate(found) for feature in stream.analyze(text)
        ]

    def column(token: str) -> tuple[int, float] | None:
        number, feature = token.split(":", 1)
        return found[int(number)].column(feature)

    ends = {"separates": lambda char: False, "orders": (1, 1), "column": column, "streams": found}
    return {"tokens": lru_cache(10_000)(tokens), **ends}


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
    known = sorted(
        {str(word).strip() for one in vectorizers for word in getattr(one, "vocabulary_", {})}
    )
    known = [word for word in known if word and " " not in word]
    return (*known[:: max(1, len(known) // 300)], "unheard", "of", ",", "The", "a1")


def largest_difference(bag: Bag, function: Callable[[list[str]], Floats]) -> float:
    """How far bag and pipeline are apart on made-up texts, relative to the size of the scores.

    Probabilities of two labels are compared by sign only: a sigmoid stands between.
    """
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(bag.examples, size=rng.integers(0, 12))) for _ in range(32)]
    theirs = function(texts)
    ours = np.array([bag.scores(bag.tokens(text)) for text in texts])
    # where the rounding of the program decides there is nothing to compare
    clear = ~np.isnan(ours).any(1)
    if clear.sum() < len(texts) // 4:
        return np.inf
    theirs = theirs[clear]
    ours = ours[clear]
    lead = theirs - theirs[:, :1]
    ours_lead = ours - ours[:, :1]
    if bag.curved:
        return 0.0 if ((lead[:, 1] > 0) == (ours_lead[:, 1] > 0)).all() else np.inf
    size = max(1.0, float(np.abs(lead).max()))
    return float(np.abs(lead - ours_lead).max()) / size
