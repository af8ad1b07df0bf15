"""Concurrency keys and rules for single jobs in a simulation: what is read, what is drawn."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from fairlead.policy import parse
from fairlead_scheduler.simulation import product
from fairlead_scheduler.simulation.comparison import compare
from fairlead_scheduler.simulation.fair import Fair
from fairlead_scheduler.simulation.fleet import Played, play
from fairlead_scheduler.simulation.recorded import of_history, of_trace
from fairlead_scheduler.simulation.scene import Scene
from fairlead_scheduler.simulation.situation import Came, Ended, Situation
from fairlead_scheduler.simulation.told import Read, Told, Wanted, wanted
from fairlead_scheduler.simulation.trace import Arrival
from fairlead_scheduler.simulation.traffic import live, played
from fairlead_scheduler.terms import Table, compiled
from fairlead_scheduler.values import QueueRow
from tests.support.fleet import Fleet
from tests.support.simulated import MS, NOW_US, SECOND, SLOTS, situation

OLD = Table()
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


def ended(cost_us: int) -> list[Ended]:
    """Return a job that ended a while ago; of its kind and its account nothing is known."""
    at_us = NOW_US - 10 * SECOND
    return [Ended("q", "a", 0, at_us, at_us, at_us + cost_us)]


backlog = partial(situation, wanted=ASKED, ended=ended(100 * MS))


def scene(of: Situation, seconds: int = 10, seed: int = 1) -> Scene:
    """Return what both policies are to deal with."""
    return live(of, product.fleet(SLOTS), until_us=seconds * SECOND, seed=seed)


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
    two = scene(backlog([told("xy"[n % 2]) for n in range(400)]))

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

    jobs = outcome(scene(backlog([told(x) for x in accounts]), seconds=60), ONE_EACH)

    happened_us = max(job.ended_us or 0 for job in fleet.ended)
    predicted_us = max(job.ended_us or 1 << 60 for job in jobs)
    assert len(accounts) == len(fleet.ended)
    assert predicted_us == pytest.approx(happened_us, rel=0.1)


def test_a_key_counts_what_runs_already() -> None:
    """Nothing of x starts beside the one that runs for a minute, and one of y does."""
    rows = [QueueRow(77, "q", "a", 1, 100 * MS, NOW_US)]
    there, long = {77: told("x")}, ended(60 * SECOND)

    of_x, of_y = (
        outcome(
            scene(backlog([told(account)] * 20, rows=rows, in_flight=there, ended=long)),
            ONE_EACH,
        )
        for account in "xy"
    )

    assert 1 == sum(job.claimed_us is not None for job in of_x)
    assert 2 == sum(job.claimed_us is not None for job in of_y)


def test_jobs_of_a_held_kind_do_not_start() -> None:
    """The others go past them."""
    kinds = ["bulk" if n % 3 else "mail" for n in range(90)]
    found = compare(scene(backlog([told(kind=kind) for kind in kinds])), OLD, NO_BULK)

    assert (90, 30) == (found.whole.old.started, found.whole.new.started)


def test_unclaimed_rows_of_a_held_kind_are_taken_back() -> None:
    """A worker does not get what a rule holds."""
    rows = [QueueRow(n, "q", "a", n, 100 * MS, None) for n in range(1, 9)]
    in_flight = {n: told(kind="bulk" if n % 2 else "mail") for n in range(1, 9)}

    jobs = outcome(scene(backlog(rows=rows, in_flight=in_flight)), NO_BULK)

    assert 8 > sum(job.claimed_us is not None for job in jobs)


def test_a_rule_asks_for_the_age_of_a_simulated_job() -> None:
    """It counts from its arrival, in simulated time; a verdict counts for a second."""
    young = policy("rules: [{match: {queue: q}, when: job.age_s < 2.0, hold: true}]")
    came = [Came("q", "a", 0, NOW_US - 500 * MS)]
    of = backlog([told()], came=came)

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
    of = backlog(first, jobs=150)

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
    of = Situation(
        now_us=NOW_US, slots=SLOTS, ended=past, known_us=SECOND, read=Read(wanted=ASKED)
    )

    made = played(of_history(of, 1), product.fleet(SLOTS), until_us=60 * SECOND, of=of)

    assert 8 == most_at_once(outcome(made, OLD))
    assert 2 == most_at_once(outcome(made, ONE_EACH))
    assert made.notes[0].startswith("kinds and keys are those of history")


def file(account: str | None = "x", kind: str = "k") -> Arrival:
    """Return a line of a trace."""
    return Arrival(0, "q", "a", 100 * MS, kind=kind, keys=(("payload.account", account),))


def test_a_trace_tells_what_its_jobs_had() -> None:
    """Of each its own account and its own kind; one without an account is free of the key."""
    accounts = [file("xy"[n % 2]) for n in range(60)]
    free = [file(None)] * 60
    kinds = [file(kind="bulk" if n % 3 else "mail") for n in range(90)]
    of = backlog()

    of_accounts, of_free, of_kinds = (
        played(of_trace(of, jobs), product.fleet(SLOTS), until_us=60 * SECOND, of=of)
        for jobs in (accounts, free, kinds)
    )

    assert 8 == most_at_once(outcome(of_accounts, OLD))
    assert 2 == most_at_once(outcome(of_accounts, ONE_EACH))
    assert 8 == most_at_once(outcome(of_free, ONE_EACH))
    assert 30 == sum(job.claimed_us is not None for job in outcome(of_kinds, NO_BULK))
    assert (
        "kinds and keys are those of the file, which has no deadlines; attempts are the first",
    ) == of_accounts.notes


def test_a_trace_that_says_no_keys_holds_nobody_by_them() -> None:
    """It is said how many jobs do not, and how a trace comes to say it."""
    silent = [file()._replace(keys=())] * 30 + [file("x")] * 10

    past = of_trace(backlog(), silent)
    made = played(past, product.fleet(SLOTS), until_us=60 * SECOND)

    assert 8 == most_at_once(outcome(made, ONE_EACH))
    assert (
        "30 of 40 jobs do not say payload.account, and no such key holds them: "
        "`fairlead trace export --key payload.account` writes it"
    ) == past.notes[1]


def test_what_is_not_known_is_said() -> None:
    """How many were read, and of whom nothing is known."""
    some = backlog([told()] * 100, jobs=600)
    nothing_asked = Situation(now_us=NOW_US, slots=SLOTS)

    of_some, of_nobody = scene(some).notes, scene(backlog(jobs=5)).notes

    assert of_some[0].startswith("kinds and keys are read of 100 of 600 jobs that wait; ")
    assert 1 == len(of_some)
    assert of_nobody[1].startswith("nothing is known of jobs of queue 'q': ")
    assert () == live(nothing_asked, product.fleet(SLOTS), until_us=SECOND, seed=1).notes
    assert () == of_trace(replace(backlog(), read=None), [file()]).notes
