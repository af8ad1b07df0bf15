"""The policy as JSON Schema, for editors and for the reference."""

from datetime import timedelta

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaValue

from fairlead.policy.kinds import written
from fairlead.policy.models import Estimator, Fairness, Policy, TenantRule
from fairlead.policy.shadow import Shadow
from fairlead.policy.slots import ShortReserve

DIALECT = "https://json-schema.org/draft/2020-12/schema"


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
    for model in (Estimator, Fairness, Shadow, ShortReserve):
        parts[model.__name__]["properties"].update(_durations(model, parts))
    # An override has no defaults of its own: what it does not give is as in `default`.
    for field in parts[TenantRule.__name__]["properties"].values():
        field.pop("default", None)
    return {"$schema": DIALECT, "title": "Fairlead policy", **schema}


def _durations(model: type[BaseModel], parts: JsonSchemaValue) -> JsonSchemaValue:
    """Return the fields whose default is a duration, with that as a document has it."""
    properties = parts[model.__name__]["properties"]
    return {
        field.alias or name: {
            **properties[field.alias or name],
            "default": written(field.default),
        }
        for name, field in model.model_fields.items()
        if isinstance(field.default, timedelta)
    }
