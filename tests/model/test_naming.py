"""Digests of programs: another one where anything differs that an answer may depend on, the same in
every process.
"""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import threading
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import suffice as sf
from suffice.errors import InputError, ModelError
from suffice.model.naming import Untold, content, named

LABELS = ["no", "yes"]
ROW = "def predict(texts): return np.array([[0.5, {}] for t in texts])\n"
CLEAN = "def clean(t): return {}\n"
# A program and the module of its helpers: two of them that answer differently.
KINDS = {
    "a function of a module": ("import helpers\n" + ROW.format("helpers.clean(t)"), CLEAN),
    "an imported function": ("from helpers import clean\n" + ROW.format("clean(t)"), CLEAN),
    "a function imported when it runs": (
        (
            "def predict(texts):\n    import helpers\n    return np.array([[0.5, "
            "helpers.clean(t)] for t in texts])\n"
        ),
        CLEAN,
    ),
    "a function of a module named by a string": (
        "import importlib\n" + ROW.format("importlib.import_module('helpers').clean(t)"),
        CLEAN,
    ),
    "a function looked up by a string": (
        "import helpers\n" + ROW.format("getattr(helpers, 'clean')(t)"),
        CLEAN,
    ),
    "code in a string": ("from helpers import clean\n" + ROW.format("eval('clean(1)')"), CLEAN),
    "a module handed on": (
        "import helpers\ndef use(module, t): return module.clean(t)\n"
        + ROW.format("use(helpers, t)"),
        CLEAN,
    ),
    "a constant of a module": ("import helpers\n" + ROW.format("helpers.K"), "K = {}\n"),
    "a static method": (
        "from helpers import R\n" + ROW.format("R.clean(t)"),
        "class R:\n    @staticmethod\n    def clean(t): return {}\n",
    ),
    "a class method": (
        "from helpers import R\n" + ROW.format("R.clean(t)"),
        "class R:\n    @classmethod\n    def clean(cls, t): return {}\n",
    ),
    "a property": (
        "from helpers import R\nr = R()\n" + ROW.format("r.clean"),
        "class R:\n    @property\n    def clean(self): return {}\n",
    ),
    "a class attribute": (
        "from helpers import R\n" + ROW.format("R.clean"),
        "class R:\n    clean = {}\n",
    ),
    "a base class": (
        "from helpers import B\nclass R(B): pass\nr = R()\n" + ROW.format("r.clean(t)"),
        "class B:\n    def clean(self, t): return {}\n",
    ),
    "a metaclass": (
        "from helpers import R\n" + ROW.format("R.clean"),
        (
            "class M(type):\n    @property\n    def clean(cls): return {}\nclass R(metaclass=M): "
            "pass\n"
        ),
    ),
    "an object that is called": (
        "from helpers import R\npredict = R()\n",
        (
            "import numpy as np\nclass R:\n    k = {}\n    def __call__(self, texts): return "
            "np.array([[0.5, self.k]])\n"
        ),
    ),
    "an object with slots": (
        "from helpers import r\n" + ROW.format("r.k"),
        "class R:\n    __slots__ = ('k',)\nr = R()\nr.k = {}\n",
    ),
    "an object that says nothing of itself": (
        "from helpers import r\n" + ROW.format("r.k"),
        (
            "class R:\n    def __getstate__(self): return None\n    def __reduce__(self): return "
            "'r'\nr = R()\nr.k = {}\n"
        ),
    ),
    "a kind of dictionary": (
        "from helpers import d\n" + ROW.format("d['x']"),
        "class D(dict): pass\nd = D(x={})\n",
    ),
    "an enumeration": (
        "from helpers import E\n" + ROW.format("E.x.value"),
        "import enum\nE = enum.Enum('E', {{'x': {}}})\n",
    ),
    "a dataclass": (
        "from helpers import R\nr = R()\n" + ROW.format("r.k"),
        "import dataclasses\n@dataclasses.dataclass\nclass R:\n    k: float = {}\n",
    ),
    "a default": (
        "from helpers import clean\ndef predict(texts, f=clean): return f(texts)\n",
        CLEAN,
    ),
    "what is closed over": (
        "from helpers import make\npredict = make()\n",
        "def make():\n    k = {}\n    def predict(texts): return k\n    return predict\n",
    ),
    "a partial function": (
        "from functools import partial\nfrom helpers import clean\np = partial(clean)\n"
        + ROW.format("p(t)"),
        CLEAN,
    ),
    "a lambda in a dictionary": (
        "from helpers import d\n" + ROW.format("d['x'](t)"),
        "d = {{'x': lambda t: {}}}\n",
    ),
    "a function that remembers": (
        "from helpers import clean\n" + ROW.format("clean(t)"),
        "import functools\n@functools.lru_cache\n" + CLEAN,
    ),
    "a function that a package wraps": (
        "from helpers import clean\n" + ROW.format("clean(t)"),
        "import numpy as np\n@np.vectorize\n" + CLEAN,
    ),
    "numbers in an array": (
        "from helpers import a\n" + ROW.format("a[5]"),
        "import numpy as np\na = np.arange(100_000.0)\na[5] = {}\n",
    ),
    "a tuple in a tuple": ("from helpers import a\n" + ROW.format("a[0][0]"), "a = (({},),)\n"),
    "a function in a set": (
        "from helpers import s\n" + ROW.format("max(f(t) for f in s)"),
        "def clean(t): return {}\ns = {{clean, len}}\n",
    ),
    "the order of a dictionary": (
        "from helpers import d\n" + ROW.format("list(d)[0]"),
        (
            "d = dict.fromkeys(sorted([0.5, {}]))\nd = dict(list(d.items())[:: 1 if {} > 0.5 else "
            "-1])\n"
        ),
    ),
    "what stands in an exception handler": (
        "from helpers import clean\n" + ROW.format("clean(t)"),
        "def clean(t):\n    try: return t.x\n    except AttributeError: return {}\n",
    ),
}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a program and its helpers, and gives what is then imported."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)

    def program(shop: str, helpers: str) -> types.ModuleType:
        (tmp_path / "shop.py").write_text("import numpy as np\n" + shop, encoding="utf-8")
        (tmp_path / "helpers.py").write_text(helpers, encoding="utf-8")
        for name in ("shop", "helpers"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("shop")

    yield program
    for name in ("shop", "helpers"):
        sys.modules.pop(name, None)


def _with(helpers: str, number: str) -> str:
    return helpers.replace("{}", number).replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize("kind", KINDS)
def test_an_edited_helper_makes_another_digest(kind, written):
    shop, helpers = KINDS[kind]
    first, again, other = (
        content(written(shop, _with(helpers, k)).predict) for k in ("0.1", "0.1", "0.9")
    )
    assert first == again
    assert first != other


def test_a_digest_is_the_same_in_every_process(tmp_path):
    """Addresses and the order of sets differ from one process to the next."""
    for number, (shop, helpers) in enumerate(KINDS.values()):
        (tmp_path / f"helpers_{number}.py").write_text(_with(helpers, "0.1"), encoding="utf-8")
        program = "import numpy as np\n" + shop.replace("helpers", f"helpers_{number}")
        (tmp_path / f"shop_{number}.py").write_text(program, encoding="utf-8")
    code = (
        "import importlib; from suffice.model.naming import content\n"
        f"for i in range({len(KINDS)}): "
        f"print(content(importlib.import_module(f'shop_{{i}}').predict))"
    )
    found = [_run(code, tmp_path, seed) for seed in ("1", "2")]
    assert len(set(found[0])) == len(KINDS)
    assert found[0] == found[1]


def test_an_edited_helper_is_another_program_to_a_file_of_answers_and_to_a_batch(written, tmp_path):
    shop, helpers = KINDS["a function of a module"]
    kept = {"perturbation": sf.Deletion(), "cache": tmp_path / "answers"}
    for number, label in (("0.1", "no"), ("0.9", "yes")):
        clf = sf.from_function(written(shop, _with(helpers, number)).predict, LABELS)
        assert sf.explain(clf, "a text", **kept).label == label
        if number == "0.1":
            list(sf.batch(clf, ["a text"], tmp_path / "out.jsonl", **kept))
    with pytest.raises(InputError, match="results of another run"):
        next(sf.batch(clf, ["a text"], tmp_path / "out.jsonl", **kept))


def _run(code: str, folder: Path, seed: str) -> list[str]:
    """What a new process prints, a line each."""
    env = {
        **os.environ,
        "PYTHONHASHSEED": seed,
        "PYTHONPATH": os.pathsep.join([*sys.path, str(folder)]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_what_changes_while_it_runs_has_another_digest_then():
    limits = {"late": 1}

    def predict(texts):
        return np.array([[limits["late"], len(text)] for text in texts])

    before = content(predict)
    limits["late"] = 2
    assert content(predict) != before


def test_a_list_that_is_only_added_to_is_no_part_of_an_answer():
    asked, read = [], []

    def predict(texts):
        asked.extend(texts)
        read.append(1)
        return np.array([[0.0, len(read)] for _ in texts])

    before = content(predict)
    asked.append("a text")
    assert content(predict) == before
    read.append("a text")
    assert content(predict) != before


def test_what_goes_round_in_circles_ends():
    first: list[object] = []
    first.append({"itself": first})

    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    wide: tuple[object, ...] = ("x",)
    for _ in range(60):
        wide = (wide, wide)  # 2^60 of them, if each were read
    deep: list[object] = []
    for _ in range(20_000):
        deep = [deep]
    assert len({content(one) for one in (first, even, odd, wide, deep)}) == 5


def test_records_are_known_by_their_fields_and_not_by_what_lies_between_them():
    kind = np.dtype(
        {"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8], "itemsize": 16}
    )
    one, other = (np.frombuffer(bytearray(fill * 48), kind) for fill in (b"\x00", b"\xff"))
    other["a"] = 0
    other["b"] = 0.0
    assert bytes(one.view("u1").data) != bytes(other.view("u1").data)
    assert content(one) == content(other)


def test_classes_of_packages_stand_by_name_and_version(monkeypatch):
    from suffice.model import owners

    before = content(np.ndarray)
    owners.version_of.cache_clear()
    owners._owner.cache_clear()
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0.1")
    assert content(np.ndarray) != before
    owners.version_of.cache_clear()
    owners._owner.cache_clear()


@pytest.mark.parametrize(
    ("held", "what"),
    [
        (threading.local(), "_thread._local"),
        ((text for text in ["a"]), "generator"),
        (np.frompyfunc(lambda text: 1.0, 1, 1), "ufunc"),
    ],
)
def test_what_no_digest_can_stand_for_asks_for_a_version(held, what, tmp_path):
    def predict(texts):
        return np.array([[0.0, 1.0] if held else [1.0, 0.0] for _ in texts])

    with pytest.raises(Untold, match=what):
        named(predict)
    alone = sf.from_function(predict, LABELS)
    assert what in alone.notes[0]
    assert alone.digest != sf.from_function(predict, LABELS).digest
    assert alone.digest == pickle.loads(pickle.dumps(replace(alone, function=len))).digest
    for kept in (
        {"cache": tmp_path / "answers"},
        {"out": tmp_path / "out"},
        {"certificates": tmp_path / "proofs"},
    ):
        with pytest.raises(
            InputError, match=rf"{what}.* \(held\), which no digest covers. Give a version"
        ):
            next(sf.batch(alone, ["a text"], perturbation=sf.Deletion(), **kept))
    one, two = (sf.from_function(predict, LABELS, version=version) for version in ("1", "2"))
    assert one.digest != two.digest
    assert one.meta["version"] == "1"


def test_a_version_stands_for_the_whole_program():
    one, two = (
        sf.from_function(lambda texts, k=k: [[k, 0.0]], LABELS, "rule", version="1") for k in (0, 1)
    )
    assert one.digest == two.digest


def test_locks_are_nothing_that_an_answer_depends_on():
    lock = threading.Lock()

    def predict(texts):
        with lock:
            return np.zeros((len(texts), 2))

    assert content(predict) == content(predict)


def test_a_version_is_a_string():
    with pytest.raises(ModelError, match="A version is a string"):
        sf.from_function(lambda texts: None, LABELS, version=2)


def test_an_option_that_no_digest_can_stand_for_is_refused(tmp_path):
    """The run of a batch is known by its options, functions among them."""
    held, clf = threading.local(), sf.load("sst-fc25")
    with pytest.raises(InputError, match=r"A digest covers code and data, and a _thread\._local"):
        next(
            sf.batch(
                clf, ["a good film"], tmp_path / "out.jsonl", cost=lambda word: 1 if held else 2
            )
        )


def test_the_digest_of_a_program_is_one_of_its_labels_and_name_too():
    def predict(texts):
        return np.zeros((len(texts), 2))

    ways = [
        (LABELS, None, None),
        (LABELS[::-1], None, None),
        (LABELS, "another", None),
        (LABELS, None, "1"),
    ]
    assert (
        len(
            {
                sf.from_function(predict, labels, name, version=version).digest
                for labels, name, version in ways
            }
        )
        == 4
    )
