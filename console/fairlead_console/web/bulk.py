"""What changes many jobs at once: shown first, then done in steps that a page asks for."""

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairlead_console.pages import bulk as words
from fairlead_console.pages.bulk import Alike, Senseless, Verb
from fairlead_console.screens import bulk
from fairlead_console.screens.source import Source
from fairlead_console.web.acting import Acting
from fairlead_console.web.answers import Pages


class Bulk:
    """Answers with what would be done to many jobs, and does it.

    Args:
        source: Where it reads.
        pages: What renders them.
        acting: Who may change something, and by which login.
    """

    def __init__(self, source: Source, pages: Pages, acting: Acting) -> None:
        self._source = source
        self._pages = pages
        self._acting = acting

    def routes(self) -> list[Route]:
        """Return where they are."""
        return [
            Route("/jobs/all/cancel", self.cancel, methods=["GET", "POST"]),
            Route("/jobs/all/retry", self.retry, methods=["GET", "POST"]),
        ]

    async def cancel(self, request: Request) -> Response:
        """Cancel the unfinished jobs that are alike."""
        return await self._answer(request, "cancel")

    async def retry(self, request: Request) -> Response:
        """Run the failed jobs of a queue again."""
        return await self._answer(request, "retry")

    async def _answer(self, request: Request, verb: Verb) -> Response:
        try:
            if request.method == "POST":
                return await self._step(request, verb)
            return await run_in_threadpool(self._preview, request, verb)
        except Senseless as error:
            raise HTTPException(400, str(error)) from None

    def _preview(self, request: Request, verb: Verb) -> Response:
        token = self._acting.offer(request)
        if token is None:
            raise HTTPException(403, "You may look, and not change anything")
        alike = Alike.of(request.query_params)
        if refusal := alike.refusal(verb):
            raise Senseless(refusal)
        page = bulk.read(self._source, verb, alike)
        return self._pages.render(
            request, "bulk.html", section="jobs", page=page, run=None, token=token
        )

    async def _step(self, request: Request, verb: Verb) -> Response:
        """Do some of it, and answer with how far it has come.

        The answer asks for the next step by itself. No address does, so that a link can make
        nobody's browser do anything.
        """
        form = await self._acting.form(request)
        run = await self._acting.go_on(words.asked(verb, form), request)
        token = self._acting.offer(request)
        return self._pages.render(
            request, "bulk.html", section="jobs", page=run, run=run, token=token
        )
