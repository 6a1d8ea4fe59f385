"""The report: RESULTS.md and its figures, from the finished rows alone; what is missing is said to
be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.plan import Plan
from experiments.store import Job, Row, Store

TEMPLATE = Path(__file__).with_name("template.md")
MISSING = "*not computed yet: run the command again*"


@dataclass
class Report:
    """The rows to tell of, where figures go, and the machines that the rows were measured on."""

    plan: Plan
    store: Store
    figures: Path
    machines: list[str] = field(default_factory=list)

    def rows(self, jobs: Iterable[Job]) -> list[Row]:
        return [row for job in jobs if (row := self.store.get(job)) is not None]

    def stamp(self, row: Row) -> list[str]:
        """The last two cells of every table row: seed and machine."""
        if row["machine"] not in self.machines:
            self.machines.append(row["machine"])
        return [str(row["seed"]), f"M{self.machines.index(row['machine']) + 1}"]

    def table(self, head: Sequence[str], rows: Sequence[tuple[Row, Sequence[Any]]]) -> str:
        """A table; each of its rows comes with the stored row that it tells of."""
        if not rows:
            return MISSING
        lines = [[*head, "seed", "machine"], ["---"] * (len(head) + 2)]
        lines += [[*map(str, cells), *self.stamp(row)] for row, cells in rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def figure(self, name: str) -> str:
        return f"![{name}]({self.figures.name}/{name}.png)"

    def listed(self) -> str:
        return (
            "\n".join(f"- M{place}: {name}" for place, name in enumerate(self.machines, 1))
            or "- none yet"
        )


def write(plan: Plan, store: Store, path: Path) -> None:
    """Fill the template, and mark the paper's texts in a file that stays in the run's folder."""
    from experiments import summary, tables  # these build on the class above

    path.parent.mkdir(parents=True, exist_ok=True)
    report = Report(plan, store, path.parent / "figures")
    pieces = {name: piece(report) for name, piece in tables.PIECES.items()}
    pieces |= {"in_short": summary.in_short(report), "machines": report.listed()}
    text = TEMPLATE.read_text(encoding="utf-8").format(plan=plan, **pieces)
    path.write_text(text, encoding="utf-8", newline="\n")
    (plan.out / "examples.md").write_text(
        tables.marked_samples(report), encoding="utf-8", newline="\n"
    )
