"""Engines: the same verb on many rows, in this process, in worker processes, or on a Ray cluster.

A pool has slots; each slot answers one row at a time. A worker that dies is replaced and its row
tried once more on the new one; a row that kills two workers becomes an error row. The answers are
the same with every engine.
"""

from __future__ import annotations

import itertools
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Protocol

from suffice.corpus.rows import Reply, Row, RowVerb, failed
from suffice.errors import InputError, MissingExtra, SufficeError

TRIES = 2
ENGINES = ("local", "ray")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Pool(Protocol):
    """Workers in numbered slots."""

    size: int

    def submit(self, slot: int, row: Row) -> None:
        """Hand a row to the worker in an idle slot."""

    def wait(self) -> tuple[int, Reply | None]:
        """The next slot that is done, with its reply; None when its worker died and has been
        replaced.
        """

    def close(self) -> None:
        """End every worker."""


def check(engine: str, workers: int) -> None:
    """Refuse engines and numbers of workers that do not exist."""
    if engine not in ENGINES:
        raise InputError(f"There is no engine {engine!r}: choose {', '.join(ENGINES)}.")
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(
            f"The number of workers must be a whole number of at least 1, not {workers!r}."
        )


def run(
    verb: RowVerb, rows: Iterable[Row], engine: str = "local", workers: int = 1
) -> Iterator[Reply]:
    """A reply for each row, as it is done; rows are taken as there is somebody to do them."""
    check(engine, workers)
    if engine == "local" and workers == 1:
        yield from map(verb, rows)
        return
    source = iter(rows)
    first = list(itertools.islice(source, 1))
    if not first:  # nothing to do: nobody need be hired
        return
    pool: Pool = LocalPool(verb, workers) if engine == "local" else RayPool(verb, workers)
    try:
        yield from dispatch(pool, verb, itertools.chain(first, source))
    finally:
        pool.close()


def dispatch(pool: Pool, verb: RowVerb, rows: Iterable[Row]) -> Iterator[Reply]:
    """Keep every slot busy until all rows are answered."""
    fresh = ((row, 1) for row in rows)
    again = deque[tuple[Row, int]]()
    busy: dict[int, tuple[Row, int]] = {}
    while True:
        for slot in set(range(pool.size)) - busy.keys():
            taken = again.popleft() if again else next(fresh, None)
            if taken is not None:
                busy[slot] = taken
                pool.submit(slot, taken[0])
        if not busy:
            return
        slot, reply = pool.wait()
        row, tries = busy.pop(slot)
        if reply is not None:
            yield reply
        elif tries < TRIES:
            again.append((row, tries + 1))
        else:
            yield failed(verb, row, f"The worker died {TRIES} times on this text.")


# --- worker processes on this machine ---


class LocalPool:
    """Child processes that read rows from their standard input and write replies to their standard
    output.

    A child ends by itself as soon as its input is closed, so that killing the parent leaves none
    behind.
    """

    def __init__(self, verb: RowVerb, size: int) -> None:
        self.size = size
        self.packed = _packed(verb)
        self.inbox: queue.Queue[tuple[int, subprocess.Popen[bytes], Any]] = queue.Queue()
        self.listeners: list[threading.Thread] = []
        self.children = [self._start(slot) for slot in range(size)]
        waiting = set(range(size))
        while waiting:
            slot, _, said = self.inbox.get()
            if said != "ready":
                self.close()
                raise SufficeError(
                    "A worker process could not be started; its own message is above."
                )
            waiting.discard(slot)

    def submit(self, slot: int, row: Row) -> None:
        with suppress(BrokenPipeError):  # then the reader reports the death
            _send(self.children[slot], pickle.dumps(row))

    def wait(self) -> tuple[int, Reply | None]:
        while True:
            slot, child, said = self.inbox.get()
            if child is not self.children[slot] or said == "ready":
                continue
            if said is None:
                _end(child)
                self.children[slot] = self._start(slot)
            return slot, said

    def close(self) -> None:
        for child in self.children:
            _end(child)
        for listener in self.listeners:
            listener.join()

    def _start(self, slot: int) -> subprocess.Popen[bytes]:
        env = {
            **os.environ,
            **ONE_THREAD,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        child = subprocess.Popen(
            [sys.executable, "-m", "suffice.corpus.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
        )
        self.listeners.append(
            threading.Thread(target=self._listen, args=(slot, child), daemon=True)
        )
        self.listeners[-1].start()
        with suppress(BrokenPipeError):
            _send(child, self.packed)
        return child

    def _listen(self, slot: int, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout is not None
        while True:
            try:
                said = pickle.load(child.stdout)
            except (EOFError, OSError, pickle.UnpicklingError):
                said = None
                child.stdout.close()
            self.inbox.put((slot, child, said))
            if said is None:
                return


def _end(child: subprocess.Popen[bytes]) -> None:
    """Its listener then reads the end of its output and stops."""
    child.kill()
    child.wait()
    with suppress(BrokenPipeError):
        if child.stdin is not None:
            child.stdin.close()


def _packed(verb: RowVerb) -> bytes:
    try:
        return pickle.dumps(verb)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"With several workers every function must be importable by name: {error}."
        ) from error


def _send(child: subprocess.Popen[bytes], data: bytes) -> None:
    assert child.stdin is not None
    child.stdin.write(data)
    child.stdin.flush()


# --- a Ray cluster ---


class Answerer:
    """The verb on a worker of a cluster."""

    def __init__(self, verb: RowVerb) -> None:
        self.verb = verb

    def answer(self, row: Row) -> Reply:
        return self.verb(row)


class RayPool:
    """Ray actors, one per slot, on the cluster already joined, the one that RAY_ADDRESS names, or
    one started here.
    """

    def __init__(self, verb: RowVerb, size: int) -> None:
        self.ray = _ray()
        self.size, self.started = size, not self.ray.is_initialized()
        if self.started:
            self.ray.init(**_cluster(size))
        self.kind = self.ray.remote(num_cpus=1, runtime_env={"env_vars": ONE_THREAD})(Answerer)
        self.verb = self.ray.put(verb)
        self.actors = [self.kind.remote(self.verb) for _ in range(size)]
        self.running: dict[Any, int] = {}

    def submit(self, slot: int, row: Row) -> None:
        self.running[self.actors[slot].answer.remote(row)] = slot

    def wait(self) -> tuple[int, Reply | None]:
        ready, _ = self.ray.wait(list(self.running), num_returns=1)
        slot = self.running.pop(ready[0])
        try:
            reply: Reply = self.ray.get(ready[0])
        except self.ray.exceptions.RayActorError:
            self.actors[slot] = self.kind.remote(self.verb)
            return slot, None
        return slot, reply

    def close(self) -> None:
        for actor in self.actors:
            self.ray.kill(actor)
        if self.started:
            self.ray.shutdown()


def _ray() -> Any:
    try:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
        import ray
        import ray.exceptions
    except ImportError as error:
        raise MissingExtra("ray", "ray") from error
    return ray


def _cluster(size: int) -> dict[str, Any]:
    """Settings for `ray.init`: join the cluster that is named, or start a small one on this
    machine.
    """
    quiet = {"log_to_driver": False, "logging_level": "error"}
    path = os.pathsep.join(path for path in sys.path if path)
    if os.environ.get("RAY_ADDRESS"):
        return quiet
    own = {"address": "local", "num_cpus": size, "include_dashboard": False}
    return {**quiet, **own, "runtime_env": {"env_vars": {"PYTHONPATH": path}}}
