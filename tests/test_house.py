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
    "Mistake",
    "ModelError",
    "Network",
    "NotACertificate",
    "Prediction",
    "Profile",
    "Proved",
    "Refuted",
    "Rejected",
    "Repair",
    "SufficeError",
    "Text",
    "Unknown",
    "Witness",
    "Word",
    "WordSwap",
    "__version__",
    "attribute",
    "bias",
    "check",
    "contrast",
    "explain",
    "explain_all",
    "from_keras",
    "from_sklearn",
    "from_onnx",
    "from_torch",
    "is_robust",
    "load",
    "profile",
    "read_vectors",
    "repair",
}

# A module may import from its own row and from the rows above it, wherever in the file, and never so that
# loading it goes in a circle.
ROWS = [
    {"errors", "version"},
    {"curves"},
    {"step"},
    {"graph"},
    {"text", "network"},
    {"tokenizers"},
    {"classifier", "cost", "certificate"},
    {"perturb"},
    {"verdict"},
    {"task"},
    {"exact", "inputs", "tangents"},
    {"bounds", "attack"},
    {"program", "marabou_worker"},
    {"branch"},
    {"oracles", "milp", "marabou", "restore"},
    {"mistake"},
    {"explanation"},
    {"answers"},
    {"search", "hitting", "msa", "flip", "why"},
    {"certify"},
    {"verbs"},
    {"adapters"},
    {"auditing", "growth", "attribution"},
    {"rows", "findings"},
    {"engines", "worker"},
    {"corpus"},
    {"cli", "web"},
]
RANK = {module: rank for rank, row in enumerate(ROWS) for module in row}

# These stand beside the rows: each may import what is listed here and nothing else of suffice.
DATA = {"errors", "curves", "step", "graph", "text", "tokenizers", "network", "classifier"}
BESIDE = {
    "check": DATA | {"certificate"},  # shares nothing with the prover
    "render": DATA | {"explanation", "mistake", "answers", "findings", "flip", "verdict"},  # values in, strings out
    "robust": {"errors"},
    "train": DATA | {"robust"},
    "importers": DATA,
    "models": set(),
}
# Inside a function only: answers hand themselves over to render, and `suffice serve` to the page.
HANDED_OVER = {
    **{module: {"render"} for module in ("explanation", "answers", "findings", "flip")},
    "cli": {"web"},
}
# The doors: these two may use everything but each other.
DOORS = {"cli", "web"}
# These ask the checker before they give an answer away.
CHECKED = {"verbs", "auditing"}
NOT_MODULES = {"__init__", "__main__"}


def modules() -> dict[str, list[Path]]:
    """The files of each module; a package is one module."""
    found: dict[str, list[Path]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        found.setdefault(name, []).append(path)
    return found


def nodes(tree: ast.AST, lazy: bool) -> Iterator[ast.AST]:
    """Every node of a file; without `lazy`, only what runs when the file is loaded."""
    for node in ast.iter_child_nodes(tree):
        if lazy or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from nodes(node, lazy)


def imports(path: Path, lazy: bool = True) -> set[str]:
    """The modules of suffice that a file imports; "" is the package itself."""
    package = path.relative_to(SOURCE.parent).parts[:-1]
    found: set[str] = set()
    for node in nodes(ast.parse(path.read_text(encoding="utf-8")), lazy):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            lead = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*lead, *([node.module] if node.module else [])])
            found |= {f"{base}.{alias.name}" for alias in node.names} if base == "suffice" else {base}
    parts = [name.split(".") for name in found]
    return {part[1] if len(part) > 1 else "" for part in parts if part[0] == "suffice"}


def seen_by(module: str, lazy: bool = True) -> set[str]:
    return set().union(*(imports(path, lazy) for path in modules()[module])) - {module}


def allowed(module: str) -> set[str]:
    if module in BESIDE:
        return BESIDE[module]
    above = {other for other in RANK if RANK[other] <= RANK[module]}
    if module in CHECKED:
        return above | {"check"}
    return above | set(BESIDE) | {""} if module in DOORS else above


inside = sorted(set(modules()) - NOT_MODULES)


def test_the_public_names_are_those_agreed():
    assert set(getattr(suffice, "__all__", ())) == PUBLIC


def test_every_public_name_is_there():
    assert [name for name in PUBLIC if not hasattr(suffice, name)] == []


def test_every_module_has_a_place_in_the_house():
    assert set(inside) - set(RANK) - set(BESIDE) == set()


@pytest.mark.parametrize("module", [module for module in inside if module in RANK.keys() | BESIDE.keys()])
def test_imports_run_one_way(module):
    assert seen_by(module, lazy=False) - allowed(module) == set()
    assert seen_by(module) - allowed(module) - HANDED_OVER.get(module, set()) == set()


def test_no_module_loads_itself_through_others():
    TopologicalSorter({module: seen_by(module, lazy=False) for module in inside}).prepare()


def test_the_doors_do_not_see_each_other():
    for door in DOORS & set(inside):
        assert seen_by(door) & DOORS == HANDED_OVER.get(door, set()) & set(inside)


def test_the_reader_of_imports_sees_every_form(tmp_path, monkeypatch):
    """The guard itself: imports in functions, relative ones, from the package, and under another name."""
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
        "def f():\n    import suffice\n    from suffice.prove.oracles.milp import g\n"
    )
    loaded = {"bounds", "text", "load", "importers", "oracles", "render", "web"}
    assert imports(path, lazy=False) == loaded
    assert imports(path) == loaded | {"", "milp"}


def test_importing_suffice_imports_nothing_heavy():
    models = ("torch", "sklearn", "tensorflow", "keras", "h5py", "tokenizers", "onnx", "gensim")
    heavy = (*models, "matplotlib", "ray", "maraboupy", "pysat")
    code = f"import suffice, sys; print(*[m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
    assert done.stderr == ""


@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda script: script.stem)
def test_every_benchmark_starts(script):
    """They reach into modules to switch parts off, so a name that has gone must be noticed."""
    found = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
