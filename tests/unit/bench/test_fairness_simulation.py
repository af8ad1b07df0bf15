"""The simulated fleet: claims under each policy, reproducibly."""

from pathlib import Path

import pytest

from bench.fairness.contenders.references import Fifo, LeastInFlight, RoundRobin, Stride
from bench.fairness.contenders.registry import (
    ALWAYS,
    Race,
    UnknownContenderError,
    contender,
)
from bench.fairness.contenders.simulation import simulate
from bench.fairness.contenders.sqs import SqsRules
from bench.fairness.traffic.generate import generate
from bench.fairness.traffic.workload import FOLDER, Workload, load
from fairlead_scheduler.simulation.engine import JobOutcome, SimulatedFleet
from fairlead_scheduler.simulation.trace import Arrival

MS = 1000


def job(tenant: str, cost_ms: int, at_ms: int = 0) -> Arrival:
    """Return a job of queue q."""
    return Arrival(at_ms * MS, "q", tenant, cost_ms * MS)


def order(played: tuple[JobOutcome, ...]) -> str:
    """Return the tenants in the order of their claims."""
    claims = [(at_us, place) for place, (_, at_us, _) in enumerate(played) if at_us is not None]
    return " ".join(played[place].arrival.tenant for _, place in sorted(claims))


SMALL = Workload.model_validate(
    {
        "title": "small",
        "slots": 4,
        "seconds": 20,
        "show": ["quiet_p99_seconds"],
        "tenants": [
            {
                "name": "noisy",
                "group": "noisy",
                "arrivals": {"form": "poisson", "per_second": 50},
                "cost": {"form": "uniform", "lowest_seconds": 0.05, "highest_seconds": 0.2},
            },
            {
                "name": "quiet",
                "count": 3,
                "group": "quiet",
                "arrivals": {"form": "bursts", "jobs": 2, "every_seconds": 1},
                "cost": {"form": "exponential", "mean_seconds": 0.1},
            },
        ],
    }
)


def test_a_free_slot_takes_a_job_at_once_when_nothing_has_latency() -> None:
    """Decided at the moment of the claim: no slot is idle while work waits."""
    trace = (job("a", 10), job("a", 10), job("a", 10, at_ms=15))

    played = simulate(trace, Fifo(), SimulatedFleet(slots=1), 100 * MS)

    assert [0, 10 * MS, 20 * MS] == [each.claimed_us for each in played]
    assert [10 * MS, 20 * MS, 30 * MS] == [each.ended_us for each in played]


def test_latency_is_a_look_a_way_out_and_a_way_to_claim() -> None:
    """A job that arrives after a tick waits for the next one, then for two round trips."""
    trace = (job("a", 10, at_ms=1), job("a", 10, at_ms=1))
    fleet = SimulatedFleet(
        slots=1, tick_us=9 * MS, dispatch_us=1 * MS, claim_us=1 * MS, depth=5
    )

    played = simulate(trace, Fifo(), fleet, 100 * MS)

    # Looked at at 10, seen by workers at 11, claimed at 12, ended at 22, and claimed at 23.
    assert [12 * MS, 23 * MS] == [each.claimed_us for each in played]


@pytest.mark.parametrize("name", [*ALWAYS, "fairlead@50", "round-robin@50", "fifo@direct"])
def test_a_replay_is_the_same(name: str) -> None:
    """The same seed gives the same jobs and the same claims, under every policy."""
    runs: list[tuple[JobOutcome, ...]] = []
    for _ in range(2):
        trace = generate(SMALL, 7)
        until_us = SMALL.until_us
        race = Race(trace=trace, weights=SMALL.weights, slots=4, until_us=until_us)
        given = contender(name, 4)
        runs.append(simulate(trace, given.policy(race), given.fleet, until_us))

    assert runs[0] == runs[1]


@pytest.mark.parametrize("name", ALWAYS)
def test_no_policy_claims_more_than_there_are_slots_or_before_a_job_came(name: str) -> None:
    """Each job is claimed once, after its arrival; never more than four run."""
    trace = generate(SMALL, 7)
    race = Race(trace=trace, weights={}, slots=4, until_us=SMALL.until_us)
    given = contender(name, 4)

    played = simulate(trace, given.policy(race), given.fleet, SMALL.until_us)

    changes = sorted(
        change
        for _, claimed_us, ended_us in played
        if claimed_us is not None
        for change in ((claimed_us, 1), (ended_us or SMALL.until_us, -1))
    )
    running = 0
    for _, change in changes:
        running += change
        assert running <= 4
    assert all(c is None or c >= arrival.at_us for arrival, c, _ in played)


def test_another_seed_gives_other_jobs() -> None:
    """Traffic comes from the seed."""
    assert generate(SMALL, 7) == generate(SMALL, 7)
    assert generate(SMALL, 7) != generate(SMALL, 8)


def test_a_new_tenant_changes_nobody_elses_jobs() -> None:
    """Each tenant has a random source of its own."""
    fewer = SMALL.model_copy(update={"tenants": SMALL.tenants[1:]})

    quiet = [each for each in generate(SMALL, 7) if each.group == "quiet"]

    assert list(generate(fewer, 7)) == quiet


def test_fifo_goes_by_arrival() -> None:
    """A plain queue: first come, first served."""
    trace = (job("a", 10), job("a", 10), job("b", 10), job("a", 10))

    assert "a a b a" == order(simulate(trace, Fifo(), SimulatedFleet(slots=1), 1000 * MS))


def test_round_robin_takes_turns_by_jobs() -> None:
    """One of each tenant in turn, whatever they cost."""
    trace = (job("a", 90), job("a", 90), job("a", 90), job("b", 10), job("b", 10))

    assert "a b a b a" == order(
        simulate(trace, RoundRobin(), SimulatedFleet(slots=1), 1000 * MS)
    )


def test_stride_shares_numbers_of_jobs_by_weight() -> None:
    """Two jobs of weight 2 for one of weight 1, whatever they cost."""
    trace = (*(job("a", 10) for _ in range(4)), *(job("b", 90) for _ in range(2)))
    weights = {("q", "a"): 2.0}

    assert "a b a a b a" == order(
        simulate(trace, Stride(weights), SimulatedFleet(slots=1), 1000 * MS)
    )


def test_least_in_flight_fills_up_whoever_holds_least() -> None:
    """One slot for each of two tenants, for as long as both have work."""
    trace = (*(job("a", 100) for _ in range(3)), *(job("b", 10, at_ms=1) for _ in range(4)))

    played = simulate(trace, LeastInFlight({}), SimulatedFleet(slots=2), 150 * MS)

    # Both slots are a's until they are free; then each tenant has one.
    assert "a a a b b b b" == order(played)


def test_a_quiet_tenant_goes_before_a_noisy_one_under_sqs_rules() -> None:
    """With over a tenth of the processing time a tenant is noisy until its backlog is gone."""
    trace = (
        *(job("a", 100) for _ in range(4)),
        job("b", 10, at_ms=150),
        job("c", 10, at_ms=160),
    )

    assert "a a b c a a" == order(
        simulate(trace, SqsRules(), SimulatedFleet(slots=1), 1000 * MS)
    )


def test_many_messages_in_flight_make_a_tenant_noisy_under_sqs_rules() -> None:
    """More than a tenth of those in flight, and at least thirty of its own."""
    flood = [job("a", 1000) for _ in range(60)]
    trace = (*flood, *(job("b", 1000) for _ in range(2)))

    played = simulate(trace, SqsRules(), SimulatedFleet(slots=40), 1500 * MS)

    first = [each.arrival.tenant for each in played if each.claimed_us == 0]
    assert ["b", "b"] == [tenant for tenant in first if tenant == "b"]
    assert 40 == len(first)


def test_fairlead_lets_a_quiet_tenant_go_first_at_any_depth() -> None:
    """Workers claim by tag: of what is queued already, one job at most goes before it."""
    trace = (*(job("a", 100) for _ in range(50)), job("b", 100, at_ms=250))
    given = contender("fairlead@40", 1)
    race = Race(trace=trace, weights={}, slots=1, until_us=1000 * MS)

    played = simulate(trace, given.policy(race), given.fleet, 1000 * MS)

    claimed_us = played[-1].claimed_us
    assert claimed_us is not None
    assert claimed_us <= 400 * MS


@pytest.mark.parametrize("name", ["no-such", "fifo@deep", "sqs@-1"])
def test_an_unknown_contender_is_refused(name: str) -> None:
    """The message says which there are."""
    with pytest.raises(UnknownContenderError, match=r"there are|give product"):
        contender(name, 1)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_every_workload_of_the_project_is_one(path: Path) -> None:
    """Each loads in both forms, and the contenders it compares take part."""
    quick, full = load(path), load(path, "full")

    assert quick.slots <= full.slots
    assert {*ALWAYS, *quick.extra}.issuperset(
        name for each in quick.compare.values() for name in (each.of, each.over)
    )
