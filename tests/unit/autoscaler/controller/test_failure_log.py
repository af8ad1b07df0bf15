"""A recurring failure is logged when it begins, and then once a minute."""

from dataclasses import dataclass

import pytest

from fairlead.db.connect import Unreachable
from fairlead.runtime import log
from fairlead_autoscaler.controller.failure_log import FailureLog
from fairlead_autoscaler.kube.port import ForbiddenError, UnreachableError
from tests.support.logged import Lines


@dataclass
class Clock:
    """Seconds, as the test says."""

    now: float = 0.0

    def __call__(self) -> float:
        """Return them."""
        return self.now


class Said:
    """A failure log on a test's clock, and what it logged."""

    def __init__(self, lines: Lines) -> None:
        self.clock = Clock()
        self.failures = FailureLog(log.get("test"), self.clock)
        self._lines = lines

    def lines(self) -> list[object]:
        """Return the reasons that were logged since the last call."""
        return [line["reason"] for line in self._lines()]


@pytest.fixture
def said(logged: Lines) -> Said:
    """Return a failure log without a failure."""
    return Said(logged)


def test_a_lasting_failure_is_logged_once_a_minute(said: Said) -> None:
    """However its sentence changes: a cluster's has versions and times in it."""
    for step in range(25):
        said.clock.now = step * 5.0
        said.failures.report("status.not_written", UnreachableError(f"try {step}"))

    assert ["try 0", "try 12", "try 24"] == said.lines()


def test_another_error_and_one_that_comes_back_are_news(said: Said) -> None:
    """Each is a transition."""
    said.failures.report("status.not_written", UnreachableError("away"))
    said.failures.report("status.not_written", ForbiddenError("forbidden"))
    said.failures.report("status.not_written", ForbiddenError("forbidden"))
    said.failures.resolve("status.not_written")
    said.failures.resolve("status.not_written")
    said.failures.report("status.not_written", ForbiddenError("again"))

    assert ["away", "forbidden", "again"] == said.lines()


def test_another_sentence_of_the_database_is_news(said: Said) -> None:
    """An operator who corrects a secret looks for the result."""
    for sentence in ("no such host", "no such host", "no such role"):
        said.failures.report("database.unreachable", Unreachable(sentence))

    assert ["no such host", "no such role"] == said.lines()


def test_each_pool_has_a_minute_of_its_own(said: Said) -> None:
    """What is wrong with one of them says nothing of another."""
    for pool in ("a", "b", "a"):
        said.failures.report("scale.failed", ForbiddenError(f"of {pool}"), {"pool": pool})

    assert ["of a", "of b"] == said.lines()
