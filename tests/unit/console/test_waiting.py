"""Why a job waits is drawn as four steps, from what the leader answered."""

import pytest

from fairlead.inspection.rows import Row
from fairlead_console.pages.waiting import drawn

SLOTS: list[Row] = [{"tenant": "acme", "running": 6}, {"tenant": "globex", "running": 2}]


def answer(**changes: object) -> Row:
    """Return an answer of a leader for a job that waits for its turn."""
    said: Row = {
        "state": "pending",
        "sentence": "others go first: it starts in about 4.2 s",
        "blocked_by": "turn",
        "by": None,
        "blocked_seconds": 3.0,
        "ahead": 7,
        "lag_slot_seconds": -1.5,
        "starts_in_seconds": 4.2,
        "waited": {"tenant": {"seconds": 10.0, "blocked_seconds": {}}},
        "key": None,
        "rule": None,
    }
    return {**said, **changes}


def test_the_steps_are_what_is_ahead_what_holds_who_has_the_slots_and_when() -> None:
    """In the order in which they stand between a job and its slot."""
    found = drawn(answer(), tenant="globex", slots=SLOTS)

    assert "Others go first: it starts in about 4.2 s." == found.sentence
    said = [(each.answer, each.tone) for each in found.steps]
    assert [
        ("7 jobs", "wait"),
        ("Nothing", "wait"),
        ("8 jobs run", "wait"),
        ("In about 4 s", "wait"),
    ] == said
    assert [("acme", False, 1000.0), ("globex", True, 333.3)] == [
        (each.tenant, each.is_own, each.width) for each in found.holders
    ]


@pytest.mark.parametrize(
    ("changes", "title", "tone"),
    [
        ({"blocked_by": "limit", "by": "queue"}, "The limit of its queue is reached", "held"),
        ({"blocked_by": "rate", "by": "tenant"}, "The rate of its tenant is used up", "held"),
        ({"blocked_by": "paused", "by": "queue"}, "Its queue is paused", "held"),
        ({"blocked_by": "no leader"}, "No scheduler leads", "held"),
        ({"blocked_by": "hold", "rule": "night"}, "Rule night of the policy holds it", "held"),
        ({"blocked_by": "capacity"}, "Nothing", "wait"),
        ({"blocked_by": "something newer"}, "something newer", "wait"),
    ],
)
def test_what_holds_it_is_said_in_words(changes: Row, title: str, tone: str) -> None:
    """Red is for what keeps it until somebody or something changes."""
    (_, holds, *_) = drawn(answer(**changes), tenant="acme", slots=SLOTS).steps

    assert (title, tone) == (holds.answer, holds.tone)


def test_what_the_tables_answer_without_a_leader_has_fewer_steps() -> None:
    """A paused queue's answer knows nothing of what is ahead."""
    said: Row = {
        "state": "pending",
        "sentence": "its queue is paused: resume it",
        "blocked_by": "paused",
        "by": "queue",
    }

    found = drawn(said, tenant="acme", slots=[])

    assert ["Its queue is paused", "Nobody", "Not known"] == [
        each.answer for each in found.steps
    ]
    assert found.lag is None


def test_a_pause_with_an_end_says_when_that_is() -> None:
    """Beside that somebody may resume it before."""
    said: Row = {"blocked_by": "paused", "paused_until": "2026-11-29T18:00:00.5+01:00"}

    (_, holds, *_) = drawn(answer(**said), tenant="acme", slots=SLOTS).steps

    assert "again at 2026-11-29 17:00:00, or when somebody resumes it." in holds.detail


def test_a_job_that_is_dispatched_has_a_sentence_and_no_steps() -> None:
    """A worker is about to claim it."""
    found = drawn(answer(state="queued", blocked_by=None), tenant="acme", slots=[])

    assert () == found.steps


def test_the_wait_is_parted_by_what_blocked_it() -> None:
    """The rest of it was its turn; who was never blocked has no bar."""
    waited: dict[str, Row] = {
        "queue": {"seconds": 10.0, "blocked_seconds": {"limit": 7.5}},
        "tenant": {"seconds": 10.0, "blocked_seconds": {}},
    }

    (spent,) = drawn(answer(waited=waited), tenant="acme", slots=[]).blocked

    assert "queue" == spent.who
    assert [("held", "limit 8 s", 750.0), ("turn", "its turn 2 s", 250.0)] == [
        (each.tone, each.label, each.width) for each in spent.segments
    ]


def test_who_holds_its_key_is_named() -> None:
    """By the ids of the jobs."""
    key = {"key": "payload.account", "value": "7", "holders": [3, 5]}

    found = drawn(answer(blocked_by="key", key=key), tenant="acme", slots=SLOTS)

    assert (3, 5) == found.key_holders
