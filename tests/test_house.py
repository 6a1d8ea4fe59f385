"""The house: its public names, the direction of its imports, and what importing it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import suffice

SOURCE = Path(suffice.__file__).parent
BENCHMARKS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))

# Extend this together with docs and changelog: what is public stays as it is.
PUBLIC = {
    "Attribution",
    "Bias",
    "BlackBox",
    "Boxes",
    "Certificate",
    "Classifier",
    "Contrast",
    "Deletion",
    "EpsilonBall",
    "Explanation",
    "InputError",
    "KNNBox",
    "KNNHull",
    "MissingExtra",
    "Mask",
    "Mistake",
    "ModelError",
    "Network",
    "NotACertificate",
    "NotChecked",
    "Prediction",
    "Profile",
    "Proved",
    "Question",
    "Refuted",
    "Rejected",
    "RemoveOrSwap",
    "Repair",
    "Settings",
    "SufficeError",
    "Text",
    "Unknown",
    "Witness",
    "Word",
    "WordSwap",
    "__version__",
    "attribute",
    "audit",
    "batch",
    "bias",
    "check",
    "contrast",
    "explain",
    "explain_all",
    "from_function",
    "from_huggingface",
    "from_keras",
    "from_sklearn",
    "from_spacy",
    "from_onnx",
    "from_torch",
    "is_robust",
    "load",
    "neighbours",
    "profile",
    "read_vectors",
    "repair",
}

# Folders in the order in which data walks: a folder may import from itself and from those before
# it.
WALK = [
    "errors",
    "version",
    "settings",
    "model",
    "sets",
    "proof",
    "verify",
    "optimise",
    "verbs",
    "corpus",
]
# These stand beside the walk: what each may import besides itself.
BESIDE = {
    "importers": {"errors", "model"},
    "train": {"errors", "model"},
    "render": {
        "errors",
        "model",
        "sets",
        "proof",
        "verify",
        "verbs",
        "corpus",
    },  # answers in, strings out
    "models": set(),
}
# The doors: these may use everything but each other.
DOORS = {"cli", "web"}
# Inside a function only: answers hand themselves over to render, and `suffice serve` to the page.
HANDED_OVER = {"verbs": {"render"}, "corpus": {"render"}, "cli": {"web"}}
NOT_FOLDERS = {"__init__"}
# The checker shares nothing with the prover: of the model it sees the loaded data, and of proof the
# file format.
CHECKER = {"suffice.errors", "suffice.model", "suffice.proof"}


def folders() -> dict[str, list[Path]]:
    """The files of each folder; a file that lies flat is a folder of its own."""
    found: dict[str, list[Path]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        found.setdefault(name, []).append(path)
    return {name: paths for name, paths in found.items() if name not in NOT_FOLDERS}


def nodes(tree: ast.AST, lazy: bool) -> Iterator[ast.AST]:
    """Every node of a file; without `lazy`, only what runs when the file is loaded."""
    for node in ast.iter_child_nodes(tree):
        if lazy or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from nodes(node, lazy)


def modules_of(path: Path, lazy: bool = True) -> set[str]:
    """The modules of suffice that a file imports, dotted; "suffice" is the package itself."""
    package = path.relative_to(SOURCE.parent).parts[:-1]
    found: set[str] = set()
    for node in nodes(ast.parse(path.read_text(encoding="utf-8")), lazy):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            lead = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*lead, *([node.module] if node.module else [])])
            found |= {
                f"{base}.{alias.name}" if base == "suffice" or _module(base, alias.name) else base
                for alias in node.names
            }
    return {name for name in found if name.split(".")[0] == "suffice"}


def _names(node: ast.ImportFrom) -> list[str]:
    return [alias.name for alias in node.names]


def _module(base: str, name: str) -> bool:
    """Whether `from base import name` brings in a module."""
    path = SOURCE.parent.joinpath(*base.split("."), name)
    return path.with_suffix(".py").exists() or path.is_dir()


def imports(path: Path, lazy: bool = True) -> set[str]:
    """The folders of suffice that a file imports from; "" is the package itself."""
    parts = [name.split(".") for name in modules_of(path, lazy)]
    return {part[1] if len(part) > 1 else "" for part in parts}


def seen_by(folder: str, lazy: bool = True) -> set[str]:
    return set().union(*(imports(path, lazy) for path in folders()[folder])) - {folder}


def allowed(folder: str) -> set[str]:
    if folder in BESIDE:
        return BESIDE[folder]
    if folder in DOORS:
        return {*WALK, *BESIDE, ""}
    return set(WALK[: WALK.index(folder)])


inside = sorted(folders())


def test_the_public_names_are_those_agreed():
    assert set(getattr(suffice, "__all__", ())) == PUBLIC


def test_every_public_name_is_there():
    assert [name for name in PUBLIC if not hasattr(suffice, name)] == []


def test_nothing_lies_flat_but_what_everybody_needs():
    assert {path.name for path in SOURCE.glob("*.py")} <= {
        "__init__.py",
        "errors.py",
        "settings.py",
        "version.py",
    }


def test_every_folder_has_a_place_in_the_house():
    assert set(inside) - {*WALK, *BESIDE, *DOORS} == set()


@pytest.mark.parametrize("folder", inside)
def test_imports_run_one_way(folder):
    assert seen_by(folder, lazy=False) - allowed(folder) == set()
    assert seen_by(folder) - allowed(folder) - HANDED_OVER.get(folder, set()) == set()


def test_no_module_loads_itself_through_others():
    names = {
        path: ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for path in SOURCE.rglob("*.py")
    }
    loads = {
        name.removesuffix(".__init__"): modules_of(path, lazy=False) for path, name in names.items()
    }
    TopologicalSorter(
        {name: seen - {name} for name, seen in loads.items() if name != "suffice"}
    ).prepare()


def test_the_checker_sees_nothing_of_the_prover():
    for path in SOURCE.glob("proof/**/*.py"):
        assert {".".join(name.split(".")[:2]) for name in modules_of(path)} <= CHECKER, path


def test_tolerances_are_shared_by_nobody():
    """Each side reads its own; the two modules themselves import nothing of ours."""
    readers = {}
    for side in ("verify", "proof.check"):
        module = f"suffice.{side}.tolerances"
        assert modules_of(SOURCE.parent.joinpath(*module.split(".")).with_suffix(".py")) == set()
        paths = [path for path in SOURCE.rglob("*.py") if module in modules_of(path)]
        readers[side] = {path.relative_to(SOURCE).parts[:2] for path in paths}
    assert {first for first, _ in readers["verify"]} <= {"verify", "optimise", "verbs"}
    assert readers["proof.check"] == {("proof", "check")}


def test_the_doors_do_not_see_each_other():
    for door in DOORS & set(inside):
        assert seen_by(door) & DOORS == HANDED_OVER.get(door, set()) & set(inside)


def test_every_folder_and_module_begins_with_a_sentence():
    for path in SOURCE.rglob("*.py"):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        assert said.partition("\n\n")[0].endswith((".", "?")), path


def test_dir_shows_the_public_names():
    assert dir(suffice) == sorted(PUBLIC)


def test_the_reader_of_imports_sees_every_form(tmp_path, monkeypatch):
    """The guard itself: imports in functions, relative ones, from the package, and under another
    name.
    """
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path / "suffice")
    path = tmp_path / "suffice" / "render" / "html.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import suffice.prove.bounds as b, numpy.linalg\n"
        "from suffice import text as texts, load\n"
        "from suffice.importers.torch import f\n"
        "from ..oracles import ask\n"
        "from .terminal import show\n"
        "from .. import web\n"
        "def f():\n    import suffice\n    from suffice.search.msa import g\n"
    )
    loaded = {"prove", "text", "load", "importers", "oracles", "render", "web"}
    assert imports(path, lazy=False) == loaded
    assert imports(path) == loaded | {"", "search"}


def test_importing_suffice_imports_nothing_heavy():
    models = ("torch", "sklearn", "tensorflow", "keras", "h5py", "tokenizers", "onnx", "gensim")
    parts = (
        "scipy.optimize",
        "scipy.sparse",
        "suffice.train.fit",
        "suffice.verbs.black_box",
        "importlib.metadata",
    )
    heavy = (*models, *parts, "matplotlib", "ray", "maraboupy", "pysat", "transformers")
    code = (
        f"import suffice, suffice.cli.parser, sys; print(*[m for m in {heavy!r} if m in "
        "sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
    assert done.stderr == ""


@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda script: script.stem)
def test_every_benchmark_starts(script):
    """They reach into modules to switch parts off, so a name that has gone must be noticed."""
    found = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
