"""Handlers spoil the processes that they run in; jobs beside them end as if nobody did.

Which harm is done when is drawn, and connections are cut meanwhile, so that a process which
can open no other is found out. Payloads are of every size, and memory has an end.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import pytest

from tests.chaos import memory
from tests.chaos.fail_overs.series import SHIPPED
from tests.chaos.fleet import Fleet, Program, fleet
from tests.chaos.harmful_app import KINDS
from tests.chaos.misfortunes import LONG_SECONDS
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.timeout(LONG_SECONDS + 300)]

_MIB, _SLOTS = 640, 200
_AT_ONCE = 400
"""So many jobs wait at most when more are inserted."""
_TIMEOUT_SECONDS, _LONGEST_MS = 6, 1000
"""Of those that do no harm: a process that stands still does so for longer."""
_HARM_SECONDS = 20
"""Of those that do: some never end by themselves."""
_STARTS_MAX = 8
"""A harmful job has two attempts; one that dies beside others may do so, and three times more
alone, where it may begin again if its end was not stored."""
_CUT_SHARE = 0.3
_END_SECONDS = 120
_LARGE = 1_000_000
_LENGTHS = (*(0,) * 8, *(10_000,) * 3, _LARGE)
_MOST = {"nap": 40, "grind": 20, "crunch": 6}
_BESIDE = ("nap", "nap", "grind", "crunch")
"""Their handlers open nothing, which a process that is spoiled may not do."""
_FAILED = """
    SELECT h.id, h.kind, h.outcome, left(h.error, 300) FROM fairlead.job_history h
    WHERE h.id = ANY (%s) AND h.outcome <> 'succeeded'
"""
_TOO_LONG = """
    SELECT h.id, h.kind, e.at::text, e.error
    FROM fairlead.attempt_errors e JOIN fairlead.job_history h ON h.id = e.job_id
    WHERE h.id = ANY (%s) AND e.error LIKE 'timeout:%%' ORDER BY e.at
"""
_INSERT = """
    INSERT INTO fairlead.jobs (kind, payload, tenant, max_attempts, timeout)
    SELECT %s, jsonb_build_object('ms', %s::int, 'text', repeat('x', %s)), 't' || n %% 3, %s,
           make_interval(secs => %s::float8)
    FROM generate_series(1, %s) n RETURNING id
"""


@pytest.fixture
def some(database_url: str, tmp_path: Path) -> Iterator[tuple[Fleet, Sequence[str]]]:
    """Yield a fleet, and where its worker starts: memory has an end there, if it can have."""
    with ExitStack() as opened:
        made = opened.enter_context(fleet(database_url, tmp_path, SHIPPED))
        within: Sequence[str] = ()
        if memory.lacking() is None:
            within = opened.enter_context(memory.confined(_MIB)).within
        opened.callback(made.end)
        made.record()
        yield made, within


def insert(
    made: Fleet, kind: str, *, ms: int, length: int, attempts: int, count: int
) -> set[int]:
    """Insert jobs, and have them judged."""
    seconds = _HARM_SECONDS if kind in KINDS else _TIMEOUT_SECONDS
    values = [kind, ms, length, attempts, seconds, count]
    with made.connect() as db:
        jobs = {int(row[0]) for row in db.execute(_INSERT.encode(), values).fetchall()}
    made.inserted |= jobs
    return jobs


def insert_some(made: Fleet, chance: random.Random, harms: list[str]) -> set[int]:
    """Insert harmless jobs of several kinds and lengths, and some harmful ones among them.

    Return the harmless ones.
    """
    beside: set[int] = set()
    for part in range(2):
        for kind in chance.sample(_BESIDE, 3):
            length = chance.choice(_LENGTHS) if kind == "nap" else 0
            beside |= insert(
                made,
                kind,
                ms=1 if length == _LARGE else chance.choice((1, 20, _LONGEST_MS)),
                length=length,
                attempts=5,
                count=_SLOTS if length == _LARGE else chance.randint(1, _MOST[kind]),
            )
        for kind in [harms.pop() for _ in harms[: 0 if part else chance.randint(1, 3)]]:
            print(kind)  # noqa: T201 - what happened, beside the seed
            insert(made, kind, ms=1, length=0, attempts=2, count=1)
    return beside


def cut_some(made: Fleet, chance: random.Random) -> None:
    """Terminate some kinds of connections of the worker."""
    for kind in sorted(made.connection_kinds()):
        if "worker" in kind and chance.random() < _CUT_SHARE:
            made.terminate(kind)


def test_jobs_beside_harmful_ones_end_as_if_nobody_did_harm(
    some: tuple[Fleet, Sequence[str]], chance: random.Random
) -> None:
    """They succeed, and time that they could not use is not theirs; nothing runs without end.

    Nor as two.
    """
    made, within = some
    made.scheduler()
    made.within = within
    worker = started(made)
    harms = chance.sample(KINDS, len(KINDS))
    beside: set[int] = set()
    over = monotonic() + LONG_SECONDS
    while monotonic() < over and harms:
        until(lambda: len(made.unfinished()) < _AT_ONCE, what="most ends", seconds=60)
        beside |= insert_some(made, chance, harms)
        cut_some(made, chance)
    made.wait_until_done(_END_SECONDS)

    starts = [each for each in made.events() if each.event == "started"]
    often = Counter(each.job for each in starts)
    assert made.violations().is_empty, made.violations()
    assert [] == failures(made, _FAILED, beside)
    assert {} == {job: count for job, count in often.items() if count > _STARTS_MAX}
    assert [] == failures(made, _TOO_LONG, beside)
    assert len(starts) == len({(each.job, each.token) for each in starts})
    assert worker.process.poll() is None


def started(made: Fleet) -> Program:
    """Start the worker."""
    more = "--app tests.chaos.harmful_app:tasks --processes 2 --grace-seconds 1"
    return made.worker(concurrency=_SLOTS, more=more)


def failures(made: Fleet, query: str, jobs: set[int]) -> list[tuple[object, ...]]:
    """Return what a query finds of these jobs."""
    with made.connect() as db:
        return db.execute(query.encode(), [[*jobs]]).fetchall()
