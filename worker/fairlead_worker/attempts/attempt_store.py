"""The statements about attempts: one function each, values in and values out.

Claims have a connection of their own and so do endings, so that a slow one never delays the
other. Repeating an ending is harmless: its token no longer holds anything.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple, TypeAlias, cast

from fairlead.db.connect import Connection
from fairlead.db.statements import integers, load
from fairlead.job import Claimed
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import Finished, HandedBack, Stop
from fairlead_worker.ipc.attempt_key import Key, key_parameters

_PLAIN_SUCCESS = Finished("succeeded")
_PASSED_OVER_MAX = 1000
_CUT_BYTES_LOWEST = 14 * 1024 * 1024
"""A claim is of 16 MiB; what is left of them is less than one job has at most."""
_BY_JOB_ID = attrgetter("job_id")
Stops: TypeAlias = dict[int, Stop]
"""Tokens of attempts that are to stop, and why."""


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """Which worker claims, and from which pool."""

    worker_id: int
    pool: str


@dataclass(frozen=True, slots=True)
class QuarantineStart:
    """A suspect job's attempt that begins now."""

    row: Claimed
    died_in_quarantine: bool


def claim(
    connection: Connection,
    who: ClaimRequest,
    *,
    limit: int,
    below_floor: bool,
    full_kinds: Sequence[str] = (),
) -> list[Claimed]:
    """Lease up to `limit` queued jobs, none of the full kinds; none for a dead worker."""
    values = {
        "worker": who.worker_id,
        "pool": who.pool,
        "limit": limit,
        "below_floor": below_floor,
        "full_kinds": list(full_kinds) or None,
    }
    rows = connection.execute(load("fairlead_worker.attempts", "claim"), values).fetchall()
    return [Claimed._make(row) for row in rows]


def may_be_cut(rows: Iterable[Claimed]) -> bool:
    """Return whether a claim may have left jobs because of the bytes of its answer.

    A character has four bytes at most. To claim again for nothing costs little.
    """
    characters = sum([len(row.payload or "") + len(row.headers or "") for row in rows])
    return 4 * characters >= _CUT_BYTES_LOWEST


def pass_over(connection: Connection, who: ClaimRequest, full_kinds: Sequence[str]) -> None:
    """Tell the leader which rows of the full kinds a claim has passed over."""
    values = {
        "worker": who.worker_id,
        "pool": who.pool,
        "full_kinds": list(full_kinds),
        "limit": _PASSED_OVER_MAX,
    }
    connection.execute(load("fairlead_worker.attempts", "pass_over"), values)


class OriginRow(NamedTuple):
    """When a job was inserted, and its last attempt that did not finish it, if any."""

    job_id: int
    created_us: int
    token: int | None
    attempt: int | None
    ended_as: str | None


def origins(connection: Connection, keys: Iterable[Key]) -> list[OriginRow]:
    """Read where the traces of these attempts' jobs begin."""
    values = key_parameters(keys)
    rows = connection.execute(load("fairlead_worker.attempts", "origins"), values).fetchall()
    return [OriginRow._make(row) for row in rows]


class Claimable(NamedTuple):
    """What an idle worker reads before it claims."""

    found: bool
    """Whether a claim would find something there."""
    turn_due: bool
    """Whether it is time for any worker to claim below the floor."""


def claimable(connection: Connection, pool: str, *, below_floor: bool) -> Claimable:
    """Read whether there is something to claim; a third of a claim's cost."""
    values = {"pool": pool, "below_floor": below_floor}
    seen = connection.execute(load("fairlead_worker.attempts", "claimable"), values).fetchone()
    return Claimable(*map(bool, seen or (False, False)))


def take_floor_scan_turn(connection: Connection, pool: str) -> bool:
    """Try to take the turn to claim below the floor, once a second per pool; return success."""
    found = connection.execute(
        load("fairlead_worker.attempts", "take_floor_scan_turn"), {"pool": pool}
    )
    return found.fetchone() == (True,)


def begin_in_quarantine(connection: Connection, key: Key) -> QuarantineStart | None:
    """Begin an attempt that is leased already; None when its token no longer holds."""
    found = connection.execute(
        load("fairlead_worker.attempts", "begin_in_quarantine"),
        {"job_id": key[0], "token": key[1]},
    ).fetchone()
    if found is None:
        return None
    *row, died_in_quarantine = found
    return QuarantineStart(Claimed._make(row), bool(died_in_quarantine))


def release(connection: Connection, runs_us: Mapping[Key, int]) -> set[int]:
    """Free the slots of attempts whose jobs are gone; return the tokens that held them.

    Args:
        connection: a connection.
        runs_us: for how long each has had its slot, in microseconds.
    """
    run_us = [runs_us[key] for key in sorted(runs_us)]
    values = {**key_parameters(runs_us), "run_us": integers(run_us)}
    rows = connection.execute(load("fairlead_worker.attempts", "release"), values).fetchall()
    return {cast("int", row[0]) for row in rows}


def release_orphans(connection: Connection, keys: Iterable[Key]) -> None:
    """Delete claimed rows whose jobs are gone, and which did not run."""
    release(connection, dict.fromkeys(keys, 0))


def finish(connection: Connection, attempts: Iterable[Attempt]) -> set[int]:
    """Finish jobs, in one transaction; return the tokens that held.

    The attempts have no ending, or `Finished`. A batch of plain successes, as most are, is
    three arrays of numbers.
    """
    ordered = sorted(attempts, key=_BY_JOB_ID)
    endings = [attempt.ending for attempt in ordered]
    values: dict[str, object] = {
        "ids": integers([attempt.job_id for attempt in ordered]),
        "tokens": integers([attempt.token for attempt in ordered]),
        "run_us": integers([attempt.ended_us - attempt.entered_us for attempt in ordered]),
        "outcomes": None,
        "results": None,
        "errors": None,
    }
    if any(endings):
        outcomes = [each if isinstance(each, Finished) else _PLAIN_SUCCESS for each in endings]
        values["outcomes"] = [each.outcome for each in outcomes]
        values["results"] = [each.result for each in outcomes]
        values["errors"] = [each.error for each in outcomes]
    answered = connection.execute(load("fairlead_worker.attempts", "finish"), values).fetchall()
    return {cast("int", row[0]) for row in answered}


def finish_free(
    connection: Connection, attempts: Iterable[Attempt]
) -> tuple[set[int], set[int]]:
    """Finish those jobs that are not locked; return the tokens that held, and the others.

    Both statements are one transaction, or a job might be locked before the second one.
    """
    wanted = tuple(attempts)
    with connection.transaction():
        keys = key_parameters(attempt.key for attempt in wanted)
        rows = connection.execute(
            load("fairlead_worker.attempts", "finish_free"), keys
        ).fetchall()
        free = {cast("int", token) for token, is_free in rows if is_free}
        ours = [attempt for attempt in wanted if attempt.token in free]
        held = finish(connection, ours) if ours else set[int]()
    return held, {cast("int", token) for token, is_free in rows if not is_free}


def hand_back(connection: Connection, attempts: Iterable[Attempt]) -> dict[int, str]:
    """End attempts that end with `HandedBack`; return each job's state by token.

    Raises:
        psycopg.Error: nothing of it has happened.
    """
    ordered = sorted(attempts, key=_BY_JOB_ID)
    endings = [each.ending for each in ordered if isinstance(each.ending, HandedBack)]
    assert len(endings) == len(ordered)
    values = {
        **key_parameters([attempt.key for attempt in ordered]),
        "ended_as": [each.ended_as for each in endings],
        "errors": [each.error for each in endings],
        "delays": [
            None if each.delay_seconds is None else f"{each.delay_seconds:f} s"
            for each in endings
        ],
    }
    rows = connection.execute(load("fairlead_worker.attempts", "hand_back"), values).fetchall()
    return {cast("int", token): str(became) for _, token, became, _, _ in rows}


def finished(connection: Connection, attempts: Iterable[Attempt]) -> set[int]:
    """Return the tokens of those attempts whose ending is in the history."""
    rows = connection.execute(
        load("fairlead_worker.attempts", "finished"),
        key_parameters([attempt.key for attempt in attempts]),
    ).fetchall()
    return {cast("int", row[0]) for row in rows}


def extend(connection: Connection, extensions: Sequence[tuple[Attempt, float]]) -> Stops:
    """Move deadlines to at least so many seconds from now; return the attempts to stop."""
    ordered = sorted(extensions, key=lambda each: each[0].job_id)
    values = {
        **key_parameters([attempt.key for attempt, _ in ordered]),
        "seconds": [seconds for _, seconds in ordered],
    }
    rows = connection.execute(load("fairlead_worker.attempts", "extend"), values).fetchall()
    return {cast("int", token): cast("Stop", stop) for token, stop in rows if stop is not None}


def store_progress(
    connection: Connection, reports: Iterable[tuple[Attempt, float, str]]
) -> None:
    """Store the latest progress of attempts that still hold their jobs."""
    ordered = sorted(reports, key=lambda each: each[0].job_id)
    values = {
        **key_parameters([attempt.key for attempt, _, _ in ordered]),
        "fractions": [fraction for _, fraction, _ in ordered],
        "notes": [note for _, _, note in ordered],
    }
    connection.execute(load("fairlead_worker.attempts", "progress"), values)


def store_checkpoints(
    connection: Connection, checkpoints: Iterable[tuple[Attempt, str]]
) -> dict[int, str]:
    """Store what jobs go on from; return by token: stored, stale, or locked by another.

    Raises:
        psycopg.Error: nothing of it has happened.
    """
    ordered = sorted(checkpoints, key=lambda each: each[0].job_id)
    values = {
        **key_parameters([attempt.key for attempt, _ in ordered]),
        "values": [text for _, text in ordered],
    }
    rows = connection.execute(
        load("fairlead_worker.attempts", "checkpoints"), values
    ).fetchall()
    return {cast("int", token): str(became) for token, became in rows}


def forget_progress(connection: Connection, attempts: Iterable[Attempt]) -> None:
    """Delete the progress of attempts that have ended."""
    keys = key_parameters([attempt.key for attempt in attempts])
    connection.execute(load("fairlead_worker.attempts", "forget_progress"), keys)
