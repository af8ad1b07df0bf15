"""Handlers are registered by kind, and a wrong registration is refused with a sentence."""

import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

import fairlead
from fairlead.application import AppError, load


async def _waits(_job: fairlead.Job) -> None:
    """Do nothing, on the loop."""


def _works(_job: fairlead.Job) -> None:
    """Do nothing, in a thread."""


class _Callable:
    """An object that is called like a coroutine function."""

    async def __call__(self, _job: fairlead.Job) -> None:
        """Do nothing, on the loop."""


@pytest.mark.parametrize(
    ("function", "runs_on"), [(_waits, "loop"), (_Callable(), "loop"), (_works, "thread")]
)
def test_what_a_function_is_says_where_it_runs(
    function: Callable[[fairlead.Job], Awaitable[None] | None], runs_on: str
) -> None:
    """`async def` runs on the loop, `def` in a thread, and in a process when asked."""
    tasks = fairlead.Tasks()

    tasks.handler("work")(function)
    tasks.handler("apart", process=True)(_works)

    assert [runs_on, "process"] == [each.runs_on for each in tasks.handlers.values()]


def test_a_decorated_function_is_called_as_before() -> None:
    """An application can call its own handlers."""
    tasks = fairlead.Tasks()

    task = tasks.handler("work", timeout=timedelta(minutes=1), concurrency=2)(_works)
    assert _works is task.function
    assert 60.0 == tasks.handlers["work"].timeout_seconds
    assert 2 == tasks.handlers["work"].concurrency


@pytest.mark.parametrize("limit", [0, -1, 1_000_001])
def test_a_limit_in_the_fleet_is_one_at_least(limit: int) -> None:
    """None is none, and a process may have its own beside it."""
    tasks = fairlead.Tasks()
    tasks.handler("x", concurrency=1, fleet_concurrency=3)(_works)
    tasks.handler("y")(_works)

    limits = [each.fleet_concurrency for each in tasks.handlers.values()]
    assert [3, None] == limits
    with pytest.raises(ValueError, match="fleet_concurrency of 'z' must be 1 to 1000000, not"):
        tasks.handler("z", fleet_concurrency=limit)(_works)


def test_a_function_names_its_kind_if_nothing_else_does() -> None:
    """With and without parentheses, and with other settings."""
    tasks = fairlead.Tasks()

    @tasks.handler
    def send(_job: fairlead.Job) -> int:
        return 1

    @tasks.handler()
    async def fetch(_job: fairlead.Job) -> None: ...

    tasks.handler(timeout=7)(_works)

    assert ["send", "fetch", "_works"] == [*tasks.handlers]
    assert send.function is tasks.handlers["send"].run
    assert ["thread", "loop", "thread"] == [each.runs_on for each in tasks.handlers.values()]
    assert 7 == tasks.handlers["_works"].timeout_seconds
    with pytest.raises(ValueError, match="'send' has a handler already"):
        tasks.handler(send)


def test_what_runs_at_most_once_has_one_attempt() -> None:
    """And nothing that says otherwise."""
    tasks = fairlead.Tasks()

    tasks.handler("pay", at_most_once=True)(_works)
    tasks.handler("again", at_most_once=True, max_attempts=1)(_works)

    assert [(1, True)] * 2 == [
        (each.max_attempts, each.at_most_once) for each in tasks.handlers.values()
    ]
    with pytest.raises(
        ValueError, match="'x' runs at most once: max_attempts must be 1, not 3"
    ):
        tasks.handler("x", at_most_once=True, max_attempts=3)(_works)
    with pytest.raises(ValueError, match="'x' runs at most once: it cannot be evictable"):
        tasks.handler("x", at_most_once=True, evictable=True)(_works)


def test_what_has_no_name_needs_a_kind() -> None:
    """The sentence shows how to give one."""
    nameless: list[Callable[[fairlead.Job], Awaitable[None] | None]]
    nameless = [lambda _job: None, _Callable(), partial(_works)]
    sentence = r'could be its kind: give one, as @tasks\.handler\("kind"\)'

    for run in nameless:
        with pytest.raises(ValueError, match=sentence):
            fairlead.Tasks().handler(run)


def _yields(_job: fairlead.Job) -> Iterator[int]:
    """Yield, which nobody reads."""
    yield 1


async def _yields_on_the_loop(_job: fairlead.Job) -> AsyncIterator[int]:
    """Yield, which nobody reads."""
    yield 1


class _Yields:
    """An object that is called like a generator."""

    def __call__(self, _job: fairlead.Job) -> Iterator[int]:
        """Yield, which nobody reads."""
        yield 1


@pytest.mark.parametrize("run", [_yields, _yields_on_the_loop, _Yields(), partial(_yields)])
def test_a_generator_is_refused(run: Callable[[fairlead.Job], None]) -> None:
    """Its body would never run: a call of it only makes the generator."""
    sentence = "'x' is a generator, and nobody reads what it yields: return the result, and"

    with pytest.raises(ValueError, match=sentence):
        fairlead.Tasks().handler("x")(run)


@pytest.mark.parametrize(
    ("kind", "timeout", "concurrency", "sentence"),
    [
        ("", None, None, "kind must be 1 to 128 bytes, not ''"),
        ("ü" * 65, None, None, "kind must be 1 to 128 bytes"),
        ("x", 0, None, "timeout of 'x' must be at least"),
        ("x", -1, None, "timeout of 'x' must be 0 to"),
        ("x", float("nan"), None, "timeout of 'x' must be 0 to"),
        ("x", timedelta(31), None, "timeout of 'x' must be 0 to"),
        ("x", None, 0, "concurrency of 'x' must be at least 1, not 0"),
        ("taken", None, None, "'taken' has a handler already, .*_waits: choose another kind"),
    ],
)
def test_a_wrong_registration_is_refused_with_a_sentence(
    kind: str, timeout: float | timedelta | None, concurrency: int | None, sentence: str
) -> None:
    """The sentence names the field, the value and the fix."""
    tasks = fairlead.Tasks()
    tasks.handler("taken")(_waits)

    with pytest.raises(ValueError, match=sentence):
        tasks.handler(kind, timeout=timeout, concurrency=concurrency)(_works)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"timeout": "30s"}, "timeout of 'x' is '30s': give seconds or a timedelta"),
        ({"backoff": "5m"}, "backoff of 'x' is '5m': give seconds or a timedelta"),
        ({"max_attempts": "3"}, "max_attempts of 'x' is '3': give a whole number"),
        ({"priority": 1.5}, "priority of 'x' is 1.5: give a whole number"),
        ({"fleet_concurrency": "2"}, "fleet_concurrency of 'x' is '2': give a whole number"),
    ],
)
def test_a_setting_of_another_type_is_refused_with_a_sentence(
    said: dict[str, object], sentence: str
) -> None:
    """It names the setting and the kind, which a caller without type checks has to be told."""
    with pytest.raises(TypeError, match=sentence):
        fairlead.Tasks().handler("x", **said)(_works)  # type: ignore[call-overload]  # that is tried


def test_a_method_is_refused() -> None:
    """Its `self` would be the job, and its job a member of the payload."""
    tasks = fairlead.Tasks()

    class Mailer:
        def send(self, job: fairlead.Job) -> None: ...

    with pytest.raises(ValueError, match="'send' is a method, and nobody has the object"):
        tasks.handler(Mailer.send)  # type: ignore[arg-type]  # that is tried
    tasks.handler("bound")(Mailer().send)


def test_a_coroutine_cannot_run_in_a_process_of_its_own() -> None:
    """`process=True` is for plain functions."""
    with pytest.raises(ValueError, match="'x' is async: only a plain def can run"):
        fairlead.Tasks().handler("x", process=True)(_waits)


def test_what_is_told_of_failures_is_a_plain_function() -> None:
    """It is called directly, and its coroutine would never be awaited."""

    async def report(_job: fairlead.Job, _error: BaseException, *, will_retry: bool) -> None:
        """Report nothing."""

    with pytest.raises(ValueError, match="on_error is async: give a plain def"):
        fairlead.Tasks(on_error=report)  # type: ignore[arg-type]  # it awaits to be awaited


@pytest.mark.parametrize(
    ("app", "sentence"),
    [
        ("myapp", "app must be module:attribute, like myapp.jobs:tasks, not 'myapp'"),
        (":tasks", "app must be module:attribute"),
        ("no_such_module:tasks", "cannot load app 'no_such_module:tasks': ModuleNotFoundError"),
        ("fairlead:no_such_name", "cannot load app 'fairlead:no_such_name': AttributeError"),
        ("fairlead:Tasks", "app 'fairlead:Tasks' is a type: name an object of fairlead.Tasks"),
    ],
)
def test_an_application_that_cannot_be_loaded_is_named_in_a_sentence(
    app: str, sentence: str
) -> None:
    """What is wrong with `--app` is said, without a traceback."""
    with pytest.raises(AppError, match=sentence):
        load(app)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero, at {}/broken_app.py:2"),
        (
            "import json\njson.loads('[')",
            "JSONDecodeError: Expecting value: .*, at {}/broken_app.py:3",
        ),
        (
            "import no_such_module",
            "ModuleNotFoundError: No module named 'no_such_module', at {}/broken_app.py:2",
        ),
        (
            "import broken_part",
            "NameError: name 'missing' is not defined, at {}/broken_part.py:1",
        ),
        ("def f(:", "SyntaxError: invalid syntax, at {}/broken_app.py:2"),
        ("import broken_syntax", "SyntaxError: invalid syntax, at {}/broken_syntax.py:3"),
        ("raise ValueError('one\\ntwo')", "ValueError: one two, at {}/broken_app.py:2"),
        ("raise SystemExit('set SHOP_URL')", "SystemExit: set SHOP_URL, at {}/broken_app.py:2"),
        (
            "import fairlead\ntasks = fairlead.Tasks()\ntasks.handler('')(print)",
            "ValueError: kind must be .*, at {}/broken_app.py:4",
        ),
        ("", "AttributeError: module 'broken_app' has no attribute 'tasks'$"),
    ],
)
def test_an_application_that_fails_to_import_is_named_with_file_and_line(
    source: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last line of the application's own code, and not of what it calls."""
    (tmp_path / "broken_app.py").write_text(f'"""Fail."""\n{source}\n')
    (tmp_path / "broken_part.py").write_text("missing\n")
    (tmp_path / "broken_syntax.py").write_text("\n\ndef f(:\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "broken_app", raising=False)

    with pytest.raises(AppError) as refused:
        load("broken_app:tasks")

    (said,) = str(refused.value).splitlines()
    words = sentence.format(re.escape(str(tmp_path)))
    assert re.match(f"cannot load app 'broken_app:tasks': {words}", said)


def test_an_application_is_found_by_module_and_attribute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`module:attribute` may name an attribute of an attribute."""
    source = "import fairlead\nclass App:\n    tasks = fairlead.Tasks()\n"
    (tmp_path / "found_app.py").write_text(source)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    found = load("found_app:App.tasks")

    assert sys.modules["found_app"].App.tasks is found
