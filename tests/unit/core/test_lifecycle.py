"""A lifespan and middleware are registered once; what does not fit is one sentence."""

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from pydantic import BaseModel

import fairlead
from fairlead import GIVEN, Job, JsonLike
from fairlead.application import AppError, load
from fairlead.errors import InvalidPayload
from fairlead.testing import run


class Pool:
    """What a lifespan yields."""


class OwnPool(Pool):
    """A narrower one."""


class Client:
    """Something else."""


def _yields_pool() -> Iterator[Pool]:
    yield OwnPool()


def _yields_own_pool() -> Generator[OwnPool, None, None]:
    yield OwnPool()


async def _yields_two() -> AsyncGenerator[tuple[Pool, Client]]:
    yield OwnPool(), Client()


def _yields_nothing() -> Iterator[None]:
    yield


def _says_nothing():  # type: ignore[no-untyped-def]  # noqa: ANN202 - as users write it
    yield Pool()


Asks = Callable[[Job], JsonLike]
CallNext = Callable[[Job], JsonLike]
AsyncCallNext = Callable[[Job], Awaitable[JsonLike]]


def _asks(_job: Job, pool: Pool = GIVEN) -> str:
    return type(pool).__name__


def _asks_by_text(_job: Job, pool: "Pool" = GIVEN, more: "int | None" = None) -> str:
    return f"{type(pool).__name__} {'with' if more else 'without'}"


@pytest.mark.parametrize(
    ("lifespan", "handler", "result"),
    [
        (_yields_pool, _asks, "OwnPool"),
        (_yields_own_pool, _asks, "OwnPool"),
        (contextmanager(_yields_own_pool), _asks, "OwnPool"),
        (_yields_two, _asks, "OwnPool"),
        (asynccontextmanager(_yields_two), _asks, "OwnPool"),
        (_yields_pool, _asks_by_text, "OwnPool without"),
        (_yields_two, _asks_by_text, "OwnPool without"),
    ],
)
def test_a_handler_gets_what_the_lifespan_yields_by_type(
    lifespan: Callable[[], Iterator[object]], handler: Asks, result: str
) -> None:
    """Of a tuple each part; a narrower type stands for a wider one; other defaults stay."""
    tasks = fairlead.Tasks()
    tasks.lifespan(lifespan)
    tasks.handler("asks")(handler)

    assert result == run(tasks, "asks")


def _takes_nothing() -> None: ...


def _asks_without_a_type(_job: Job, pool=GIVEN) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001 - a mistake


def _asks_for_what_is_not_there(_job: Job, pool: object = GIVEN) -> None: ...


_asks_for_what_is_not_there.__annotations__["pool"] = "Pol"


def _asks_by_place(_job: Job, pool: Pool = GIVEN, /) -> None: ...


def _takes_only_the_pool(pool: Pool = GIVEN) -> None: ...


def _asks_for_a_client(_job: Job, client: Client = GIVEN) -> None: ...


@pytest.mark.parametrize(
    ("lifespan", "handler", "sentence"),
    [
        (None, _takes_nothing, "has to take job, and takes too little"),
        (
            None,
            _asks,
            r"asks for pool: Pool, and no .+: annotate what it returns, AsyncIterator\[Pool\] ",
        ),
        (_says_nothing, _asks, "asks for pool: Pool, and no lifespan says that"),
        (_yields_pool, _asks_without_a_type, "asks for pool and does not say of which type"),
        (
            _yields_pool,
            _asks_for_what_is_not_there,
            "has an annotation of pool that cannot be read: name 'Pol' is not defined",
        ),
        (_yields_pool, _takes_only_the_pool, "has to take job, and takes too little"),
        (_yields_pool, _asks_by_place, "asks for pool: Pool, and takes it by its place only"),
        (
            _yields_pool,
            _asks_for_a_client,
            "asks for client: Client, and the lifespan yields Pool",
        ),
        (_yields_nothing, _asks, "asks for pool: Pool, and the lifespan yields nothing"),
    ],
)
def test_a_handler_that_cannot_be_called_is_refused_with_its_place(
    lifespan: Callable[[], Iterator[object]] | None, handler: Asks, sentence: str
) -> None:
    """When the application is loaded, and not when its first job comes."""
    tasks = fairlead.Tasks()
    if lifespan is not None:
        tasks.lifespan(lifespan)
    tasks.handler("asks")(handler)

    with pytest.raises(ValueError, match=rf"'asks', at {__file__}:\d+, {sentence}"):
        tasks.check()


class Address(BaseModel):
    """A payload of known shape."""

    street: str


def test_a_handler_takes_a_payload_of_known_shape_and_what_is_given() -> None:
    """A caller gives the payload alone, and it is checked as ever."""
    tasks = fairlead.Tasks()
    tasks.lifespan(_yields_two)

    @tasks.handler
    def visit(job: Job[Address], client: Client = GIVEN, *, pool: Pool = GIVEN) -> JsonLike:
        return [job.payload.street, type(client).__name__, type(pool).__name__]

    tasks.check()

    assert ["A 1", "Client", "OwnPool"] == run(tasks, "visit", {"street": "A 1"})
    payload: object = visit.new_job(Address(street="A 1")).payload
    assert Address(street="A 1") == payload
    with pytest.raises(InvalidPayload, match="payload of 'visit' does not fit: street is"):
        run(tasks, "visit", {"street": 7})


def test_a_handler_takes_members_of_the_payload_and_what_is_given() -> None:
    """What is given is no member, whatever the payload says."""
    tasks = fairlead.Tasks()
    tasks.lifespan(_yields_two)

    @tasks.handler
    async def mail(job: Job, to: str, client: Client = GIVEN, copies: int = 1) -> str:
        return f"{job.id} {to} {type(client).__name__} {copies}"

    assert "1 ann Client 1" == run(tasks, "mail", {"to": "ann"})
    assert "1 ann Client 2" == run(tasks, "mail", {"to": "ann", "copies": 2})
    assert {"to": "ann", "copies": 2} == mail.new_job("ann", copies=2).payload
    with pytest.raises(TypeError, match=r"'mail'\(to: str, copies: int = 1\): .* 'client'"):
        mail.new_job("ann", client=Client())
    with pytest.raises(InvalidPayload, match="payload of 'mail' does not fit: to is missing"):
        run(tasks, "mail", {"client": "forged"})


def test_who_forgets_to_ask_for_what_is_yielded_is_told_how() -> None:
    """A parameter without the default is a member of the payload, and no pool can be one."""
    tasks = fairlead.Tasks()
    tasks.lifespan(_yields_pool)

    @tasks.handler
    def sells(_job: Job, pool: Pool) -> None:
        raise AssertionError(pool)

    with pytest.raises(ValueError, match=r"types of 'sells' .*Pool.* with = fairlead\.GIVEN"):
        tasks.check()


def test_middleware_is_around_the_check_of_the_payload() -> None:
    """It sees what is wrong with a payload as it sees what a handler raises."""
    tasks, seen = fairlead.Tasks(), list[object]()

    @tasks.middleware
    def watching(job: Job, call_next: CallNext) -> JsonLike:
        seen.append(job.payload)
        try:
            return call_next(job)
        except InvalidPayload as error:
            seen.append(str(error).partition(":")[0])
            raise

    @tasks.handler
    def visit(job: Job[Address]) -> str:
        return job.payload.street

    assert "A 1" == run(tasks, "visit", {"street": "A 1"})
    with pytest.raises(InvalidPayload):
        run(tasks, "visit", {"street": 7})
    assert [{"street": "A 1"}, {"street": 7}, "payload of 'visit' does not fit"] == seen


def test_an_application_that_asks_for_what_is_not_there_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence names the file and the line of the handler."""
    (tmp_path / "shop_without.py").write_text(
        "import fairlead\n\ntasks = fairlead.Tasks()\n\n\n"
        "@tasks.handler\n"
        "def sell(job: fairlead.Job, price: int = fairlead.GIVEN) -> None: ...\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    with pytest.raises(AppError) as refused:
        load("shop_without:tasks")

    where = f"{tmp_path}/shop_without.py:6"
    said = f"cannot load app 'shop_without:tasks': 'sell', at {where}, asks for price: int, and"
    assert str(refused.value).startswith(said)


async def _no_yield() -> None: ...


def _wants_an_argument(_app: object) -> Iterator[None]:
    yield


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (_no_yield, "the lifespan _no_yield, at .+ has no yield"),
        (_wants_an_argument, "the lifespan _wants_an_argument, at .+ takes _app, and nothing"),
    ],
)
def test_what_is_no_lifespan_is_refused(
    function: Callable[[], Iterator[None]], sentence: str
) -> None:
    """At its decorator."""
    with pytest.raises(ValueError, match=sentence):
        fairlead.Tasks().lifespan(function)


def test_there_is_one_lifespan() -> None:
    """The sentence says where the first one is."""
    tasks = fairlead.Tasks()
    assert _yields_pool is tasks.lifespan(timeout=5)(_yields_pool)

    with pytest.raises(ValueError, match=rf"a lifespan already, at {__file__}:\d+: enter both"):
        tasks.lifespan(_yields_nothing)


def _with_middleware(said: list[str]) -> fairlead.Tasks:
    tasks = fairlead.Tasks()

    @tasks.middleware(same_sort_only=True)
    async def outer(job: Job, call_next: AsyncCallNext) -> JsonLike:
        said.append("outer")
        return ["outer", await call_next(job)]

    @tasks.middleware(same_sort_only=True)
    def plain(job: Job, call_next: CallNext) -> JsonLike:
        said.append("plain")
        return ["plain", call_next(job)]

    @tasks.middleware(same_sort_only=True)
    async def inner(job: Job, call_next: AsyncCallNext) -> JsonLike:
        said.append("inner")
        try:
            return await call_next(job)
        except LookupError:
            raise fairlead.Discard("found nothing") from None

    @tasks.handler("waits")
    async def waits(job: Job) -> JsonLike:
        said.append("waits")
        if job.tenant == "nobody":
            raise LookupError
        return job.tenant

    @tasks.handler("works", process=True)
    def works(job: Job) -> JsonLike:
        said.append("works")
        return job.tenant

    return tasks


def test_the_first_middleware_is_the_outermost_of_its_sort() -> None:
    """An async one is around async handlers, a plain one around plain ones."""
    said: list[str] = []
    tasks = _with_middleware(said)

    assert ["outer", "acme"] == run(tasks, "waits", tenant="acme")
    assert ["plain", "acme"] == run(tasks, "works", tenant="acme")
    assert ["outer", "inner", "waits", "plain", "works"] == said


def test_a_middleware_may_raise_what_a_handler_may() -> None:
    """And sees what the handler raises."""
    with pytest.raises(fairlead.Discard, match="found nothing"):
        run(_with_middleware([]), "waits", tenant="nobody")


def _takes_an_address(job: Job[Address]) -> str:
    return job.payload.street


def test_without_any_of_it_a_handler_is_itself() -> None:
    """So that an attempt costs nothing more; one of a known payload is held to that alone."""
    tasks = fairlead.Tasks()
    tasks.handler("plain")(lambda _job: None)
    tasks.handler("held")(_takes_an_address)

    wrapped = tasks.wrapped(None)

    assert tasks.handlers["plain"] is wrapped["plain"]
    assert _takes_an_address is getattr(wrapped["held"].run, "__wrapped__", None)


def test_a_middleware_that_would_leave_handlers_out_is_refused() -> None:
    """Whoever forgets the other sort would have no tenancy there, for example."""
    tasks = fairlead.Tasks()

    @tasks.middleware
    async def tenancy(job: Job, call_next: AsyncCallNext) -> JsonLike:
        return await call_next(job)

    @tasks.handler("resize")
    def resize(_job: Job) -> None: ...

    with pytest.raises(
        ValueError, match=r"middleware tenancy, at .+, is an async def, and 'resi"
    ):
        tasks.check()


def test_a_middleware_gets_what_the_lifespan_yields_too() -> None:
    """By type, as a handler does."""
    tasks = fairlead.Tasks()
    tasks.lifespan(_yields_two)

    @tasks.middleware
    def with_client(job: Job, call_next: CallNext, client: Client = GIVEN) -> JsonLike:
        return [type(client).__name__, call_next(job)]

    tasks.handler("asks")(_asks)

    assert ["Client", "OwnPool"] == run(tasks, "asks")


def test_a_lifespan_that_yields_something_else_than_it_says_is_refused() -> None:
    """Its parts are counted."""
    tasks = fairlead.Tasks()
    tasks.lifespan(_yields_two)
    tasks.handler("asks")(_asks)

    with pytest.raises(ValueError, match="says that it yields 2 parts, and yields 7"):
        run(tasks, "asks", context=7)
