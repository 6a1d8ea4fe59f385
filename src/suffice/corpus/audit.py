"""Audit: does the label of any text of a file hang on protected words? Counted, resumable, with a report."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from suffice.corpus.findings import COLUMNS, Audit, summarise, table
from suffice.corpus.journal import read_journal
from suffice.corpus.rows import Reply, Row, digest, head
from suffice.corpus.running import OnRow, guarded, named, run_all, settings
from suffice.errors import InputError
from suffice.model.classifier import Classifier
from suffice.prove.verdict import Witness
from suffice.sets.perturbations import Perturbation
from suffice.verbs.answering import summary
from suffice.verbs.bias import Bias, Protected, bias

Groups: TypeAlias = Mapping[str, Sequence[str]]


@dataclass(frozen=True, eq=False)
class Auditing:
    """Ask of a row's text whether its label depends on the protected words: on all, on each group, on each word.

    What holds for all of them holds for some of them, so that groups and words are asked only where it does not.
    """

    classifier: Classifier
    perturbation: Perturbation
    protected: Protected
    groups: Groups = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def question(self) -> str:
        words = named(self.protected) if callable(self.protected) else list(self.protected)
        groups = {name: list(words) for name, words in self.groups.items()}
        return digest({"task": "bias", "protected": words, "groups": groups, **settings(self)})

    @cached_property
    def run(self) -> str:
        return digest({"question": self.question, "model": self.classifier.digest})

    def __call__(self, row: Row) -> Reply:
        return guarded(self, row, self._answer)

    def _answer(self, row: Row, expected: str | None) -> Reply:
        answer = self._ask(row, self.protected)
        line = {
            **head(self, row),
            "expected": expected,
            "question": self.question,
            "model": self.classifier.digest,
            "label": answer.label,
            "status": answer.status,
            "trivial": answer.trivial,
            "reason": answer.reason,
            "protected": [asdict(word) for word in answer.words],
            "witness": None if answer.witness is None else _shown(answer, answer.witness),
            "by_word": self._by_word(row, answer),
            "by_group": self._by_group(row, answer),
            "certificate": summary(answer.certificate),
            "checked": answer.meta.get("checked", False),
            "perturbation": self.perturbation.to_dict(),
        }
        return Reply(line, None if answer.certificate is None else answer.certificate.data)

    def _by_word(self, row: Row, answer: Bias) -> list[dict[str, str]]:
        """Each different protected word of the text, changed alone (in all its places)."""
        places: dict[str, list[int]] = {}
        for word in answer.words:
            places.setdefault(answer.text.tokens[word.position].casefold(), []).append(word.position)
        return [self._part(row, answer, word, where) for word, where in places.items()]

    def _by_group(self, row: Row, answer: Bias) -> list[dict[str, str]]:
        held = {form.casefold() for word in answer.words for form in (word.text, answer.text.tokens[word.position])}
        present = {name: [w for w in words if w.casefold() in held] for name, words in self.groups.items()}
        return [self._part(row, answer, name, words) for name, words in present.items() if words]

    def _part(self, row: Row, answer: Bias, name: str, part: Sequence[str | int]) -> dict[str, str]:
        if answer.status == "independent":
            return {"name": name, "status": "trivial" if answer.trivial else "independent"}
        some = self._ask(row, part)
        return {"name": name, "status": "trivial" if some.trivial else some.status}

    def _ask(self, row: Row, protected: Protected) -> Bias:
        return bias(self.classifier, row.text, protected, perturbation=self.perturbation, **self.options)


def _shown(answer: Bias, witness: Witness) -> dict[str, Any]:
    """The witness for people; its exact vectors are in the certificate."""
    moves = zip(witness.positions, witness.words, strict=True)
    words = answer.text.words
    return {
        "label": witness.label,
        "margin": witness.margin,
        "real_words": witness.real,
        "text": witness.text,
        "changed": [
            {"position": i, "word": words[i].text if i < len(words) else answer.text.tokens[i], "became": became}
            for i, became in moves
        ],
    }


def audit(
    classifier: Classifier,
    texts: str | Path | Sequence[Row],
    out: str | Path,
    protected: Protected | Groups,
    *,
    perturbation: Perturbation,
    certificates: str | Path | None = None,
    compare: str | Path | None = None,
    workers: int = 1,
    engine: str = "local",
    fresh: bool = False,
    on_row: OnRow | None = None,
    **options: Any,
) -> Audit:
    """Ask `bias` of every text; resumable like `batch`. `protected` may also be a mapping from groups to words.

    `compare` is the `out` of an older audit, say of another version of the model. `options` are those of `bias`.
    """
    older = None if compare is None else _older(compare)
    groups = protected if isinstance(protected, Mapping) else {}
    words = [word for group in groups.values() for word in group] if isinstance(protected, Mapping) else protected
    task = Auditing(classifier, perturbation, words, groups, options)
    return summarise(run_all(task, texts, out, certificates, workers, engine, fresh, on_row), older)


# --- audits as files ---


def _older(path: str | Path) -> list[dict[str, Any]]:
    lines = read_journal(path)
    if any("error" not in line and "by_word" not in line for line in lines):
        raise InputError(f"{path} holds no audit: give the .jsonl file that an audit wrote.")
    return lines


def to_csv(found: Audit) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    writer.writerows({key: _harmless(cell) for key, cell in row.items()} for row in table(found))
    return out.getvalue()


def _harmless(cell: Any) -> Any:
    """A spreadsheet takes a cell that begins like this for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def read_protected(given: str) -> list[str] | dict[str, list[str]]:
    """Protected words from a file, or from the argument itself: "she,he".

    A text file has one word per line; a line in brackets, such as [women], begins a group; # begins a comment. A JSON
    file has a list of words, or an object from groups to lists of words.
    """
    path = Path(given)
    if not path.is_file():
        if path.suffix in (".txt", ".json"):
            raise InputError(f"There is no file {given}.")
        return _words([word.strip() for word in given.split(",") if word.strip()], given)
    source = path.read_text(encoding="utf-8-sig")
    return _from_json(source, given) if path.suffix == ".json" else _from_lines(source, given)


def _from_json(source: str, name: str) -> list[str] | dict[str, list[str]]:
    try:
        data = json.loads(source)
    except ValueError as error:
        raise InputError(f"{name} is not JSON: {error}.") from error
    if isinstance(data, dict):
        return {group: _words(words, name) for group, words in data.items()}
    return _words(data, name)


def _from_lines(source: str, name: str) -> list[str] | dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    group = ""
    for line in source.splitlines():
        word = line.partition("#")[0].strip()
        if word.startswith("[") and word.endswith("]"):
            group = word[1:-1].strip()
        elif word:
            groups.setdefault(group, []).append(word)
    _words([word for words in groups.values() for word in words], name)
    return groups[""] if list(groups) == [""] else groups


def _words(data: Any, name: str) -> list[str]:
    if not isinstance(data, list) or not data or not all(isinstance(word, str) and word for word in data):
        raise InputError(f"{name} must name at least one protected word.")
    return data
