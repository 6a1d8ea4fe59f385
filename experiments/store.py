"""The store: every finished row is one line of JSON in a file of its item, so that a killed run
resumes.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Settings: TypeAlias = Mapping[str, Any]
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One row to compute: which item of the report it belongs to, and everything that
    decides it.
    """

    item: str
    settings: Settings

    @property
    def key(self) -> str:
        return json.dumps(self.settings, sort_keys=True, ensure_ascii=False)


class Store:
    """The finished rows in a folder, by item and settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: dict[str, dict[str, Row]] = {}

    def rows(self, item: str) -> dict[str, Row]:
        """What is finished of an item; a line that was cut off by a kill is as if it had never been
        written.
        """
        if item not in self.found:
            path = self.folder / f"{item}.jsonl"
            found = {}
            for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                found[Job(item, row["settings"]).key] = row
            self.found[item] = found
        return self.found[item]

    def has(self, job: Job) -> bool:
        return job.key in self.rows(job.item)

    def get(self, job: Job) -> Row | None:
        return self.rows(job.item).get(job.key)

    def add(self, job: Job, result: Mapping[str, Any]) -> None:
        """Keep a row, on disk before in memory."""
        row = json.loads(json.dumps({"settings": job.settings, **result, "machine": machine()}))
        self.rows(job.item)
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{job.item}.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        self.found[job.item][job.key] = row


def machine() -> str:
    """What times were measured on, in short; no host names."""
    return (
        f"{os.cpu_count()} cores, {_processor()}, {platform.system()}, Python "
        f"{platform.python_version()}"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
