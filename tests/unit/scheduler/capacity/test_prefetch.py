"""How deep the work queue should be."""

from itertools import pairwise

from fairlead_scheduler.capacity.prefetch import Depth, DepthSettings

TICK_US = 20_000


def after(
    depth: Depth,
    *,
    ticks: int,
    claims: int,
    unclaimed: int,
    free_slots: int = 0,
    mean_us: int = 1000,
    begin: int = 1,
) -> list[int]:
    """Return the targets of so many ticks, with so many claims in each."""
    targets: list[int] = []
    for tick in range(begin, begin + ticks):
        depth.observe(tick * TICK_US, claims=claims, unclaimed=unclaimed, pending=True)
        targets.append(
            depth.next_target(
                free_slots=free_slots, slots=1000, mean_us=mean_us, round_us=TICK_US + 5000
            )
        )
    return targets


def test_free_slots_are_filled() -> None:
    """Free slots, and a few more."""
    (target,) = after(Depth(), ticks=1, claims=0, unclaimed=0, free_slots=50)

    assert 50 + DepthSettings().lowest == target


def test_the_depth_follows_what_workers_claim_in_two_rounds() -> None:
    """Two times claims/s times tick and round trip."""
    targets = after(Depth(), ticks=200, claims=40, unclaimed=30)

    assert 2 * 40 * 25 / 20 * 0.99 <= targets[-1] <= 2 * 40 * 25 / 20


def test_it_doubles_when_the_queue_ran_dry_while_claims_came() -> None:
    """Growing by doubling, so that it is deep enough within a few ticks."""
    targets = after(Depth(), ticks=6, claims=8, unclaimed=0)

    assert all(late >= 1.9 * early for early, late in pairwise(targets[1:]))


def test_it_shrinks_smoothly() -> None:
    """A quiet tick costs a hundredth at most."""
    depth = Depth()
    (deep,) = after(depth, ticks=9, claims=40, unclaimed=0)[-1:]
    targets = after(depth, ticks=1000, claims=1, unclaimed=5, begin=10)

    assert targets[0] >= deep * 99 // 100 - 1
    assert sorted(targets, reverse=True) == targets
    assert targets[-1] <= 10


def test_it_stays_below_the_ceiling() -> None:
    """A setting, 2000 by default."""
    targets = after(Depth(), ticks=50, claims=1000, unclaimed=0, free_slots=300)

    assert 2000 == max(targets)


def test_long_jobs_need_no_depth() -> None:
    """Never more than the jobs' mean time makes useful."""
    targets = after(Depth(), ticks=50, claims=40, unclaimed=0, mean_us=10_000_000)

    assert targets[-1] <= 10


def test_a_policys_ceiling_takes_the_place_of_the_settings() -> None:
    """At once, in both directions."""
    depth = Depth(DepthSettings(ceiling=50))

    found = [
        depth.next_target(
            free_slots=400, slots=400, mean_us=1000, round_us=1000, ceiling=ceiling
        )
        for ceiling in (None, 20, 100, None)
    ]

    assert [50, 20, 100, 50] == found
