"""Makes the gallery: `python docs/gallery/make.py FOLDER`. mkdocs runs it by itself (hook.py).

Each answer is asked anew, its certificate is checked, and its report, its certificate and a page with the code are
written. What needs a package that is not installed is left out, and the page says so.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entries import ENTRIES, Entry
from rich.console import Console

import suffice as sf
from suffice.render import auditors, phrases, terminal
from suffice.render.html import document
from suffice.verbs.explain_all import Explanations

HERE = Path(__file__).parent
PAGES = {
    "bundled": (
        "Bundled models",
        "The classifiers that come with suffice, asked with the defaults.",
    ),
    "sets": ("What may change", "The same kind of question with every set of allowed changes."),
    "verbs": ("What can be asked", "Every verb, once or twice."),
    "own": (
        "Models of your own",
        "PyTorch, Keras, ONNX, scikit-learn, a transformer, any function. The classifiers are "
        "tiny and know a café; [how they are made](#how-the-classifiers-are-made) is at the end.",
    ),
}
WIDTH = 80


@dataclass(frozen=True)
class Made:
    """An answer with all that is shown of it."""

    entry: Entry
    sentence: str
    shown: str
    report: str
    certificate: bytes | None
    proves: str
    facts: dict[str, Any]


def made(entry: Entry) -> Made:
    """Ask, check, print."""
    clf, answer = entry.ask()
    if isinstance(answer, Explanations):
        answers, certificate = list(answer), answer.certificate
    else:
        answers, certificate = [answer], _certificate(answer)
    last = answers[-1]
    checked = None if certificate is None else sf.check(certificate, clf)
    facts = {
        "name": entry.name,
        "verb": type(answer).__name__,
        "model": type(clf).__name__,
        "set": _asked(last).get("kind"),
        "at_most": _asked(last).get("at_most"),
        "status": [getattr(one, "status", None) for one in answers],
        "claimed": _claimed(last),
        "checked": None if checked is None else checked.kind,
    }
    return Made(
        entry,
        str(last)
        if len(answers) == 1
        else f"{len(answers)} sets are equally cheap, and there are no others.",
        _printed(clf, answers),
        _report(entry.title, last),
        None if certificate is None else certificate.data,
        "" if checked is None else checked.sentence,
        facts,
    )


def _certificate(answer: Any) -> sf.Certificate | None:
    match answer:
        case sf.Profile():
            return answer.explanations[-1].certificate
        case _:
            return answer.certificate  # type: ignore[no-any-return]


def _asked(answer: Any) -> dict[str, Any]:
    """The set that was asked about, as data."""
    meta = answer.explanations[-1].meta if isinstance(answer, sf.Profile) else answer.meta
    return dict(meta["perturbation"])


def _claimed(answer: Any) -> bool:
    """Whether the answer says that something is proved."""
    return "proved" in str(answer) and "not proved" not in str(answer)


def _printed(clf: Any, answers: list[Any]) -> str:
    """What the terminal shows."""
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, force_terminal=False)
    for answer in answers:
        _show(console, clf, answer)
    lines = console.file.getvalue().strip("\n").split("\n")  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines)


def _show(console: Console, clf: Any, answer: Any) -> None:
    match answer:
        case sf.Explanation():
            terminal.show_explanation(console, answer, clf.predict(answer.text))
            if answer.mistake is not None:
                auditors.show_mistake(console, answer.mistake)
        case sf.Contrast():
            terminal.show_contrast(console, answer)
        case sf.Bias():
            auditors.show_bias(console, answer)
        case sf.Repair():
            auditors.show_repair(console, answer)
        case sf.Profile():
            auditors.show_profile(console, answer)
        case sf.Attribution():
            auditors.show_attribution(console, answer)
        case _:
            raise TypeError(f"The gallery cannot show {answer!r}.")


def _report(title: str, answer: Any) -> str:
    """The report of an explanation; of other answers the card that a notebook shows, as a page."""
    shown = answer.explanation if isinstance(answer, sf.Repair) else answer
    return shown.to_html() if hasattr(shown, "to_html") else document(title, shown._repr_html_())


# --- pages ---


def missing(entry: Entry) -> list[str]:
    return [name for name in entry.needs if importlib.util.find_spec(name) is None]


def section(one: Made) -> str:
    links = [f"[Report]({one.entry.name}.html){{target=_blank}}"]
    if one.certificate is not None:
        links.append(f"[certificate]({one.entry.name}.cert), {len(one.certificate) / 1000:.1f} KB")
    told = (
        f"\n\nThe checker, asked again when this page was made: {phrases.visible(one.proves)}"
        if one.proves
        else ""
    )
    return (
        f"## {one.entry.title} {{#{one.entry.name}}}\n\n{one.entry.says}\n\n```python\n{one.entry.code}\n```\n\n"
        f"```text\n{one.shown}\n```\n\n{' · '.join(links)}{told}\n"
    )


def absent(entry: Entry) -> str:
    lacking = ", ".join(missing(entry))
    return f"## {entry.title} {{#{entry.name}}}\n\n{entry.says} *Not made here: {lacking} is not installed.*\n"


def page(name: str, found: dict[str, Made]) -> str:
    title, intro = PAGES[name]
    entries = [entry for entry in ENTRIES if entry.page == name]
    parts = [
        section(found[entry.name]) if entry.name in found else absent(entry) for entry in entries
    ]
    made_by = [_makers()] if name == "own" else []
    return "\n".join([f"# Gallery: {title}\n\n{intro}\n", *parts, *made_by])


def _makers() -> str:
    """The code of the small classifiers."""
    source = (HERE / "own_models.py").read_text(encoding="utf-8")
    return f"## How the classifiers are made\n\nThe module `own`:\n\n```python\n{source}```\n"


def index(found: dict[str, Made]) -> str:
    """A table of all answers."""
    parts = [
        "# Gallery\n\nWorked answers over all kinds of models and all sets of allowed changes, made from sentences of "
        "our own when this site was built. Each has the code that asked, what the terminal shows, a report, and a "
        "[certificate](../certificate.md) that `suffice check` accepts.\n"
    ]
    for name, (title, _) in PAGES.items():
        rows = [_row(entry, found) for entry in ENTRIES if entry.page == name]
        parts.append(f"## {title}\n\n| question | answer |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _row(entry: Entry, found: dict[str, Made]) -> str:
    where = f"[{entry.title}]({entry.page}.md#{entry.name})"
    if entry.name not in found:
        return f"| {where} | not made here: {', '.join(missing(entry))} is not installed |"
    one = found[entry.name]
    certificate = "" if one.certificate is None else f" · [certificate]({entry.name}.cert)"
    said = (
        phrases.visible(one.sentence).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
    )
    return f"| {where} | {said}<br>[report]({entry.name}.html){certificate} |"


# --- files ---


def files(found: dict[str, Made]) -> Iterator[tuple[str, bytes]]:
    yield "index.md", index(found).encode()
    for name in PAGES:
        yield f"{name}.md", page(name, found).encode()
    for name, one in found.items():
        yield f"{name}.html", one.report.encode()
        if one.certificate is not None:
            yield f"{name}.cert", one.certificate
    yield "answers.json", json.dumps([one.facts for one in found.values()], indent=1).encode()


def stamp() -> str:
    """Changes when anything does that the answers are made of."""
    source = Path(sf.__file__).parent
    read = [
        *sorted(HERE.glob("*.py")),
        *sorted(source.rglob("*.py")),
        *sorted(source.glob("models/*/classifier.json")),
    ]
    digest = hashlib.sha256(
        "".join(f"{importlib.util.find_spec(n)}" for n in ("torch", "keras", "onnx")).encode()
    )
    for path in read:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make(folder: Path) -> None:
    """Everything into a folder, unless it is there already and nothing has changed since."""
    mark = folder / "stamp"
    if mark.exists() and mark.read_text() == stamp():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    with chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch.export and Keras, about their own insides
        found = {entry.name: made(entry) for entry in ENTRIES if not missing(entry)}
    for name, data in files(found):
        (folder / name).write_bytes(data)
    mark.write_text(stamp())


if __name__ == "__main__":
    make(Path(sys.argv[1]))
