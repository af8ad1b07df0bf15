"""A trace of jobs: arrival, lane and run time of each, as values and as lines of JSON.

One line is one job, such as
`{"at_us": 1500000, "queue": "mail", "tenant": "acme", "cost_us": 250000, "kind": "report"}`.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, cast, get_args

Group = Literal["quiet", "noisy", "tail"]
"""Tenants whose waits are reported together."""
GROUPS: tuple[Group, ...] = get_args(Group)

PRIORITY_MAX = 100
NAME_MAX = 128
"""Characters of a name."""
KEYS_MAX = 16
"""Concurrency key values of one job."""
VALUE_MAX = 64 + 1 + 64
"""Characters of a value; a longer one is its first 64, an ellipsis and its digest."""
WHOLE_MAX = 1 << 60
_SHOWN_MAX = 40

Lane = tuple[str, str]
"""Queue and tenant, to which a job is charged."""


class TraceRefusedError(ValueError):
    """A line of a trace is not a valid job; the message names line, field and value."""


class Arrival(NamedTuple):
    """One job of a trace."""

    at_us: int
    """When it became runnable, from the trace's start."""
    queue: str
    tenant: str
    """Empty: no tenant."""
    cost_us: int
    """How long it occupies a slot; at least 1."""
    group: Group = "quiet"
    priority: int = 0
    """Order inside its lane, higher first."""
    kind: str = ""
    """The name of its handler; empty where it is not needed."""
    keys: tuple[tuple[str, str | None], ...] = ()
    """Path and value of each concurrency key; None: the job has no value there."""

    @property
    def lane(self) -> Lane:
        """The lane it is charged to."""
        return (self.queue, self.tenant)


def write(path: Path, trace: Iterable[Arrival]) -> None:
    """Write a trace, one job per line."""
    with path.open("w", encoding="utf-8") as file:
        for arrival in trace:
            file.write(json.dumps({**arrival._asdict(), "keys": dict(arrival.keys)}) + "\n")


def read(path: Path, jobs_max: int | None = None) -> tuple[Arrival, ...]:
    """Read a trace, or its first `jobs_max` lines, sorted by arrival.

    Empty lines are skipped.

    Raises:
        TraceRefusedError: A line is not a job.
    """
    arrivals: list[Arrival] = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if len(arrivals) == jobs_max:
                break
            if line.strip():
                arrivals.append(_arrival(line, number))
    return tuple(sorted(arrivals, key=_at_us))


def _arrival(line: str, number: int) -> Arrival:
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TraceRefusedError(f"line {number} is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise TraceRefusedError(f"line {number} must be an object, with the fields of a job")
    fields = cast("Mapping[str, object]", row)
    unknown = sorted(fields.keys() - set(Arrival._fields))
    if unknown:
        known = ", ".join(Arrival._fields)
        raise TraceRefusedError(
            f"line {number}: no field {_cut(unknown[0])}, there are {known}"
        )
    group = fields.get("group", "quiet")
    if group not in GROUPS:
        raise _refused(number, "group", group, f"one of {', '.join(GROUPS)}")
    return Arrival(
        _whole(fields, "at_us", lowest=0, number=number),
        _word(fields, "queue", number),
        _word(fields, "tenant", number, may_be_empty=True),
        _whole(fields, "cost_us", lowest=1, number=number),
        group,
        _whole(fields, "priority", -PRIORITY_MAX, PRIORITY_MAX, number=number, default=0),
        _word(fields, "kind", number),
        _keys(fields.get("keys", {}), number),
    )


def _refused(number: int, name: str, value: object, wanted: str) -> TraceRefusedError:
    return TraceRefusedError(f"line {number}: {name} is {_cut(repr(value))}; give {wanted}")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 1]}…"


def _whole(
    fields: Mapping[str, object],
    name: str,
    lowest: int,
    highest: int = WHOLE_MAX,
    *,
    number: int,
    default: int | None = None,
) -> int:
    value = fields.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        raise _refused(number, name, value, f"a whole number from {lowest:,} to {highest:,}")
    return value


def _word(
    fields: Mapping[str, object], name: str, number: int, *, may_be_empty: bool = False
) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not (value or may_be_empty) or len(value) > NAME_MAX:
        raise _refused(number, name, value, f"a name of at most {NAME_MAX} characters")
    return value


def _keys(given: object, number: int) -> tuple[tuple[str, str | None], ...]:
    wanted = f"an object of at most {KEYS_MAX} values"
    if not isinstance(given, dict):
        raise _refused(number, "keys", given, wanted)
    keys = cast("Mapping[str, object]", given)
    if len(keys) > KEYS_MAX:
        raise _refused(number, "keys", keys, wanted)
    found: list[tuple[str, str | None]] = []
    for path, value in keys.items():
        if value is not None and not (isinstance(value, str) and len(value) <= VALUE_MAX):
            wanted = f"a text of at most {VALUE_MAX} characters, or null"
            raise _refused(number, f"keys of {_cut(repr(path))}", value, wanted)
        found.append((path, value))
    return tuple(found)


def _at_us(arrival: Arrival) -> int:
    return arrival.at_us
