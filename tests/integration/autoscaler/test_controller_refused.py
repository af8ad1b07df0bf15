"""A write that is refused because the Deployment has moved on is tried again at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from fairlead.runtime.wakeup import Wakeup
from fairlead_autoscaler.kube.port import ConflictError, KubeError, UnreachableError
from fairlead_autoscaler.service import serve
from tests.support.controlling import Scene

MOVED_ON = ConflictError("the object has been modified")
TICK_SECONDS = 60.0
PUBLISHED = ("record_event", "write_status")
ACTS = ("apply", "record_event", "write", "rest")


@pytest.fixture
def wakeup() -> Iterator[Wakeup]:
    """Yield a wakeup that is never set."""
    with closing(Wakeup()) as made:
        yield made


@pytest.fixture
def served(
    scene: Scene, wakeup: Wakeup, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int], list[str]]:
    """Return what serves until it has rested so often; it returns its writes and rests."""
    stop, done = threading.Event(), scene.kube.calls

    def serving(rests: int) -> list[str]:
        def wait(_wakeup: Wakeup, _seconds: float, *, at_zero: bool) -> None:
            done.append(f"rest at {'zero' if at_zero else 'work'}")
            if sum(each.startswith("rest") for each in done) == rests:
                stop.set()

        monkeypatch.setattr(scene.database, "wait", wait)
        scene.need(slots=40, work=400.0)
        serve(
            scene.controller,
            scene.database,
            tick_seconds=TICK_SECONDS,
            stop=stop,
            wakeup=wakeup,
        )
        return [each for each in done if each.startswith(ACTS)]

    return serving


def test_a_refused_write_is_repeated_before_anything_is_published(
    scene: Scene, served: Callable[[int], list[str]]
) -> None:
    """A Deployment's status moves on for a moment after each change, and a job waits."""
    scene.kube.fail("apply_scale", MOVED_ON)

    assert ["apply_scale", "apply_scale", *PUBLISHED, "rest at work"] == served(1)
    assert scene.replicas > 0


def test_a_write_that_is_always_refused_makes_no_loop(
    scene: Scene, served: Callable[[int], list[str]]
) -> None:
    """Another writer may always be ahead of us: after five more tries each waits a tick."""
    scene.kube.fail("apply_scale", *[MOVED_ON] * 9)
    first = ["apply_scale"] * 6 + ["write_status", "rest at zero"]

    assert [*first, "apply_scale", "rest at zero"] == served(2)


@pytest.mark.parametrize("error", [UnreachableError("no answer"), KubeError("500")])
def test_a_write_that_failed_otherwise_waits_for_the_next_tick(
    scene: Scene, served: Callable[[int], list[str]], error: KubeError
) -> None:
    """It says nothing of the Deployment, and an overloaded API server needs a rest."""
    scene.kube.fail("apply_scale", error)

    first = ["apply_scale", "write_status", "rest at zero"]

    assert [*first, "apply_scale", *PUBLISHED, "rest at work"] == served(2)
