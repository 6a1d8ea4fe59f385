"""Write bundled models again as this version saves them: the same numbers and words, with today's
digest in the card.

From the root of the repository: python scripts/resave_models.py [FOLDER ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from suffice.model import saved as model

MODELS = Path(__file__).parents[1] / "src" / "suffice" / "models"


def resaved(folder: Path) -> str:
    """Rewrite one folder; say what was done."""
    header = json.loads((folder / "classifier.json").read_text(encoding="utf-8"))
    words = (folder / "vocabulary.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    tensors = model.load_file(folder / "weights.safetensors")
    made = model._assemble(
        header, words, tensors, model.from_header(header["tokenizer"], None, None)
    )
    made.save(folder)
    card = folder / "README.md"
    if card.is_file():
        text = card.read_text(encoding="utf-8").replace(header["digest"], made.digest)
        card.write_text(text, encoding="utf-8", newline="\n")
    return f"{folder.name}: {header['digest'][:12]} is now {model.load(folder).digest[:12]}"


if __name__ == "__main__":
    folders = [Path(name) for name in sys.argv[1:]] or sorted(
        path.parent for path in MODELS.glob("*/classifier.json")
    )
    for each in folders:
        print(resaved(each))
