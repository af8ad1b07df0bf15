"""Pages from templates, the headers of every answer, and what is said of what is wrong."""

from collections.abc import Callable
from importlib import resources
from typing import cast

import jinja2
import psycopg
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairlead.db.connect import Unreachable
from fairlead_console.pages import words
from fairlead_console.reads.sessions import STATEMENT_SECONDS, Busy, Unusable

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Pages:
    """Renders the templates; what stands in a value is text and never markup."""

    def __init__(self) -> None:
        folder = resources.files("fairlead_console.web").joinpath("templates")
        self._templates = jinja2.Environment(
            loader=jinja2.FunctionLoader(lambda name: folder.joinpath(name).read_text("utf-8")),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        filters = cast("dict[str, Callable[..., str]]", self._templates.filters)
        filters.update(words.FILTERS)
        for file in folder.iterdir():  # compiled now, and not while somebody waits for a page
            self._templates.get_template(file.name)

    def render(
        self, request: Request, name: str, *, status: int = 200, **values: object
    ) -> HTMLResponse:
        """Return a page; it knows its own address, for its refreshes."""
        url = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        text = self._templates.get_template(name).render(url=url, **values)
        return HTMLResponse(text, status)

    def wrong(self, request: Request, error: Exception) -> HTMLResponse:
        """Return the page that says in a sentence what is wrong."""
        status, title, said = _told(error)
        values = {"section": "", "title": title, "said": said}
        return self.render(request, "wrong.html", status=status, **values)


_REFUSED = 403
_AWAY = "This page comes back by itself when the database does."
_SLOW = f"The database took longer than {STATEMENT_SECONDS} s to answer, so this was stopped."
_BUSY = "Every session of the console is taken. Try again in a moment."
_GONE = "There is no such page, or what it showed is gone."


def _told(error: Exception) -> tuple[int, str, str]:
    if isinstance(error, HTTPException):
        told = (404, "Not found", _GONE) if error.status_code == 404 else None
        return told or (error.status_code, "Refused", f"{error.detail}.")
    return (503, *_of_the_database(error)) if isinstance(error, _OF_THE_DATABASE) else _MISTAKE


_OF_THE_DATABASE = (Unreachable, Unusable, Busy, psycopg.Error)
_MISTAKE = (500, "A mistake of the console", "Its log says what happened.")


def _of_the_database(error: Exception) -> tuple[str, str]:
    match error:
        case Unreachable():
            return "The database is away", f"{error}. {_AWAY}"
        case Unusable():
            return "Nothing can be shown", f"{error}."
        case Busy():
            return "The console is busy", _BUSY
        case psycopg.errors.QueryCanceled() | psycopg.errors.LockNotAvailable():
            return "The database is slow", _SLOW
        case _:
            said = " ".join(str(error).split())
            return "The database refused", f"It says: {said}."


class Fresh:
    """Has every page read anew after a request that may have changed something.

    One that is refused has changed nothing: who may only look has nothing read oftener by it.

    Args:
        app: What answers.
        forget: Drops what is kept of pages; called before the answer is sent.
    """

    def __init__(self, app: ASGIApp, forget: Callable[[], None]) -> None:
        self._app = app
        self._forget = forget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return

        async def send_after(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] != _REFUSED:
                self._forget()
            await send(message)

        await self._app(scope, receive, send_after)


class Guarded:
    """Adds the headers that keep a page to itself to every answer of an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_guarded)
