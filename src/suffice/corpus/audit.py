"""Audit: does the label of any text of many hang on protected words? Counted, resumable, with a
report.
"""

from __future__ import annotations

import csv
import hashlib
import inspect
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from suffice.corpus import running
from suffice.corpus.findings import COLUMNS, Audit, slim, summarise, table
from suffice.corpus.journal import read_journal
from suffice.corpus.rows import Reply, Row, beginning, digest, head
from suffice.corpus.running import Done, OnRow, Run, done_rows, keep, settings
from suffice.errors import InputError, SufficeError
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.naming import named
from suffice.proof.checking import check
from suffice.sets.perturbations import Perturbation, for_audits
from suffice.sets.substitutes import group, groups, like_group
from suffice.sets.table import in_general
from suffice.verbs.answering import summary
from suffice.verbs.bias import Bias, Protected, bias, guarded, protected_group, standing
from suffice.verbs.question import Given, Question, check_classifier
from suffice.verbs.wording import becoming, relied
from suffice.verify.contract import Witness

Groups: TypeAlias = Mapping[str, Sequence[str]]
LONGEST = 200  # characters of a fact


@dataclass(frozen=True, eq=False)
class Auditing:
    """Ask of a row's text whether its label depends on the protected words: on all, on each group,
    on each word.

    What holds for all of them holds for some of them, so that groups and words are asked only where
    it does not.
    """

    classifier: Classifier | BlackBox
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
        return running.guarded(self, row, self._answer)

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
            "checked": answer.meta.get("checked", False) and not relied(answer.meta),
            "perturbation": answer.meta["perturbation"],
        }
        return Reply(line, None if answer.certificate is None else answer.certificate.data)

    def _by_word(self, row: Row, answer: Bias) -> list[dict[str, str]]:
        """Each different protected word of the text, changed alone (in all its places)."""
        places: dict[str, list[int]] = {}
        for word in answer.words:
            places.setdefault(answer.text.tokens[word.position].casefold(), []).append(
                word.position
            )
        return [
            {**self._part(row, answer, word, where), "could": _could(answer, where)}
            for word, where in places.items()
        ]

    def _by_group(self, row: Row, answer: Bias) -> list[dict[str, str]]:
        present = {name: _places(answer, words) for name, words in self.groups.items()}
        return [self._part(row, answer, name, where) for name, where in present.items() if where]

    def _part(self, row: Row, answer: Bias, name: str, part: Sequence[int]) -> dict[str, str]:
        if answer.trivial or not set(part) & set(answer.tested):
            return {"name": name, "status": "trivial"}
        if answer.status == "independent":
            return {"name": name, "status": "independent"}
        some = self._ask(row, part)
        why = {"reason": some.reason} if some.status == "unknown" else {}
        return {"name": name, "status": "trivial" if some.trivial else some.status, **why}

    def _ask(self, row: Row, protected: Protected) -> Bias:
        return bias(
            self.classifier, row.text, protected, perturbation=self.perturbation, **self.options
        )

    def asked(self, text: Given, protected: Protected) -> Question:
        """The question of a row."""
        kept = {name: value for name, value in self.options.items() if name != "self_check"}
        plain = Question(self.classifier, text, perturbation=self.perturbation, **kept)
        return replace(plain, exclude=guarded(plain, protected))


def _places(answer: Bias, words: Sequence[str]) -> list[int]:
    """Where words of a group stand in a text."""
    return sorted({place for word in words for place in standing(answer.text, word)})


def _could(answer: Bias, places: Sequence[int]) -> str:
    """What could happen to a word; nothing where it was not tested."""
    if not set(places) & set(answer.tested):
        return ""
    return (
        becoming(list(dict.fromkeys(other for i in places for other in answer.options.get(i, ()))))
        or "move"
    )


def _shown(answer: Bias, witness: Witness) -> dict[str, Any]:
    """The witness for people; its exact vectors are in the certificate."""
    moves = zip(witness.positions, witness.words, strict=True)
    words = answer.text.words
    return {
        "label": witness.label,
        "margin": witness.margin,
        "real_words": witness.real,
        "text": witness.text,
        "blanked": witness.blanked,
        "changed": [
            {
                "position": i,
                "word": words[i].text if i < len(words) else answer.text.tokens[i],
                "became": became,
            }
            for i, became in moves
        ],
    }


def audit(
    classifier: Classifier | BlackBox,
    texts: Any,
    protected: Protected | Groups,
    out: str | Path | None = None,
    report: str | Path | None = None,
    *,
    perturbation: Perturbation | None = None,
    certificates: str | Path | None = None,
    compare: str | Path | None = None,
    recheck: bool = False,
    workers: int = 1,
    engine: str = "local",
    fresh: bool = False,
    on_row: OnRow | None = None,
    **options: Any,
) -> Audit:
    """Ask `bias` of every text; `texts`, `out` and resuming are as in `batch`, `options` are those
    of `bias`.

    `protected` may also be a mapping from groups to words. Without a set, words may become their
    counterparts in the bundled groups, or a bundled substitute. `lacking` of the result says why it
    clears no model, if it does not: rows failed, or nothing was proved. `report` is an HTML file to
    write; unless they are named, a table (.csv), the lines (.jsonl) and a folder of certificates
    (.certificates) go beside it. `compare` is the `out` of an older audit, say of another version
    of the model. With `recheck`, the certificates of rows that were done before go through the
    checker again; a row whose certificate is gone or wrong counts as failed.
    """
    check_classifier(classifier)
    inspect.signature(bias).bind(classifier, "", protected, **options)
    older = None if compare is None else _older(compare)
    run = Run(*_beside(report, out, certificates), workers, engine, fresh, on_row)
    for read in (texts, compare):
        keep(read, run.out, report)
        _keep_from_table(read, report)
    verb = auditing(classifier, protected, perturbation, options)
    rows = done_rows(verb, texts, run)
    found = summarise(
        (slim(_rechecked(row, verb, run) if recheck else row.line) for row in rows), older
    )
    if report is not None:
        save_report(found, Path(report), _title(texts), facts(verb))
    return found


def _keep_from_table(read: Any, report: str | Path | None) -> None:
    """The table that goes beside a report must not be a file that is read either."""
    try:
        keep(read, None if report is None else Path(report).with_suffix(".csv"))
    except InputError as error:
        raise InputError(
            f"The table beside {report} would be {read}, which is read here: name another report."
        ) from error


def auditing(
    classifier: Classifier | BlackBox,
    protected: Protected | Groups,
    perturbation: Perturbation | None = None,
    options: Mapping[str, Any] | None = None,
) -> Auditing:
    """What is asked of every row."""
    if isinstance(protected, str):
        protected = {protected: protected_group(protected)}
    groups = protected if isinstance(protected, Mapping) else {}
    words = (
        [word for group in groups.values() for word in group]
        if isinstance(protected, Mapping)
        else protected
    )
    return Auditing(classifier, for_audits(perturbation), words, groups, options or {})


def _beside(
    report: str | Path | None, out: str | Path | None, certificates: str | Path | None
) -> tuple[str | Path | None, str | Path | None]:
    """Where the lines and the certificates go: unless they are named, beside the report."""
    if report is None:
        return out, certificates
    return out or Path(report).with_suffix(".jsonl"), certificates or Path(report).with_suffix(
        ".certificates"
    )


# --- checking again ---


def _rechecked(row: Done, verb: Auditing, run: Run) -> dict[str, Any]:
    """The line of a row that was done before, or an error where its certificate does
    not prove it.
    """
    if not row.resumed or not _proves(row.line):
        return row.line
    try:
        _check_line(row.line, verb, Path("." if run.out is None else run.out).parent)
    except (SufficeError, OSError) as error:
        return {
            **beginning(row.line),
            "error": f"The certificate of this row was not accepted: {error}",
        }
    return row.line


def _proves(line: Mapping[str, Any]) -> bool:
    """Whether a line says something that has a certificate: a tie as the text stands
    may have none.
    """
    tied = line.get("witness") is not None and not line["witness"]["changed"]
    return line.get("certificate") is not None or (
        line.get("status") in ("independent", "dependent") and not tied
    )


def _check_line(line: Mapping[str, Any], verb: Auditing, beside: Path) -> None:
    """Refused unless the file is the one that the line names, the checker accepts it, and it is
    about this row.
    """
    if line["certificate"] is None or "certificate_file" not in line:
        raise InputError("it was not kept; ask again with --fresh.")
    data = (beside / line["certificate_file"]).read_bytes()
    if hashlib.sha256(data).hexdigest() != line["certificate"]["sha256"]:
        raise InputError(f"{line['certificate_file']} is not the file that was written.")
    question = verb.asked(line["text"], verb.protected)
    checked = check(data, verb.classifier, text=question.text, perturbation=question.perturbation)
    kind = {"independent": "independent", "dependent": "infeasible"}[line["status"]]
    if (checked.kind, checked.label, checked.positions) != (kind, line["label"], question.exclude):
        raise InputError(f"it proves something else: {checked.sentence}")


# --- audits as files ---


def _older(path: str | Path) -> list[dict[str, Any]]:
    lines = [slim(line) for line in read_journal(path)]
    if any("error" not in line and "by_word" not in line for line in lines):
        raise InputError(f"{path} holds no audit: give the .jsonl file that an audit wrote.")
    return lines


def _title(texts: Any) -> str:
    return f"Audit of {Path(texts).name}" if isinstance(texts, str | Path) else "Audit"


def facts(verb: Auditing) -> list[tuple[str, str]]:
    """What was asked, as pairs of a heading and its value."""
    words = (
        named(verb.protected) if callable(verb.protected) else ", ".join(map(str, verb.protected))
    )
    listed = ", ".join(verb.groups) if verb.groups else words
    return [
        ("Model", verb.classifier.digest[:12]),
        ("Protected", listed if len(listed) <= LONGEST else f"{listed[: LONGEST - 3]}..."),
        ("Allowed changes", in_general(verb.perturbation.to_dict(), verb.classifier.ordered)),
    ]


def save_report(found: Audit, path: Path, title: str, facts: Sequence[tuple[str, str]]) -> None:
    """The report as HTML, and the table beside it."""
    from suffice.render.audit import page

    path.write_text(page(found, title, facts), encoding="utf-8")
    path.with_suffix(".csv").write_text(to_csv(found), encoding="utf-8", newline="")


def to_csv(found: Audit) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    writer.writerows({key: harmless(cell) for key, cell in row.items()} for row in table(found))
    return out.getvalue()


def harmless(cell: Any) -> Any:
    """A spreadsheet takes a cell that begins like this for a formula."""
    return (
        f"'{cell}"
        if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r")
        else cell
    )


def read_protected(given: str) -> list[str] | dict[str, list[str]]:
    """Protected words from a file, from the argument itself ("she,he"), or of bundled groups
    ("gender,religion").

    A text file has one word per line; a line in brackets, such as [women], begins a group; # begins
    a comment. A JSON file has a list of words, or an object from groups to lists of words.
    """
    path = Path(given)
    if not path.is_file():
        if path.suffix in (".txt", ".json"):
            raise InputError(f"There is no file {given}.")
        named = [word.strip() for word in given.split(",") if word.strip()]
        if named and set(named) <= set(groups()):
            return {name: list(group(name)) for name in named}
        for word in named:
            if meant := "" if word in groups() else like_group(word):
                raise InputError(
                    f"There is no group {word!r} of protected words: did you mean {meant}? A "
                    "word that is written "
                    "like a group goes into a file, one word per line."
                )
        if set(named) & set(groups()):
            group_name, word = (
                next(n for n in named if (n in groups()) is known) for known in (True, False)
            )
            raise InputError(
                f"{group_name!r} is a bundled group of words and {word!r} is none: name "
                "groups, or words. A word that "
                "is called like a group goes into a file, one word per line."
            )
        return _words(named, repr(given))
    source = path.read_text(encoding="utf-8-sig")
    return _from_json(source, given) if path.suffix == ".json" else _from_lines(source, given)


def _from_json(source: str, name: str) -> list[str] | dict[str, list[str]]:
    try:
        data = json.loads(source)
    except (ValueError, RecursionError) as error:
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
    if (
        not isinstance(data, list)
        or not data
        or not all(isinstance(word, str) and word for word in data)
    ):
        raise InputError(f"{name} must name at least one protected word.")
    return data
