"""Posed: one question on its way through a worker, as a stream of events or as one JSON answer."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from suffice.web import sse
from suffice.web.clerks import Busy, Clerks, Job
from suffice.web.fields import Limits
from suffice.web.guard import Refusal

STATUS = {"refused": 422, "failed": 500}
SHOWN = ("result", "shown", "sentence")  # what the page gets of an answer


@dataclass(eq=False)
class Kept:
    """An answer in the forms that can be downloaded; in memory only. The report comes after the
    answer.
    """

    json: bytes
    certificate: bytes | None
    report: bytes | None = None
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def size(self) -> int:
        return sum(
            len(part) for part in (self.json, self.report, self.certificate) if part is not None
        )


class Shelf:
    """The last answers, for downloads; the oldest go when there are too many or they
    are too large.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.kept: OrderedDict[str, Kept] = OrderedDict()

    def put(self, answer: dict[str, Any]) -> tuple[str, Kept]:
        text = json.dumps(answer["result"], indent=2, ensure_ascii=False)
        key = secrets.token_urlsafe(12)
        kept = Kept(text.encode(), answer.get("certificate"))
        self.kept[key] = kept
        self.tidy()
        return key, kept

    def tidy(self) -> None:
        while len(self.kept) > self.limits.kept or (
            self.size > self.limits.kept_bytes and len(self.kept) > 1
        ):
            self.kept.popitem(last=False)

    @property
    def size(self) -> int:
        return sum(kept.size for kept in self.kept.values())

    def get(self, key: str) -> Kept:
        if key not in self.kept:
            raise Refusal(404, "gone", "This answer is no longer kept; ask again.")
        return self.kept[key]


class Desk:
    """What all questions of a server share: the clerks, the jobs under way, the answers kept."""

    def __init__(self, clerks: Clerks, limits: Limits) -> None:
        self.clerks = clerks
        self.shelf = Shelf(limits)
        self.running: dict[str, Job] = {}

    def stop(self, key: str) -> None:
        if key not in self.running:
            raise Refusal(404, "gone", "There is no such job under way.")
        self.running[key].stop()

    @asynccontextmanager
    async def job(self, verb: str, question: dict[str, Any]) -> AsyncIterator[tuple[str, Job]]:
        async with self.clerks.job(verb, question) as job:
            key = secrets.token_urlsafe(12)
            self.running[key] = job
            try:
                yield key, job
            finally:
                del self.running[key]


class Posed:
    """An ASGI answer: runs the job while the client listens, and ends it when the
    client goes away.
    """

    def __init__(self, desk: Desk, verb: str, question: dict[str, Any], live: bool) -> None:
        self.desk = desk
        self.verb = verb
        self.question = question
        self.live = live
        self.kept: Kept | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self.desk.clerks.place():
                await self._run(scope, receive, send)
        except Busy:
            busy = Refusal(
                503, "busy", "All workers are busy and the line is full; try again in a moment."
            )
            await busy.response()(scope, receive, send)
        finally:
            if self.live:
                self._finished()

    def _finished(self) -> None:
        if self.kept is not None:
            self.kept.finished.set()

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
        """One JSON answer, exactly what --json prints; the report is made after it, unless somebody
        waits.
        """
        async with AsyncExitStack() as stack:
            _, job = await stack.enter_async_context(self.desk.job(self.verb, self.question))
            async for kind, data in self._messages(job):
                if kind == "answer":
                    self.desk.clerks.later(self._rest(job, stack.pop_all()))
                    headers = {"x-suffice-answer": data["id"]}
                    await JSONResponse(data["result"], headers=headers)(scope, receive, send)
                    return
                if kind in STATUS:
                    await Refusal(STATUS[kind], kind, data["message"]).response()(
                        scope, receive, send
                    )

    async def _rest(self, job: Job, stack: AsyncExitStack) -> None:
        """What follows an answer that has been given."""
        async with stack:
            async for _ in self._messages(job):
                pass
        self._finished()

    async def _stream(self, send: Send) -> None:
        """Server-sent events: job, text, progress..., answer and what follows it; or refused or
        failed.
        """
        await send(dict(sse.START))
        await send(sse.part(b": in line\n\n"))
        async with self.desk.job(self.verb, self.question) as (key, job):
            await send(sse.event("job", {"id": key}))
            async for kind, data in self._messages(job):
                await send(sse.event(kind, data))
                # more may be waiting: hear first whether the client has gone
                await anyio.lowlevel.checkpoint()
        await send(sse.END)

    async def _messages(self, job: Job) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """What a client is told; answers and reports are put on the shelf."""
        async for kind, data in job.messages():
            match kind:
                case "answer":
                    if self.desk.clerks.line:
                        job.stop()  # the details can wait longer than the next question
                    yield kind, self._answer(data)
                case "report":
                    if self.kept is not None:
                        self.kept.report = data["html"].encode()
                    self.desk.shelf.tidy()
                    yield kind, {}
                case _:
                    yield kind, data

    def _answer(self, data: dict[str, Any]) -> dict[str, Any]:
        """The same dictionary, a sentence, and what can be downloaded by now."""
        key, self.kept = self.desk.shelf.put(data)
        files = ["json", *(["certificate"] if data["certificate"] is not None else [])]
        return {"id": key, "files": files, **{name: data[name] for name in SHOWN if name in data}}
