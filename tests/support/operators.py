"""People at the console in tests: an operator, a reader, and what they ask for."""

import base64
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from httpx2 import Response
from starlette.testclient import TestClient

from tests.support.consoles import browsing
from tests.support.logins import as_login, login

LOGINS: Final = "ada:secret one\ngrace:secret two"
OPERATOR: Final = ("ada", "secret one")
READER: Final = ("grace", "secret two")
SAME: Final[Mapping[str, str]] = {"Sec-Fetch-Site": "same-origin"}
"""What a browser says of a request that a page of the console makes."""


@contextmanager
def staffed(url: str, operator_login: str) -> Generator[TestClient]:
    """Yield a client of a console with an operator and a reader, each login its own."""
    with (
        login(url, "fairlead_viewer") as viewer,
        browsing(
            as_login(url, viewer),
            console_logins=LOGINS,
            console_operators="ada",
            console_operator_url=as_login(url, operator_login),
        ) as found,
    ):
        yield found


def known(who: tuple[str, str] | None) -> dict[str, str]:
    """Return the header by which somebody logs in."""
    if who is None:
        return {}
    said = base64.b64encode(":".join(who).encode()).decode()
    return {"Authorization": f"Basic {said}"}


def token(client: TestClient, path: str, who: tuple[str, str] | None) -> str:
    """Return the token that a page shows to somebody; empty: it shows none."""
    page = client.get(path, headers=known(who))
    assert 200 == page.status_code
    found = re.search('name="token" value="([0-9a-f]+)"', page.text)
    return found[1] if found else ""


def post(
    client: TestClient,
    path: str,
    who: tuple[str, str] | None = OPERATOR,
    headers: Mapping[str, str] = SAME,
    **fields: str,
) -> Response:
    """Ask for a change."""
    return client.post(
        path, data=fields, headers={**headers, **known(who)}, follow_redirects=False
    )
