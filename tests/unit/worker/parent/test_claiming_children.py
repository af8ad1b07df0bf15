"""Children that die as they start are restarted ever more rarely; all run kinds alike."""

from unittest.mock import Mock, call

import pytest

from fairlead_worker.config import WorkerConfig
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.child_args import LIFESPAN_FAILED
from fairlead_worker.ipc.interruptions import Died
from fairlead_worker.parent import claiming_children as module
from fairlead_worker.parent.blocking_kinds import ISOLATED_SECONDS
from fairlead_worker.parent.child_template import ChildTemplate
from fairlead_worker.parent.children import STOPPED
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
    assert [12.8, 25.6, 30.0] == [rest_seconds(deaths, 30.0) for deaths in (8, 9, 5000)]


def claiming_children() -> ClaimingChildren:
    """Return the children of a worker, of which none has started."""
    config = Mock(WorkerConfig, isolate_blocking_kinds=True, processes=1, jobs=None)
    return ClaimingChildren(config, Mock(ChildTemplate, is_loading=False))


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


def test_a_worker_whose_lifespan_does_not_start_is_never_given_up() -> None:
    """What it needs may be back later; until then the worker is not ready."""
    claiming = claiming_children()
    claiming.served = True

    ended = [claiming.remove(FakeChild(), LIFESPAN_FAILED) for _ in range(50)]

    assert [None] * 50 == ended
    assert not claiming.served


def test_each_lifespan_that_ends_early_doubles_the_rest_while_they_end_within_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broker that is down ends each one soon after its start, which succeeds."""
    claiming, now = claiming_children(), 1000.0
    written = Mock()
    monkeypatch.setattr(claiming, "_log", written)
    monkeypatch.setattr(module, "monotonic", lambda: now)
    monkeypatch.setattr(module, "ChildHandle", Mock(return_value=FakeChild()))
    rests: list[float] = []
    for seconds in (0.0, 0.1, 1.0, 59.0, 61.0):
        now += seconds
        child = FakeChild()
        claiming.children = (child,)
        claiming.ready(child, messages.Ready((), ()))
        child.cause = STOPPED
        assert claiming.remove(child, LIFESPAN_FAILED) is None
        rests.append(written.warning.call_args.kwargs["in_seconds"])

    assert [0.1, 0.2, 0.4, 0.8, 0.1] == rests
    assert not claiming.served
    claiming.fill(now + 0.05)
    assert () == claiming.children
    claiming.fill(now + 0.15)
    assert 1 == len(claiming.children)


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
