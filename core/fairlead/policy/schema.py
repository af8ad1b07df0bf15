"""The policy as JSON Schema, for editors and for the reference."""

from datetime import timedelta

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaValue

from fairlead.policy.models import Policy, TenantRule
from fairlead.policy.value_types import format_duration

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DURATION = TypeAdapter(timedelta)


def json_schema() -> JsonSchemaValue:
    """Return the schema of policy documents: every field with its bounds and what it does."""
    schema = Policy.model_json_schema()
    parts = schema["$defs"]
    for part in (schema, *parts.values()):
        part.pop("title", None)
        for field in part["properties"].values():
            field.pop("title", None)
            if isinstance(field.get("default"), dict):
                del field["default"]  # its own fields have their defaults
            elif "x-lowest" in field and "default" in field:  # a duration
                field["default"] = format_duration(_DURATION.validate_python(field["default"]))
    # An override has no defaults of its own: fields that it does not give are as in `default`.
    for field in parts[TenantRule.__name__]["properties"].values():
        field.pop("default", None)
    return {"$schema": DIALECT, "title": "Fairlead policy", **schema}
