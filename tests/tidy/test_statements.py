"""One SQL statement is one file with a header and a caller, and no SQL stands in Python."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import tree

# Tools that make or look at a server or its schema, and never touch a job.
MAY_HOLD_SQL = {
    Path("core/fairlead/db/migrate.py"),
    Path("cli/fairlead_cli/dev/postgres.py"),
    # What the doctor prints for people to run; it runs none of it.
    Path("core/fairlead/inspection/doctor/fleet.py"),
    Path("core/fairlead/inspection/doctor/server.py"),
    Path("core/fairlead/inspection/doctor/storage.py"),
}

STATEMENT = re.compile(
    r"^\s*select\s|\bselect\b.+\bfrom\b|\binsert\s+into\b|\bdelete\s+from\b"
    r"|\bupdate\s+[\w.]+(\s+\w+)?\s+set\b",
    re.IGNORECASE | re.DOTALL,
)


def literals(module: ast.Module) -> Iterator[str]:
    """Yield a module's strings that are no docstrings; an f-string comes without its values."""
    prose = {
        id(node.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            parts = (part for part in node.values if isinstance(part, ast.Constant))
            yield "x".join(str(part.value) for part in parts)
        if isinstance(node, ast.Constant) and id(node) not in prose:
            if isinstance(node.value, str):
                yield node.value
            if isinstance(node.value, bytes):
                yield node.value.decode(errors="replace")


def sql_in(module: ast.Module) -> tuple[str, ...]:
    """Return the strings of a module that are SQL statements."""
    return tuple(each for each in literals(module) if STATEMENT.search(each))


def header_faults(name: str, statement: str) -> tuple[str, ...]:
    """Say what a statement's header lacks: its name with a purpose, its locks, its index."""
    comments = "".join(re.findall(r"^--.*\n", statement, re.MULTILINE))
    wanted = {
        "purpose": rf"\A-- {name}: \S",
        "locks": r"^-- locks: \S",
        "index": r"^-- index: \S",
    }
    return tuple(
        part
        for part, pattern in wanted.items()
        if not re.search(pattern, comments, re.MULTILINE)
    )


def loaded(module: ast.Module) -> Iterator[tuple[str | None, str]]:
    """Yield (package, statement) of every load() whose statement is named literally."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and tree.called(node) == "load":
            named = [
                part.value
                for part in node.args
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            if named:
                yield (named[0] if len(named) > 1 else None), named[-1]


def statements() -> tuple[Path, ...]:
    """Return every statement's file."""
    return tuple(path for path in tree.of_rooms(".sql") if path.parent.name == "sql")


def test_no_sql_stands_in_the_rooms_modules() -> None:
    """SQL in the rooms stands in sql/, and session commands alone stand in Python."""
    modules = (path for path in tree.of_rooms(".py") if path not in MAY_HOLD_SQL)
    found = {path: sql_in(tree.module(path)) for path in modules}

    assert {} == {path: strings for path, strings in found.items() if strings}


def test_every_statement_says_its_purpose_its_locks_and_its_index() -> None:
    """A statement's header has its name with the purpose, then locks, then index."""
    faults = {path: header_faults(path.stem, tree.text(path)) for path in statements()}

    assert {} == {path: missing for path, missing in faults.items() if missing}


def test_every_statement_has_a_caller_in_its_room() -> None:
    """A statement that no code names is dead."""
    named = {
        (path.parts[0], string)
        for path in tree.of_rooms(".py")
        for string in literals(tree.module(path))
    }

    assert [] == [path for path in statements() if (path.parts[0], path.stem) not in named]


def test_every_load_names_a_statement_that_exists() -> None:
    """A misspelt statement is found here and not in production."""
    missing: list[str] = []
    for path in tree.of_rooms(".py"):
        room = tree.ROOMS[path.parts[0]]
        for package, name in loaded(tree.module(path)):
            home = (package or room).split(".")[0]
            folder = next(folder for folder, owner in tree.ROOMS.items() if owner == home)
            found = (tree.ROOT / folder / home).rglob(f"sql/{name}.sql")
            missing += [] if any(found) else [f"{path}: {home}/sql/{name}.sql"]

    assert [] == missing


@pytest.mark.parametrize(
    "source",
    [
        "q = 'select id from fairlead.jobs'",
        "q = b'SELECT now()'",
        "q = f'''\n  delete from {table} where id = 1'''",
        "q = 'with x as (insert into t values (1)) table x'",
        "q = 'update fairlead.jobs j set rank = 0'",
    ],
)
def test_the_sql_rule_sees_every_kind_of_statement(source: str) -> None:
    """SQL is found as text, bytes and f-string, in either case."""
    assert sql_in(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        "'''Select what is due from the heads.'''",
        "q = 'LISTEN fairlead'",
        "q = 'set timezone = utc'",
        "q = 'the selected jobs were deleted'",
        "x = choose('update the settings')",
    ],
)
def test_the_sql_rule_lets_prose_and_session_commands_pass(source: str) -> None:
    """Docstrings, sentences and one-word session commands are no statements."""
    assert () == sql_in(ast.parse(source))


def test_the_header_rule_names_what_is_missing() -> None:
    """A header without an index line, and one for another name, are distinguished."""
    whole = "-- claim: take jobs.\n-- locks: jobs.\n-- index: jobs_pkey.\nselect 1\n"

    assert () == header_faults("claim", whole)
    assert ("purpose",) == header_faults("renew", whole)
    assert ("index",) == header_faults("claim", whole.replace("-- index", "-- indices"))


def test_the_load_rule_reads_both_ways_of_naming_a_statement() -> None:
    """A load is seen with its package and with the module's own."""
    source = "a = sql.load('fairlead', 'now')\nb = load(__package__, 'claim')\n"

    assert [("fairlead", "now"), (None, "claim")] == list(loaded(ast.parse(source)))
