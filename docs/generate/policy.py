"""The policy's fields as the models have them, and their JSON Schema."""

import json
from pathlib import Path

from pydantic.json_schema import JsonSchemaValue

from fairlead.policy.schema import json_schema

PATH = Path("docs/reference/policy.md")
SCHEMA_PATH = Path("docs/reference/policy.schema.json")
EXAMPLE_PATH = Path("examples/policy.yaml")
_ROOT = Path(__file__).parents[2]

_HEAD = """# The policy

Written by `python -m docs.generate` from the code. [Tune fairness](../how-to/tune-fairness.md)
shows how to use it; [policy.schema.json](policy.schema.json) is the same as JSON Schema, for
editors.

A policy is one YAML document of at most 256 KiB, stored with `fairlead policy apply FILE`. A
document with a field that is not here, or with a value out of bounds, is refused as a whole
with one sentence, and the policy in force stays. Without a policy every queue and every tenant
has weight 1 and no limit.

* Durations are a number and a unit: `500ms`, `5s`, `2m`, `1h`. Percentages: `"25%"`.
* Patterns match whole names: `*` is any text, also none, `?` is one character, nothing else is
  special, and case counts.
* Of a list of rules the first one that matches counts, alone. A rule that an earlier one leaves
  nothing is refused.
* Words are read by YAML 1.2: `no` is text. Tags, anchors and aliases are refused, and so is a
  field that is there twice.
"""
_TITLES = {
    "Fairness": "fairness",
    "ShortReserve": "fairness.reserve",
    "Estimator": "fairness.estimator",
    "QueueRule": "queues[]",
    "QueueMatch": "queues[].match",
    "Slots": "slots",
    "Rate": "rate",
    "Backlog": "backlog",
    "Concurrency": "concurrency",
    "Tenants": "queues[].tenants",
    "TenantTerms": "queues[].tenants.default",
    "TenantRule": "queues[].tenants.overrides[]",
    "TenantMatch": "queues[].tenants.overrides[].match",
}
_SPECIAL = {
    "labels": "tenant: {label: value}",
    "rate": "[rate](#rate), list of it or null",
    "concurrency": "[concurrency](#concurrency), list of it or null",
    "key": "path, at most 128 bytes",
}


def render() -> str:
    """Return the page."""
    schema = json_schema()
    example = (_ROOT / EXAMPLE_PATH).read_text("utf-8")
    sections = [_HEAD, f"```yaml\n{example}```\n", _section("The document", schema)]
    sections += [_section(title, schema["$defs"][name]) for name, title in _TITLES.items()]
    return "\n".join(sections)


def render_schema() -> str:
    """Return the schema's file."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _section(title: str, part: JsonSchemaValue) -> str:
    required = part.get("required", ())
    rows = [
        f"| `{name}` | {_SPECIAL.get(name) or _kind(field)} "
        f"| {'required' if name in required else _default(field)} | {_about(field)} |"
        for name, field in part["properties"].items()
    ]
    table = "| field | value | default | what it does |\n| --- | --- | --- | --- |\n"
    return f"## {title}\n\n{part['description']}\n\n{table}" + "\n".join(rows) + "\n"


def _kind(field: JsonSchemaValue) -> str:
    """Say what a value may be."""
    if "$ref" in field:
        return _link(field["$ref"])
    if "anyOf" in field:
        return " or ".join(_kind(kind) for kind in field["anyOf"])
    if "items" in field:
        return f"list of {_kind(field['items'])}"
    return _plain(field)


def _plain(field: JsonSchemaValue) -> str:
    """Say what a value without parts may be."""
    if "enum" in field:
        return " or ".join(f"`{word}`" for word in field["enum"])
    if "x-lowest" in field:
        return f"duration, {field['x-lowest']} to {field['x-highest']}"
    if "maximum" in field:
        return f"{field['type']}, {field['minimum']:,} to {field['maximum']:,}"
    if "minLength" in field:
        return f"text, {field['minLength']} to {field['maxLength']} bytes"
    if "pattern" in field:
        return "percentage" if "%" in field["pattern"] else "label"
    return str(field["type"])


def _link(target: str) -> str:
    title = _TITLES[target.rpartition("/")[2]]
    anchor = "".join(sign for sign in title.lower() if sign.isalnum() or sign in "_-")
    return f"[{title.rpartition('.')[2].removesuffix('[]')}](#{anchor})"


def _default(field: JsonSchemaValue) -> str:
    given = field.get("default", "")
    return "" if given in ("", []) else f"`{json.dumps(given)}`"


def _about(field: JsonSchemaValue) -> str:
    return " ".join(field["description"].split()).replace("|", "\\|")
