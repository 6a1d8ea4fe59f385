"""Clerks: a few worker processes, a short line in front of them, and the rule that nobody keeps one
for nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeAlias

from suffice.web import jobs

GRACE = 2.0  # seconds that an interrupted search has before its process is killed
CONTEXT = multiprocessing.get_context("spawn")


Message: TypeAlias = tuple[str, dict[str, Any]]
LAST = {"done", "refused", "failed"}
GONE: Message = ("failed", {"message": "the worker died; try again"})


class Busy(Exception):
    """The line is full."""


class Clerk:
    """One process, its pipe, and a thread that carries what it says into the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.inbox: asyncio.Queue[Message] = asyncio.Queue()
        self.loop = loop
        self.gone = False
        self.pipe, theirs = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=jobs.main, args=(theirs,), daemon=True)
        with _single_threaded():
            self.process.start()
        theirs.close()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        """The only reader of the pipe; "gone" is the last word of a process that died."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            while True:
                try:
                    message = self.pipe.recv()
                except (EOFError, OSError):
                    self.gone = True
                    self.loop.call_soon_threadsafe(self.inbox.put_nowait, GONE)
                    return
                self.loop.call_soon_threadsafe(self.inbox.put_nowait, message)

    async def takes(self, verb: str, question: dict[str, Any]) -> bool:
        """Hand a question over; False where the process turns out to have died before it began."""
        with contextlib.suppress(OSError):  # then it has said that it is gone
            self.pipe.send((verb, question))
        return (await self.inbox.get())[0] == "begun"

    def interrupt(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid or 0, signal.SIGINT)

    def close(self) -> None:
        self.process.kill()
        self.process.join()


@contextlib.contextmanager
def _single_threaded() -> Iterator[None]:
    """A child inherits the environment: one BLAS thread each."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


class Job:
    """One question under way, with a clerk who has begun it."""

    def __init__(self, clerk: Clerk) -> None:
        self.clerk = clerk
        self.answered = self.over = False

    async def messages(self) -> AsyncIterator[Message]:
        while not self.over:
            yield await self._next()

    async def _next(self) -> Message:
        kind, data = await self.clerk.inbox.get()
        self.answered = self.answered or kind == "answer"
        self.over = kind in LAST
        return kind, data

    def stop(self) -> None:
        """Interrupt what is being done: a search gives back the best it has proved, the rest just
        ends.
        """
        if not self.over:
            self.clerk.interrupt()

    async def drain(self) -> None:
        """Wait for the last word of a job that nobody listens to any more."""
        while not self.over:
            await self._next()


class Clerks:
    """`size` worker processes; at most `waiting` jobs in line for them."""

    def __init__(self, size: int, waiting: int) -> None:
        self.size = size
        self.waiting = waiting
        self.idle: asyncio.Queue[Clerk] = asyncio.Queue()
        self.all: set[Clerk] = set()
        self.running: set[Job] = set()
        self.jobs = 0  # running or in line
        self.line = 0
        self.closed = False
        self.tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        for _ in range(self.size):
            self.later(self._hire())

    async def _hire(self) -> None:
        clerk = await asyncio.to_thread(Clerk, asyncio.get_running_loop())
        self.all.add(clerk)
        await clerk.inbox.get()  # "ready", or it is gone, and whoever takes it will notice
        self.idle.put_nowait(clerk)

    async def _replace(self, clerk: Clerk) -> None:
        self.all.discard(clerk)
        await asyncio.to_thread(clerk.close)
        await self._hire()

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside what is asked; nothing more once the server closes."""
        if self.closed:
            work.close()
            return
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """A place in line, or Busy."""
        if self.jobs >= self.size + self.waiting:
            raise Busy
        self.jobs += 1
        try:
            yield
        finally:
            self.jobs -= 1

    @contextlib.asynccontextmanager
    async def job(
        self, verb: str, question: dict[str, Any], patient: bool = False
    ) -> AsyncIterator[Job]:
        """A job that a clerk has begun; the clerk is taken back whatever happens. A patient one
        hurries nobody.
        """
        self.line += not patient
        try:
            job = Job(await self._beginner(verb, question, patient))
        finally:
            self.line -= not patient
        self.running.add(job)
        try:
            yield job
        finally:
            self.running.discard(job)
            self.later(self._take_back(job))

    async def _beginner(self, verb: str, question: dict[str, Any], patient: bool) -> Clerk:
        """A clerk who has begun; those who died while they were idle are replaced, and cost nobody
        a question.
        """
        while True:
            if self.idle.empty() and not patient:
                self.hurry()
            clerk = await self.idle.get()
            try:
                begun = not clerk.gone and await clerk.takes(verb, question)
            except asyncio.CancelledError:
                self.later(self._take_back(Job(clerk)))
                raise
            if begun:
                return clerk
            self.later(self._replace(clerk))

    def hurry(self) -> None:
        """Somebody waits: whoever has answered and only adds details leaves it at that."""
        for job in self.running:
            if job.answered:
                job.stop()

    async def _take_back(self, job: Job) -> None:
        """Wait for an interrupted search to end; a process that does not answer, or is gone, is
        replaced.
        """
        job.stop()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(job.drain(), GRACE)
        if job.over and not job.clerk.gone:
            self.idle.put_nowait(job.clerk)
        else:
            await self._replace(job.clerk)

    async def close(self) -> None:
        self.closed = True
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for clerk in list(self.all):
            await asyncio.to_thread(clerk.close)
