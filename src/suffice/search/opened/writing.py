"""Writes what was computed about a bag of words as lines of a certificate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from suffice.model.network import Floats, Ints
from suffice.prove.bag import Holds, Stretch
from suffice.prove.ceiling import Ceiling, Mixture, Split, Tree
from suffice.prove.layout import Layout
from suffice.prove.verdict import Budget
from suffice.prove.worst import Enough
from suffice.search.opened.known import Known
from suffice.search.opened.rules import Rule

Written = dict[str, Any]


def computed_line(search: Known, held: int) -> Written:
    """The proof that a set of words is enough."""
    return proof_line(search, search.free(held), search.asked.at_most, _own(search, held))


def proof_line(search: Known, free: list[int], at_most: int | None, proof: Enough) -> Written:
    """The proof that no change of so many free words flips the label."""
    labels, layout = search.asked.blackbox.labels, search.worst.layout
    wide = _wide(search, proof.rivals[0])
    proofs = {
        labels[rival]: list(_nodes(layout, tree, wide)) for rival, tree in zip(proof.rivals, proof.proofs, strict=True)
    }
    return {"computed": {"free": free, "at_most": at_most, "proofs": proofs}}


def _own(search: Known, held: int) -> Enough:
    """The proof of just this set: one of fewer words splits words that do not move here."""
    movable = search.asked.movable
    for one, proof in search.proved:
        if one & movable == held & movable:
            return proof
    found = search.worst.ask(search.mask(held), Budget())
    assert isinstance(found, Enough)
    return found


def _wide(search: Known, rival: int) -> Floats:
    """Features that may count by two or more."""
    whole = search.worst.whole(rival).everything
    return np.asarray(whole.most - whole.least > 1)


def _nodes(layout: Layout, tree: Holds, wide: Floats) -> Iterator[Written]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node.counted is not None:
            feature, most = node.counted
            yield {"column": int(layout.columns[feature]), "most": most}
            waiting += reversed(node.branches)
        elif node.branches:
            word = int(layout.slot[node.split[0]])
            keep = [layout.words[word][choice - int(layout.first[word])] for choice in node.split]
            yield {"word": word, "keep": keep}
            waiting += reversed(node.branches)
        else:
            yield {"lines": [_line(layout, line, wide) for line in node.lines]}


def _line(layout: Layout, line: Stretch, wide: Floats) -> Written:
    slopes = _by_column(layout, np.flatnonzero(wide & np.isfinite(line.slopes)), line.slopes)
    return {
        "low": float(line.low),
        "high": float(line.high),
        "slope": float(line.slope),
        "toll": None if line.toll is None else float(line.toll),
        "slopes": slopes,
    }


def rule_line(search: Known, rule: Rule) -> Written:
    """A rule as a line: what words that suffice must add up to."""
    layout = search.worst.layout
    change = layout.change(rule.chosen)
    line: Written = {
        "rival": search.asked.blackbox.labels[rule.rival],
        "changed": [i for i, _ in change],
        "words": [word for _, word in change],
    }
    wide = _wide(search, rule.rival)
    if rule.proof is not None:
        return {"rule": {**line, "count": round(rule.least) - 1, "tree": list(_nodes(layout, rule.proof, wide))}}
    more = {"weights": rule.weights.tolist(), "least": rule.least, "size": rule.size}
    return {"rule": {**line, **more, "lines": [_line(layout, one, wide) for one in rule.lines]}}


def ceilings_line(search: Known, rival: int, tree: Tree) -> Written:
    """The proof that no cheaper set of words is enough."""
    nodes = list(_parts(search.worst.layout, tree, np.flatnonzero(_wide(search, rival))))
    return {"ceilings": {"rival": search.asked.blackbox.labels[rival], "tree": nodes}}


def _parts(layout: Layout, tree: Tree, wide: Ints) -> Iterator[Written]:
    match tree:
        case Split(word=word, held=held, out=out):
            yield {"word": word}
            yield from _parts(layout, held, wide)
            yield from _parts(layout, out, wide)
        case Mixture(weights=weights, ceilings=ceilings):
            mixed = zip(weights.tolist(), ceilings, strict=True)
            yield {"lines": [_ceiling(layout, weight, one, wide) for weight, one in mixed]}


def _ceiling(layout: Layout, weight: float, found: Ceiling, wide: Ints) -> Written:
    return {
        "weight": weight,
        "kept": np.flatnonzero(found.kept).tolist(),
        "slope": -float(found.line.slope),
        "along": _by_column(layout, np.flatnonzero(found.line.along), found.line.along),
        "slopes": _by_column(layout, wide, -found.line.prices),
    }


def _by_column(layout: Layout, features: Ints, numbers: Floats) -> dict[str, float]:
    return {str(int(layout.columns[f])): float(numbers[f]) for f in features}
