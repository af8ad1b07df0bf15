"""What a page can change: who may, that the page itself asked for it, and what came of it.

A request that changes something is a POST of a person who may act. It has to come from a page
of this console: by the browser's own word (`Sec-Fetch-Site`, else `Origin`), and by a token
that only such a page shows. The token is made from what every replica knows, so none keeps it.
"""

import hashlib
import hmac
import secrets
from datetime import timedelta
from functools import partial
from time import time
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from fairlead.db.connect import Address, conninfo
from fairlead.inspection import formats
from fairlead.inspection.formats import ID_MAX
from fairlead_console.pages.bulk import Run
from fairlead_console.reads import many
from fairlead_console.reads.acts import Acts, Verb
from fairlead_console.settings import ConsoleSettings
from fairlead_console.web.access import MAY_ACT, PERSON

_BODY_MAX: Final = 8192
_HOURS_VALID = 12
_REASON_MAX = 500
_PRIORITY_MAX = 100
_PAUSE_MAX = timedelta(days=366)
_STEP_SECONDS = 1.0
"""For how long a step of what is done to many jobs goes on."""
_HERE = "somebody at this machine's console"
"""Who acts where nobody logs in."""

SAID: Final = {
    "cancelled": "The job is cancelled.",
    "requested": "The job runs, and was asked to stop.",
    "finished": "The job had ended before.",
    "unknown": "There is no such job any more.",
    "retried": "The job runs again.",
    "changed": "The job has its new priority.",
    "unchanged": "The job had that priority before.",
    "running": "The job runs, and keeps its priority.",
    "paused": "It is paused: nothing of it starts until its end, or until it is resumed.",
    "resumed": "It goes on.",
    "was-not": "It was not paused.",
    "disabled": "The schedule is disabled: it fires no more until somebody enables it.",
    "enabled": "The schedule is enabled.",
    "ran": "This is the schedule's job. When the schedule fires next has not changed.",
    "no-schedule": "There is no such schedule any more.",
    "policy-stored": "It is stored. The scheduler puts it in force within two seconds.",
    "policy-same": "Nothing was stored: this version says the same.",
}
"""What a page says of what was done, by the word in its address."""


class Acting:
    """Serves what changes something.

    Args:
        settings: Who may act, and by which login.
    """

    def __init__(self, settings: ConsoleSettings) -> None:
        self._settings = settings
        self._address = settings.operator_address()
        self._alone = secrets.token_bytes(32)

    def routes(self) -> list[Route]:
        """Return where it is asked for."""
        return [
            Route("/jobs/{id:int}/cancel", self.cancel, methods=["POST"]),
            Route("/jobs/{id:int}/retry", self.retry, methods=["POST"]),
            Route("/jobs/{id:int}/priority", self.set_priority, methods=["POST"]),
            Route("/queues/pause", self.pause, methods=["POST"]),
            Route("/queues/resume", self.resume, methods=["POST"]),
            Route("/schedules/disable", self.disable, methods=["POST"]),
            Route("/schedules/enable", self.enable, methods=["POST"]),
            Route("/schedules/run", self.run, methods=["POST"]),
        ]

    def offer(self, request: Request) -> str | None:
        """Return the token for the forms of a page; None: this person may not act."""
        return self._token(request, _hour()) if self._may(request) else None

    async def cancel(self, request: Request) -> Response:
        """Cancel a job."""
        form = await self.form(request)
        number = _job(request)
        answer = await self._do("cancel", {"id": number}, request, form)
        return _back(f"/jobs/{number}", str(answer))

    async def retry(self, request: Request) -> Response:
        """Run a job again, and lead to the one that does."""
        form = await self.form(request)
        answer = await self._do("retry", {"id": _job(request)}, request, form)
        if answer is None:
            return _back(f"/jobs/{_job(request)}", "unknown")
        return _back(f"/jobs/{answer}", "retried")

    async def set_priority(self, request: Request) -> Response:
        """Give a job that waits another priority."""
        form = await self.form(request)
        number, priority = _job(request), _priority(form.get("priority", ""))
        values: dict[str, object] = {"id": number, "priority": priority}
        answer = await self._do("set_priority", values, request, form)
        return _back(f"/jobs/{number}", str(answer))

    async def pause(self, request: Request) -> Response:
        """Pause a queue or a tenant in it; whoever finds it paused wants a reason."""
        form = await self.form(request)
        if not form.get("queue") or not form.get("reason", "").strip():
            raise HTTPException(400, "Say which queue, and why")
        lasts = _lasts(form.get("lasts", ""))
        values: dict[str, object] = {
            "queue": form["queue"],
            "tenant": form.get("tenant") or None,
            "lasts": lasts,
        }
        await self._do("pause", values, request, form)
        return _back("/queues", "paused")

    async def resume(self, request: Request) -> Response:
        """End a pause."""
        form = await self.form(request)
        values: dict[str, object] = {
            "queue": form.get("queue", ""),
            "tenant": form.get("tenant"),
        }
        was = await self._do("resume", values, request, form)
        return _back("/queues", "resumed" if was else "was-not")

    async def disable(self, request: Request) -> Response:
        """Disable a schedule; a reason is wanted, for whoever misses what it makes."""
        form = await self.form(request)
        if not form.get("reason", "").strip():
            raise HTTPException(400, "Say why")
        return await self._switch(request, form, enabled=False)

    async def enable(self, request: Request) -> Response:
        """Enable a schedule; its policy decides on the fires that it missed."""
        return await self._switch(request, await self.form(request), enabled=True)

    async def run(self, request: Request) -> Response:
        """Insert a schedule's job now, and lead to it."""
        form = await self.form(request)
        job = await self._do("run_schedule", _schedule(form), request, form)
        if job is None:
            return _back("/schedules", "no-schedule")
        return _back(f"/jobs/{job}", "ran")

    async def _switch(
        self, request: Request, form: dict[str, str], *, enabled: bool
    ) -> Response:
        values = {**_schedule(form), "enabled": enabled}
        found = await self._do("switch_schedule", values, request, form)
        word = "enabled" if enabled else "disabled"
        return _back("/schedules", word if found else "no-schedule")

    async def go_on(self, run: Run, request: Request) -> Run:
        """Do some of what a form of somebody who may act asks for; return how far it is."""
        assert self._address is not None
        do = partial(many.go_on, self._address, run, actor=_actor(request))
        return await run_in_threadpool(do, seconds=_STEP_SECONDS)

    def _may(self, request: Request) -> bool:
        return self._address is not None and bool(request.scope[MAY_ACT])

    async def form(self, request: Request, *, most: int = _BODY_MAX) -> dict[str, str]:
        """Return the fields of a request that may change something, of so many bytes at most.

        Raises:
            HTTPException: it may not.
        """
        if not self._may(request):
            raise HTTPException(403, "You may look, and not change anything")
        if not _is_from_here(request):
            raise HTTPException(403, "This was not asked for by a page of this console")
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise HTTPException(413, "That is too long")
        text = body.decode("utf-8", "replace")
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=20)
        form = {name: values[-1].replace("\0", "") for name, values in fields.items()}
        if not self._is_known(request, form.get("token", "")):
            raise HTTPException(403, "The page was too old: load it again")
        return form

    async def _do(
        self, verb: Verb, values: dict[str, object], request: Request, form: dict[str, str]
    ) -> object:
        assert self._address is not None
        acts = Acts(self._address)
        actor = _actor(request)
        reason = form.get("reason", "").strip()[:_REASON_MAX]
        return await run_in_threadpool(acts.do, verb, values, actor=actor, reason=reason)

    @property
    def login(self) -> Address:
        """Where the database is for somebody who may act."""
        assert self._address is not None
        return self._address

    def actor(self, request: Request) -> str:
        """Return the name of who asks, for the audit log."""
        return _actor(request)

    def seal(self, request: Request, seen: tuple[str, ...]) -> str:
        """Return what says that this person has seen something, now."""
        return self._token(request, _hour(), seen)

    def is_sealed(self, request: Request, seen: tuple[str, ...], given: str) -> bool:
        """Tell whether this person has seen it within two hours."""
        return self._is_known(request, given, seen, hours=2)

    def _token(self, request: Request, hour: int, seen: tuple[str, ...] = ()) -> str:
        """Return the token of a person for an hour, and for what they have seen."""
        assert self._address is not None
        key = self._alone
        if not self._settings.is_open:
            key = hashlib.sha256(
                b"fairlead console " + conninfo(self._address).encode()
            ).digest()
        said = "\0".join((request.scope[PERSON], str(hour), *seen)).encode()
        return hmac.new(key, said, hashlib.sha256).hexdigest()

    def _is_known(
        self,
        request: Request,
        token: str,
        seen: tuple[str, ...] = (),
        *,
        hours: int = _HOURS_VALID,
    ) -> bool:
        given = token.encode("utf-8", "replace")
        now = _hour()
        return any(
            hmac.compare_digest(given, self._token(request, now - ago, seen).encode())
            for ago in range(hours)
        )


def _actor(request: Request) -> str:
    return request.scope[PERSON] or _HERE


def _hour() -> int:
    return int(time() // 3600)


def _is_from_here(request: Request) -> bool:
    """Tell whether the browser says that a page of this address asks."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc == request.headers.get("host")


def _schedule(form: dict[str, str]) -> dict[str, object]:
    return {"tenant": form.get("tenant", ""), "name": form.get("name", "")}


def _job(request: Request) -> int:
    return min(int(request.path_params["id"]), ID_MAX)


def _priority(said: str) -> int:
    """Return the priority that a form asks for.

    Raises:
        HTTPException: no job may have it.
    """
    digits = said.strip().removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 3):
        raise HTTPException(400, "Priority: a whole number, -100 to 100")
    priority = int(said)
    if abs(priority) > _PRIORITY_MAX:
        raise HTTPException(400, "Priority: a whole number, -100 to 100")
    return priority


def _lasts(said: str) -> timedelta | None:
    """Return how long a pause is to last; None: until somebody resumes it.

    Raises:
        HTTPException: it is no such time.
    """
    if not said.strip():
        return None
    try:
        lasts = formats.duration(said)
    except ValueError as error:
        raise HTTPException(400, f"For how long: {error}") from None
    if not timedelta(seconds=1) <= lasts <= _PAUSE_MAX:
        raise HTTPException(400, f"For how long: 1 s to {_PAUSE_MAX.days} days")
    return lasts


def _back(path: str, word: str) -> Response:
    return RedirectResponse(f"{path}?done={quote(word)}", 303)
