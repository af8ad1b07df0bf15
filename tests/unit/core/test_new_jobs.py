"""What is no job is refused with a sentence, before anything is sent."""

from datetime import date

import pytest

import fairlead

tasks = fairlead.Tasks()


@tasks.handler
def handled(job: fairlead.Job) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (
            {"kind": handled},
            "^kind is a PlainTask: .* the name of a handler, .* own `enqueue`$",
        ),
        ({"kind": None}, "^kind is a NoneType: behind the connection give the name"),
        ({"kind": "k", "run_at": 5}, "^run_at is 5: give a datetime with a time zone$"),
        (
            {"kind": "k", "expires_at": date(2026, 1, 1)},
            r"^expires_at is datetime\.date\(2026, 1, 1\): give a datetime with a time zone$",
        ),
        ({"kind": "k", "timeout": "30s"}, "^timeout is '30s': give seconds or a timedelta$"),
        ({"kind": "k", "cost_hint": True}, "^cost_hint is True: give seconds or a timedelta$"),
    ],
)
def test_what_is_of_another_type_is_named(job: dict[str, object], sentence: str) -> None:
    """An application without type checks learns what to give in its place."""
    with pytest.raises(TypeError, match=sentence):
        fairlead.NewJob(**job)  # type: ignore[arg-type]  # that is tried
