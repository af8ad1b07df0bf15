"""Run programs of the Django project for tests."""

import json
import os
import subprocess
import sys
from typing import Any

from tests.support.tree import SOURCES


def environment(url: str, **settings: object) -> dict[str, str]:
    """Return the environment of a program of the project over this database."""
    return {
        **os.environ,
        "FAIRLEAD_DATABASE_URL": url,
        "PYTHONPATH": SOURCES,
        "SITE_SETTINGS": json.dumps(settings),
    }


def run(url: str, program: str, *arguments: str, **settings: object) -> Any:  # noqa: ANN401 - whatever JSON has
    """Run a program to its end and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.django_site.programs", program, *arguments],
        env=environment(url, **settings),
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)
