"""Pages of Django's admin for jobs, schedules and tenants.

They show what Django's login may read, and change nothing but by the functions `cancel` and
`retry`, which check what is the login's. Who may open them, and who may cancel and run again,
is for Django's permissions to say: `fairlead.view_job`, `fairlead.cancel_job` and so on.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, connections, models, transaction
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from fairlead.connections import SyncConnection
from fairlead.db import statements
from fairlead.django.listing import PACKAGE, RowsAdmin, TextFilter, refusal
from fairlead.django.models import Job, Schedule, Tenant
from fairlead.errors import OverBacklog
from fairlead.job_control import Cancelling, cancel, retry

if TYPE_CHECKING:
    from django.contrib.auth.models import PermissionsMixin  # any model of users has it

_SHOWN_CHARACTERS_MAX = 20_000
_ID_HIGHEST = 2**63 - 1
_STATES = (
    "scheduled",
    "pending",
    "queued",
    "running",
    "succeeded",
    "failed",
    "cancelled",
    "expired",
)
_BECAME: Mapping[Cancelling, str] = {
    "cancelled": "cancelled",
    "requested": "asked to stop",
    "finished": "had ended before",
    "unknown": "unknown to this login",
}


class QueueFilter(TextFilter):
    """Of one queue."""

    title = parameter_name = "queue"


class TenantFilter(TextFilter):
    """Of one tenant."""

    title = parameter_name = "tenant"


class KindFilter(TextFilter):
    """Of one kind, which of a task of Django's is the dotted path of its function."""

    title = parameter_name = "kind"


class PoolFilter(TextFilter):
    """Of one pool."""

    title = parameter_name = "pool"


class StateFilter(admin.SimpleListFilter):
    """In one state."""

    title = parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: object) -> tuple[tuple[str, str], ...]:
        """Return the states that a job may have."""
        del request, model_admin
        return tuple((state, state) for state in _STATES)

    def queryset(self, request: HttpRequest, queryset: object) -> None:
        """Leave it to the list."""
        del request, queryset


class EnabledFilter(admin.SimpleListFilter):
    """Those that fire, or those that do not."""

    title = parameter_name = "enabled"

    def lookups(self, request: HttpRequest, model_admin: object) -> tuple[tuple[str, str], ...]:
        """Return the two."""
        del request, model_admin
        return (("true", "yes"), ("false", "no"))

    def queryset(self, request: HttpRequest, queryset: object) -> None:
        """Leave it to the list."""
        del request, queryset


@admin.register(Job)
class JobAdmin(RowsAdmin):
    """The newest jobs, each job, and what can be done with one."""

    statement = "newest_jobs"
    actions = ("cancel_jobs", "retry_jobs")
    list_display = (
        "id",
        "state",
        "kind",
        "tenant",
        "queue",
        "attempts",
        "priority",
        "created_at",
        "claimed_at",
        "finished_at",
        "error_line",
    )  # fmt: skip - a column a word
    list_filter = (StateFilter, QueueFilter, TenantFilter, KindFilter)
    search_fields = ("id", "tenant")
    search_help_text = (
        "A job's id, or a tenant. The list has the newest 1,000 jobs that match. It finds what "
        "is unfinished of a tenant and what failed, and looks at the newest 18,000 of others."
    )
    fields = readonly_fields = (
        "id",
        "state",
        "kind",
        "tenant",
        "queue",
        "priority",
        "attempts",
        "crashes",
        "losses",
        "created_at",
        "run_at",
        "expires_at",
        "runnable_at",
        "claimed_at",
        "deadline",
        "finished_at",
        "cancel_requested_at",
        "progress",
        "progress_note",
        "error_text",
        "payload_text",
        "result_text",
        "headers_text",
        "dedup_key",
        "worker",
        "retry_of",
        "enqueued_by",
    )  # fmt: skip - a field a word

    def rows(self, wanted: Mapping[str, str | None]) -> list[models.Model]:
        """Return the newest jobs, or the one whose id is searched for."""
        search = wanted["search"] or ""
        if search.isascii() and search.isdigit() and len(search) < 19:
            jobs = Job.objects.using(self.database).filter(pk=int(search))
            return [*jobs.order_by()]
        chosen = {name: wanted.get(name) for name in ("queue", "tenant", "kind", "state")}
        if search:
            chosen["tenant"] = search
        return self.read(chosen)

    @admin.display(description="attempts")
    def attempts(self, job: Job) -> str:
        """Show how many attempts there were, of how many."""
        return f"{job.attempt} of {job.max_attempts}"

    @admin.display(description="error")
    def error_line(self, job: Job) -> str:
        """Show the first line of the latest error."""
        return (job.error or "").partition("\n")[0][:100]

    @admin.display(description="error")
    def error_text(self, job: Job) -> SafeString:
        """Show the latest error."""
        return _preformatted(job.error or "")

    @admin.display(description="payload")
    def payload_text(self, job: Job) -> SafeString:
        """Show the payload."""
        return _as_json(job.payload)

    @admin.display(description="result")
    def result_text(self, job: Job) -> SafeString:
        """Show what the handler returned."""
        return _as_json(job.result)

    @admin.display(description="headers")
    def headers_text(self, job: Job) -> SafeString:
        """Show the headers."""
        return _as_json(job.headers)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        """Tell whether Django lets this user cancel jobs."""
        return _user(request).has_perm("fairlead.cancel_job")

    def has_retry_permission(self, request: HttpRequest) -> bool:
        """Tell whether Django lets this user run jobs again."""
        return _user(request).has_perm("fairlead.retry_job")

    @admin.action(permissions=["cancel"], description="Cancel selected jobs")
    def cancel_jobs(self, request: HttpRequest, queryset: "models.QuerySet[Job]") -> None:
        """Cancel jobs, all in one transaction, and say what became of them."""
        try:
            with transaction.atomic(using=self.database):
                self._say_actor(request)
                became = cancel(self._connection, _selected(request, queryset))
        except DatabaseError as error:
            self._refused(request, error)
            return
        counts = Counter(_BECAME[each] for each in became.values())
        said = ", ".join(f"{count} {what}" for what, count in counts.items())
        self.message_user(request, f"Jobs: {said}.", messages.SUCCESS)

    @admin.action(permissions=["retry"], description="Run selected jobs again")
    def retry_jobs(self, request: HttpRequest, queryset: "models.QuerySet[Job]") -> None:
        """Run jobs again, each by itself, and say under which ids."""
        again: list[str] = []
        for job in _selected(request, queryset):
            try:
                with transaction.atomic(using=self.database):
                    self._say_actor(request)
                    new = retry(self._connection, job)
            except (DatabaseError, OverBacklog) as error:
                self._refused(request, error, job)
            else:
                again += [] if new is None else [str(new)]
        if again:
            self.message_user(request, f"Jobs run again: {', '.join(again)}.", messages.SUCCESS)

    @property
    def _connection(self) -> SyncConnection:
        return cast("SyncConnection", connections[self.database])

    def _say_actor(self, request: HttpRequest) -> None:
        """Have the audit log say who in Django it was."""
        text = statements.load(PACKAGE, "say_actor").decode()
        with connections[self.database].cursor() as cursor:
            cursor.execute(text, [request.user.get_username()])

    def _refused(
        self, request: HttpRequest, error: DatabaseError | OverBacklog, job: int | None = None
    ) -> None:
        """Say why the database refused.

        Raises:
            DatabaseError: it is no refusal.
        """
        said = refusal(error)
        if said is None:
            raise error
        of = "" if job is None else f"Job {job}: "
        self.message_user(request, f"{of}{said}", messages.ERROR)


@admin.register(Schedule)
class ScheduleAdmin(RowsAdmin):
    """The schedules, to look at."""

    statement = "first_schedules"
    actions = None
    list_display = (
        "name",
        "tenant",
        "cron",
        "timezone",
        "kind",
        "queue",
        "enabled",
        "last_fire",
        "problem",
    )  # fmt: skip - a column a word
    list_filter = (EnabledFilter,)
    search_fields = ("tenant",)
    search_help_text = "A tenant. The list has the first 1,000 schedules by tenant and name."
    fields = readonly_fields = (
        "name",
        "tenant",
        "cron",
        "timezone",
        "missed",
        "enabled",
        "queue",
        "kind",
        "priority",
        "max_attempts",
        "timeout",
        "expires_in",
        "payload_text",
        "created_at",
        "last_fire",
        "problem",
        "declared_by",
    )  # fmt: skip - a field a word

    def rows(self, wanted: Mapping[str, str | None]) -> list[models.Model]:
        """Return the first schedules, of all tenants or of one."""
        enabled = {"true": True, "false": False}.get(wanted.get("enabled") or "")
        return self.read({"tenant": wanted["search"] or None, "name": None, "enabled": enabled})

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> models.Model | None:
        """Return the schedule whose key this is, if it is there."""
        del request, from_field
        try:
            tenant, name = map(str, json.loads(object_id))
        except (TypeError, ValueError):
            return None
        if "\0" in tenant + name:
            return None
        found = self.read({"tenant": tenant, "name": name, "enabled": None})
        return next(iter(found), None)

    @admin.display(description="payload")
    def payload_text(self, schedule: Schedule) -> SafeString:
        """Show the payload."""
        return _as_json(schedule.payload)


@admin.register(Tenant)
class TenantAdmin(RowsAdmin):
    """What each tenant has, and what it is entitled to."""

    statement = "tenants"
    actions = None
    list_display = (
        "tenant",
        "pool",
        "queue",
        "weight",
        "shares",
        "lag",
        "running",
        "queued",
        "waits",
        "blocked_by",
        "at",
    )  # fmt: skip - a column a word
    list_display_links = None
    list_filter = (PoolFilter, QueueFilter)
    search_fields = ("tenant",)
    search_help_text = (
        "A tenant. The list is the leading scheduler's latest report: of each pool the 1,000 "
        "tenants that had most, those that are most behind first."
    )

    def rows(self, wanted: Mapping[str, str | None]) -> list[models.Model]:
        """Return the tenants of the report."""
        return self.read(
            {
                "pool": wanted.get("pool"),
                "queue": wanted.get("queue"),
                "tenant": wanted["search"] or None,
            }
        )

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> None:
        """Return none: the list has everything."""
        del request, object_id, from_field

    @admin.display(description="share, of entitled")
    def shares(self, tenant: Tenant) -> str:
        """Show which part of the pool it had, and which part it was entitled to."""
        return f"{tenant.share or 0:.1%} of {tenant.entitled_share or 0:.1%}"

    @admin.display(description="lag, slot-seconds")
    def lag(self, tenant: Tenant) -> str:
        """Show what it had beyond that: below zero it is behind."""
        return f"{tenant.lag_slot_seconds or 0:+.1f}"

    @admin.display(description="oldest wait, s")
    def waits(self, tenant: Tenant) -> str:
        """Show how long its oldest job has been waiting."""
        return f"{tenant.oldest_wait_seconds or 0:.1f}"


def _selected(request: HttpRequest, listed: "models.QuerySet[Job]") -> list[int]:
    """Return the jobs that were ticked, or all that were listed, in the order of their ids.

    What was ticked may have left the list since, which newer jobs fill.

    Raises:
        PermissionDenied: the form has what is no id.
    """
    if request.POST.get("select_across") == "1":
        return sorted(listed.values_list("pk", flat=True))
    try:
        jobs = sorted({int(each) for each in request.POST.getlist("_selected_action")})
    except ValueError as error:
        raise PermissionDenied from error
    if any(abs(each) > _ID_HIGHEST for each in jobs):
        raise PermissionDenied
    return jobs


def _user(request: HttpRequest) -> "PermissionsMixin":
    return cast("PermissionsMixin", request.user)


def _as_json(value: Any) -> SafeString:  # noqa: ANN401 - it is whatever JSON has
    return _preformatted(json.dumps(value, indent=2, ensure_ascii=False))


def _preformatted(text: str) -> SafeString:
    """Return text as a paragraph of HTML in which nothing but line breaks has a meaning."""
    more = len(text) > _SHOWN_CHARACTERS_MAX
    shown = f"{text[:_SHOWN_CHARACTERS_MAX]}\n…" if more else text
    return format_html("<pre>{}</pre>", shown)
