"""A job is a claimed row, parsed when read, and the attempt that runs it."""

from datetime import UTC, datetime

import pytest

import fairlead
from fairlead.job import Claimed
from tests.support.attempts import claimed


class Recorder:
    """An attempt that notes what is asked of it."""

    def __init__(self, *, cancelled: bool = False) -> None:
        self.cancelled = cancelled
        self.max_attempts = 7
        self.deadline = datetime(2026, 11, 21, tzinfo=UTC)
        self.said: list[object] = []

    def extend(self, by_seconds: float) -> datetime:
        """Note it."""
        self.said.append(by_seconds)
        return self.deadline

    def report(self, fraction: float, note: str) -> None:
        """Note it."""
        self.said.append((fraction, note))

    def save_checkpoint(self, text: str) -> None:
        """Note it."""
        self.said.append(text)

    def stores_checkpoint(self, text: str) -> bool:
        """Note it; there is no database."""
        self.said.append(("stores", text))
        return False

    def completes(self) -> bool:
        """Note it; there is no database."""
        self.said.append("completes")
        return False


def job(row: Claimed, attempt: Recorder | None = None) -> fairlead.Job:
    """Return a job without a worker."""
    return fairlead.Job(row, attempt or Recorder())


def test_a_job_says_what_was_claimed() -> None:
    """Every field is the row's."""
    one = job(claimed(7, 9, kind="send", payload='{"to": [1, null]}', headers='{"trace": "x"}'))

    assert (7, 9, "send", "default", "") == (one.id, one.token, one.kind, one.queue, one.tenant)
    assert (1, 5) == (one.attempt, one.max_attempts)
    assert 7 == job(claimed(7, 9)._replace(max_attempts=0)).max_attempts
    assert {"to": [1, None]} == one.payload
    assert {"trace": "x"} == one.headers
    assert {} == job(claimed(7, 9)).headers
    assert "Job(id=7, kind='send', attempt=1)" == repr(one)


@pytest.mark.parametrize(
    "payload", ["1" * 5000, "[" * 100_000 + "]" * 100_000], ids=["digits", "nesting"]
)
def test_a_payload_that_python_cannot_hold_discards_the_job(payload: str) -> None:
    """PostgreSQL accepts numbers and nesting that Python refuses: the job fails for good."""
    unreadable = job(claimed(7, 9, payload=payload))

    with pytest.raises(fairlead.Discard, match="payload cannot be read"):
        _ = unreadable.payload


def test_a_handler_can_leave_when_it_is_told_to_stop() -> None:
    """`raise_if_cancelled` raises once `cancelled` is true, and not before."""
    job(claimed(7, 9)).raise_if_cancelled()

    stopped = job(claimed(7, 9), Recorder(cancelled=True))

    assert stopped.cancelled
    with pytest.raises(fairlead.Cancelled, match="job 7"):
        stopped.raise_if_cancelled()


def test_reports_are_passed_on_within_their_bounds() -> None:
    """Extensions are over 0 and at most 30 days, fractions from 0 to 1, notes are cut."""
    recorder = Recorder()
    one = job(claimed(7, 9), recorder)

    assert recorder.deadline == one.extend(2)
    one.progress(1, "al\0most\ud800" + "x" * 2000)

    assert [2.0, (1.0, ("almost?" + "x" * 2000)[:1000])] == recorder.said
    for seconds in (0, -1, float("nan"), 31 * 86_400):
        with pytest.raises(ValueError, match="by must be"):
            one.extend(seconds)
    for fraction in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="fraction must be between 0 and 1"):
            one.progress(fraction)


def test_a_result_that_is_not_json_is_refused_before_the_database_is_asked() -> None:
    """`complete` names what is wrong with the result."""
    recorder = Recorder()

    with pytest.raises(ValueError, match="result cannot be written as JSON"):
        job(claimed(7, 9), recorder).complete(_NoCursor(), float("inf"))

    assert [] == recorder.said


class _NoCursor:
    """A cursor that must not be used."""

    def execute(self, operation: str, parameters: object, /) -> object:
        """Fail the test."""
        raise AssertionError(operation, parameters)

    def fetchall(self) -> list[object]:
        """Fail the test."""
        raise AssertionError


@pytest.mark.parametrize(("first", "second"), [(None, _NoCursor()), (_NoCursor(), None)])
def test_all_checkpoints_of_an_attempt_have_a_connection_or_none(
    first: _NoCursor | None, second: _NoCursor | None
) -> None:
    """One that waits to be stored could otherwise replace a later one that is committed."""
    recorder = Recorder()
    held = job(claimed(7, 9), recorder)
    for number in range(2):
        say(held, number, first)

    with pytest.raises(ValueError, match="job 7 has checkpoints with a connection and without"):
        say(held, 2, second)

    assert recorder.said == (
        ["0", "1"] if first is None else [("stores", "0"), ("stores", "1")]
    )
    say(job(claimed(7, 10), recorder), 2, second)


def say(held: fairlead.Job, number: int, on: _NoCursor | None) -> None:
    """Say from where a job goes on, over a connection or none."""
    if on is None:
        held.checkpoint(number)
    else:
        held.checkpoint(number, on)


def test_a_checkpoint_is_json_of_a_bounded_length() -> None:
    """It is refused where it is given, and what the row says is parsed."""
    recorder = Recorder()
    row = claimed(7, 9)._replace(checkpoint='{"row": 7}')

    job(row, recorder).checkpoint([1, {"a": "é"}])

    assert ['[1,{"a":"é"}]'] == recorder.said
    assert {"row": 7} == job(row).checkpoint_value
    assert job(claimed(7, 9)).checkpoint_value is None
    with pytest.raises(
        ValueError, match="checkpoint is 65,538 bytes of JSON, more than 65,536"
    ):
        job(row).checkpoint("x" * 65_536)
