"""What fails again and again is said when it begins, and then once a minute."""

from dataclasses import dataclass

import pytest

from fairlead import log
from fairlead.store import Unreachable
from fairlead_autoscaler.kube.port import ForbiddenError, UnreachableError
from fairlead_autoscaler.troubles import Troubles
from tests.support.logged import Lines


@dataclass
class Clock:
    """Seconds, as the test says."""

    now: float = 0.0

    def __call__(self) -> float:
        """Return them."""
        return self.now


class Said:
    """Troubles on a clock, and what was said of them."""

    def __init__(self, lines: Lines) -> None:
        self.clock = Clock()
        self.troubles = Troubles(log.get("test"), self.clock)
        self._lines = lines

    def lines(self) -> list[object]:
        """Return the reasons that were said since it was asked last."""
        return [line["reason"] for line in self._lines()]


@pytest.fixture
def said(logged: Lines) -> Said:
    """Return troubles that nobody has had yet."""
    return Said(logged)


def test_what_lasts_is_said_once_a_minute(said: Said) -> None:
    """However its sentence changes: a cluster's has versions and times in it."""
    for step in range(25):
        said.clock.now = step * 5.0
        said.troubles.say("status.not_written", UnreachableError(f"try {step}"))

    assert ["try 0", "try 12", "try 24"] == said.lines()


def test_another_error_and_one_that_comes_back_are_news(said: Said) -> None:
    """Each is a transition."""
    said.troubles.say("status.not_written", UnreachableError("away"))
    said.troubles.say("status.not_written", ForbiddenError("forbidden"))
    said.troubles.say("status.not_written", ForbiddenError("forbidden"))
    said.troubles.over("status.not_written")
    said.troubles.over("status.not_written")
    said.troubles.say("status.not_written", ForbiddenError("again"))

    assert ["away", "forbidden", "again"] == said.lines()


def test_another_sentence_of_the_database_is_news(said: Said) -> None:
    """Whoever corrects a secret looks at what comes of it."""
    for sentence in ("no such host", "no such host", "no such role"):
        said.troubles.say("database.unreachable", Unreachable(sentence))

    assert ["no such host", "no such role"] == said.lines()


def test_each_pool_has_a_minute_of_its_own(said: Said) -> None:
    """What is wrong with one of them says nothing of another."""
    for pool in ("a", "b", "a"):
        said.troubles.say("scale.failed", ForbiddenError(f"of {pool}"), {"pool": pool})

    assert ["of a", "of b"] == said.lines()
