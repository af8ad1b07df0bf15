"""The policy's JSON Schema says what the models read."""

import re
from collections.abc import Iterator

import pytest
from pydantic.json_schema import JsonSchemaValue

from fairlead.policy import parse
from fairlead.policy.schema import json_schema
from fairlead.policy.value_types import duration

SCHEMA = json_schema()


def fields() -> Iterator[tuple[str, JsonSchemaValue]]:
    """Yield every field of every part of a document."""
    for title, part in {"Policy": SCHEMA, **SCHEMA["$defs"]}.items():
        for name, field in part["properties"].items():
            yield f"{title}.{name}", field


def test_every_field_says_what_it_does() -> None:
    """Each has a description of its own."""
    descriptions = [field.get("description", "") for _, field in fields()]

    assert len(descriptions) > 20
    assert [] == [text for text in descriptions if not text.endswith(".")]


def test_every_part_refuses_what_it_does_not_know() -> None:
    """An editor marks a misspelt field as `apply` does."""
    assert {False} == {
        part["additionalProperties"] for part in (SCHEMA, *SCHEMA["$defs"].values())
    }


def test_the_defaults_are_those_of_an_empty_document() -> None:
    """A default is written as a document writes it."""
    parts = SCHEMA["$defs"]
    policy = parse("{}")
    prior, refresh = (
        parts[part]["properties"][name]["default"]
        for part, name in (("Estimator", "prior"), ("Fairness", "refresh"))
    )

    written = parse(f"fairness: {{refresh: {refresh}, estimator: {{prior: {prior}}}}}").fairness

    assert (policy.fairness.refresh, policy.fairness.estimator.prior) == (
        written.refresh,
        written.estimator.prior,
    )


def test_a_default_is_what_a_document_may_say() -> None:
    """An editor that fills it in makes no document that is refused."""
    written = {name: field for name, field in fields() if "x-lowest" in field}

    assert {"Autoscale.startPrior", "Fairness.refresh", "Fallback.after"} <= written.keys()
    assert [] == [
        name
        for name, field in written.items()
        if not re.search(field["pattern"], field.get("default", "1s"))
    ]


def test_an_override_has_no_defaults_of_its_own() -> None:
    """What it does not give comes from the queue's default, whatever that is."""
    rules = SCHEMA["$defs"]["TenantRule"]["properties"].values()

    assert [] == [rule for rule in rules if "default" in rule]


@pytest.mark.parametrize("given", ["1ms", "1.001ms", "90s", "1.5s", "2m", "720h"])
def test_a_duration_is_written_as_it_can_be_read(given: str) -> None:
    """The canonical form is a document's."""
    kind = duration("1ms", "720h")
    assert kind.write is not None

    assert kind.read(given) == kind.read(kind.write(kind.read(given)))
