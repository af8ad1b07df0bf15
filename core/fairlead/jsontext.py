"""JSON between Python and PostgreSQL, which agree on almost everything.

What one side accepts and the other refuses is refused here, with a sentence: NaN and infinity,
the NUL character and half surrogates on the way in; numbers of thousands of digits and
nesting beyond Python's recursion limit on the way out.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Protocol, TypeAlias, Union, cast

Json: TypeAlias = Union[bool, int, float, str, "list[Json]", "dict[str, Json]", None]
"""A payload, a header or a result as it is read."""

JsonLike: TypeAlias = Union[
    bool,
    int,
    float,
    str,
    # What a literal is inferred to be.
    "list[JsonLike]",
    "dict[str, JsonLike]",
    # And what else is written the same: `dict[str, int]`, a tuple, a TypedDict.
    "Mapping[str, JsonLike]",
    "_Array",
    "_TypedDict",
    None,
]
"""What may be given as a payload, a header or a result: whatever is written as JSON."""


class _Array(Protocol):
    """A list or another sequence: bytes, sets and dicts each lack one of these."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[JsonLike]: ...
    def __contains__(self, value: object, /) -> bool: ...
    def __getitem__(self, part: slice, /) -> object: ...


class _TypedDict(Protocol):
    """A TypedDict, whatever its values are; encoding it refuses those that are not JSON."""

    __required_keys__: ClassVar[frozenset[str]]


BYTES_MAX = 1024 * 1024
LEVELS_MAX = 500

_ESCAPED = r"\u0000"
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
        text = json.dumps(
            value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain
        )
        size = len(text) if text.isascii() else len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{name} cannot be written as JSON: {error}") from None
    if size > bytes_max:
        raise ValueError(f"{name} is {size:,} bytes of JSON, more than {bytes_max:,}")
    if text.count("[") + text.count("{") > levels_max and _is_deeper(value, levels_max):
        raise ValueError(f"{name} is nested more than {levels_max} deep")
    if _ESCAPED in text and _NUL.search(text):  # to search takes sixty times as long
        raise ValueError(f"{name} holds the NUL character, which PostgreSQL refuses")
    return text


def plain(value: object) -> object:
    """Return a mapping or a sequence that is no dict, list or tuple as one of these."""
    name = type(value).__name__
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(cast("Sequence[object]", value))
    raise TypeError(f"Object of type {name} is not JSON serializable")


def _is_deeper(value: object, levels: int) -> bool:
    """Tell whether something lies below so many levels of lists and objects."""
    found = [value]
    for _ in range(levels):
        found = [part for each in found for part in _parts(each)]
    return bool(found)


def _parts(value: object) -> Iterable[object]:
    match value:
        case Mapping():
            return cast("Mapping[object, object]", value).values()
        case Sequence() if not isinstance(value, str):
            return cast("Sequence[object]", value)
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
