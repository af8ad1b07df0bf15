"""Children are forked from a template, whose end harms nobody."""

import os
import signal
import sys
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev import process_table
from fairlead_worker.child import template
from tests.chaos import fleet as programs
from tests.chaos.fleet import Fleet, Program
from tests.support.dispatching import dispatch_all
from tests.support.late_template import FORKED_VARIABLE
from tests.support.waiting import until
from tests.support.worker_children import children_of

pytestmark = [
    pytest.mark.any_server,
    pytest.mark.skipif(sys.platform != "linux", reason="there is a template on Linux only"),
]


def test_every_child_is_forked_and_is_the_workers_own(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """The first ones too, and those of quarantine."""
    worker = fleet.worker(concurrency=2)
    (child,) = children_of(worker.pid)
    (poison,) = fleet.insert("poison", 0)
    dispatch_all(db)
    fleet.wait_until_done(60)

    ran = {each.pid for each in fleet.events() if each.job == poison}
    assert child in ran
    assert len(ran) > 1
    assert {template.NAME, template.CHILD_NAME} == names(worker)


def test_children_outlive_their_template_and_the_next_one_starts_without_it(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """A job goes on that ran when the template was killed."""
    worker = fleet.worker(concurrency=2)
    (child,) = children_of(worker.pid)
    (held,) = fleet.insert("held", 0)
    dispatch_all(db)
    until(lambda: fleet.started((child,)), what="a start")

    kill_template(worker)
    until(lambda: worker.said("template.ended"), what="the parent's notice")
    fleet.release()
    fleet.wait_until_done(20)
    assert {(held, child)} == {(each.job, each.pid) for each in fleet.events()}

    os.kill(child, signal.SIGKILL)
    (nap,) = fleet.insert("nap", 1)
    dispatch_all(db)
    fleet.wait_until_done(20)
    assert child not in {each.pid for each in fleet.events() if each.job == nap}


def test_a_template_that_does_not_answer_is_replaced_by_a_new_interpreter(
    fleet: Fleet, db: Connection[TupleRow]
) -> None:
    """The parent waits for a second, and not for ever."""
    worker = fleet.worker(concurrency=2)
    (child,) = children_of(worker.pid)
    (frozen,) = templates(worker)
    os.kill(frozen, signal.SIGSTOP)

    os.kill(child, signal.SIGKILL)
    (nap,) = fleet.insert("nap", 1)
    dispatch_all(db)
    fleet.wait_until_done(20)

    assert frozen not in process_table.living()
    assert child not in {each.pid for each in fleet.events() if each.job == nap}


def test_a_child_of_which_the_template_says_nothing_ends_and_is_nobodys(
    database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """It was forked, and the parent did not wait any longer for the answer."""
    forked = tmp_path / "forked"
    with programs.fleet(database_url, tmp_path, {FORKED_VARIABLE: str(forked)}) as fleet:
        worker = fleet.start(
            "worker",
            "tests.support.late_template_worker",
            *("--app", "tests.chaos.app:tasks", "--concurrency", "2"),
        )
        until(lambda: worker.said("child.ready"), what="a child that may claim", seconds=60)
        late = int(forked.read_text())
        until(lambda: late not in process_table.living(), what="the end of the late child")

        (nap,) = fleet.insert("nap", 1)
        dispatch_all(db)
        fleet.wait_until_done(30)

        (child,) = children_of(worker.pid)
        assert {(nap, child)} == {(each.job, each.pid) for each in fleet.events()}
        assert late != child


def names(worker: Program) -> set[str]:
    """Return the names of a worker's children."""
    found = process_table.living().values()
    return {each.name for each in found if each.parent == worker.pid}


def templates(worker: Program) -> tuple[int, ...]:
    """Return the ids of its template."""
    return tuple(sorted({*process_table.children(worker.pid)} - {*children_of(worker.pid)}))


def kill_template(worker: Program) -> None:
    """Kill its template."""
    (pid,) = templates(worker)
    os.kill(pid, signal.SIGKILL)
