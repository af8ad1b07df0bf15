"""Children that die as they start are restarted ever more rarely; all run kinds alike."""

from unittest.mock import Mock, call

import pytest

from fairlead_worker.config import WorkerConfig
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.interruptions import Died
from fairlead_worker.parent.blocking_kinds import ISOLATED_SECONDS
from fairlead_worker.parent.child_template import ChildTemplate
from fairlead_worker.parent.claiming_children import (
    DEATHS_AT_START_MAX,
    ClaimingChildren,
    rest_seconds,
)
from tests.unit.worker.parent.test_quarantine import FakeChild


def test_a_child_that_died_at_work_is_replaced_at_once() -> None:
    """A crash of a handler costs no rest."""
    assert 0 == rest_seconds(0)


def test_each_death_at_start_doubles_the_rest_up_to_a_limit() -> None:
    """Back-off keeps a broken start from eating a machine."""
    rests = [rest_seconds(deaths) for deaths in range(1, 9)]

    assert [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0] == rests


def claiming_children() -> ClaimingChildren:
    """Return the children of a worker, of which none has started."""
    config = Mock(WorkerConfig, isolate_blocking_kinds=True)
    return ClaimingChildren(config, Mock(ChildTemplate))


def test_a_worker_whose_only_child_was_cut_off_does_not_serve() -> None:
    """Readiness says so, until another child claims."""
    claiming = claiming_children()
    served: list[bool] = []
    for _ in range(2):
        child = FakeChild()
        claiming.children = (child,)
        claiming.ready(child, messages.Ready((), ()))
        claiming.start_claiming(7)
        served.append(claiming.served)
        child.cause = Died(-9, cut_off=True)
        assert claiming.remove(child, -9) is None
        served.append(claiming.served)

    assert [True, False, True, False] == served


def test_cut_off_children_that_never_were_ready_count_as_deaths_at_start() -> None:
    """A worker none of whose children can ever work says so and ends."""
    claiming = claiming_children()
    children = [FakeChild() for _ in range(DEATHS_AT_START_MAX)]
    for each in children:
        each.cause = Died(-9, cut_off=True)

    *before, last = [claiming.remove(each, -9) for each in children]

    assert [None] * (DEATHS_AT_START_MAX - 1) == before
    assert last is not None
    assert 1 == last.exit_code


def test_every_child_is_told_which_kinds_leave_the_loop_and_when_they_return() -> None:
    """One that becomes ready meanwhile as well."""
    claiming = claiming_children()
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


def test_a_bound_of_claims_is_logged_as_a_warning_and_its_end_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The end is good news; a repeat is none."""
    claiming = claiming_children()
    written = Mock()
    monkeypatch.setattr(claiming, "_log", written)

    for bound in (None, 8, 8, None):
        claiming.bound_claims(bound)

    assert [call.warning("claims.bounded", bound=8), call.info("claims.unbounded")] == (
        written.mock_calls
    )
