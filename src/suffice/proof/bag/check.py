"""Checks what was computed about a bag of words: bounds on its worst case, and cuts.

It reads the options of the text itself, and takes nothing on trust but the bag, which is compared
with the program on every text that is run.

Method: checking of proof trees and cuts (theory, sections 8, 10 and 13).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.model.bag import Bag
from suffice.model.boundaries import spaced
from suffice.model.network import Floats
from suffice.model.text import Text, rewritten
from suffice.proof.bag.bounds import SegmentBound, TrellisBound
from suffice.proof.bag.norm_form import NormForm
from suffice.proof.bag.subproblems import (
    Choice,
    TextSubproblem,
    fields,
    need,
    number,
    read_segments,
    split_by_count,
)
from suffice.proof.bag.tolerances import AGREEMENT
from suffice.proof.bag.trellis import Trellis

CUT_KEYS = ("rival changed words count tree", "rival changed words weights least size lines")


@dataclass(eq=False)
class BagCheck:
    """Checks proofs about one text and one bag; `at_most` words may change at once."""

    bag: Bag
    text: Text
    options: Sequence[Sequence[str]]
    at_most: int | None
    label: int
    # called between any two pieces of work: it may stop the check
    check_time: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        streams = self.bag.streams
        for ends in (
            [s.separates for s in streams if s.kind == "word"] if streams else [self.bag.separates]
        ):
            self._require_separate(ends)
        self.words = [
            self._choices(word.text, given)
            for word, given in zip(self.text.words, self.options, strict=True)
        ]
        pieces = [[choice.written for choice in word] for word in self.words]
        self.trellis = Trellis(streams, self.text, pieces, self.check_time) if streams else None
        self.pair_features = self._pair_features() if self.bag.orders[1] > 1 else {}
        self.norm_forms: dict[tuple[int, float], NormForm] = {}

    # --- reading ---

    def _choices(self, own: str, given: Sequence[str]) -> list[Choice]:
        found: dict[Any, Choice] = {}
        if self.bag.streams:
            return [Choice(piece, (), {}) for piece in dict.fromkeys((own, *given))]
        for piece in (own, *given):
            tokens = tuple(self.bag.tokens(piece)) if piece else ()
            counts = self.bag.features(tokens)
            key = tokens if self.bag.orders[1] > 1 else frozenset(counts.items())
            found.setdefault(key, Choice(piece, tokens, counts))
        return list(found.values())

    def _require_separate(self, ends: Callable[[str], bool]) -> None:
        """Between any two pieces that may meet stands a character that ends every token.

        No space is put beside pieces of scripts without spaces: these stand alone between two
        spaces, or not at all.
        """
        # the pieces of words that stand together up to here
        last = None
        beside = list[str]()
        for word, given in zip(self.text.words, self.options, strict=True):
            pieces = [piece for piece in (word.text, *given) if piece]
            need(
                not any("Σ" in piece for piece in pieces),
                "a capital sigma depends on what stands beside it",
            )
            for piece in pieces:
                for char in (piece[0], piece[-1]):
                    need(
                        char.isalnum() or char == "_" or ends(char),
                        f"{char!r} may join what stands beside it",
                    )
            if last is not None:
                gap = self.text.source[last[1] : word.start]
                need(all(map(ends, gap)) and ends(" "), "a space may stand inside a token")
                open_edges = any(_letter(p[-1]) for p in last[0]) and any(
                    _letter(p[0]) for p in pieces
                )
                need(gap or not open_edges, "two words may become one token")
                beside = [] if gap else beside
                unspaced = any(
                    _letter(char) and not spaced(char)
                    for p in (*beside, *pieces)
                    for char in (p[0], p[-1])
                )
                need(gap or not unspaced, "a script without spaces may become one token")
            beside += pieces
            last = (pieces, word.end)

    def _pair_features(self) -> dict[tuple[str, str], tuple[int, float]]:
        lasts = {choice.tokens[-1] for word in self.words for choice in word if choice.tokens}
        firsts = {choice.tokens[0] for word in self.words for choice in word if choice.tokens}
        found = {}
        for a in lasts:
            for b in firsts:
                place = self.bag.column(f"{a} {b}")
                if place is not None:
                    found[a, b] = place
        return found

    def require_agreement(self, texts: Sequence[str], rows: Floats) -> None:
        """The bag says of texts what the program says."""
        lost = 0.0 if self.bag.trees is None else 2.0 * self.bag.trees.rounding
        for text, row in zip(texts, rows, strict=True):
            ours = self.bag.scores(self.bag.tokens(text))
            if np.isnan(ours).any():
                continue  # the rounding of the program decides: no table trusts such a text either
            ours = ours[self.label] - ours
            theirs = row[self.label] - row
            if self.bag.curved:
                same = bool(((ours > 0) == (theirs > 0)).all())
            else:
                same = bool(
                    np.abs(ours - theirs).max() <= AGREEMENT * max(1.0, np.abs(theirs).max()) + lost
                )
            need(same, "the bag of words and the program do not agree")

    # --- claims ---

    def require_sufficient(
        self,
        free: Sequence[int],
        proofs: Mapping[str, Any],
        labels: Sequence[str],
        at_most: int | None,
        rival: int | None,
    ) -> None:
        """Every text that changes only free words, at most so many, keeps the label, against the
        rival or every one.
        """
        rivals = [j for j in range(len(labels)) if j != self.label] if rival is None else [rival]
        need(
            set(proofs) == {labels[j] for j in rivals},
            "there must be a proof for every other label",
        )
        free_words = set(free)
        allowed = tuple(
            tuple(range(len(w))) if i in free_words else (0,) for i, w in enumerate(self.words)
        )
        subproblem = TextSubproblem(allowed, (0,) * len(self.words), at_most)
        for other in rivals:
            self._check_tree(self.norm_form(other, 1.0), subproblem, list(proofs[labels[other]]))

    def checked_cut(self, line: Mapping[str, Any], labels: Sequence[str]) -> tuple[Floats, float]:
        """A rule that every explanation keeps: weights of words, and the least that they sum to."""
        fields(line, *CUT_KEYS)
        changed = line["changed"]
        written = line["words"]
        need(
            line["rival"] in labels and labels.index(line["rival"]) != self.label,
            "the rival is no other label",
        )
        norm_form = self.norm_form(labels.index(line["rival"]), -1.0)
        chosen = self._choices_of(dict(zip(changed, written, strict=True)))
        allowed = tuple((0,) if k == 0 else (0, k) for k in chosen)
        if "count" in line:
            restored = line["count"]
            words = np.sign(chosen)
            need(
                type(restored) is int and 1 <= restored < words.sum(),
                "fewer words must be put back than change",
            )
            changed_at_once = int(words.sum()) - restored
            need(
                self.at_most is None or changed_at_once <= self.at_most,
                "too many words change at once",
            )
            self._check_tree(
                norm_form,
                TextSubproblem(allowed, (0,) * len(chosen), changed_at_once, exactly=True),
                list(line["tree"]),
            )
            return words.astype(np.float64), restored + 1.0
        need(self.at_most is None or len(changed) <= self.at_most, "too many words change at once")
        weights = line["weights"]
        threshold = line["least"]
        form_scale = line["size"]
        need(
            len(weights) == len(chosen) and all(math.isfinite(w) for w in weights),
            "a weight for each word",
        )
        need(
            0.0 < threshold <= 1.0 and 0.0 < form_scale < math.inf,
            "a rule's least must be above 0 and at most 1",
        )
        choice_costs = {(i, 0): form_scale * weights[i] for i, k in enumerate(chosen) if k}
        need(
            all(weights[i] == 0.0 for i, k in enumerate(chosen) if not k),
            "only changed words have weights",
        )
        subproblem = TextSubproblem(allowed, tuple(chosen), None, choice_costs)
        bound = self._bound_by_segments(norm_form, subproblem, line["lines"]) - norm_form.tolerance
        need(
            bound >= form_scale * threshold,
            (
                f"the rule does not follow (the bound is {bound:.6g}, not "
                f"{form_scale * threshold:.6g})"
            ),
        )
        return np.array(weights, dtype=np.float64), float(threshold)

    def _choices_of(self, new: Mapping[int, str]) -> list[int]:
        found = []
        for i, word in enumerate(self.words):
            places = [
                k
                for k, choice in enumerate(word)
                if choice.written == new.get(i, self.text.words[i].text)
            ]
            need(len(places) == 1, "a word becomes what it may not become")
            found.append(places[0])
        need(all(found[i] for i in new), "a word is said to change and does not")
        return found

    # --- trees of splits ---

    def _check_tree(
        self, norm_form: NormForm, subproblem: TextSubproblem, nodes: list[Any]
    ) -> None:
        queue = [subproblem]
        for node in nodes:
            self.check_time()
            need(queue, "there are more nodes than splits")
            current = queue.pop()
            fields(node, "word keep", "column most", "lines")
            if "word" in node:
                queue += reversed(self._split_word(current, node))
            elif "column" in node:
                queue += reversed(split_by_count(current, node))
            elif node["lines"]:
                bound = self._bound_by_segments(norm_form, current, node["lines"])
                need(bound > norm_form.tolerance, f"a bound is {bound:.3g}, not above zero")
            else:
                self._check_single_text(norm_form, current)
        need(not queue, "a branch has no proof")

    def _split_word(
        self, subproblem: TextSubproblem, node: Mapping[str, Any]
    ) -> list[TextSubproblem]:
        word = node["word"]
        keep = set(node["keep"])
        need(type(word) is int and 0 <= word < len(self.words), "a split must be of a word")
        sides: tuple[list[int], list[int]] = [], []
        for k in subproblem.allowed[word]:
            sides[self.words[word][k].written not in keep].append(k)
        need(all(sides), "a split must leave something on both sides")
        before = subproblem.allowed[:word]
        after = subproblem.allowed[word + 1 :]
        return [replace(subproblem, allowed=(*before, tuple(side), *after)) for side in sides]

    def _check_single_text(self, norm_form: NormForm, subproblem: TextSubproblem) -> None:
        """A leaf without lines: there is one text, or none that counts so."""
        if subproblem.count_limits and self.texts_of(subproblem).infeasible:
            return
        need(
            all(len(choices) == 1 for choices in subproblem.allowed),
            "a leaf without lines must be one text",
        )
        chosen = [choices[0] for choices in subproblem.allowed]
        changed = sum(k != r for k, r in zip(chosen, subproblem.reference, strict=True))
        if subproblem.within_limit(changed):
            counts = self.bag.features(self._tokens_of(chosen))
            need(
                norm_form.surely(counts) > norm_form.tolerance,
                "the only text left does not keep the label",
            )

    def _tokens_of(self, chosen: Sequence[int]) -> Sequence[str]:
        """The tokens of a text."""
        if self.trellis is not None:
            new = {i: self.words[i][k].written for i, k in enumerate(chosen) if k}
            return self.bag.tokens(rewritten(self.text, new))
        return [t for word, k in zip(self.words, chosen, strict=True) for t in word[k].tokens]

    # --- bounds ---

    def norm_form(self, rival: int, sign: float) -> NormForm:
        if (rival, sign) not in self.norm_forms:
            rows = self.bag.rows
            bias = self.bag.bias
            weight = rows[self.label] - rows[rival]
            shift = float(bias[self.label] - bias[rival])
            self.norm_forms[rival, sign] = NormForm(self.bag, sign * weight, sign * shift, self)
        return self.norm_forms[rival, sign]

    def texts_of(self, subproblem: TextSubproblem) -> SegmentBound:
        return (
            SegmentBound(self, subproblem)
            if self.trellis is None
            else TrellisBound(self, subproblem)
        )

    def _bound_by_segments(
        self, norm_form: NormForm, subproblem: TextSubproblem, segments: Sequence[Mapping[str, Any]]
    ) -> float:
        """The least of the bounds of all lines, which together say something about every text."""
        texts = self.texts_of(subproblem)
        segments = read_segments(segments)
        need(not texts.infeasible, "there are bounds of texts that cannot be")
        if self.bag.norm != "l2" or norm_form.bias < 0:
            (segment,) = segments
            return texts.bound(norm_form, segment, *norm_form.tangent(segment["slope"]))
        low, high = texts.norm_range()
        ordered = sorted(segments, key=lambda segment: number(segment["low"]))
        starts, ends = ([number(segment[side]) for segment in ordered] for side in ("low", "high"))
        edges = [min(low, starts[0]), *starts[1:], max(high, ends[-1])]
        covered = all(end >= start for end, start in zip(ends, starts[1:], strict=False))
        need(covered and edges == sorted(edges) and edges[0] >= 0, "the ranges leave a gap")
        tops = map(max, ends, edges[1:])
        ranges = zip(ordered, edges, tops, strict=False)
        return float(
            np.min(
                [
                    texts.bound(norm_form, segment, *norm_form.chord(a, b))
                    for segment, a, b in ranges
                ]
            )
        )  # NaN stays NaN


def _letter(char: str) -> bool:
    return char.isalnum() or char == "_"
