"""Time zones of a policy document."""

from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fairlead.policy import value_types
from fairlead.policy.value_types import ValueType

UTC = "UTC"


def time_zone() -> ValueType[str]:
    """Return the type of time zones."""

    def read(value: object) -> str:
        if isinstance(value, str) and _is_zone(value):
            return value
        demand = "a time zone such as Europe/Berlin"
        raise ValueError(f"must be {demand}, not {value_types.display(value)}")

    return ValueType(
        read, {"type": "string", "minLength": 1, "maxLength": value_types.NAME_BYTES_MAX}
    )


@lru_cache(maxsize=1024)
def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
