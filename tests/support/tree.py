"""The repository as the house rules see it: its files, and the syntax trees of its modules."""

import ast
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = {
    "core": "fairlead",
    "worker": "fairlead_worker",
    "scheduler": "fairlead_scheduler",
    "autoscaler": "fairlead_autoscaler",
    "console": "fairlead_console",
    "cli": "fairlead_cli",
}
SOURCES = os.pathsep.join(str(ROOT / each) for each in ("", *ROOMS))
"""What programs import from: a checkout runs its own code, whichever one is installed."""

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@cache
def files(*suffixes: str) -> tuple[Path, ...]:
    """Return every file that is in git or would be added to it, relative to the root."""
    listing = subprocess.run(
        ["/usr/bin/env", "git", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (Path(name) for name in sorted(listing.split("\0")) if name)
    return tuple(
        path
        for path in paths
        if (not suffixes or path.suffix in suffixes) and (ROOT / path).is_file()
    )


def of_rooms(*suffixes: str) -> tuple[Path, ...]:
    """Return the files of the import packages: what is installed."""
    return tuple(path for path in files(*suffixes) if path.parts[0] in ROOMS)


@cache
def text(path: Path) -> str:
    """Return a file's text."""
    return (ROOT / path).read_text("utf-8")


@cache
def module(path: Path) -> ast.Module:
    """Return a module's syntax tree."""
    return ast.parse(text(path), filename=str(path))


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function of a module, methods and inner ones too."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        # Only statements hold functions, and these are the parts that hold statements.
        for part in _BLOCKS:
            nodes.extend(getattr(node, part, ()))


def called(call: ast.Call) -> str | None:
    """Return the name of what is called, without what it is an attribute of."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return None
