"""The schema is installed once, by the first installer, and equals `schema.sql`."""

from collections.abc import Iterator
from concurrent.futures import Future
from itertools import count
from types import ModuleType

import psycopg
import pytest
from psycopg import Connection, sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from docs.generate import rights, schema
from docs.generate import sql as contract
from fairlead.db import migrate as migrating
from fairlead.db.migrate import Migration, migrate, migrations, plan, schema_state
from fairlead_cli.dev.postgres import Server
from tests.conftest import Background, Connect
from tests.support import tree

_numbers = count(1)

_VERSIONS = "SELECT version FROM fairlead.schema_versions ORDER BY version"
_CALLABLE_BY_PUBLIC = """
    SELECT p.oid::regprocedure::text FROM pg_proc p
    WHERE p.pronamespace = 'fairlead'::regnamespace
      AND has_function_privilege('public', p.oid, 'execute')
"""
_SEEN_BY_PUBLIC = """
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind IN ('r', 'p', 'v')
      AND has_any_column_privilege('public', c.oid, 'select, insert, update')
"""


@pytest.fixture
def empty_url(server: Server) -> Iterator[str]:
    """Yield the URL of a database without the schema."""
    name = f"empty_{next(_numbers)}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield make_conninfo(server.url, dbname=name)
        connection.execute(
            sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        )


@pytest.fixture
def empty(empty_url: str) -> Iterator[Connection[TupleRow]]:
    """Yield a connection to a database without the schema."""
    with psycopg.connect(empty_url, autocommit=True) as connection:
        yield connection


def versions(connection: Connection[TupleRow]) -> list[int]:
    """Return the versions that the database says were applied."""
    return [int(str(row[0])) for row in connection.execute(_VERSIONS)]


def numbers() -> list[int]:
    """Return the versions that there are."""
    return [step.version for step in migrations()]


def test_replaying_all_migrations_equals_the_committed_schema(
    db: Connection[TupleRow], database_url: str
) -> None:
    """What differs is named; `python -m docs.generate` writes the file anew."""
    if db.info.server_version // 10_000 != schema.MAJOR:
        pytest.skip(f"schema.sql is worded by PostgreSQL {schema.MAJOR}")
    committed = schema.objects((tree.ROOT / schema.PATH).read_text("utf-8"))

    replayed = schema.objects(schema.dump(database_url))

    differing = {
        name
        for name in committed.keys() | replayed.keys()
        if committed.get(name) != replayed.get(name)
    }
    assert set() == differing


@pytest.mark.parametrize("page", [contract, rights], ids=["contract", "rights"])
def test_the_reference_of_the_database_is_what_the_database_says(
    db: Connection[TupleRow], database_url: str, page: ModuleType
) -> None:
    """`python -m docs.generate` writes the pages anew."""
    if db.info.server_version // 10_000 != schema.MAJOR:
        pytest.skip(f"the page is worded by PostgreSQL {schema.MAJOR}")

    assert (tree.ROOT / page.PATH).read_text("utf-8") == page.render(database_url)


def test_migrating_again_changes_nothing(db: Connection[TupleRow]) -> None:
    """A repeat runs no step."""
    before = partitions(db)

    ran = migrate(db)

    assert () == ran
    assert numbers() == versions(db)
    assert before == partitions(db)
    assert "create table fairlead.jobs (" not in plan(db)


def partitions(connection: Connection[TupleRow]) -> int:
    """Return how many tables the history has."""
    row = connection.execute(
        "SELECT count(*) FROM pg_partition_tree('fairlead.job_history')"
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_many_installers_at_once_run_each_step_once(
    empty_url: str, empty: Connection[TupleRow], background: Background
) -> None:
    """Installers wait for each other and look again whether a step is still needed."""

    def install() -> tuple[str, ...]:
        with psycopg.connect(empty_url, autocommit=True) as connection:
            return migrate(connection)

    installing: list[Future[tuple[str, ...]]] = [background(install) for _ in range(6)]
    ran = [name for each in installing for name in each.result(60)]

    assert sorted(step.name for step in migrations()) == sorted(ran)
    assert numbers() == versions(empty)


def test_the_plan_run_by_hand_is_the_migration(
    empty: Connection[TupleRow], empty_url: str
) -> None:
    """`--plan` writes nothing, and what it prints installs the same schema."""
    printed = plan(empty)
    assert 0 == schema_state(empty).version

    empty.execute(printed.encode())

    assert numbers() == versions(empty)
    assert () == migrate(empty)
    if empty.info.server_version // 10_000 == schema.MAJOR:
        assert (tree.ROOT / schema.PATH).read_text("utf-8") == schema.dump(empty_url)


def test_a_step_that_fails_leaves_the_whole_steps_before_it(
    empty: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run goes on from there."""
    real = migrations()
    broken = Migration(3, "0003_expand_mistake", 1, "create table fairlead.half (); select 1/0")
    monkeypatch.setattr(migrating, "migrations", lambda: (*real[:2], broken))

    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate(empty)
    monkeypatch.undo()

    assert [1, 2] == versions(empty)
    assert [(None,)] == empty.execute("SELECT to_regclass('fairlead.half')").fetchall()
    assert tuple(step.name for step in real[2:]) == migrate(empty)


def test_after_any_step_nothing_is_callable_by_public(
    empty: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An install that stopped before the grants has left no door open."""
    real = migrations()
    broken = Migration(real[-1].version + 1, "9999_expand_mistake", 1, "select 1/0")
    monkeypatch.setattr(migrating, "migrations", lambda: (*real, broken))

    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate(empty)

    assert numbers() == versions(empty)
    assert [] == empty.execute(_CALLABLE_BY_PUBLIC).fetchall()


def test_an_older_install_loses_the_rights_that_nobody_needs_any_more(
    empty: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grants are set anew, and only a migration takes one away."""
    real = migrations()
    broken = Migration(28, "0028_expand_mistake", 1, "select 1/0")
    monkeypatch.setattr(migrating, "migrations", lambda: (*real[:27], broken))
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate(empty)
    monkeypatch.undo()
    empty.execute("GRANT SELECT ON SEQUENCE fairlead.backlog_gate TO fairlead_enqueue")
    empty.execute(
        "GRANT EXECUTE ON FUNCTION fairlead._has_room(text, text, text, bigint),"
        " fairlead._backlog_bit(text) TO fairlead_enqueue, fairlead_scheduler, fairlead_admin"
    )

    migrate(empty)

    assert [("fairlead_scheduler", "_backlog_bit")] == empty.execute(
        "SELECT g.grantee, g.routine_name FROM information_schema.routine_privileges g"
        " WHERE g.routine_name IN ('_has_room', '_backlog_bit') AND g.grantee LIKE 'fairlead_%'"
    ).fetchall()
    assert [(False,)] == empty.execute(
        "SELECT has_sequence_privilege('fairlead_enqueue', 'fairlead.backlog_gate', 'select')"
    ).fetchall()


def test_an_upgrade_takes_no_note_for_a_checkpoint(
    empty: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a run that was cut short had noted was text for people, in the same column."""
    real = migrations()
    broken = Migration(71, "0071_expand_mistake", 1, "select 1/0")
    monkeypatch.setattr(migrating, "migrations", lambda: (*real[:70], broken))
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate(empty)
    monkeypatch.undo()
    empty.execute("INSERT INTO fairlead.jobs (kind) VALUES ('noted'), ('new')")
    empty.execute("UPDATE fairlead.jobs SET checkpoint = '7' WHERE kind = 'noted'")

    migrate(empty)

    found = empty.execute("SELECT kind, checkpoint FROM fairlead.jobs ORDER BY id").fetchall()
    assert [("noted", None), ("new", None)] == found


def test_public_may_call_and_see_nothing(db: Connection[TupleRow]) -> None:
    """Every function is revoked from PUBLIC, and so is every table."""
    assert [] == db.execute(_CALLABLE_BY_PUBLIC).fetchall()
    assert [] == db.execute(_SEEN_BY_PUBLIC).fetchall()
    assert [(False,)] == db.execute(
        "SELECT has_schema_privilege('public', 'fairlead', 'usage')"
    ).fetchall()


@pytest.mark.parametrize(("compatible_from", "fits"), [(1, True), (99, False)])
def test_a_newer_schema_is_left_as_it_is(
    db: Connection[TupleRow], compatible_from: int, *, fits: bool
) -> None:
    """A newer one fits as long as it says that this code's version may run on it."""
    db.execute(
        "INSERT INTO fairlead.schema_versions VALUES (99, '0099_expand_later', %s)",
        [compatible_from],
    )
    db.execute("DROP VIEW fairlead.workers")

    ran = migrate(db)

    state = schema_state(db)
    assert () == ran
    assert fits is state.fits
    assert state.newer() in plan(db)
    assert [(None,)] == db.execute("SELECT to_regclass('fairlead.workers')").fetchall()


def test_an_older_programs_migrate_leaves_newer_views_of_the_same_version(
    db: Connection[TupleRow],
) -> None:
    """A rollback finds a column more than it knows: it says so, and sets the rest anew."""
    row = db.execute("SELECT pg_get_viewdef('fairlead.workers'::regclass)").fetchone()
    assert row is not None
    newer = str(row[0]).replace(" AS held", " AS held, w.slots AS later", 1)
    db.execute(f"CREATE OR REPLACE VIEW fairlead.workers AS {newer}".encode())
    db.execute("REVOKE SELECT ON fairlead.workers FROM fairlead_scheduler")
    said: list[str] = []
    db.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))

    assert () == migrate(db)
    db.execute(plan(db).encode())

    sentence = "the views are newer than this program's, fit it, and were left as they are"
    assert 2 == said.count(sentence)
    assert [] == db.execute("SELECT later FROM fairlead.workers").fetchall()
    granted = "SELECT has_table_privilege('fairlead_scheduler', 'fairlead.workers', 'select')"
    assert [(True,)] == db.execute(granted).fetchall()


def test_peoples_own_views_on_the_public_ones_stay(db: Connection[TupleRow]) -> None:
    """Views are replaced, not dropped."""
    db.execute("CREATE VIEW public.mine AS SELECT id, state FROM fairlead.job_status")

    migrate(db)

    assert [] == db.execute("SELECT * FROM public.mine").fetchall()


def test_history_partitions_stand_for_a_fortnight_beside_a_default_one(
    db: Connection[TupleRow],
) -> None:
    """Yesterday, today and 14 days ahead, for each class of outcomes; twice makes none."""
    rows = db.execute(
        "SELECT split_part(relid::text, '_', 3), count(*),"
        " bool_or(pg_get_expr(relpartbound, oid) = 'DEFAULT')"
        " FROM pg_partition_tree('fairlead.job_history')"
        " JOIN pg_class ON oid = relid WHERE isleaf GROUP BY 1 ORDER BY 1"
    ).fetchall()

    assert [("succeeded", 17, True), ("unsuccessful", 17, True)] == rows
    # The copied schema may be of yesterday: two partitions are to come for each day since.
    unexpected = db.execute(
        "SELECT fairlead.make_history_partitions() - 2 * ("
        " (now() AT TIME ZONE 'UTC')::date - (min(applied_at) AT TIME ZONE 'UTC')::date)"
        " FROM fairlead.schema_versions"
    ).fetchall()
    assert [(0,)] == unexpected
    assert [(0,)] == db.execute("SELECT fairlead.make_history_partitions()").fetchall()
    assert [(2,)] == db.execute("SELECT fairlead.make_history_partitions(15)").fetchall()


def test_installing_waits_for_an_installer_and_not_for_a_reader(
    db: Connection[TupleRow], connect: Connect
) -> None:
    """A reader of the views or of the history holds up no migrate."""
    reader = connect(autocommit=False)
    reader.execute("SELECT FROM fairlead.jobs, fairlead.job_history")
    db.execute("SET statement_timeout = '5s'")

    assert () == migrate(db)
