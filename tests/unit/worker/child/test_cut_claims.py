"""A claim that its bytes have cut says nothing of what waits behind it."""

from collections.abc import Iterable
from dataclasses import dataclass
from unittest.mock import Mock

import pytest

from fairlead.job import Claimed
from fairlead_worker.attempts import attempt_store
from fairlead_worker.child import claimer as claimer_module
from fairlead_worker.child.claimer import Claimer
from tests.support.attempts import claimed

COUNT = 40
MIB = 1024 * 1024


@dataclass
class Scenario:
    """A claimer that has just claimed a few of forty jobs, and what it told the leader."""

    found: int
    passed_over: int


def after_claim(monkeypatch: pytest.MonkeyPatch, rows: Iterable[Claimed]) -> Scenario:
    """Return what a claim with a full kind comes to that answers these rows."""
    pass_over = Mock()
    monkeypatch.setattr(attempt_store, "claim", Mock(return_value=list(rows)))
    monkeypatch.setattr(attempt_store, "pass_over", pass_over)
    monkeypatch.setattr(claimer_module, "Wakeup", Mock())
    slots = Mock()
    slots.exclude_full_kinds.return_value = ("full",)
    slots.unhandled.left_out.return_value = ()
    intake = Mock()
    intake.accept.return_value = ()
    claimer = Claimer(
        Mock(),
        "default",
        slots=slots,
        intake=intake,
        ended=lambda: 0,
        may_store=lambda: True,
        counters=Mock(),
        stopped=lambda: None,
    )
    claim = claimer._claim  # pyright: ignore[reportPrivateUsage] - one step of its thread
    found = claim(Mock(), COUNT, woken=True)
    return Scenario(found, pass_over.call_count)


def jobs(count: int, characters: int) -> list[Claimed]:
    """Return claimed jobs with payloads of that length."""
    return [claimed(n, 100 + n)._replace(payload="x" * characters) for n in range(1, count + 1)]


def test_a_claim_that_was_cut_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has passed over nothing, and the queue is not empty."""
    assert Scenario(COUNT, 0) == after_claim(monkeypatch, jobs(15, MIB))
    assert Scenario(COUNT, 0) == after_claim(monkeypatch, jobs(15, MIB // 4))


def test_a_claim_of_all_there_is_is_followed_by_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stays free beside it is shown to the leader."""
    assert Scenario(15, 1) == after_claim(monkeypatch, jobs(15, 1000))
    assert Scenario(0, 1) == after_claim(monkeypatch, [])
