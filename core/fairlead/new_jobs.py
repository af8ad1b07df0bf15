"""Jobs to be inserted, and the JSON of which one statement makes rows."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple, cast

from fairlead import jsontext, kind_defaults, tracecontext, unique_jobs
from fairlead.errors import check_is_duration
from fairlead.jsontext import Json, JsonLike

_JOB_BYTES_MAX = 256 * 1024 * 1024
_JOB_LEVELS_MAX = _JOB_BYTES_MAX  # a payload's are bounded by the table
_PAGE_JOBS_MAX = 10_000
_PAGE_BYTES_MAX = 16 * 1024 * 1024
_HEADERS_BYTES_MAX = 8192  # the table's bound; its text has spaces, as json.dumps has
_NO_COUNTS = dict.fromkeys(
    ("id", "jobs", "succeeded", "failed", "cancelled", "expired", "unknown"), 0
)
_NOT_OF_A_COMPLETION = (
    "run_at",
    "expires_at",
    "dedup_key",
    "cost_hint",
    "batch",
    "replace",
    "debounce",
    "debounce_max",
    "unique_for",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to be inserted; the database's constraints say what each field may be.

    What is None here is what this process's handler of the kind says, if there is one, when the
    job is inserted.

    Args:
        kind: the name of its handler.
        payload: any JSON value, such as a dict or a TypedDict, at most 1 MiB as stored; None is
            an empty object.
        queue: a queue belongs to one pool of workers; without any it is `default`.
        tenant: whose job it is; the tenants of a queue share it fairly.
        priority: order inside the tenant's lane, -100 to 100, higher first; where the policy
            has bands, which of them too, unless its queue names one.
        run_at: not before this instant (with a time zone); None is now.
        expires_at: end as expired unless it has started by then.
        dedup_key: at most one unfinished job per queue, tenant and key.
        max_attempts: failures until it has failed for good, 1 to 1000; None is 20, which take
            about two days, if the handlers of the kind do not say otherwise.
        timeout: seconds or timedelta for one attempt; None is the pool's default.
        cost_hint: seconds or timedelta that an attempt will take, where known.
        headers: an object of at most 8 KiB: trace context and the like. The current span of
            OpenTelemetry is added as `traceparent`, unless they have one or no room for it.
        batch: the id of a batch that is not over and is the login's own, or one of whose jobs
            the caller's handler runs.
        replace: take the place of the job that waits under the dedup key, if it is the login's;
            one that runs ends with its attempt, and this one comes behind it.
        debounce: seconds or timedelta; replace it, and run so long after the last call.
        debounce_max: but so long after the first one at the latest; None is ten times as long.
        unique_for: seconds or timedelta, 1 s to 31 days, in which no other is inserted under
            the dedup key with `unique_for`, whatever becomes of this one.

    Raises:
        TypeError: a kind or a tenant that is no text, an instant that is none, or a duration.
        ValueError: an instant without a time zone, which would mean another time elsewhere.
    """

    kind: str
    payload: JsonLike = None
    queue: str | None = None
    tenant: str = ""
    priority: int | None = None
    run_at: datetime | None = None
    expires_at: datetime | None = None
    dedup_key: str | None = None
    max_attempts: int | None = None
    timeout: float | timedelta | None = None
    cost_hint: float | timedelta | None = None
    headers: Mapping[str, JsonLike] | None = None
    batch: int | None = None
    replace: bool = False
    debounce: float | timedelta | None = None
    debounce_max: float | timedelta | None = None
    unique_for: float | timedelta | None = None

    def __post_init__(self) -> None:
        _check_is_kind(self.kind)
        if not isinstance(cast("object", self.tenant), str):
            raise TypeError(f"tenant is {self.tenant!r}: give a text, '' for a job without one")
        for name, instant in (("run_at", self.run_at), ("expires_at", self.expires_at)):
            if instant is not None:
                _check_is_instant(name, instant)
        for name, duration in (("timeout", self.timeout), ("cost_hint", self.cost_hint)):
            if duration is not None:
                check_is_duration(name, duration)


def _check_is_kind(kind: object) -> None:
    """Refuse what is given for a kind by mistake: a handler, or the connection."""
    if not isinstance(kind, str):
        raise TypeError(
            f"kind is a {type(kind).__name__}: behind the connection give the name of a "
            "handler, a text, or call the handler's own `enqueue`"
        )


def _check_is_instant(name: str, instant: object) -> None:
    if not isinstance(instant, datetime):
        raise TypeError(f"{name} is {instant!r}: give a datetime with a time zone")
    if instant.utcoffset() is None:
        raise ValueError(f"{name} {instant} has no time zone: give one, such as UTC")


class Page(NamedTuple):
    """Jobs that one statement inserts."""

    text: str
    unique: bool
    """Whether it calls the function `enqueue`, as a job is more than the first of its key."""


def pages(jobs: Iterable[NewJob], batch: int | None = None) -> Iterator[Page]:
    """Yield the jobs, of a batch or none, as JSON arrays of bounded size."""
    carried = tracecontext.current_headers()
    said = cache(kind_defaults.of)
    page, size, unique = list[str](), 0, False
    for job in jobs:
        _check_is_job("a job", job)
        row = _row(job, carried, said(job.kind))
        if batch is not None:
            if job.batch is not None:
                raise ValueError("a job has a batch, and then makes another one")
            row["batch"] = batch
        of_its_key = unique_jobs.fields(job)
        text = _encode(job.kind, row | of_its_key)
        if page and (len(page) == _PAGE_JOBS_MAX or size + len(text) > _PAGE_BYTES_MAX):
            yield Page(f"[{','.join(page)}]", unique)
            page, size, unique = [], 0, False
        page.append(text)
        size += len(text)
        unique = unique or bool(of_its_key)
    if page:
        yield Page(f"[{','.join(page)}]", unique)


def _encode(kind: str, row: dict[str, object]) -> str:
    name = f"job of kind {kind!r}"
    return jsontext.encode(name, row, bytes_max=_JOB_BYTES_MAX, levels_max=_JOB_LEVELS_MAX)


def _row(
    job: NewJob, carried: Mapping[str, str], said: kind_defaults.Defaults
) -> dict[str, object]:
    timeout = said.timeout_seconds if job.timeout is None else job.timeout
    return {
        "kind": job.kind,
        "payload": job.payload if said.check is None else said.check(job.payload),
        "queue": job.queue if job.queue is not None else said.queue or "default",
        "tenant": job.tenant,
        "priority": job.priority if job.priority is not None else said.priority or 0,
        "run_at": _instant(job.run_at),
        "expires_at": _instant(job.expires_at),
        "dedup_key": job.dedup_key,
        "max_attempts": said.max_attempts if job.max_attempts is None else job.max_attempts,
        "timeout": unique_jobs.interval(timeout),
        "cost_hint": unique_jobs.interval(job.cost_hint),
        "headers": _headers(job.headers, carried),
        "batch": job.batch,
    }


def _headers(given: Mapping[str, JsonLike] | None, carried: Mapping[str, str]) -> object:
    """Return a job's headers with the current trace, which never makes them too large."""
    if given is None:
        return dict(carried) or None
    if not carried or tracecontext.TRACEPARENT in given:
        return dict(given)
    both = {**carried, **given}
    return both if _size(both) <= _HEADERS_BYTES_MAX else dict(given)


def _size(headers: Mapping[str, object]) -> int:
    """Return how long the table's text of these headers is; 0 if they cannot be written."""
    try:
        return len(json.dumps(headers, ensure_ascii=False).encode(errors="replace"))
    except (TypeError, ValueError, RecursionError):
        return 0  # encoding the whole job raises the error


def _instant(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()


def completion(then: NewJob) -> str:
    """Return the batch whose completion is this job, as JSON.

    Raises:
        TypeError: it is no job.
        ValueError: it has what a batch does not keep.
    """
    _check_is_job("then", then)
    for name in _NOT_OF_A_COMPLETION:
        if getattr(then, name) is not None and getattr(then, name) is not False:
            raise ValueError(f"then is inserted when the other jobs have ended: give no {name}")
    said = kind_defaults.of(then.kind)
    checked = dataclasses.replace(
        said, check=None if said.check is None else _without_counts(said.check)
    )
    row = _row(then, tracecontext.current_headers(), checked)
    row["payload"] = {} if row["payload"] is None else row["payload"]
    return _encode(then.kind, row)


def _check_is_job(name: str, value: object) -> None:
    if not isinstance(value, NewJob):
        raise TypeError(f"{name} is a {type(value).__name__}: give a fairlead.NewJob")


def _without_counts(check: Callable[[object], Json]) -> Callable[[object], Json]:
    """Return a check of a payload that gets the counts of its batch later."""

    def check_both(payload: object) -> Json:
        if payload is None or isinstance(payload, Mapping):
            members = cast("Mapping[str, object]", payload or {})
            payload = {**members, "batch": _NO_COUNTS}
        found = check(payload)
        if isinstance(found, dict):
            found.pop("batch", None)
        return found

    return check_both
