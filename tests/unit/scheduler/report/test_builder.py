"""The fairness report: what tenants received of the slots, computed by hand."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from fairlead_scheduler.policy.compiled import Bands, CompiledPolicy, Terms
from fairlead_scheduler.policy.settings import FairSettings, ShortSettings
from fairlead_scheduler.report.builder import ReportBuilder
from fairlead_scheduler.report.snapshot import LedgerSnapshot, take_snapshot
from fairlead_scheduler.report.values import FairnessReport, ServiceReceived
from tests.support.fair_bench import MS, Bench
from tests.support.tables import table, weighing

SECOND = 1_000_000
LOOK_US = 5 * SECOND
URGENT = -5
BANDS = Bands(names=("urgent", "bulk"), waits_us=(0, 600 * SECOND), ranks=((-100, -1, 0),))
TWO = weighing({("q", "a"): 1.0, ("q", "b"): 3.0})


class Reported(Bench):
    """A fair order with its reports; jobs run for as long as a test says."""

    def __init__(self, terms: CompiledPolicy) -> None:
        super().__init__(terms)
        self.reporter = ReportBuilder(LOOK_US)
        self.now_us = 100 * SECOND
        self.queued: dict[str, list[int]] = {}

    def begin(self, *tenants: str) -> None:
        """Let tenants have far more pending than is dispatched, and take the first snapshot."""
        for tenant in tenants:
            self.add(f"q/{tenant}", *[1000] * 50)
        self.dispatch(20)
        assert self.step() is None

    def dispatch(self, room: int, *, slots: int = 4) -> None:
        """Dispatch so many jobs more."""
        for job in self.plan(room, slots=slots):
            self.queued.setdefault(self.names[job.id].rstrip("0123456789"), []).append(job.id)

    def claim(self, tenant: str) -> int:
        """Let a worker take a dispatched job of the tenant; return its id."""
        job = self.queued[tenant].pop()
        self.order.claimed([job], self.now_us)
        return job

    def serve(self, **seconds: int) -> None:
        """Let a job of each tenant be claimed, and end after so many seconds."""
        for tenant, run in seconds.items():
            self.order.ended([self.claim(tenant)], [run * SECOND])

    def step(self) -> FairnessReport | None:
        """Let the report builder go on for one tick."""

        def take() -> LedgerSnapshot:
            return take_snapshot(self.order.ledgers, self.now_us, slots=4, free=4)

        return self.reporter.step(self.now_us, take)

    def report(self) -> FairnessReport:
        """Let five seconds pass since the last snapshot, and return the report on them."""
        self.now_us += LOOK_US - MS
        self.plan(0, slots=4)
        found: FairnessReport | None = None
        while found is None:
            found = self.step()
        return found


def had(report: FairnessReport) -> Mapping[str, ServiceReceived]:
    """Return what each tenant received."""
    return {each.tenant: each.received for each in report.tenants}


def test_two_tenants_that_get_their_weights_are_even() -> None:
    """5 and 15 of 20 slot-seconds at weights of 1 and 3: no lag, and Jain's index is 1."""
    bench = Reported(TWO)
    bench.begin("a", "b")

    bench.serve(a=5, b=15)
    report = bench.report()

    assert {
        "a": ServiceReceived(0.25, 0.25, 5.0, 0.0),
        "b": ServiceReceived(0.75, 0.75, 15.0, 0.0),
    } == had(report)
    assert (20.0, 1.0, 2) == (report.slot_seconds, report.jain, report.jain_tenants)
    assert (ServiceReceived(1.0, 1.0, 20.0, 0.0), 0) == (
        report.queues[0].received,
        report.other.tenants,
    )


def test_who_gets_more_than_its_weight_is_ahead_and_the_other_behind() -> None:
    """10 and 10 where 5 and 15 were due: ratios of 2 and 2/3, whose index is .8."""
    bench = Reported(TWO)
    bench.begin("a", "b")

    bench.serve(a=10, b=10)
    report = bench.report()

    assert {
        "a": ServiceReceived(0.5, 0.25, 10.0, 5.0),
        "b": ServiceReceived(0.5, 0.75, 10.0, -5.0),
    } == had(report)
    assert 0.8 == pytest.approx(report.jain)


def test_who_wants_less_than_its_share_is_entitled_to_what_it_wants() -> None:
    """2 of 18 seconds; the other 16 are due to the tenants that waited, at 1 to 3."""
    bench = Reported(TWO)
    bench.begin("a", "b")
    bench.add("q/idle", 1000)
    bench.dispatch(1)

    bench.serve(idle=2, a=4, b=12)
    report = bench.report()

    assert [-0.0, 0.0, 0.0] == [each.lag_slot_seconds for each in had(report).values()]
    assert 2 / 18 == had(report)["idle"].entitled_share
    assert (2, 1.0) == (report.jain_tenants, report.jain)
    assert (2, 1) == (report.noisy.tenants, report.quiet.tenants)


def test_a_lane_at_its_limit_is_entitled_to_what_it_gets() -> None:
    """With a weight of 10 it would be due most; its limit of 1 slot leaves 15 to 1 and 2."""
    bench = Reported(
        table({("q", "big"): Terms(weight=10.0, limit=1), ("q", "b"): Terms(weight=2.0)})
    )
    bench.begin("big", "a", "b")
    bench.claim("big")

    bench.serve(a=5, b=10)
    report = bench.report()

    assert [10.0, 5.0, 5.0] == [each.received.slot_seconds for each in report.tenants]
    assert {0.0} == {each.received.lag_slot_seconds for each in report.tenants}
    assert 2 == report.jain_tenants
    (big,) = (each for each in report.tenants if each.tenant == "big")
    assert ("limit", 1) == (big.blocked_by, big.running)


def test_who_began_to_wait_in_between_is_entitled_to_what_it_got() -> None:
    """A tenant of short bursts may be found waiting, and is not starved for that."""
    bench = Reported(TWO)
    bench.begin("a", "b")
    bench.add("q/late", *[1000] * 50)
    bench.dispatch(1)

    bench.serve(late=1, a=4, b=12)
    report = bench.report()

    assert {0.0} == {each.lag_slot_seconds for each in had(report).values()}
    assert 2 == report.jain_tenants


def test_a_queue_at_its_limit_shares_what_it_got() -> None:
    """With a weight of 10 it would be due most; its tenants are compared all the same."""
    bench = Reported(table({("r", None): Terms(weight=10.0, limit=2)}))
    bench.add("r/c", *[1000] * 50)
    bench.add("r/d", *[1000] * 50)
    bench.begin("a")

    bench.order.ended([bench.claim("c")], [6 * SECOND])
    bench.order.ended([bench.claim("d")], [4 * SECOND])
    bench.serve(a=10)
    report = bench.report()

    assert {"a": 0.0, "c": 1.0, "d": -1.0} == {
        each.tenant: each.received.lag_slot_seconds for each in report.tenants
    }


def test_who_is_kept_from_slots_for_short_jobs_goes_on_waiting() -> None:
    """Long jobs of two tenants count by weight, though the reserve blocks their lanes."""
    bench = Reported(TWO)
    short = ShortSettings(per_10_000=2500, lowest=1, shorter_us=SECOND // 2)
    settings = FairSettings(turn_us=0, short=short)
    bench.order.apply(replace(TWO, digest="kept", settings=settings), bench.now_us)
    bench.begin("a", "b")

    for tenant, run in (("b", 10), ("a", 5), ("b", 5)):
        bench.serve(**{tenant: run})
        bench.dispatch(20)
    report = bench.report()

    assert {"reserve"} == {each.blocked_by for each in report.tenants}
    assert {"a": 0.0, "b": 0.0} == {
        each.tenant: each.received.lag_slot_seconds for each in report.tenants
    }
    assert 2 == report.jain_tenants


def test_a_run_that_goes_on_counts_up_to_the_snapshot_and_no_second_twice() -> None:
    """A job of 12 s is 5 s in each of two buckets and 2 s in the third."""
    bench = Reported(TWO)
    bench.begin("a", "b")
    job = bench.claim("a")

    seconds = [bench.report().slot_seconds for _ in range(2)]
    bench.order.ended([job], [12 * SECOND])

    assert [5.0, 10.0, 12.0] == [*seconds, bench.report().slot_seconds]


def test_what_ran_before_the_first_snapshot_does_not_count() -> None:
    """A new leader counts from its first snapshot, also jobs that it found running."""
    bench = Reported(TWO)
    bench.add("q/a", 1000)
    bench.dispatch(1)
    bench.claim("a")
    bench.now_us += 60 * SECOND
    bench.begin("b")

    report = bench.report()

    assert (5.0, LOOK_US) == (report.slot_seconds, report.at_us - report.since_us)


def test_a_run_that_was_broken_off_counts() -> None:
    """A crashing tenant pays for the slots that its crashes held."""
    bench = Reported(TWO)
    bench.begin("a", "b")
    job = bench.claim("a")
    bench.now_us += 3 * SECOND
    bench.order.returned([job], bench.now_us)

    assert 3.0 == bench.report().slot_seconds


def test_the_window_moves_on() -> None:
    """After a minute former service is forgotten, and then the lane."""
    bench = Reported(TWO)
    bench.add("q/a", 1000)
    bench.dispatch(1)
    bench.begin()
    bench.serve(a=7)

    seconds = [bench.report().slot_seconds for _ in range(13)]

    assert [7.0] * 12 + [0.0] == seconds
    report = bench.report()
    assert ((), None) == (report.tenants, report.jain)
    assert 12 * LOOK_US == report.at_us - report.since_us


def test_what_blocks_a_tenant_is_said_with_since_when() -> None:
    """The first snapshot with this reason; a wait counts from when the leader saw the job."""
    bench = Reported(table({("q", "a"): Terms(limit=1)}))
    bench.begin("a")
    bench.claim("a")

    first, second = bench.report(), bench.report()

    assert {("limit", "1970-01-01T00:01:40.001000+00:00")} == {
        (each.tenants[0].blocked_by, each.tenants[0].blocked_since) for each in (first, second)
    }
    assert (second.at_us - 100 * SECOND) / SECOND == second.tenants[0].oldest_wait_seconds


def test_queues_share_by_their_weights_first() -> None:
    """A queue of two tenants is due no more than one with a single tenant of its weight."""
    bench = Reported(TWO)
    bench.add("r/c", *[1000] * 50)
    bench.begin("a", "b")

    bench.serve(a=5, b=5, c=10)
    report = bench.report()

    assert [0.5, 0.375, 0.125] == sorted(
        (each.entitled_share for each in had(report).values()), reverse=True
    )
    assert {"q": 0.0, "r": 0.0} == {
        each.queue: each.received.lag_slot_seconds for each in report.queues
    }


def test_a_lower_band_is_entitled_to_what_upper_ones_leave() -> None:
    """Urgent jobs wanted 5 of 20 seconds; the other 15 are due to bulk, which waited."""
    bench = Reported(replace(TWO, bands=BANDS))
    bench.begin("b")
    bench.add("q/a", 1000, rank=URGENT)
    bench.dispatch(1)

    bench.serve(a=5, b=15)
    report = bench.report()

    assert {"a": 0.25, "b": 0.75} == {
        name: each.entitled_share for name, each in had(report).items()
    }


def test_a_lower_band_is_due_nothing_while_an_upper_one_waits() -> None:
    """What running bulk jobs receive then is in advance; a tenant is one row."""
    bench = Reported(replace(TWO, bands=BANDS))
    bench.add("q/b", *[1000] * 50)
    bench.dispatch(5)
    bench.add("q/a", *[1000] * 50, rank=URGENT)
    bench.add("q/a", 1000)
    bench.begin()

    bench.serve(b=5, a=15)
    report = bench.report()

    assert {"a": -5.0, "b": 5.0} == {
        name: each.lag_slot_seconds for name, each in had(report).items()
    }
    assert 2 == len(report.tenants)


def test_a_tenant_with_jobs_in_two_bands_is_counted_once() -> None:
    """Among those that always had something pending, though a lane of it had nothing."""
    bench = Reported(replace(TWO, bands=BANDS))
    bench.add("q/a", 1000, rank=URGENT)
    bench.add("q/a", *[1000] * 50)
    bench.add("q/b", 1000)
    bench.begin()

    bench.dispatch(3)
    bench.serve(a=5)
    report = bench.report()

    assert (1, 1, 0) == (report.noisy.tenants, report.quiet.tenants, report.other.tenants)
    assert report.noisy.oldest_wait_seconds >= 5


def test_a_tenant_that_was_forgotten_and_came_back_is_one_tenant() -> None:
    """What it received before counts with what it received since."""
    bench = Reported(TWO)
    few = FairSettings(idle_lanes_max=0)
    bench.order.apply(replace(TWO, digest="few", settings=few), bench.now_us)
    bench.begin()
    for run in (5, 7):
        bench.add("q/a", 1000)
        bench.dispatch(1)
        bench.serve(a=run)
        report = bench.report()
        bench.order.begin_reconcile()
        bench.reconcile([], bench.now_us)

    assert [12.0] == [each.received.slot_seconds for each in report.tenants]


def test_the_smallest_tenants_are_added_up() -> None:
    """A report names 1,000; the rest is `other`, and nothing is lost."""
    bench = Reported(TWO)
    for number in range(1003):
        bench.add(f"q/t{number}x", 1000)
    bench.begin()
    bench.dispatch(2000, slots=2000)
    bench.serve(**{f"t{number}x": 1 + (number >= 3) for number in range(1003)})

    report = bench.report()

    assert (1000, 3, 3.0) == (
        len(report.tenants),
        report.other.tenants,
        report.other.received.slot_seconds,
    )
    assert 1.0 == pytest.approx(
        report.other.received.share + sum(each.received.share for each in report.tenants)
    )


def test_a_snapshot_waits_until_there_is_time_for_every_lane() -> None:
    """2 ms for each lane: with 3,000 of them snapshots are 6 s apart, and not 5."""
    bench = Reported(TWO)
    for number in range(3000):
        bench.add(f"q/t{number}x", 1000)
    for _plan in range(3):
        bench.plan(0)
    bench.dispatch(20)
    for _tick in range(3000 // 250 + 1):
        assert bench.step() is None
    looks_us: list[int] = []
    first_us = bench.now_us
    for tenth in range(1, 70):
        bench.now_us = first_us + tenth * SECOND // 10

        def take() -> LedgerSnapshot:
            looks_us.append(bench.now_us - first_us)
            return take_snapshot(bench.order.ledgers, bench.now_us, slots=4, free=4)

        bench.reporter.step(bench.now_us, take)

    assert [6 * SECOND] == looks_us
