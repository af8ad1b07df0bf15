"""Facts of a healthy installation for tests of the doctor: say only what is wrong."""

from datetime import UTC, datetime, timedelta

from fairlead.inspection.doctor.facts import (
    Clocks,
    Facts,
    Holder,
    Index,
    Lead,
    NotifyQueue,
    Queued,
    Run,
    ServerFacts,
    Sessions,
    SetupFacts,
    Table,
    Transport,
    Wanted,
    Worker,
)

NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MIB = 1024 * 1024

SERVER = ServerFacts(
    now=NOW,
    version=180_004,
    version_name="18.4",
    read_only=False,
    encoding="UTF8",
    timezone="UTC",
    isolation="read committed",
    synchronous_commit="on",
    fsync=True,
    autovacuum=True,
    track_counts=True,
    connections_max=97,
    max_connections=100,
    wal_bytes_max=1024 * MIB,
)
JOBS = Table(name="jobs", live=100, dead=10, bytes=MIB, vacuumed_at=5000.0, autovacuum=True)
LANE = Index(name="jobs_lane", table="jobs", valid=True, bytes=MIB, live=100)
WANTED = Wanted("jobs_lane", "create index concurrently jobs_lane on fairlead.jobs (queue)")
SESSION = Holder(
    kind="session",
    pid=42,
    name=None,
    application="reports",
    login="analyst",
    state="idle in transaction",
    age=20 * 60 * SECOND,
    transactions=1234,
    wal_bytes=None,
)
NOTIFICATIONS = NotifyQueue(
    part=0.25,
    pid=42,
    application="reports",
    login="analyst",
    database="shop",
    state="idle in transaction",
    age=20 * 60 * SECOND,
)
SLOT = Holder(
    kind="slot",
    pid=None,
    name="replica",
    application=None,
    login=None,
    state="inactive",
    age=None,
    transactions=None,
    wal_bytes=2048 * MIB,
)
WORKER = Worker(id=7, name="worker-1", pool="default", slots=8, lapsed=-10 * SECOND, jobs=2)
QUEUED = Queued("default", 3, SECOND)

SETUP = SetupFacts(
    history_owner="app",
    schema_owner="app",
    missing_roles=(),
    broken_schedules=(),
    over_backlog=(),
    timezones=("Europe/Berlin", "UTC"),
)


def runs(
    queue: str, tenant: str, count: int, *, each: float = 1.0, every: float = 2.0
) -> tuple[Run, ...]:
    """Return jobs of a tenant that had a slot for so long, one begun so often, in seconds."""
    starts = (NOW - timedelta(hours=1) + timedelta(seconds=every * x) for x in range(count))
    return tuple(Run(queue, tenant, at, at + timedelta(seconds=each)) for at in starts)


VERIFIED = Transport(host="db", local=False, encrypted=True, sslmode="verify-full")
HEALTHY = Facts(
    server=SERVER,
    clocks=Clocks(NOW, NOW + SECOND / 2, NOW + SECOND),
    sessions=(Sessions("fairlead worker", 10, 12), Sessions("psql", 2, 12)),
    holders=(),
    tables=(JOBS,),
    indexes=(LANE,),
    wanted=(WANTED,),
    history_days_ahead=14,
    lead=Lead("host:1:a", -SECOND, held=True),
    workers=(WORKER,),
    queued=(QUEUED,),
    queues=("mail",),
    lanes=(("mail", "acme"),),
    runs=runs("mail", "acme", 200),
    policy=None,
    transport=VERIFIED,
)
