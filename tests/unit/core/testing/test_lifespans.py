"""A test runs handlers inside the application's lifespan, or with fakes in its place."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

import fairlead
from fairlead import Job, Json
from fairlead.testing import AttemptRecorder, run


class Mailer:
    """Sends mails, and notes them."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.is_open = True


def application(said: list[str]) -> fairlead.Tasks:
    """Return one whose lifespan says what happens."""
    tasks = fairlead.Tasks()

    @tasks.lifespan
    async def life() -> AsyncIterator[Mailer]:
        said.append("start")
        async with asyncio.timeout(60):  # which has to end in the task in which it began
            mailer = Mailer()
            yield mailer
        mailer.is_open = False
        said.append("stop")

    @tasks.handler("send")
    async def send(job: Job[str], mailer: Mailer = fairlead.GIVEN) -> Json:
        await asyncio.sleep(0)
        if job.payload == "nobody":
            raise fairlead.Discard("no such address")
        mailer.sent.append(job.payload)
        return mailer.is_open

    return tasks


def test_the_lifespan_is_entered_and_left_around_a_run() -> None:
    """Also where the handler raises."""
    said: list[str] = []
    tasks = application(said)

    assert run(tasks, "send", "ann@example.com") is True
    with pytest.raises(fairlead.Discard):
        run(tasks, "send", "nobody")

    assert ["start", "stop"] * 2 == said


def test_a_test_that_is_a_coroutine_has_it_in_the_thread_of_its_handlers() -> None:
    """Its own loop runs already."""
    said: list[str] = []

    async def test() -> Json:
        return run(application(said), "send", "ann@example.com")

    assert asyncio.run(test()) is True
    assert ["start", "stop"] == said


def test_a_fake_takes_the_place_of_the_lifespan() -> None:
    """Which is not entered then."""
    said: list[str] = []
    fake = Mailer()

    run(application(said), "send", "ann@example.com", context=fake)

    assert (["ann@example.com"], []) == (fake.sent, said)


def test_a_plain_lifespan_does_not_see_what_handlers_raise() -> None:
    """As in a worker, where it outlives them."""
    tasks, said = fairlead.Tasks(), list[str]()

    @tasks.lifespan
    def life() -> Iterator[None]:
        try:
            yield
            said.append("stop")
        except ValueError:
            said.append("seen")

    @tasks.handler("fails")
    def fails(_job: Job) -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run(tasks, "fails")

    assert ["stop"] == said


def test_a_recorder_has_the_checkpoints_and_says_where_the_job_goes_on() -> None:
    """As JSON that was written and read."""
    tasks = fairlead.Tasks()

    @tasks.handler("index")
    def index(job: Job) -> Json:
        job.checkpoint({"page": 8, "seen": (1, 2)})
        return job.checkpoint_value

    recorder = AttemptRecorder(checkpoint={"page": 7})

    assert {"page": 7} == run(tasks, "index", recorder=recorder)
    assert ({"page": 8, "seen": [1, 2]},) == recorder.checkpoints
    assert run(tasks, "index") is None
