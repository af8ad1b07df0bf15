"""Concurrency keys and rules for single jobs in a simulation: what is read, what is drawn."""

from collections.abc import Mapping, Sequence

import pytest

from fairlead.policy import parse
from fairlead_scheduler.simulation import product
from fairlead_scheduler.simulation.comparison import compare
from fairlead_scheduler.simulation.fair import Fair, Waiting
from fairlead_scheduler.simulation.fleet import Played, play
from fairlead_scheduler.simulation.scene import Scene
from fairlead_scheduler.simulation.situation import (
    Came,
    Ended,
    Situation,
    known_of_recorded,
    recorded,
)
from fairlead_scheduler.simulation.told import Read, Told, Wanted, wanted
from fairlead_scheduler.simulation.traffic import live, played
from fairlead_scheduler.terms import Table, compiled
from fairlead_scheduler.values import QueueRow, Stream
from tests.support.fleet import Fleet

MS, SECOND = 1000, 1_000_000
NOW_US = 1_700_000_000 * SECOND
OLD = Table()
STREAM: Stream = ("q", "a", 0)
ASKED = Wanted(paths=(("payload", "account"),), queues=frozenset({"q"}))


def policy(document: str) -> Table:
    """Return a policy as a table."""
    return compiled(parse(document))


ONE_EACH = policy(
    "queues: [{match: {queue: q}, concurrency: [{key: payload.account, limit: 1}]}]"
)
NO_BULK = policy("rules: [{match: {kind: bulk}, when: hour >= 0, hold: true}]")


def told(account: str | None = None, kind: str = "k") -> Told:
    """Return what a job has."""
    return Told(kind, (account,))


def situation(
    first: Sequence[Told] = (),
    *,
    jobs: int | None = None,
    rows: Sequence[QueueRow] = (),
    in_flight: Mapping[int, Told] | None = None,
    came: Sequence[Came] = (),
    cost_us: int = 100 * MS,
) -> Situation:
    """Return a backlog of a tenant whose first jobs were read, with eight slots."""
    many = len(first) if jobs is None else jobs
    at_us = NOW_US - 10 * SECOND
    return Situation(
        now_us=NOW_US,
        slots=8,
        rows=rows,
        waiting={STREAM: Waiting(many, more=False, oldest_us=NOW_US)} if many else {},
        ended=[Ended("q", "a", 0, at_us, at_us, at_us + cost_us)],
        came=came,
        known_us=SECOND,
        read=Read(wanted=ASKED, in_flight=in_flight or {}, first={STREAM: tuple(first)}),
    )


def scene(of: Situation, seconds: int = 10, seed: int = 1) -> Scene:
    """Return what both policies are to deal with."""
    return live(of, product.fleet(8), until_us=seconds * SECOND, seed=seed)


def outcome(of: Scene, table: Table) -> tuple[Played, ...]:
    """Return what becomes of each job under a policy."""
    jobs = list(of.jobs)
    order = Fair(table, inherited=of.inherited, jobs=jobs, draw=of.draws(), known=of.known)
    return play(jobs, order, of.fleet, of.until_us, begun=of.begun).jobs


def most_at_once(jobs: Sequence[Played]) -> int:
    """Return how many ran at once at most."""
    ran = [job for job in jobs if job.claimed_us is not None]
    begins = [job.claimed_us or 0 for job in ran]
    return max(
        sum((job.claimed_us or 0) <= at_us < (job.ended_us or 1 << 60) for job in ran)
        for at_us in begins
    )


def test_policies_ask_for_what_their_keys_and_rules_name() -> None:
    """Of the queues for which they do; none asks for nothing."""
    assert ASKED == wanted(("q", "other"), (OLD, ONE_EACH))
    assert Wanted(paths=(), queues=frozenset({"q"})) == wanted(("q",), (OLD, NO_BULK))
    assert wanted(("other",), (OLD, ONE_EACH)) is None


def test_a_key_holds_jobs_of_the_values_that_were_read() -> None:
    """One of each of two accounts runs at once, of eight slots."""
    two = scene(situation([told("xy"[n % 2]) for n in range(400)]))

    assert 8 == most_at_once(outcome(two, OLD))
    assert 2 == most_at_once(outcome(two, ONE_EACH))


def test_a_key_is_predicted_as_the_order_does_it() -> None:
    """The same jobs in the order itself, in simulated time: they end a tenth apart at most."""
    accounts = [f"{n * n % 7}" for n in range(210)]
    fleet = Fleet(slots=8, depth=8, tick_us=product.TICK_US, table=ONE_EACH)
    for account in accounts:
        fleet.arrive(0, "q", "a", 100 * MS, fields={"payload.account": account})
    while len(fleet.ended) < len(accounts) and fleet.now_us < 60 * SECOND:
        fleet.tick()
        fleet.advance(fleet.now_us + fleet.tick_us)

    jobs = outcome(scene(situation([told(x) for x in accounts]), seconds=60), ONE_EACH)

    happened_us = max(job.ended_us or 0 for job in fleet.ended)
    predicted_us = max(job.ended_us or 1 << 60 for job in jobs)
    assert len(accounts) == len(fleet.ended)
    assert predicted_us == pytest.approx(happened_us, rel=0.1)


def test_a_key_counts_what_runs_already() -> None:
    """Nothing of x starts beside the one that runs for a minute."""
    rows = [QueueRow(77, "q", "a", 1, 100 * MS, NOW_US)]
    of = situation([told("x")] * 20, rows=rows, in_flight={77: told("x")}, cost_us=60 * SECOND)

    assert 1 == sum(job.claimed_us is not None for job in outcome(scene(of), ONE_EACH))


def test_jobs_of_a_held_kind_do_not_start() -> None:
    """The others go past them."""
    kinds = ["bulk" if n % 3 else "mail" for n in range(90)]
    found = compare(scene(situation([told(kind=kind) for kind in kinds])), OLD, NO_BULK)

    assert (90, 30) == (found.whole.old.started, found.whole.new.started)


def test_unclaimed_rows_of_a_held_kind_are_taken_back() -> None:
    """A worker does not get what a rule holds."""
    rows = [QueueRow(n, "q", "a", n, 100 * MS, None) for n in range(1, 9)]
    in_flight = {n: told(kind="bulk" if n % 2 else "mail") for n in range(1, 9)}

    jobs = outcome(scene(situation(rows=rows, in_flight=in_flight)), NO_BULK)

    assert 8 > sum(job.claimed_us is not None for job in jobs)


def test_a_rule_asks_for_the_age_of_a_simulated_job() -> None:
    """It counts from its arrival, in simulated time; a verdict counts for a second."""
    young = policy("rules: [{match: {queue: q}, when: job.age_s < 2.0, hold: true}]")
    came = [Came("q", "a", 0, NOW_US - 500 * MS)]
    of = situation([told()], came=came)

    jobs = outcome(scene(of, seconds=12), young)

    waits = [
        job.claimed_us - job.arrival.at_us
        for job in jobs
        if job.claimed_us is not None and job.arrival.at_us
    ]
    assert len(waits) >= 8
    assert all(2 * SECOND <= wait <= 3.2 * SECOND for wait in waits)


def test_what_was_not_read_is_drawn_from_what_was() -> None:
    """In its proportions, and the same for the same seed."""
    first = [told(kind="bulk" if n % 10 < 3 else "mail") for n in range(50)]
    of = situation(first, jobs=150)

    runs = [outcome(scene(of, seed=seed), NO_BULK) for seed in (1, 1, 2)]

    starts = [[job.claimed_us for job in run] for run in runs]
    assert starts[0] == starts[1]
    assert starts[0] != starts[2]
    assert sum(each is not None for each in starts[0]) == pytest.approx(105, abs=20)


def test_history_tells_what_recorded_jobs_had() -> None:
    """Of each its own account."""
    past = [
        Ended("q", "a", 0, at, at, at + 100 * MS, "k", ["xy"[n % 2]])
        for n in range(60)
        for at in (NOW_US - 500 * MS + n,)
    ]
    of = Situation(now_us=NOW_US, slots=8, ended=past, known_us=SECOND, read=Read(wanted=ASKED))
    trace = recorded(of)

    known = known_of_recorded(of, 1)
    made = played(trace, product.fleet(8), until_us=60 * SECOND, of=of, known=known)

    assert 8 == most_at_once(outcome(made, OLD))
    assert 2 == most_at_once(outcome(made, ONE_EACH))
    assert made.notes[0].startswith("kinds and keys are those of history")


def test_what_is_not_known_is_said() -> None:
    """How many were read, of whom nothing is known, and that a trace's file says nothing."""
    some = situation([told()] * 100, jobs=600)
    nobody = situation(jobs=5)
    trace = recorded(nobody)

    of_some, of_nobody = scene(some).notes, scene(nobody).notes
    of_a_file = played(trace, product.fleet(8), until_us=SECOND, of=some).notes
    nothing_asked = Situation(now_us=NOW_US, slots=8)

    assert of_some[0].startswith("kinds and keys are read of 100 of 600 jobs that wait; ")
    assert 1 == len(of_some)
    assert of_nobody[1].startswith("nothing is known of jobs of queue 'q': ")
    assert of_a_file[0].startswith("a file of a trace says neither kinds nor keys: ")
    assert () == live(nothing_asked, product.fleet(8), until_us=SECOND, seed=1).notes
