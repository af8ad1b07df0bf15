"""Concurrency keys in the fair order, decision by decision."""

from collections.abc import Mapping

import pytest

from fairlead_scheduler.explain.snapshot import lane_snapshot
from fairlead_scheduler.ordering.job_checks.head_selection import HeadSelection
from fairlead_scheduler.ordering.job_checks.head_selection import SelectionResult as Chosen
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.membership import ensure_lane
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.ordering.pool_context import PoolContext
from fairlead_scheduler.pending.cursors import SKIPPED_MAX, StreamHeads
from fairlead_scheduler.pending.values import Head, HeadsSettings
from fairlead_scheduler.policy.compiled import CompiledPolicy, Terms
from fairlead_scheduler.policy.settings import KeyLimit
from tests.support.fair_bench import MS, Bench
from tests.support.fleet import Fleet
from tests.support.tables import table

ACCOUNT, REGION = "payload.account", "headers.region"
A, B, C = ({ACCOUNT: account} for account in "abc")
NONE: Mapping[str, str] = {}
ONE_EACH = (KeyLimit(ACCOUNT, 1),)


def keyed(*limits: KeyLimit, terms: Terms | None = None) -> CompiledPolicy:
    """Return a table whose queue `q` has these keys."""
    given: dict[tuple[str, str | None], Terms] = {} if terms is None else {("q", "t"): terms}
    return table(given, keys={"q": limits or ONE_EACH})


def planned(bench: Bench, rounds: int = 3) -> str:
    """Return what these rounds dispatch: an unread head goes in the second round at best."""
    jobs = [job for _ in range(rounds) for job in bench.plan()]
    return bench.claim_order(jobs)


def waiting(*accounts: Mapping[str, str], limits: tuple[KeyLimit, ...] = ONE_EACH) -> Bench:
    """Return a bench with such jobs in one lane."""
    bench = Bench(keyed(*limits))
    for fields in accounts:
        bench.add("q/t", 100, fields=fields)
    return bench


@pytest.mark.parametrize(
    ("accounts", "goes"),
    [
        ([A, A, B], "t1 t3"),
        ([A, B, A, B, NONE], "t1 t2 t5"),
        ([NONE, NONE, NONE], "t1 t2 t3"),
        ([A, A, A], "t1"),
        ([A, B, C], "t1 t2 t3"),
    ],
)
def test_a_head_that_a_key_holds_is_skipped(
    accounts: list[Mapping[str, str]], goes: str
) -> None:
    """At most n running per key; a job without it is free of it; the later heads go first."""
    assert goes == planned(waiting(*accounts))


def test_a_head_waits_until_its_values_are_read() -> None:
    """The lane index does not carry them: nothing goes before they are known."""
    bench = waiting(A)

    assert () == bench.plan()
    assert bench.order.awaits_values
    assert "t1" == bench.claim_order(bench.plan())
    assert not bench.order.awaits_values


def test_an_unread_head_is_not_passed_over() -> None:
    """It may have the value of those behind it: inside a key the order stays."""
    bench = waiting({ACCOUNT: "a"}, {ACCOUNT: "b"})
    bench.plan()
    bench.order.attribute_requests()
    bench.order.learn([])

    assert () == bench.decide(bench.now_us, 10, 10).rows
    assert "t1 t2" == planned(bench)


def test_an_ending_lets_the_next_of_its_value_go_before_later_ones() -> None:
    """Order inside a key stays by place."""
    bench = waiting(A, A, A, B, B)
    assert "t1 t4" == planned(bench)

    bench.order.ended([1], [100 * MS])

    assert "t2" == planned(bench)
    bench.order.ended([4, 2], [100 * MS] * 2)
    assert "t3 t5" == planned(bench)


def test_every_key_has_to_allow_a_job() -> None:
    """One may go for each account, and two for each region."""
    bench = Bench(keyed(KeyLimit(ACCOUNT, 1), KeyLimit(REGION, 2)))
    for account in "abcd":
        bench.add("q/t", 100, fields={ACCOUNT: account, REGION: "eu"})
    bench.add("q/t", 100, fields={ACCOUNT: "e", REGION: "us"})

    assert "t1 t2 t5" == planned(bench)
    bench.order.ended([2], [100 * MS])
    assert "t3" == planned(bench)


def test_a_value_counts_over_all_tenants_or_in_each() -> None:
    """The scope of a key says whose jobs count together."""
    found: list[str] = []
    for per_tenant in (False, True):
        bench = Bench(keyed(KeyLimit(ACCOUNT, 1, per_tenant)))
        bench.add("q/t", 100, 100, fields=A)
        bench.add("q/u", 100, 100, fields=A)
        found.append(planned(bench))

    assert ["t1", "t1 u1"] == found


def test_lanes_that_wait_for_one_value_take_turns_by_their_tags() -> None:
    """The fair order decides between tenants, as everywhere."""
    bench = Bench(keyed())
    bench.add("q/t", *[100] * 4, fields=A)
    bench.add("q/u", *[100] * 4, fields=A)
    order: list[str] = [planned(bench)]
    for _ in range(3):
        bench.order.ended(list(bench.order.in_flight), [100 * MS])
        order.append(planned(bench))

    assert ["t1", "u1", "t2", "u2"] == order


def test_the_first_heads_are_passed_over_and_no_more() -> None:
    """Skipped up to the 64 prefetched heads: then the lane is held, and an ending frees it."""
    bench = waiting(*[A] * (SKIPPED_MAX + 1), B)
    assert "t1" == planned(bench)
    assert {"key": 1} == {name: n for name, n in bench.order.blocked_lanes().items() if n}

    bench.order.ended([1], [100 * MS])

    assert f"t2 t{SKIPPED_MAX + 2}" == planned(bench)


def test_a_lane_that_keys_hold_sees_new_heads_at_once() -> None:
    """It is held only while all of its heads are."""
    bench = waiting(A, A, A)
    assert "t1" == planned(bench)

    bench.add("q/t", 100, fields=B)

    assert "t4" == planned(bench)


def test_a_head_of_less_priority_goes_past_those_that_a_key_holds() -> None:
    """Later heads go first, also those of another priority."""
    bench = waiting(A, A)
    bench.add("q/t", 100, rank=1, fields=A)
    bench.add("q/t", 100, rank=1, fields=B)
    bench.add("q/t", 100, rank=2, fields=B)

    assert "t1 t4" == planned(bench)
    bench.order.ended([1], [100 * MS])
    assert "t2" == planned(bench)


def test_heads_behind_those_that_a_key_holds_are_read_from_the_database() -> None:
    """A lane whose heads are all held asks for more of them, up to 64."""
    few = HeadsSettings(first=4, lowest=4)
    fleet = Fleet(slots=4, depth=0, table=keyed(), heads=few)
    for fields in (*[A] * 20, B):
        fleet.arrive(0, "q", "t", 10_000 * MS, fields=fields)
    fleet.tick()
    fleet.fail_over()

    fleet.run(200 * MS)

    assert [1, 21] == sorted(fleet.work)


def test_other_queues_are_not_asked_for_anything() -> None:
    """Heads of lanes without keys cost nothing more."""
    bench = Bench(keyed())
    bench.add("r/t", 100, 100, fields=A)

    assert "t1 t2" == bench.claim_order(bench.plan())
    assert () == bench.order.attribute_requests()


@pytest.mark.parametrize("event", ["refused", "recalled", "ended"])
def test_what_leaves_the_work_queue_gives_its_key_back(event: str) -> None:
    """Cancelled, expired, failed and recalled jobs as well as those that succeeded."""
    bench = waiting(A, A)
    assert "t1" == planned(bench)
    match event:
        case "refused":
            bench.order.refused([1], "default")
        case "recalled":
            bench.order.recalled([1], bench.heads)
        case _:
            bench.order.ended([1], [0])

    assert ("t1" if event == "recalled" else "t2") == planned(bench)


def test_a_row_that_is_handed_back_keeps_its_key() -> None:
    """It waits in the work queue, and will run."""
    bench = waiting(A, A)
    planned(bench)
    bench.order.claimed([1], bench.now_us)

    bench.order.returned([1], bench.now_us)

    assert "" == planned(bench)


def test_a_new_leader_dispatches_nothing_of_a_queue_before_it_knows_who_has_its_keys() -> None:
    """Exact across a leader's death: what is in flight is read again."""
    bench = Bench(keyed())
    for account in (A, A, B):
        bench.add("q/t", 100, fields=account)
    rows = [QueueRow(1, "q", "t", 0, 1000, 0)]
    bench.adopt(rows, 0)
    bench.order.attribute_requests()

    assert () == bench.decide(bench.now_us, 10, 10).rows
    assert bench.order.awaits_values
    assert "t3" == planned(bench)
    bench.order.ended([1], [100 * MS])
    assert "t2" == planned(bench)


def test_a_row_of_a_former_leader_blocks_the_queue_until_its_values_are_read() -> None:
    """An audit may find one: it may have the key of a head that could go otherwise."""
    bench = waiting(A)
    bench.plan()
    bench.plan(room=0)
    bench.fields[99] = A
    bench.reconcile([QueueRow(99, "q", "t", 0, 1000, 0)], bench.now_us)

    assert () == bench.decide(bench.now_us, 10, 10).rows
    assert "" == planned(bench)
    bench.order.ended([99], [100 * MS])
    assert "t1" == planned(bench)


def test_a_policy_that_brings_a_key_counts_what_runs() -> None:
    """Also after an edit that adds a key while jobs of it run."""
    bench = Bench(table({}))
    bench.add("q/t", 100, fields=A)
    assert "t1" == bench.claim_order(bench.plan())
    bench.order.claimed([1], bench.now_us)
    bench.add("q/t", 100, 100, fields=A)
    bench.add("q/t", 100, fields=B)

    bench.order.apply(keyed(), bench.now_us)

    assert "t4" == planned(bench)
    bench.order.ended([1], [100 * MS])
    assert "t2" == planned(bench)


def test_unclaimed_rows_above_a_new_limit_of_a_key_are_recalled() -> None:
    """As with every limit; what runs goes on."""
    bench = Bench(table({}))
    bench.add("q/t", 100, 100, 100, fields=A)
    bench.plan()
    bench.order.claimed([1], bench.now_us)

    bench.order.apply(keyed(), bench.now_us)
    before = bench.order.surplus_rows()
    planned(bench)

    assert ((), (2, 3)) == (before, bench.order.surplus_rows())


def test_another_limit_of_the_same_key_holds_at_once() -> None:
    """Nothing has to be read again."""
    bench = waiting(A, A, A)
    assert "t1" == planned(bench)

    bench.order.apply(keyed(KeyLimit(ACCOUNT, 2)), bench.now_us)

    assert "t2" == bench.claim_order(bench.plan())


def test_a_policy_without_the_key_unblocks_every_lane() -> None:
    """Those that it held, and those whose values had not been read."""
    bench = waiting(A, A)
    planned(bench)
    bench.add("q/u", 100, fields=A)
    bench.plan()

    bench.order.apply(table({}), bench.now_us)

    assert "u1 t2" == bench.claim_order(bench.plan())


def test_a_pause_outlasts_the_key() -> None:
    """Whichever of the two ends first."""
    bench = waiting(A, A)
    assert "t1" == planned(bench)
    bench.plan(paused="q/t")
    bench.order.ended([1], [100 * MS])

    assert () == bench.plan(paused="q/t")
    assert "t2" == planned(bench)


def test_a_lanes_own_limit_counts_beside_the_keys() -> None:
    """All of them must allow a job."""
    bench = Bench(keyed(terms=Terms(limit=2)))
    for account in "aabc":
        bench.add("q/t", 100, fields={ACCOUNT: account})

    assert "t1 t3" == planned(bench)
    bench.order.ended([3], [100 * MS])
    assert "t4" == planned(bench)


def test_a_reserve_is_no_way_past_a_key() -> None:
    """Who has less in flight than its reserve goes first with what may go."""
    bench = Bench(keyed(terms=Terms(reserve=3)))
    for account in "aab":
        bench.add("q/t", 100, fields={ACCOUNT: account})

    assert "t1 t3" == planned(bench)


def test_a_head_that_was_chosen_in_vain_goes_back_into_its_place() -> None:
    """Something else may hold the lane after all."""
    ledger = Ledger(keyed(), {}, PoolContext())
    lane = ensure_lane(ledger, "q", "t")
    keys = lane.queue.keys
    assert keys is not None
    stream = StreamHeads(lane.heads, 0, SKIPPED_MAX)
    stream.ready.extend(Head(job_id, job_id, None, None) for job_id in (1, 2, 3))
    lane.heads.streams.append(stream)
    for job_id, text in enumerate("aaab"):
        keys.learn_head(job_id, "t", [text])
    keys.add_in_flight(0)
    selection = HeadSelection(lane, keys, {}, None)

    found = selection.advance([])
    brought = [head[0] for head in selection.move_to_front().ready]
    selection.put_back()

    assert (Chosen.GO, [3, 1, 2]) == (found, brought)
    assert [1, 2, 3] == [head[0] for head in stream.ready]


def test_what_holds_a_job_is_known_with_its_holders() -> None:
    """`explain` says the key's name, its value, who holds it, and where the job stands."""
    bench = waiting(A, B, A, A)
    planned(bench)

    snapshot = lane_snapshot(
        bench.order, "q", "t", now_us=bench.now_us, slots=4, free=2, job_id=4
    )

    assert snapshot is not None
    assert snapshot.key is not None
    key = snapshot.key
    assert (ACCOUNT, "a", 1, 1, (1,)) == (
        key.key,
        key.value,
        key.limit,
        key.in_flight,
        key.holders,
    )
    assert (1, 1) == (key.before, key.alike_before)


def test_the_values_of_a_busy_lane_are_read_before_a_slot_is_free() -> None:
    """Those of heads too that come while others of the lane wait: no slot waits for a look."""
    fleet = Fleet(slots=3, depth=0, table=keyed())
    for _ in range(3):
        fleet.arrive(0, "q", "u", 1000 * MS)
    for number, at_us in enumerate((100 * MS, 300 * MS, 500 * MS)):
        fleet.arrive(at_us, "q", "t", 1000 * MS, fields={ACCOUNT: str(number)})
    fleet.run(1020 * MS)

    fleet.tick()

    assert [4, 5, 6] == sorted(fleet.work)


def test_the_values_of_a_lane_at_its_limit_are_read_before_it_may_go_on() -> None:
    """It is let go by an ending, and its next job is known by then."""
    fleet = Fleet(slots=3, depth=0, table=keyed(terms=Terms(limit=1)))
    fleet.arrive(0, "q", "t", 1000 * MS, fields={ACCOUNT: "x"})
    fleet.arrive(500 * MS, "q", "t", 1000 * MS, fields={ACCOUNT: "y"})
    fleet.run(1020 * MS)

    fleet.tick()

    assert [2] == sorted(fleet.work)
