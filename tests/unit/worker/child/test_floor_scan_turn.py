"""When a worker scans below the floor: seldom, and soon after a wakeup in vain."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from fairlead_worker.child.floor_scan_turn import TURN_SECONDS, FloorScanTurn

_CALLED_AT = 100.0
_LAG_SECONDS = 0.01
"""How long a scan takes: no worker asks twice in one instant."""


@dataclass
class Pool:
    """Idle workers of one pool, the instant of its last turn, and what they asked for."""

    workers: list[FloorScanTurn]
    turn_at: float
    asked_at: list[list[float]] = field(default_factory=list[list[float]])

    def asks(self, number: int, now: float) -> None:
        """Have one worker ask; it gets the turn if no other had one within a second."""
        ours = self.turn_at < now - TURN_SECONDS
        self.turn_at = now if ours else self.turn_at
        self.workers[number] = self.workers[number].asked(now, ours=ours)
        self.asked_at[number].append(now)


def hunted(workers: tuple[FloorScanTurn, ...], turn_at: float) -> Pool:
    """Call workers in vain, and let them ask as often as they do without a rest."""
    pool = Pool(
        [each.missed_wakeup(_CALLED_AT) for each in workers], turn_at, [[] for _ in workers]
    )
    now = _CALLED_AT
    while any(each.is_urgent for each in pool.workers) and now < _CALLED_AT + 10:
        for number, each in enumerate(pool.workers):
            if each.is_urgent_at(now):
                pool.asks(number, now)
        now += _LAG_SECONDS
    return pool


def test_a_turn_is_asked_for_a_second_after_the_last_find() -> None:
    """While work flows the leader lowers the floor, and no worker scans below it."""
    turns = FloorScanTurn().found(10)

    assert not turns.is_quiet_at(10.9)
    assert not turns.is_due_at(10.9)
    assert turns.is_quiet_at(11)
    assert turns.is_due_at(11)


def test_who_has_asked_asks_again_a_second_later() -> None:
    """Once a second at most, whether the turn was its own or another's."""
    for ours in (True, False):
        turns = FloorScanTurn().asked(10, ours=ours)

        assert not turns.is_due_at(10.9)
        assert turns.is_due_at(11)


def test_who_was_not_called_rests_as_it_likes() -> None:
    """Only a call in vain makes a worker hunt."""
    assert not FloorScanTurn().is_urgent_at(50)
    assert FloorScanTurn().missed_wakeup(50).is_urgent_at(50)


def test_a_turn_of_its_own_ends_a_hunt() -> None:
    """A worker that has scanned below the floor need not do so again for the same wakeup."""
    assert not FloorScanTurn().missed_wakeup(10).asked(10, ours=True).is_urgent


def test_a_turn_that_another_had_before_the_call_does_not_end_a_hunt() -> None:
    """What the call was for may have come to lie there since."""
    hunting = FloorScanTurn().missed_wakeup(10).asked(10.1, ours=False)

    assert hunting.is_urgent
    assert hunting.asked(10.9, ours=False).is_urgent
    assert not hunting.asked(11.1, ours=False).is_urgent


_WORKERS = st.lists(
    st.builds(
        FloorScanTurn,
        found_at=st.floats(_CALLED_AT - 3, _CALLED_AT),
        asked_at=st.floats(_CALLED_AT - 3, _CALLED_AT),
    ),
    min_size=1,
    max_size=8,
)


@given(workers=_WORKERS, ago_seconds=st.floats(0, 3))
def test_each_worker_that_was_called_in_vain_asks_twice_at_most(
    workers: list[FloorScanTurn], ago_seconds: float
) -> None:
    """A wake-up of all workers costs an idle fleet two reads a worker, not a second of them."""
    pool = hunted(tuple(workers), _CALLED_AT - ago_seconds)

    assert [] == [each for each in pool.workers if each.is_urgent]
    assert {1, 2} >= {len(asked) for asked in pool.asked_at}


@given(workers=_WORKERS, ago_seconds=st.floats(0, 3))
def test_after_a_wakeup_in_vain_a_worker_soon_scans_below_the_floor(
    workers: list[FloorScanTurn], ago_seconds: float
) -> None:
    """A row that no claim finds from the floor on waits for two seconds at most."""
    pool = hunted(tuple(workers), _CALLED_AT - ago_seconds)

    assert _CALLED_AT <= pool.turn_at <= _CALLED_AT + 2 * TURN_SECONDS + _LAG_SECONDS
