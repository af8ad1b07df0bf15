"""What pages conclude: a job's life, who stands out among tenants, what needs attention."""

from datetime import UTC, datetime, timedelta

import pytest

from fairlead.inspection.doctor.finding import Finding, Harm, shell
from fairlead.inspection.rows import Row
from fairlead_console.pages import fairness, health, time_line, words
from fairlead_console.pages.drawing import line, stacked
from fairlead_console.pages.values import Count

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
JOB: Row = {
    "state": "succeeded",
    "created_at": NOW - 100 * SECOND,
    "enqueued_by": "shop",
    "run_at": None,
    "due_at": None,
    "runnable_at": None,
    "claimed_at": NOW - 40 * SECOND,
    "finished_at": NOW - 20 * SECOND,
    "expires_at": None,
    "attempt": 1,
    "worker": 7,
}


def share(tenant: str, had: float | None, entitled: float, *, pending: int = 5) -> Row:
    """Return a tenant's row."""
    return {
        "tenant": tenant,
        "queue": "mail",
        "share": had,
        "entitled_share": entitled,
        "pending": pending,
        "queued": 0,
        "blocked_by": None,
    }


def test_a_life_is_what_happened_in_the_order_in_which_it_did() -> None:
    """Attempts that went wrong and what was done by hand stand among the rest."""
    attempt: Row = {
        "attempt": 1,
        "ended_as": "failed",
        "at": NOW - 70 * SECOND,
        "error": "ValueError: no\n  a.py:1 in f",
    }
    by_hand: Row = {
        "at": NOW - 60 * SECOND,
        "verb": "retry",
        "actor": "ada",
        "login": "ops",
        "reason": "again",
    }
    job = {**JOB, "attempt": 2, "due_at": NOW - 50 * SECOND}

    found = time_line.of_job(job, [attempt], [by_hand], now=NOW)

    assert [
        ("Enqueued", "by login shop"),
        ("Attempt 1 failed", "ValueError: no"),
        ("By hand: retry", "by ada: again"),
        ("Fell due", ""),
        ("Attempt 2 started", "on worker 7"),
        ("Succeeded", ""),
    ] == [(each.what, each.detail) for each in found.events]
    assert ["earlier attempts 50 s", "waited 10 s", "ran 20 s"] == [
        each.label for each in found.phases
    ]


def test_a_job_that_runs_or_waits_has_a_life_up_to_now() -> None:
    """What has not begun has no part in it."""
    runs = {**JOB, "state": "running", "finished_at": None}
    waits = {**JOB, "state": "pending", "finished_at": None, "claimed_at": None}

    lives = [time_line.of_job(each, [], [], now=NOW) for each in (runs, waits)]

    assert [["waited 1 m", "runs 40 s"], ["waited 1 m 40 s"]] == [
        [each.label for each in life.phases] for life in lives
    ]


def test_who_has_more_and_who_less_than_its_share_is_named() -> None:
    """The one that is behind only while it waits."""
    rows = [
        share("noisy", 0.8, 0.5),
        share("starved", 0.2, 0.5),
        share("idle", 0.0, 0.3, pending=0),
    ]

    said = fairness.sentences(rows)

    assert said == (
        "“noisy” in queue “mail” has had 80% of the slots of late, and is entitled to 50%.",
        "“starved” in queue “mail” waits: it has had 20%, and is entitled to 50%.",
    )
    assert ["ahead", "behind", "even"] == [each.tone for each in fairness.shares(rows)]


def test_shares_that_are_even_are_said_to_be() -> None:
    """And without a report nothing is said."""
    assert ("Every tenant has had about what it is entitled to.",) == fairness.sentences(
        [share("one", 0.5, 0.5), share("other", 0.49, 0.5)]
    )
    assert () == fairness.sentences([share("one", None, 0.0)])


@pytest.mark.parametrize(
    ("harms", "headline", "tone"),
    [
        ((), "All is well.", "good"),
        (("stops",), "Work stands still.", "bad"),
        (("stops", "stops"), "2 things stop work.", "bad"),
        (("slows", "wastes"), "Something slows work.", "warn"),
        (("wastes",), "Work goes on.", "note"),
    ],
)
def test_the_first_sentence_says_how_bad_it_is(
    harms: tuple[Harm, ...], headline: str, tone: str
) -> None:
    """By the worst that the doctor has found."""
    findings = [
        Finding(harm, "lead", "no scheduler leads", "nothing is dispatched", (shell("x"),))
        for harm in harms
    ]

    found = health.judged(findings, [])

    assert (headline, tone) == (found.headline, found.tone)


def test_what_is_paused_is_said_and_before_the_first_look_so_is_that() -> None:
    """A pause is no harm: somebody wanted it."""
    row: Row = {"queue": "mail", "tenant": None, "since": NOW - 90 * SECOND, "now": NOW}

    found = health.judged((), [{**row, "until": None}, {**row, "until": NOW + 90 * SECOND}])

    title = "paused: queue “mail”, for 1 m 30 s"
    ends = (
        f"Its jobs wait until {words.instant(NOW + 90 * SECOND)}, or until somebody resumes it."
    )
    assert [title, title] == [each.title for each in found.concerns]
    assert ["Its jobs wait until somebody resumes it.", ends] == [
        each.means for each in found.concerns
    ]
    assert "The doctor is still looking." == health.judged(None, []).headline


def test_bars_and_lines_stay_within_their_box() -> None:
    """Whatever their values are."""
    bar = stacked([("a", "a", 3.0), ("b", "b", 0.0), ("c", "c", 9.0)], total=4.0)

    assert [("a", 0.0, 750.0), ("c", 750.0, 250.0)] == [(x.tone, x.x, x.width) for x in bar]
    assert () == stacked([("a", "a", 1.0)], total=0.0)
    assert "" == line([1.0])
    assert "0.0,46.0 240.0,2.0" == line([0.0, 5.0])


def test_values_are_said_as_the_command_line_says_them() -> None:
    """And a count says where it stopped."""
    assert "100,000+" == words.counted(Count(100_000, or_more=True))
    assert ("0.0", "-1.2", "+1,000.0") == tuple(map(words.signed, (-0.01, -1.2, 1000.0)))
    assert ("-", "1 m 5 s", "0.2 s") == tuple(map(words.span, (None, 65.0, 0.2)))
