"""`fairlead enqueue`: insert one job from a shell."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from fairlead import jsontext
from fairlead.inspection import formats
from fairlead.inspection.rows import Row
from fairlead.jsontext import Json
from fairlead_cli.errors import CommandError, NegativeAnswer
from fairlead_cli.output import tables, wait_for
from fairlead_cli.session import ask, session

if TYPE_CHECKING:
    from fairlead.db.connect import Connection
    from fairlead.new_jobs import NewJob

T = TypeVar("T")


Kind = Annotated[str, typer.Argument(help="The handler's name.")]
Payload = Annotated[str, typer.Argument(help="JSON, or - to read it from standard input.")]
Queue = Annotated[
    str, typer.Option(help="The queue; the one that the handler names is not known here.")
]
Tenant = Annotated[str, typer.Option(help="The tenant.")]
Priority = Annotated[
    int,
    typer.Option(
        min=-100,
        max=100,
        help="Order in the tenant's lane, higher first; selects the band, if there are any.",
    ),
]
RunAt = Annotated[
    str | None,
    typer.Option(help="Not before this instant: 2026-11-21T09:30+01:00; UTC without a zone."),
]
Delay = Annotated[
    str | None,
    typer.Option("--in", help="Not before this long from now: 90s, 5m, 2h; 5 is 5 seconds."),
]
ExpiresAt = Annotated[
    str | None, typer.Option(help="The job expires unless it has started by this instant.")
]
DedupKey = Annotated[
    str | None, typer.Option(help="Allow one unfinished job per queue, tenant and key.")
]
MaxAttempts = Annotated[
    int | None,
    typer.Option(min=1, max=1000, help="How many attempts may fail before the job fails."),
]
Timeout = Annotated[str | None, typer.Option(help="How long one attempt may run: 90s, 5m, 2h.")]
CostHint = Annotated[str | None, typer.Option(help="How long an attempt will take, if known.")]
Headers = Annotated[str | None, typer.Option(help="A JSON object: trace context and the like.")]

Replace = Annotated[
    bool, typer.Option("--replace", help="Take the place of the job that waits under the key.")
]
Debounce = Annotated[
    str | None, typer.Option(help="Replace it, and run this long after the last call: 5s, 1m.")
]
DebounceMax = Annotated[
    str | None,
    typer.Option(help="But this long after the first call at the latest; else ten times that."),
]
UniqueFor = Annotated[
    str | None, typer.Option(help="Insert no other with this option under the key for so long.")
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("enqueue")(insert_job)


def insert_job(  # noqa: PLR0913 - each is a column of the table
    kind: Kind,
    payload: Payload = "{}",
    *,
    queue: Queue = "default",
    tenant: Tenant = "",
    priority: Priority = 0,
    run_at: RunAt = None,
    delay: Delay = None,
    expires_at: ExpiresAt = None,
    dedup_key: DedupKey = None,
    max_attempts: MaxAttempts = None,
    timeout: Timeout = None,
    cost_hint: CostHint = None,
    headers: Headers = None,
    replace: Replace = False,
    debounce: Debounce = None,
    debounce_max: DebounceMax = None,
    unique_for: UniqueFor = None,
    wait: wait_for.Wait = None,
    as_json: tables.AsJson = False,
) -> None:
    """Insert one job and print its id."""
    from fairlead.new_jobs import NewJob

    if run_at is not None and delay is not None:
        raise CommandError(f"--run-at {run_at} and --in {delay} are given: keep one of them")
    starts = read("--run-at", run_at, formats.instant)
    if delay is not None:
        starts = _from_now("--in", delay)
    job = NewJob(
        kind=kind,
        payload=_json("PAYLOAD", sys.stdin.read() if payload == "-" else payload),
        queue=queue,
        tenant=tenant,
        priority=priority,
        run_at=starts,
        expires_at=read("--expires-at", expires_at, formats.instant),
        dedup_key=dedup_key,
        max_attempts=max_attempts,
        timeout=read("--timeout", timeout, formats.duration),
        cost_hint=read("--cost-hint", cost_hint, formats.duration),
        headers=_object("--headers", headers),
        replace=replace,
        debounce=read("--debounce", debounce, formats.duration),
        debounce_max=read("--debounce-max", debounce_max, formats.duration),
        unique_for=read("--unique-for", unique_for, formats.duration),
    )
    _insert(job, wait=read("--wait", wait, formats.duration), as_json=as_json)


def _insert(job: "NewJob", *, wait: timedelta | None, as_json: bool) -> None:
    from psycopg.errors import InsufficientPrivilege

    try:
        with session() as connection:
            job_id = _inserted(connection, job)
            if wait is not None:
                if job_id is None:
                    raise NegativeAnswer(_repeated(job))
                ended = wait_for.succeeded(connection, job_id, within=wait)
                _tell(ended, as_json=as_json)
                return
    except InsufficientPrivilege as error:
        said = error.diag.message_primary
        raise CommandError(f"{said}: log in as a member of fairlead_enqueue") from None
    if as_json:
        tables.print_json({"id": job_id})
    else:
        typer.echo(_repeated(job) if job_id is None else job_id)


def _inserted(connection: "Connection", job: "NewJob") -> int | None:
    """Insert a job and return its id; None: its dedup key is live.

    Raises:
        CommandError: it is refused, or its tenant is none of the login's.
    """
    from psycopg.errors import InsufficientPrivilege

    from fairlead.client import enqueue_many
    from fairlead.errors import OverBacklog

    try:
        return next(iter(enqueue_many(connection, [job])), None)
    except (ValueError, OverBacklog) as error:
        raise CommandError(str(error)) from None
    except InsufficientPrivilege as error:
        said = str(error.diag.message_primary)
        if "dedup_key" in said:
            raise CommandError(said.removeprefix("fairlead: ")) from None
        (allowed,) = ask(connection, "may_enqueue")
        if not allowed["may"]:
            raise
        raise CommandError(
            f"login '{connection.info.user}' may not enqueue for tenant '{job.tenant}': give "
            "one of its own with --tenant, or have an administrator add this one to "
            "fairlead.tenant_logins"
        ) from None


def _repeated(job: "NewJob") -> str:
    said = "nothing inserted: an unfinished job has this dedup key"
    return said if job.unique_for is None else f"{said}, or its period is not over"


def _tell(job: Row, *, as_json: bool) -> None:
    if as_json:
        tables.print_json(job)
    else:
        typer.echo(f"job {job['id']} {job['state']}")


def read(field: str, text: str | None, reader: Callable[[str], T]) -> T | None:
    """Read one argument; what is wrong with it is said with the field and the value.

    Raises:
        CommandError: the reader refused it.
    """
    if text is None:
        return None
    try:
        return reader(text)
    except ValueError as error:
        raise CommandError(f"{field} '{text}': {error}") from None


def _from_now(field: str, text: str) -> datetime | None:
    delay = read(field, text, formats.duration)
    try:
        return None if delay is None else datetime.now(UTC) + delay
    except OverflowError:
        raise CommandError(f"{field} '{text}': that is after the year 9999") from None


def _json(field: str, text: str) -> Json:
    try:
        found: Json = json.loads(text)
    except ValueError as error:
        raise CommandError(f"{field} is not JSON: {error}") from None
    except RecursionError:
        raise CommandError(f"{field} is nested too deeply: make it flatter") from None
    try:
        jsontext.encode(field, found)
    except ValueError as error:
        raise CommandError(str(error)) from None
    return found


def _object(field: str, text: str | None) -> dict[str, Json] | None:
    found = None if text is None else _json(field, text)
    if found is not None and not isinstance(found, dict):
        raise CommandError(f"{field} must be a JSON object: give one such as {{}}")
    return found
