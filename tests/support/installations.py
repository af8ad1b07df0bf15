"""A second installation of Fairlead, scraped beside an observed fleet."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from fairlead.policy_storage import store
from fairlead_cli.dev.fleet import Fleet, Program
from fairlead_cli.dev.ports import free_port
from fairlead_cli.dev.running import install
from tests.support.observed import schedule
from tests.support.observed.targets import JOB, NAMESPACE
from tests.support.observing import Watched
from tests.support.tree import SOURCES

_DATABASE = "second"
_STOP_SECONDS = 20.0


@contextmanager
def second_installation(fleet: Watched, folder: Path) -> Generator[Callable[[str], None]]:
    """Run a scheduler and an autoscaler over another database of the fleet's server.

    Prometheus scrapes both as if they were in the fleet's namespace. Yields what moves them to
    the namespace that it is given.
    """
    with fleet.connect() as db:
        db.execute(f"CREATE DATABASE {_DATABASE}")
    url = fleet.server.url_of(_DATABASE)
    install(url)
    with psycopg.connect(url, autocommit=True) as db:
        store(db, schedule.policy(0, 1, ""), author="test")
    ports = {"scheduler": free_port(), "autoscaler": free_port()}
    path = fleet.observed.pages / f"{_DATABASE}.json"

    def place(namespace: str) -> None:
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps([_target(namespace, *each) for each in ports.items()]))
        partial.replace(path)

    programs = Fleet(
        environment={
            "FAIRLEAD_DATABASE_URL": url,
            "FAIRLEAD_HEALTH_HOST": "127.0.0.1",
            "FAIRLEAD_LOG_FORMAT": "json",
            "PYTHONPATH": SOURCES,
        },
        say=lambda name, line: fleet.said.setdefault(name, []).append(line),
        folder=folder,
    )
    try:
        for each in _programs(ports, folder):
            programs.start(each)
        place(NAMESPACE)
        yield place
    finally:
        path.unlink(missing_ok=True)
        programs.end(programs.names(), seconds=_STOP_SECONDS)


def _programs(ports: dict[str, int], folder: Path) -> list[Program]:
    pages = {name: {"FAIRLEAD_HEALTH_PORT": str(port)} for name, port in ports.items()}
    flags = ("--targets", str(folder / "workers.json"), "--replicas", "0")
    return [
        Program("second-scheduler", "fairlead_scheduler.main", (), pages["scheduler"]),
        Program("second-autoscaler", "tests.support.observed.pods", flags, pages["autoscaler"]),
    ]


def _target(namespace: str, container: str, port: int) -> dict[str, object]:
    labels = {
        "namespace": namespace,
        "job": JOB,
        "pod": f"second-{container}",
        "container": container,
        "__pid": "0",
    }
    return {"targets": [f"127.0.0.1:{port}"], "labels": labels}
