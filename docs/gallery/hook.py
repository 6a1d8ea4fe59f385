"""mkdocs: the gallery is made when the site is built, into build/gallery; it and what was measured join the site."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

from make import make

KEPT = {".md", ".html", ".cert"}
MEASURED = {"benchmarks.md": "benchmarks/RESULTS.md", "paper/index.md": "experiments/RESULTS.md"}


def on_files(files: Files, config: Any) -> Files:
    for place, path in _joining(Path(config.config_file_path).parent):
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def _joining(root: Path) -> Iterator[tuple[str, Path]]:
    """What is not in docs/: its place on the site, and its file."""
    folder = root / "build" / "gallery"
    make(folder)
    yield from (
        (f"gallery/{path.name}", path) for path in sorted(folder.iterdir()) if path.suffix in KEPT
    )
    yield from ((place, root / path) for place, path in MEASURED.items())
    yield from (
        (f"paper/figures/{path.name}", path)
        for path in sorted(root.glob("experiments/figures/*.png"))
    )
