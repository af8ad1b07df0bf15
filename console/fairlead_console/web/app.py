"""The application: routes to screens, inside of what guards them."""

import psycopg
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from fairlead.db.connect import Unreachable
from fairlead.inspection.formats import ID_MAX
from fairlead_console.reads.sessions import Busy, Unusable
from fairlead_console.screens import job, jobs, overview, tenants
from fairlead_console.screens.source import Source
from fairlead_console.settings import ConsoleSettings
from fairlead_console.web import changes
from fairlead_console.web.access import Access
from fairlead_console.web.acting import SAID, Acting
from fairlead_console.web.answers import Fresh, Guarded, Pages
from fairlead_console.web.bulk import Bulk
from fairlead_console.web.policy_edit import PolicyEditor
from fairlead_console.web.records import Records

_KNOWN = (HTTPException, Unreachable, Unusable, Busy, psycopg.Error, Exception)


class Console:
    """The screens as they are asked for; what changes something is `acting`'s alone.

    Args:
        settings: Of this console.
        source: Where it reads.
    """

    def __init__(self, settings: ConsoleSettings, source: Source) -> None:
        self._settings = settings
        self._source = source
        self._pages = Pages()
        self._acting = Acting(settings)

    def app(self) -> ASGIApp:
        """Return the application; its guards are outside of what answers for mistakes."""
        inner = Starlette(
            routes=self.routes(), exception_handlers=dict.fromkeys(_KNOWN, self.wrong)
        )
        fresh = Fresh(inner, self._source.memo.forget)
        return Guarded(Access(fresh, self._settings))

    def routes(self) -> list[BaseRoute]:
        """Return every address that is answered."""
        return [
            Route("/", self.overview),
            Route("/jobs", self.jobs),
            Route("/jobs/find", self.find),
            Route("/jobs/{id:int}", self.job),
            Route("/tenants", self.tenants),
            *Records(self._source, self._pages, self._acting).routes(),
            *self._acting.routes(),
            *Bulk(self._source, self._pages, self._acting).routes(),
            *PolicyEditor(
                self._source, self._pages, self._acting, self._settings.release
            ).routes(),
            Route("/changes", self.changes),
            Mount("/static", StaticFiles(packages=[("fairlead_console.web", "static")])),
        ]

    def overview(self, request: Request) -> Response:
        """Answer with what needs attention first."""
        page = overview.read(self._source)
        return self._pages.render(request, "overview.html", section="overview", page=page)

    def jobs(self, request: Request) -> Response:
        """Answer with the newest jobs that pass the filters."""
        page = jobs.read(self._source, jobs.asked(request.query_params))
        token = self._acting.offer(request)
        return self._pages.render(request, "jobs.html", section="jobs", page=page, token=token)

    def find(self, request: Request) -> Response:
        """Lead to the job of the number that was typed, or to the list."""
        said = request.query_params.get("id", "").strip().removeprefix("#")
        if said.isascii() and said.isdigit() and 0 < int(said[:20]) <= ID_MAX:
            return RedirectResponse(f"/jobs/{int(said)}", 303)
        return RedirectResponse("/jobs", 303)

    def job(self, request: Request) -> Response:
        """Answer with one job."""
        number = int(request.path_params["id"])
        page = job.read(self._source, number) if number <= ID_MAX else None
        if page is None:
            values = {"section": "jobs", "number": number}
            return self._pages.render(request, "unknown_job.html", status=404, **values)
        payloads = self._settings.console_payloads
        return self._pages.render(
            request,
            "job.html",
            section="jobs",
            page=page,
            payloads=payloads,
            token=self._acting.offer(request),
            done=SAID.get(request.query_params.get("done", "")),
        )

    def tenants(self, request: Request) -> Response:
        """Answer with the shares of tenants."""
        queue = jobs.asked(request.query_params).queue
        page = tenants.read(self._source, queue)
        return self._pages.render(request, "tenants.html", section="tenants", page=page)

    async def changes(self, _request: Request) -> Response:
        """Answer with the stream of changes."""
        return changes.stream(self._source.pulse)

    async def wrong(self, request: Request, error: Exception) -> Response:
        """Answer with what is wrong, in a sentence."""
        return self._pages.wrong(request, error)
