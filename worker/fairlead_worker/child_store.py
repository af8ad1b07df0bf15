"""The child's doors to the database: one function per statement, values in and values out.

Claims have a connection of their own and so do endings, so that a slow one never delays the
other. A repeat of an ending is harmless: its token holds nothing any more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple, TypeAlias, cast

from fairlead.job import Claimed
from fairlead.sql import integers, load
from fairlead.store import Connection
from fairlead_worker.attempt import Attempt
from fairlead_worker.keys import Key, columns
from fairlead_worker.outcome import Finished, HandedBack, Stop

_PLAIN = Finished("succeeded")
_BY_JOB_ID = attrgetter("job_id")
Stops: TypeAlias = dict[int, Stop]
"""Tokens of attempts that are to stop, and why."""


@dataclass(frozen=True, slots=True)
class Claiming:
    """Who claims, and from which pool."""

    worker_id: int
    pool: str


@dataclass(frozen=True, slots=True)
class Lone:
    """An attempt that begins now, alone, and whether its job has died alone before."""

    row: Claimed
    died_alone: bool


def claim(
    connection: Connection, who: Claiming, *, limit: int, below_floor: bool
) -> list[Claimed]:
    """Lease up to `limit` queued jobs; none for a worker that is dead."""
    rows = connection.execute(
        load("fairlead_worker", "claim"),
        {"worker": who.worker_id, "pool": who.pool, "limit": limit, "below_floor": below_floor},
    ).fetchall()
    return [Claimed._make(row) for row in rows]


class OriginRow(NamedTuple):
    """A job's beginning, and its last attempt that did not end it, if there was one."""

    job_id: int
    created_us: int
    token: int | None
    attempt: int | None
    ended_as: str | None


def origins(connection: Connection, ids: Iterable[int]) -> list[OriginRow]:
    """Read what the traces of these jobs go by."""
    values = {"ids": integers(ids)}
    rows = connection.execute(load("fairlead_worker", "origins"), values).fetchall()
    return [OriginRow._make(row) for row in rows]


class Claimable(NamedTuple):
    """What an idle worker sees."""

    found: bool
    """Whether a claim would find something there."""
    turn_due: bool
    """Whether it is anybody's turn to claim below it."""


def look(connection: Connection, pool: str, *, below_floor: bool) -> Claimable:
    """Look whether there is something to claim; a third of a claim's cost."""
    values = {"pool": pool, "below_floor": below_floor}
    seen = connection.execute(load("fairlead_worker", "claimable"), values).fetchone()
    return Claimable(*map(bool, seen or (False, False)))


def take_turn(connection: Connection, pool: str) -> bool:
    """Tell whether it is our turn to claim below the floor: once a second per pool."""
    found = connection.execute(load("fairlead_worker", "take_turn"), {"pool": pool})
    return found.fetchone() is not None


def begin_alone(connection: Connection, key: Key) -> Lone | None:
    """Begin an attempt that is leased already; None when the token holds it no longer."""
    found = connection.execute(
        load("fairlead_worker", "begin_alone"), {"job_id": key[0], "token": key[1]}
    ).fetchone()
    if found is None:
        return None
    *row, died_alone = found
    return Lone(Claimed._make(row), bool(died_alone))


def drop_orphans(connection: Connection, keys: Iterable[Key]) -> None:
    """Delete claimed rows whose jobs are gone."""
    connection.execute(load("fairlead_worker", "drop_orphan"), columns(keys))


def finish(connection: Connection, attempts: Iterable[Attempt]) -> set[int]:
    """End jobs for good, in one transaction; answer the tokens that held.

    Attempts without an ending, or with `Finished`. A batch of plain successes, which most are,
    is three arrays of numbers.
    """
    ordered = sorted(attempts, key=_BY_JOB_ID)
    endings = [attempt.ending for attempt in ordered]
    values: dict[str, object] = {
        "ids": integers([attempt.job_id for attempt in ordered]),
        "tokens": integers([attempt.token for attempt in ordered]),
        "run_us": integers([attempt.ended_us - attempt.started_us for attempt in ordered]),
        "outcomes": None,
        "results": None,
        "errors": None,
    }
    if any(endings):
        said = [each if isinstance(each, Finished) else _PLAIN for each in endings]
        values["outcomes"] = [each.outcome for each in said]
        values["results"] = [each.result for each in said]
        values["errors"] = [each.error for each in said]
    answered = connection.execute(load("fairlead_worker", "finish"), values).fetchall()
    return {cast("int", row[0]) for row in answered}


def finish_free(
    connection: Connection, attempts: Iterable[Attempt]
) -> tuple[set[int], set[int]]:
    """End those jobs that nobody has locked; answer the tokens that held, and the others.

    Both statements are one transaction, or somebody might lock a job before the second one.
    """
    wanted = tuple(attempts)
    with connection.transaction():
        keys = columns(attempt.key for attempt in wanted)
        rows = connection.execute(load("fairlead_worker", "finish_free"), keys).fetchall()
        free = {cast("int", token) for token, is_free in rows if is_free}
        ours = [attempt for attempt in wanted if attempt.token in free]
        held = finish(connection, ours) if ours else set[int]()
    return held, {cast("int", token) for token, is_free in rows if not is_free}


def hand_back(connection: Connection, attempts: Iterable[Attempt]) -> dict[int, str]:
    """End attempts that end with `HandedBack`; answer by token what became of each.

    Raises:
        psycopg.Error: nothing of it has happened.
    """
    ordered = sorted(attempts, key=_BY_JOB_ID)
    said = [each.ending for each in ordered if isinstance(each.ending, HandedBack)]
    assert len(said) == len(ordered)
    values = {
        **columns([attempt.key for attempt in ordered]),
        "ended_as": [each.ended_as for each in said],
        "errors": [each.error for each in said],
        "delays": [
            None if each.delay_seconds is None else f"{each.delay_seconds:f} s" for each in said
        ],
    }
    rows = connection.execute(load("fairlead_worker", "hand_back"), values).fetchall()
    return {cast("int", token): str(became) for _, token, became in rows}


def finished(connection: Connection, attempts: Iterable[Attempt]) -> set[int]:
    """Return the tokens of those attempts whose ending is on record."""
    rows = connection.execute(
        load("fairlead_worker", "finished"), columns([attempt.key for attempt in attempts])
    ).fetchall()
    return {cast("int", row[0]) for row in rows}


def extend(connection: Connection, extensions: Sequence[tuple[Attempt, float]]) -> Stops:
    """Move deadlines to at least so many seconds from now; answer what is not to go on."""
    ordered = sorted(extensions, key=lambda each: each[0].job_id)
    values = {
        **columns([attempt.key for attempt, _ in ordered]),
        "seconds": [seconds for _, seconds in ordered],
    }
    rows = connection.execute(load("fairlead_worker", "extend"), values).fetchall()
    return {cast("int", token): cast("Stop", stop) for token, stop in rows if stop is not None}


def report(connection: Connection, reports: Iterable[tuple[Attempt, float, str]]) -> None:
    """Keep the progress of attempts that still hold their jobs."""
    ordered = sorted(reports, key=lambda each: each[0].job_id)
    values = {
        **columns([attempt.key for attempt, _, _ in ordered]),
        "fractions": [fraction for _, fraction, _ in ordered],
        "notes": [note for _, _, note in ordered],
    }
    connection.execute(load("fairlead_worker", "progress"), values)


def forget_reports(connection: Connection, attempts: Iterable[Attempt]) -> None:
    """Delete the progress of attempts that have ended."""
    keys = columns([attempt.key for attempt in attempts])
    connection.execute(load("fairlead_worker", "forget_progress"), keys)
