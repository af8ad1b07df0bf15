"""A console with an operator and a reader."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.support.logins import login
from tests.support.operators import staffed


@pytest.fixture
def operator_roles() -> tuple[str, ...]:
    """Return of what the login is a member by which people act."""
    return ("fairlead_operator",)


@pytest.fixture
def operator_login(database_url: str, operator_roles: tuple[str, ...]) -> Iterator[str]:
    """Yield a login that is a member of these roles and of nothing else."""
    with login(database_url, *operator_roles) as name:
        yield name


@pytest.fixture
def client(database_url: str, operator_login: str) -> Iterator[TestClient]:
    """Yield a client of a console with an operator and a reader, each login its own."""
    with staffed(database_url, operator_login) as found:
        yield found
