"""The screens that list: queues, failures, schedules, decisions, policies, the audit log."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairlead.inspection.formats import ID_MAX
from fairlead_console.screens import audit, autoscaler, failures, policy, queues, schedules
from fairlead_console.screens.source import Source
from fairlead_console.web.acting import SAID, Acting
from fairlead_console.web.answers import Pages

_TEXT_MAX = 256


class Records:
    """Answers with these screens.

    Args:
        source: Where it reads.
        pages: What renders them.
        acting: Who may change something.
    """

    def __init__(self, source: Source, pages: Pages, acting: Acting) -> None:
        self._source = source
        self._pages = pages
        self._acting = acting

    def routes(self) -> list[Route]:
        """Return where they are."""
        return [
            Route("/queues", self.queues),
            Route("/failures", self.failures),
            Route("/schedules", self.schedules),
            Route("/autoscaler", self.autoscaler),
            Route("/policy", self.policy),
            Route("/audit", self.audit),
        ]

    def queues(self, request: Request) -> Response:
        """Answer with queues behind a name, and with workers."""
        page = queues.read(self._source, _text(request, "after"))
        done = SAID.get(request.query_params.get("done", ""))
        return self._render(request, page, token=self._acting.offer(request), done=done)

    def failures(self, request: Request) -> Response:
        """Answer with what failed of late."""
        page = failures.read(self._source, failures.asked(request.query_params.get("within")))
        return self._render(request, page, windows=failures.WINDOWS)

    def schedules(self, request: Request) -> Response:
        """Answer with schedules behind a tenant and a name."""
        name = _text(request, "after")
        after = None if name is None else (_text(request, "tenant") or "", name)
        page = schedules.read(self._source, after)
        done = SAID.get(request.query_params.get("done", ""))
        return self._render(request, page, token=self._acting.offer(request), done=done)

    def autoscaler(self, request: Request) -> Response:
        """Answer with how many pods each pool has, and why."""
        return self._render(request, autoscaler.read(self._source))

    def policy(self, request: Request) -> Response:
        """Answer with a version of the policy, and the history before one."""
        version, before = (_number(request, name) for name in ("version", "before"))
        page = policy.read(self._source, version, before)
        may_edit = self._acting.offer(request) is not None
        done = SAID.get(request.query_params.get("done", ""))
        return self._render(request, page, may_edit=may_edit, done=done)

    def audit(self, request: Request) -> Response:
        """Answer with a page of the audit log."""
        return self._render(
            request, audit.read(self._source, audit.asked(request.query_params))
        )

    def _render(self, request: Request, page: object, **values: object) -> Response:
        section = request.url.path.removeprefix("/")
        values = {"section": section, "page": page, **values}
        return self._pages.render(request, f"{section}.html", status=200, **values)


def _text(request: Request, name: str) -> str | None:
    said = request.query_params.get(name, "").replace("\0", "")[:_TEXT_MAX]
    return said or None


def _number(request: Request, name: str) -> int | None:
    said = request.query_params.get(name, "")
    if not said.isascii() or not said.isdigit() or len(said) > 19:
        return None
    return min(int(said), ID_MAX)
