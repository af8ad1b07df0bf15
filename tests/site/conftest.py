"""The built site, once for all tests of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import tree


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built as `make docs` builds it: any warning fails it.

    `make test-docs` says where it has built it.
    """
    given = os.environ.get("FAIRLEAD_TEST_SITE")
    if given:
        return tree.ROOT / given
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--builder", "site", "--conf-dir", "docs/site"]
    ran = subprocess.run(
        [*command, "--fail-on-warning", "--keep-going", "--quiet", ".", str(built)],
        cwd=tree.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "") == (ran.returncode, ran.stderr)
    return built


def html(site: Path) -> list[Path]:
    """Return the pages of the site; the theme has templates beside its scripts."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
