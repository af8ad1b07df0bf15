"""The fairness report: how the slots of a pool were shared, and who was entitled to them.

It is bounded: most tenants by name, the rest added up.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

TENANTS_MAX = 1000
"""Tenants that a report names: those that were served most, or entitled to most, and a few that
wait longest or are farthest behind."""
QUEUES_MAX = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ServiceReceived(NamedTuple):
    """What a tenant or a queue received of the slots in the window."""

    share: float
    """Of all slot-seconds."""
    entitled_share: float
    """What it would have been under an ideal fair order."""
    slot_seconds: float
    lag_slot_seconds: float
    """What it received beyond that; below zero it is behind."""


class TenantShare(NamedTuple):
    """One tenant of a queue."""

    queue: str
    tenant: str
    weight: float
    received: ServiceReceived
    running: int
    queued: int
    oldest_wait_seconds: float | None
    """None while nothing of it waits, or it is not known for how long."""
    mean_run_seconds: float | None
    """Lately; None before the first run has ended."""
    blocked_by: str | None
    """Why what is pending is not dispatched, by the reasons of `explain`; None: nothing is
    pending."""
    blocked_since: str | None
    """The first snapshot, of those without a break, with this reason; in ISO form."""


class QueueShare(NamedTuple):
    """All tenants of a queue together."""

    queue: str
    weight: float
    received: ServiceReceived
    mean_run_seconds: float | None


class Others(NamedTuple):
    """All tenants that a report does not name."""

    tenants: int
    received: ServiceReceived
    running: int
    queued: int
    oldest_wait_seconds: float | None


class Group(NamedTuple):
    """Tenants that have something in common."""

    tenants: int
    oldest_wait_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessReport:
    """How the slots were shared between two snapshots."""

    since_us: int
    at_us: int
    slots: int
    slot_seconds: float
    """What all received."""
    jain: float | None
    """Jain's index of what each received over what it was entitled to, among the tenants that
    waited for service all the time; None with fewer than two of them."""
    jain_tenants: int
    noisy: Group
    """Tenants that had something pending at every snapshot: they want more than they get."""
    quiet: Group
    """The others."""
    queues: tuple[QueueShare, ...]
    tenants: tuple[TenantShare, ...]
    """Those that received most first."""
    other: Others

    def means_seconds(self) -> dict[str, float]:
        """Return the recent mean run time of queues' jobs, where that is known."""
        return {
            each.queue: each.mean_run_seconds
            for each in self.queues
            if each.mean_run_seconds is not None
        }

    def text(self) -> str:
        """Return it as JSON, without its instants."""
        known = {
            "window_seconds": (self.at_us - self.since_us) / 1e6,
            "slots": self.slots,
            "slot_seconds": self.slot_seconds,
            "jain": self.jain,
            "jain_tenants": self.jain_tenants,
            "noisy": self.noisy._asdict(),
            "quiet": self.quiet._asdict(),
            "queues": list(map(_flat, self.queues)),
            "other": _flat(self.other),
        }
        # Row by row, because one call would keep other threads from running for too long.
        rows = ",".join([json.dumps(_flat(each)) for each in self.tenants])
        return f'{json.dumps(known)[:-1]}, "tenants": [{rows}]}}'


def _flat(row: TenantShare | QueueShare | Others) -> dict[str, object]:
    """Return a row by its names, with what it received among them."""
    named = row._asdict()
    del named["received"]
    return {**named, **row.received._asdict()}
