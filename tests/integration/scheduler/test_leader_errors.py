"""What an error that nobody expected costs a leader: one task, and no term after the other."""

from time import monotonic

import psycopg
import pytest

from fairlead_scheduler import term
from fairlead_scheduler.cron.runner import ScheduleRunner
from tests.support.logged import Line, Lines
from tests.support.race import Database, insert_one, places
from tests.support.schedulers import leader, led, scheduling
from tests.support.waiting import until


def test_a_background_task_that_fails_unexpectedly_ends_no_term(
    database_url: str, db: Database, logged: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is done again every few seconds; its traceback is logged, and the rest goes on."""
    lines: list[Line] = []

    def fire(_self: ScheduleRunner) -> bool:
        raise KeyError("unexpected")

    def failures() -> list[Line]:
        lines.extend(logged())
        return [each for each in lines if each["event"] == "task.failed"]

    monkeypatch.setattr(ScheduleRunner, "fire", fire)
    with scheduling(database_url) as replica:
        epoch = led(db)
        failed = until(lambda: failures()[1:] and failures(), what="a second failure")
        job = insert_one(db)
        until(lambda: places(db, job) == ("queued",), what="a dispatch")

        assert epoch == leader(db)
        counted = replica.metrics.registry.get_sample_value(
            "fairlead_scheduler_task_failures_total", {"task": "fire"}
        )
    assert {"fire"} == {each["task"] for each in failed}
    assert "in fire" in str(failed[0]["exception"])
    assert counted is not None
    assert counted >= 2


def test_a_take_over_that_fails_each_time_is_tried_ever_less_often(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as over a row that cannot be read: it took over twice a second."""
    tried_at: list[float] = []

    def read_initial_state(*_: object) -> None:
        tried_at.append(monotonic())
        raise psycopg.DataError("it cannot be read")

    monkeypatch.setattr(term, "read_initial_state", read_initial_state)
    with scheduling(database_url):
        until(lambda: len(tried_at) >= 3, what="a third try")
        monkeypatch.undo()
        led(db, after=2)
        job = insert_one(db)
        until(lambda: places(db, job) == ("queued",), what="a dispatch", seconds=20)

    assert tried_at[2] - tried_at[0] >= 0.5 + 1.0
