"""mkdocs: the gallery is made when the site is built; it and what was measured join the site."""

from __future__ import annotations

import posixpath
import re
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


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links between files of the repository, as the same links between pages of the site."""
    place = page.file.src_uri
    file = MEASURED.get(place, f"docs/{place}")

    def on_the_site(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(file), link[1]))
        for other, path in MEASURED.items():
            if target == path:
                return f"]({posixpath.relpath(other, posixpath.dirname(place) or '.')}"
        if place in MEASURED and target.startswith("docs/"):
            here = posixpath.dirname(place) or "."
            return f"]({posixpath.relpath(target.removeprefix('docs/'), here)}"
        return link[0]

    return re.sub(r"\]\((\.\.?/[^)#\s]*\.md)", on_the_site, markdown)


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
