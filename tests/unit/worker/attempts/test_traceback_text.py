"""The text of an error: types, messages and frames of it and of its causes, and no values."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import fairlead
from fairlead.errors import InvalidPayload
from fairlead.inspection import error_chain
from fairlead.job import Job
from fairlead.payload_types import PayloadType
from fairlead_worker.attempts import outcome
from fairlead_worker.attempts.traceback_text import ERROR_BYTES_MAX, describe

HERE = __file__
CANARY = "canary-payload-5d1c"


def raised(error: BaseException) -> BaseException:
    """Return the error with a traceback."""
    try:
        raise error  # noqa: TRY301 - the point is the traceback
    except BaseException as caught:  # noqa: BLE001 - the test is about whatever is raised
        return caught


def of(call: Callable[[], object]) -> BaseException:
    """Return what a call raises."""
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever it is
        call()
    return caught.value


def price_of(article: str) -> int:
    """Fail because of another error."""
    prices = {"known": 7}
    try:
        return prices[article]
    except KeyError as error:
        raise LookupError("no price") from error


def confirm(secret: str) -> int:
    """Fail while an error is handled."""
    copy = [secret]
    try:
        return price_of("unknown") + len(copy)
    except LookupError:
        raise fairlead.Retry("later")  # noqa: B904 - that is the point


def test_causes_are_shown_with_their_frames_and_the_lines_of_source() -> None:
    """The one that ended the attempt comes first, and no value of a variable is shown."""
    lines = describe(of(lambda: confirm(CANARY))).split("\n")

    shown = [
        line.strip().removeprefix(f"{HERE}:").lstrip("0123456789").strip() for line in lines
    ]
    expected = [
        "Retry: later",
        "in of",
        "call()",
        "in <lambda>",
        'lines = describe(of(lambda: confirm(CANARY))).split("\\n")',
        "in confirm",
        'raise fairlead.Retry("later")  # noqa: B904 - that is the point',
        "while handling LookupError: no price",
        "in confirm",
        'return price_of("unknown") + len(copy)',
        "in price_of",
        'raise LookupError("no price") from error',
        "caused by KeyError: 'unknown'",
        "in price_of",
        "return prices[article]",
    ]
    assert expected == shown
    assert CANARY not in "\n".join(lines)


def test_a_group_shows_what_it_is_of() -> None:
    """A task group says of itself only how many of its tasks have failed."""

    async def fail(article: str) -> None:
        price_of(article)

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail("one"))
            group.create_task(fail("two"))

    links = error_chain.read(describe(of(lambda: asyncio.run(both()))))

    said = [(link["link"], link["error"]) for link in links]
    assert [
        (None, "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)"),
        ("among them", "LookupError: no price"),
        ("caused by", "KeyError: 'one'"),
        ("among them", "LookupError: no price"),
        ("caused by", "KeyError: 'two'"),
    ] == said
    assert "fail" in [frame["function"] for frame in links[1]["frames"]]


def test_of_a_cause_only_the_first_line_of_its_message_is_shown() -> None:
    """What follows it in an error of the database quotes the row."""
    error = ValueError("not booked")
    error.__cause__ = raised(LookupError(f"duplicate key\nDETAIL:  Key (to)=({CANARY})"))

    text = describe(raised(error))

    assert "\ncaused by LookupError: duplicate key\n" in text
    assert CANARY not in text


def test_a_cause_that_was_suppressed_is_not_shown() -> None:
    """`raise … from None` says so."""

    def hide() -> None:
        try:
            price_of("unknown")
        except LookupError:
            raise ValueError("no order") from None

    assert "LookupError" not in describe(of(hide))


def test_a_chain_without_end_ends() -> None:
    """The causes of an error may be a circle."""
    first, second = raised(ValueError("first")), raised(ValueError("second"))
    first.__cause__, second.__cause__ = second, first

    assert 1 == describe(first).count("caused by")


def test_a_long_chain_keeps_its_ends_and_fits() -> None:
    """The first errors, the last, and a mark between them."""
    error = raised(ValueError("ü" * 10_000))
    for number in range(200):
        outer = raised(ValueError(f"{number} {'x' * 10_000}"))
        outer.__cause__ = error
        error = outer

    text = describe(error)

    assert ERROR_BYTES_MAX >= len(text.encode())
    heads = [link["error"][:14] for link in error_chain.read(text)]
    assert [f"ValueError: {each}"[:14] for each in ("199", "198", "2", "1", "0", "üü")] == [
        head.rstrip() for head in heads
    ]
    assert "\n…\ncaused by" in text
    assert all(link["frames"] for link in error_chain.read(text))


def test_a_discarded_job_keeps_its_reason_and_says_what_caused_it() -> None:
    """The reason is for people, and the cause for whoever looks for it."""

    def give_up() -> None:
        try:
            price_of("unknown")
        except LookupError as error:
            raise fairlead.Discard("no such article") from error

    ending = outcome.from_error(of(give_up), None, 30.0)

    assert isinstance(ending, outcome.Finished)
    first, second, third = error_chain.read(ending.error)
    assert (None, "no such article", []) == (first["link"], first["error"], first["frames"])
    assert ("caused by", "LookupError: no price") == (second["link"], second["error"])
    assert "return prices[article]" == third["frames"][-1]["source"]


def test_the_frames_of_the_application_come_before_those_of_libraries(tmp_path: Path) -> None:
    """A library may call itself a hundred times between them; its lines have no source."""
    library = tmp_path / "site-packages" / "deep.py"
    library.parent.mkdir()
    library.write_text("def dive(n, call):\n    return dive(n - 1, call) if n else call()\n")
    scope: dict[str, Callable[[int, Callable[[], int]], int]] = {}
    exec(compile(library.read_text(), str(library), "exec"), scope)  # noqa: S102 - a library, as it were
    dive = scope["dive"]

    def inner() -> int:
        return dive(50, lambda: price_of("unknown"))

    (failed, *_) = error_chain.read(describe(of(lambda: dive(50, inner))))

    own = [frame["function"] for frame in failed["frames"] if frame["file"] == HERE]
    assert ["of", "<lambda>", "inner", "<lambda>", "price_of"] == own[-5:]
    assert [None] == [each["source"] for each in failed["frames"] if each["file"] != HERE]


def test_what_is_written_is_read_again_whatever_a_message_says() -> None:
    """A message may look like frames and causes; JSON has it as a message all the same."""
    message = "odd\n  shop.py:3 in x\n    y = 1\ncaused by Z: no\n  …\nend"

    (link,) = error_chain.read(describe(raised(ValueError(message))))

    assert f"ValueError: {message}" == link["error"]
    assert ["raised"] == [frame["function"] for frame in link["frames"]]
    assert json.dumps(link)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ValueError("x" * 100_000),
        lambda: ValueError("ü" * 100_000),
        lambda: ValueError("nul \0 and half \ud83d" * 3000),
    ],
)
def test_an_errors_text_is_bounded_and_storable(make: Callable[[], Exception]) -> None:
    """At most 4 KiB, no NUL, no half surrogate, and the frames stay."""
    text = describe(raised(make()))

    assert ERROR_BYTES_MAX >= len(text.encode())
    assert "\0" not in text
    assert "in raised" in text


def dig(depth: int) -> None:
    """Raise an error so many calls further down."""
    if depth == 0:
        raise ValueError("at the bottom")
    dig(depth - 1)


def dug(depth: int) -> list[str]:
    """Return the names of the functions in the text of an error from so deep down."""
    with pytest.raises(ValueError, match="bottom") as caught:
        dig(depth)
    lines = describe(caught.value).splitlines()[1:]
    return [line.rpartition(" in ")[2].strip() for line in lines if line[2] != " "]


def test_a_deep_error_shows_where_it_came_from_and_where_it_happened() -> None:
    """The first frame of the handler's own code stays, and the last five."""
    assert ["dug", "…", *["dig"] * 5] == dug(30)
    assert ["dug", *["dig"] * 5] == dug(4)


def test_frames_of_fairlead_before_the_handlers_own_are_left_out() -> None:
    """The reader of the error has written the handler, and not what calls it."""
    scope: dict[str, object] = {"__name__": "fairlead_worker.child.executor", "dig": dig}
    exec("def begin():\n    dig(1)", scope)  # noqa: S102 - a frame of Fairlead's, as it were
    begin = scope["begin"]
    assert callable(begin)
    with pytest.raises(ValueError, match="bottom") as caught:
        begin()
    of_fairlead = caught.value.with_traceback(caught.tb.tb_next)

    text = describe(of_fairlead)

    assert "in begin" not in text
    assert 2 == text.count("in dig")


def test_an_error_of_fairlead_alone_keeps_its_frames() -> None:
    """A bug of ours is shown with its place."""
    scope: dict[str, object] = {"__name__": "fairlead.job"}
    exec("def read():\n    raise ValueError('ours')", scope)  # noqa: S102 - a frame of Fairlead's
    read = scope["read"]
    assert callable(read)
    with pytest.raises(ValueError, match="ours") as caught:
        read()

    assert "in read" in describe(caught.value.with_traceback(caught.tb.tb_next))


def test_a_payload_that_does_not_fit_has_no_frames_of_fairlead() -> None:
    """How it was looked at says nothing of what is wrong with it."""
    with pytest.raises(InvalidPayload) as caught:
        PayloadType("mail", _mail).parse('{"to": 5}')

    text = describe(caught.value.with_traceback(caught.tb.tb_next))

    assert "InvalidPayload: payload of 'mail' does not fit" in text
    assert "\n" not in text


def _mail(_job: Job, to: str) -> None: ...


def test_long_paths_do_not_push_the_last_frames_out() -> None:
    """Each frame's line is bounded, and what is cut is the beginning of its path."""
    path = "/" + "/".join("ä" * 200 for _ in range(20)) + "/shop.py"
    scope: dict[str, object] = {"__name__": "shop"}
    exec(compile("def far(n):\n    far(n - 1) if n else 1 / 0", path, "exec"), scope)  # noqa: S102 - a path of any length
    far = scope["far"]
    assert callable(far)
    with pytest.raises(ZeroDivisionError) as caught:
        far(20)

    text = describe(caught.value)

    assert ERROR_BYTES_MAX >= len(text.encode())
    assert 5 <= text.count("/shop.py:2 in far")


def test_an_error_without_a_message_is_shown_all_the_same() -> None:
    """An exception's own code may fail too, and must not take the attempt's ending with it."""

    class UnprintableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe(raised(UnprintableError())).startswith(
        "test_an_error_without_a_message_is_shown_all_the_same.<locals>.UnprintableError: "
        "(its message cannot be read: RuntimeError)"
    )
