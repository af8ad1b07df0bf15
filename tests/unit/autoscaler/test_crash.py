"""A thread of the autoscaler that ends by an error is reported to the code that started it."""

import threading

import pytest

from fairlead_autoscaler.crash import Crashed, ending_on_thread_failure
from tests.support.logged import Lines


def broken() -> None:
    """End by an error."""
    raise AssertionError("unexpected")


def run(*names: str, over: threading.Event) -> None:
    """Have threads of these names fail, one after the other."""
    with ending_on_thread_failure(over.set):
        for name in names:
            thread = threading.Thread(target=broken, name=name)
            thread.start()
            thread.join(10)


def test_a_thread_that_fails_ends_the_block(logged: Lines) -> None:
    """The first one counts; each error is in the log, with where it came from."""
    over = threading.Event()
    with pytest.raises(Crashed, match="the first"):
        run("the first", "the second", over=over)
    said = logged()

    assert over.is_set()
    assert [("thread.failed", "the first"), ("thread.failed", "the second")] == [
        (each["event"], each["thread"]) for each in said
    ]
    assert "in broken" in str(said[0]["exception"])


def test_a_block_whose_threads_end_well_ends_well() -> None:
    """And what was there before counts again."""
    before, over = threading.excepthook, threading.Event()
    run(over=over)

    assert not over.is_set()
    assert before is threading.excepthook


def test_an_error_of_the_block_goes_before() -> None:
    """It is the error that the caller expects; the hook is removed all the same."""
    before = threading.excepthook

    def fail() -> None:
        with ending_on_thread_failure(lambda: None):
            thread = threading.Thread(target=broken)
            thread.start()
            thread.join(10)
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    assert before is threading.excepthook
