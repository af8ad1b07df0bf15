"""The indexes that the schema's text has: pure.

The text is `schema.sql` as pg_dump writes it: one statement, one line, and constraints in two.
"""

import re
from collections.abc import Iterator

from fairlead.inspection.doctor.facts import Wanted

_CONSTRAINT = re.compile(
    r"^ALTER TABLE ONLY (fairlead\.\w+)\s+"
    r"ADD CONSTRAINT (\w+) ((?:PRIMARY KEY|UNIQUE|EXCLUDE)[^;]*);",
    re.MULTILINE,
)
_INDEX = re.compile(r"^CREATE (UNIQUE )?INDEX (\w+) ON (ONLY )?([^;]+);", re.MULTILINE)
_ATTACHED = re.compile(
    r"^ALTER INDEX fairlead\.\w+ ATTACH PARTITION fairlead\.(\w+);", re.MULTILINE
)


def wanted(schema: str) -> tuple[Wanted, ...]:
    """Return every index of a schema, with the statement that makes it beside a fleet at work.

    An index of a partition is its parent's, and comes with it.
    """
    attached = set(_ATTACHED.findall(schema))
    found = (*_constraints(schema), *_indexes(schema))
    return tuple(each for each in found if each.name not in attached)


def _constraints(schema: str) -> Iterator[Wanted]:
    for table, name, said in _CONSTRAINT.findall(schema):
        yield Wanted(name, f"alter table {table} add constraint {name} {_one_line(said)}")


def _indexes(schema: str) -> Iterator[Wanted]:
    for unique, name, only, said in _INDEX.findall(schema):
        # Of a partitioned table it is made with those of its partitions, which cannot be done
        # beside writers.
        how = "" if only else "concurrently "
        kind = "unique index" if unique else "index"
        yield Wanted(name, f"create {kind} {how}{name} on {_one_line(said)}")


def _one_line(text: str) -> str:
    return " ".join(text.split())
