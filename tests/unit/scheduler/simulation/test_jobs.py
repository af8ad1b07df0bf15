"""Concurrency keys and job rules in a simulation: attributes that are read or drawn."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from fairlead.policy import parse
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
from fairlead_scheduler.simulation.compare import SimulationInput, compare
from fairlead_scheduler.simulation.engine import (
    TICK_US,
    JobOutcome,
    default_fleet,
    simulate,
)
from fairlead_scheduler.simulation.fair_leader import FairLeader
from fairlead_scheduler.simulation.fleet_state import ArrivedJob, FinishedJob, FleetState
from fairlead_scheduler.simulation.job_samples import (
    AttributesRead,
    AttributesWanted,
    JobAttributes,
    attributes_wanted,
)
from fairlead_scheduler.simulation.replay import (
    recorded_input,
    traffic_of_history,
    traffic_of_trace,
)
from fairlead_scheduler.simulation.trace import Arrival
from fairlead_scheduler.simulation.workload import live_input
from tests.support.fleet import Fleet
from tests.support.simulated import MS, NOW_US, SECOND, SLOTS, backlog_state

OLD = CompiledPolicy()
ASKED = AttributesWanted(paths=(("payload", "account"),), queues=frozenset({"q"}))


def policy(document: str) -> CompiledPolicy:
    """Return a compiled policy."""
    return compile_policy(parse(document))


ONE_EACH = policy(
    "queues: [{match: {queue: q}, concurrency: [{key: payload.account, limit: 1}]}]"
)
NO_BULK = policy("rules: [{match: {kind: bulk}, when: hour >= 0, hold: true}]")


def attributes(account: str | None = None, kind: str = "k") -> JobAttributes:
    """Return a job's attributes."""
    return JobAttributes(kind, (account,))


def finished(cost_us: int) -> list[FinishedJob]:
    """Return a job that finished a while ago, of unknown kind and account."""
    at_us = NOW_US - 10 * SECOND
    return [FinishedJob("q", "a", 0, at_us, at_us, at_us + cost_us)]


backlog = partial(backlog_state, wanted=ASKED, finished=finished(100 * MS))


def given(of: FleetState, seconds: int = 10, seed: int = 1) -> SimulationInput:
    """Return the input for both policies."""
    return live_input(of, default_fleet(SLOTS), until_us=seconds * SECOND, seed=seed)


def outcome(of: SimulationInput, table: CompiledPolicy) -> tuple[JobOutcome, ...]:
    """Return the outcome of each job under a policy."""
    jobs = list(of.jobs)
    order = FairLeader(
        table,
        inherited=of.inherited,
        jobs=jobs,
        draw_run_time=of.new_draw(),
        sampler=of.sampler,
    )
    return simulate(jobs, order, of.fleet, of.until_us, starting=of.starting).jobs


def most_at_once(jobs: Sequence[JobOutcome]) -> int:
    """Return the most jobs that ran at once."""
    ran = [job for job in jobs if job.claimed_us is not None]
    begins = [job.claimed_us or 0 for job in ran]
    return max(
        sum((job.claimed_us or 0) <= at_us < (job.ended_us or 1 << 60) for job in ran)
        for at_us in begins
    )


def test_policies_ask_for_what_their_keys_and_rules_name() -> None:
    """Only of queues with keys or job rules; without any, nothing is read."""
    assert ASKED == attributes_wanted(("q", "other"), (OLD, ONE_EACH))
    assert AttributesWanted(paths=(), queues=frozenset({"q"})) == attributes_wanted(
        ("q",), (OLD, NO_BULK)
    )
    assert attributes_wanted(("other",), (OLD, ONE_EACH)) is None


def test_a_key_holds_jobs_of_the_values_that_were_read() -> None:
    """One job of each of two accounts runs at once, on eight slots."""
    two = given(backlog([attributes("xy"[n % 2]) for n in range(400)]))

    assert 8 == most_at_once(outcome(two, OLD))
    assert 2 == most_at_once(outcome(two, ONE_EACH))


def test_a_key_is_predicted_as_the_order_does_it() -> None:
    """The order itself takes the same time for the same jobs, within a tenth."""
    accounts = [f"{n * n % 7}" for n in range(210)]
    fleet = Fleet(slots=8, depth=8, tick_us=TICK_US, table=ONE_EACH)
    for account in accounts:
        fleet.arrive(0, "q", "a", 100 * MS, fields={"payload.account": account})
    while len(fleet.ended) < len(accounts) and fleet.now_us < 60 * SECOND:
        fleet.tick()
        fleet.advance(fleet.now_us + fleet.tick_us)

    jobs = outcome(given(backlog([attributes(x) for x in accounts]), seconds=60), ONE_EACH)

    happened_us = max(job.ended_us or 0 for job in fleet.ended)
    predicted_us = max(job.ended_us or 1 << 60 for job in jobs)
    assert len(accounts) == len(fleet.ended)
    assert predicted_us == pytest.approx(happened_us, rel=0.1)


def test_a_key_counts_what_runs_already() -> None:
    """Nothing of x starts next to a running job of a minute; one of y does."""
    rows = [QueueRow(77, "q", "a", 1, 100 * MS, NOW_US)]
    there, long = {77: attributes("x")}, finished(60 * SECOND)

    of_x, of_y = (
        outcome(
            given(
                backlog([attributes(account)] * 20, rows=rows, in_flight=there, finished=long)
            ),
            ONE_EACH,
        )
        for account in "xy"
    )

    assert 1 == sum(job.claimed_us is not None for job in of_x)
    assert 2 == sum(job.claimed_us is not None for job in of_y)


def test_jobs_of_a_blocked_kind_do_not_start() -> None:
    """The other kinds pass them."""
    kinds = ["bulk" if n % 3 else "mail" for n in range(90)]
    found = compare(given(backlog([attributes(kind=kind) for kind in kinds])), OLD, NO_BULK)

    assert (90, 30) == (found.total.old.started, found.total.new.started)


def test_unclaimed_rows_of_a_blocked_kind_are_recalled() -> None:
    """No worker gets a job that a rule holds."""
    rows = [QueueRow(n, "q", "a", n, 100 * MS, None) for n in range(1, 9)]
    in_flight = {n: attributes(kind="bulk" if n % 2 else "mail") for n in range(1, 9)}

    jobs = outcome(given(backlog(rows=rows, in_flight=in_flight)), NO_BULK)

    assert 8 > sum(job.claimed_us is not None for job in jobs)


def test_a_rule_asks_for_the_age_of_a_simulated_job() -> None:
    """It counts from the arrival, in simulated time; a rule result is cached for a second."""
    young = policy("rules: [{match: {queue: q}, when: job.age_s < 2.0, hold: true}]")
    came = [ArrivedJob("q", "a", 0, NOW_US - 500 * MS)]
    of = backlog([attributes()], arrived=came)

    jobs = outcome(given(of, seconds=12), young)

    waits = [
        job.claimed_us - job.arrival.at_us
        for job in jobs
        if job.claimed_us is not None and job.arrival.at_us
    ]
    assert len(waits) >= 8
    assert all(2 * SECOND <= wait <= 3.2 * SECOND for wait in waits)


def test_what_was_not_read_is_drawn_from_what_was() -> None:
    """In the same proportions, and reproducibly for a seed."""
    first = [attributes(kind="bulk" if n % 10 < 3 else "mail") for n in range(50)]
    of = backlog(first, jobs=150)

    runs = [outcome(given(of, seed=seed), NO_BULK) for seed in (1, 1, 2)]

    starts = [[job.claimed_us for job in run] for run in runs]
    assert starts[0] == starts[1]
    assert starts[0] != starts[2]
    assert sum(each is not None for each in starts[0]) == pytest.approx(105, abs=20)


def test_history_tells_what_recorded_jobs_had() -> None:
    """Each job has its own account."""
    past = [
        FinishedJob("q", "a", 0, at, at, at + 100 * MS, "k", ["xy"[n % 2]])
        for n in range(60)
        for at in (NOW_US - 500 * MS + n,)
    ]
    of = FleetState(
        now_us=NOW_US,
        slots=SLOTS,
        finished=past,
        known_us=SECOND,
        read=AttributesRead(wanted=ASKED),
    )

    made = recorded_input(
        traffic_of_history(of, 1), default_fleet(SLOTS), until_us=60 * SECOND, state=of
    )

    assert 8 == most_at_once(outcome(made, OLD))
    assert 2 == most_at_once(outcome(made, ONE_EACH))
    assert made.notes[0].startswith("kinds and keys are those of history")


def file(account: str | None = "x", kind: str = "k") -> Arrival:
    """Return a line of a trace."""
    return Arrival(0, "q", "a", 100 * MS, kind=kind, keys=(("payload.account", account),))


def test_a_trace_tells_what_its_jobs_had() -> None:
    """Each job has its own account and kind; without an account it is not limited."""
    accounts = [file("xy"[n % 2]) for n in range(60)]
    free = [file(None)] * 60
    kinds = [file(kind="bulk" if n % 3 else "mail") for n in range(90)]
    of = backlog()

    of_accounts, of_free, of_kinds = (
        recorded_input(
            traffic_of_trace(of, jobs), default_fleet(SLOTS), until_us=60 * SECOND, state=of
        )
        for jobs in (accounts, free, kinds)
    )

    assert 8 == most_at_once(outcome(of_accounts, OLD))
    assert 2 == most_at_once(outcome(of_accounts, ONE_EACH))
    assert 8 == most_at_once(outcome(of_free, ONE_EACH))
    assert 30 == sum(job.claimed_us is not None for job in outcome(of_kinds, NO_BULK))
    assert (
        "kinds and keys are those of the file, which has no deadlines; attempts are first ones",
    ) == of_accounts.notes


def test_a_trace_without_keys_blocks_no_job_by_keys() -> None:
    """A note says how many jobs state no key, and how to export it."""
    silent = [file()._replace(keys=())] * 30 + [file("x")] * 10

    past = traffic_of_trace(backlog(), silent)
    made = recorded_input(past, default_fleet(SLOTS), until_us=60 * SECOND)

    assert 8 == most_at_once(outcome(made, ONE_EACH))
    assert (
        "30 of 40 jobs do not state payload.account, so no such key limits them: "
        "`fairlead trace export --key payload.account` adds it"
    ) == past.notes[1]


def test_what_is_not_known_is_said() -> None:
    """The notes say how many were read, and of which queues nothing is known."""
    some = backlog([attributes()] * 100, jobs=600)
    nothing_asked = FleetState(now_us=NOW_US, slots=SLOTS)

    of_some, of_no_queue = given(some).notes, given(backlog(jobs=5)).notes

    assert of_some[0].startswith("kinds and keys are read of 100 of 600 waiting jobs; ")
    assert 1 == len(of_some)
    assert of_no_queue[1].startswith("nothing is known of the jobs of queue 'q': ")
    assert () == live_input(nothing_asked, default_fleet(SLOTS), until_us=SECOND, seed=1).notes
    assert () == traffic_of_trace(replace(backlog(), read=None), [file()]).notes
