"""`fairlead dev --reload` runs what was saved last, and waits where that does not run."""

import psycopg
import pytest

from tests.support.dev import project, running_dev
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

APP = """
import fairlead
tasks = fairlead.Tasks()
@tasks.handler("k")
def k(job): return "{said}"
"""
RESULT = "SELECT result FROM fairlead.job_history ORDER BY finished_at DESC LIMIT 1"


def answer(url: str) -> object:
    """Insert a job, and return the result of the one that has ended last."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")
        row = connection.execute(RESULT).fetchone()
    return row[0] if row else None


@pytest.mark.long
def test_a_save_starts_the_workers_anew_and_a_bad_one_waits_for_the_next() -> None:
    """Code that does not load ends neither the fleet nor its watching."""
    with project() as folder:
        app = folder / "devapp.py"
        app.write_text(APP.format(said="first"))
        with running_dev("--reload", within=folder) as dev:
            until(lambda: answer(dev.url) == "first", what="the first code", seconds=40)

            app.write_text(APP.format(said="second"))
            until(lambda: answer(dev.url) == "second", what="the second code", seconds=40)
            app.write_text("def k(:\n")
            until(
                lambda: "a save starts it again" in dev.said.read_text(),
                what="the end of a worker that cannot load it",
                seconds=40,
            )
            app.write_text(APP.format(said="third"))
            until(lambda: answer(dev.url) == "third", what="the third code", seconds=40)
        said = dev.said.read_text()

    assert "devapp.py was saved: the workers start anew" in said
    assert "ended with exit code 0" not in said


def test_a_worker_that_cannot_load_its_first_code_waits_for_a_save() -> None:
    """As it does later; without --reload the command ends."""
    with project() as folder:
        app = folder / "devapp.py"
        app.write_text("import nothing_of_that_name\n")
        with running_dev("--reload", within=folder) as dev:
            until(
                lambda: "a save starts it again" in dev.said.read_text(),
                what="the end of a worker that cannot load it",
                seconds=40,
            )
            app.write_text(APP.format(said="first"))

            until(lambda: answer(dev.url) == "first", what="the first code", seconds=40)
