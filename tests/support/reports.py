"""Fairness reports for tests, without a scheduler."""

from fairlead_scheduler.report.values import (
    FairnessReport,
    Group,
    Others,
    QueueShare,
    ServiceReceived,
    TenantShare,
)


def share(
    tenant: str, slot_seconds: float, *, waits: float | None = None, lag: float = 1.0
) -> TenantShare:
    """Return a tenant of the queue `q` that had so much of 1,000 slot-seconds."""
    had = ServiceReceived(slot_seconds / 1000, 0.5, slot_seconds, lag)
    return TenantShare("q", tenant, 1.0, had, 2, 0, waits, None, None, None)


def report(*tenants: TenantShare) -> FairnessReport:
    """Return a report on these and seven others, who waited for 4 s."""
    had = ServiceReceived(1.0, 1.0, 1000.0, 0.0)
    return FairnessReport(
        since_us=0,
        at_us=5_000_000,
        slots=4,
        slot_seconds=1000.0,
        jain=0.9,
        jain_tenants=2,
        noisy=Group(1, 3.0),
        quiet=Group(2, 1.0),
        queues=(QueueShare("q", 1.0, had, 0.5),),
        tenants=tenants,
        other=Others(7, ServiceReceived(0.0, 0.0, 0.0, 7.0), 1, 1, 4.0),
    )
