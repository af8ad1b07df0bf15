"""What several of the chart's tests share."""

from collections.abc import Iterator

import pytest

from tests.support import real_api
from tests.support.real_api import Api


@pytest.fixture(scope="session")
def api() -> Iterator[Api]:
    """Run an API server; who wants it belongs into the group `api`, so that there is one."""
    with real_api.running() as started:
        yield started
