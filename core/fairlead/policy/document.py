"""Read YAML as plain values, with the line of each.

It reads the parser's events, because the usual loader accepts what a policy must not contain:
duplicate keys (the last one wins), `no` for false, `1:30` for ninety, tags, and aliases, which
let a few lines expand without bound. Plain scalars follow the core schema of YAML 1.2, and a
key is always text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import yaml

DEPTH_MAX = 16
VALUES_MAX = 50_000
Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"
Path: TypeAlias = tuple[str | int, ...]

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?\d{1,18}", re.ASCII)
_FLOAT = re.compile(
    r"[-+]?(?:\.\d{1,30}|\d{1,18}(?:\.\d{0,30})?)(?:[eE][-+]?\d{1,3})?", re.ASCII
)


class Unreadable(Exception):
    """The text is not an acceptable YAML document."""

    def __init__(self, message: str, *, path: Path = (), line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """A document's value and the line, counted from 1, on which each part of it begins."""

    value: Value
    lines: Mapping[Path, int]

    def known(self, path: Path) -> Path:
        """Return the path without the indexes of lists that the document gives as one entry."""
        found: list[str | int] = []
        value: object = self.value
        for part in path:
            if isinstance(part, int) and isinstance(value, dict):
                continue
            found.append(part)
            match value:
                case dict():
                    value = value.get(str(part))
                case list() if isinstance(part, int) and part < len(value):
                    value = value[part]
                case _:
                    value = None
        return tuple(found)

    def at(self, path: Path) -> str:
        """Return the line of a part, or of the nearest part around it, as " (line N)"."""
        line = self.line(path)
        return "" if line is None else f" (line {line})"

    def line(self, path: Path) -> int | None:
        """Return the line of a part, or of the nearest part around it; None: the whole."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines[path] if path else None


def read(text: str) -> Document:
    """Read the one document of a text.

    Raises:
        Unreadable: it is not YAML, or has more than plain mappings, lists and values.
    """
    lines: dict[Path, int] = {}
    try:
        events = _events(text)
        value = _value(next(events), events, (), lines)
        _end(events)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        message = f"cannot be read as YAML: {error.problem or error.context or 'it breaks off'}"
        raise Unreadable(message, line=None if mark is None else mark.line + 1) from None
    except yaml.YAMLError as error:
        raise Unreadable(f"cannot be read as YAML: {' '.join(str(error).split())}") from None
    return Document(value, lines)


def _events(text: str) -> Iterator[yaml.Event]:
    """Yield the events of the first document."""
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise Unreadable(
                "has an anchor or an alias: write the value out", line=_line(event)
            )
        if getattr(event, "tag", None) is not None:
            raise Unreadable("has a tag: leave it out", line=_line(event))
        if not isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
            yield event


def _end(events: Iterator[yaml.Event]) -> None:
    """Refuse anything after the document."""
    for event in events:
        if not isinstance(event, yaml.DocumentEndEvent | yaml.StreamEndEvent):
            raise Unreadable("has a second document: keep one", line=_line(event))


def _value(
    event: yaml.Event, events: Iterator[yaml.Event], path: Path, lines: dict[Path, int]
) -> Value:
    lines.setdefault(path, _line(event))
    if len(lines) > VALUES_MAX:
        raise Unreadable(f"has more than {VALUES_MAX:,} values: leave some out")
    if len(path) > DEPTH_MAX:
        raise Unreadable(f"is nested more than {DEPTH_MAX} deep", line=_line(event))
    match event:
        case yaml.ScalarEvent():
            return _scalar(event)
        case yaml.SequenceStartEvent():
            return _sequence(events, path, lines)
        case yaml.MappingStartEvent():
            return _mapping(events, path, lines)
        case _:
            raise Unreadable("is empty: write {} for a policy without rules")


def _sequence(events: Iterator[yaml.Event], path: Path, lines: dict[Path, int]) -> list[Value]:
    found: list[Value] = []
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        found.append(_value(event, events, (*path, len(found)), lines))
    return found


def _mapping(
    events: Iterator[yaml.Event], path: Path, lines: dict[Path, int]
) -> dict[str, Value]:
    found: dict[str, Value] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        if not isinstance(event, yaml.ScalarEvent):
            raise Unreadable("has a key that is no text", path=path, line=_line(event))
        key = _text(event)
        if key in found:
            first = lines[*path, key]
            message = f"is there twice, first on line {first}: keep one"
            raise Unreadable(message, path=(*path, key), line=_line(event))
        lines[*path, key] = _line(event)
        found[key] = _value(next(events), events, (*path, key), lines)
    return found


def _scalar(event: yaml.ScalarEvent) -> Value:
    text = _text(event)
    plain: bool = event.implicit[0]
    if not plain:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _text(event: yaml.ScalarEvent) -> str:
    text: str = event.value
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unreadable(
            "has half a surrogate pair: write the character", line=_line(event)
        ) from None
    return text


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1
