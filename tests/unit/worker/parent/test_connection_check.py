"""A child is cut off when its parent can connect and it cannot, again and again."""

import threading
from collections.abc import Callable

import pytest

from fairlead.db.connect import Unreachable
from fairlead_worker.ipc.messages import ConnectionRefused
from fairlead_worker.parent.connection_check import REFUSALS, SECONDS, ConnectionCheck
from tests.support.waiting import until
from tests.unit.worker.parent.test_quarantine import FakeChild

WHY = "too many open files"
CHECK = "connection check"
"""The name of the thread in which the parent tries."""


class Scene:
    """A check whose parent can connect or not, and its children."""

    def __init__(self) -> None:
        self.check = ConnectionCheck(self._open)
        self.reachable = True

    def _open(self) -> None:
        if not self.reachable:
            raise Unreachable("no")

    def refuse(
        self, child: FakeChild, now: float, *, has_answered: bool = False
    ) -> list[FakeChild]:
        """Have a child report a refusal; return who is cut off once the parent has tried."""
        self.check.refused(child, ConnectionRefused(WHY, has_answered), now)
        self.wait()
        found = self.check.advance(now)
        assert [WHY] * len(found) == [reason for _, reason in found]
        return [each for each, _ in found if isinstance(each, FakeChild)]

    def wait(self) -> None:
        """Wait until the parent has tried."""
        until(
            lambda: all(each.name != CHECK for each in threading.enumerate()),
            what="the end of the parent's try",
        )


@pytest.fixture
def scene() -> Scene:
    """Return a scene whose parent can connect."""
    return Scene()


def test_a_child_is_cut_off_after_several_refusals_over_some_time(scene: Scene) -> None:
    """Not by many at once: a server that starts refuses some and accepts others."""
    child = FakeChild()
    at_once = [scene.refuse(child, 100.0) for _ in range(2 * REFUSALS)]

    assert [[]] * (2 * REFUSALS) == at_once
    assert [child] == scene.refuse(child, 100.0 + SECONDS)


def test_few_refusals_over_a_long_time_are_not_enough(scene: Scene) -> None:
    """Each is a comparison, and one alone may be chance."""
    child = FakeChild()
    found = [scene.refuse(child, 100.0 * each) for each in range(REFUSALS)]

    assert [[]] * (REFUSALS - 1) + [[child]] == found


@pytest.mark.parametrize("what", ["the parent is refused too", "it has connected"])
def test_what_a_refusal_says_is_forgotten(scene: Scene, what: str) -> None:
    """Where everybody is refused nobody is to be ended."""
    child = FakeChild()
    for each in range(REFUSALS - 1):
        scene.refuse(child, 100.0 * each)
    forget: dict[str, Callable[[], object]] = {
        "the parent is refused too": lambda: refused_with_parent(scene),
        "it has connected": lambda: scene.check.connected(child),
    }
    forget[what]()

    assert [] == scene.refuse(child, 1000.0)


def test_a_refusal_of_the_parent_is_remembered_until_a_child_connects(scene: Scene) -> None:
    """Until then its own connection may be of no use to it, and of use to others."""
    refused_with_parent(scene)
    assert scene.check.is_refused_too

    scene.check.connected(FakeChild())
    assert not scene.check.is_refused_too


def refused_with_parent(scene: Scene) -> None:
    """Have another child be refused while the parent is."""
    scene.reachable = False
    scene.refuse(FakeChild(), 500.0)
    scene.reachable = True


def test_a_child_that_is_reported_while_the_parent_tries_waits_for_its_next_report(
    scene: Scene,
) -> None:
    """One connection at a time is enough: refusals come again and again."""
    first, second = FakeChild(), FakeChild()
    scene.check.refused(first, ConnectionRefused(WHY), 0.0)
    scene.check.refused(second, ConnectionRefused(WHY), 0.0)
    scene.wait()
    assert () == scene.check.advance(0.0)

    found = [scene.refuse(first, 100.0) for _ in range(REFUSALS - 1)]

    assert [first] == found[-1]


def test_what_the_server_answers_is_no_childs_fault(scene: Scene) -> None:
    """It may be full whenever the child tries, and have room whenever the parent does."""
    child = FakeChild()
    found = [
        scene.refuse(child, 100.0 + SECONDS * n, has_answered=True) for n in range(3 * REFUSALS)
    ]
    assert not any(found)

    for n in range(REFUSALS - 1):
        assert not scene.refuse(child, 200.0 + SECONDS * n)
    assert not scene.refuse(child, 300.0, has_answered=True)
    assert not scene.refuse(child, 310.0)
