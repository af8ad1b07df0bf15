"""Write the schema of the chart's values, from values.yaml, the settings and the policy.

It is draft 7, which helm 3 and 4 both read. Maps with known keys refuse others, so that helm
names a misspelt field instead of ignoring it.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from pydantic_settings import BaseSettings

from docs.generate.chart.values import Field, Json
from fairlead.policy.schema import json_schema
from fairlead.settings import DatabaseSettings
from fairlead_autoscaler.settings import AutoscalerSettings
from fairlead_console.settings import ConsoleSettings
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_worker.settings import WorkerSettings

PATH = Path("charts/fairlead/values.schema.json")

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}

# Settings that the chart sets itself, or has a separate value for.
_OWN = {
    *("database_url", "database_url_file", "database_direct", "health_port", "health_host"),
    *("database_password_command", "database_password_seconds"),
    *("app", "pool", "concurrency", "processes", "grace_seconds", "until_empty", "jobs"),
    *("pod_name", "pod_uid", "worker_name", "namespace", "pod_selector", "pool_targets"),
    *("lease_name", "status_configmap", "policy_configmap", "policy_values_configmap"),
    *("policy_source", "autoscaler_enabled", "read_autoscalers", "read_quotas"),
    *("metrics_wait_bounds", "release"),
    *("console_operators", "console_operator_url", "console_operator_url_file"),
    *("console_host", "console_port", "console_logins", "console_logins_file"),
    *("console_user_header", "console_groups_header", "console_trusted_proxies"),
    *("console_viewer_groups", "console_operator_groups"),
}
# Settings that several programs read, so that they are set once for all.
_SHARED = ("worker_lease_seconds", "metrics_kind_allowlist", "log_format", "log_level")


# Parts of a pod that Kubernetes would refuse after the release has been stored.
_COUNT: Json = {"type": ["integer", "string"], "pattern": "^[0-9]+%?$", "minimum": 0}
_PARTS: dict[str, Json] = {
    "strategy": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "type": {"enum": ["RollingUpdate", "Recreate"]},
            "rollingUpdate": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"maxUnavailable": _COUNT, "maxSurge": _COUNT},
            },
        },
    },
    "lifecycle": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "preStop": {"type": "object"},
            "postStart": {"type": "object"},
            "stopSignal": {"type": "string"},
        },
    },
    "named": {"type": "array", "items": {"type": "object", "required": ["name"]}},
    "containers": {"type": "array", "items": {"type": "object", "required": ["name", "image"]}},
}


def render(fields: tuple[Field, ...]) -> str:
    """Return the schema as JSON."""
    image = next(field for field in fields if field.name == "image")
    schema: dict[str, Json] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart fairlead",
        **_object(fields),
        "definitions": {"imageOverride": _object(image.fields), **_PARTS, **_policy()},
    }
    return json.dumps(schema, indent=2) + "\n"


def _policy() -> dict[str, Json]:
    """Return the schemas of policy documents, of their parts, and of a pool's `autoscale`."""
    found = cast("dict[str, Json]", _moved(cast("Json", json_schema())))
    parts = cast("dict[str, dict[str, Json]]", found.pop("$defs"))
    own = {key: rule for key, rule in found.items() if key not in {"$schema", "title"}}
    # Pools are merged with the defaults, so no field is required in a pool.
    scale = {key: rule for key, rule in parts["Autoscale"].items() if key != "required"}
    named: dict[str, Json] = {f"policy{name}": part for name, part in parts.items()}
    return {"policy": own, "autoscale": scale, **named}


def _moved(found: Json) -> Json:
    """Return a part of a schema, with its references changed to this schema's definitions."""
    if isinstance(found, list):
        return [_moved(each) for each in found]
    if not isinstance(found, dict):
        return found
    return {
        key: f"#/definitions/policy{str(rule).rpartition('/')[2]}"
        if key == "$ref"
        else _moved(rule)
        for key, rule in found.items()
        if not key.startswith("x-")
    }


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
    """Yield the settings of one program that are not shared, or the shared ones."""
    classes: Mapping[str, type[BaseSettings]] = {
        "shared": SchedulerSettings,
        "scheduler": SchedulerSettings,
        "autoscaler": AutoscalerSettings,
        "worker": WorkerSettings,
        "console": ConsoleSettings,
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
