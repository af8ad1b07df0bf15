"""The statements inside the database's functions, as PostgreSQL plans them there."""

import re
from dataclasses import dataclass
from itertools import count

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support.statements import Plan, explained

_CALL = re.compile(r"\bfairlead\.(\w+)\(")
_LISTS = re.compile(r"^\s*(\w+) (?:constant )?bigint\[\]", re.MULTILINE)
_COMMENT = re.compile(r"--.*$", re.MULTILINE)
_STATEMENT = re.compile(
    r"(?:return query|return (?=array|exists)|(?=^\s*(?:insert|update|delete)\b))\s*(.*?);\s*$",
    re.DOTALL | re.MULTILINE,
)
_STARTS = ("with", "select", "insert", "update", "delete")
_PLPGSQL = """
    SELECT p.prosrc, coalesce(p.proargnames[:p.pronargs], '{}'),
           ARRAY(SELECT format_type(a, NULL) FROM unnest(p.proargtypes) a)
    FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace = 'fairlead'::regnamespace AND p.proname = %s AND l.lanname = 'plpgsql'
"""
_ATOMIC = """
    SELECT pg_get_function_sqlbody(p.oid), coalesce(p.proargnames[:p.pronargs], '{}'),
           ARRAY(SELECT format_type(a, NULL) FROM unnest(p.proargtypes) a)
    FROM pg_proc p WHERE p.oid = %s::text::regproc
"""
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a function's statement takes from outside of itself."""

    name: str
    kind: str


def called(statement: str) -> str | None:
    """Return the function that a statement is nothing but a call of."""
    found = set(_CALL.findall(statement))
    return found.pop() if len(found) == 1 else None


def inner_plans(
    connection: Connection[TupleRow], function: str, options: str = "FORMAT JSON"
) -> tuple[Plan, ...]:
    """Return the generic plans of a PL/pgSQL function's statements; none for another function.

    A parameter is what the function's name qualifies, and its name alone where no statement
    qualifies it: `#variable_conflict use_column` would make anything else a column. The
    function's own lists of ids count as parameters.
    """
    row = connection.execute(_PLPGSQL, [function]).fetchone()
    if row is None:
        return ()
    source, names, kinds = row
    parameters = [Parameter(*each) for each in zip(names, kinds, strict=True)]
    lists = _LISTS.findall(source[: source.index("begin")])
    parameters += [Parameter(each, "bigint[]") for each in lists]
    asks_ownership = "own" in lists
    body = _COMMENT.sub("", source)
    body = body[body.index("begin") :]
    plans = tuple(
        _plan(connection, _numbered(text, function, parameters, body), parameters, options)
        for text in _STATEMENT.findall(body)
    )
    return (*inner_plans(connection, "_own", options), *plans) if asks_ownership else plans


def atomic_plan(
    connection: Connection[TupleRow], function: str, options: str = "FORMAT JSON"
) -> Plan:
    """Return the generic plan of the one statement of a function that is BEGIN ATOMIC."""
    row = connection.execute(_ATOMIC, [f"fairlead.{function}"]).fetchone()
    assert row is not None
    body, names, kinds = row
    parameters = [Parameter(*each) for each in zip(names, kinds, strict=True)]
    text = body.strip().removeprefix("BEGIN ATOMIC").removesuffix("END").strip().rstrip(";")
    numbered = _numbered(text.replace("WITH", "with", 1), function, parameters, body)
    return _plan(connection, numbered, parameters, options)


def _numbered(text: str, function: str, parameters: list[Parameter], body: str) -> str:
    for number, each in enumerate(parameters, 1):
        qualified = rf"\b{function}\.{each.name}\b"
        bare = rf"(?<![\w.]){each.name}\b(?!\s*\()"
        text = re.sub(qualified if re.search(qualified, body) else bare, f"${number}", text)
    return text if text.startswith(_STARTS) else f"select {text}"


def _plan(
    connection: Connection[TupleRow], text: str, parameters: list[Parameter], options: str
) -> Plan:
    name = f"inner_{next(_numbers)}"
    kinds = ", ".join(each.kind for each in parameters)
    prepared = f"{name} ({kinds})" if kinds else name
    connection.execute(f"PREPARE {prepared} AS {text}".encode())
    nulls = ", ".join("NULL" for _ in parameters)
    return explained(connection, f"EXECUTE {name}" + (f" ({nulls})" if nulls else ""), options)
