"""Run programs of the Django project for tests."""

import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

from tests.support.tree import SOURCES

_PROGRAMS = [sys.executable, "-m", "tests.support.django_site.programs"]


def environment(url: str, **settings: object) -> dict[str, str]:
    """Return the environment of a program of the project over this database."""
    return {
        **os.environ,
        "FAIRLEAD_DATABASE_URL": url,
        "PYTHONPATH": SOURCES,
        "SITE_SETTINGS": json.dumps(settings),
    }


def run(url: str, program: str, *arguments: str, **settings: object) -> Any:  # noqa: ANN401 - whatever JSON has
    """Run a program to its end and return what it printed.

    It is a new interpreter where it has settings of its own, else a fork of one that has loaded
    the project.
    """
    if settings:
        return _run_anew(url, program, *arguments, **settings)
    loaded = _loaded()
    assert loaded.stdin is not None
    assert loaded.stdout is not None
    loaded.stdin.write(json.dumps([url, program, *arguments]) + "\n")
    loaded.stdin.flush()
    how, value = json.loads(loaded.stdout.readline())
    assert "returned" == how, value
    return value


def _run_anew(url: str, *words: str, **settings: object) -> Any:  # noqa: ANN401 - whatever JSON has
    done = subprocess.run(
        [*_PROGRAMS, *words],
        env=environment(url, **settings),
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


@cache
def _loaded() -> subprocess.Popen[str]:
    """Return the process that has loaded the project; it ends when this one does."""
    return subprocess.Popen(
        _PROGRAMS,
        env=environment("dbname=nowhere"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
