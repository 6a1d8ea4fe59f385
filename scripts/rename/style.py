"""Splits parallel assignments, long comments, docstrings and strings: python style.py FILES (after ruff format)."""

from __future__ import annotations

import ast
import io
import re
import sys
import textwrap
import tokenize
from pathlib import Path

LIMIT = 100


def names_of(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def attributes_of(node: ast.AST) -> set[str]:
    return {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def splittable(node: ast.Assign, closures: set[str]) -> bool:
    if len(node.targets) != 1:
        return False
    target, value = node.targets[0], node.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        return False
    if len(target.elts) != len(value.elts) or any(isinstance(e, ast.Starred) for e in [*target.elts, *value.elts]):
        return False
    for i, one in enumerate(target.elts):
        if isinstance(one, ast.Tuple | ast.List):
            return False
        for later in value.elts[i + 1 :]:
            if isinstance(one, ast.Name):
                if one.id in names_of(later) or one.id in closures:
                    return False
            elif isinstance(one, ast.Attribute):
                if isinstance(one.value, ast.Name) and one.value.id not in names_of(later):
                    continue
                if one.attr in attributes_of(later) or any(isinstance(n, ast.Call) for n in ast.walk(later)):
                    return False
            else:  # a subscript: only plain values after it
                if any(isinstance(n, ast.Call | ast.Subscript) for n in ast.walk(later)):
                    return False
        for later in target.elts[i + 1 :]:
            if isinstance(one, ast.Name) and one.id in names_of(later) and not isinstance(later, ast.Name):
                return False
    return True


def split_assignments(text: str) -> str:
    tree = ast.parse(text)
    lines = text.split("\n")
    found: list[ast.Assign] = []

    def walk(node: ast.AST, closures: set[str]) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef | ast.Lambda) and n is not node]
            closures = {name for n in inner for name in names_of(n)}
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Assign) and splittable(child, closures):
                found.append(child)
            walk(child, closures)

    walk(tree, set())
    for node in sorted(found, key=lambda n: n.lineno, reverse=True):
        first, last = node.lineno - 1, node.end_lineno
        head = lines[first].encode()[: node.col_offset].decode()
        if head.strip():
            continue
        tail = lines[last - 1].encode()[node.end_col_offset :].decode()
        if first != last - 1 and "#" in "\n".join(lines[first:last]):
            continue
        target, value = node.targets[0], node.value
        parts = []
        for one, what in zip(target.elts, value.elts):
            source = ast.get_source_segment(text, what)
            if isinstance(what, ast.Tuple) and not source.startswith("("):
                source = f"({source})"
            if "\n" in source and not isinstance(what, ast.Call | ast.List | ast.Dict | ast.Set | ast.Tuple | ast.ListComp | ast.SetComp | ast.DictComp):
                source = f"({source})"
            if isinstance(what, ast.GeneratorExp | ast.NamedExpr | ast.Yield) and not source.startswith("("):
                source = f"({source})"
            parts.append(f"{head}{ast.get_source_segment(text, one)} = {source}")
        if tail.strip():
            parts.insert(0, head + tail.strip())
        lines[first:last] = "\n".join(parts).split("\n")
    return "\n".join(lines)


def wrap(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, LIMIT, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def comments(text: str) -> str:
    lines = text.split("\n")
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    long = [t for t in tokens if t.type == tokenize.COMMENT and len(lines[t.start[0] - 1]) > LIMIT]
    done: set[int] = set()
    for token in sorted(long, key=lambda t: t.start[0], reverse=True):
        row, column = token.start[0] - 1, token.start[1]
        if row in done or re.match(r"#\s*(noqa|type:|pragma|fmt)", token.string):
            continue
        before = lines[row][:column]
        if not before.strip():  # a comment on its own lines: the block again
            first = row
            while first > 0 and lines[first - 1].strip().startswith("# ") and lines[first - 1].index("#") == column:
                first -= 1
            last = row
            while last + 1 < len(lines) and lines[last + 1].strip().startswith("# ") and lines[last + 1].index("#") == column:
                last += 1
            block = " ".join(line.strip()[1:].strip() for line in lines[first : last + 1])
            done.update(range(first, last + 1))
            lines[first : last + 1] = wrap(block, before + "# ", before + "# ")
        else:
            match = re.search(r"\s*#\s*(noqa|type:).*$", token.string)
            words = token.string[1:].strip()
            keep = ""
            if match:
                keep = "  " + match.group(0).strip()
                words = token.string[1 : match.start()].strip()
            code = before.rstrip()
            statement = row
            indent = re.match(r"\s*", code).group(0)
            lines[statement] = code + keep
            lines[statement:statement] = wrap(words, indent + "# ", indent + "# ")
    return "\n".join(lines)


def docstrings(text: str) -> str:
    tree = ast.parse(text)
    lines = text.split("\n")
    owners = [n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)]
    strings = []
    for owner in owners:
        for node in owner.body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                strings.append(node)
    for node in sorted(strings, key=lambda n: n.lineno, reverse=True):
        first, last = node.lineno - 1, node.end_lineno
        block = lines[first:last]
        if all(len(line) <= LIMIT for line in block):
            continue
        indent = " " * node.col_offset
        out: list[str] = []
        index = 0
        while index < len(block):
            line = block[index]
            if len(line) <= LIMIT:
                out.append(line)
                index += 1
                continue
            lead = re.match(r"\s*", line).group(0)
            item = re.match(r"\s*(?:[-*]|\d+\.|[\w`*., ]+: )?\s*", line).group(0) if re.match(r"\s*[-*] ", line) else lead
            rest = " " * len(item)
            if line.lstrip().startswith('"""') or line.lstrip().startswith('r"""'):
                rest = indent
            words = [line.strip()]
            # what follows in the same paragraph
            following = index + 1
            while following < len(block):
                text_line = block[following]
                bare = text_line.strip()
                if not bare or bare == '"""' or re.match(r"([-*] |\d+\. |>>> |\.\.\. |\|)", bare):
                    break
                if re.match(r"\s*", text_line).group(0) != rest:
                    break
                words.append(bare)
                following += 1
            joined = " ".join(words)
            close = ""
            if joined.endswith('"""') and not re.fullmatch(r'r?"""', joined):
                joined, close = joined[:-3].rstrip(), '"""'
            wrapped = wrap(joined, lead, rest)
            if close and len(wrapped) == 1:
                wrapped = textwrap.wrap(
                    joined, LIMIT - 12, initial_indent=lead, subsequent_indent=rest,
                    break_long_words=False, break_on_hyphens=False,
                )
            if close:
                if index == 0 and following == len(block):
                    wrapped.append(indent + close)  # one line became several
                else:
                    wrapped.append(indent + close)
            out += wrapped
            index = following
        lines[first:last] = out
    return "\n".join(lines)


def long_strings(text: str) -> str:
    lines = text.split("\n")
    if all(len(line) <= LIMIT for line in lines):
        return text
    tree = ast.parse(text)
    parents: dict[ast.AST, ast.AST] = {}
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            parents[child] = node
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    depth, in_brackets = 0, {}
    for token in tokens:
        if token.type == tokenize.OP and token.string in "([{":
            depth += 1
        elif token.type == tokenize.OP and token.string in ")]}":
            depth -= 1
        in_brackets[token.start] = depth > 0
    plain = [t for t in tokens if t.type not in (tokenize.NL, tokenize.COMMENT)]
    adjacent = {
        t.start
        for i, t in enumerate(plain)
        if t.type == tokenize.STRING
        and any(
            0 <= j < len(plain) and plain[j].type == tokenize.STRING for j in (i - 1, i + 1)
        )
    }
    docs = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    strings = [
        t for t in tokens
        if t.type == tokenize.STRING and t.start[0] == t.end[0] and len(lines[t.start[0] - 1]) > LIMIT
        and '"""' not in t.string
    ]
    starts = {(n.lineno, n.col_offset): n for n in ast.walk(tree) if isinstance(n, ast.Constant | ast.JoinedStr) and id(n) in docs}
    for token in sorted(strings, key=lambda t: t.start, reverse=True):
        row, start, end = token.start[0] - 1, token.start[1], token.end[1]
        if (token.start[0], len(lines[row][:start].encode())) in starts:
            continue
        match = re.fullmatch(r"([a-zA-Z]*)(['\"])(.*)\2", token.string)
        if not match or len(lines[row]) <= LIMIT:
            continue
        prefix, quote, body = match.groups()
        if end - start < 30:
            continue
        indent = re.match(r"\s*", lines[row]).group(0)
        room = LIMIT - len(indent) - 4 - len(prefix) - 3
        pieces: list[str] = []
        rest = body
        while len(rest) > room:
            spaces = [m.end() for m in re.finditer(r" ", rest[:room])]
            if "f" in prefix.lower():
                spaces = [s for s in spaces if rest[:s].count("{") == rest[:s].count("}")]
            spaces = [s for s in spaces if rest[s - 2 : s - 1] != "\\"]
            if not spaces:
                break
            pieces.append(rest[: spaces[-1]])
            rest = rest[spaces[-1] :]
        if not pieces:
            # fits on a line of its own in brackets: nothing to split
            if in_brackets.get(token.start):
                continue
            joined = token.string
        else:
            pieces.append(rest)

            def written(piece: str) -> str:
                kept = prefix
                if "f" in prefix.lower() and "{" not in piece and "}" not in piece:
                    kept = prefix.replace("f", "").replace("F", "")
                return f"{kept}{quote}{piece}{quote}"

            joined = ("\n" + indent + "    ").join(written(p) for p in pieces)
        if token.start not in adjacent and (pieces or not in_brackets.get(token.start)):
            joined = f"({joined})"
        lines[row] = lines[row][:start] + joined + lines[row][end:]
        if "\n" in lines[row]:
            lines[row : row + 1] = lines[row].split("\n")
    return "\n".join(lines)


def main() -> None:
    kinds = {"split": [split_assignments], "long": [comments, docstrings, long_strings]}[sys.argv[1]]
    for name in sys.argv[2:]:
        path = Path(name)
        text = path.read_text(encoding="utf-8")
        try:
            fresh = text
            for kind in kinds:
                fresh = kind(fresh)
                ast.parse(fresh)
        except (SyntaxError, tokenize.TokenError) as error:
            print(f"{path}: {error}")
            continue
        if fresh != text:
            before = ast.dump(ast.parse(text)) if sys.argv[1] == "strings" else None
            path.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    main()
