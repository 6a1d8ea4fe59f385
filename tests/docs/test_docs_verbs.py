"""Every example of the start page, verbs, imports, training and tasks runs and prints what its page
says.

`python tests/docs/test_docs_verbs.py` rewrites the outputs; look at the difference before you keep
it.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from suffice.cli import main
from suffice.cli.parser import build_parser

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "verbs"
VERBS = sorted(FOLDER.glob("*.md"))
IMPORTS = [page for page in sorted((DOCS / "imports").glob("*.md")) if page.stem != "README"]
TASKS = [page for page in sorted((DOCS / "tasks").glob("*.md")) if page.stem != "gate"]
PAGES = [DOCS / "index.md", *VERBS, *IMPORTS, DOCS / "training.md", *TASKS]
# what a page needs beyond suffice itself
NEEDS = {
    "training": ["torch"],
    "torch": ["torch"],
    "onnx": ["torch", "onnx", "onnxruntime", "onnxscript"],
    "sklearn": ["sklearn"],
    "huggingface": ["torch", "transformers", "tokenizers"],
    "export": ["onnx"],
    "keras": ["h5py", "keras"],
    "tokenizers": ["tokenizers"],
    "tools": ["pandas"],
}
BLOCK = re.compile(r"^```(pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# how long it took and how large a certificate came out is not part of what a page promises, nor
# where lines break by it
VARIES = [
    (r"Slowest: row .*? s\.", "Slowest: row 1 0.00 s."),
    (r"\b\d+\.\d+ s\b", "0.00 s"),
    (r"\d+ lines, \d+(\.\d+)? KB", "0 lines, 0 KB"),
    (r"\d\.\de-\d\d\b", "0.0e-07"),  # a difference by rounding
    (r"\b(torch|onnx|onnxruntime|keras|h5py) \d[\w.+]*", r"\1 0.0"),  # versions
]


def plain(output: str) -> str:
    output = " ".join(output.split())
    for pattern, instead in VARIES:
        output = re.sub(pattern, instead, output)
    return output


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block (a line may go on after a backslash) and the
    output below it.
    """
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = re.sub(r"\\\n\s*", "", part).partition("\n")
        yield command, output


def run_command(command: str) -> str:
    """What the command prints; `cat FILE` is the only one that is not ours."""
    words = shlex.split(command)
    if words[0] == "cat":
        return Path(words[1]).read_text(encoding="utf-8")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main(words[1:]) if words[0] == "suffice" else None
    assert code is not None, f"{words[0]} is no command of ours"
    return out.getvalue() + (f"(exit code {code})\n" if code else "")


def run_python(block: str, scope: dict[str, object]) -> list[tuple[doctest.Example, str]]:
    """Every example of a pycon block with what it prints."""
    found = []
    for example in doctest.DocTestParser().get_examples(block):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(example.source, "<docs>", "single"), scope)
        found.append((example, out.getvalue()))
    return found


@contextlib.contextmanager
def workplace(folder: str | Path) -> Iterator[None]:
    """Run in a folder of its own with the files that pages use, 80 columns and no colour."""
    here = os.getcwd()
    before = dict(os.environ)
    os.environ.update(COLUMNS="80", NO_COLOR="1", TERM="dumb")
    os.chdir(folder)
    for name in ("reviews.csv", "protected.txt", "swaps.json", "shop.py"):
        Path(name).write_text((FOLDER / name).read_text(encoding="utf-8"), encoding="utf-8")
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)


@pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept a copy:DeprecationWarning"
)  # inside Keras
@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # torch.export about its own insides
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.stem}-{page.stem}")
def test_the_examples_print_what_the_page_says(page, tmp_path):
    for package in NEEDS.get(page.stem, ()):
        pytest.importorskip(package)
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert blocks, "a page without an example"
    scope: dict[str, object] = {}
    with workplace(tmp_path):
        for kind, block in blocks:
            if kind == "console":
                for command, expected in commands(block):
                    assert plain(run_command(command)) == plain(expected), command
            else:
                for example, printed in run_python(block, scope):
                    assert plain(printed) == plain(example.want), example.source


def test_every_verb_has_a_page():
    verbs = {
        "explain",
        "explain_all",
        "contrast",
        "is_robust",
        "bias",
        "repair",
        "profile",
        "attribute",
        "check",
    }
    commands = set(build_parser()._subparsers._group_actions[0].choices)
    needed = verbs | (commands & {"batch", "audit"})
    assert needed - {page.stem for page in VERBS} == set()


# --- rewriting ---


def rewritten(page: str) -> str:
    scope: dict[str, object] = {}

    def fresh(match: re.Match[str]) -> str:
        kind, block = match.groups()
        body = fresh_console(block) if kind == "console" else fresh_python(block, scope)
        return f"```{kind}\n{body}```"

    return BLOCK.sub(fresh, page)


def fresh_console(block: str) -> str:
    pieces = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        count = next(i for i, line in enumerate(lines) if not line.endswith("\\")) + 1
        command = "\n".join(lines[:count])
        output = run_command(re.sub(r"\\\n\s*", "", command))
        kept = "\n".join(line.rstrip() for line in output.strip("\n").split("\n"))
        pieces.append(f"$ {command}\n{kept}\n" if kept else f"$ {command}\n")
    return "".join(pieces)


def fresh_python(block: str, scope: dict[str, object]) -> str:
    pieces = []
    for example, printed in run_python(block, scope):
        first, *rest = example.source.rstrip("\n").split("\n")
        pieces += [f">>> {first}\n", *(f"... {line}\n" for line in rest), printed]
    return "".join(pieces)


if __name__ == "__main__":
    os.environ.setdefault("KERAS_BACKEND", "torch")  # as tests/conftest.py does
    for path in [page for page in PAGES if page.stem in sys.argv[1:]] or PAGES:
        with tempfile.TemporaryDirectory() as folder, workplace(folder):
            path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
