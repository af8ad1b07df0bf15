"""The rooms' statements as PostgreSQL plans them: numbered parameters, a generic plan."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import cast

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import sql
from tests.support import tree

_PARAMETER = re.compile(r"%(?:\((\w+)\))?s")
_INDEX_LINES = re.compile(r"^-- index:((?:.*\n--        )*.*)$", re.MULTILINE)
_numbers = count(1)

Plan = dict[str, object]


@dataclass(frozen=True, slots=True)
class Statement:
    """One file of a room's sql folder."""

    path: Path

    def __str__(self) -> str:
        """Return what a test calls it."""
        return f"{self.path.parts[-3]}-{self.path.stem}"

    @property
    def name(self) -> str:
        """The statement's name."""
        return self.path.stem

    @property
    def index_words(self) -> frozenset[str]:
        """Every word that the header says about indexes."""
        lines = _INDEX_LINES.search(tree.text(self.path))
        return frozenset(re.findall(r"\w+", lines[1] if lines else ""))

    def text(self) -> str:
        """Return what is sent, with psycopg's parameters."""
        package = ".".join(self.path.parts[1:-2])
        return sql.load(package, self.name).decode()

    def numbered(self) -> tuple[str, int]:
        """Return the statement with $1, $2, … as PREPARE wants it, and how many there are."""
        found = list(_PARAMETER.finditer(self.text()))
        keys = [match[1] or str(match.start()) for match in found]
        names = list(dict.fromkeys(keys))
        numbers = iter(keys)
        text = _PARAMETER.sub(lambda _: f"${names.index(next(numbers)) + 1}", self.text())
        return text.replace("%%", "%"), len(names)


def statements(*packages: str) -> tuple[Statement, ...]:
    """Return every statement of the sql folders of these packages, named by their folders."""
    return tuple(
        Statement(path)
        for path in tree.of_rooms(".sql")
        if path.parent.name == "sql" and path.parts[-3] in packages
    )


def generic_plan(connection: Connection[TupleRow], statement: Statement) -> Plan:
    """Return the plan that serves whatever the parameters are; nothing runs."""
    name = f"planned_{next(_numbers)}"
    text, parameters = statement.numbered()
    connection.execute(f"PREPARE {name} AS {text}".encode())
    nulls = ", ".join(["NULL"] * parameters)
    call = f"{name} ({nulls})" if nulls else name
    connection.execute("SET plan_cache_mode = force_generic_plan")
    rows = connection.execute(f"EXPLAIN (FORMAT JSON) EXECUTE {call}".encode()).fetchone()
    connection.execute(f"DEALLOCATE {name}".encode())
    assert rows is not None
    explained = cast("list[dict[str, Plan]] | str", rows[0])
    if isinstance(explained, str):
        explained = cast("list[dict[str, Plan]]", json.loads(explained))
    return explained[0]["Plan"]


def nodes(plan: Plan) -> Iterator[Plan]:
    """Yield a plan's nodes, the outermost first."""
    yield plan
    for child in cast("list[Plan]", plan.get("Plans", [])):
        yield from nodes(child)
