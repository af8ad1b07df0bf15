"""Applications add, commit and roll back while leaders count, die and follow each other.

Every order that is drawn ends in one completion, which has every job that was committed and
comes after the last of them has ended.
"""

from collections import Counter
from collections.abc import Callable
from random import Random

import psycopg
import pytest

from tests.conftest import Connect
from tests.support.batches import NOT_JOINED, add, completions, finish, make, settle
from tests.support.race import Database, lead

_STEPS = 120
_LOCKED = "55P03"
"""The SQLSTATE of a lock that was not got in time."""


class Play:
    """Three applications and two leaders, each with a transaction that may be open."""

    def __init__(self, db: Database, connect: Connect, draw: Random) -> None:
        self._db, self._draw = db, draw
        self._epoch = lead(db)
        self.batch = make(db, is_open=True)
        self._applications = [connect(autocommit=False) for _ in range(3)]
        self._leaders = [connect(autocommit=False) for _ in range(2)]
        db.execute("SET lock_timeout = '20ms'")
        for session in self._applications:
            session.execute("SET lock_timeout = '20ms'")
            session.commit()
        self._added: dict[Database, list[int]] = {each: [] for each in self._applications}
        self.live: list[int] = []
        self.ended: Counter[str] = Counter()

    def step(self) -> None:
        """Do one thing that somebody might do now."""
        steps: list[Callable[[], None]] = [
            *[self.add, self.commit, self.end, self.settle] * 3,
            *[self.commit_leader] * 2,
            *(self.roll_back, self.kill_leader, self.close),
        ]
        self._draw.choice(steps)()

    def add(self) -> None:
        """Add jobs, unless the batch is over or a leader is just at it."""
        session = self._draw.choice(self._applications)
        try:
            self._added[session] += add(session, self.batch, count=self._draw.choice((1, 1, 5)))
        except psycopg.Error as error:
            session.rollback()
            self._added[session] = []
            assert error.sqlstate in {NOT_JOINED, _LOCKED}  # noqa: PT017 - one of two

    def commit(self) -> None:
        """Commit what an application has added."""
        session = self._draw.choice(self._applications)
        session.commit()
        self.live += self._added[session]
        self._added[session] = []

    def roll_back(self) -> None:
        """Take back what an application has added."""
        session = self._draw.choice(self._applications)
        session.rollback()
        self._added[session] = []

    def end(self) -> None:
        """End some jobs, in any order and with any outcome."""
        some = self._draw.sample(self.live, k=len(self.live) // 2 + len(self.live) % 2)
        outcome = self._draw.choice(("succeeded", "failed", "cancelled", "expired"))
        finish(self._db, some, outcome)
        self.ended[outcome] += len(some)
        self.live = [job for job in self.live if job not in some]

    def settle(self) -> None:
        """Do a leader's step, not committed yet: a few jobs at a time."""
        settle(self._draw.choice(self._leaders), self._epoch, limit=self._draw.choice((1, 7)))

    def commit_leader(self) -> None:
        """Have a leader's step be done."""
        self._draw.choice(self._leaders).commit()

    def kill_leader(self) -> None:
        """Have a leader's step be undone."""
        self._draw.choice(self._leaders).rollback()

    def close(self) -> None:
        """Close the batch, unless a leader is just at it."""
        try:
            self._db.execute("SELECT fairlead.close_batch(%s)", [self.batch])
        except psycopg.errors.LockNotAvailable:
            return

    def finish(self) -> None:
        """Let everything come to its end."""
        for session in self._leaders:
            session.rollback()
        for session in self._applications:
            session.commit()
            self.live += self._added[session]
        finish(self._db, self.live, "succeeded")
        self.ended["succeeded"] += len(self.live)
        self.live = []
        self.close()
        while settle(self._db, self._epoch).more:
            pass


@pytest.mark.parametrize("seed", range(16))
def test_whatever_the_order_one_completion_has_every_job(
    db: Database, connect: Connect, seed: int
) -> None:
    """Never before all that joined have ended, and never twice."""
    play = Play(db, connect, Random(seed))

    for _ in range(_STEPS):
        play.step()
        assert not (completions(db) and play.live)
    play.finish()

    jobs = play.ended.total()
    expected = {"id": play.batch, "jobs": jobs, **play.ended}
    assert [{name: count for name, count in expected.items() if count}] == completions(db)
    assert [] == db.execute("SELECT FROM fairlead.batch_jobs").fetchall()
