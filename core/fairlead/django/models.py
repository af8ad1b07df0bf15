"""What the database says of jobs, schedules and tenants, as models that nothing writes.

Their tables are views and tables of Fairlead's schema, which `fairlead migrate` makes. A login
that may not read one is refused by the database. Ask for a job by its id: anything else would
look through all of them.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from django.db import models

# What a field takes and gives is for type checkers alone.
if TYPE_CHECKING:
    Text: TypeAlias = models.TextField[str, str]
    TextOrNull: TypeAlias = models.TextField[str | None, str | None]
    SmallInteger: TypeAlias = models.SmallIntegerField[int, int]
    Integer: TypeAlias = models.IntegerField[int, int]
    IntegerOrNull: TypeAlias = models.IntegerField[int | None, int | None]
    BigInteger: TypeAlias = models.BigIntegerField[int, int]
    BigIntegerOrNull: TypeAlias = models.BigIntegerField[int | None, int | None]
    FloatOrNull: TypeAlias = models.FloatField[float | None, float | None]
    Instant: TypeAlias = models.DateTimeField[datetime, datetime]
    InstantOrNull: TypeAlias = models.DateTimeField[datetime | None, datetime | None]
    DurationOrNull: TypeAlias = models.DurationField[timedelta | None, timedelta | None]
    Boolean: TypeAlias = models.BooleanField[bool, bool]
    Json: TypeAlias = models.JSONField[Any, Any]


class _Unlisted(models.Manager["Row"]):
    """Gives nothing, to whoever reads whole tables unasked, such as dumpdata."""

    def get_queryset(self) -> "models.QuerySet[Row]":
        """Return no rows."""
        return super().get_queryset().none()


class Row(models.Model):
    """A row of what Django neither makes nor changes."""

    unlisted = _Unlisted()  # the first is the default
    objects: "ClassVar[models.Manager[Any]]" = models.Manager()

    class Meta:
        """Nobody adds, changes or deletes anything."""

        abstract = True
        app_label = "fairlead"
        managed = False
        default_permissions = ("view",)


class Job(Row):
    """A job as it is, or as it ended: a row of the view `job_status`."""

    id: "BigInteger" = models.BigIntegerField(primary_key=True)
    state: "Text" = models.TextField()
    kind: "Text" = models.TextField()
    queue: "Text" = models.TextField()
    tenant: "Text" = models.TextField()
    priority: "SmallInteger" = models.SmallIntegerField()
    payload: "Json" = models.JSONField(null=True)
    headers: "Json" = models.JSONField(null=True)
    dedup_key: "TextOrNull" = models.TextField(null=True)
    attempt: "Integer" = models.IntegerField()
    max_attempts: "Integer" = models.IntegerField()
    crashes: "Integer" = models.IntegerField()
    losses: "Integer" = models.IntegerField()
    created_at: "Instant" = models.DateTimeField()
    run_at: "InstantOrNull" = models.DateTimeField(null=True)
    due_at: "InstantOrNull" = models.DateTimeField(null=True)
    expires_at: "InstantOrNull" = models.DateTimeField(null=True)
    runnable_at: "InstantOrNull" = models.DateTimeField(null=True)
    claimed_at: "InstantOrNull" = models.DateTimeField(null=True)
    deadline: "InstantOrNull" = models.DateTimeField(null=True)
    finished_at: "InstantOrNull" = models.DateTimeField(null=True)
    cancel_requested_at: "InstantOrNull" = models.DateTimeField(null=True)
    worker: "BigIntegerOrNull" = models.BigIntegerField(null=True)
    progress: "FloatOrNull" = models.FloatField(null=True)
    progress_note: "TextOrNull" = models.TextField(null=True)
    result: "Json" = models.JSONField(null=True)
    error: "TextOrNull" = models.TextField(null=True)
    retry_of: "BigIntegerOrNull" = models.BigIntegerField(null=True)
    enqueued_by: "TextOrNull" = models.TextField(null=True)

    class Meta(Row.Meta):
        """The quotes put it into its schema."""

        db_table = '"fairlead"."job_status"'
        permissions: ClassVar = [
            ("cancel_job", "Can cancel job"),
            ("retry_job", "Can run job again"),
        ]

    def __str__(self) -> str:
        return f"job {self.pk}"


class Schedule(Row):
    """A schedule. Its key is its tenant and its name, as JSON, which the statement makes."""

    key: "Text" = models.TextField(primary_key=True)
    name: "Text" = models.TextField()
    tenant: "Text" = models.TextField()
    cron: "Text" = models.TextField()
    timezone: "Text" = models.TextField()
    missed: "Text" = models.TextField()
    enabled: "Boolean" = models.BooleanField()
    queue: "Text" = models.TextField()
    kind: "Text" = models.TextField()
    payload: "Json" = models.JSONField()
    priority: "SmallInteger" = models.SmallIntegerField()
    max_attempts: "IntegerOrNull" = models.IntegerField(null=True)
    timeout: "DurationOrNull" = models.DurationField(null=True)
    expires_in: "DurationOrNull" = models.DurationField(null=True)
    created_at: "Instant" = models.DateTimeField()
    last_fire: "InstantOrNull" = models.DateTimeField(null=True)
    problem: "TextOrNull" = models.TextField(null=True)
    declared_by: "TextOrNull" = models.TextField(null=True)

    class Meta(Row.Meta):
        """It is read by statements alone."""

        db_table = '"fairlead"."schedules"'

    def __str__(self) -> str:
        return f"schedule {self.name}"


class Tenant(Row):
    """What a tenant had of a pool's slots, and what it was entitled to: the leader's report."""

    key: "Text" = models.TextField(primary_key=True)
    pool: "Text" = models.TextField()
    queue: "TextOrNull" = models.TextField(null=True)
    tenant: "Text" = models.TextField()
    weight: "FloatOrNull" = models.FloatField(null=True)
    share: "FloatOrNull" = models.FloatField(null=True)
    entitled_share: "FloatOrNull" = models.FloatField(null=True)
    lag_slot_seconds: "FloatOrNull" = models.FloatField(null=True)
    running: "BigIntegerOrNull" = models.BigIntegerField(null=True)
    queued: "BigIntegerOrNull" = models.BigIntegerField(null=True)
    oldest_wait_seconds: "FloatOrNull" = models.FloatField(null=True)
    mean_run_seconds: "FloatOrNull" = models.FloatField(null=True)
    blocked_by: "TextOrNull" = models.TextField(null=True)
    at: "Instant" = models.DateTimeField()

    class Meta(Row.Meta):
        """It is read by a statement alone."""

        db_table = '"fairlead"."tenant_shares"'

    def __str__(self) -> str:
        return f"tenant {self.tenant}"
