"""The policy as JSON Schema, for editors and for the reference."""

from datetime import timedelta

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaValue

from fairlead.policy.kinds import written
from fairlead.policy.models import Policy, TenantRule

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
                del field["default"]  # what is in it says its own
            elif "x-lowest" in field and "default" in field:  # a duration
                field["default"] = written(_DURATION.validate_python(field["default"]))
    # An override has no defaults of its own: what it does not give is as in `default`.
    for field in parts[TenantRule.__name__]["properties"].values():
        field.pop("default", None)
    return {"$schema": DIALECT, "title": "Fairlead policy", **schema}
