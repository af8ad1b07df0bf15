"""What the tidy tests share."""

from collections.abc import Iterator

import pytest

from tests.support import tree


@pytest.fixture(scope="session", autouse=True)
def _trees() -> Iterator[None]:
    """Forget the syntax trees before pytest collects its garbage at the end."""
    yield
    tree.module.cache_clear()
