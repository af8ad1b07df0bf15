"""Arguments of odd shapes or sizes, beside others with which a call does something."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

COMPRESSED: Final = """
    CREATE TEMP TABLE compressed AS
    SELECT repeat('x', 3000000) AS text, array_agg(repeat('x', 1000)) AS texts,
           jsonb_agg(jsonb_build_array('k', repeat('x', 1000))) AS jsonb
    FROM generate_series(1, 3000)
"""
"""Makes values of more bytes than any bound; `pg_column_size` takes them for less than most."""

_COMPRESSED: Final[Mapping[str, str]] = {
    "text": "(SELECT text FROM pg_temp.compressed)",
    "text[]": "(SELECT texts FROM pg_temp.compressed)",
    "jsonb": "(SELECT jsonb FROM pg_temp.compressed)",
}
_DONE: Final[Mapping[str, str]] = {
    "text": "'failed'",
    "integer": "1",
    "boolean": "true",
    "double precision": "1",
}
"""Values with which most functions do what they are for."""


def arguments(types: Sequence[str], own: Sequence[int]) -> Iterator[str]:
    """Yield lists of arguments, one of them odd, each number one of `own`.

    The others are such that something is done, or null as by default.
    """
    for place, kind in enumerate(types):
        for odd, number, others in product(_odd(kind), own, (_DONE, {})):
            values = {**others, "bigint": str(number)}
            given = [_plain(each, values) for each in types]
            given[place] = f"({odd})::{kind}"
            yield ", ".join(given)


def arrays(element: str, values: str) -> Iterator[str]:
    """Yield arrays of values: none, of one dimension, of two, and that begin elsewhere."""
    yield "NULL"
    yield f"ARRAY[{values}]"
    yield from _odd_arrays(element, values)


def _odd_arrays(element: str, values: str) -> Iterator[str]:
    yield f"ARRAY[ARRAY[{values}]::{element}[], ARRAY[{values}]::{element}[]]"
    yield f"array_fill(NULL::{element}, ARRAY[2, 2])"
    yield f"array_fill(NULL::{element}, ARRAY[3], ARRAY[-1])"
    if f"{element}[]" in _COMPRESSED:
        yield _COMPRESSED[f"{element}[]"]


def _odd(kind: str) -> Iterator[str]:
    if kind.endswith("[]"):
        element = kind.removesuffix("[]")
        yield from _odd_arrays(element, _DONE.get(element, "NULL"))
    elif kind in _COMPRESSED:
        yield _COMPRESSED[kind]


def _plain(kind: str, values: Mapping[str, str]) -> str:
    element = kind.removesuffix("[]")
    if element not in values:
        return f"NULL::{kind}"
    return f"ARRAY[{values[element]}]::{kind}" if kind != element else f"{values[kind]}::{kind}"
