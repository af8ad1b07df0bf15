"""The policy's fields as the models have them, and their JSON Schema."""

import json
from pathlib import Path

from pydantic.json_schema import JsonSchemaValue

from fairlead.policy.schema import json_schema
from fairlead.policy.variables import VARIABLES

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
* Of `queues`, and of a queue's `overrides`, the first that matches counts, alone. One that an
  earlier one leaves nothing is refused. Of `rules` all count.
* Words are read by YAML 1.2: `no` is text. Tags, anchors and aliases are refused, and so is a
  field that is there twice.
"""
_TITLES = {
    "Fairness": "fairness",
    "ShortReserve": "fairness.reserve",
    "Estimator": "fairness.estimator",
    "Capacity": "capacity",
    "Band": "bands[]",
    "Priorities": "bands[].priorities",
    "Pool": "pools[]",
    "Autoscale": "pools[].autoscale",
    "Schedule": "pools[].autoscale.schedules[]",
    "Fallback": "pools[].autoscale.fallback",
    "Cost": "pools[].autoscale.cost",
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
    "Rule": "rules[]",
    "RuleMatch": "rules[].match",
    "RuleSlots": "rules[].slots",
    "Shadow": "shadow",
}
_EXPRESSIONS = """## Expressions

`when` is an expression in [CEL](https://cel.dev), the Common Expression Language, that is true
or false. Of the language it has `&&`, `||`, `!`, `?:`, `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`,
`+`, `-`, `*`, `/`, `%`, lists, maps, and these functions:

| function | what it returns |
| --- | --- |
| `text.startsWith(text)`, `text.endsWith(text)` | Whether it begins or ends with the other. |
| `text.contains(text)` | Whether the other is a part of it. |
| `size(text)`, `size(list)`, `size(map)` | How many characters or entries it has. |
| `has(map.key)`, `key in map`, `value in list` | Whether it is there. |
| `int(number)`, `double(number)` | The number, rounded towards zero, or with a fraction. |

Whole numbers and numbers with a fraction compare by `<`, `<=`, `>` and `>=`; all else wants two
of one kind: write `lane.weight == 2.0` and `lane.weight * 2.0`. `/` of two whole numbers rounds
towards zero. There are no loops and no regular expressions, so that a condition takes no longer
than its text: at most 1,024 bytes, and at most 32 operations in one another. Other functions of
the language are refused.

A condition is checked when the policy is stored: its types have to fit, and it has to have a
value where there are no workers, where none is free, at every hour, and for a tenant without
labels.

| variable | type | what it is |
| --- | --- | --- |
{variables}

A rule whose condition names no `lane.…` and whose `match` names no tenant and no label is for
queues as a whole: its weight factor and its limit are those of the queue. A rule whose `match`
names a kind, or whose condition names `job.…`, is for single jobs, and may hold them: nothing
else of a job can be changed by a rule, its band neither. Every other rule is
for each tenant of a queue by itself.

Conditions without `lane.…` are looked at once a second, at a take-over and when a policy comes.
The others are looked at for each tenant of a queue that has work, 150 conditions twenty
times a second, one tenant after the other: with 3,000 tenants and one such rule each tenant's
turn comes once a second, with 10,000 every 3.3 s. What is true holds until the next look.

Conditions with `job.…` are looked at when it is a job's turn, in the fair order, and again a
second later while it waits or is queued for a worker. They have a twentieth of the leader's
time together, which is some thousand looks a second: jobs that such a rule is for, by its
`match`, start no faster than that. When there is more to look at, whose turn comes first is
looked at first, at least half of the time goes to jobs that were never looked at, and for
others the last answer counts until their turn. A held job keeps its place, and up to 64 of a
tenant's jobs in a queue are passed over for those behind them.

A rule that takes more than 5 ms of the leader's time three times in a row, or that has no value
three times (a label that is not there, a division by zero), is disabled until another version
is stored, also under other leaders. The log, `fairlead policy history` and the series
`fairlead_policy_rule_overruns_total` and `fairlead_policy_rule_errors_total` say so. Each
version tries all of its rules anew, a rollback to one of which rules were disabled as well. A
document that says what is in force is no new version: give it another `version` to try a rule
again.
"""
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
    variables = "\n".join(
        f"| `{name}` | {each.type} | {each.about} |" for name, each in VARIABLES.items()
    )
    sections.append(_EXPRESSIONS.replace("{variables}", variables))
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
    return "true" if "const" in field else str(field["type"])


def _link(target: str) -> str:
    title = _TITLES[target.rpartition("/")[2]]
    anchor = "".join(sign for sign in title.lower() if sign.isalnum() or sign in "_-")
    return f"[{title.rpartition('.')[2].removesuffix('[]')}](#{anchor})"


def _default(field: JsonSchemaValue) -> str:
    given = field.get("default", "")
    return "" if given in ("", []) else f"`{json.dumps(given)}`"


def _about(field: JsonSchemaValue) -> str:
    return " ".join(field["description"].split()).replace("|", "\\|")
