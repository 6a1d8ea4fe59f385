"""The marked examples of items 3, 5 and 6, on sentences of our own, since the paper's texts are not
ours to print.
"""

from __future__ import annotations

from typing import Any

import suffice as sf
from experiments import asking
from experiments.explainers import ks
from experiments.plan import Model, Plan, classifier
from experiments.store import Job, Settings

GOOD = (
    "a warm and funny film , if a little too long",
    "the actors are wonderful and the story is told with real love",
    "dull , noisy and far too long , with not one good joke in it",
    "what begins as a clever thriller ends in an ugly and stupid mess",
)
NEGATION = (  # each is praise
    "this film is not bad at all",
    "it is never dull and never stupid",
    "nobody can say that it lacks heart or humor",
    "the last hour is anything but boring",
    "i could not find a single thing to hate in this movie",
)
NAMES = (
    "steven spielberg made this film and tom hanks is in it",
    "a comedy with adam sandler that takes place in paris",
    "it borrows from titanic and the matrix and does it well",
    "hugh grant is fine but the story is not",
)
LONG = (
    "i went to see this film with my sister on a rainy evening and we did not expect much of "
    "it , but the first scene "
    "already had us laughing , the actors seem to enjoy every minute , the music is lovely , "
    "and although the middle "
    "is a little slow and one of the jokes is repeated too often , the ending is so warm and "
    "so honest that we talked "
    "about it all the way home and decided to watch it again next week with our parents and "
    "all of our friends"
)
ALL = "the plot is thin but the cast is great"


def jobs(plan: Plan) -> list[Job]:
    few = ks(plan)[0]
    many = ks(plan)[-1]
    first = [Model(plan.sets[0], kind, plan.mid).name for kind in ("fc", "cnn")]
    groups = {"good": GOOD, "negation": NEGATION, "names": NAMES}
    found = [
        {
            "kind": kind,
            "place": place,
            "model": model,
            "k": few if kind == "names" else plan.example_k,
        }
        for kind, sentences in groups.items()
        for place in range(len(sentences))
        for model in first
    ]
    lengths = [length for length in plan.lengths if length >= plan.mid]
    found += [
        {"kind": "long", "place": 0, "model": Model(plan.sets[-1], "fc", n).name, "k": few}
        for n in lengths
    ]
    found += [
        {"kind": kind, "place": 0, "model": model, "k": many}
        for kind in ("all", "without")
        for model in first
    ]
    return [Job("examples", {**settings, "sentence": sentence(settings)}) for settings in found]


def sentence(settings: Settings) -> str:
    groups = {
        "good": GOOD,
        "negation": NEGATION,
        "names": NAMES,
        "long": (LONG,),
        "all": (ALL,),
        "without": (ALL,),
    }
    return groups[settings["kind"]][settings["place"]]


def run(plan: Plan, settings: Settings) -> dict[str, Any]:
    model = classifier(plan.out, settings["model"])
    text = settings["sentence"]
    asked = sf.KNNBox(settings["k"])
    row = {"seed": asking.SEED, "command": f"suffice explain TEXT --knn-box {settings['k']}"}
    match settings["kind"]:
        case "all":
            found = list(sf.explain_all(model, text, perturbation=asked, seconds=plan.seconds))
            return {**row, "answers": [told(result, model) for result in found]}
        case "without":
            return {**row, "answers": without(plan, model, text, asked)}
        case "names":
            bias = sf.bias(
                model, text, _named(settings["place"]), perturbation=asked, seconds=plan.seconds
            )
            changed = (
                []
                if bias.witness is None
                else [bias.text.words[i].text for i in bias.witness.positions]
            )
            return {
                **row,
                "label": bias.label,
                "protected": list(bias.positions),
                "bias": bias.status,
                "changed": changed,
            }
        case _:
            result = sf.explain(model, text, perturbation=asked, seconds=plan.seconds)
            return {**row, **told(result, model)}


def _named(place: int) -> list[str]:
    """The names in a sentence."""
    return [
        ["steven", "spielberg", "tom", "hanks"],
        ["adam", "sandler", "paris"],
        ["titanic", "matrix"],
        ["hugh", "grant"],
    ][place]


def without(plan: Plan, model: sf.Classifier, text: str, asked: Any) -> list[dict[str, Any]]:
    """The cheapest explanation, and then what is left when each of its words in turn is
    excluded.
    """
    free = sf.explain(model, text, perturbation=asked, seconds=plan.seconds)
    rows = [{"word": "", **told(free, model)}]
    for position in free.positions:
        found = sf.explain(
            model, text, perturbation=asked, exclude=[position], seconds=plan.seconds
        )
        rows.append({"word": free.text.words[position].text, **told(found, model)})
    return rows


def told(result: sf.Explanation, model: sf.Classifier) -> dict[str, Any]:
    return {
        "label": result.label,
        "status": result.status,
        "positions": list(result.positions),
        "cut": len(result.text.cut),
        "check": asking.checked(result, model),
    }


def marked(text: str | list[str], positions: list[int], length: int | None = None) -> str:
    """The text with the words that suffice in bold, and a bar where the model stops reading."""
    given = text.split() if isinstance(text, str) else text
    words = [f"**{word}**" if place in positions else word for place, word in enumerate(given)]
    if length is not None and len(words) > length:
        words = [*words[:length], "∣", *words[length:]]
    return " ".join(words)
