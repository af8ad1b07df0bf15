"""The base model of every mapping in a policy document, and errors of entries of its lists."""

from typing import cast

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from fairlead.policy import value_types


class MappingModel(BaseModel):
    """A mapping with known fields only, named in camel case; unknown ones are refused first."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    @model_validator(mode="before")
    @classmethod
    def _is_known(cls, given: object) -> object:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        if not isinstance(given, dict):
            message = (
                f"must be a mapping with {', '.join(known)}, not {value_types.display(given)}"
            )
            raise PydanticCustomError("refused", "{message}", {"message": message})
        fields = cast("dict[object, object]", given)
        for field in fields:
            if field not in known:
                raise PydanticCustomError(
                    "unknown", "{field}", {"field": field, "known": tuple(known)}
                )
        return fields


def entry_error(message: str, *at: str | int) -> PydanticCustomError:
    """Return the error of an entry that conflicts with others of its list.

    Args:
        message: What is wrong with it, and the fix.
        at: Its path, from the list on.
    """
    return PydanticCustomError("refused", "{message}", {"message": message, "at": at})


def as_list(given: object) -> object:
    """Return one mapping, a list of mappings or null as a list."""
    match given:
        case None:
            return ()
        case dict():
            return [cast("object", given)]
        case list() | tuple():
            return cast("object", given)
        case _:
            raise ValueError(
                f"must be a mapping, or a list of them, not {value_types.display(given)}"
            )
