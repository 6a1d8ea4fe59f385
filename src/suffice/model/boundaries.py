"""Boundaries: where the words of a string begin and end, for classifiers that are given whole
strings.

These are Unicode's word boundaries (UAX #29, without white space), by what Python knows of
characters, with changes of the kind that the standard leaves to its users: apostrophes and hyphens
join whatever they stand between (O'Neil, 90's, Anne-Marie), colons part words, as in CLDR; in
scripts without spaces every cluster of characters (a letter and what is written on, around or below
it) is a word, as there is no dictionary here; emoticons are words; superscripts and fractions go
with numbers; and invisible marks of direction or hyphenation join a word only inside it, so that
the word before one is still itself. Tibetan has a mark between syllables, so that these are its
words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

Segment: TypeAlias = tuple[str, int, int]  # what stands there, its start and end in the string
Ranges: TypeAlias = tuple[tuple[int, int], ...]  # of code points, both ends among them

# --- classes of characters, each a letter in the string that WORD reads ---

LETTER, NUMBER, KATAKANA, CONNECTOR, ALONE, SPACE, OTHER = "ank_i o"
MARK, FORMAT = "xf"  # what is of the character before it; what shows nothing
MIDDLE = dict.fromkeys(".\u2024\ufe52\uff0e", "q")  # full stops: between letters and between digits
MIDDLE |= dict.fromkeys("'\u2019\uff07-\u2010\u2011", "p")  # between whatever is of a word
MIDDLE |= dict.fromkeys("\u00b7\u0387\u055f\u05f4\u2027", "m")  # between letters
MIDDLE |= dict.fromkeys(
    ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b", "c"
)
WORD = re.compile(
    r"[ank_](?:_|(?<!k)[an]|(?<=[k_])k|(?<=a)[mq](?=a)|(?<=n)[cq](?=n)|(?<=[ank_])p(?=[ank_])"
    r"|(?<=[mqcp])(?:[an]|k)|(?<=[ank_])f+(?=[an_])|(?<=f)[an])*"
)

ZERO_WIDTH_JOINER = "\u200d"
ZERO_WIDTH_SPACE = "\u200b"
JOINERS = "\u200c\u200d"
TONES = ("\U0001f3fb", "\U0001f3ff")  # of skin, the first and the last
TAGS = ("\U000e0020", "\U000e007f")  # of the flags of regions
FLAGS = ("\U0001f1e6", "\U0001f1ff")  # letters of which two are a flag
# marks that put the next consonant below this one (Khmer, Myanmar, Tai Tham)
BELOW = "\u17d2\u1039\u1a60"
# letters that belong to the one before: vowels (Thai, Lao), half-width voice marks
ON = "\u0e33\u0eb3\uff9e\uff9f"


def _ranges(listed: str) -> Ranges:
    return tuple((int(low, 16), int(high, 16)) for low, high in re.findall(r"(\w+)-(\w+)", listed))


# Scripts without spaces between words: Han, Hiragana and their like, and those of South-East Asia.
SPACELESS = _ranges(
    "0E00-0E4E 0E81-0ECF 1000-103F 1050-109F 1780-17DD 1950-1974 1980-19CF 19DE-19DF 1A20-1A7F "
    "2E80-2FDF 3005-3007 3021-302F 3038-303B 3041-309A 309D-309F 3400-4DBF 4E00-9FFF A9E0-A9EF "
    "A9FA-A9FE AA60-AADF F900-FAFF 11700-1172B 16FE0-16FF1 17000-18D08 1B001-1B11F 1B132-1B132 "
    "1B150-1B152 1B170-1B2FB 20000-3FFFF"
)
KATAKANAS = _ranges(
    "3031-3035 309B-309C 30A0-30FA 30FC-30FF 31F0-31FF 32D0-32FE 3300-3357 FF66-FF9D "
    "1B000-1B000 1B164-1B167"
)

# --- signs that are read as one ---

EMOTICON = re.compile(
    r"""
      (?<![\w:;=]) [>}]? [:;=] ['’,]? [-^~o]?
          (?: [()\[\]{}|\\/@*$]++ | [DdPpOoSsXxb3](?!\w) ) (?![\w/\\])  # :-) ;P
    | (?<!\w) [8BX]-[()DP] (?!\w)  # 8-)
    | (?<![\w(:;]) \( ['’]? [-^~]? [:;] (?![\w()'’])  # (-:
    | (?<![\w<]) </?3++ (?!\w)  # <3
    | (?<!\S) -_+- (?!\S) | (?<![\w^]) \^[_.\-o]?\^ (?!\w) | (?<!\w) >[_.]*< (?!\w)  # ^_^
    | \\[oO0]/
    | [(（] ([^\w\s()（）]|[TQOoXxuಠ]) [_.\-‿ωДд﹏∇ᴥ] \1 [)）] | ¯\\_[(（]ツ[)）]_/¯  # (^_^)
    """,
    re.VERBOSE,
)


def segments(source: str) -> list[Segment]:
    """The words and marks of a string in order, each with its place; nothing but white space is
    left out.
    """
    found = list[Segment]()
    last = 0
    for match in EMOTICON.finditer(source):
        found += _between(source, last, match.start())
        found.append((match.group(), *match.span()))
        last = match.end()
    return [*found, *_between(source, last, len(source))]


def spaced(char: str) -> bool:
    """Whether a word that ends or begins with this character needs something between it and another
    one.
    """
    return wordlike(char) and not _within(ord(char), SPACELESS)


def wordlike(char: str) -> bool:
    """Whether a character is of a word: letters, digits, and the marks on them."""
    return char.isalnum() or char == "_" or (char > "\u02ff" and _mark(char))


def _between(source: str, start: int, end: int) -> Iterator[Segment]:
    """The words and marks of a part of the string without emoticons."""
    kinds, starts = _clusters(source, start, end)
    ends = [*starts[1:], end]
    at = 0
    while at < len(kinds):
        match = WORD.match(kinds, at)
        after = match.end() if match else at + 1
        if kinds[at] != SPACE:
            yield source[starts[at] : ends[after - 1]], starts[at], ends[after - 1]
        at = after


def _clusters(source: str, start: int, end: int) -> tuple[str, list[int]]:
    """The characters with the marks on them as one each: their classes as a string, and where they
    begin.
    """
    kinds = list[str]()
    starts = list[int]()
    for place in range(start, end):
        kind = _kind(source[place])
        if (
            place == start
            or kinds[-1] == SPACE
            or not _goes_on(source, starts[-1], place, kinds[-1], kind)
        ):
            kinds.append(OTHER if kind == MARK else kind)
            starts.append(place)
    return "".join(kinds), starts


def _goes_on(source: str, begun: int, place: int, before: str, kind: str) -> bool:
    """Whether a character belongs to the cluster before it."""
    char = source[place]
    last = source[place - 1]
    if kind == MARK:
        return True
    if last == ZERO_WIDTH_JOINER:
        return before == kind == OTHER  # the parts of one emoji
    if last in BELOW:
        return before == kind == ALONE
    return place - begun == 1 and _inside(last, FLAGS) and _inside(char, FLAGS)


@lru_cache(100_000)
def _kind(char: str) -> str:
    """The class of one character."""
    if char.isspace():
        return SPACE
    if char in JOINERS or char in ON or _mark(char) or _inside(char, TONES) or _inside(char, TAGS):
        return MARK
    if char in MIDDLE:
        return MIDDLE[char]
    if _within(ord(char), KATAKANAS):
        return KATAKANA
    match unicodedata.category(char):
        case "Nd" | "No":
            return NUMBER
        case "Pc":
            return CONNECTOR
        case "Cf" if char != ZERO_WIDTH_SPACE:
            return FORMAT
        case "Lu" | "Ll" | "Lt" | "Lm" | "Lo" | "Nl":
            return ALONE if _within(ord(char), SPACELESS) else LETTER
        case _:
            return OTHER


def _mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _inside(char: str, ends: tuple[str, str]) -> bool:
    return ends[0] <= char <= ends[1]


def _within(code: int, ranges: Ranges) -> bool:
    return any(low <= code <= high for low, high in ranges)
