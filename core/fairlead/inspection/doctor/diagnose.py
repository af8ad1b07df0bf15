"""What the doctor makes of what was read: every finding, the most harmful first. Pure."""

from collections.abc import Iterator
from datetime import timedelta

from fairlead.inspection.doctor import fleet, limits, server, storage
from fairlead.inspection.doctor.facts import Facts
from fairlead.inspection.doctor.finding import Finding, Unseen, ordered

OLD = timedelta(minutes=5)


def diagnose(facts: Facts, *, older_than: timedelta = OLD) -> tuple[Finding, ...]:
    """Return what is wrong, the most harmful first.

    Args:
        facts: What was read.
        older_than: Snapshots that are younger are let pass.
    """
    return ordered(_all(facts, older_than))


def undecided(facts: Facts) -> tuple[Unseen, ...]:
    """Return what was read and is too little to go by."""
    if facts.policy is None or facts.runs is None or limits.enough(facts):
        return ()
    why = f"fewer than {limits.ENDINGS_LEAST} jobs have ended, which is too little to go by"
    return (Unseen("whether limits are used", why),)


def _all(facts: Facts, older_than: timedelta) -> Iterator[Finding]:
    yield from fleet.lead(facts.lead)
    yield from fleet.leases(facts.workers or ())
    yield from fleet.pools(facts)
    yield from fleet.unhandled(facts.unhandled)
    yield from fleet.crash_breakers(facts.crash_breakers)
    yield from storage.partitions(facts.history_days_ahead)
    if facts.indexes is not None:
        yield from storage.lost_indexes(facts.indexes, facts.wanted)
    yield from storage.autovacuum(facts.server, facts.tables)
    yield from storage.dead_rows(facts.tables)
    yield from storage.empty_space(facts.tables, facts.indexes or ())
    yield from server.connections(facts)
    if facts.notifications is not None:
        yield from server.notifications(facts.notifications)
    yield from server.clock(facts.clocks)
    yield from server.holders(facts.holders, facts.server, older_than=older_than)
    yield from limits.unused(facts)
