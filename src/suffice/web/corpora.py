"""Corpora: many texts asked one after the other while somebody watches; what is done is kept, and
can be gone on with.

The rows of a file lie in memory, their answers in a temporary folder that goes with the server. A
run belongs to the connection that started it: where that closes, the rows under way are dropped and
the others stay. The same file with the same question is the same corpus, so that it goes on where
it was.
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import hmac
import io
import json
import secrets
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
from starlette.types import Receive, Scope, Send

from suffice.corpus.audit import harmless
from suffice.corpus.findings import shown, verdict
from suffice.corpus.journal import sealed
from suffice.corpus.rows import Row, read_rows
from suffice.errors import InputError
from suffice.render.phrases import visible
from suffice.verbs.wording import ends
from suffice.web import sse
from suffice.web.asking import Desk
from suffice.web.fields import Limits
from suffice.web.guard import Refusal

LINES = 20  # of a file, for each row that is allowed
CHUNK = 1_000_000  # bytes of a file sent at once
COLUMNS = ("row", "status", "label", "expected", "words", "cost", "lower", "text", "note")


@dataclass(eq=False)
class Corpus:
    """One file and one question: its rows, what is known of those that are done, and the file of
    their lines.
    """

    key: str
    name: str
    question: Mapping[str, Any]
    rows: list[Row]
    path: Path
    done: dict[int, dict[str, Any]] = field(default_factory=dict)
    run: anyio.CancelScope | None = None

    def left(self) -> Iterator[Row]:
        return (row for row in self.rows if row.number not in self.done)

    def add(self, line: dict[str, Any]) -> dict[str, Any]:
        """Keep a line; what the page shows of it."""
        told = brief(line)
        if line["row"] not in self.done:
            with open(
                self.path, "ab", buffering=0
            ) as file:  # at once: a worker may be reading for a report
                file.write(sealed(line))
            self.done[line["row"]] = told
        return told

    def to_dict(self) -> dict[str, Any]:
        task = {
            "task": self.question["task"],
            "name": visible(self.name),
            "running": self.run is not None,
        }
        return {"id": self.key, **task, "rows": len(self.rows), "done": len(self.done)}


# --- what the page shows of a line ---


def brief(line: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the table: the verdict, the text and which of its words are marked."""
    base = {
        "row": line["row"],
        "expected": line.get("expected"),
        "label": "",
        "cost": None,
        "lower": None,
    }
    if "error" in line:
        return {
            **base,
            **_marked(shown(line), ()),
            "status": "error",
            "checked": False,
            "note": visible(line["error"]),
        }
    return {**base, **(_explained(line["explanation"]) if "explanation" in line else _judged(line))}


def _explained(result: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "status": result["status"],
        "checked": result["meta"].get("checked") is True,
        "label": visible(result["label"]),
        **_marked(result["text"]["source"], result["words"]),
        "cost": result["cost"],
        "lower": result["lower_bound"],
        "note": visible(result["meta"].get("nothing") or result["meta"].get("reason") or ""),
    }


def _judged(line: Mapping[str, Any]) -> dict[str, Any]:
    flip = line["witness"]
    became = (
        ""
        if flip is None or flip["text"] is None
        else f"{flip['text']} → {ends(flip['label'], flip['margin'])}"
    )
    return {
        "status": verdict(line),
        "checked": line["checked"] is True,
        "label": visible(line["label"]),
        **_marked(shown(line), line["protected"]),
        "note": visible(became or line["reason"]),
    }


def _marked(source: str, words: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The text cut into pieces, each with whether it is a marked word, and those words."""
    pieces: list[tuple[str, bool]] = []
    last = 0
    for word in words:
        pieces += [
            (source[last : word["start"]], False),
            (source[word["start"] : word["end"]], True),
        ]
        last = word["end"]
    told = [(visible(text), marked) for text, marked in (*pieces, (source[last:], False)) if text]
    return {"pieces": told, "words": [text for text, marked in told if marked]}


def lines(corpus: Corpus) -> Iterator[bytes]:
    """The file of the answers as it is now, piece by piece; it may be growing."""
    left = corpus.path.stat().st_size
    with open(corpus.path, "rb") as file:
        while left > 0 and (part := file.read(min(left, CHUNK))):
            left -= len(part)
            yield part


def table(corpus: Corpus) -> str:
    """The rows that are done, as CSV."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore")
    writer.writeheader()
    for _, told in sorted(corpus.done.items()):
        cells = {
            **told,
            "words": " ".join(told["words"]),
            "text": "".join(text for text, _ in told["pieces"]),
        }
        writer.writerow({name: harmless(cell) for name, cell in cells.items()})
    return out.getvalue()


# --- the corpora of a server ---


class Corpora:
    """The last few corpora; the oldest that nobody runs goes when there are too many."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.secret = secrets.token_bytes(32)
        self.kept: OrderedDict[str, Corpus] = OrderedDict()
        self.folder: tempfile.TemporaryDirectory[str] | None = None

    async def put(self, given: dict[str, Any]) -> Corpus:
        """The corpus of a file and a question: a new one, or the one that was there."""
        texts = given.pop("texts")
        kind = given.pop("format")
        named = json.dumps(
            [given, kind, hashlib.sha256(texts.encode()).hexdigest()], sort_keys=True
        )
        key = hmac.new(self.secret, named.encode(), "sha256").hexdigest()[:24]
        if key not in self.kept:
            self._make_room()
            path = self._folder() / key
            rows = await asyncio.to_thread(self._rows, texts, path.with_suffix(f".texts.{kind}"))
            question = {name: value for name, value in given.items() if name != "name"}
            self.kept[key] = Corpus(key, given["name"], question, rows, path.with_suffix(".jsonl"))
        self.kept.move_to_end(key)
        return self.kept[key]

    def _folder(self) -> Path:
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix="suffice-")
        return Path(self.folder.name)

    def _make_room(self) -> None:
        while len(self.kept) >= self.limits.corpora:
            old = next((corpus for corpus in self.kept.values() if corpus.run is None), None)
            if old is None:
                raise Refusal(
                    503,
                    "busy",
                    f"{self.limits.corpora} files are being gone through; stop one first.",
                )
            del self.kept[old.key]
            old.path.unlink(missing_ok=True)

    def _rows(self, texts: str, path: Path) -> list[Row]:
        """The rows of a file that is ours for a moment, under a name of our own."""
        if texts.count("\n") > self.limits.rows * LINES:
            raise Refusal(
                422,
                "invalid",
                f"The file has more than {self.limits.rows * LINES:,} lines.",
                "texts",
            )
        path.write_text(texts, encoding="utf-8", newline="")
        try:
            rows = list(islice(read_rows(path), self.limits.rows + 1))
        except InputError as error:
            raise Refusal(
                422, "invalid", str(error).replace(path.name, "The file"), "texts"
            ) from error
        finally:
            path.unlink()
        if len(rows) > self.limits.rows:
            raise Refusal(
                422, "invalid", f"The file has more than {self.limits.rows:,} rows.", "texts"
            )
        return [self._fitting(row) for row in rows]

    def _fitting(self, row: Row) -> Row:
        length = sum(map(len, row.text)) if isinstance(row.text, tuple) else len(row.text)
        if length <= self.limits.characters:
            return row
        told = (
            f"The text has {length:,} characters; at most {self.limits.characters:,} are allowed."
        )
        return Row(row.number, id=row.id, label=row.label, error=told)

    def get(self, key: str) -> Corpus:
        if key not in self.kept:
            raise Refusal(404, "gone", "This file is no longer kept; drop it again.")
        return self.kept[key]

    def close(self) -> None:
        if self.folder is not None:
            self.folder.cleanup()


# --- going through one ---


class Running:
    """An ASGI answer: asks the rows that are left while the client listens, a `row` event each, and
    `done`.
    """

    def __init__(self, desk: Desk, corpus: Corpus) -> None:
        self.desk = desk
        self.corpus = corpus

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.corpus.run is not None:
            self.corpus.run.cancel()  # whoever asks last goes on with it
        await send(dict(sse.START))
        async with anyio.create_task_group() as group:
            self.corpus.run = group.cancel_scope
            try:
                group.start_soon(self._watch, receive, group.cancel_scope)
                await self._rows(send)
                await send(sse.event("done", self.corpus.to_dict()))
                await send(sse.END)
                group.cancel_scope.cancel()
            finally:
                if self.corpus.run is group.cancel_scope:
                    self.corpus.run = None

    async def _watch(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async def _rows(self, send: Send) -> None:
        """Several rows at once, but one worker stays free for other questions where there is more
        than one.
        """
        left = self.corpus.left()
        turn = asyncio.Lock()

        async def some() -> None:
            for row in left:
                told = self.corpus.add(await self._line(row))
                async with turn:
                    await send(sse.event("row", told))

        async with anyio.create_task_group() as group:
            for _ in range(max(1, self.desk.clerks.size - 1)):
                group.start_soon(some)

    async def _line(self, row: Row) -> dict[str, Any]:
        asked = {"asked": dict(self.corpus.question), "row": asdict(row)}
        async with self.desk.clerks.job("row", asked, patient=True) as job:
            async for kind, data in job.messages():
                if kind == "answer":
                    line: dict[str, Any] = data["result"]
                elif kind in ("refused", "failed"):
                    line = {
                        "row": row.number,
                        "text": row.text,
                        "expected": row.label,
                        "error": data["message"],
                    }
        return line


async def files(desk: Desk, corpus: Corpus) -> dict[str, str]:
    """The report of an audit and its table, made by a worker of the lines that are there."""
    asked = {"asked": dict(corpus.question), "path": str(corpus.path), "name": corpus.name}
    async with desk.clerks.job("report", asked, patient=True) as job:
        async for kind, data in job.messages():
            if kind == "answer":
                found: dict[str, str] = data["result"]
            elif kind in ("refused", "failed"):
                raise Refusal(500, kind, data["message"])
    return found
