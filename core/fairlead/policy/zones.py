"""The kind of time zones in a policy."""

from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fairlead.policy import kinds
from fairlead.policy.kinds import Kind

UTC = "UTC"


def time_zone() -> Kind[str]:
    """Return the kind of time zones."""

    def read(value: object) -> str:
        if isinstance(value, str) and _is_zone(value):
            return value
        demand = "a time zone such as Europe/Berlin"
        raise ValueError(f"must be {demand}, not {kinds.shown(value)}")

    return Kind(read, {"type": "string", "minLength": 1, "maxLength": kinds.NAME_BYTES_MAX})


@lru_cache(maxsize=1024)
def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
