"""Rows in a sequence have root tags that differ, so that the floor tells them apart."""

from itertools import count

from fairlead_scheduler.ordering.in_flight import InFlightJob
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.ordering.levels.accounts import Branch
from fairlead_scheduler.policy.compiled import QueueTerms, Terms
from fairlead_scheduler.policy.settings import FairSettings
from tests.support.fair_bench import Bench
from tests.support.planned import Planned


def test_tenants_of_one_round_have_tags_that_differ() -> None:
    """Their jobs take less than was expected, so that the branch's tag falls back each time."""
    bench = Bench()
    for number in range(200):
        bench.add(f"q/t{number}-", 100)
    tags: list[int] = []
    for _ in range(20):
        planned = bench.plan(10)
        tags += [row.vtag for row in planned]
        bench.run(planned, 1)

    assert 200 == len(set(tags))


def test_rows_that_overtake_one_that_is_far_ahead_have_tags_that_differ() -> None:
    """Those of newcomers are all as far ahead of it, whether the ones before are claimed."""
    bench = Bench()
    bench.add("q/busy", 1000, 1000, 1000)
    first, last = ordered(bench.plan(2))
    numbers = count()
    tags: list[int] = []
    for _ in range(4):
        for _ in range(5):
            bench.add(f"q/new{next(numbers)}-", 10)
        waiting, claimed = ordered(bench.plan(5)), [first] if not tags else []
        tags += [row.vtag for row in waiting]
        bench.run([*claimed, *waiting], 1)

    assert sorted(set(tags)) == tags
    assert first.vtag < tags[0] < tags[-1] < last.vtag


def test_where_there_is_no_room_rows_share_a_tag_and_none_goes_behind() -> None:
    """The row that they overtake stays behind them."""
    branch = Branch(0, 0, 1.0, 100_000)
    branch.scale = 0.01
    for tag in (0, 100, 50, 50, 50):
        branch.place(tag, waiting_row(), 0)

    assert [0, 50, 50, 50, 100] == branch.tags
    assert [0, 0, 0, 0, 1] == [row.root_tag for row in branch.rows]


def waiting_row() -> InFlightJob:
    """Return a row of a branch whose tag is 0."""
    lane = Lane(Queue("q", QueueTerms(), FairSettings()), "a", Terms())
    return InFlightJob(lane, None, 0, 0, 10, 10)


def ordered(rows: tuple[Planned, ...]) -> list[Planned]:
    """Return them in the order of their tags."""
    return sorted(rows, key=lambda row: row.vtag)
