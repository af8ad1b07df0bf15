"""Accounts: a tenant has one share of the queues that the policy does not name."""

from dataclasses import replace

import pytest

from fairlead.policy import parse
from fairlead_scheduler.limits.blocked_reasons import REASONS
from fairlead_scheduler.ordering.router import PoolSize, Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import PendingJob
from fairlead_scheduler.policy.compiled import CompiledPolicy, QueueTerms, Terms, compile_policy
from fairlead_scheduler.policy.first_match import FirstMatch
from fairlead_scheduler.policy.settings import FairSettings
from tests.support.fair_bench import MS, Bench, decide
from tests.support.planned import Planned
from tests.support.tables import table

TURNS = FairSettings(turn_us=0, short=None)


def unnamed() -> Bench:
    """Return a bench without a policy."""
    return Bench(CompiledPolicy())


def naming(*queues: str) -> CompiledPolicy:
    """Return a policy that names these queues alone."""
    entries = [(frozenset({queue}), QueueTerms()) for queue in queues]
    return CompiledPolicy(
        queues=FirstMatch(entries), settings=TURNS, digest=" ".join(queues) or "none"
    )


def tenants(bench: Bench, jobs: tuple[Planned, ...]) -> str:
    """Return the tenants of jobs in the order of their claims."""
    names = bench.claim_order(jobs).split()
    return "".join(name.rstrip("0123456789") for name in names)


def queue_names(bench: Bench, jobs: tuple[Planned, ...]) -> str:
    """Return the queues of jobs in the order of their claims."""
    (ledger,) = bench.order.ledgers
    ordered = sorted(jobs, key=lambda job: (job.vtag, job.id))
    return "".join(ledger.in_flight_jobs[job.id].lane.queue.name for job in ordered)


def test_ten_queues_of_one_tenant_have_one_share() -> None:
    """Names that nobody gave a weight cost nothing, so they bring nothing."""
    bench = unnamed()
    for number in range(10):
        bench.add(f"q{number}/a", *[10] * 9)
    bench.add("r/b", *[10] * 9)

    assert "abababab" == tenants(bench, bench.plan(8))


def test_lanes_of_an_account_take_turns_by_what_their_jobs_take() -> None:
    """Not job by job: one queue of long jobs would leave the others little."""
    bench = unnamed()
    bench.add("q/a", *[None] * 2)
    bench.add("r/a", *[None] * 2)
    first = bench.plan(2)
    bench.order.claimed([job.id for job in first], bench.now_us)
    bench.order.ended([job.id for job in first], [300_000, 100_000])
    for queue in "qr":
        bench.add(f"{queue}/a", *[None] * 12)

    shares = queue_names(bench, bench.plan(12))

    assert (3, 9) == (shares.count("q"), shares.count("r")), shares


def test_a_queue_that_nobody_knew_waits_among_the_queues_of_its_tenant() -> None:
    """Its tenant is known, so it is no newcomer: others do not wait for it, nor it for them."""
    bench = unnamed()
    bench.add("q/a", *[100] * 9)
    bench.add("r/b", *[100] * 9)
    bench.run(bench.plan(4), 50)
    for number in range(40):
        bench.add(f"fresh{number}/a", 100)

    order = tenants(bench, bench.plan(8))

    assert (4, 4) == (order.count("a"), order.count("b")), order


def test_a_named_queue_has_a_share_beside_all_others_together() -> None:
    """Two tenants share the queues without a name; the named one has the other half."""
    bench = Bench(naming("named"))
    bench.add("named/n", *[10] * 9)
    bench.add("q/a", *[10] * 9)
    bench.add("r/b", *[10] * 9)

    order = tenants(bench, bench.plan(12))

    assert (6, 3, 3) == tuple(order.count(each) for each in "nab"), order


def test_an_entry_without_a_weight_gives_tenants_weights_in_queues_that_share() -> None:
    """However many of them a tenant uses."""
    document = "queues: [{match: {queue: '*'}, weight: null, tenants: {overrides: [%s]}}]"
    rule = "{match: {tenant: a}, weight: 3}"
    bench = Bench(compile_policy(parse(document % rule), stored=1))
    for queue in "qrs":
        bench.add(f"{queue}/b", *[10] * 9)
    bench.add("q/a", *[10] * 9)

    order = tenants(bench, bench.plan(8))

    assert (6, 2) == (order.count("a"), order.count("b")), order


def test_a_lane_that_a_limit_blocks_leaves_the_turns_to_the_others() -> None:
    """Of a named queue whose lane aged, and of any lane that is paused."""
    bench = unnamed()
    bench.add("q/a", *[10] * 3)
    bench.add("r/a", *[10] * 3)

    assert "rrr" == queue_names(bench, bench.plan(9, paused="q/a"))
    assert 1 == bench.order.blocked_lanes()["paused"]
    assert "qqq" == queue_names(bench, bench.plan(9))


@pytest.mark.parametrize(("before", "after"), [((), ("q",)), (("q",), ())])
def test_an_edit_that_names_a_queue_moves_its_lanes(
    before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    """Rows that wait are recalled; what runs is charged where it was, then where it is."""
    bench = Bench(naming(*before))
    bench.add("q/a", *[10] * 9)
    bench.add("r/b", *[10] * 9)
    waiting = bench.plan(6)
    claimed = {waiting[0].id, waiting[-1].id}
    bench.order.claimed(claimed, bench.now_us)
    (ledger,) = bench.order.ledgers

    bench.order.apply(naming(*after), bench.now_us)

    of_q = [x for x, job in ledger.in_flight_jobs.items() if job.lane.queue.name == "q"]
    recalled = bench.order.surplus_rows()
    assert set(recalled) == set(of_q) - claimed
    bench.order.recalled(recalled, bench.heads)
    in_flight = {
        (branch.queue.name if branch.queue else None, account.tenant): account.in_flight
        for branch in ledger.branches.values()
        for account in branch.by_tenant.values()
        if account.in_flight
    }
    assert {("q" if after else None, "a"): 1, (None, "b"): 3} == in_flight
    order = tenants(bench, bench.plan(4))
    assert (3, 1) == (order.count("a"), order.count("b")), order


def test_an_edit_that_names_a_queue_makes_nobody_a_newcomer() -> None:
    """Tenants that were known and idle have their next turns at once."""
    bench = Bench(naming())
    quiet = [f"q/quiet{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    for lane in ("q/noisy", *quiet):
        bench.add(lane, 10)
    bench.run(bench.plan(), 10)
    bench.now_us += 1_000 * MS
    bench.add("q/noisy", *[10] * 90)
    bench.run(bench.plan(20), 10)

    bench.order.apply(naming("q"), bench.now_us)
    bench.run(bench.plan(20), 10)
    for lane in quiet:
        bench.add(lane, 10)

    assert len(quiet) == tenants(bench, bench.plan(30)).count("quiet")


def test_a_queue_without_a_name_is_never_blocked_as_a_whole() -> None:
    """Its branch is that of the others as well."""
    bench = Bench(replace(table({("q", None): Terms(limit=1)}), settings=TURNS))
    bench.add("q/a", *[10] * 3)
    bench.add("r/b", *[10] * 3)
    bench.plan(9)
    assert 1 == bench.order.blocked_lanes()["limit"]

    bench.order.apply(naming(), bench.now_us)
    jobs = bench.plan(9)

    assert (2, 0) == (len(jobs), bench.order.blocked_lanes()[REASONS[1]])


def test_a_queue_that_competes_is_not_forgotten() -> None:
    """Else its weight would hold virtual time back for good."""
    order = Router("default", replace(table({}), settings=FairSettings(idle_lanes_max=0)))
    heads = Heads(in_flight=order.in_flight)
    heads.record_scan()
    queues = ("early", *["late"] * 7)
    heads.discovered([PendingJob(n, n, q, "t", 0, None, 0) for n, q in enumerate(queues, 1)])
    ids = [job_id for job_id, *_ in decide(order, PoolSize(2, 2), heads, 0).rows]
    order.claimed(ids, 1)
    order.ended(ids, [100 * MS, 1 * MS])
    decide(order, PoolSize(2, 2), heads, 100 * MS)
    order.reconcile([], 200 * MS, heads)

    assert order.ledgers[0].queues["early"].branch.service.competes


def test_a_named_queue_that_begins_later_has_no_first_moment_of_its_own() -> None:
    """In the first half second after a take-over nobody is put off; it is over by then."""
    bench = Bench(naming("q", "later"))
    bench.add("q/a", *[100] * 10)
    bench.now_us = MS
    bench.plan(1)
    bench.now_us = 1000 * MS
    bench.add("later/a", 100)
    bench.plan(2)

    (ledger,) = bench.order.ledgers
    begun_us = {name: branch.accounts.time.begun_us for name, branch in ledger.branches.items()}
    assert begun_us["q"] == begun_us["later"] < 1000 * MS
