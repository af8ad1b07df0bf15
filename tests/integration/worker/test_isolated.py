"""Handlers that run in a process of their own, where starting one is not easy."""

from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.integration.worker.test_outcomes import ends
from tests.support.dispatching import insert

pytestmark = pytest.mark.any_server


@pytest.mark.usefixtures("running")
def test_a_process_is_started_in_the_folder_of_its_worker(db: Connection[TupleRow]) -> None:
    """A handler that goes elsewhere does not hide the application from the next process."""
    assert "succeeded" == ends(db, insert(db, "wanders", "/"))[0]

    result = ends(db, insert(db, "where_apart"))[1]

    assert isinstance(result, dict)
    assert str(Path.cwd()) == result["folder"]


@pytest.mark.usefixtures("running")
def test_a_process_that_cannot_be_started_costs_neither_an_attempt_nor_a_slot(
    db: Connection[TupleRow],
) -> None:
    """It is the machine's fault and not the job's, which is put off a little."""
    python = ends(db, insert(db, "misplaces", "/nowhere/python"))[1]
    refused = [ends(db, insert(db, "where_apart")) for _ in range(3)]
    assert "succeeded" == ends(db, insert(db, "misplaces", python))[0]

    error = "no process could be started for its handler: No such file or directory"
    assert [("scheduled", None, error, 0)] * 3 == refused
    assert "succeeded" == ends(db, insert(db, "where_apart"))[0]
