"""The policy's editor: check a text, simulate it, and then apply it, on one page.

Each is a POST of the same form. What was simulated is sealed for whoever had it simulated: only
that text, over the version that was the newest then, can be applied.
"""

from dataclasses import dataclass, replace
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from fairlead_console.pages import drafts, manifests
from fairlead_console.pages.drafts import Draft, Senseless
from fairlead_console.pages.manifests import Manifest
from fairlead_console.pages.predictions import Prediction, prediction
from fairlead_console.reads import policy_store
from fairlead_console.reads.policy_store import NotStored, Superseded
from fairlead_console.reads.simulator import NoSimulation, Simulating
from fairlead_console.screens import policy_edit
from fairlead_console.screens.policy_edit import Checked, EditPage
from fairlead_console.screens.source import Source
from fairlead_console.web.acting import Acting
from fairlead_console.web.answers import Pages

_BODY_MAX: Final = 2 << 20
"""A document of 256 KiB as a form has it: each end of a line is six bytes then."""
_MAY_NOT = "You may look, and not change anything"
_BUSY = "Another simulation is under way in this console: try again when it has ended."
_UNSEEN = (
    "Nothing was applied: this text was not simulated by you within the last two hours. "
    "Simulate it, and look at what it does."
)
_STALE = "Nothing was applied."
_NO_REASON = "Nothing was applied: say why."
_NOT_AN_ADMINISTRATOR = (
    "The login by which people act in this console may not store a policy: only a member of "
    f"{policy_store.ROLE} may. Store it with `fairlead policy apply`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What came of what was asked for."""

    said: str = ""
    """What is wrong, in sentences."""
    seal: str = ""
    """That the draft was simulated; empty: it cannot be applied now."""
    prediction: Prediction | None = None
    unpredicted: str = ""
    """Why there was nothing to predict."""
    manifest: Manifest | None = None
    """What to give to Kubernetes, where the policy is edited there."""
    cannot: str = ""
    """Why this console can apply nothing."""


_NOTHING = _Outcome()


class PolicyEditor:
    """Answers with the editor, and stores what it shows.

    Args:
        source: Where it reads.
        pages: What renders the page.
        acting: Who may change something, and by which login.
        release: For whom policies are stored.
    """

    def __init__(self, source: Source, pages: Pages, acting: Acting, release: str) -> None:
        self._source = source
        self._pages = pages
        self._acting = acting
        self._release = release

    def routes(self) -> list[Route]:
        """Return where it is."""
        return [Route("/policy/edit", self.edit, methods=["GET", "POST"])]

    async def edit(self, request: Request) -> Response:
        """Show a draft; check, simulate or apply one that was sent."""
        if request.method != "POST":
            return await run_in_threadpool(self._begin, request)
        form = await self._acting.form(request, most=_BODY_MAX)
        try:
            draft = drafts.asked(form)
        except Senseless as error:
            raise HTTPException(400, str(error)) from None
        step, seal = form.get("step"), form.get("seal", "")
        if step == "apply":
            return await run_in_threadpool(self._apply, request, draft, seal)
        does = self._simulate if step == "simulate" else self._check
        return await run_in_threadpool(does, request, draft)

    def _begin(self, request: Request) -> Response:
        if self._acting.offer(request) is None:
            raise HTTPException(403, _MAY_NOT)
        page = policy_edit.begin(self._source, drafts.version(request.query_params))
        if page is None:
            raise HTTPException(404)
        return self._answer(request, page)

    def _check(self, request: Request, draft: Draft) -> Response:
        return self._answer(request, policy_edit.check(self._source, draft))

    def _simulate(self, request: Request, draft: Draft) -> Response:
        """Simulate a draft that is a policy, and seal it for who has seen what it does."""
        page = policy_edit.check(self._source, draft)
        if not isinstance(page.result, Checked):
            return self._answer(request, page)
        try:
            found = self._source.simulator.simulate(draft.document, draft.pool, draft.slots)
        except Simulating:
            return self._refuse(request, page, _BUSY)
        except NoSimulation as error:
            return self._refuse(request, page, f"It could not be simulated: {error}.")
        shown = None if found.report is None else prediction(found.report)
        outcome = _Outcome(prediction=shown, unpredicted=found.said)
        return self._answer(request, page, self._sealed(request, page, outcome))

    def _sealed(self, request: Request, page: EditPage, outcome: _Outcome) -> _Outcome:
        """Return an outcome with how the draft is applied, over the newest version."""
        newest = page.newest.version if page.newest else 0
        seal = self._acting.seal(request, replace(page.draft, base=newest).seen)
        if page.source.is_configmap:
            patch = manifests.manifest(page.draft.document, page.source.place)
            return replace(outcome, seal=seal, manifest=patch)
        may = policy_store.may_store(self._acting.login)
        return replace(outcome, seal=seal, cannot="" if may else _NOT_AN_ADMINISTRATOR)

    def _apply(self, request: Request, draft: Draft, seal: str) -> Response:
        """Store a draft that was simulated, over the version that its author has seen."""
        page = policy_edit.check(self._source, draft)
        if page.is_stale:
            return self._refuse(request, page, _STALE)
        if not self._acting.is_sealed(request, draft.seen, seal):
            return self._refuse(request, page, _UNSEEN)
        if not draft.reason:
            again = self._sealed(request, page, _Outcome(said=_NO_REASON))
            return self._answer(request, page, again, status=400)
        try:
            stored = policy_store.store(
                self._acting.login,
                draft.document,
                base=draft.base,
                release=self._release,
                actor=self._acting.actor(request),
                reason=policy_edit.reason(self._source, draft),
            )
        except Superseded:
            return self._refuse(request, policy_edit.check(self._source, draft), _STALE)
        except NotStored as error:
            return self._refuse(request, page, f"Nothing was applied: {error}.")
        word = "policy-stored" if stored.new else "policy-same"
        return RedirectResponse(f"/policy?version={stored.version}&done={word}", 303)

    def _refuse(self, request: Request, page: EditPage, said: str) -> Response:
        return self._answer(request, page, _Outcome(said=said), status=409)

    def _answer(
        self,
        request: Request,
        page: EditPage,
        outcome: _Outcome = _NOTHING,
        *,
        status: int = 200,
    ) -> Response:
        """Render the page; whoever goes on from it has seen the newest version."""
        return self._pages.render(
            request,
            "policy_edit.html",
            status=status,
            section="policy",
            page=page,
            outcome=outcome,
            token=self._acting.offer(request),
        )
