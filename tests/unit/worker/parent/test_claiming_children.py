"""Children that die as they start are restarted ever more rarely; all run kinds alike."""

from unittest.mock import Mock

from fairlead_worker.config import WorkerConfig
from fairlead_worker.ipc import messages
from fairlead_worker.parent.blocking_kinds import ISOLATED_SECONDS
from fairlead_worker.parent.claiming_children import ClaimingChildren, rest_seconds
from tests.unit.worker.parent.test_quarantine import FakeChild


def test_a_child_that_died_at_work_is_replaced_at_once() -> None:
    """A crash of a handler costs no rest."""
    assert 0 == rest_seconds(0)


def test_each_death_at_start_doubles_the_rest_up_to_a_limit() -> None:
    """Back-off keeps a broken start from eating a machine."""
    rests = [rest_seconds(deaths) for deaths in range(1, 9)]

    assert [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0] == rests


def test_every_child_is_told_which_kinds_leave_the_loop_and_when_they_return() -> None:
    """One that becomes ready meanwhile as well."""
    claiming = ClaimingChildren(Mock(WorkerConfig, isolate_blocking_kinds=True))
    first, second = FakeChild(), FakeChild()
    claiming.children = (first, second)
    claiming.ready(first, messages.Ready((), ()))

    claiming.isolate("sum", 0.0)
    claiming.isolate("sum", 1.0)
    claiming.ready(second, messages.Ready((), ()))
    for now in (ISOLATED_SECONDS - 1, ISOLATED_SECONDS, ISOLATED_SECONDS + 1):
        claiming.send_isolated(now)

    told = [messages.IsolateKinds(("sum",)), messages.IsolateKinds(())]
    assert [told, told] == [first.sent, second.sent]
