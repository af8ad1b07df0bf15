"""Payloads are held to what their handlers name, at enqueue and at run, with one sentence."""

import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from typing import Any, NotRequired, TypedDict, cast

import pytest
from pydantic import BaseModel, Field

import fairlead
from fairlead import testing
from fairlead.errors import InvalidPayload
from fairlead.payload_types import PayloadType


class Email(BaseModel):
    """A model."""

    to: str = Field(min_length=2)
    copies: list[int] = []


@dataclass
class Letter:
    """A dataclass."""

    street: str
    at: datetime


class Street(TypedDict):
    """A TypedDict inside another."""

    number: int


class Call(TypedDict):
    """A TypedDict."""

    street: Street
    others: NotRequired[list[Street]]


def of_email(job: fairlead.Job[Email]) -> str:
    """Read a model."""
    return job.payload.to


def of_letter(job: fairlead.Job[Letter]) -> str:
    """Read a dataclass."""
    return f"{job.payload.street} {job.payload.at.year}"


def of_call(job: fairlead.Job[Call]) -> int:
    """Read a TypedDict."""
    return job.payload["street"]["number"]


async def of_arguments(job: fairlead.Job, to: str, at: datetime, *, copies: int = 1) -> str:
    """Take members of the payload."""
    assert isinstance(job.payload, dict)
    return f"{to} {at.year} {copies}"


RUNS: list[tuple[Callable[..., object], object, object]] = [
    (of_email, {"to": "ab"}, "ab"),
    (of_letter, {"street": "x", "at": "2026-11-28T00:00:00Z"}, "x 2026"),
    (of_call, {"street": {"number": "7"}}, 7),
    (
        of_arguments,
        {"to": "a", "at": "2026-11-28T00:00:00Z", "of a later release": 1},
        "a 2026 1",
    ),
    (of_arguments, {"to": "a", "at": "2026-11-28T00:00:00Z", "copies": 3}, "a 2026 3"),
]


@pytest.mark.parametrize(("run", "payload", "result"), RUNS)
def test_a_handler_is_given_what_it_names(
    run: Callable[..., object], payload: object, result: object
) -> None:
    """A model, a dataclass, a TypedDict, or parameters behind the job."""
    tasks = fairlead.Tasks()
    tasks.handler("typed")(cast("Any", run))

    assert result == testing.run(tasks, "typed", cast("fairlead.Json", payload))


@pytest.mark.parametrize(
    ("run", "payload", "sentence"),
    [
        (of_email, {}, "to is missing, give it"),
        (of_email, {"to": 5}, "to is 5, give a valid string"),
        (of_email, {"to": "ab", "copies": [1, "x"]}, "copies.1 is 'x', give a valid integer, "),
        (of_email, {"to": "a", "copies": 1}, "to is 'a', string should have at least 2 "),
        (of_email, {"to": 1, "copies": 1}, r"to is 1, give a valid string \(and 1 more\)$"),
        (of_letter, {"street": "x", "at": "soon"}, "at is 'soon', give a valid datetime"),
        (of_call, {"street": {}}, "street.number is missing, give it"),
        (of_call, {"street": {"number": 1}, "others": [2]}, "others.0 is 2, give an object"),
        (of_arguments, {"to": "a"}, "at is missing, give it"),
        (of_arguments, [], r"it is \[\], give an object"),
        (of_email, {"to": "x" * 5, "copies": "y" * 500}, r"copies is 'y{79}…, "),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    run: Callable[..., object], payload: object, sentence: str
) -> None:
    """With the field, its value and what would be right, both times."""
    tasks = fairlead.Tasks()
    tasks.handler("typed")(cast("Any", run))
    given = cast("fairlead.Json", payload)

    with pytest.raises(InvalidPayload, match=r"^payload of 'typed' does not fit: ") as refused:
        testing.run(tasks, "typed", given)
    assert not re.search(" is '| is [0-9]|y{9}", str(refused.value)), "no value is quoted"
    with pytest.raises(InvalidPayload, match=f"^payload of 'typed' does not fit: {sentence}"):
        PayloadType("typed", run).checked(given)


@pytest.mark.parametrize(
    ("run", "given", "stored"),
    [
        (of_email, Email(to="ab"), {"to": "ab", "copies": []}),
        (
            of_letter,
            Letter("x", datetime(2026, 1, 1, tzinfo=UTC)),
            {"street": "x", "at": "2026-01-01T00:00:00Z"},
        ),
        (of_email, {"to": "ab"}, {"to": "ab"}),
    ],
)
def test_values_of_the_types_are_stored_as_json(
    run: Callable[..., object], given: object, stored: object
) -> None:
    """And JSON as it was given, whatever has defaults."""
    assert stored == PayloadType("typed", run).checked(given)


def test_what_is_no_json_is_refused_with_a_sentence() -> None:
    """Also where the type would take it."""
    with pytest.raises(InvalidPayload, match="payload of 'typed' cannot be written as JSON: "):
        PayloadType("typed", of_email).checked({"to": object()})


def test_arguments_are_those_of_the_function() -> None:
    """A call with others is a TypeError that shows what it takes."""
    found = PayloadType("typed", of_arguments)
    now = datetime.now(UTC)

    assert {"to": "a", "at": now} == found.arguments(("a",), {"at": now})
    with pytest.raises(
        TypeError, match=r"^'typed'\(to: str, .*missing a required argument: 'at'$"
    ):
        found.arguments(("a",), {})
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'too'"):
        found.arguments((), {"to": "a", "at": now, "too": 1})
    with pytest.raises(TypeError, match="'typed' takes its payload as one argument"):
        PayloadType("typed", of_email).arguments((1, 2), {})


def by_place(job: fairlead.Job, to: str, /) -> None:
    """Take a member by its place."""
    raise AssertionError(job, to)


def test_a_parameter_without_a_name_is_refused() -> None:
    """Members of an object have names."""
    with pytest.raises(
        ValueError, match=r"'typed' takes to by its place alone: .* take away the /"
    ):
        fairlead.Tasks().handler("typed")(by_place)


def test_any_other_payload_is_not_looked_at() -> None:
    """Nor is pydantic loaded for it, and the function is what runs."""
    tasks = fairlead.Tasks()

    @tasks.handler
    def plain(job: fairlead.Job) -> fairlead.Json:
        return job.payload

    @tasks.handler
    def counts(job: fairlead.Job[dict[str, int]]) -> int:
        return len(job.payload)

    assert plain.function is tasks.handlers["plain"].run
    assert 1 == testing.run(tasks, "counts", {"a": "no number"})
    code = (
        "import sys, fairlead\n"
        "@fairlead.Tasks().handler\n"
        "def plain(job: fairlead.Job) -> None: ...\n"
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "False\n" == done.stdout


def test_annotations_may_be_text_and_name_what_comes_later() -> None:
    """As with `from __future__ import annotations`."""
    tasks = fairlead.Tasks()

    @tasks.handler
    def later(job: "fairlead.Job[Late]") -> int:
        return job.payload.number

    @tasks.handler
    def unknown(_job: "fairlead.Job[NoSuchType]") -> None:  # type: ignore[name-defined]  # noqa: F821 - so it is
        raise AssertionError

    assert 7 == testing.run(tasks, "later", {"number": 7})
    with pytest.raises(
        ValueError,
        match=r"the types of 'unknown' cannot be used to check its payload: .*NoSuchType",
    ):
        tasks.check()


def test_a_name_that_is_not_there_is_no_question_of_the_lifespan() -> None:
    """The sentence ends with the name, also where there are arguments."""
    tasks = fairlead.Tasks()

    @tasks.handler
    def unknown(_job: fairlead.Job, _to: "NoSuchType") -> None:  # type: ignore[name-defined]  # noqa: F821 - so it is
        raise AssertionError

    with pytest.raises(ValueError, match=r"name 'NoSuchType' is not defined$"):
        tasks.check()


class Late(BaseModel):
    """A model that is defined after the handler."""

    number: int


def injecting(run: Callable[[fairlead.Job, str], str]) -> Callable[[fairlead.Job], str]:
    """Give a function what is not of the payload."""

    def wrapper(job: fairlead.Job) -> str:
        return run(job, "injected")

    return wrapper


def logging(run: Callable[..., str]) -> Callable[..., str]:
    """Hand on whatever comes."""

    @wraps(run)
    def wrapper(*args: object, **kwargs: object) -> str:
        return run(*args, **kwargs)

    return wrapper


def test_wrappers_are_called_as_they_ask() -> None:
    """One that names its parameters is asked; one that hands all on is looked through."""
    tasks = fairlead.Tasks()

    def inner(_job: fairlead.Job, to: str) -> str:
        return to

    tasks.handler("injected")(injecting(inner))
    tasks.handler("logged")(cast("Any", logging(inner)))

    assert "injected" == testing.run(tasks, "injected", {"to": "x"})
    assert "x" == testing.run(tasks, "logged", {"to": "x"})


def test_a_task_is_called_like_its_function() -> None:
    """It has the function's name and text, and may be given another kind."""
    tasks = fairlead.Tasks()
    task = tasks.handler("typed")(of_arguments)
    tasks.handler("again")(task)
    job = cast("fairlead.Job", type("FakeJob", (), {"payload": {}})())

    assert "a 2026 1" == asyncio.run(task(job, "a", datetime(2026, 1, 1, tzinfo=UTC)))
    assert ("of_arguments", "Take members of the payload.") == (task.__name__, task.__doc__)
    assert ("typed", "Task('typed')") == (task.kind, repr(task))
    assert ["loop", "loop"] == [each.runs_on for each in tasks.handlers.values()]
    assert inspect.iscoroutinefunction(task) or sys.version_info < (3, 12)


def test_settings_of_a_job_are_said_before_its_arguments() -> None:
    """And kept until others are said."""
    tasks = fairlead.Tasks()
    task = tasks.handler("typed")(of_call)

    job = (
        task.using(tenant="a", priority=3).using(tenant="b").new_job({"street": {"number": 1}})
    )

    assert (
        fairlead.NewJob(kind="typed", payload={"street": {"number": 1}}, tenant="b", priority=3)
        == job
    )
    with pytest.raises(ValueError, match=re.escape("has no time zone")):
        task.using(run_at=datetime(2026, 1, 1))  # noqa: DTZ001 - that is what is refused
