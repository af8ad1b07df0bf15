"""Handlers are registered by kind, and a wrong registration is refused with a sentence."""

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

import fairlead
from fairlead.tasks import AppError, load


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
    function: Callable[[fairlead.Job], object], runs_on: str
) -> None:
    """`async def` runs on the loop, `def` in a thread, and in a process when asked."""
    tasks = fairlead.Tasks()

    tasks.handler("work")(function)
    tasks.handler("apart", process=True)(_works)

    assert [runs_on, "process"] == [each.runs_on for each in tasks.handlers.values()]


def test_a_decorated_function_is_returned_unchanged() -> None:
    """An application can call its own handlers."""
    tasks = fairlead.Tasks()

    assert _works is tasks.handler("work", timeout=timedelta(minutes=1), concurrency=2)(_works)
    assert 60.0 == tasks.handlers["work"].timeout_seconds
    assert 2 == tasks.handlers["work"].concurrency


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
        ("broken_app:tasks", "cannot load app 'broken_app:tasks': ZeroDivisionError"),
    ],
)
def test_an_application_that_cannot_be_loaded_is_named_in_a_sentence(
    app: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is wrong with `--app` is said, without a traceback."""
    (tmp_path / "broken_app.py").write_text('"""Fail."""\n1 / 0\n')
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    with pytest.raises(AppError, match=sentence):
        load(app)


def test_an_application_is_found_by_module_and_attribute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`module:attribute` may name an attribute of an attribute."""
    source = "import fairlead\nclass App:\n    tasks = fairlead.Tasks()\n"
    (tmp_path / "found_app.py").write_text(source)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    found = load("found_app:App.tasks")

    assert sys.modules["found_app"].App.tasks is found
