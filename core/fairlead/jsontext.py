"""JSON between Python and PostgreSQL, which agree on almost everything.

What one side accepts and the other refuses is refused here, with a sentence: NaN and infinity,
the NUL character and half surrogates on the way in; numbers of thousands of digits and
nesting beyond Python's recursion limit on the way out.
"""

import json
import re
from collections.abc import Iterable
from typing import TypeAlias, Union, cast

Json: TypeAlias = Union[bool, int, float, str, "list[Json]", "dict[str, Json]", None]
"""What a payload, a header or a result may be."""

BYTES_MAX = 1024 * 1024
LEVELS_MAX = 500

# An escaped NUL: an odd number of backslashes before it.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def encode(
    name: str, value: object, *, bytes_max: int = BYTES_MAX, levels_max: int = LEVELS_MAX
) -> str:
    """Return a value as JSON text that PostgreSQL accepts and Python can read again.

    Raises:
        ValueError: it cannot be; the sentence names it and says why.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        size = len(text) if text.isascii() else len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{name} cannot be written as JSON: {error}") from None
    if size > bytes_max:
        raise ValueError(f"{name} is {size:,} bytes of JSON, more than {bytes_max:,}")
    if text.count("[") + text.count("{") > levels_max and _is_deeper(value, levels_max):
        raise ValueError(f"{name} is nested more than {levels_max} deep")
    if _NUL.search(text):
        raise ValueError(f"{name} holds the NUL character, which PostgreSQL refuses")
    return text


def _is_deeper(value: object, levels: int) -> bool:
    """Tell whether something lies below so many levels of lists and objects."""
    found = [value]
    for _ in range(levels):
        found = [part for each in found for part in _parts(each)]
    return bool(found)


def _parts(value: object) -> Iterable[object]:
    match value:
        case dict():
            return cast("dict[object, object]", value).values()
        case list() | tuple():
            return cast("list[object]", value)
        case _:
            return ()


def parse(name: str, text: str) -> Json:
    """Return the value of JSON text that came from PostgreSQL.

    Raises:
        ValueError: Python cannot hold it; the sentence names it and says why.
    """
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} cannot be read: {error}") from None
    return value
