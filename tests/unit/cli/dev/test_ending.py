"""What `fairlead dev` says of the jobs that it waits for."""

import pytest

from fairlead_cli.dev.ending import Running, sentence

ONE = (Running("report", 1, 4.4),)
TWO = (Running("send", 12, 1.2), *ONE)
REPORT = "report (for 4 s)"
SENDS = "12 send (the oldest for 1 s)"
AGAIN = "Ctrl-C again: {} back now, which uses no attempt"
MANY = tuple(Running(f"kind{number}", 1, 0.0) for number in range(7))


@pytest.mark.parametrize(
    ("running", "left_seconds", "said"),
    [
        (ONE, 9, f"waiting up to 9 s for 1 job: {REPORT}. {AGAIN.format('it goes')}"),
        (
            TWO,
            9,
            f"waiting up to 9 s for 13 jobs: {SENDS}, {REPORT}. {AGAIN.format('they go')}",
        ),
        (ONE, 0, "handing back 1 job: report (for 4 s); this uses no attempt"),
        ((), 9, "waiting for worker-1, worker-2 to end"),
        (None, 9, "waiting for worker-1, worker-2 to end"),
    ],
)
def test_jobs_are_named_by_kind_with_how_long(
    running: tuple[Running, ...] | None, left_seconds: int, said: str
) -> None:
    """Where none runs, or the database does not answer, the workers are named."""
    assert said == sentence(running, ("worker-1", "worker-2"), left_seconds)


def test_many_kinds_fit_on_a_line() -> None:
    """Those with most jobs are named."""
    said = sentence(MANY, ("worker-1",), 5)

    assert "kind4 (for 0 s), 2 more kinds. Ctrl-C" in said
    assert "kind5" not in said
