"""A job's life over the real SQL, step by step beside a model: any steps in any order."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import ClassVar

import psycopg
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from fairlead.db.connect import SESSION
from fairlead.db.statements import integers
from tests.conftest import Connect
from tests.support.race import (
    STALE,
    Database,
    Lease,
    answer,
    claim,
    dispatch,
    finish,
    let_expire,
    let_fall_due,
    let_lapse,
    let_overrun,
    mark_dead,
    promote,
    register,
    steal,
)
from tests.support.race_model import DEATHS, OUTCOMES, Job, Model

EMPTY = """
    TRUNCATE fairlead.work_queue, fairlead.receipts, fairlead.attempt_errors,
             fairlead.worker_kind_limits, fairlead.announced_kinds, fairlead.worker_kinds,
             fairlead.worker_leases;
    DELETE FROM fairlead.jobs;
    DELETE FROM fairlead.job_history;
    UPDATE fairlead.claim_floors SET vtag = 0
"""
STANDS = """
    WITH received AS (DELETE FROM fairlead.receipts RETURNING claimed, ended, returned)
    SELECT (
        SELECT coalesce(json_agg(json_build_array(
            coalesce(j.id, q.job_id),
            CASE WHEN j.id IS NULL THEN 'queued without a job'
                 WHEN q.job_id IS NOT NULL AND j.run_at IS NOT NULL THEN 'queued early'
                 WHEN q.worker IS NOT NULL THEN 'running'
                 WHEN q.job_id IS NOT NULL THEN 'queued'
                 WHEN j.run_at IS NOT NULL THEN 'scheduled'
                 ELSE 'pending' END,
            j.attempts, j.crashes, j.losses, j.lone_deaths, j.suspect,
            j.cancel_requested_at IS NOT NULL,
            q.vtag, q.alone, q.token, q.worker)), '[]')
        FROM fairlead.jobs j FULL JOIN fairlead.work_queue q ON q.job_id = j.id
    ), (
        SELECT coalesce(json_agg(json_build_array(
            id, outcome, token, attempt, crashes, losses)), '[]') FROM fairlead.job_history
    ), (
        SELECT coalesce(json_agg(json_build_array(
            job_id, token, attempt, ended_as)), '[]') FROM fairlead.attempt_errors
    ),
    ARRAY(SELECT unnest(claimed) FROM received ORDER BY 1),
    ARRAY(SELECT unnest(ended) FROM received ORDER BY 1),
    ARRAY(SELECT unnest(returned) FROM received ORDER BY 1)
"""

# Small numbers choose among what there is, so that examples shrink to few and early jobs.
WAYS = ("failed", "snoozed", "returned", "released", "crashed", "lost")
one = st.integers(0, 20)
few = st.lists(one, min_size=1, max_size=5)
ways = st.lists(st.sampled_from(WAYS), min_size=1, max_size=5)


class JobLife(RuleBasedStateMachine):
    """Applications, a leader and two workers, one step of one of them at a time."""

    db: ClassVar[Database]

    @initialize()
    def begin(self) -> None:
        """Empty the tables and register two workers."""
        self.db.execute(EMPTY)
        self.model = Model()
        self.leases: list[Lease] = []
        self.workers = [register(self.db), register(self.db)]

    def chosen(self, numbers: Sequence[int]) -> list[Job]:
        """Return some of all jobs ever inserted, each once; low numbers are unfinished ones.

        There are two unfinished jobs at least, or many a run would have nothing to do.
        """
        while len(self.model.live()) < 2:
            self.insert(None, 2, None)
        known = sorted(self.model.jobs.values(), key=lambda job: job.ending is not None)
        return [known[place] for place in places(numbers, len(known))]

    def had(self, numbers: Sequence[int]) -> list[Lease]:
        """Return some of all leases ever had, each once; low numbers are live, hapless ones.

        At least one is live, or many a run would have nothing to end.
        """
        if not any(self.model.holds(each) for each in self.leases):
            self.serve(second=False, count=1)

        def order(lease: Lease) -> tuple[bool, int, int]:
            deaths = self.model.jobs[lease.job].lone_deaths
            return (not self.model.holds(lease), -deaths, -lease.token)

        known = sorted(self.leases, key=order)
        return [known[place] for place in places(numbers, len(known))]

    def refused(self, lease: Lease, call: Callable[[], object]) -> bool:
        """Make a call that is refused exactly if the lease is stale; tell whether it was."""
        said = None
        try:
            call()
        except psycopg.Error as error:
            said = error.sqlstate
        assert said == (None if self.model.holds(lease) else STALE)
        return said is not None

    # The application and people.

    @rule(
        key=st.sampled_from([None, None, "a", "b"]),
        max_attempts=st.integers(1, 3),
        delay=st.sampled_from([None, "-1 hour", "1 hour"]),
    )
    def insert(self, key: str | None, max_attempts: int, delay: str | None) -> None:
        """Insert a job; a duplicate inserts nothing."""
        row = self.db.execute(
            "INSERT INTO fairlead.jobs (kind, dedup_key, max_attempts, run_at)"
            " VALUES ('noop', %s, %s, now() + %s::interval)"
            " ON CONFLICT DO NOTHING RETURNING id",
            [key, max_attempts, delay],
        ).fetchone()
        assert (row is None) == (self.model.holder(key) is not None)
        if row:
            state = "scheduled" if delay == "1 hour" else "pending"
            self.model.add(Job(row[0], key, max_attempts, state=state))

    @rule(number=one)
    def cancel(self, number: int) -> None:
        """Cancel a job, whatever it does."""
        (job,) = self.chosen([number])
        assert self.model.cancel(job) == answer(self.db, "cancel(%s)", job.id)

    @rule(number=one)
    def retry(self, number: int) -> None:
        """Retry a job: a finished one is repeated, unless its repeat or its key is live."""
        (job,) = self.chosen([number])
        answered = answer(self.db, "retry(%s)", job.id)
        holder = self.model.holder(job.key)
        if job.ending is None:
            assert job.id == answered
            job.due = job.state == "scheduled"
        elif self.model.heir(job).ending is None:
            assert self.model.heir(job).id == answered
        elif holder:
            assert holder.id == answered
        else:
            assert isinstance(answered, int)
            self.model.repeat(job, answered)

    @rule(jobs_max=st.integers(1, 3))
    def redrive(self, jobs_max: int) -> None:
        """Repeat failed jobs, one per key, until nothing is left to repeat."""
        may = {job.id: job for job in self.model.redrivable()}
        newest = max(self.model.jobs, default=0)
        while answer(self.db, "redrive('default', jobs_max => %s)", jobs_max):
            pass
        rows = self.db.execute(
            "SELECT id, retry_of FROM fairlead.jobs WHERE id > %s ORDER BY id", [newest]
        ).fetchall()
        for new, old in rows:
            self.model.repeat(may[old], new)
        assert [] == self.model.redrivable()

    # The leader.

    @rule(numbers=few, vtag=st.integers(0, 9), raised=st.booleans())
    def dispatch(self, numbers: Sequence[int], vtag: int, *, raised: bool) -> None:
        """Dispatch jobs, pending or not, and sometimes raise the floor up to their tag."""
        self.model.floor = vtag if raised else min(vtag, self.model.floor)
        ids = [job.id for job in self.chosen(numbers)]
        moved = dispatch(self.db, ids, floor=self.model.floor, vtag=vtag)
        assert self.model.dispatch(ids, vtag=vtag) == moved

    @rule(numbers=few)
    def recall(self, numbers: Sequence[int]) -> None:
        """Recall jobs, queued or not, after a dispatch of some of them."""
        self.dispatch(numbers[1:], self.model.floor, raised=False)
        ids = [job.id for job in self.chosen(numbers)]
        rows = self.db.execute("SELECT * FROM fairlead._recall(0, %s)", [integers(ids)])
        assert self.model.recall(ids) == tuple(sorted(row[0] for row in rows.fetchall()))

    @rule(numbers=few)
    def expire(self, numbers: Sequence[int]) -> None:
        """Let jobs expire, and end those that do not run."""
        jobs = self.chosen(numbers)
        let_expire(self.db, *(job.id for job in jobs))
        for job in jobs:
            job.expired = True
        over = [job for job in self.model.live() if job.expired and job.state != "running"]
        assert len(over) == answer(self.db, "_expire(0, '-infinity', 100)")
        for job in over:
            self.model.finish(job, "expired")

    @rule(numbers=few)
    def promote(self, numbers: Sequence[int]) -> None:
        """Let time pass for some jobs, and promote what is due to a new place."""
        jobs = self.chosen(numbers)
        let_fall_due(self.db, *(job.id for job in jobs))
        for job in jobs:
            job.due = job.state == "scheduled"
        assert self.model.promote() == promote(self.db)

    # The workers.

    @rule(second=st.booleans(), count=st.integers(0, 3))
    def serve(self, *, second: bool, count: int) -> None:
        """Run every part once, so that jobs get far in their life."""
        for _ in range(count):
            self.insert(None, 2, None)
        live = range(max(2, len(self.model.live())))
        self.promote(live)
        self.dispatch(live, self.model.floor, raised=False)
        self.claim(second=second, limit=20, below_floor=False)

    @rule(number=one, way=st.sampled_from(DEATHS), second=st.booleans())
    def die(self, number: int, way: str, *, second: bool) -> None:
        """Let the process die that runs a job, and serve it again."""
        self.end([number], [way], wait=True)
        self.serve(second=second, count=0)

    @rule(second=st.booleans(), limit=st.integers(1, 4), below_floor=st.booleans())
    def claim(self, *, second: bool, limit: int, below_floor: bool) -> None:
        """Claim what comes first; tokens are new, and doomed jobs are marked."""
        worker = self.workers[second]
        expected = self.model.claimable(below_floor=below_floor)[:limit]
        before = self.model.newest_token
        leases = claim(self.db, worker, limit=limit, below_floor=below_floor)
        assert {(job.id, job.attempts + 1, job.alone, job.doomed) for job in expected} == {
            (each.job, each.attempt, each.alone, each.doomed) for each in leases
        }
        assert all(each.token > before for each in leases)
        self.model.claim(leases, worker)
        self.leases += leases

    @rule(numbers=few, outcome=st.sampled_from(OUTCOMES))
    def finish(self, numbers: Sequence[int], outcome: str) -> None:
        """End a batch for good; stale attempts in it change nothing."""
        leases = self.had(numbers)
        held = sorted(
            (each for each in leases if self.model.holds(each)), key=lambda each: each.job
        )
        assert tuple(each.job for each in held) == finish(self.db, leases, outcome=outcome)
        for each in held:
            self.model.finish(self.model.jobs[each.job], outcome)

    @rule(
        numbers=few,
        ways=ways,
        wait=st.booleans(),
    )
    def end(self, numbers: Sequence[int], ways: Sequence[str], *, wait: bool) -> None:
        """End a batch of attempts, each in its way; stale ones change nothing."""
        batch = list(zip(self.had(numbers), cycle(ways), strict=False))
        rows = self.db.execute(
            "SELECT token, became FROM fairlead._end_attempts("
            "%s, %s, %s, %s, array_fill('1 hour'::interval, ARRAY[%s]), %s)",
            [
                integers(lease.job for lease, _ in batch),
                integers(lease.token for lease, _ in batch),
                [way for _, way in batch],
                ["it broke"] * len(batch),
                len(batch),
                wait,
            ],
        ).fetchall()
        assert {lease.token: self.model.end(lease, way) for lease, way in batch} == dict(rows)

    @rule(number=one)
    def complete(self, number: int) -> None:
        """Complete a job as a handler does; a stale token raises."""
        (lease,) = self.had([number])
        if not self.refused(
            lease, lambda: answer(self.db, "complete(%s, %s)", lease.job, lease.token)
        ):
            self.model.finish(self.model.jobs[lease.job], "succeeded")

    @rule(number=one)
    def fail(self, number: int) -> None:
        """Fail an attempt as a handler does; a stale token raises."""
        (lease,) = self.had([number])
        if not self.refused(
            lease,
            lambda: answer(
                self.db, "fail(%s, %s, 'it broke', '1 hour')", lease.job, lease.token
            ),
        ):
            self.model.end(lease, "failed")

    @rule(number=one)
    def extend(self, number: int) -> None:
        """Extend an attempt; a stale token raises."""
        (lease,) = self.had([number])
        self.refused(
            lease, lambda: answer(self.db, "extend(%s, %s, '1 day')", lease.job, lease.token)
        )

    @rule(numbers=few)
    def overrun(self, numbers: Sequence[int]) -> None:
        """Let attempts run past their deadlines, and steal them."""
        leases = self.had(numbers)
        let_overrun(self.db, *leases)
        self.steal([each for each in leases if self.model.holds(each)])

    @rule(second=st.booleans())
    def lose(self, *, second: bool) -> None:
        """Let a worker die, and steal what it held; a new one takes its place."""
        worker = self.workers[second]
        let_lapse(self.db, worker)
        assert (worker,) == mark_dead(self.db)
        assert () == claim(self.db, worker, below_floor=True)
        live = [each for each in self.leases if self.model.holds(each)]
        self.steal([each for each in live if self.model.jobs[each.job].worker == worker])
        self.workers[second] = register(self.db)

    def steal(self, leases: Sequence[Lease]) -> None:
        """Steal, and expect exactly these leases to be lost."""
        for each in leases:
            self.model.end(each, "lost")
        assert tuple(sorted(each.job for each in leases)) == steal(self.db, overdue_seconds=1)

    # What holds after each step.

    @invariant()
    def the_tables_hold_what_the_model_holds(self) -> None:
        """Each job is in one place, finished ones never change, everything is accounted for."""
        row = self.db.execute(STANDS).fetchone()
        assert row is not None
        live, endings, failures = (counted(rows) for rows in row[:3])
        assert Counter(job.row for job in self.model.live()) == live
        assert Counter(self.model.endings()) == endings
        assert Counter[tuple[object, ...]](self.model.failures) == failures
        assert self.model.take_receipts() == row[3:]


def places(numbers: Sequence[int], count: int) -> list[int]:
    """Return which of `count` places the numbers choose, each once, in order."""
    return sorted({each % count for each in numbers})


def counted(rows: list[list[object]]) -> Counter[tuple[object, ...]]:
    """Count rows, in no order."""
    return Counter(tuple(row) for row in rows)


def test_a_job_is_in_one_place_in_its_life_whatever_happens_to_it(connect: Connect) -> None:
    """A job is in exactly one place, with at most one live lease, and ends once."""
    JobLife.db = connect()
    for setting in SESSION:
        JobLife.db.execute(setting.encode())

    run_state_machine_as_test(JobLife, settings=settings(stateful_step_count=50))
