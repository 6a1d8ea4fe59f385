"""Asking: one question on its way through a worker, as a stream of events or as one JSON answer."""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from suffice.web.fields import Limits
from suffice.web.guard import Refusal
from suffice.web.pool import Busy, Job, Pool

STATUS = {"refused": 422, "failed": 500}


@dataclass(frozen=True)
class Kept:
    """An answer in the forms that can be downloaded; in memory only."""

    json: bytes
    html: bytes | None
    certificate: bytes | None

    @property
    def size(self) -> int:
        return sum(len(part) for part in (self.json, self.html, self.certificate) if part is not None)


class Shelf:
    """The last answers, for downloads; the oldest go when there are too many or they are too large."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.size = limits, 0
        self.kept: OrderedDict[str, Kept] = OrderedDict()

    def put(self, answer: dict[str, Any]) -> str:
        html, certificate = answer.get("html"), answer.get("certificate")
        text = json.dumps(answer["result"], indent=2, ensure_ascii=False)
        kept = Kept(text.encode(), None if html is None else html.encode(), certificate)
        key = secrets.token_urlsafe(12)
        self.kept[key] = kept
        self.size += kept.size
        while len(self.kept) > self.limits.kept or (self.size > self.limits.kept_bytes and len(self.kept) > 1):
            self.size -= self.kept.popitem(last=False)[1].size
        return key

    def get(self, key: str) -> Kept:
        if key not in self.kept:
            raise Refusal(404, "gone", "This answer is no longer kept; ask again.")
        return self.kept[key]


class Desk:
    """What all questions of a server share: the workers, the jobs under way, the answers kept."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self.pool, self.shelf = pool, Shelf(limits)
        self.running: dict[str, Job] = {}

    def stop(self, key: str) -> None:
        if key not in self.running:
            raise Refusal(404, "gone", "There is no such job under way.")
        self.running[key].stop()

    @asynccontextmanager
    async def job(self) -> AsyncIterator[tuple[str, Job]]:
        async with self.pool.job() as job:
            key = secrets.token_urlsafe(12)
            self.running[key] = job
            try:
                yield key, job
            finally:
                del self.running[key]


class Asking:
    """An ASGI answer: runs the job while the client listens, and ends it when the client goes away."""

    def __init__(self, desk: Desk, verb: str, question: dict[str, Any], live: bool) -> None:
        self.desk, self.verb, self.question, self.live = desk, verb, question, live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self.desk.pool.place():
                await self._run(scope, receive, send)
        except Busy:
            busy = Refusal(503, "busy", "All workers are busy and the line is full; try again in a moment.")
            await busy.response()(scope, receive, send)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                group.cancel_scope.cancel()

            group.start_soon(watch)
            await (self._stream(send) if self.live else self._whole(scope, receive, send))
            group.cancel_scope.cancel()

    async def _whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One JSON answer: exactly what --json prints."""
        async with self.desk.job() as (_, job):
            kind, data = [message async for message in job.messages(self.verb, self.question)][-1]
        if kind == "answer":
            response = JSONResponse(data["result"], headers={"x-suffice-answer": self.desk.shelf.put(data)})
        else:
            response = Refusal(STATUS[kind], kind, data["message"]).response()
        await response(scope, receive, send)

    async def _stream(self, send: Send) -> None:
        """Server-sent events: job, text, progress..., and answer, refused or failed."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send(_part(b": in line\n\n"))
        async with self.desk.job() as (key, job):
            await send(_event("job", {"id": key}))
            async for kind, data in job.messages(self.verb, self.question):
                await send(_event(kind, self._answer(data) if kind == "answer" else data))
                await anyio.lowlevel.checkpoint()  # more may be waiting: hear first whether the client has gone
        await send(_part(b"", more=False))

    def _answer(self, data: dict[str, Any]) -> dict[str, Any]:
        """What the page gets: the same dictionary, a sentence, details, and what can be downloaded."""
        key = self.desk.shelf.put(data)
        files = {"json": True, "html": data.get("html") is not None, "certificate": data["certificate"] is not None}
        shown: dict[str, Any] = {
            name: data[name] for name in ("result", "shown", "sentence", "meaning") if name in data
        }
        return {"id": key, "files": [name for name, there in files.items() if there], **shown}


def _part(data: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


def _event(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    return _part(f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode())
