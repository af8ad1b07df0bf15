"""The rooms' statements as PostgreSQL plans them: numbered parameters, a generic plan."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import cast

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.statements import load
from tests.support import tree

_PARAMETER = re.compile(r"(?<!%)%(?:\((\w+)\))?s")
_INDEX_LINES = re.compile(r"^-- index:((?:.*\n--        )*.*)$", re.MULTILINE)
_numbers = count(1)
_SIMULATION = "fairlead_scheduler.simulation"

Plan = dict[str, object]

LARGE = {
    "jobs",
    "work_queue",
    "job_history",
    "job_progress",
    "attempt_errors",
    "receipts",
    "schedule_fires",
    "rate_usage",
    "policy_versions",
    "policy_events",
    "evictions",
    "audit",
    "batches",
    "batch_jobs",
}
"""Tables that may hold more rows than there are processes and queues."""

SMALL = {
    "leaders",
    "claim_floors",
    "floor_scans",
    "paused",
    "install_options",
    "over_backlog",
    "pod_drains",
}
"""Tables of a few rows, which may as well be read whole."""


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

    @property
    def package(self) -> str:
        """The package that runs it."""
        return ".".join(self.path.parts[1:-2])

    def text(self) -> str:
        """Return what is sent, with psycopg's parameters."""
        return load(self.package, self.name).decode()

    def numbered(self) -> tuple[str, tuple[str, ...]]:
        """Return the statement with $1, $2, … as PREPARE wants it, and the names in order."""
        return numbered(self.text())


def numbered(statement: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement with $1, $2, … as PREPARE wants it, and the names in order."""
    found = list(_PARAMETER.finditer(statement))
    keys = [match[1] or str(match.start()) for match in found]
    names = list(dict.fromkeys(keys))
    numbers = iter(keys)
    text = _PARAMETER.sub(lambda _: f"${names.index(next(numbers)) + 1}", statement)
    return text.replace("%%", "%"), tuple(names)


def statements(*packages: str, but: str | None = None) -> tuple[Statement, ...]:
    """Return every statement of these packages and of those inside them, but for one."""
    found = (Statement(path) for path in tree.of_rooms(".sql") if path.parent.name == "sql")
    return tuple(
        each
        for each in found
        if any(f"{each.package}.".startswith(f"{package}.") for package in packages)
        and each.package != but
    )


def service_statements() -> tuple[Statement, ...]:
    """Return what the scheduler and the worker run again and again, without simulations."""
    return statements("fairlead_worker", "fairlead_scheduler", but=_SIMULATION)


def command_statements() -> tuple[Statement, ...]:
    """Return what people's commands and simulations run."""
    return statements("fairlead", "fairlead_cli", _SIMULATION)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that a session has prepared; its plan is made once, for any parameters."""

    connection: Connection[TupleRow]
    name: str
    parameters: tuple[str, ...]

    def plan(self) -> Plan:
        """Return the plan, made now if it was not yet; nothing runs."""
        return self._explain("FORMAT JSON", {})

    def run(self, values: Mapping[str, object]) -> Plan:
        """Run it and return the plan with what each node did."""
        return self._explain("ANALYZE, BUFFERS, FORMAT JSON", values)

    def _explain(self, options: str, values: Mapping[str, object]) -> Plan:
        given = [_literal(values.get(name)) for name in self.parameters]
        call = f"{self.name} ({', '.join(given)})" if given else self.name
        return explained(self.connection, f"EXECUTE {call}", options)


def explained(
    connection: Connection[TupleRow], statement: str, options: str = "ANALYZE, FORMAT JSON"
) -> Plan:
    """Return a statement's plan, with what each node did if it is to be run."""
    row = connection.execute(f"EXPLAIN ({options}) {statement}".encode()).fetchone()
    assert row is not None
    found = cast("list[dict[str, Plan]] | str", row[0])
    if isinstance(found, str):
        found = cast("list[dict[str, Plan]]", json.loads(found))
    return found[0]["Plan"]


def prepare(connection: Connection[TupleRow], statement: Statement) -> Prepared:
    """Prepare a statement, with a plan that serves whatever its parameters are."""
    name = f"planned_{next(_numbers)}"
    text, parameters = statement.numbered()
    connection.execute("SET plan_cache_mode = force_generic_plan")
    connection.execute(f"PREPARE {name} AS {text}".encode())
    return Prepared(connection, name, parameters)


def generic_plan(connection: Connection[TupleRow], statement: Statement) -> Plan:
    """Return the plan that serves whatever the parameters are; nothing runs."""
    return prepare(connection, statement).plan()


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    quoted = str(value).replace("'", "''")
    return f"'{quoted}'"


def faults(statement: Statement, plan: Plan, indexes: Mapping[str, str]) -> tuple[str, ...]:
    """Say where a service's plan breaks the rules; `indexes` are those there are, with tables.

    No sort of a table's rows, of which there may be any number, and no sequential scan; of a
    table that may be large, only indexes that the header names, each with a condition or up to
    a limit. A header that says `whole` (a shallow table is read to its end) or `until` (the
    first row that fits ends it) means it. What a function does inside is not seen here.
    """
    found = [f"sorts: {node['Node Type']}" for node in nodes(plan) if sorts(node)]
    named = {name for name in indexes if name in statement.index_words}
    used: set[str] = set()
    for node, limited in scans(plan):
        table, index = whole_table(node)
        used.add(index)
        said = statement.index_words & {"whole", "until"}
        bounded = limited or "Index Cond" in node or said
        if node["Node Type"] == "Seq Scan":
            found += [] if said or table in SMALL else [f"scans {table}"]
        elif table in LARGE and index not in named:
            found.append(f"reads {table} by {index}, which its header does not name")
        elif table in LARGE and not bounded:
            found.append(f"reads all of {index}")
    written = {str(node["Relation Name"]) for node in nodes(plan) if is_write(node)}
    expected = {name for name in named if indexes[name] in LARGE - written}
    missing = expected - used if used else set[str]()
    return (*found, *(f"does not use {name}" for name in sorted(missing)))


def whole_table(node: Plan) -> tuple[str, str]:
    """Return the table and the index that a node reads; a partition's are its parent's."""
    table, index = str(node["Relation Name"]), str(node.get("Index Name", ""))
    if not table.startswith("job_history_"):
        return table, index
    # A partition's index is called after its columns: …_20261121_id_idx.
    columns = re.sub(r"^.*_(?:\d{8}|default)_|_idx$", "", index)
    name = "redrive" if columns == "queue_finished_at_id" else columns
    return "job_history", f"job_history_{name}" if index else ""


def scans(plan: Plan, *, limited: bool = False) -> Iterator[tuple[Plan, bool]]:
    """Yield the nodes that read tables, and whether a limit stands above each."""
    limited = limited or plan["Node Type"] == "Limit"
    by_place = plan["Node Type"] in ("Tid Scan", "Tid Range Scan")
    if "Relation Name" in plan and not is_write(plan) and not by_place:
        yield plan, limited
    for child in children(plan):
        yield from scans(child, limited=limited)


def is_write(node: Plan) -> bool:
    """Return whether a node writes."""
    return node["Node Type"] == "ModifyTable"


def sorts(node: Plan) -> bool:
    """Return whether a node sorts anything but the rows of a CTE, which are one batch."""
    inputs = [child["Node Type"] for child in children(node)]
    return node["Node Type"] in ("Sort", "Incremental Sort") and "CTE Scan" not in inputs


def children(plan: Plan) -> list[Plan]:
    """Return the nodes right below one."""
    return cast("list[Plan]", plan.get("Plans", []))


def nodes(plan: Plan) -> Iterator[Plan]:
    """Yield a plan's nodes, the outermost first."""
    yield plan
    for child in children(plan):
        yield from nodes(child)
