"""Renames modules, symbols, members, parameters and locals over the whole tree, driven by mypy's types.

Temporary: it goes when issue 34 is done. `python scripts/rename/rename.py SPEC.py ...` at the root of a tree.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from mypy import build, nodes, types
from mypy.config_parser import parse_config_file
from mypy.find_sources import create_source_list
from mypy.options import Options

ROOTS = ["src/suffice", "tests", "benchmarks", "experiments", "scripts", "examples"]
MODULES: dict[str, str] = {}
SYMBOLS: dict[str, str] = {}
MEMBERS: dict[str, str] = {}
LOCALS: dict[str, dict[str, str]] = {}
DOCSTRINGS: dict[str, str] = {}
HINTS: dict[str, dict[str, str]] = {}  # function: attributes of values without a type
TEXT: list[tuple[str, str, str]] = []
problems: list[str] = []


def load(paths: list[str]) -> None:
    for path in paths:
        space: dict = {}
        exec(compile(Path(path).read_text(), path, "exec"), space)
        for name in ("MODULES", "SYMBOLS", "MEMBERS", "DOCSTRINGS"):
            globals()[name].update(space.get(name, {}))
        HINTS.update(space.get("HINTS", {}))
        for function, names in space.get("LOCALS", {}).items():
            LOCALS.setdefault(function, {}).update(names)
        TEXT.extend(space.get("TEXT", []))


def module_of(path: Path) -> str:
    parts = list(path.with_suffix("").parts)
    if parts[0] == "src":
        parts = parts[1:]
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


def new_module(module: str) -> str:
    return MODULES.get(module, module)


class Tree:
    """One file: its text, its syntax tree, what its global names stand for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.split("\n")
        self.module = module_of(path)
        self.package = path.name == "__init__.py"
        self.ast = ast.parse(self.text)
        self.globals: dict[str, str] = {}
        self.edits: dict[tuple[int, int, int], str] = {}  # (line, column in bytes, length): new
        for node in ast.walk(self.ast):
            for child in ast.iter_child_nodes(node):
                child.parent = node  # type: ignore[attr-defined]
        for node in ast.walk(self.ast):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                for alias in node.names:
                    self.globals.setdefault(alias.asname or alias.name, f"{node.module}.{alias.name}")
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.asname:
                        self.globals[alias.asname] = alias.name
                    elif "." not in alias.name and alias.name not in ("suffice", "tests"):
                        self.globals[alias.name] = alias.name
        self.own: set[str] = set()
        for node in self.ast.body:
            self._own(node)

    def _own(self, node: ast.stmt) -> None:
        names: list[str] = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        elif isinstance(node, ast.For | ast.While | ast.If | ast.Try | ast.With):
            for name in ("body", "orelse", "finalbody", "handlers"):
                for child in getattr(node, name, []):
                    if isinstance(child, ast.ExceptHandler):
                        for one in child.body:
                            self._own(one)
                    else:
                        self._own(child)
        for name in names:
            self.own.add(name)
            self.globals[name] = f"{self.module}.{name}"

    def edit(self, line: int, column: int, old: str, new: str) -> bool:
        raw = self.lines[line - 1].encode()
        if raw[column : column + len(old.encode())].decode(errors="replace") != old:
            return False
        self.edits[line, column, len(old.encode())] = new
        return True

    def edit_inside(self, node: ast.AST, old: str, new: str, dotted: bool) -> None:
        """For f-strings, whose places are not told rightly: inside of braces of the string around."""
        around = node
        while not isinstance(around, ast.JoinedStr) and hasattr(around, "parent"):
            around = around.parent
        if not isinstance(around, ast.JoinedStr):
            problems.append(f"{self.path}:{getattr(node, 'lineno', '?')}: no place for {old} -> {new}")
            return
        while hasattr(around, "parent") and isinstance(around.parent, ast.JoinedStr | ast.FormattedValue):
            around = around.parent
        pattern = rf"(?<=\.){old}\b" if dotted else rf"(?<![\w.\"']){old}\b(?!=[^=])"
        for line in range(around.lineno, (around.end_lineno or around.lineno) + 1):
            raw = self.lines[line - 1]
            for found in re.finditer(pattern, raw):
                before = raw[: found.start()]
                if before.count("{") > before.count("}"):
                    self.edits[line, len(before.encode()), len(old.encode())] = new

    def result(self) -> str:
        lines = [line.encode() for line in self.lines]
        for (line, column, length), new in sorted(self.edits.items(), reverse=True):
            raw = lines[line - 1]
            lines[line - 1] = raw[:column] + new.encode() + raw[column + length :]
        return b"\n".join(lines).decode()


TREES: dict[str, Tree] = {}


def resolve(full: str) -> str:
    """The name under which something is defined, through re-exports."""
    for _ in range(8):
        module, _, name = full.rpartition(".")
        if full in TREES or module not in TREES or name in TREES[module].own:
            return full
        further = TREES[module].globals.get(name)
        if further is None or further == full:
            return full
        full = further
    return full


# What mypy knows.


def instances(kind: types.Type | None) -> list[nodes.TypeInfo]:
    kind = types.get_proper_type(kind) if kind is not None else None
    match kind:
        case None | types.AnyType():
            return []
        case types.Instance():
            return [kind.type]
        case types.UnionType():
            return [one for item in kind.items for one in instances(item)]
        case types.TypeVarType():
            return instances(kind.upper_bound)
        case types.TupleType():
            return instances(kind.partial_fallback)
        case types.TypeType():
            return instances(kind.item)
        case types.CallableType():
            return [kind.type_object()] if kind.is_type_obj() else []
        case types.Overloaded():
            return [one for item in kind.items[:1] for one in instances(item)]
    return []


SKIPPED = {"info", "node", "type", "unanalyzed_type", "fullname", "original_def", "names", "imports", "type_vars"}


def children(node: nodes.Node) -> list[nodes.Node]:
    found: list[nodes.Node] = []

    def add(value: object) -> None:
        if isinstance(value, nodes.Node) and not isinstance(value, nodes.TypeInfo):
            found.append(value)
        elif isinstance(value, list | tuple):
            for one in value:
                add(one)

    for kind in type(node).__mro__:
        for name in getattr(kind, "__mypyc_attrs__", ()):
            if name not in SKIPPED:
                add(getattr(node, name, None))
    return found


class Gather:
    def __init__(self, types_of: dict, tree: nodes.MypyFile) -> None:
        self.types_of = types_of
        self.members: dict[tuple[int, int, str], list[str]] = defaultdict(list)
        self.untyped: set[tuple[int, int, str]] = set()
        self.calls: dict[tuple[int, int, int, int], list[tuple[str, str]]] = defaultdict(list)
        self.firsts: dict[tuple[int, int, int, int], list[str]] = {}
        seen: set[int] = set()
        stack: list[nodes.Node] = list(tree.defs)
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            match node:
                case nodes.MemberExpr():
                    self.visit_member_expr(node)
                case nodes.SuperExpr():
                    self.visit_super_expr(node)
                case nodes.CallExpr():
                    self.visit_call_expr(node)
            stack += children(node)

    def owner(self, expression: nodes.Expression) -> list[nodes.TypeInfo]:
        return instances(self.types_of.get(expression))

    def visit_member_expr(self, o: nodes.MemberExpr) -> None:
        key = (o.end_line or 0, o.end_column or 0, o.name)
        owners = self.owner(o.expr)
        if isinstance(o.expr, nodes.RefExpr) and isinstance(o.expr.node, nodes.TypeInfo):
            owners = [o.expr.node]
        if isinstance(o.expr, nodes.RefExpr) and isinstance(o.expr.node, nodes.MypyFile):
            return
        for info in owners:
            self.members[key] += [base.fullname for base in info.mro]
        if not owners:
            self.untyped.add(key)

    def visit_super_expr(self, o: nodes.SuperExpr) -> None:
        if o.info:
            self.members[o.end_line or 0, o.end_column or 0, o.name] += [b.fullname for b in o.info.mro]

    def callee(self, callee: nodes.Expression) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        node = callee.node if isinstance(callee, nodes.RefExpr) else None
        if isinstance(callee, nodes.MemberExpr) and (owners := self.owner(callee.expr)):
            for info in owners:
                for base in info.mro:
                    found.append(("function", f"{base.fullname}.{callee.name}"))
        if isinstance(node, nodes.TypeInfo):
            found += [("class", base.fullname) for base in node.mro]
        elif node is not None and node.fullname:
            found.append(("function", node.fullname))
        if not isinstance(node, nodes.TypeInfo):
            kind = types.get_proper_type(self.types_of.get(callee))
            if isinstance(kind, types.CallableType) and kind.is_type_obj():
                found += [("class", base.fullname) for base in kind.type_object().mro]
            elif isinstance(kind, types.TypeType):
                found += [("class", b.fullname) for i in instances(kind) for b in i.mro]
        return found

    def visit_call_expr(self, o: nodes.CallExpr) -> None:
        key = (o.line, o.column, o.end_line or 0, o.end_column or 0)
        self.calls[key] += self.callee(o.callee)
        names = {name for _, name in self.calls[key]}
        first = o.args[0] if o.args else None
        if first is not None and names & {"dataclasses.replace", "copy.replace"}:
            self.calls[key] += [("class", b.fullname) for i in self.owner(first) for b in i.mro]
        if first is not None and "functools.partial" in {n.rsplit(".__")[0] for n in names}:
            self.calls[key] += self.callee(first)
        if isinstance(o.callee, nodes.MemberExpr) and o.callee.name == "_replace":
            self.calls[key] += [("class", b.fullname) for i in self.owner(o.callee.expr) for b in i.mro]
        if first is not None:
            infos = self.owner(first)
            if isinstance(first, nodes.RefExpr) and isinstance(first.node, nodes.TypeInfo):
                infos = [first.node]
            self.firsts[key] = [b.fullname for i in infos for b in i.mro]


def mypy_knows(paths: list[Path]) -> dict[str, Gather]:
    options = Options()
    parse_config_file(options, lambda: None, "pyproject.toml", stdout=sys.stderr, stderr=sys.stderr)
    options.export_types = True
    options.preserve_asts = True
    options.incremental = False
    options.check_untyped_defs = True
    options.follow_imports = "skip"
    options.namespace_packages = True
    options.explicit_package_bases = True
    options.mypy_path = ["src", "."]
    sources = create_source_list([str(p) for p in paths], options)
    result = build.build(sources, options)
    found: dict[str, Gather] = {}
    for name, state in result.graph.items():
        if state.tree is None or name not in TREES:
            continue
        found[name] = Gather(result.types, state.tree)
    print(f"mypy: {len(found)} of {len(TREES)} modules, {len(result.errors)} errors", file=sys.stderr)
    return found


# Edits.


def local_names(function: ast.AST) -> set[str]:
    found = {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}
    bound = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    captured = {n.name for n in ast.walk(function) if isinstance(n, ast.MatchAs | ast.MatchStar) and n.name}
    out = {name for n in ast.walk(function) if isinstance(n, ast.Global) for name in n.names}
    return (found | bound | captured) - out


def member_new(owners: list[str], name: str) -> str | None:
    news = {MEMBERS[f"{owner}.{name}"] for owner in owners if f"{owner}.{name}" in MEMBERS}
    if len(news) > 1:
        problems.append(f"several new names of .{name}: {sorted(news)} of {owners}")
    return min(news) if news else None


BY_NAME: dict[str, set[str]] = defaultdict(set)  # member name: new names
DEFINED: Counter[str] = Counter()  # member name: classes of src that define it and do not rename it


def rename_tree(tree: Tree, knows: Gather | None) -> None:
    scopes: list[tuple[str, set[str], dict[str, str]]] = []

    def shadowed(name: str) -> bool:
        return any(name in names for _, names, _ in scopes)

    def local_new(name: str) -> str | None:
        for _, names, renamed in reversed(scopes):
            if name in names:
                if name in renamed:
                    return renamed[name]
        return None

    def symbol_new(full: str) -> str | None:
        full = resolve(full)
        return SYMBOLS.get(full)

    def module_alias(name: str) -> str | None:
        """A module that was imported under its own name."""
        full = tree.globals.get(name)
        if full in MODULES and full.rpartition(".")[2] == name:
            return MODULES[full].rpartition(".")[2]
        return None

    def put(node: ast.AST, line: int, column: int, old: str, new: str, dotted: bool = False) -> None:
        if old != new and not tree.edit(line, column, old, new):
            tree.edit_inside(node, old, new, dotted)

    def visit(node: ast.AST, prefix: str) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                full = f"{prefix}.{node.name}"
                inside_class = isinstance(getattr(node, "parent", None), ast.ClassDef)
                new = None
                if inside_class:
                    new = MEMBERS.get(full) or member_new(mro_of.get(prefix, []), node.name)
                elif not scopes:
                    new = SYMBOLS.get(full)
                else:
                    new = local_new(node.name)
                if new:
                    line = tree.lines[node.lineno - 1]
                    found = re.compile(rf"def\s+({node.name})\b").search(line)
                    assert found, (tree.path, node.lineno)
                    put(node, node.lineno, len(line[: found.start(1)].encode()), node.name, new)
                for one in node.decorator_list:
                    visit(one, prefix)
                top = not scopes
                if top:
                    names = local_names(node) | {
                        n.name for n in ast.walk(node)
                        if isinstance(n, ast.FunctionDef) and n is not node
                    }
                    renamed = dict(LOCALS.get(full, {}))
                    for base in mro_of.get(prefix, []) if inside_class else []:
                        for old, fresh in LOCALS.get(f"{base}.{node.name}", {}).items():
                            if old in {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}:
                                renamed.setdefault(old, fresh)
                    for old in list(renamed):
                        if old not in names:
                            if old in LOCALS.get(full, {}):
                                problems.append(f"{full}: no local {old}")
                            del renamed[old]
                        elif renamed[old] in names - set(renamed):
                            problems.append(f"{full}: {old} -> {renamed[old]} clashes, left")
                            del renamed[old]
                    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - names
                    for old in list(renamed):
                        if renamed[old] in used:
                            problems.append(f"{full}: {old} -> {renamed[old]} hides a global, left")
                            del renamed[old]
                    USED.add(full)
                    scopes.append((full, names, renamed))
                visit(node.args, full)
                if node.returns:
                    visit(node.returns, full)
                for one in node.body:
                    visit(one, full)
                if top:
                    scopes.pop()
                return
            case ast.ClassDef():
                full = f"{prefix}.{node.name}"
                new = SYMBOLS.get(full)
                if new and not scopes:
                    line = tree.lines[node.lineno - 1]
                    found = re.compile(rf"class\s+({node.name})\b").search(line)
                    assert found, (tree.path, node.lineno)
                    put(node, node.lineno, found.start(1), node.name, new)
                for one in [*node.bases, *node.keywords, *node.decorator_list]:
                    visit(one, prefix)
                for one in node.body:
                    if isinstance(one, ast.AnnAssign | ast.Assign):
                        targets = one.targets if isinstance(one, ast.Assign) else [one.target]
                        for target in targets:
                            if isinstance(target, ast.Name):
                                fresh = member_new([full, *mro_of.get(full, [])], target.id)
                                if fresh:
                                    put(target, target.lineno, target.col_offset, target.id, fresh)
                        if one.value:
                            visit(one.value, full)
                        if isinstance(one, ast.AnnAssign):
                            visit(one.annotation, full)
                    else:
                        visit(one, full)
                return
            case ast.arg():
                if new := local_new(node.arg):
                    put(node, node.lineno, node.col_offset, node.arg, new)
            case ast.Name():
                if shadowed(node.id):
                    if new := local_new(node.id):
                        put(node, node.lineno, node.col_offset, node.id, new)
                elif node.id in tree.globals:
                    new = symbol_new(tree.globals[node.id]) if renames_alias(tree, node.id) else None
                    new = new or module_alias(node.id)
                    if new and node.id not in tree.kept:
                        put(node, node.lineno, node.col_offset, node.id, new)
                return
            case ast.Nonlocal() | ast.Global():
                for name in node.names:
                    new = local_new(name) or (SYMBOLS.get(f"{tree.module}.{name}") if isinstance(node, ast.Global) else None)
                    if new:
                        line = tree.lines[node.lineno - 1]
                        for found in re.finditer(rf"\b{name}\b", line):
                            put(node, node.lineno, found.start(), name, new)
            case ast.ExceptHandler():
                if node.name and (new := local_new(node.name)):
                    line = tree.lines[node.lineno - 1]
                    found = re.search(rf"\bas\s+({node.name})\b", line)
                    put(node, node.lineno, found.start(1), node.name, new)
            case ast.MatchAs() | ast.MatchStar():
                if node.name and (new := local_new(node.name)):
                    found = re.search(rf"\b{node.name}$", tree.lines[node.end_lineno - 1].encode()[: node.end_col_offset].decode())
                    if found:
                        put(node, node.end_lineno, node.end_col_offset - len(node.name), node.name, new)
                    else:
                        problems.append(f"{tree.path}:{node.lineno}: pattern {node.name}")
            case ast.MatchClass():
                full = full_of(node.cls)
                if full:
                    for name in node.kwd_attrs:
                        new = member_new([full, *mro_of.get(full, [])], name)
                        if new:
                            for line in range(node.lineno, node.end_lineno + 1):
                                raw = tree.lines[line - 1]
                                for found in re.finditer(rf"(?<=[(\s])({name})(?==)", raw):
                                    put(node, line, len(raw[: found.start(1)].encode()), name, new)
            case ast.Attribute():
                full = full_of(node)
                done = False
                if full:
                    target = resolve(full)
                    new = SYMBOLS.get(target) or (
                        MODULES[full].rpartition(".")[2] if full in MODULES else None
                    )
                    parent, _, _ = target.rpartition(".")
                    if new is None and target.rpartition(".")[0] in CLASSES:
                        new = member_new([parent, *mro_of.get(parent, [])], node.attr)
                    if new:
                        put(node, node.end_lineno, node.end_col_offset - len(node.attr), node.attr, new, True)
                        done = True
                if not done and knows is not None:
                    key = (node.end_lineno, node.end_col_offset, node.attr)
                    owners = knows.members.get(key)
                    if owners:
                        if new := member_new(owners, node.attr):
                            put(node, node.end_lineno, node.end_col_offset - len(node.attr), node.attr, new, True)
                    elif scopes and node.attr in HINTS.get(scopes[-1][0], {}):
                        new = HINTS[scopes[-1][0]][node.attr]
                        put(node, node.end_lineno, node.end_col_offset - len(node.attr), node.attr, new, True)
                    elif node.attr in BY_NAME and not full and str(tree.path).startswith(GUESSABLE):
                        if len(BY_NAME[node.attr]) == 1 and DEFINED[node.attr] == 0:
                            (new,) = BY_NAME[node.attr]
                            put(node, node.end_lineno, node.end_col_offset - len(node.attr), node.attr, new, True)
                            GUESSED.append(f"{tree.path}:{node.lineno}: .{node.attr} -> {new}")
                        else:
                            UNSURE.append(
                                f"{tree.path}:{node.lineno}: {scopes[-1][0] if scopes else ''}: {ast.unparse(node)} -> {sorted(BY_NAME[node.attr])}?"
                            )
            case ast.Call():
                call(node)
            case ast.List() if is_all(node):
                for one in node.elts:
                    new = symbol_new(tree.globals.get(one.value, "")) or module_alias(one.value)
                    if new:
                        put(one, one.lineno, one.col_offset + 1, one.value, new)
                return
            case ast.Constant():
                if isinstance(node.value, str) and re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", node.value):
                    new = symbol_new(tree.globals.get(node.value, ""))
                    if new and node.lineno == node.end_lineno:
                        STRINGS.append(f"{tree.path}:{node.lineno}: {node.value!r} -> {new}")
                        put(node, node.lineno, node.col_offset + 1, node.value, new)
                if isinstance(node.value, str) and re.fullmatch(r"(suffice|tests)\.[\w.]+", node.value):
                    new = dotted_new(node.value)
                    if new != node.value:
                        put(node, node.lineno, node.col_offset + 1, node.value, new)
            case ast.ImportFrom():
                import_from(node)
                return
            case ast.Import():
                for alias in node.names:
                    if alias.name in MODULES:
                        put(alias, alias.lineno, alias.col_offset, alias.name, MODULES[alias.name])
                return
        for child in ast.iter_child_nodes(node):
            visit(child, prefix)

    def full_of(node: ast.AST) -> str | None:
        """The full name of a dotted name that begins with an imported or own global."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or shadowed(node.id) or node.id not in tree.globals:
            if isinstance(node, ast.Name) and node.id in ("suffice", "tests") and not shadowed(node.id):
                return ".".join([node.id, *reversed(parts)])
            return None
        full = resolve(tree.globals[node.id])
        for part in reversed(parts):
            full = resolve(f"{full}.{part}")
        return full

    def call(node: ast.Call) -> None:
        key = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        targets = list(knows.calls.get(key, [])) if knows else []
        full = full_of(node.func)
        if full:
            targets.append(("class" if full in CLASSES else "function", full))
            if full in CLASSES:
                targets += [("class", b) for b in mro_of.get(full, [])]
        for keyword in node.keywords:
            if keyword.arg is None:
                continue
            news = set()
            for kind, name in targets:
                name = resolve(name)
                if kind == "class":
                    news |= {MEMBERS.get(f"{name}.{keyword.arg}"), LOCALS.get(f"{name}.__init__", {}).get(keyword.arg)}
                else:
                    news.add(LOCALS.get(name, {}).get(keyword.arg))
            news.discard(None)
            if len(news) > 1:
                problems.append(f"{tree.path}:{node.lineno}: keyword {keyword.arg}: {sorted(news)}")
            if news:
                put(keyword, keyword.lineno, keyword.col_offset, keyword.arg, min(news))
        # monkeypatch.setattr(module_or_class, "name", ...)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("setattr", "delattr", "getattr", "hasattr", "object") and len(node.args) >= 2:
            target, text = node.args[:2]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                base = full_of(target)
                new = None
                if base:
                    new = SYMBOLS.get(resolve(f"{base}.{text.value}"))
                    if new is None and base in CLASSES:
                        new = member_new([base, *mro_of.get(base, [])], text.value)
                if new is None and knows and key in knows.firsts:
                    new = member_new(knows.firsts[key], text.value)
                if new:
                    put(text, text.lineno, text.col_offset + 1, text.value, new)

    def dotted_new(text: str) -> str:
        parts = text.split(".")
        for size in range(len(parts), 0, -1):
            module = ".".join(parts[:size])
            if module in TREES:
                rest = parts[size:]
                fresh = [new_module(module)]
                if rest:
                    symbol = resolve(f"{module}.{rest[0]}")
                    fresh.append(SYMBOLS.get(symbol, rest[0]))
                    if len(rest) > 1:
                        fresh.append(MEMBERS.get(f"{symbol}.{rest[1]}", rest[1]))
                        fresh += rest[2:]
                return ".".join(fresh)
        return text

    def import_from(node: ast.ImportFrom) -> None:
        if node.level or not node.module:
            return
        groups: dict[str, list[str]] = defaultdict(list)
        changed = node.module in MODULES
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            asname = f" as {alias.asname}" if alias.asname else ""
            if full in MODULES:
                parent, _, name = MODULES[full].rpartition(".")
                if not alias.asname and alias.name in tree.kept and name != alias.name:
                    asname = f" as {alias.name}"
                groups[parent].append(name + asname)
                changed = True
            elif full in TREES:
                groups[new_module(node.module)].append(alias.name + asname)
            else:
                name = SYMBOLS.get(resolve(full), alias.name)
                changed |= name != alias.name
                if not alias.asname and alias.name in tree.kept and name != alias.name:
                    asname = f" as {alias.name}"
                groups[new_module(node.module)].append(name + asname)
        if not changed:
            return
        indent = " " * node.col_offset
        tail = tree.lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode()
        text = f"\n{indent}".join(
            f"from {module} import " + ", ".join(names) for module, names in groups.items()
        )
        IMPORTS[tree.module].append((node.lineno, node.end_lineno, node.col_offset, text + tail))

    visit(tree.ast, tree.module)


def is_all(node: ast.AST) -> bool:
    parent = getattr(node, "parent", None)
    return isinstance(parent, ast.Assign) and any(
        isinstance(t, ast.Name) and t.id == "__all__" for t in parent.targets
    )


def renames_alias(tree: Tree, name: str) -> bool:
    """Whether the name here is the symbol's own name (not an alias by `as`)."""
    return resolve(tree.globals[name]).rpartition(".")[2] == name


GUESSABLE = ("src/suffice/prove", "src/suffice/search", "src/suffice/proof", "src/suffice/verbs", "tests/prove", "tests/search", "tests/proof", "tests/fuzzing", "tests/verbs", "benchmarks")
IMPORTS: dict[str, list[tuple[int, int, int, str]]] = defaultdict(list)
USED: set[str] = set()
GUESSED: list[str] = []
UNSURE: list[str] = []
STRINGS: list[str] = []
CLASSES: set[str] = set()
mro_of: dict[str, list[str]] = {}


def classes() -> None:
    bases: dict[str, list[str]] = {}
    for tree in TREES.values():
        for node in ast.walk(tree.ast):
            if isinstance(node, ast.ClassDef):
                full = f"{tree.module}.{node.name}"
                CLASSES.add(full)
                bases[full] = []
                for base in node.bases:
                    base = base.value if isinstance(base, ast.Subscript) else base
                    if isinstance(base, ast.Name) and base.id in tree.globals:
                        bases[full].append(resolve(tree.globals[base.id]))
                    elif isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
                        start = tree.globals.get(base.value.id)
                        if start:
                            bases[full].append(resolve(f"{start}.{base.attr}"))

    def all_of(full: str) -> list[str]:
        return [full, *(b for base in bases.get(full, []) for b in all_of(base))]

    for full in bases:
        mro_of[full] = all_of(full)[1:]
    for key, new in MEMBERS.items():
        owner, _, name = key.rpartition(".")
        BY_NAME[name].add(new)
    for tree in TREES.values():
        if not tree.module.startswith("suffice"):
            continue
        for node in ast.walk(tree.ast):
            if isinstance(node, ast.ClassDef):
                full = f"{tree.module}.{node.name}"
                owners = [full, *mro_of.get(full, [])]
                for one in node.body:
                    names = []
                    if isinstance(one, ast.FunctionDef):
                        names = [one.name]
                    elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                        names = [one.target.id]
                    for name in names:
                        if name in BY_NAME and not any(f"{o}.{name}" in MEMBERS for o in owners):
                            DEFINED[name] += 1


def check_keys() -> None:
    for full in SYMBOLS:
        module, _, name = full.rpartition(".")
        if module not in TREES or name not in TREES[module].own:
            problems.append(f"no symbol {full}")
        elif SYMBOLS[full] in TREES[module].globals and f"{module}.{SYMBOLS[full]}" not in SYMBOLS:
            problems.append(f"{full} -> {SYMBOLS[full]}: name is taken in the module")
    for key in MEMBERS:
        owner, _, name = key.rpartition(".")
        if owner not in CLASSES:
            problems.append(f"no class {owner} (member {name})")
    for key in MODULES:
        if key not in TREES:
            problems.append(f"no module {key}")


def keep_clashing() -> None:
    """Where a new global name clashes with another name of a file, the old one is kept by `as`."""
    for tree in TREES.values():
        tree.kept = set()
        names_used = {n.id for n in ast.walk(tree.ast) if isinstance(n, ast.Name)}
        names_used |= {a.arg for a in ast.walk(tree.ast) if isinstance(a, ast.arg)}
        for name, full in tree.globals.items():
            if name in tree.own:
                continue
            if not renames_alias(tree, name) and full not in MODULES:
                continue
            if full in MODULES and full.rpartition(".")[2] == name:
                new = MODULES[full].rpartition(".")[2]
            else:
                new = SYMBOLS.get(resolve(full))
            renamed_away = {o for f, d in LOCALS.items() if f.startswith(tree.module + ".") for o in d}
            if new and new != name and new in names_used | set(tree.globals):
                other = tree.globals.get(new)
                if other and (SYMBOLS.get(resolve(other)) or other in MODULES) and new not in renamed_away:
                    continue
                tree.kept.add(name)
                problems.append(f"{tree.path}: {name} kept by `as`: {new} is used there")


def apply_imports(tree: Tree, text: str) -> str:
    lines = text.split("\n")
    for first, last, column, fresh in sorted(IMPORTS[tree.module], reverse=True):
        head = lines[first - 1][:column]
        lines[first - 1 : last] = (head + fresh).split("\n")
    return "\n".join(lines)


def path_of(module: str, package: bool) -> Path:
    parts = module.split(".")
    base = Path("src", *parts) if parts[0] == "suffice" else Path(*parts)
    return base / "__init__.py" if package else base.with_suffix(".py")


def text_files() -> None:
    """Modules and paths that documents and settings name."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    slashes = {}
    for old, new in MODULES.items():
        if old.startswith("suffice."):
            a, b = old.removeprefix("suffice.").replace(".", "/"), new.removeprefix("suffice.").replace(".", "/")
            slashes[a] = b
    keys = sorted(slashes, key=len, reverse=True)
    # a folder by itself only with its slash; a module with .py
    pattern = re.compile(r"(?<![\w/])((?:src/)?suffice/)?(" + "|".join(map(re.escape, keys)) + r")(\.py\b|/(?![\w])|`)")
    dotted = re.compile(r"\bsuffice\.(prove|search|proof|verbs)(\.\w+)*")
    for name in listed:
        path = Path(name)
        if path.suffix not in {".md", ".toml", ".yml", ".py", ".cfg", ".sh", ".txt"} or not path.exists():
            continue
        if "scripts/rename" in name or name in ("CHANGELOG.md", "docs/theory.md"):
            continue
        text = path.read_text(encoding="utf-8")

        def slash(found: re.Match) -> str:
            if found[3] == "`" and not found[1] and "/" not in found[2]:
                return found[0]
            return (found[1] or "") + slashes[found[2]] + found[3]

        def dot(found: re.Match) -> str:
            parts = found[0].split(".")
            for size in range(len(parts), 1, -1):
                module = ".".join(parts[:size])
                if module in MODULES:
                    rest = parts[size:]
                    if rest:
                        rest[0] = SYMBOLS.get(f"{module}.{rest[0]}", rest[0])
                    return ".".join([MODULES[module], *rest])
            return found[0]

        fresh = pattern.sub(slash, text)
        if path.suffix != ".py":
            fresh = dotted.sub(dot, fresh)
        if fresh != text:
            path.write_text(fresh, encoding="utf-8")


def flat_imports() -> None:
    """Tests import one another by their bare names."""
    bare = {o.rpartition(".")[2]: n.rpartition(".")[2] for o, n in MODULES.items() if o.startswith("tests.")}
    bare = {o: n for o, n in bare.items() if o != n and o.startswith("test_")}
    pattern = re.compile(r"^(\s*)(from|import) (" + "|".join(bare) + r")\b", re.M)
    for path in Path("tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        fresh = pattern.sub(lambda m: f"{m[1]}{m[2]} {bare[m[3]]}", text)
        if fresh != text:
            path.write_text(fresh, encoding="utf-8")


def documents() -> None:
    for module, text in DOCSTRINGS.items():
        tree = TREES.get(module)
        if tree is None:
            problems.append(f"docstring of no module {module}")
            continue
        path = path_of(new_module(module), tree.package)
        source = path.read_text(encoding="utf-8")
        body = ast.parse(source).body
        fresh = '"""' + text.strip() + ('\n"""' if "\n" in text.strip() else '"""')
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            lines = source.split("\n")
            lines[body[0].lineno - 1 : body[0].end_lineno] = fresh.split("\n")
            source = "\n".join(lines)
        else:
            source = fresh + "\n" + ("\n" + source if source.strip() else "")
        path.write_text(source, encoding="utf-8")
    for module, old, new in TEXT:
        targets = [module] if module != "*" else [m for m in TREES if m.startswith("suffice")]
        hits = 0
        for one in targets:
            if one not in TREES:
                continue
            path = path_of(new_module(one), TREES[one].package)
            source = path.read_text(encoding="utf-8")
            if old in source:
                hits += 1
                path.write_text(source.replace(old, new), encoding="utf-8")
        if not hits:
            problems.append(f"text not found in {module}: {old[:60]!r}")


def main() -> None:
    load(sys.argv[1:])
    listed = subprocess.run(["git", "ls-files", *ROOTS], capture_output=True, text=True, check=True).stdout.split()
    paths = [Path(p) for p in listed if p.endswith(".py") and not p.startswith("scripts/rename") and Path(p).exists()]
    for path in paths:
        TREES[module_of(path)] = Tree(path)
    classes()
    check_keys()
    keep_clashing()
    knows = mypy_knows([p for p in paths if "scripts/" not in str(p)])
    for module, tree in TREES.items():
        rename_tree(tree, knows.get(module))
    for function in LOCALS:
        if function not in USED:
            problems.append(f"no function {function}")
    for module, tree in TREES.items():
        text = apply_imports(tree, tree.result())
        if text != tree.text:
            tree.path.write_text(text, encoding="utf-8")
    for module, new in MODULES.items():
        if module not in TREES or new == module:
            continue
        old_path, new_path = TREES[module].path, path_of(new, TREES[module].package)
        new_path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "mv", str(old_path), str(new_path)], check=True)
    documents()
    flat_imports()
    text_files()
    print("\n".join(["", "STRINGS", *STRINGS, "", "PROBLEMS", *problems, "", f"GUESSED {len(GUESSED)}", *GUESSED, "", "UNSURE", *UNSURE]))


if __name__ == "__main__":
    main()
