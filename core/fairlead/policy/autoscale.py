"""What may be said of how many pods a pool has: one objective, bounds, schedules, switches.

Only the wait objective must be given. What else is here bounds the decision, or turns it off.
"""

import re
from datetime import time, timedelta
from typing import Annotated

from pydantic import FailFast, Field, model_validator

from fairlead.policy import kinds
from fairlead.policy.kinds import Kind
from fairlead.policy.part import Part
from fairlead.policy.zones import UTC, time_zone

PODS_MAX = 1000
SCHEDULES_MAX = 50
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)

Pods = Annotated[int, kinds.whole(0, PODS_MAX)]


def _time_of_day() -> Kind[time]:
    """Return the kind of times of a day."""

    def read(value: object) -> time:
        match = _TIME.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            quoted = ": put it in quotes" if isinstance(value, int | float) else ""
            said = f"must be {demand}, not {kinds.shown(value)}{quoted}"
            raise ValueError(said)
        return time(int(match[1]), int(match[2]))

    demand = 'a time of day from "00:00" to "23:59"'
    pattern = f"^{_TIME.pattern}$"
    return Kind(read, {"type": "string", "pattern": pattern}, lambda at: f"{at:%H:%M}")


def _switch() -> Kind[bool]:
    """Return the kind of switches."""

    def read(value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise ValueError(f"must be true or false, not {kinds.shown(value)}")

    return Kind(read, {"type": "boolean"})


class Schedule(Part):
    """A floor, a cap or both for a part of the week, by the clock of a time zone."""

    days: Annotated[
        tuple[Annotated[str, kinds.word(*DAYS)], ...], FailFast(), Field(min_length=1)
    ] = Field(
        default=DAYS,
        description="The days on which it starts, of `mon` to `sun`; not given: every day.",
    )
    start: Annotated[time, _time_of_day()] = Field(
        description='When it starts, as the zone\'s clock shows it, such as "08:00".'
    )
    end: Annotated[time, _time_of_day()] = Field(
        description="When it ends; a time not after `start` is on the next day."
    )
    zone: Annotated[str, time_zone()] = Field(
        default=UTC,
        description="The IANA time zone of `days`, `start` and `end`. A time that the clocks "
        "jump over counts from the jump on; one that they show twice counts both times.",
    )
    min: Pods | None = Field(
        default=None,
        description="Pods that there are at least; 0 to 1000. They are asked for a start delay "
        "ahead. Of several schedules the highest counts, and never less than the pool's `min`.",
    )
    max: Pods | None = Field(
        default=None,
        description="Pods that there are at most; 0 to 1000. Of several schedules the lowest "
        "counts, and never more than the pool's `max`. It goes before every `min`.",
    )

    @model_validator(mode="after")
    def _has_an_effect(self) -> "Schedule":
        if self.min is None and self.max is None:
            raise ValueError("says nothing: give min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"has min {self.min} above max {self.max}: lower the one")
        return self


class Fallback(Part):
    """What to do when nobody has said for a while what the pool needs."""

    replicas: Annotated[int, kinds.whole(1, PODS_MAX)] = Field(
        description="Pods that there are at least then; 1 to 1000. It never lowers."
    )
    after: Annotated[timedelta, kinds.duration("15s", "24h")] = Field(
        default=timedelta(minutes=1),
        description="How old the scheduler's last word on the pool must be while PostgreSQL "
        "answers; 15s to 24h.",
    )


class Cost(Part):
    """What the pool may cost."""

    pod_hour: Annotated[float, kinds.number(0.0001, 100_000)] = Field(
        description="What one pod costs in an hour, in whatever currency; 0.0001 to 100,000."
    )
    hour_max: Annotated[float, kinds.number(0, 1e9)] = Field(
        description="What the pool may cost in an hour, in the same; 0 to 10^9. As many pods "
        "as fit into it are the most there are."
    )


class Autoscale(Part):
    """How many pods a pool has."""

    objective: Annotated[timedelta, kinds.duration("100ms", "24h")] = Field(
        description="How long a job may wait, from when the policy lets it run until it "
        "starts; 100ms to 24h. There are as many pods as that needs."
    )
    min: Pods = Field(default=1, description="Pods that there are at least; 0 to 1000.")
    max: Annotated[int, kinds.whole(1, PODS_MAX)] = Field(
        default=10, description="Pods that there are at most; 1 to 1000."
    )
    slots: Annotated[int, kinds.whole(1, 10_000)] = Field(
        default=10,
        description="Jobs that a pod runs at once, until a worker has said so itself; 1 to "
        "10,000.",
    )
    warm_slots: Annotated[int, kinds.whole(0, 1_000_000)] = Field(
        default=0,
        description="Slots that are kept free above what runs; 0 to 1,000,000. With 1 or more "
        "the pool never goes to zero.",
    )
    start_prior: Annotated[timedelta, kinds.duration("100ms", "1h")] = Field(
        default=timedelta(seconds=30),
        description="How long a pod takes from being asked for until its worker is there, "
        "until that was measured; 100ms to 1h.",
    )
    stabilization: Annotated[timedelta, kinds.duration("0s", "1h")] = Field(
        default=timedelta(seconds=60),
        description="The pool shrinks to the most that was needed within this time, or within "
        "two start delays where these are longer; 0s to 1h.",
    )
    keep: Annotated[timedelta, kinds.duration("0s", "24h")] = Field(
        default=timedelta(seconds=60),
        description="How long the pool must have been empty, with nothing due within a start "
        "delay, before it goes to zero; 0s to 24h. It needs `min: 0`.",
    )
    drain_max: Annotated[timedelta, kinds.duration("1s", "168h")] = Field(
        default=timedelta(minutes=10),
        description="How long a pod may take to finish what it runs before it is put back to "
        "work and another one chosen; 1s to 168h.",
    )
    starting_max: Annotated[int, kinds.whole(1, PODS_MAX)] = Field(
        default=100,
        description="No pods are added while so many have not started yet, except to a pool "
        "at zero; 1 to 1000.",
    )
    connections_per_pod: Annotated[int, kinds.whole(1, 100)] = Field(
        default=3,
        description="Connections to PostgreSQL that a pod holds; 1 to 100. No pods are added "
        "for which `capacity.connectionsReserve` leaves no room.",
    )
    fallback: Fallback | None = Field(
        default=None,
        description="What to do when the scheduler has been silent for a while; null: the pods "
        "that are there stay.",
    )
    cost: Cost | None = Field(
        default=None, description="What the pool may cost; null: whatever `max` pods cost."
    )
    schedules: Annotated[tuple[Schedule, ...], FailFast(), Field(max_length=SCHEDULES_MAX)] = (
        Field(default=(), description="Floors and caps for parts of the week; at most 50.")
    )
    pause: Annotated[bool, _switch()] = Field(
        default=False, description="true: nothing is done, and what would be is not said."
    )
    hold_in: Annotated[bool, _switch()] = Field(
        default=False, description="true: no pod is taken away."
    )
    hold_out: Annotated[bool, _switch()] = Field(
        default=False, description="true: no pod is added."
    )
    dry_run: Annotated[bool, _switch()] = Field(
        default=False, description="true: what would be done is said, and nothing is done."
    )

    @model_validator(mode="after")
    def _min_fits(self) -> "Autoscale":
        if self.min > self.max:
            raise ValueError(f"has min {self.min} above max {self.max}: lower the one")
        return self
