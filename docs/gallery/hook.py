"""mkdocs: the gallery is made when the site is built, into build/gallery, and its files join the site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

from make import make

KEPT = {".md", ".html", ".cert"}


def on_files(files: Files, config: Any) -> Files:
    folder = Path(config.config_file_path).parent / "build" / "gallery"
    make(folder)
    for path in sorted(folder.iterdir()):
        if path.suffix in KEPT:
            files.append(File.generated(config, f"gallery/{path.name}", abs_src_path=str(path)))
    return files
