"""Settings for how many pods a pool has: one objective, bounds, schedules and switches.

Only the wait objective is required. Everything else bounds the decision, or turns it off.
"""

import re
from datetime import time, timedelta
from typing import Annotated

from pydantic import FailFast, Field, model_validator

from fairlead.policy import value_types
from fairlead.policy.mapping import MappingModel
from fairlead.policy.time_zones import UTC, time_zone
from fairlead.policy.value_types import ValueType

PODS_MAX = 1000
SCHEDULES_MAX = 50
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)

Pods = Annotated[int, value_types.integer(0, PODS_MAX)]


def _time_of_day() -> ValueType[time]:
    """Return the type of times of a day."""

    def read(value: object) -> time:
        match = _TIME.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            quoted = ": put it in quotes" if isinstance(value, int | float) else ""
            message = f"must be {demand}, not {value_types.display(value)}{quoted}"
            raise ValueError(message)
        return time(int(match[1]), int(match[2]))

    demand = 'a time of day from "00:00" to "23:59"'
    pattern = f"^{_TIME.pattern}$"
    return ValueType(read, {"type": "string", "pattern": pattern}, lambda at: f"{at:%H:%M}")


def _switch() -> ValueType[bool]:
    """Return the type of switches."""

    def read(value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise ValueError(f"must be true or false, not {value_types.display(value)}")

    return ValueType(read, {"type": "boolean"})


class Schedule(MappingModel):
    """A minimum, a maximum or both for part of the week, in one time zone."""

    days: Annotated[
        tuple[Annotated[str, value_types.one_of(*DAYS)], ...], FailFast(), Field(min_length=1)
    ] = Field(
        default=DAYS,
        description="Days on which the schedule starts, `mon` to `sun`; default: every day.",
    )
    start: Annotated[time, _time_of_day()] = Field(
        description='Local time at which it starts, such as "08:00".'
    )
    end: Annotated[time, _time_of_day()] = Field(
        description="Local time at which it ends; a time not after `start` is on the next day."
    )
    zone: Annotated[str, time_zone()] = Field(
        default=UTC,
        description="IANA time zone of `days`, `start` and `end`. A time that is skipped when "
        "the clocks go forward counts from that moment on; a time that occurs twice when they "
        "go back counts both times.",
    )
    min: Pods | None = Field(
        default=None,
        description="Fewest pods; 0 to 1000. They are requested one start delay ahead. If "
        "several schedules apply, the highest counts, and at least the pool's `min`.",
    )
    max: Pods | None = Field(
        default=None,
        description="Most pods; 0 to 1000. If several schedules apply, the lowest counts, and "
        "at most the pool's `max`. It takes precedence over every `min`.",
    )

    @model_validator(mode="after")
    def _has_an_effect(self) -> "Schedule":
        if self.min is None and self.max is None:
            raise ValueError("has no effect: give min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"has min {self.min} above max {self.max}: lower the one")
        return self


class Fallback(MappingModel):
    """What to do while no recent report says what the pool needs."""

    replicas: Annotated[int, value_types.integer(1, PODS_MAX)] = Field(
        description="Fewest pods meanwhile; 1 to 1000. It never removes pods."
    )
    after: Annotated[timedelta, value_types.duration("15s", "24h")] = Field(
        default=timedelta(minutes=1),
        description="How old the scheduler's last report on the pool must be, while PostgreSQL "
        "answers, before this applies; 15s to 24h.",
    )


class Cost(MappingModel):
    """What the pool may cost."""

    pod_hour: Annotated[float, value_types.number(0.0001, 100_000)] = Field(
        description="Cost of one pod per hour, in any currency; 0.0001 to 100,000."
    )
    hour_max: Annotated[float, value_types.number(0, 1e9)] = Field(
        description="What the pool may cost per hour, in the same currency; 0 to 10^9. The "
        "pool has at most as many pods as this pays for."
    )


class Autoscale(MappingModel):
    """How many pods a pool has."""

    objective: Annotated[timedelta, value_types.duration("100ms", "24h")] = Field(
        description="How long a job may wait, from when the policy lets it run until it "
        "starts; 100ms to 24h. The autoscaler runs as many pods as this needs."
    )
    min: Pods = Field(default=1, description="Fewest pods; 0 to 1000.")
    max: Annotated[int, value_types.integer(1, PODS_MAX)] = Field(
        default=10, description="Most pods; 1 to 1000."
    )
    slots: Annotated[int, value_types.integer(1, 10_000)] = Field(
        default=10,
        description="Jobs that a pod runs at once, assumed until a worker reports its own "
        "number; 1 to 10,000.",
    )
    warm_slots: Annotated[int, value_types.integer(0, 1_000_000)] = Field(
        default=0,
        description="Slots kept free in addition to those in use; 0 to 1,000,000. With 1 or "
        "more the pool never scales to zero.",
    )
    start_prior: Annotated[timedelta, value_types.duration("100ms", "1h")] = Field(
        default=timedelta(seconds=30),
        description="Start delay, from requesting a pod until its worker is ready, assumed "
        "until it has been measured; 100ms to 1h.",
    )
    stabilization: Annotated[timedelta, value_types.duration("0s", "1h")] = Field(
        default=timedelta(seconds=60),
        description="The pool shrinks only to the largest number of pods needed within this "
        "time, or within two start delays if they are longer; 0s to 1h.",
    )
    keep: Annotated[timedelta, value_types.duration("0s", "24h")] = Field(
        default=timedelta(seconds=60),
        description="How long the pool must have been empty, with no job due within a minute "
        "or a start delay, before it scales to zero; 0s to 24h. It needs `min: 0`.",
    )
    drain_max: Annotated[timedelta, value_types.duration("1s", "168h")] = Field(
        default=timedelta(minutes=10),
        description="How long a pod may take to drain before it is put back to work and "
        "another pod is chosen; 1s to 168h.",
    )
    starting_max: Annotated[int, value_types.integer(1, PODS_MAX)] = Field(
        default=100,
        description="No pods are added while this many have not started yet, except to a pool "
        "at zero; 1 to 1000.",
    )
    connections_per_pod: Annotated[int, value_types.integer(1, 100)] = Field(
        default=3,
        description="Connections to PostgreSQL per pod; 1 to 100. No pod is added whose "
        "connections would use up `capacity.connectionsReserve`.",
    )
    fallback: Fallback | None = Field(
        default=None,
        description="What to do when the scheduler has not reported for a while; null: the "
        "number of pods stays as it is.",
    )
    cost: Cost | None = Field(
        default=None, description="What the pool may cost; null: no limit but `max`."
    )
    schedules: Annotated[tuple[Schedule, ...], FailFast(), Field(max_length=SCHEDULES_MAX)] = (
        Field(default=(), description="Fewest and most pods by time of the week; at most 50.")
    )
    pause: Annotated[bool, _switch()] = Field(
        default=False,
        description="true: the autoscaler neither scales the pool nor reports what it would "
        "do.",
    )
    hold_in: Annotated[bool, _switch()] = Field(
        default=False, description="true: no pod is removed."
    )
    hold_out: Annotated[bool, _switch()] = Field(
        default=False, description="true: no pod is added."
    )
    dry_run: Annotated[bool, _switch()] = Field(
        default=False,
        description="true: the autoscaler reports what it would do, and does not scale the "
        "pool.",
    )

    @model_validator(mode="after")
    def _min_fits(self) -> "Autoscale":
        if self.min > self.max:
            raise ValueError(f"has min {self.min} above max {self.max}: lower the one")
        return self
