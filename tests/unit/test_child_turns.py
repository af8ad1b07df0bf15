"""Who looks below the floor, and when: seldom, and soon when somebody was called in vain."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from fairlead_worker.turns import TURN_SECONDS, Turns

_CALLED_AT = 100.0
_LAG_SECONDS = 0.01
"""What a look takes: nobody asks twice in one instant."""


@dataclass
class Pool:
    """Idle workers of one pool, the instant of its last turn, and what they asked for."""

    workers: list[Turns]
    turn_at: float
    asked_at: list[list[float]] = field(default_factory=list[list[float]])

    def asks(self, number: int, now: float) -> None:
        """Have one worker ask; the turn is its own if nobody had one within a second."""
        ours = self.turn_at < now - TURN_SECONDS
        self.turn_at = now if ours else self.turn_at
        self.workers[number] = self.workers[number].asked(now, ours=ours)
        self.asked_at[number].append(now)


def hunted(workers: tuple[Turns, ...], turn_at: float) -> Pool:
    """Call workers in vain, and let them ask as often as they do without a rest."""
    pool = Pool([each.missed(_CALLED_AT) for each in workers], turn_at, [[] for _ in workers])
    now = _CALLED_AT
    while any(each.hunts for each in pool.workers) and now < _CALLED_AT + 10:
        for number, each in enumerate(pool.workers):
            if each.hunts_at(now):
                pool.asks(number, now)
        now += _LAG_SECONDS
    return pool


def test_a_turn_is_asked_for_a_second_after_the_last_find() -> None:
    """While work flows the leader lowers the floor, and nobody looks below it."""
    turns = Turns().found(10)

    assert not turns.quiet_at(10.9)
    assert not turns.due_at(10.9)
    assert turns.quiet_at(11)
    assert turns.due_at(11)


def test_who_has_asked_asks_again_a_second_later() -> None:
    """Once a second at most, whether the turn was its own or another's."""
    for ours in (True, False):
        turns = Turns().asked(10, ours=ours)

        assert not turns.due_at(10.9)
        assert turns.due_at(11)


def test_who_was_not_called_rests_as_it_likes() -> None:
    """Only a call in vain makes a worker hunt."""
    assert not Turns().hunts_at(50)
    assert Turns().missed(50).hunts_at(50)


def test_a_turn_of_its_own_ends_a_hunt() -> None:
    """Whoever has looked below the floor need not look again for the same call."""
    assert not Turns().missed(10).asked(10, ours=True).hunts


def test_a_turn_that_another_had_before_the_call_does_not_end_a_hunt() -> None:
    """What the call was for may have come to lie there since."""
    hunting = Turns().missed(10).asked(10.1, ours=False)

    assert hunting.hunts
    assert hunting.asked(10.9, ours=False).hunts
    assert not hunting.asked(11.1, ours=False).hunts


_WORKERS = st.lists(
    st.builds(
        Turns,
        found_at=st.floats(_CALLED_AT - 3, _CALLED_AT),
        asked_at=st.floats(_CALLED_AT - 3, _CALLED_AT),
    ),
    min_size=1,
    max_size=8,
)


@given(workers=_WORKERS, ago_seconds=st.floats(0, 3))
def test_each_worker_that_was_called_in_vain_asks_twice_at_most(
    workers: list[Turns], ago_seconds: float
) -> None:
    """A call of everybody costs an idle fleet two looks a worker, not a second of them."""
    pool = hunted(tuple(workers), _CALLED_AT - ago_seconds)

    assert [] == [each for each in pool.workers if each.hunts]
    assert {1, 2} >= {len(asked) for asked in pool.asked_at}


@given(workers=_WORKERS, ago_seconds=st.floats(0, 3))
def test_after_a_call_in_vain_somebody_soon_looks_below_the_floor(
    workers: list[Turns], ago_seconds: float
) -> None:
    """A row that nobody finds from the floor on waits for two seconds at most."""
    pool = hunted(tuple(workers), _CALLED_AT - ago_seconds)

    assert _CALLED_AT <= pool.turn_at <= _CALLED_AT + 2 * TURN_SECONDS + _LAG_SECONDS
