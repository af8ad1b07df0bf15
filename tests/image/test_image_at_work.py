"""The image's programs at their work, in containers that may do nothing else."""

import json
import sys
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support import images, tree
from tests.support.waiting import until

if why := images.missing():
    pytest.skip(why, allow_module_level=True)
if sys.platform != "linux":
    pytest.skip("a container reaches this server on Linux", allow_module_level=True)

SUCCEEDED = "SELECT result->>'said' FROM fairlead.job_history WHERE outcome = 'succeeded'"
WORKER = ("fairlead-worker", "--app", "examples.plain.jobs:tasks", "--concurrency", "2")


def test_a_scheduler_and_a_worker_run_a_job_and_stop_when_asked(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """A job that SQL inserts runs in a container; SIGTERM to its process 1 ends it well."""
    beside = (
        "--network=host",
        f"--env=FAIRLEAD_DATABASE_URL={database_url}",
        f"--volume={tree.ROOT / 'examples'}:/app/examples:ro",
    )
    db.execute("INSERT INTO fairlead.jobs (kind, tenant) VALUES ('greet', 'acme')")
    with (
        images.container(*beside, command=("fairlead-scheduler",)) as scheduler,
        images.container(*beside, command=WORKER) as worker,
    ):
        said = until(
            lambda: db.execute(SUCCEEDED).fetchone(),
            what=f"the job's end, by {scheduler} and {worker}",
            seconds=60,
        )
        images.docker("stop", "--time=40", worker, scheduler)
        codes = [
            json.loads(images.docker("inspect", each, "--format={{json .State.ExitCode}}"))
            for each in (worker, scheduler)
        ]

    assert ("hello, acme",) == said
    assert [0, 0] == codes


@pytest.mark.timeout(400)
def test_the_pages_dockerfile_puts_an_application_on_top(tmp_path: Path) -> None:
    """What the how-to tells a reader to build is built, and its handlers are found."""
    page = tree.text(Path("docs/how-to/build-an-image.md"))
    (tmp_path / "Dockerfile").write_text(page.split("```Dockerfile\n")[1].split("```")[0])
    (tmp_path / "requirements.txt").write_text("# nothing more\n")
    (tmp_path / "myapp").mkdir()
    (tmp_path / "myapp" / "jobs.py").write_text("import fairlead\n\ntasks = fairlead.Tasks()\n")

    built = images.docker(
        "build",
        "--quiet",
        f"--build-arg=FAIRLEAD={images.the_image()}",
        str(tmp_path),
        seconds=300,
    ).strip()
    found = images.docker(
        "run",
        "--rm",
        *images.LOCKED_DOWN,
        built,
        "python",
        "-c",
        "import myapp.jobs as m; print(m.tasks)",
    )
    images.docker("image", "rm", "--force", built)

    assert "Tasks" in found
