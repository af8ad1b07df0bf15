"""A standby that is promoted without the last commits of its primary."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.support.databases import FAST, fast_folder, running_server
from tests.support.race import Database
from tests.support.waiting import until

_WRITTEN = "SELECT pg_current_wal_insert_lsn()::text"
_REPLAYED = "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn"
_RECEIVING = "SELECT EXISTS (SELECT FROM pg_stat_wal_receiver)"
_NEXT = "SELECT last_value + is_called::integer FROM fairlead.{}"


@dataclass(frozen=True, slots=True)
class Replicated:
    """A primary and its asynchronous standby, with a session on each."""

    primary: Database
    standby: Database

    def cut(self) -> None:
        """Let the standby catch up, and then receive nothing more."""
        row = self.primary.execute(_WRITTEN).fetchone()
        assert row is not None
        until(
            lambda: self.standby.execute(_REPLAYED, [row[0]]).fetchone() == (True,),
            what="the standby having caught up",
        )
        self.standby.execute("ALTER SYSTEM SET primary_conninfo = ''")
        self.standby.execute("SELECT pg_reload_conf()")
        until(
            lambda: self.standby.execute(_RECEIVING).fetchone() == (False,),
            what="the standby receiving no more",
        )

    def level(self, sequence: str) -> None:
        """Draw from the primary's sequence until the standby would give the same number next.

        A sequence's log is up to 32 numbers ahead of it, and so is a standby.
        """
        behind = _next(self.standby, sequence) - _next(self.primary, sequence)
        self.primary.execute(
            "SELECT nextval(%s) FROM generate_series(1, %s)", [f"fairlead.{sequence}", behind]
        )
        assert _next(self.primary, sequence) == _next(self.standby, sequence)

    def promote(self) -> None:
        """Make the standby a primary; what it had not received is lost."""
        assert (True,) == self.standby.execute("SELECT pg_promote(true, 60)").fetchone()


@contextmanager
def replicated(data: Path) -> Generator[Replicated]:
    """Yield a migrated primary and its standby.

    Args:
        data: the data folder of a stopped server, with which both begin.
    """
    folder = fast_folder()
    with (
        running_server(FAST, within=folder, data=data) as primary,
        running_server(FAST, within=folder, data=data, primary=primary) as standby,
        psycopg.connect(primary.url, autocommit=True) as on_primary,
        psycopg.connect(standby.url, autocommit=True) as on_standby,
    ):
        yield Replicated(on_primary, on_standby)


def _next(db: Database, sequence: str) -> int:
    row = db.execute(_NEXT.format(sequence).encode()).fetchone()
    assert row is not None
    return int(row[0])
