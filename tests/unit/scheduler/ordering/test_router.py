"""Pools: which workers serve which queues, and queues that move."""

import pytest

from fairlead_scheduler.policy.pool_routing import Timeouts
from tests.support.pools import Fleets, table

TWO = "pools: [{name: mail, queues: ['mail*']}, {name: default, queues: ['*']}]"
ONE = "pools: [{name: default, queues: ['*']}]"
LIMIT = "queues: [{match: {queue: mail}, slots: {limit: %s}}]"
RATE = "queues: [{match: {queue: mail}, rate: {limit: 5, per: 1h}}]"
SLOTS = {"default": 4, "mail": 8}


@pytest.mark.parametrize(
    ("document", "queue", "pool"),
    [
        ("{}", "mail", "only"),
        (TWO, "mail", "mail"),
        (TWO, "mailbox", "mail"),
        (TWO, "email", "default"),
        ("pools: [{name: a, queues: [x]}, {name: b, queues: ['y*', x?]}]", "x", "a"),
        ("pools: [{name: a, queues: [x]}, {name: b, queues: ['y*', x?]}]", "xy", "b"),
        ("pools: [{name: a, queues: [x]}, {name: b, queues: ['y*', x?]}]", "z", None),
    ],
)
def test_a_queue_belongs_to_the_first_pool_that_names_it(
    document: str, queue: str, pool: str | None
) -> None:
    """Without the field one pool serves all; with it a queue may belong to none."""
    assert pool == table(document).routing.pool_of(queue, "only")


def test_a_pool_may_have_budgets_of_its_own() -> None:
    """TimeoutDefault and timeoutMax; the settings give what the policy does not."""
    routing = table(
        "pools: [{name: a, queues: [x], timeoutDefault: 90s}, "
        "{name: b, queues: [y], timeoutMax: 2h}]"
    ).routing

    found = [routing.timeouts_of(pool) for pool in ("a", "b", "c")]

    assert [Timeouts(default_seconds=90), Timeouts(max_seconds=7200), Timeouts()] == found


def test_each_queue_is_dispatched_into_its_pool() -> None:
    """And a pool's backlog takes nothing from the depth of another."""
    fleets = Fleets(TWO, SLOTS, depth=3)
    mail, rest = fleets.add("mail", 50), fleets.add("reports", 50)

    first = fleets.plan()

    assert {"mail": mail[:3], "default": rest[:3]} == first
    fleets.claim("mail", 2)
    assert {"mail": mail[3:5]} == fleets.plan()


def test_a_queue_that_no_pool_serves_waits_and_is_shown() -> None:
    """Until a policy names it; blocked for the reason `pool`, after a pause."""
    fleets = Fleets("pools: [{name: default, queues: [reports]}]", SLOTS)
    lost, served = fleets.add("lost", 3), fleets.add("reports", 2)

    first, held = fleets.plan(), fleets.order.blocked_lanes()["pool"]
    fleets.apply(ONE)

    assert {"default": served} == first
    assert (1, {"default": lost}) == (held, fleets.plan())
    assert 0 == fleets.order.blocked_lanes()["pool"]


def test_a_queue_that_moves_is_recalled_and_dispatched_anew() -> None:
    """Unclaimed rows are recalled; running jobs go on where they are."""
    fleets = Fleets(ONE, SLOTS, depth=5)
    jobs = fleets.add("mail", 20)
    fleets.plan()
    running = fleets.claim("default", 2)

    fleets.apply(TWO)
    planned = fleets.plan()
    recalled = fleets.recall()
    again = fleets.plan()

    assert jobs[2:5] == recalled
    assert {"mail"} == {*planned, *again}
    assert set(jobs[2:10]) >= {*planned["mail"], *again.get("mail", ())}
    assert {"default"} == {fleets.work[job] for job in running}


def test_a_moved_job_that_its_worker_hands_back_is_recalled_as_well() -> None:
    """It would run once more in the pool that its queue has left."""
    fleets = Fleets(ONE, SLOTS, depth=5)
    fleets.add("mail", 2)
    fleets.plan()
    running = fleets.claim("default", 2)
    fleets.apply(TWO)
    before = fleets.recall()

    fleets.give_back(running[:1])
    recalled = fleets.recall()

    assert ([], running[:1]) == (before, recalled)
    assert {"mail": running[:1]} == fleets.plan()


def test_a_limit_counts_what_runs_where_the_queue_was() -> None:
    """Limits are exact across pools."""
    fleets = Fleets(f"{ONE}\n{LIMIT % 4}", SLOTS)
    jobs = fleets.add("mail", 20)
    fleets.plan()
    running = fleets.claim("default", 3)
    fleets.apply(f"{TWO}\n{LIMIT % 4}")
    fleets.recall()

    first = fleets.plan()
    second = fleets.plan()
    fleets.end(running[:2])
    third = fleets.plan()

    assert ({"mail": jobs[3:4]}, {}, {"mail": jobs[4:6]}) == (first, second, third)


def test_a_share_of_the_slots_is_of_those_of_the_queues_pool() -> None:
    """25 % of 4 slots is 1; after the move it is 2 of 8, and after the way back 1 again."""
    document = LIMIT % '"25%"'
    fleets = Fleets(f"{ONE}\n{document}", SLOTS)
    fleets.add("mail", 20)
    before = fleets.plan()
    fleets.claim("default", 1)

    fleets.apply(f"{TWO}\n{document}")
    moved = fleets.plan()
    fleets.apply(f"{ONE}\n{document}")
    back = [*fleets.recall(), *fleets.plan()]
    fleets.end([1])

    assert ([1], [2]) == (before["default"], moved["mail"])
    assert [2] == back
    assert {"default": [2]} == fleets.plan()
    assert {} == fleets.plan()


def test_the_slots_of_a_pool_that_a_queue_has_left_do_not_move_its_limit() -> None:
    """What runs there still shares one limit with what waits in the queue's pool."""
    document = LIMIT % '"25%"'
    fleets = Fleets(f"{ONE}\n{document}", {"default": 4, "mail": 8})
    fleets.add("mail", 20)
    fleets.plan()
    fleets.claim("default", 1)
    fleets.apply(f"{TWO}\n{document}")
    moved = fleets.plan()

    fleets.slots = {"default": 400, "mail": 8}
    same = fleets.plan()
    fleets.end([1])

    assert ({"mail": [2]}, {}) == (moved, same)
    assert {"mail": [3]} == fleets.plan()


def test_a_lane_that_moves_is_not_blocked_where_it_was() -> None:
    """It counts once among the blocked lanes."""
    own = "queues: [{match: {queue: mail}, tenants: {default: {rate: {limit: 1, per: 1h}}}}]"
    fleets = Fleets(f"{ONE}\n{own}", SLOTS)
    fleets.add("mail", 5)
    fleets.plan()
    before = fleets.order.blocked_lanes()

    fleets.apply(f"pools: [{{name: default, queues: [reports]}}]\n{own}")
    fleets.plan()
    after = fleets.order.blocked_lanes()

    assert (1, 0) == (before["rate"], before["pool"])
    assert (0, 1) == (after["rate"], after["pool"])


def test_a_rate_is_used_up_wherever_its_jobs_went() -> None:
    """Rows that a former leader dispatched in another pool count, too."""
    fleets = Fleets(f"{ONE}\n{RATE}", SLOTS)
    fleets.add("mail", 20)
    first = fleets.plan()
    fleets.apply(f"{TWO}\n{RATE}")
    second = fleets.plan()
    fleets.fail_over()
    third = fleets.plan()

    assert (5, {}, {}) == (len(first["default"]), second, third)


def test_a_new_leader_recalls_what_waits_in_a_pool_that_is_no_more() -> None:
    """Rows of a pool that the policy does not name are in its ledgers, too."""
    fleets = Fleets(TWO, SLOTS)
    jobs = fleets.add("mail", 3)
    fleets.plan()
    fleets.claim("mail", 1)
    fleets.apply(ONE)
    fleets.fail_over()

    recalled = fleets.recall()

    assert jobs[1:] == recalled
    assert {"default": jobs[1:]} == fleets.plan()
    assert 3 == len(fleets.order.in_flight)


def test_a_pool_without_workers_holds_up_no_other_pool() -> None:
    """It has no slots and as many rows as it may; the others go on."""
    fleets = Fleets(TWO, {"default": 4}, depth=2)
    fleets.add("mail", 10)
    rest = fleets.add("reports", 10)

    assert {"default": rest[:2]} == fleets.plan()
