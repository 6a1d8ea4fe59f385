"""Write the bundled models of format 1 again in format 2: the same weights, words and cards, with the new digest.

Run once, from the root of the repository: python scripts/resave_models.py [FOLDER ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from suffice.model import classifier as model

MODELS = Path(__file__).parents[1] / "src" / "suffice" / "models"


def resaved(folder: Path) -> str:
    """Rewrite one folder; say what was done."""
    file = folder / "classifier.json"
    header = json.loads(file.read_text(encoding="utf-8"))
    if header["format"] == model.FORMAT:
        return f"{folder.name}: format {model.FORMAT} already"
    old = header["digest"]
    words = (folder / "vocabulary.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    tensors = model.load_file(folder / "weights.safetensors")
    how = model.from_header(header["tokenizer"], None, None)
    made = model._assemble({**header, "format": model.FORMAT}, words, tensors, how)
    new = json.dumps({**header, "format": model.FORMAT, "digest": made.digest}, indent=2, ensure_ascii=False)
    file.write_text(new + "\n", encoding="utf-8")
    card = folder / "README.md"
    if card.is_file():
        card.write_text(card.read_text(encoding="utf-8").replace(old, made.digest), encoding="utf-8")
    model.load(folder)
    return f"{folder.name}: {old[:12]} is now {made.digest[:12]}"


if __name__ == "__main__":
    folders = [Path(name) for name in sys.argv[1:]] or sorted(path for path in MODELS.iterdir() if path.is_dir())
    for each in folders:
        print(resaved(each))
