"""Who may look: everybody on this machine's own address, elsewhere who has signed in.

That is who knows a login, or who a proxy says it is (`trusted_proxy`).

On loopback without logins a page of another site must not read the console through a name that
it points there (DNS rebinding), so only loopback's names are answered.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from fairlead_console.settings import LOOPBACK, ConsoleSettings
from fairlead_console.web.trusted_proxy import Person, TrustedProxy

_ASK = {"WWW-Authenticate": 'Basic realm="Fairlead", charset="UTF-8"'}


PERSON = "fairlead.person"
"""Where a request's scope says who asks: a name; empty: whoever is here."""
MAY_ACT = "fairlead.may_act"
"""Where it says whether they are an operator."""


class BadLogins(Exception):
    """The logins cannot be read; the message is one sentence for people."""


class Access:
    """Lets requests through to an application, or refuses them.

    Args:
        app: The application.
        settings: Who may come in.
    """

    def __init__(self, app: ASGIApp, settings: ConsoleSettings) -> None:
        self._app = app
        self._settings = settings
        self._proxy = TrustedProxy(settings) if settings.console_user_header else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        found = self._who(scope)
        if isinstance(found, Person):
            scope[PERSON], scope[MAY_ACT] = found.name, found.may_act
            await self._app(scope, receive, send)
        else:
            await found(scope, receive, send)

    def _who(self, scope: Scope) -> Person | PlainTextResponse:
        """Return who asks, or the refusal."""
        headers = Headers(scope=scope)
        if self._proxy is not None:
            peer = scope.get("client")
            return self._proxy.who(headers, None if peer is None else str(peer[0]))
        if refusal := self._refusal(headers):
            return refusal
        if self._settings.is_open:
            return Person("", may_act=True)
        name = _name(headers)
        return Person(name, may_act=name in self._settings.operators)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        if self._settings.is_open:
            if host_of(headers.get("host", "")) in LOOPBACK:
                return None
            said = f"This console answers to {', '.join(LOOPBACK)} only.\n"
            return PlainTextResponse(said, 400)
        try:
            known = logins(self._settings)
        except BadLogins as error:
            return PlainTextResponse(f"{error}\n", 503)
        given = _given(headers.get("authorization", ""))
        if given is not None and _is_one_of(given, known):
            return None
        return PlainTextResponse("Log in to see this.\n", 401, _ASK)


def host_of(header: str) -> str:
    """Return the name in a Host header, without its port and brackets."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


def logins(settings: ConsoleSettings) -> tuple[str, ...]:
    """Return the lines `name:password`.

    Raises:
        BadLogins: with one sentence that says what is wrong.
    """
    file = settings.console_logins_file
    if file is None:
        text, where = settings.console_logins, "FAIRLEAD_CONSOLE_LOGINS"
    else:
        where = f"FAIRLEAD_CONSOLE_LOGINS_FILE: {file}"
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise BadLogins(f"{where} cannot be read: {why}") from None
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not lines or not all(_is_login(line) for line in lines):
        raise BadLogins(f"{where} needs lines of name:password, and at least one")
    return lines


def _is_login(line: str) -> bool:
    name, _, password = line.partition(":")
    return bool(name) and bool(password)


def _name(headers: Headers) -> str:
    """Return the name that was given; it is right where the request was not refused."""
    return (_given(headers.get("authorization", "")) or "").partition(":")[0]


def _given(authorization: str) -> str | None:
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeError):
        return None


def _is_one_of(given: str, known: Iterable[str]) -> bool:
    """Compare with every login, in a time that tells nothing of which one it is like."""
    found = False
    for each in known:
        found |= _is_same(given, each)
    return found


def _is_same(given: str, known: str) -> bool:
    return hmac.compare_digest(
        *(hashlib.sha256(each.encode()).digest() for each in (given, known))
    )
