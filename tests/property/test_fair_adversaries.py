"""What honest tenants have beside tenants that mean harm, on an in-memory fleet of slots.

A row is an attack. One that succeeds today is marked with what it achieves: who defeats it
removes the mark. Shares are those that an independent checker finds in raw claims and endings.
"""

from dataclasses import replace
from functools import cache
from random import Random

import pytest

from fairlead.policy import parse
from fairlead_scheduler.policy.compiled import compile_policy
from tests.support.adversaries import (
    ATTACKS,
    LIAR,
    LONG_US,
    QUIET,
    VICTIMS,
    backlog,
    short_jobs_claimed_ahead,
    steady,
    victims,
)
from tests.support.attacked_fleet import (
    DEPTH,
    MS,
    SECOND,
    SLOTS,
    Arrival,
    Outcome,
    Scene,
    outcome,
    play,
)
from tests.support.entitlements import Path, fluid
from tests.support.fleet import Fleet
from tests.support.sampled import sampled

SHARE = 0.95
"""Of its entitlement, which an honest tenant has at least."""
TAG_END = 1 << 62
"""What no tag reaches."""


@cache
def played(row: str, *, attacked: bool) -> Outcome:
    """Play a row once for all tests of this process."""
    scene = ATTACKS[row]()
    return outcome(scene, play(scene, attacked=attacked).jobs.values())


def succeeds(row: str, achieved: str) -> object:
    """Return a row whose attack succeeds today, with what it achieves."""
    return pytest.param(row, marks=pytest.mark.xfail(strict=True, reason=achieved))


@pytest.mark.parametrize(
    "row",
    [
        "claims a month before others wake",
        "claims a minute before others wake",
        "long jobs before short ones",
        "claims a month in a shared queue",
        "claims ten minutes in a shared queue",
        "claims months in fresh queues",
        "anchor",
        "ten queues",
        "fresh queues",
        "fresh tenants",
        "burst of names while others are idle",
        "burst of names with long first jobs",
        "four bands",
        "light newcomer",
    ],
)
def test_an_honest_tenant_has_its_share_under_attack(row: str) -> None:
    """At least 0.95 of its max-min entitlement while it is backlogged."""
    assert played(row, attacked=True).share >= SHARE


@pytest.mark.parametrize(
    "row", sampled([row for row, attack in ATTACKS.items() if attack().busy], of=4)
)
def test_the_checker_finds_nothing_without_an_attack(row: str) -> None:
    """With the truth in the attack's place the same tenants have their shares."""
    assert played(row, attacked=False).share >= SHARE


@pytest.mark.parametrize(
    "row",
    [
        "claims a month before others wake",
        "claims a minute before others wake",
        "long jobs before short ones",
        "claims a month in a shared queue",
        "claims ten minutes in a shared queue",
        "claims months in fresh queues",
        "anchor",
        "ten queues",
        "fresh queues",
        succeeds("fresh tenants", "p99 0.3 s: its first turn, when a second job came"),
        "fresh tenants after a known one",
        "burst of names while others are idle",
        "burst of names with long first jobs",
        "hints nothing in fresh names",
        "four bands",
        "light newcomer",
        "another tenant's key",
    ],
)
def test_a_quiet_tenant_waits_no_longer_than_twice_what_it_would_otherwise(row: str) -> None:
    """The 99th percentile of its waits, against that beside the truth."""
    attacked, truthful = played(row, attacked=True), played(row, attacked=False)

    assert attacked.wait_us(99) <= 2 * truthful.wait_us(99)


@pytest.mark.parametrize(
    "row",
    [
        "long jobs",
        "trained before long jobs",
        "hints nothing in fresh names",
        "known tenants with long jobs",
        "fresh tenants beside a known one",
    ],
)
def test_a_quiet_tenant_waits_for_no_long_jobs(row: str) -> None:
    """A second at most; its own jobs are shorter than that."""
    assert played(row, attacked=True).wait_us(99) <= SECOND


@pytest.mark.parametrize(
    "row",
    [
        "trained in a stream",
        succeeds("fresh tenants with long jobs", "p99 29.0 s: its first turn, among newcomers"),
    ],
)
def test_a_quiet_tenant_waits_for_one_long_job_where_no_slot_was_free(row: str) -> None:
    """As long as one takes, since all of them were claimed before it had come."""
    assert played(row, attacked=True).wait_us(99) <= LONG_US


def test_jobs_that_are_claimed_ahead_use_nothing_until_they_have_slots() -> None:
    """Workers claim many short jobs ahead: neither these nor others wait because of that."""
    scene = short_jobs_claimed_ahead()
    fleet = play(scene, attacked=True)
    found = outcome(scene, fleet.jobs.values())

    third_us = scene.slots * scene.seconds * SECOND / 3
    assert all(fleet.served_us[lane] >= 0.9 * third_us for lane in (*VICTIMS, LIAR))
    assert found.wait_us(99) <= SECOND


def test_a_known_tenant_stays_known_however_many_names_have_had_a_job() -> None:
    """Its single jobs do not wait among newcomers when the leader forgets idle lanes."""
    seconds = 9
    table = compile_policy(parse("{}"))
    settings = replace(table.settings, idle_lanes_max=100)
    fleet = Fleet(slots=SLOTS, depth=DEPTH, table=replace(table, settings=settings))
    known = (0, 100 * MS, 200 * MS, *range(3 * SECOND, seconds * SECOND, 2 * SECOND))
    names = range(600 * MS, seconds * SECOND, 5 * MS)
    jobs = [Arrival(at_us, QUIET, 50 * MS) for at_us in known]
    jobs += [Arrival(at_us, ("q", f"liar-{at_us}"), 100 * MS) for at_us in names]
    jobs += victims(seconds, from_us=2 * SECOND)
    for job in jobs:
        fleet.arrive(job.at_us, *job.lane, job.cost_us)

    while fleet.now_us < seconds * SECOND:
        fleet.run(fleet.now_us + SECOND // 2)
        fleet.order.begin_reconcile()
        fleet.order.reconcile(fleet.read(), fleet.now_us, fleet.heads)

    scene = Scene(seconds=seconds, honest=(), attack=(), quiet=(QUIET,))
    assert max(outcome(scene, fleet.jobs.values()).waits_us) <= SECOND // 4


def test_tenants_of_the_first_moments_wait_no_longer_once_they_are_known() -> None:
    """Two hundred with a job a second, when two begin: the reserve blocked some meanwhile."""
    seconds, draw = 12, Random(1)
    quiet = tuple(("q", f"c{number}") for number in range(200))
    small = tuple(
        job
        for lane in quiet
        for from_us in (draw.randrange(400 * MS),)
        for job in steady(lane, 50 * MS, SECOND, from_us=from_us, until_us=seconds * SECOND)
    )
    busy = tuple(
        job for lane in VICTIMS for job in backlog(lane, 200 * MS, 1500, at_us=2 * SECOND)
    )
    scene = Scene(seconds=seconds, honest=small + busy, attack=(), busy=VICTIMS, quiet=quiet)

    found = outcome(scene, play(scene, attacked=True).jobs.values())

    assert found.wait_us(99) <= SECOND // 2
    assert found.share >= SHARE


@pytest.mark.parametrize("row", ["claims months in fresh queues"])
def test_no_hint_brings_tags_to_their_end(row: str) -> None:
    """A row's tag is a bigint, and the order's own end is 2^62."""
    fleet = play(ATTACKS[row](), attacked=True)

    assert max(job.vtag for job in fleet.jobs.values()) < TAG_END


def test_the_checker_shares_level_by_level_and_gives_nobody_more_than_it_could_use() -> None:
    """Of 20 slots queue `q` has 15 by its weight, and `c` has what `a` leaves, by weight."""
    a, b, c = path("q", "a"), path("q", "b"), path("q", "c", weight=2.0)
    wanted = {a: 2.0, b: 9.0, c: 9.0, path("r", "d"): 30.0, path("s", "e"): 0.0}

    shares = fluid(wanted, 20)
    assert [(2.0, 15.0), (13 / 3, 15.0), (26 / 3, 15.0)] == [shares[each] for each in (a, b, c)]


def path(queue: str, tenant: str, *, weight: float = 1.0) -> Path:
    """Return an account; queue `q` has a weight of 3."""
    return ((queue, 3.0 if queue == "q" else 1.0), (tenant, weight))
