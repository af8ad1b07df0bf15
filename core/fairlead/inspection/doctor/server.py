"""What the server says: its sessions, its clock, what keeps it from cleaning up. Pure."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from fairlead.inspection import formats
from fairlead.inspection.doctor.facts import Clocks, Facts, Holder, NotifyQueue, ServerFacts
from fairlead.inspection.doctor.finding import Finding, Step, either, literal, shell, sql

CONNECTIONS_NEAR = 0.8
"""From this part of the connections on it slows work; from the next one on it stops work."""
CONNECTIONS_FULL = 0.95
NOTIFICATIONS_USUAL = 0.1
"""Up to this part of the queue of notifications may be in use."""
CLOCK_SKEW = timedelta(seconds=2)
SLOT_TRANSACTIONS = 1_000_000
_NAMED_MAX = 3
_MIB = 1024 * 1024

_KEEPS = (
    "Rows that died since then cannot be vacuumed: tables and indexes grow, and claims and "
    "dispatches walk over them, slower and slower."
)


def connections(facts: Facts) -> Iterator[Finding]:
    """Find that connections run out."""
    server, used = facts.server, facts.connections
    part = used / max(server.connections_max, 1)
    if part < CONNECTIONS_NEAR:
        return
    most = ", ".join(
        f"{formats.printable(each.application)} {each.sessions}"
        for each in facts.sessions[:_NAMED_MAX]
    )
    more = -(-server.max_connections * 3 // 20) * 10
    yield Finding(
        harm="stops" if part >= CONNECTIONS_FULL else "slows",
        subject="connections",
        what=f"{used} of {server.connections_max} connections are taken; most by {most}.",
        means="At the maximum no process can connect: a worker or scheduler that starts, or "
        "has lost its session, waits.",
        fix=(
            sql(
                f"alter system set max_connections = {more}  "
                "/* on Kubernetes: in the database's own resource */"
            ),
            either('pg_ctl restart --pgdata "$PGDATA"', "its operator does it"),
        ),
    )


def notifications(queue: NotifyQueue) -> Iterator[Finding]:
    """Find that the queue of notifications fills, and name who may keep it from emptying."""
    if queue.part <= NOTIFICATIONS_USUAL:
        return
    if queue.pid is None:
        who = "Which session has the oldest transaction cannot be seen"
        fix = (
            "select pid, usename, datname, xact_start from pg_stat_activity "
            "where xact_start is not null order by xact_start limit 3  "
            "/* as a member of pg_read_all_stats; then pg_terminate_backend(pid) */"
        )
    else:
        application = formats.printable(queue.application or "unnamed")
        login = formats.printable(queue.login or "unknown")
        database = formats.printable(queue.database or "unknown")
        who = (
            f"The oldest transaction is of session {queue.pid} ({application}, login {login}, "
            f"database {database}, {queue.state or 'at work'}), for {formats.age(queue.age)}"
        )
        fix = f"select pg_terminate_backend({queue.pid})"
    yield Finding(
        harm="slows",
        subject="notifications",
        what=f"The server's queue of notifications is {queue.part:.1%} full. {who}.",
        means="A session that listens and does not end its transaction, in any database, "
        "keeps all that was sent since. While half of it is full Fairlead sends none: who "
        "waits for one finds its work by polling, and so later. In a full queue what other "
        "programs notify fails: `too many notifications in the NOTIFY queue`. Which sessions "
        "listen PostgreSQL does not tell: if the queue stays full, ask again.",
        fix=(sql(fix),),
    )


def clock(clocks: Clocks) -> Iterator[Finding]:
    """Find that this machine's clock and the server's differ by more than the asking took."""
    uncertain = (clocks.after - clocks.before) / 2
    skew = clock_skew(clocks)
    if abs(skew) - uncertain <= CLOCK_SKEW:
        return
    ahead = "ahead of" if skew > timedelta() else "behind"
    yield Finding(
        harm="slows",
        subject="clock",
        what=f"This machine's clock is {formats.age(abs(skew))} {ahead} the server's.",
        means="The server's clock decides leases, deadlines and what is due. What programs "
        "here give as an instant, such as `run_at` and `expires_at`, is off by that much, and "
        "so are the times in their logs.",
        fix=(shell("timedatectl set-ntp true"),),
    )


def clock_skew(clocks: Clocks) -> timedelta:
    """Return how far this machine's clock is ahead of the server's."""
    return clocks.before + (clocks.after - clocks.before) / 2 - clocks.server


def holders(
    found: Sequence[Holder], server: ServerFacts, *, older_than: timedelta
) -> Iterator[Finding]:
    """Find what keeps dead rows, or WAL, the oldest first.

    Args:
        found: Whatever holds a snapshot, and slots.
        server: Its settings.
        older_than: Younger snapshots are let pass.
    """
    for each in found:
        if each.kind == "slot":
            yield from _slot(each, server)
        elif each.age is not None and each.age > older_than:
            yield _snapshot(each)


def _snapshot(holder: Holder) -> Finding:
    since = formats.age(holder.age)
    behind = (
        "" if holder.transactions is None else f", {holder.transactions:,} transactions ago"
    )
    login = formats.printable(holder.login or "unknown")
    if holder.kind == "prepared":
        name = holder.name or ""
        return Finding(
            harm="slows",
            subject="snapshot",
            what=f"Transaction {formats.printable(name)!r} of {login} was prepared {since} "
            f"ago{behind}, and neither committed nor rolled back.",
            means=f"{_KEEPS} It keeps its locks, too, and survives a restart.",
            fix=(sql(f"rollback prepared {literal(name)}"),),
        )
    who = formats.printable(holder.application or "unnamed")
    what = "A standby's session" if holder.kind == "standby" else "Session"
    return Finding(
        harm="slows",
        subject="snapshot",
        what=f"{what} {holder.pid} ({who}, login {login}, {holder.state or 'at work'}) has "
        f"held a snapshot for {since}{behind}.",
        means=_KEEPS,
        fix=(sql(f"select pg_terminate_backend({holder.pid})"),),
    )


def _slot(slot: Holder, server: ServerFacts) -> Iterator[Finding]:
    old = (slot.transactions or 0) > SLOT_TRANSACTIONS
    kept = slot.wal_bytes or 0
    if not old and kept <= server.wal_bytes_max:
        return
    name = slot.name or ""
    parts = [f"a snapshot {slot.transactions:,} transactions old"] if old else []
    if kept > server.wal_bytes_max:
        most = server.wal_bytes_max // _MIB
        parts.append(f"{kept // _MIB:,} MiB of WAL, where {most:,} MiB are usual")
    yield Finding(
        harm="stops" if kept > server.wal_bytes_max else "slows",
        subject="slot",
        what=f"Replication slot {formats.printable(name)!r}, which is {slot.state}, keeps "
        f"{' and '.join(parts)}.",
        means="WAL that is kept fills the disk, and then the server stops."
        if not old
        else _KEEPS,
        fix=_of_slot(slot, name),
    )


def _of_slot(slot: Holder, name: str) -> tuple[Step, ...]:
    """Return how a slot lets go: one that is read loses its reader first."""
    drop = sql(f"select pg_drop_replication_slot({literal(name)})")
    if slot.pid is None:
        return (drop,)
    return (sql(f"select pg_terminate_backend({slot.pid})"), drop)
