"""A child opens both of its connections or none, and gives one back that is of no use alone."""

import threading
from collections.abc import Callable
from typing import cast

import pytest

from fairlead.db.connect import Connection, Unreachable
from fairlead_worker.child import connections
from fairlead_worker.child.connections import Connections, Use
from fairlead_worker.ipc.messages import Connected, ConnectionRefused, Ready

READY = Ready((), ())
LONG = 3.5
"""Seconds after which one alone is of no use."""


class Opened:
    """A connection of a server that has room for so many."""

    def __init__(self, scene: "Scene", name: str) -> None:
        self.name, self._scene = name, scene

    def close(self) -> None:
        """Leave its place to others."""
        self._scene.open.remove(self.name)


class Scene:
    """A child's connections, its parent, a server and a clock."""

    def __init__(self, room: int = 2) -> None:
        self.room, self.now, self.held = room, 1000.0, False
        self.open: list[str] = []
        self.sent: list[object] = []
        self.connections = Connections(
            self._open, READY, self.sent.append, holds=lambda: self.held
        )
        self.connections.allow(allowed=True)

    def _open(self, name: str) -> Connection:
        if len(self.open) >= self.room:
            raise Unreachable("full")
        self.open.append(name)
        return cast("Connection", Opened(self, name))

    def connect(self, use: Use) -> Connection | None:
        """Connect, or give up after a refusal, or where there is nothing to be tried."""
        stop, rounds = threading.Event(), iter(range(3))
        return self.connections.connect(
            use,
            stop,
            lambda _why, _seconds: stop.set(),
            lambda: None if next(rounds, None) is not None else stop.set(),
        )


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Scene]:
    """Return what makes a scene with room for so many connections."""
    scenes: list[Scene] = []
    monkeypatch.setattr(connections, "monotonic", lambda: scenes[-1].now if scenes else 1000.0)

    def begin(room: int) -> Scene:
        scenes.append(Scene(room))
        return scenes[-1]

    return begin


def test_both_are_opened_or_none(begin: Callable[[int], Scene]) -> None:
    """The one that could be had is closed again: another worker may lack just that."""
    scene = begin(1)

    assert scene.connect("claims") is None
    assert scene.connect("endings") is None
    assert ([], [ConnectionRefused("full")] * 2) == (scene.open, scene.sent)

    scene.room = 2
    scene.sent.clear()
    assert scene.connect("claims") is not None
    assert (["worker claims", "worker endings"], [READY]) == (scene.open, scene.sent)
    assert scene.connect("endings") is not None
    assert 2 == len(scene.open)


def test_nothing_is_opened_before_the_parent_has_its_own(begin: Callable[[int], Scene]) -> None:
    """It cannot register without; only what has ended is stored whatever the parent has."""
    scene = begin(2)
    scene.connections.allow(allowed=False)

    assert (None, None) == (scene.connect("claims"), scene.connect("endings"))
    scene.held = True

    assert scene.connect("claims") is None
    assert scene.connect("endings") is not None
    assert ["worker endings"] == scene.open


def test_one_alone_is_given_back_unless_endings_wait_for_it(
    begin: Callable[[int], Scene],
) -> None:
    """Claims are of no use without the other; nor are endings, when nothing is held."""
    scene = begin(2)
    claims, endings = scene.connect("claims"), scene.connect("endings")
    assert claims is not None
    assert endings is not None
    scene.held, scene.room = True, 1
    endings.close()
    assert scene.connect("endings") is None
    assert not scene.connections.is_useless("claims")
    scene.now += LONG

    assert scene.connections.is_useless("claims")
    claims.close()
    endings = scene.connect("endings")
    assert endings is not None
    scene.now += LONG
    assert not scene.connections.is_useless("endings")
    scene.held = False
    assert scene.connections.is_useless("endings")
    endings.close()

    assert scene.connect("endings") is None
    assert [] == scene.open
    scene.room = 2
    scene.sent.clear()
    assert scene.connect("endings") is not None
    assert [Connected()] == scene.sent


def test_claims_are_given_back_when_the_parent_has_lost_its_own(
    begin: Callable[[int], Scene],
) -> None:
    """It needs one within its lease, for the jobs that run here; their endings stay stored."""
    scene = begin(2)
    claims, _endings = scene.connect("claims"), scene.connect("endings")
    assert claims is not None
    scene.held = True
    scene.connections.allow(allowed=False)
    assert not scene.connections.is_useless("claims")
    scene.now += LONG

    assert scene.connections.is_useless("claims")
    assert not scene.connections.is_useless("endings")
