"""The schema of the chart's values, from their file and from the programs' settings.

Draft 7, which helm 3 and 4 both read. Maps whose keys are known refuse others, so that a field
that is spelt wrong is named instead of passed over.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from pydantic_settings import BaseSettings

from docs.generate.chart.values import Field, Json
from fairlead.settings import DatabaseSettings
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_worker.settings import WorkerSettings

PATH = Path("charts/fairlead/values.schema.json")

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}

# What the chart itself gives, or has a value of its own for.
_OWN = {
    *("database_url", "database_url_file", "database_direct", "health_port", "health_host"),
    *("app", "pool", "concurrency", "processes", "grace_seconds", "until_empty"),
    *("pod_name", "pod_uid", "worker_name"),
}
# Both programs read them, so that they are given once for both.
_SHARED = ("worker_lease_seconds", "metrics_kind_allowlist", "log_format", "log_level")


def render(fields: tuple[Field, ...]) -> str:
    """Return the schema as JSON."""
    image = next(field for field in fields if field.name == "image")
    schema: dict[str, Json] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart fairlead",
        **_object(fields),
        "definitions": {"imageOverride": _object(image.fields)},
    }
    return json.dumps(schema, indent=2) + "\n"


def _object(fields: tuple[Field, ...]) -> dict[str, Json]:
    return _closed({field.name: _field(field) for field in fields})


def _closed(properties: dict[str, Json]) -> dict[str, Json]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _field(field: Field) -> dict[str, Json]:
    about: dict[str, Json] = {"description": field.about} if field.about else {}
    if "$ref" in field.schema:
        return {"allOf": [field.schema], **about}
    return {**about, **_kind(field), **field.schema}


def _kind(field: Field) -> dict[str, Json]:
    if field.settings:
        return _closed(dict(_settings(field.settings)))
    if field.fields:
        return _object(field.fields)
    if isinstance(field.default, dict):
        return {"type": "object"}
    if isinstance(field.default, list):
        return {"type": "array"}
    assert field.default is not None, f"{field.name}: a default tells the type"
    return {"type": _TYPES[type(field.default)]}


def _settings(whose: str) -> Iterator[tuple[str, Json]]:
    """Yield the settings of a program that are not shared, or those that all share."""
    classes: Mapping[str, type[BaseSettings]] = {
        "shared": SchedulerSettings,
        "scheduler": SchedulerSettings,
        "worker": WorkerSettings,
    }
    shared = {*DatabaseSettings.model_fields, *_SHARED}
    known = cast("dict[str, dict[str, Json]]", classes[whose].model_json_schema()["properties"])
    for name, field in classes[whose].model_fields.items():
        if name not in _OWN and (name in shared) == (whose == "shared"):
            rule = known[name]
            kept = {key: rule[key] for key in _RULES if key in rule}
            yield _camel(name), cast("Json", {**kept, "description": field.description})


_RULES = (
    *("type", "enum", "minimum", "maximum"),
    *("exclusiveMinimum", "exclusiveMaximum", "maxLength", "minLength"),
)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
