"""Read the chart's values from their file: each field with its default and its comment.

The comment above a field is `# -- its description`, over any number of lines. `# @schema: {…}`
adds to the JSON Schema what the default does not imply. `# @settings: worker` names the program
whose settings the field holds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import yaml

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

PATH = Path("charts/fairlead/values.yaml")
_COMMENT = re.compile(r"^\s*# ?(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of a map; `fields` are those of its value, if that is a map with known keys."""

    name: str
    about: str
    default: Json
    schema: dict[str, Json]
    settings: str
    fields: tuple["Field", ...]


def read(text: str) -> tuple[Field, ...]:
    """Read a file of values."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    return tuple(_fields(root, cast("Json", yaml.safe_load(text)), text.splitlines()))


def _fields(node: yaml.MappingNode, defaults: Json, lines: list[str]) -> Iterator[Field]:
    assert isinstance(defaults, dict)
    for key, value in node.value:
        about, schema, settings = _comment(lines, key.start_mark.line)
        default = defaults[str(key.value)]
        given = isinstance(value, yaml.MappingNode) and not value.flow_style and not about
        yield Field(
            name=str(key.value),
            about=about,
            default=default,
            schema=schema,
            settings=settings,
            fields=tuple(_fields(value, default, lines)) if given else (),
        )


def _comment(lines: list[str], line: int) -> tuple[str, dict[str, Json], str]:
    """Return the comment above a line: description, parts of the schema, settings' program."""
    above: list[str] = []
    while line > 0 and (match := _COMMENT.match(lines[line - 1])):
        above.insert(0, match[1])
        line -= 1
    about: list[str] = []
    schema: dict[str, Json] = {}
    settings, described = "", False
    for said in above:
        name, _, rest = said.partition(" ")
        described = described or name == "--"
        if name == "@schema:":
            schema = cast("dict[str, Json]", yaml.safe_load(rest))
        elif name == "@settings:":
            settings = rest
        elif described:
            about.append(rest if name == "--" else said)
    return " ".join(about), schema, settings


def rows(fields: tuple[Field, ...], path: str = "") -> Iterator[tuple[str, Field]]:
    """Yield every field with a description, by its path."""
    for field in fields:
        place = f"{path}{field.name}"
        if field.about:
            yield place, field
        yield from rows(field.fields, f"{place}.")
