"""A write that is refused because the Deployment has moved on is tried again at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from fairlead.bell import Bell
from fairlead_autoscaler.kube.port import ConflictError, KubeError, UnreachableError
from fairlead_autoscaler.service import serve
from tests.support.controlling import Scene

MOVED_ON = ConflictError("the object has been modified")
TICK_SECONDS = 60.0
TOLD = ("say", "write_status")


@pytest.fixture
def bell() -> Iterator[Bell]:
    """Yield a bell that nobody rings."""
    with closing(Bell()) as made:
        yield made


@pytest.fixture
def served(
    scene: Scene, bell: Bell, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int], list[str]]:
    """Return what serves until it has rested so often; it returns its writes and rests."""
    stop, done = threading.Event(), scene.kube.calls

    def serving(rests: int) -> list[str]:
        def wait(_bell: Bell, _seconds: float, *, at_zero: bool) -> None:
            done.append(f"rest at {'zero' if at_zero else 'work'}")
            if sum(each.startswith("rest") for each in done) == rests:
                stop.set()

        monkeypatch.setattr(scene.database, "wait", wait)
        scene.need(slots=40, work=400.0)
        serve(scene.controller, scene.database, tick_seconds=TICK_SECONDS, stop=stop, bell=bell)
        return [each for each in done if each.startswith(("apply", "say", "write", "rest"))]

    return serving


def test_a_refused_write_comes_again_before_anything_is_told(
    scene: Scene, served: Callable[[int], list[str]]
) -> None:
    """A Deployment's status moves on for a moment after each change, and a job waits."""
    scene.kube.fail("apply_scale", MOVED_ON)

    assert ["apply_scale", "apply_scale", *TOLD, "rest at work"] == served(1)
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
    """It says nothing of the Deployment, and an API server in need is not asked more."""
    scene.kube.fail("apply_scale", error)

    first = ["apply_scale", "write_status", "rest at zero"]

    assert [*first, "apply_scale", *TOLD, "rest at work"] == served(2)
