"""Pool: a few worker processes, a short line in front of them, and the rule that nobody keeps one for nothing."""

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
LAST = {"answer", "refused", "failed"}
GONE: Message = ("failed", {"message": "the worker died; try again"})


class Busy(Exception):
    """The line is full."""


class Worker:
    """One process, its pipe, and a thread that carries what it says into the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.inbox: asyncio.Queue[Message] = asyncio.Queue()
        self.loop, self.gone = loop, False
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
    """One question under way."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.over = False

    async def messages(self, verb: str, question: dict[str, Any]) -> AsyncIterator[Message]:
        with contextlib.suppress(OSError):  # a process that died in its sleep has said "gone"
            self.worker.pipe.send((verb, question))
        while not self.over:
            kind, data = await self.worker.inbox.get()
            self.over = kind in LAST
            yield kind, data

    def stop(self) -> None:
        """Interrupt the search: it gives back the best it has proved."""
        if not self.over:
            self.worker.interrupt()

    async def drain(self) -> None:
        """Wait for the last word of a job that nobody listens to any more."""
        while not self.over:
            kind, _ = await self.worker.inbox.get()
            self.over = kind in LAST


class Pool:
    """`size` workers; at most `waiting` jobs in line for them."""

    def __init__(self, size: int, waiting: int) -> None:
        self.size, self.waiting = size, waiting
        self.idle: asyncio.Queue[Worker] = asyncio.Queue()
        self.all: set[Worker] = set()
        self.jobs = 0  # running or in line
        self.tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        for _ in range(self.size):
            self._later(self._hire())

    async def _hire(self) -> None:
        worker = await asyncio.to_thread(Worker, asyncio.get_running_loop())
        self.all.add(worker)
        await worker.inbox.get()  # "ready", or "gone" and the first job will say so
        self.idle.put_nowait(worker)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
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
    async def job(self) -> AsyncIterator[Job]:
        """A worker for one job, taken back whatever happens."""
        job = Job(await self.idle.get())
        try:
            yield job
        finally:
            self._later(self._take_back(job))

    async def _take_back(self, job: Job) -> None:
        """Wait for an interrupted search to end; a process that does not answer, or is gone, is replaced."""
        job.stop()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(job.drain(), GRACE)
        if job.over and not job.worker.gone:
            self.idle.put_nowait(job.worker)
        else:
            self.all.discard(job.worker)
            await asyncio.to_thread(job.worker.close)
            await self._hire()

    async def close(self) -> None:
        for task in list(self.tasks):
            task.cancel()
        for worker in self.all:
            await asyncio.to_thread(worker.close)
