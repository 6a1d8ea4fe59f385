"""50 clients at once for 30 s, on loopback: no failed request but a polite 503, and memory stays
flat.

    python benchmarks/web_load.py [--clients 50] [--seconds 30] [--workers 2]

Each client asks a new question as soon as the last is answered: most wait for JSON, some watch a
stream, some leave in the middle. Prints requests by status, answers per second, waiting times, and
the memory of the server and its workers after each fifth of the time. Exit code 1 if a request
failed or memory grew by more than a tenth after the first fifth.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx

TEXTS = [
    "A gripping, beautifully acted film that never quite loses its nerve",
    "The jokes are stale, the plot is thin and the ending is a mess",
    "Not as clever as it thinks it is, but warm, honest and very funny",
    "too slow , too long and too little happens",
    "<script>alert(1)</script> \u202e 漢字 👩‍👩‍👧 great film",
]
POLITE = (200, 503)


class Tally:
    """What happened."""

    def __init__(self) -> None:
        self.status: Counter[str] = Counter()
        self.waits: list[float] = []
        self.failures: list[str] = []


async def one_client(address: str, seed: int, until: float, tally: Tally) -> None:
    rng = random.Random(seed)
    async with httpx.AsyncClient(base_url=address, timeout=60, trust_env=False) as client:
        while time.monotonic() < until:
            try:
                await one_question(client, rng, tally)
            except Exception as error:
                tally.failures.append(f"{type(error).__name__}: {error}")


async def one_question(client: httpx.AsyncClient, rng: random.Random, tally: Tally) -> None:
    size = rng.choice([15, 60, 120, 240])
    question = {
        "text": rng.choice(TEXTS),
        "perturbation": {"kind": "knn-box", "k": size},
        "seconds": 5,
    }
    started = time.monotonic()
    way = rng.random()
    if way < 0.2:
        await watch(client, question, tally, leave=way < 0.05)
    elif way < 0.3:
        answer = await client.get(rng.choice(["/", "/api", "/static/page.js", "/api/openapi.json"]))
        note(tally, answer.status_code, "page")
    else:
        answer = await client.post(f"/api/{rng.choice(['explain', 'contrast'])}", json=question)
        note(tally, answer.status_code, "json")
        if answer.status_code == 503:
            await asyncio.sleep(float(answer.headers["retry-after"]) * rng.uniform(0.2, 1))
            return
        tally.waits.append(time.monotonic() - started)


async def watch(client: httpx.AsyncClient, question: object, tally: Tally, leave: bool) -> None:
    headers = {"accept": "text/event-stream"}
    async with client.stream("POST", "/api/explain", json=question, headers=headers) as response:
        if response.status_code != 200:
            await response.aread()
            note(tally, response.status_code, "stream")
            return
        last = ""
        async for line in response.aiter_lines():
            last = line.removeprefix("event: ") if line.startswith("event: ") else last
            if leave:
                tally.status["left early"] += 1
                return
    note(tally, 200 if last == "answer" else 500, "stream")


def note(tally: Tally, status: int, kind: str) -> None:
    tally.status[f"{kind} {status}"] += 1
    if status not in POLITE:
        tally.failures.append(f"{kind} gave {status}")


def memory(pid: int) -> float:
    """Megabytes that a process and its children hold."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")  # each thread has its own
    return sum(
        resident(int(one))
        for one in [str(pid), *(word for path in lists for word in path.read_text().split())]
    )


def resident(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found.group(1)) / 1024 if found else 0.0


async def load(address: str, pid: int, clients: int, seconds: float) -> tuple[Tally, list[float]]:
    tally = Tally()
    until = time.monotonic() + seconds
    tasks = [
        asyncio.create_task(one_client(address, seed, until, tally)) for seed in range(clients)
    ]
    sizes = []
    for _ in range(5):
        await asyncio.sleep(seconds / 5)
        sizes.append(memory(pid))
    await asyncio.gather(*tasks)
    return tally, sizes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    command = [
        sys.executable,
        "-m",
        "suffice.cli",
        "serve",
        "--port",
        "0",
        "--workers",
        str(args.workers),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[3]
        tally, sizes = asyncio.run(load(address, server.pid, args.clients, args.seconds))
        server.send_signal(signal.SIGINT)
    return report(tally, sizes, args.seconds)


def report(tally: Tally, sizes: list[float], seconds: float) -> int:
    for name, count in sorted(tally.status.items()):
        print(f"{name:<12} {count:>6}")
    answered = sum(
        count for name, count in tally.status.items() if name in ("json 200", "stream 200")
    )
    print(f"answers      {answered / seconds:.1f} per second")
    waits = sorted(tally.waits) or [0.0]
    print(
        f"waiting      median {statistics.median(waits):.2f} s, 99 % "
        f"{waits[int(0.99 * (len(waits) - 1))]:.2f} s"
    )
    print(f"memory       {', '.join(f'{size:.0f}' for size in sizes)} MB")
    print(f"failed       {len(tally.failures)} {Counter(tally.failures).most_common(3)}")
    return int(bool(tally.failures) or sizes[-1] > 1.1 * sizes[0])


if __name__ == "__main__":
    raise SystemExit(main())
