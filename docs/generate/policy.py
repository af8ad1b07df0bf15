"""Write the page of the policy's fields, and their JSON Schema, from the models."""

import json
from pathlib import Path

from pydantic.json_schema import JsonSchemaValue

from fairlead.policy.cel.variables import VARIABLES
from fairlead.policy.schema import json_schema

PATH = Path("docs/reference/policy.md")
SCHEMA_PATH = Path("docs/reference/policy.schema.json")
EXAMPLE_PATH = Path("examples/policy.yaml")
_ROOT = Path(__file__).parents[2]

_HEAD = """# The policy

Every field of the policy, which sets weights, limits, rates and pools. A policy is one YAML
document of at most 256 KiB, stored with `fairlead policy apply FILE`, and `--release NAME`
where a [release owns the database](../how-to/share-a-database.md). A document with an unknown
field or a value out of bounds is refused as a whole, with one sentence, and the policy in force
stays. Without a policy every tenant has weight 1, whatever queues it uses, and no limit.

[Tune fairness](../how-to/tune-fairness.md) shows how to use it;
[policy.schema.json](policy.schema.json) is the same as JSON Schema, for editors.
`python -m docs.generate` writes this page from the code.

* Durations are a number and a unit: `500ms`, `5s`, `2m`, `1h`. Percentages: `"25%"`.
* Patterns match whole names: `*` stands for any text, even none, and `?` for one character. No
  other character is special, and case matters.
* Only the first match of `queues` applies, and only the first match of a queue's `overrides`.
  An entry that can never match because of earlier ones is refused. All matching `rules` apply.
* The document is YAML 1.2: `no` is text. Tags, anchors, aliases and duplicate fields are
  refused.
"""
_TITLES = {
    "Fairness": "fairness",
    "ShortReserve": "fairness.reserve",
    "Estimator": "fairness.estimator",
    "Eviction": "fairness.eviction",
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
or false. It may use `&&`, `||`, `!`, `?:`, `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `+`, `-`,
`*`, `/`, `%`, lists, maps, and these functions:

| function | what it returns |
| --- | --- |
| `text.startsWith(text)`, `text.endsWith(text)` | Whether it begins or ends with the other. |
| `text.contains(text)` | Whether it contains the other. |
| `size(text)`, `size(list)`, `size(map)` | How many characters or entries it has. |
| `has(map.key)`, `key in map`, `value in list` | Whether the map or list contains it. |
| `int(number)`, `double(number)` | The number, rounded towards zero, or with a fraction. |

An integer and a number with a fraction compare by `<`, `<=`, `>` and `>=`; all other operators
need two operands of one type: write `lane.weight == 2.0` and `lane.weight * 2.0`. `/` of two
integers rounds towards zero. There are no loops and no regular expressions, so a condition's
length bounds its run time: at most 1,024 bytes, and at most 32 nested operations. Other
functions of CEL are refused.

Fairlead checks a condition when the policy is stored: its types have to fit, and it must have
a value when there are no workers, when none is free, at every hour, and for a tenant without
labels.

| variable | type | meaning |
| --- | --- | --- |
{variables}

A rule applies to whole queues if its condition names no `lane.…` and its `match` names no
tenant and no label: its weight factor and its limit are those of the queue. It applies to
single jobs if its `match` names a kind, or its condition names `job.…`: it may hold them, and
can change nothing else about a job, not even its band. Every other rule applies to each tenant
of a queue separately.

**Queues.** The leader evaluates conditions without `lane.…` once a second, when it takes over,
and when a policy arrives.

**Tenants.** The leader evaluates the other conditions for each tenant of a queue that has
work, 150 conditions twenty times a second, one tenant after the other: with 3,000 tenants and
one such rule, each tenant's turn comes once a second, with 10,000 every 3.3 s. A result
applies until the next evaluation.

**Jobs.** The leader evaluates conditions with `job.…` when it is a job's turn in the fair
order, and again every second while the job waits or is queued for a worker. All of them
together get a twentieth of the leader's time, which is about a thousand evaluations a second:
jobs that such a rule matches start no faster than that. If there is more to evaluate, jobs
whose turn comes first are evaluated first, at least half of the time goes to jobs that were
never evaluated, and for the others the last result applies until their turn. A held job keeps
its place, and the order passes over up to 64 of a tenant's jobs in a queue for those behind
them.

**Broken rules.** A rule is disabled if it takes more than 5 ms of the leader's time three
times in a row, or fails three times to produce a value (a missing label, a division by zero).
It stays disabled, under other leaders too, until another version is stored. The log,
`fairlead policy history` and the series `fairlead_policy_rule_overruns_total` and
`fairlead_policy_rule_errors_total` report it. Each new version tries all of its rules again,
and so does a rollback to a version whose rules were disabled. A document equal to the one in
force is no new version: give it another `version` to try a rule again.
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
        f"| `{name}` | {_SPECIAL.get(name) or _type(field)} "
        f"| {'required' if name in required else _default(field)} | {_about(field)} |"
        for name, field in part["properties"].items()
    ]
    table = "| field | value | default | meaning |\n| --- | --- | --- | --- |\n"
    return f"## {title}\n\n{part['description']}\n\n{table}" + "\n".join(rows) + "\n"


def _type(field: JsonSchemaValue) -> str:
    """Describe the values of a field."""
    if "$ref" in field:
        return _link(field["$ref"])
    if "anyOf" in field:
        return " or ".join(_type(each) for each in field["anyOf"])
    if "items" in field:
        return f"list of {_type(field['items'])}"
    return _plain(field)


def _plain(field: JsonSchemaValue) -> str:
    """Describe the values of a field without parts."""
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
