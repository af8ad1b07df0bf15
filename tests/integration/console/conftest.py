"""A console with an operator and a reader."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.support.logins import login
from tests.support.operators import staffed


@pytest.fixture
def operator_login(database_url: str) -> Iterator[str]:
    """Yield a login that is an operator's and nothing else."""
    with login(database_url, "fairlead_operator") as name:
        yield name


@pytest.fixture
def client(database_url: str, operator_login: str) -> Iterator[TestClient]:
    """Yield a client of a console with an operator and a reader, each login its own."""
    with staffed(database_url, operator_login) as found:
        yield found
