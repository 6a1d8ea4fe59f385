"""Lines of certificates for what was computed about a bag of words.

Method: certificates (theory, section 13).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from suffice.model.network import Floats, Ints
from suffice.optimise.cuts.cut import Cut
from suffice.optimise.cuts.pool import CutPool
from suffice.verify.contract import Budget
from suffice.verify.text.lattice import OptionLattice
from suffice.verify.text.majorants import Majorant, MajorantMix, MajorantSplit, MajorantTree
from suffice.verify.text.norm_form import InstanceProved, NormSegment
from suffice.verify.text.worst_case import SetProved

Written = dict[str, Any]


def computed_line(search: CutPool, held: int) -> Written:
    """The proof that a set of words is enough."""
    return proof_line(search, search.free(held), search.session.at_most, _own_proof(search, held))


def proof_line(search: CutPool, free: list[int], at_most: int | None, proof: SetProved) -> Written:
    """The proof that no change of so many free words flips the label."""
    labels = search.session.blackbox.labels
    lattice = search.worst_case.lattice
    varying = _varying(search, proof.rivals[0])
    proofs = {
        labels[rival]: list(_proof_nodes(lattice, tree, varying))
        for rival, tree in zip(proof.rivals, proof.proofs, strict=True)
    }
    return {"computed": {"free": free, "at_most": at_most, "proofs": proofs}}


def _own_proof(search: CutPool, held: int) -> SetProved:
    """The proof of just this set: one of fewer words splits words that do not move here."""
    movable = search.session.movable
    for one, proof in search.proved:
        if one & movable == held & movable:
            return proof
    verdict = search.worst_case.decide_set(search.mask(held), Budget())
    assert isinstance(verdict, SetProved)
    return verdict


def _varying(search: CutPool, rival: int) -> Floats:
    """Features that may count by two or more."""
    every = search.worst_case.full_instance(rival).full_ranges
    return np.asarray(every.most - every.least > 1)


def _proof_nodes(
    lattice: OptionLattice, tree: InstanceProved, varying: Floats
) -> Iterator[Written]:
    queue = [tree]
    while queue:
        node = queue.pop()
        if node.split_count is not None:
            feature, most = node.split_count
            yield {"column": int(lattice.columns[feature]), "most": most}
            queue += reversed(node.branches)
        elif node.branches:
            word = int(lattice.word_of[node.split_choices[0]])
            keep = [
                lattice.words[word][choice - int(lattice.first[word])]
                for choice in node.split_choices
            ]
            yield {"word": word, "keep": keep}
            queue += reversed(node.branches)
        else:
            yield {"lines": [_segment(lattice, line, varying) for line in node.segments]}


def _segment(lattice: OptionLattice, segment: NormSegment, varying: Floats) -> Written:
    slopes = _by_column(
        lattice,
        np.flatnonzero(varying & np.isfinite(segment.feature_slopes)),
        segment.feature_slopes,
    )
    return {
        "low": float(segment.low),
        "high": float(segment.high),
        "slope": float(segment.norm_slope),
        "toll": None if segment.multiplier is None else float(segment.multiplier),
        "slopes": slopes,
    }


def cut_line(search: CutPool, cut: Cut) -> Written:
    """A rule as a line: what words that suffice must add up to."""
    lattice = search.worst_case.lattice
    change = lattice.change(cut.chosen)
    line: Written = {
        "rival": search.session.blackbox.labels[cut.rival],
        "changed": [i for i, _ in change],
        "words": [word for _, word in change],
    }
    varying = _varying(search, cut.rival)
    if cut.proof is not None:
        return {
            "rule": {
                **line,
                "count": round(cut.threshold) - 1,
                "tree": list(_proof_nodes(lattice, cut.proof, varying)),
            }
        }
    more = {"weights": cut.weights.tolist(), "least": cut.threshold, "size": cut.form_scale}
    return {
        "rule": {
            **line,
            **more,
            "lines": [_segment(lattice, segment, varying) for segment in cut.segments],
        }
    }


def majorants_line(search: CutPool, rival: int, tree: MajorantTree) -> Written:
    """The proof that no cheaper set of words is enough."""
    nodes = list(
        _majorant_nodes(search.worst_case.lattice, tree, np.flatnonzero(_varying(search, rival)))
    )
    return {"ceilings": {"rival": search.session.blackbox.labels[rival], "tree": nodes}}


def _majorant_nodes(lattice: OptionLattice, tree: MajorantTree, varying: Ints) -> Iterator[Written]:
    match tree:
        case MajorantSplit(word=word, held=held, out=out):
            yield {"word": word}
            yield from _majorant_nodes(lattice, held, varying)
            yield from _majorant_nodes(lattice, out, varying)
        case MajorantMix(weights=weights, majorants=majorants):
            weighted = zip(weights.tolist(), majorants, strict=True)
            yield {
                "lines": [
                    _majorant(lattice, weight, majorant, varying) for weight, majorant in weighted
                ]
            }


def _majorant(lattice: OptionLattice, weight: float, majorant: Majorant, varying: Ints) -> Written:
    return {
        "weight": weight,
        "kept": np.flatnonzero(majorant.kept).tolist(),
        "slope": -float(majorant.line.norm_slope),
        "along": _by_column(
            lattice, np.flatnonzero(majorant.line.direction), majorant.line.direction
        ),
        "slopes": _by_column(lattice, varying, -majorant.line.prices),
    }


def _by_column(lattice: OptionLattice, features: Ints, numbers: Floats) -> dict[str, float]:
    return {str(int(lattice.columns[f])): float(numbers[f]) for f in features}
