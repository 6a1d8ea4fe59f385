"""Lines of certificates (docs/certificate.md) for what a search or an oracle found.

Method: certificates (theory, section 13).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.model.classifier import Classifier
from suffice.model.network import Bools
from suffice.model.text import Text
from suffice.optimise.cost import Costs
from suffice.optimise.node import ByAttack, ByCost, ByProof, ByRestoration, Node
from suffice.proof.certificate import FORMAT, Certificate, array
from suffice.verify.contract import Problem, Proved, Witness
from suffice.verify.proof_tree import FixingStage, Leaf, Lemma, Pick, Split, Tree, TupleFixing

Line = dict[str, Any]


def header(
    classifier: Classifier,
    text: Text,
    problem: Problem,
    perturbation: Mapping[str, Any],
    claim: Line,
) -> Line:
    """How a certificate begins: the model, the text, what may change, and the claim."""
    return {
        "certificate": FORMAT,
        "model": classifier.digest,
        "text": list(text.tokens),
        "perturbation": dict(perturbation),
        "features": positions(problem.features),
        "label": classifier.labels[problem.label],
        "claim": claim,
    }


def sufficient(labels: Sequence[str], problem: Problem, proof: Proved) -> Iterator[Line]:
    """One proof tree per rival."""
    for rival, tree in zip(problem.rivals, proof.evidence or (), strict=True):
        yield {"prove": "sufficient", "rival": labels[rival]}
        yield from tree_lines(tree)


def cheapest_claim(held: Bools, costs: Costs, include: Bools, exclude: Bools, lower: int) -> Line:
    """These words are enough, and no set that fits costs less than `lower`."""
    return {
        "kind": "cheapest",
        "positions": positions(held),
        **_priced(costs),
        "include": positions(include),
        "exclude": positions(exclude),
        "cost": costs.of(held),
        "lower": lower,
    }


def all_claim(sets: Sequence[Bools], costs: Costs, include: Bools, exclude: Bools) -> Line:
    """These sets, all of one cost, are the explanations that cost so much or less."""
    return {
        "kind": "all",
        "sets": [positions(held) for held in sets],
        **_priced(costs),
        "include": positions(include),
        "exclude": positions(exclude),
        "cost": costs.of(sets[0]),
    }


def flip_claim(witness: Witness | None, costs: Costs, lower: int, towards: str | None) -> Line:
    """The words of the witness flip the label (towards one other label, if given); changes below
    `lower` do not.
    """
    where = None if witness is None else sorted(witness.positions)
    return {
        "kind": "flip",
        "positions": where,
        "towards": towards,
        **_priced(costs),
        "cost": None if where is None else int(costs.units[where].sum()),
        "lower": lower,
    }


def _priced(costs: Costs) -> Line:
    return {"costs": [int(unit) for unit in costs.units], "unit": str(costs.unit)}


def flip(
    labels: Sequence[str], rivals: Sequence[int], witness: Witness | None, proof: Proved | None
) -> Iterator[Line]:
    """The flip, and one proof tree per rival (indices of labels, in order) that nothing cheaper is
    one.
    """
    if witness is not None:
        yield counterexample(labels, witness)
    for rival, tree in zip(
        rivals, () if proof is None else proof.evidence or (), strict=proof is not None
    ):
        yield {"prove": "flip", "rival": labels[rival]}
        yield from tree_lines(tree)


def all_sets(
    labels: Sequence[str], problem: Problem, found: Sequence[tuple[Bools, Proved]], root: Node
) -> Iterator[Line]:
    """A sufficiency proof for each set, then the word tree, closed where its held words are one of
    the sets.
    """
    for _, proof in found:
        yield from sufficient(labels, problem, proof)
    yield {"prove": "all"}
    yield from _word_tree(labels, problem, root, [held for held, _ in found])


def cheapest(labels: Sequence[str], problem: Problem, root: Node) -> Iterator[Line]:
    """The word tree of a finished search."""
    yield {"prove": "cheapest"}
    yield from _word_tree(labels, problem, root, ())


def _word_tree(
    labels: Sequence[str], problem: Problem, root: Node, sets: Sequence[Bools]
) -> Iterator[Line]:
    places = {held.tobytes(): place for place, held in enumerate(sets)}
    queue = [root]
    while queue:
        node = queue.pop()
        if node.children is not None:
            yield {"word": node.word}
            queue += [node.children[1], node.children[0]]
        elif isinstance(node.reason, ByProof) and node.held.tobytes() in places:
            yield {"set": places[node.held.tobytes()]}
        else:
            yield from _closed(labels, problem, node)


def _closed(labels: Sequence[str], problem: Problem, node: Node) -> Iterator[Line]:
    match node.reason:
        case ByCost():
            yield {"cost": True}
        case ByAttack(witness):
            yield {"attack": point(labels, witness)}
        case ByRestoration(evidence):
            changed = (evidence.perturbed != problem.center).any(-1)
            start = {"changed": positions(changed), "vectors": array(evidence.perturbed[changed])}
            rival = labels[problem.rivals[evidence.rival]]
            yield {"restoration": {"start": start, "rival": rival, "budget": evidence.budget}}
            yield from tree_lines(evidence.proof)
        case _:
            raise ValueError(f"a node closed by {node.reason!r} proves nothing about cheaper sets")


def counterexample(labels: Sequence[str], witness: Witness) -> Line:
    return {"point": point(labels, witness)}


def point(labels: Sequence[str], witness: Witness) -> Line:
    where = list(witness.positions)
    if witness.shares is not None:
        return {
            "changed": where,
            "shares": witness.shares[where].tolist(),
            "rival": labels[witness.rival],
        }
    return {
        "changed": where,
        "vectors": array(witness.point[where]),
        "rival": labels[witness.rival],
    }


def tree_lines(tree: Tree) -> Iterator[Line]:
    """A proof tree in preorder, without recursion."""
    queue: list[Tree] = [tree]
    while queue:
        node = queue.pop()
        match node:
            case Leaf():
                yield {"leaf": _leaf(node)}
            case Lemma(bound, rest):
                side = "least" if bound.sign > 0 else "most"
                yield {"bound": bound.unit, side: bound.value, "leaf": _leaf(bound.leaf)}
                queue.append(rest)
            case TupleFixing(stage, rest):
                yield {"sieve": _stage(stage)}
                queue.append(rest)
            case Split(unit, (first, second)):
                yield {"split": unit}
                queue += [second, first]
            case Pick(position, chosen, (first, second)):
                yield (
                    {"pick": position}
                    if chosen is None
                    else {"pick": position, "chosen": list(chosen)}
                )
                queue += [second, first]


def _leaf(leaf: Leaf) -> Line:
    alpha = leaf.alpha
    beta = leaf.beta
    above = leaf.upper_planes
    multipliers = {str(u): float(beta[u]) for u in beta.nonzero()[0].tolist()}
    line: Line = {"alpha": None if alpha is None else array(alpha, "f4"), "beta": multipliers}
    if above is not None and above.shares:
        shares = {str(u): array(share, "f4") for u, share in above.shares.items()}
        words = {} if above.words is None else {"words": above.words.tolist()}
        line["above"] = {"per": above.per, **words, "shares": shares}
    return line


def _stage(stage: FixingStage) -> Line:
    words = np.flatnonzero(stage.planes.any((0, 2)))
    return {
        "alpha": array(stage.alpha, "f4"),
        "bundles": [list(bundle) for bundle in stage.groups],
        "words": words.tolist(),
        "rows": array(stage.planes[:, words], "f4"),
    }


def positions(mask: Bools) -> list[int]:
    return [int(i) for i in np.flatnonzero(mask)]


def assemble(head: Line, *parts: Iterator[Line] | Sequence[Line]) -> Certificate:
    return Certificate((head, *(line for part in parts for line in part)))
