"""What several of the chart's tests share."""

from collections.abc import Iterator

import pytest

from tests.support import real_api
from tests.support.real_api import Api


@pytest.fixture(scope="session")
def api() -> Iterator[Api]:
    """Run an API server; tests that use it belong to the group `api`, so that one is shared."""
    with real_api.running() as started:
        yield started
