"""All kinds of calls at once on a few jobs: what each thread does, from a seed, for a time."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

import psycopg

from tests.support.race import (
    STALE,
    Database,
    Lease,
    answer,
    claim,
    dispatch,
    end,
    finish,
    finish_free,
    insert,
    leading,
    let_expire,
    promote,
    register,
    steal,
)

LOCKED = "55P03"
UNFINISHED_MAX = 12
ENDINGS = ("failed", "snoozed", "returned", "released", "crashed", "lost")


@dataclass(slots=True)
class Account:
    """What one thread was answered; threads share nothing but the database."""

    inserted: list[int] = field(default_factory=list[int])
    claimed: list[Lease] = field(default_factory=list[Lease])
    finished: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    deadlocks: list[str] = field(default_factory=list[str])
    steps: int = 0


def hunt(
    db: Database, play: "Callable[[Player], None]", *, seed: int, seconds: float
) -> Account:
    """Repeat one role's step; count deadlocks, and let every other error end the hunt."""
    player = Player(db, random.Random(seed), Account())
    until = monotonic() + seconds
    while monotonic() < until:
        try:
            play(player)
        except psycopg.errors.DeadlockDetected as error:
            player.account.deadlocks.append(f"{play.__name__}: {error}")
        player.account.steps += 1
    return player.account


@dataclass(slots=True)
class Player:
    """One thread's connection, dice, account and open leases."""

    db: Database
    dice: random.Random
    account: Account
    worker: int = 0
    leases: list[Lease] = field(default_factory=list[Lease])

    def some(self, most: int) -> list[int]:
        """Return a few unfinished jobs, in no order."""
        rows = self.db.execute(
            "SELECT id FROM fairlead.jobs ORDER BY random() LIMIT %s", [most]
        )
        return [row[0] for row in rows.fetchall()]

    def held(self, most: int) -> list[Lease]:
        """Return a few leases: own ones, most of them stale by now, or live ones of any."""
        if self.dice.random() < 0.5:
            return self.dice.sample(self.leases, min(most, len(self.leases)))
        rows = self.db.execute(
            "SELECT job_id, token FROM fairlead.work_queue WHERE token IS NOT NULL"
            " ORDER BY random() LIMIT %s",
            [most],
        )
        return [Lease(*row) for row in rows.fetchall()]


def application(player: Player) -> None:
    """Insert while there are few jobs; cancel several by id at once, or retry each alone."""
    jobs = player.some(UNFINISHED_MAX)
    if len(jobs) < UNFINISHED_MAX:
        key = player.dice.choice([None, "a", "b"])
        player.account.inserted += insert(
            player.db, dedup_key=key, count=1 if key else 3, timeout="1 millisecond"
        )
    chosen = sorted(jobs[: player.dice.randint(0, 3)])
    if player.dice.random() < 0.4:
        with player.db.transaction():
            for job in chosen:
                answer(player.db, "cancel(%s)", job)
    else:
        again = [answer(player.db, "retry(%s)", job) for job in chosen]
        player.account.inserted += [job for job in again if isinstance(job, int)]


def dispatcher(player: Player) -> None:
    """Dispatch everything there is, whatever has become of it: a leader has one such loop."""
    dispatch(player.db, player.some(UNFINISHED_MAX), epoch=leading(player.db))


def sweeper(player: Player) -> None:
    """Promote what was to run again, expire, recall and steal, beside the dispatcher."""
    epoch = leading(player.db)
    let_expire(player.db, *player.some(1)[: player.dice.randint(0, 1)])
    promote(player.db, epoch=epoch)
    match player.dice.randrange(3):
        case 0:
            answer(player.db, "_expire(%s, '-infinity', 3)", epoch)
        case 1:
            answer(player.db, "_recall(%s, %s::bigint[])", epoch, player.some(3))
        case _:
            steal(player.db, epoch=epoch, overdue_seconds=0.005, limit=3)


def worker(player: Player) -> None:
    """Claim; end batches that are mostly stale in every way, sometimes in a handler's way."""
    player.worker = player.worker or register(player.db)
    for lease in claim(player.db, player.worker, limit=player.dice.randint(1, 4)):
        player.account.claimed.append(lease)
        player.leases.append(lease)
    del player.leases[:-8]
    act = player.dice.choice([_finish, _finish, _hand_back, _handle])
    act(player)


def _finish(player: Player) -> None:
    """Wait for locks as long as a worker does, which gives way before a deadlock is found."""
    batch = player.held(4)
    newest = {lease.job: lease.token for lease in sorted(batch, key=lambda each: each.token)}
    try:
        ended = finish(player.db, batch, lock_timeout="0")
    except psycopg.errors.LockNotAvailable:
        ended, _ = finish_free(player.db, batch)
    player.account.finished += [(job, newest[job]) for job in ended]


def _hand_back(player: Player) -> None:
    for lease in player.held(2):
        end(
            player.db,
            lease,
            player.dice.choice(ENDINGS),
            delay="1 millisecond",
            patient=player.dice.random() < 0.5,
        )


def _handle(player: Player) -> None:
    """Complete in a transaction that perhaps began with an extension, as handlers do."""
    for lease in player.held(1):
        try:
            with player.db.transaction():
                if player.dice.random() < 0.5:
                    answer(player.db, "extend(%s, %s, '1 second')", lease.job, lease.token)
                answer(player.db, "complete(%s, %s)", lease.job, lease.token)
            player.account.finished.append((lease.job, lease.token))
        except psycopg.Error as error:
            if error.sqlstate not in {STALE, LOCKED}:
                raise
