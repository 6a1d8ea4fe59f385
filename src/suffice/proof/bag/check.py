"""Checks what was computed about a bag of words: bounds on its worst case, and rules that every explanation keeps.

It reads the options of the text itself, and takes nothing on trust but the bag, which is compared with the program on
every text that is run.
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
from suffice.proof.bag.bounds import Stroll, Walk
from suffice.proof.bag.chain import Ways
from suffice.proof.bag.forms import Form
from suffice.proof.bag.regions import Choice, Region, counted, fields, need, number, read

SAME = 1e-7  # scores of bag and program may differ by this much
RULES = ("rival changed words count tree", "rival changed words weights least size lines")


@dataclass(eq=False)
class BagCheck:
    """One text before one bag."""

    bag: Bag
    text: Text
    options: Sequence[Sequence[str]]
    limit: int | None
    label: int
    look: Callable[[], None] = lambda: None  # called between any two pieces of work: it may stop the check

    def __post_init__(self) -> None:
        streams = self.bag.streams
        for ends in [s.separates for s in streams if s.kind == "word"] if streams else [self.bag.separates]:
            self._apart(ends)
        self.words = [
            self._choices(word.text, given) for word, given in zip(self.text.words, self.options, strict=True)
        ]
        pieces = [[choice.written for choice in word] for word in self.words]
        self.ways = Ways(streams, self.text, pieces, self.look) if streams else None
        self.paired = self._paired() if self.bag.orders[1] > 1 else {}
        self.forms: dict[tuple[int, float], Form] = {}

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

    def _apart(self, ends: Callable[[str], bool]) -> None:
        """Between any two pieces that may meet stands a character that ends every token.

        No space is put beside pieces of scripts without spaces: these stand alone between two spaces, or not at all.
        """
        last, beside = None, list[str]()  # the pieces of words that stand together up to here
        for word, given in zip(self.text.words, self.options, strict=True):
            pieces = [piece for piece in (word.text, *given) if piece]
            need(not any("Σ" in piece for piece in pieces), "a capital sigma depends on what stands beside it")
            for piece in pieces:
                for char in (piece[0], piece[-1]):
                    need(char.isalnum() or char == "_" or ends(char), f"{char!r} may join what stands beside it")
            if last is not None:
                gap = self.text.source[last[1] : word.start]
                need(all(map(ends, gap)) and ends(" "), "a space may stand inside a token")
                open_edges = any(_letter(p[-1]) for p in last[0]) and any(_letter(p[0]) for p in pieces)
                need(gap or not open_edges, "two words may become one token")
                beside = [] if gap else beside
                bare = any(_letter(char) and not spaced(char) for p in (*beside, *pieces) for char in (p[0], p[-1]))
                need(gap or not bare, "a script without spaces may become one token")
            beside += pieces
            last = (pieces, word.end)

    def _paired(self) -> dict[tuple[str, str], tuple[int, float]]:
        lasts = {choice.tokens[-1] for word in self.words for choice in word if choice.tokens}
        firsts = {choice.tokens[0] for word in self.words for choice in word if choice.tokens}
        found = {}
        for a in lasts:
            for b in firsts:
                place = self.bag.column(f"{a} {b}")
                if place is not None:
                    found[a, b] = place
        return found

    def agrees(self, texts: Sequence[str], rows: Floats) -> None:
        """The bag says of texts what the program says."""
        lost = 0.0 if self.bag.trees is None else 2.0 * self.bag.trees.rounding
        for text, row in zip(texts, rows, strict=True):
            ours = self.bag.scores(self.bag.tokens(text))
            if np.isnan(ours).any():
                continue  # the rounding of the program decides: no table trusts such a text either
            ours, theirs = ours[self.label] - ours, row[self.label] - row
            if self.bag.curved:
                same = bool(((ours > 0) == (theirs > 0)).all())
            else:
                same = bool(np.abs(ours - theirs).max() <= SAME * max(1.0, np.abs(theirs).max()) + lost)
            need(same, "the bag of words and the program do not agree")

    # --- claims ---

    def enough(
        self,
        free: Sequence[int],
        proofs: Mapping[str, Any],
        labels: Sequence[str],
        limit: int | None,
        rival: int | None,
    ) -> None:
        """Every text that changes only free words, at most so many, keeps the label, against the rival or every one."""
        rivals = [j for j in range(len(labels)) if j != self.label] if rival is None else [rival]
        need(set(proofs) == {labels[j] for j in rivals}, "there must be a proof for every other label")
        open_words = set(free)
        allowed = tuple(tuple(range(len(w))) if i in open_words else (0,) for i, w in enumerate(self.words))
        region = Region(allowed, (0,) * len(self.words), limit)
        for other in rivals:
            self._tree(self.form(other, 1.0), region, list(proofs[labels[other]]))

    def rule(self, line: Mapping[str, Any], labels: Sequence[str]) -> tuple[Floats, float]:
        """A rule that every explanation keeps: weights of words, and the least that they sum to."""
        fields(line, *RULES)
        changed, written = line["changed"], line["words"]
        need(line["rival"] in labels and labels.index(line["rival"]) != self.label, "the rival is no other label")
        form = self.form(labels.index(line["rival"]), -1.0)
        chosen = self._chosen(dict(zip(changed, written, strict=True)))
        allowed = tuple((0,) if k == 0 else (0, k) for k in chosen)
        if "count" in line:
            back, words = line["count"], np.sign(chosen)
            need(type(back) is int and 1 <= back < words.sum(), "fewer words must be put back than change")
            few = int(words.sum()) - back
            need(self.limit is None or few <= self.limit, "too many words change at once")
            self._tree(form, Region(allowed, (0,) * len(chosen), few, exactly=True), list(line["tree"]))
            return words.astype(np.float64), back + 1.0
        need(self.limit is None or len(changed) <= self.limit, "too many words change at once")
        weights, least, size = line["weights"], line["least"], line["size"]
        need(len(weights) == len(chosen) and all(math.isfinite(w) for w in weights), "a weight for each word")
        need(0.0 < least <= 1.0 and 0.0 < size < math.inf, "a rule's least must be above 0 and at most 1")
        extra = {(i, 0): size * weights[i] for i, k in enumerate(chosen) if k}
        need(all(weights[i] == 0.0 for i, k in enumerate(chosen) if not k), "only changed words have weights")
        region = Region(allowed, tuple(chosen), None, extra)
        bound = self._lines(form, region, line["lines"]) - form.close
        need(bound >= size * least, f"the rule does not follow (the bound is {bound:.6g}, not {size * least:.6g})")
        return np.array(weights, dtype=np.float64), float(least)

    def _chosen(self, new: Mapping[int, str]) -> list[int]:
        found = []
        for i, word in enumerate(self.words):
            places = [k for k, choice in enumerate(word) if choice.written == new.get(i, self.text.words[i].text)]
            need(len(places) == 1, "a word becomes what it may not become")
            found.append(places[0])
        need(all(found[i] for i in new), "a word is said to change and does not")
        return found

    # --- trees of splits ---

    def _tree(self, form: Form, region: Region, nodes: list[Any]) -> None:
        waiting = [region]
        for node in nodes:
            self.look()
            need(waiting, "there are more nodes than splits")
            here = waiting.pop()
            fields(node, "word keep", "column most", "lines")
            if "word" in node:
                waiting += reversed(self._halves(here, node))
            elif "column" in node:
                waiting += reversed(counted(here, node))
            elif node["lines"]:
                bound = self._lines(form, here, node["lines"])
                need(bound > form.close, f"a bound is {bound:.3g}, not above zero")
            else:
                self._single(form, here)
        need(not waiting, "a branch has no proof")

    def _halves(self, region: Region, node: Mapping[str, Any]) -> list[Region]:
        word, keep = node["word"], set(node["keep"])
        need(type(word) is int and 0 <= word < len(self.words), "a split must be of a word")
        sides: tuple[list[int], list[int]] = [], []
        for k in region.allowed[word]:
            sides[self.words[word][k].written not in keep].append(k)
        need(all(sides), "a split must leave something on both sides")
        before, after = region.allowed[:word], region.allowed[word + 1 :]
        return [replace(region, allowed=(*before, tuple(side), *after)) for side in sides]

    def _single(self, form: Form, region: Region) -> None:
        """A leaf without lines: there is one text, or none that counts so."""
        if region.counts and self.walk(region).impossible:
            return
        need(all(len(some) == 1 for some in region.allowed), "a leaf without lines must be one text")
        chosen = [some[0] for some in region.allowed]
        moved = sum(k != r for k, r in zip(chosen, region.reference, strict=True))
        if region.holds(moved):
            counts = self.bag.features(self._written(chosen))
            need(form.surely(counts) > form.close, "the only text left does not keep the label")

    def _written(self, chosen: Sequence[int]) -> Sequence[str]:
        """The tokens of a text."""
        if self.ways is not None:
            new = {i: self.words[i][k].written for i, k in enumerate(chosen) if k}
            return self.bag.tokens(rewritten(self.text, new))
        return [t for word, k in zip(self.words, chosen, strict=True) for t in word[k].tokens]

    # --- bounds ---

    def form(self, rival: int, sign: float) -> Form:
        if (rival, sign) not in self.forms:
            rows, bias = self.bag.rows, self.bag.bias
            weight, shift = rows[self.label] - rows[rival], float(bias[self.label] - bias[rival])
            self.forms[rival, sign] = Form(self.bag, sign * weight, sign * shift, self)
        return self.forms[rival, sign]

    def walk(self, region: Region) -> Walk:
        return Walk(self, region) if self.ways is None else Stroll(self, region)

    def _lines(self, form: Form, region: Region, lines: Sequence[Mapping[str, Any]]) -> float:
        """The least of the bounds of all lines, which together say something about every text."""
        walk, lines = self.walk(region), read(lines)
        need(not walk.impossible, "there are bounds of texts that cannot be")
        if self.bag.norm != "l2" or form.bias < 0:
            (line,) = lines
            return walk.bound(form, line, *form.tangent(line["slope"]))
        low, high = walk.span()
        ordered = sorted(lines, key=lambda line: number(line["low"]))
        starts, ends = ([number(line[side]) for line in ordered] for side in ("low", "high"))
        edges = [min(low, starts[0]), *starts[1:], max(high, ends[-1])]
        covered = all(end >= start for end, start in zip(ends, starts[1:], strict=False))
        need(covered and edges == sorted(edges) and edges[0] >= 0, "the ranges leave a gap")
        tops = map(max, ends, edges[1:])
        ranges = zip(ordered, edges, tops, strict=False)
        return float(np.min([walk.bound(form, line, *form.chord(a, b)) for line, a, b in ranges]))  # NaN stays NaN


def _letter(char: str) -> bool:
    return char.isalnum() or char == "_"
