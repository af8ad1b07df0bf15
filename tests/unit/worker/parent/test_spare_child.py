"""After a death one more child is kept for the next one, while deaths are remembered."""

import signal
from unittest.mock import Mock

import pytest

from fairlead_worker.config import WorkerConfig
from fairlead_worker.ipc import messages
from fairlead_worker.parent import claiming_children
from fairlead_worker.parent.child_handle import ChildHandle
from fairlead_worker.parent.child_template import ChildTemplate, StartChild
from fairlead_worker.parent.claiming_children import DEATHS_AT_START_MAX, ClaimingChildren
from fairlead_worker.parent.crash_history import WINDOW_SECONDS
from tests.unit.worker.parent.test_quarantine import FakeChild

EXITED = 9


class Scenario:
    """A worker with one child, which claims, and the children that it has started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.started: list[FakeChild] = []
        monkeypatch.setattr(claiming_children, "ChildHandle", self._start)
        monkeypatch.setattr(claiming_children, "monotonic", lambda: self.now)
        config = Mock(WorkerConfig, isolate_blocking_kinds=True, processes=1, jobs=None)
        self.template = Mock(ChildTemplate, is_loading=False)
        self.claiming = ClaimingChildren(config, self.template)
        self.load()

    def _start(self, _config: WorkerConfig, _start: StartChild) -> FakeChild:
        self.started.append(FakeChild())
        return self.started[-1]

    def load(self) -> None:
        """Fill the places and let what was started last become ready; then look again."""
        self.claiming.fill(self.now)
        self.claiming.ready(self.started[-1], messages.Ready((), ()))
        self.claiming.fill(self.now)

    def die(self, child: ChildHandle, exit_code: int = EXITED) -> None:
        """Let a child die by itself, and fill its place."""
        assert self.claiming.remove(child, exit_code) is None
        self.claiming.fill(self.now)


@pytest.fixture
def scenario(monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """Return one that starts no processes."""
    return Scenario(monkeypatch)


def test_the_next_death_after_the_first_is_replaced_by_a_child_that_is_ready(
    scenario: Scenario,
) -> None:
    """It claims nothing before, and another one is kept after it."""
    (first,) = scenario.started
    scenario.die(first)
    scenario.load()
    _, second, spare = scenario.started
    scenario.claiming.ready(spare, messages.Ready((), ()))
    scenario.claiming.start_claiming(7)
    assert [True, False] == [second.claiming, spare.claiming]

    scenario.die(second)
    scenario.claiming.start_claiming(7)

    assert ((spare,), True) == (scenario.claiming.children, spare.claiming)
    assert (scenario.started[3],) == scenario.claiming.spares


def test_no_spare_loads_the_application_beside_the_one_that_is_missing(
    scenario: Scenario,
) -> None:
    """Both would take longer."""
    scenario.die(scenario.started[0])
    scenario.claiming.fill(scenario.now)

    assert (2, ()) == (len(scenario.started), scenario.claiming.spares)


def test_a_child_that_was_killed_may_have_wanted_memory(scenario: Scenario) -> None:
    """The application is not loaded once more for such a death."""
    scenario.die(scenario.started[0], -signal.SIGKILL)
    scenario.load()

    assert () == scenario.claiming.spares


def test_a_spare_that_dies_is_not_replaced(scenario: Scenario) -> None:
    """Nor does the worker give up for want of it."""
    scenario.die(scenario.started[0])
    scenario.load()
    for _ in range(DEATHS_AT_START_MAX):
        for spare in scenario.claiming.spares:
            scenario.die(spare)

    assert (3, ()) == (len(scenario.started), scenario.claiming.spares)
    scenario.die(scenario.started[1])
    scenario.load()
    assert 1 == len(scenario.claiming.spares)


def test_the_spare_ends_when_no_death_is_remembered(scenario: Scenario) -> None:
    """It is reaped as others are."""
    scenario.die(scenario.started[0])
    scenario.load()
    (spare,) = scenario.claiming.spares
    scenario.now = WINDOW_SECONDS - 1
    scenario.claiming.fill(scenario.now)
    before = spare.cause

    scenario.now = WINDOW_SECONDS
    scenario.claiming.fill(scenario.now)
    scenario.claiming.fill(scenario.now)

    assert before is None
    assert spare.cause is not None
    scenario.die(spare, -signal.SIGKILL)
    assert (3, ()) == (len(scenario.started), scenario.claiming.spares)


def test_a_spare_knows_what_the_others_were_told(scenario: Scenario) -> None:
    """Before it is ready and after."""
    scenario.claiming.isolate("sum", 0.0)
    scenario.die(scenario.started[0])
    scenario.load()
    (spare,) = scenario.started[2:]
    scenario.claiming.ready(spare, messages.Ready((), ()))
    scenario.claiming.quarantine(frozenset({("mail", "t")}))

    told = [messages.IsolateKinds(("sum",)), messages.QuarantineSources((("mail", "t"),))]
    assert told == spare.sent


def test_a_child_waits_for_the_template_that_loads(scenario: Scenario) -> None:
    """It starts sooner so than by itself."""
    (child,) = scenario.started
    scenario.template.is_loading = True
    scenario.die(child)
    before = len(scenario.started)

    scenario.template.is_loading = False
    scenario.claiming.fill(scenario.now)

    assert (1, 2) == (before, len(scenario.started))
