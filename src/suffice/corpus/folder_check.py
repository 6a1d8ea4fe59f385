"""Evidence: a folder of results and certificates, checked again: every certificate, and every row
against its own.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from suffice.corpus.record import how_to_come_by, models, records
from suffice.errors import InputError, NotACertificate, NotChecked, Rejected, SufficeError
from suffice.model.blackbox import BlackBox
from suffice.model.classifier import Classifier
from suffice.model.saved import BUNDLED, bundled, load
from suffice.model.text import Text, rewritten, with_gaps
from suffice.proof.certificate import MAX_HEADER, read
from suffice.proof.check import Checked
from suffice.proof.checking import check

ENDINGS = (".certificate", ".cert")
DIGEST = re.compile("[0-9a-f]{64}")
# what a row's verdict needs: the kinds of claim that prove it
VERDICTS = {"independent": {"independent"}, "dependent": {"infeasible"}}
STATUSES = {
    "optimal": {"cheapest"},
    "sufficient": {"cheapest", "sufficient"},
    "infeasible": {"infeasible"},
    "unknown": {"cheapest", "sufficient"},
}


@dataclass(frozen=True)
class Rechecked:
    """How many certificates there are and hold, how many rows were compared with theirs, what
    failed, and the time.

    `unchecked` are those of which nothing is known, as they were not checked in time; `strange`
    says once of each model that is not there how many are about it.
    """

    certificates: int
    accepted: int
    rows: int
    failed: tuple[tuple[str, str], ...]
    unchecked: tuple[tuple[str, str], ...]
    seconds: float
    strange: tuple[str, ...] = ()

    def __str__(self) -> str:
        failed = self.certificates - self.accepted
        said = (
            f"{self.accepted} of {self.certificates} certificates accepted, {failed} not, in "
            f"{self.seconds:.1f} s."
        )
        said += (
            f" Of {len(self.unchecked)} nothing is known: time ran out." if self.unchecked else ""
        )
        return said + (
            f" {self.rows} rows of results were compared with theirs." if self.rows else ""
        )


@dataclass(frozen=True, eq=False)
class Line:
    """A row of results: where it stands, what it says, and the certificate that it names."""

    where: str
    row: Mapping[str, Any]
    certificate: Path | None


def recheck(
    folder: str | Path,
    classifier: Classifier | BlackBox | None = None,
    seconds: float = 60.0,
    load: Callable[[Path], Classifier | BlackBox] = load,
) -> Rechecked:
    """Check every certificate below a folder, each for `seconds` at most, and what results
    (*.jsonl) say of it.

    A row must say what its certificate proves: of this text, this set of changes and these words,
    at this cost. A row that says that something is proved and names no certificate, or one that is
    not a file of this folder, fails. Without a classifier each is checked with the model of its
    digest that is saved in the folder, by `load`.
    """
    folder = Path(folder)
    started = time.monotonic()
    paths = {path.resolve() for path in folder.rglob("*") if path.suffix in ENDINGS}
    lines = _lines(folder)
    rows = [(line.certificate, line) for line in lines if line.certificate is not None]
    alone = paths - {path for path, _ in rows}
    if not paths and not rows:
        raise InputError(
            f"{folder} holds no certificates ({', '.join('*' + end for end in ENDINGS)})."
        )
    checked = [(path, None) for path in sorted(alone)] + rows
    known = _Models(folder, classifier, load)
    bad: list[tuple[Path, str]] = []
    late: dict[Path, str] = {}
    for path, line in checked:
        try:
            reason = _elsewhere(path, folder) or _reason(path, line, known, seconds)
            bad += [(path, reason)] if reason else []
        except NotChecked as error:
            late[path] = str(error)
    failed = [(_short(path, folder), reason) for path, reason in bad]
    failed += [(line.where, reason) for line in lines if (reason := _unproved(line))]
    unchecked = tuple((_short(path, folder), reason) for path, reason in late.items())
    every = {path for path, _ in checked}
    strangers = set().union(*known.strange.values())
    good = every - {path for path, _ in bad} - late.keys() - strangers
    seconds = time.monotonic() - started
    return Rechecked(
        len(every), len(good), len(rows), tuple(failed), unchecked, seconds, known.said()
    )


class _Models:
    """The model that each certificate is about: the one that is given, or one that is saved in the
    folder.
    """

    def __init__(
        self,
        folder: Path,
        given: Classifier | BlackBox | None,
        load: Callable[[Path], Classifier | BlackBox],
    ) -> None:
        self.folder = folder
        self.given = given
        self.load = load
        self.found = {} if given is None else {given.digest: given}
        self.left = (
            iter(())
            if given is not None
            else chain(models(folder), (BUNDLED / name for name in bundled()))
        )
        self.broken: list[str] = []  # models that cannot be read
        self.strange: dict[
            str, set[Path]
        ] = {}  # certificates by the digest of a model that is not there

    def about(self, path: Path) -> Classifier | BlackBox | None:
        """The model of a certificate; None where it is not there, which is said once for all of
        them.
        """
        digest = _digest_in(path)
        while digest not in self.found and (place := next(self.left, None)) is not None:
            try:
                one = self.load(place)
                self.found[one.digest] = one
            except SufficeError as error:
                self.broken.append(str(error))
        if digest not in self.found:
            self.strange.setdefault(digest, set()).add(path)
        return self.found.get(digest)

    def said(self) -> tuple[str, ...]:
        """One sentence for each model that is not there."""
        return tuple(
            f"{_many(paths, self.folder)} about the model {digest[:12]}, {self._instead(digest)}"
            for digest, paths in self.strange.items()
        )

    def _instead(self, digest: str) -> str:
        if self.given is not None:
            return f"and not about the one that is given ({self.given.digest[:12]})."
        record = next((one for one in records(self.folder) if one["digest"] == digest), {})
        return " ".join([how_to_come_by(record, self.folder), *self.broken])


def _many(paths: set[Path], folder: Path) -> str:
    first = _short(min(paths), folder)
    return f"{first} is" if len(paths) == 1 else f"{first} and {len(paths) - 1} more are"


def _digest_in(path: Path) -> str:
    """The digest that a certificate names; NotACertificate where it is none."""
    head = next(read(path, MAX_HEADER), None)
    digest = head.get("model") if isinstance(head, dict) else None
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        raise NotACertificate("This is not a certificate: it names no model.")
    return digest


def _short(path: Path, folder: Path) -> str:
    root = folder.resolve()
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def _elsewhere(path: Path, folder: Path) -> str:
    """Why a file is not read: what somebody sends may name other files of this machine, or what
    never ends.
    """
    if not path.resolve().is_relative_to(folder.resolve()):
        return "it is not in this folder, and is not read"
    return "" if path.is_file() or not path.exists() else "it is no file, and is not read"


def _lines(folder: Path) -> list[Line]:
    """The rows of all results below a folder."""
    found = []
    for path in sorted(folder.rglob("*.jsonl")):
        if refused := _elsewhere(path, folder):
            raise InputError(f"{path.relative_to(folder)}: {refused}.")
        for number, text in enumerate(path.read_bytes().splitlines(), 1):
            where = f"{path.relative_to(folder)}, line {number}"
            try:
                row = json.loads(text)
            except ValueError:
                raise InputError(f"{where}: this is no JSON.") from None
            if isinstance(row, dict) and {"row", "run", "text"} <= row.keys():
                named = row.get("certificate_file")
                found.append(
                    Line(
                        where, row, None if named is None else (path.parent / str(named)).resolve()
                    )
                )
    return found


def _unproved(line: Line) -> str:
    said = line.row.get("explanation", line.row)
    status = said.get("status") if isinstance(said, dict) else None
    if line.certificate is not None or status in (None, "unknown", "tested"):
        return ""
    return f"it says {status!r} and names no certificate"


def _reason(path: Path, line: Line | None, known: _Models, seconds: float) -> str:
    """Why a certificate, or the row that names it, is not accepted; nothing if all is well, or its
    model not there.
    """
    try:
        classifier = known.about(path)
        if classifier is None:
            return ""
        if line is None:
            return _proof(check(path, classifier, seconds=seconds))
        checked = check(path, classifier, seconds=seconds, **_asked(line.row))
        return _proof(checked) or _difference(line.row, checked, classifier)
    except NotChecked:
        raise
    except (Rejected, NotACertificate) as error:
        return str(error)
    except (InputError, AttributeError, LookupError, TypeError, ValueError) as error:
        if line is None:
            raise
        return (
            f"{line.where} names it, but is malformed ({type(error).__name__}: {str(error)[:200]})"
        )


def _asked(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says of its question."""
    if "explanation" not in row:
        return {"text": row["text"], "perturbation": row["perturbation"]}
    meta = row["explanation"]["meta"]
    words = {name: meta.get(name, []) for name in ("include", "exclude")}
    rest = {"cost": meta.get("cost"), "padding": meta.get("padding"), "more": {}}
    return {
        "question": SimpleNamespace(
            text=row["text"], perturbation=meta["perturbation"], **words, **rest
        )
    }


def _proof(checked: Checked) -> str:
    return (
        "its texts were drawn at random: it is a test and no proof"
        if checked.kind == "tested"
        else ""
    )


def _difference(row: Mapping[str, Any], checked: Checked, classifier: Classifier | BlackBox) -> str:
    """Where a row says something else than its certificate proves."""
    said = row.get("explanation", row)
    status = said["status"]
    label = said["label"]
    kinds = (VERDICTS if said is row else STATUSES).get(status, set())
    if checked.kind not in kinds or (status == "optimal" and not checked.optimal):
        return f"its row says {status!r}, which a certificate of {checked.kind!r} does not prove"
    if label != checked.label:
        return f"its row says {label!r}, the certificate {checked.label!r}"
    places = _places(row, checked)
    if places != sorted(checked.positions):
        return (
            f"its row is about the words at {places}, the certificate about those at "
            f"{sorted(checked.positions)}"
        )
    text = classifier.read(row["text"])
    named = row["protected"] if said is row else said["words"]
    if [
        asdict(word) for word in text.words if word.position in places
    ] != named and checked.kind != "infeasible":
        return "its row names other words than those of the text at these positions"
    return (
        _witnessed(row["witness"], text, label, classifier)
        if said is row
        else _told(said, text, checked)
    )


def _told(said: Mapping[str, Any], text: Text, checked: Checked) -> str:
    """Where an explanation says other words or numbers than were proved."""
    bounds = {"cost": checked.cost, "lower_bound": checked.lower}
    for name, count in bounds.items():
        if (
            count is not None
            and checked.unit is not None
            and said[name] != float(count * checked.unit)
        ):
            return (
                f"its row says {name} {said[name]!r}, the certificate "
                f"{float(count * checked.unit)!r}"
            )
    if said["proved"] not in ([], list(checked.proved)):
        return "its row says that other things are proved"
    return "" if said["text"]["source"] == text.source else "its row explains another text"


def _witnessed(
    witness: Mapping[str, Any] | None, text: Text, label: str, classifier: Classifier | BlackBox
) -> str:
    """Where the changed text that a row shows is not what its change makes, or has another label
    than it says.
    """
    if witness is None or witness["text"] is None:
        return ""
    new = {move["position"]: move["became"] for move in witness["changed"]}
    if witness["text"] not in (rewritten(text, new), rewritten(text, with_gaps(new))):
        return "the changed text that its row shows is not what the change makes of the text"
    found = classifier.predict(witness["text"])
    scores = dict(zip(classifier.labels, found.scores, strict=True))
    right = scores[witness["label"]] == max(scores.values()) and witness["label"] != label
    return (
        ""
        if right
        else f"the changed text of its row has the label {found.label!r}, not {witness['label']!r}"
    )


def _places(row: Mapping[str, Any], checked: Checked) -> list[int]:
    """The words that a row is about; of an infeasible question those to avoid, which such rows do
    not list.
    """
    if "explanation" not in row:
        return sorted(word["position"] for word in row["protected"])
    return sorted(
        checked.positions if checked.kind == "infeasible" else row["explanation"]["positions"]
    )
