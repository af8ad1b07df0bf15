"""What every mapping of a policy document is: known fields alone, named in camel case."""

from typing import cast

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from fairlead.policy import kinds


class Part(BaseModel):
    """A mapping of a document; pydantic sees its fields only when all of them are known."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    @model_validator(mode="before")
    @classmethod
    def _is_known(cls, given: object) -> object:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        if not isinstance(given, dict):
            said = f"must be a mapping with {', '.join(known)}, not {kinds.shown(given)}"
            raise PydanticCustomError("refused", "{said}", {"said": said})
        fields = cast("dict[object, object]", given)
        for field in fields:
            if field not in known:
                raise PydanticCustomError(
                    "unknown", "{field}", {"field": field, "known": tuple(known)}
                )
        return fields


def misfit(said: str, *at: str | int) -> PydanticCustomError:
    """Return the error of an entry that does not go with others of its list.

    Args:
        said: What is wrong with it, and the fix.
        at: Where it is, from the list on.
    """
    return PydanticCustomError("refused", "{said}", {"said": said, "at": at})


def listed(given: object) -> object:
    """Return what may be one part, a list of them, or none, as a list."""
    match given:
        case None:
            return ()
        case dict():
            return [cast("object", given)]
        case list() | tuple():
            return cast("object", given)
        case _:
            raise ValueError(f"must be a mapping, or a list of them, not {kinds.shown(given)}")
