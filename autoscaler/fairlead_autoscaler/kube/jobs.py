"""Jobs of pools that run each job in a pod of its own: made from a PodTemplate, counted anew.

Before any is made, all of the pool are listed, so that what a controller made that crashed a
moment ago counts. Their names are numbered from what the list shows: one that is made late, by
a controller that was frozen, has the name of one that its successor has made, and is refused.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from fairlead_autoscaler.decision.inputs import PodTemplate
from fairlead_autoscaler.kube import models
from fairlead_autoscaler.kube.client import WRITE_SECONDS, Client
from fairlead_autoscaler.kube.port import POOL_LABEL, ConflictError

if TYPE_CHECKING:
    from fairlead.jsontext import Json

CREATED_MAX = 100
"""Jobs made in one step; further ones follow in the next."""
TTL_ANNOTATION = "fairlead/ttl-seconds-after-finished"
"""The annotation of the template's pods that says when a Job that has ended is removed."""
TTL_SECONDS = 600
_PREFIX_MAX = 50
"""A Job's name has 63 characters at most, its number included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTemplate:
    """What Jobs are made from."""

    name: str
    uid: str
    version: str
    template: "Json"
    """The pod, as the object has it."""
    counted: PodTemplate
    """What quotas count of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenJob:
    """A Job of a pool."""

    name: str
    pool: str
    is_active: bool
    """Whether it has not ended."""
    failed_at: float | None
    """When it failed, in seconds since 1970; None: it has not."""


class Jobs:
    """Makes and counts the Jobs of one release."""

    def __init__(self, client: Client, *, namespace: str, selector: str) -> None:
        self.path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
        self._client = client
        self._selector = selector

    def create(
        self,
        pool: str,
        template: JobTemplate,
        total: int,
        *,
        may_go_on: Callable[[], bool],
        made: Callable[[models.JobObject], None],
    ) -> None:
        """Make as many Jobs as are missing.

        Args:
            pool: The pool.
            template: What to make them from.
            total: How many are to be active.
            may_go_on: Asked before each one.
            made: Called with each one that was made.

        Raises:
            KubeError: As `port` says. Those made before stay; the next call counts them.
        """
        here = self._listed(pool)
        active = sum(_is_active(each) for each in here)
        number = _last_number(each.metadata.name for each in here)
        for _ in range(min(total - active, CREATED_MAX)):
            if not may_go_on():
                return
            number += 1
            try:
                body = self._client.call(
                    "POST", self.path, body=job(template, number), seconds=WRITE_SECONDS
                )
            except ConflictError:
                continue  # it is there: another controller made it after we had looked
            made(models.read(models.ONE_JOB, body))

    def _listed(self, pool: str) -> list[models.JobObject]:
        """Request all Jobs of a pool, ended ones too, as they are now."""
        query = {"labelSelector": f"{self._selector},{POOL_LABEL}={pool}", "limit": "500"}
        found: list[models.JobObject] = []
        while True:
            page = models.read(models.JOBS, self._client.call("GET", self.path, query=query))
            found += page.items
            if not page.metadata.continue_:
                return found
            query["continue"] = page.metadata.continue_


def seen(read: models.JobObject, _before: SeenJob | None, _seen_at: float | None) -> SeenJob:
    """Return a Job as the controller counts it."""
    failed = next((each for each in _ended(read) if each.type == "Failed"), None)
    at = None if failed is None else failed.last_transition_time
    return SeenJob(
        name=read.metadata.name,
        pool=read.metadata.labels.get(POOL_LABEL, ""),
        is_active=_is_active(read),
        failed_at=None if at is None else at.timestamp(),
    )


def job(template: JobTemplate, number: int) -> "Json":
    """Return the Job of a number. Its pod is not replaced: the queue retries what it had."""
    pod = cast("dict[str, Json]", template.template)
    metadata = cast("dict[str, Json]", pod.get("metadata") or {})
    annotations = cast("dict[str, Json]", metadata.get("annotations") or {})
    ttl = str(annotations.get(TTL_ANNOTATION, ""))
    owner: Json = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "name": template.name,
        "uid": template.uid,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{_prefix(template.name)}-{number}",
            "labels": metadata.get("labels") or {},
            "ownerReferences": [owner],
        },
        "spec": {
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": int(ttl) if ttl.isdecimal() else TTL_SECONDS,
            "template": template.template,
        },
    }


def _prefix(name: str) -> str:
    """Return what the names of a template's Jobs begin with, which no other template's do."""
    if len(name) <= _PREFIX_MAX:
        return name
    return f"{name[: _PREFIX_MAX - 9]}-{sha256(name.encode()).hexdigest()[:8]}"


def _last_number(names: Iterable[str]) -> int:
    ends = (name.rpartition("-")[2] for name in names)
    return max((int(each) for each in ends if each.isdecimal()), default=0)


def _is_active(read: models.JobObject) -> bool:
    return not _ended(read) and read.metadata.deletion_timestamp is None


def _ended(read: models.JobObject) -> list[models.ConditionObject]:
    return [
        each
        for each in read.status.conditions
        if each.type in {"Complete", "Failed"} and each.status == "True"
    ]
