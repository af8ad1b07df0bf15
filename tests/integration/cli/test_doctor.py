"""`fairlead doctor`: a database's faults are provoked, found, and gone once mended."""

from datetime import timedelta

import psycopg
import pytest
from psycopg import Connection, errors, sql
from psycopg.rows import TupleRow

from fairlead.inspection.doctor import reader
from fairlead_cli.main import run
from tests.conftest import Connect
from tests.support.children import register
from tests.support.doctoring import Examine, mend, steps
from tests.support.logins import as_login, login

_FLUSH = "SELECT pg_stat_force_next_flush()"
_MANY = """
    INSERT INTO fairlead.jobs (kind, tenant, payload)
    SELECT 'k', repeat('t', 60), to_jsonb(repeat('p', 400)) FROM generate_series(1, 100000)
"""
_PLAIN_INDEXES = """
    SELECT c.relname, pg_get_indexdef(c.oid) FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
    WHERE c.relnamespace = 'fairlead'::regnamespace AND NOT c.relispartition
      AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = c.oid) ORDER BY 1
"""
_LATE_PARTITIONS = """
    SELECT c.oid::regclass::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'fairlead.job_history_succeeded'::regclass
      AND to_date(substring(c.relname from '[0-9]{8}$'), 'YYYYMMDD') > current_date + 3
"""


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Examine:
    """Return a function that asks the doctor."""
    return Examine(monkeypatch, capsys)


def holding(connect: Connect) -> Connection[TupleRow]:
    """Return a session that holds a snapshot."""
    session = connect()
    session.execute("SET application_name = 'nightly report'")
    session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    session.execute("SELECT count(*) FROM fairlead.jobs")
    return session


def test_a_snapshot_is_reported_with_its_holder_until_that_is_ended(
    database_url: str, examine: Examine, connect: Connect
) -> None:
    """By its process, its application and its age; a young one is let pass."""
    holder = holding(connect)
    assert () == examine(database_url).of("snapshot")

    found = examine(database_url, "--older-than", "1ms").one("snapshot")

    assert f"Session {holder.info.backend_pid} (nightly report, login fairlead, idle in" in str(
        found["what"]
    )
    mend(database_url, found)
    assert () == examine(database_url, "--older-than", "1ms").of("snapshot")


def test_every_index_of_the_schema_that_is_missing_is_made_again(
    database_url: str, examine: Examine, db: Connection[TupleRow]
) -> None:
    """As it was, by the statement that is printed."""
    before = db.execute(_PLAIN_INDEXES).fetchall()
    for name, _ in before:
        db.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier("fairlead", str(name))))

    found = examine(database_url).of("index")

    assert len(before) == len(found)
    for each in found:
        mend(database_url, each)
    assert before == db.execute(_PLAIN_INDEXES).fetchall()
    assert () == examine(database_url).of("index")


def test_a_constraint_that_is_missing_is_made_again(
    database_url: str, examine: Examine, db: Connection[TupleRow]
) -> None:
    """With the index that it is kept by."""
    db.execute("ALTER TABLE fairlead.paused DROP CONSTRAINT paused_once")

    found = examine(database_url).one("index")

    assert "stops" == found["harm"]
    mend(database_url, found)
    assert () == examine(database_url).of("index")


def test_an_index_whose_making_was_cut_short_is_made_anew(
    database_url: str,
    examine: Examine,
    db: Connection[TupleRow],
    connect: Connect,
) -> None:
    """It is there and cannot be used; one that the schema does not know is dropped."""
    make = b"CREATE INDEX CONCURRENTLY %b ON fairlead.jobs (expires_at)"
    db.execute("DROP INDEX fairlead.jobs_dedup")
    holder = holding(connect)
    db.execute("SET statement_timeout = '500ms'")
    for name in (b"jobs_dedup", b"our_own"):
        with pytest.raises(errors.QueryCanceled):
            db.execute(make % name)
    holder.close()

    found = examine(database_url).of("index")

    assert {"stops", "wastes"} == {each["harm"] for each in found}
    for each in found:
        mend(database_url, each)
    assert () == examine(database_url).of("index")


def test_dead_rows_that_vacuum_has_not_taken_are_reported(
    database_url: str, examine: Examine, db: Connection[TupleRow]
) -> None:
    """With how many there are, until the table is vacuumed."""
    db.execute("INSERT INTO fairlead.jobs (kind) SELECT 'k' FROM generate_series(1, 25000)")
    db.execute("DELETE FROM fairlead.jobs")
    db.execute(_FLUSH)

    found = examine(database_url).one("dead rows")

    assert "fairlead.jobs has 25,000 dead rows beside 0 living ones" in str(found["what"])
    mend(database_url, found)
    assert () == examine(database_url).of("dead rows")


def test_a_table_and_an_index_that_are_mostly_empty_are_reported(
    database_url: str, examine: Examine, db: Connection[TupleRow]
) -> None:
    """After a flood is gone, until they are written anew."""
    db.execute(_MANY)
    db.execute("DELETE FROM fairlead.jobs WHERE id <= (SELECT max(id) - 10 FROM fairlead.jobs)")
    db.execute(_FLUSH)
    db.execute("VACUUM ANALYZE fairlead.jobs")

    report = examine(database_url).of("empty space")

    assert ["fairlead.jobs", "Index"] == [str(each["what"]).split()[0] for each in report], (
        report
    )
    table, index = report
    assert "Index fairlead.jobs_lane takes" in str(index["what"])
    mend(database_url, index)
    assert (table["what"],) == tuple(
        each["what"] for each in examine(database_url).of("empty space")
    )
    mend(database_url, table)
    assert () == examine(database_url).of("empty space")


def test_a_table_that_is_not_vacuumed_by_itself_is_reported(
    database_url: str, examine: Examine, db: Connection[TupleRow]
) -> None:
    """Until it is again, with its other settings as they were."""
    db.execute("ALTER TABLE fairlead.jobs SET (autovacuum_enabled = false)")

    of_table = [
        each
        for each in examine(database_url).of("autovacuum")
        if "fairlead.jobs" in str(each["what"])
    ]

    mend(database_url, of_table[0])
    left = examine(database_url).of("autovacuum")
    assert ["The server's autovacuum is off."] == [each["what"] for each in left]


def test_partitions_that_run_out_are_reported(
    database_url: str, examine: Examine, db: Connection[TupleRow]
) -> None:
    """Until they are made."""
    for (name,) in db.execute(_LATE_PARTITIONS).fetchall():
        db.execute(f"DROP TABLE {name}".encode())

    found = examine(database_url).one("partitions")

    assert ("slows", True) == (found["harm"], "for 3 days after today" in str(found["what"]))
    mend(database_url, found)
    assert () == examine(database_url).of("partitions")


def test_a_lease_that_lapsed_is_reported_until_the_worker_is_released(
    database_url: str, examine: Examine, db: Connection[TupleRow]
) -> None:
    """With the jobs that it holds, which wait again afterwards."""
    worker = register(db, name="lost")
    db.execute("UPDATE fairlead.worker_leases SET lease_until = now() - interval '1 minute'")
    db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")
    db.execute(
        "INSERT INTO fairlead.work_queue (job_id, vtag, estimate_us, epoch, runnable_at,"
        " timeout, band, pool, queue, tenant, worker, token, claimed_at, deadline)"
        " SELECT id, 1, 1, 1, now(), '1 min', 0, 'default', queue, tenant, %s, 7, now(),"
        " now() + interval '1 min' FROM fairlead.jobs",
        [worker],
    )

    found = examine(database_url).one("lease")

    assert "stops" == found["harm"]
    assert f"worker lost (id {worker}, pool default) lapsed 1 m" in str(found["what"])
    assert "holds 1 job." in str(found["what"])
    mend(database_url, found)
    assert () == examine(database_url).of("lease")
    assert (None,) == db.execute("SELECT worker FROM fairlead.work_queue").fetchone()


def test_kinds_that_run_alone_are_reported_until_no_worker_says_so(
    database_url: str, examine: Examine, db: Connection[TupleRow]
) -> None:
    """With their tenant and the number of workers; those of a lost worker do not count."""
    for sources, lease in (
        ('[["resize", "acme"], ["send", "acme"]]', "1 hour"),
        ('[["resize", "acme"]]', "1 hour"),
        ('[["resize", "bolt"]]', "-1 minute"),
    ):
        worker = register(db, lease=lease)
        statement = "UPDATE fairlead.worker_leases SET crash_breakers = %s WHERE id = %s"
        db.execute(statement, [sources, worker])

    resize, send = examine(database_url).of("crashes")

    assert "slows" == resize["harm"]
    assert "kind resize of tenant acme run one at a time on 2 workers" in str(resize["what"])
    assert "kind send of tenant acme run one at a time on 1 worker" in str(send["what"])
    mend(database_url, resize)
    db.execute("UPDATE fairlead.worker_leases SET crash_breakers = NULL")
    assert () == examine(database_url).of("crashes")


def test_kinds_that_run_alone_are_read_of_so_many_workers_and_of_each_login(
    database_url: str,
    examine: Examine,
    db: Connection[TupleRow],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many workers of one login, which may say anything, hide no other's; it says how many."""
    monkeypatch.setattr(reader, "_BREAKING_WORKERS", 20)
    db.execute(
        "INSERT INTO fairlead.worker_leases"
        " (lease_until, slots, name, pool, login, crash_breakers)"
        " SELECT now() + interval '1 hour', 1, 'w', 'default', s.login,"
        " jsonb_build_array(jsonb_build_array(s.kind, 'acme'))"
        " FROM (SELECT 'one' AS login, 'resize' AS kind UNION ALL"
        " SELECT 'many', 'k' || i FROM generate_series(1, 24) i) s"
    )

    found = examine(database_url)

    kinds = {str(each["what"]).split()[3] for each in found.of("crashes")}
    assert {"resize", *(f"k{number}" for number in range(6, 25))} == kinds
    (unseen,) = [each for each in found.unseen if "run alone" in str(each["what"])]
    assert "25 workers have some: 20 of them" in str(unseen["why"])


def test_a_clock_that_is_off_is_reported(
    database_url: str, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is this machine's that is looked at; the server's decides."""
    now = reader._now  # pyright: ignore[reportPrivateUsage] - no test can set the clock
    with monkeypatch.context() as patched:
        patched.setattr(reader, "_now", lambda: now() + timedelta(seconds=90))
        found = examine(database_url).one("clock")
    assert "1 m 30 s ahead of the server's" in str(found["what"])
    assert () == examine(database_url).of("clock")


_TABLES = {
    "who leads",
    "workers' leases, pools without workers, and kinds that run alone",
    "queues that no pool serves",
    "whether limits are used",
    "the policy: pools and limits",
}


@pytest.mark.parametrize(
    ("role", "unseen"),
    [
        ("fairlead_admin", set[str]()),
        ("fairlead_operator", set[str]()),
        ("fairlead_scheduler", set[str]()),
        (
            "fairlead_autoscaler",
            {"queues that no pool serves", "whether limits are used"},
        ),
        ("fairlead_enqueue", _TABLES),
        ("fairlead_worker", _TABLES),
    ],
)
def test_each_role_is_told_what_it_cannot_see_and_how_it_could(
    database_url: str, examine: Examine, role: str, unseen: set[str]
) -> None:
    """Other logins' snapshots beside; after what is printed was granted it sees all."""
    with login(database_url, role) as name:
        url = as_login(database_url, name)
        report = examine(url)

        assert {*unseen, "snapshots of other logins' sessions"} == report.unseen_things()
        for each in report.unseen:
            assert ["sql"] == [where for where, _ in steps(each)]
            mend(database_url, each)
        assert set() == examine(url).unseen_things()


def test_what_fails_for_a_value_is_said_to_be_unseen(
    database_url: str, db: Connection[TupleRow], examine: Examine
) -> None:
    """It ends that one statement, and all else is looked at."""
    db.execute(
        "CREATE OR REPLACE FUNCTION fairlead._leader_fault(of_role text) RETURNS text"
        " LANGUAGE sql STABLE AS 'SELECT (1 / 0)::text'"
    )

    assert {"who leads"} == examine(database_url).unseen_things()


def test_what_is_locked_is_said_to_be_unseen(
    database_url: str, examine: Examine, connect: Connect
) -> None:
    """After a second; all else is looked at."""
    locker = connect(autocommit=False)
    locker.execute("LOCK TABLE fairlead.leaders")

    report = examine(database_url)

    assert {"who leads", "dead rows and empty space"} == report.unseen_things()
    assert () == report.of("lead")
    locker.rollback()
    assert 1 == len(examine(database_url).of("lead"))


def test_a_database_that_cannot_be_asked_is_exit_code_2(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Because it is away, or has no schema; and so is a wrong argument."""
    for url, words, says in (
        ("postgresql://127.0.0.1:1/x", [], "cannot reach the database"),
        (database_url.rpartition("/")[0] + "/postgres", [], "run `fairlead migrate`"),
        (
            database_url,
            ["--older-than", "soon"],
            "--older-than 'soon': give a duration such as 90s",
        ),
    ):
        monkeypatch.setenv("FAIRLEAD_DATABASE_URL", url)

        assert 2 == run(["doctor", *words])

        said = capsys.readouterr()
        assert ("", True) == (said.out, says in said.err), said
        assert 1 == len(said.err.splitlines())


def test_people_read_the_worst_first_with_its_fix(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbered, with what it means, and a prompt that says where the fix is typed."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", database_url)

    assert 1 == run(["doctor"])

    lines = capsys.readouterr().out.splitlines()
    assert " 1. stops  lead: No scheduler leads: none ever has." == lines[0]
    assert lines[1].startswith("    means  Nothing is dispatched")
    assert lines[2].startswith("    fix    $ fairlead scheduler  # on Kubernetes: kubectl ")
    assert " 2. slows  autovacuum: The server's autovacuum is off." == lines[3]
    assert "    fix    sql> alter system set autovacuum = on" in lines


def test_the_doctor_changes_nothing(
    database_url: str, examine: Examine, db: Connection[TupleRow]
) -> None:
    """Its transactions are read only."""
    with psycopg.connect(database_url, autocommit=True) as session:
        asking = reader.Reader(session)
        ask = asking._rows  # pyright: ignore[reportPrivateUsage] - no statement of its writes
        given: dict[str, object] = {"queue": "q", "tenant": None, "lasts": None, "until": None}
        with pytest.raises(errors.ReadOnlySqlTransaction):
            ask("pause", given, package="fairlead_cli")
    examine(database_url)
    assert (0,) == db.execute("SELECT count(*) FROM fairlead.paused").fetchone()
