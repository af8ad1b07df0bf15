"""What holds the pods of pools, watched by name, and the writes to it.

Where the fields of a target are not known, its watch says when to read its scale. A pool of
Jobs has a template that is watched, and Jobs that are, all of the release at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from fairlead_autoscaler.decision.inputs import Workload
from fairlead_autoscaler.kube import convert, jobs, models
from fairlead_autoscaler.kube.client import APPLY, MERGE, WRITE_SECONDS
from fairlead_autoscaler.kube.jobs import Jobs, JobTemplate, SeenJob
from fairlead_autoscaler.kube.port import (
    FIELD_OWNER,
    ConflictError,
    KubeError,
    NotFoundError,
    Scale,
)
from fairlead_autoscaler.kube.watch import AnyWatch, Mirror, Watch
from fairlead_autoscaler.kube.watching import Watching, labelled, named
from fairlead_autoscaler.targets import Target, parsed

_MERGED = {"fieldManager": FIELD_OWNER}
_OWNED = {**_MERGED, "force": "true"}


class Holders:
    """The targets of all pools, by pool.

    Args:
        watching: How to watch.
        targets: What holds each pool's pods.
        namespace: Where all of it is.
        selector: The label selector of all workers' pods, and Jobs, of the release.
    """

    def __init__(
        self,
        watching: Watching,
        *,
        targets: Mapping[str, Target],
        namespace: str,
        selector: str,
    ) -> None:
        self._watching = watching
        self._targets = targets
        self._namespace = namespace
        self._selector = selector
        self._workloads = {
            pool: self._watch_target(target)
            for pool, target in targets.items()
            if target.has_scale
        }
        self._templates = {
            pool: self._watch_template(target)
            for pool, target in targets.items()
            if not target.has_scale
        }
        self._jobs = Jobs(watching.client, namespace=namespace, selector=selector)
        self._watched_jobs = self._watch_jobs()

    def watches(self) -> tuple[AnyWatch, ...]:
        """Return every watch; that of Jobs, which needs a right, if a pool has some."""
        of_jobs = (self._watched_jobs,) if self._templates else ()
        return (*self._workloads.values(), *self._templates.values(), *of_jobs)

    def of(self, pool: str) -> Workload | None:
        """Return what holds a pool's pods, as the watches know it; None: it is not there."""
        if pool in self._workloads:
            return next(iter(self._workloads[pool].mirror.values()), None)
        made_from = next(iter(self._templates[pool].mirror.values()), None)
        if made_from is None:
            return None
        here = [each for each in self._watched_jobs.mirror.values() if each.pool == pool]
        return convert.held_by_jobs(made_from, self._targets[pool], here)

    def scale(self, address: str) -> Scale:
        """Request a target's scale."""
        return convert.scale(self._scale_of(_target(address)))

    def apply_scale(self, address: str, *, replicas: int, version: str) -> Scale:
        """Request this number of pods, unless the target is newer than `version`.

        An API server applies no scale of a custom kind, so that one is merged.
        """
        target = _target(address)
        try:
            body = self._watching.client.call(
                "PATCH",
                f"{self._path(target)}/scale",
                query=_OWNED if target.is_known else _MERGED,
                body={
                    "apiVersion": "autoscaling/v1",
                    "kind": "Scale",
                    "metadata": {"name": target.name, "resourceVersion": version},
                    "spec": {"replicas": replicas},
                },
                content_type=APPLY if target.is_known else MERGE,
                seconds=WRITE_SECONDS,
            )
        except ConflictError:
            # The watch may lag by more than a moment: then the next write would fail too.
            self._refresh(target)
            raise
        return convert.scale(models.read(models.SCALE, body))

    def create_jobs(self, pool: str, *, total: int, may_go_on: Callable[[], bool]) -> None:
        """Make as many Jobs of a pool as are missing for so many that have not ended."""
        templates = self._templates[pool].mirror.values()
        if not templates:
            raise NotFoundError(f"there is no PodTemplate {self._targets[pool].name}")
        mirror = self._watched_jobs.mirror
        self._jobs.create(
            pool,
            templates[0],
            total,
            may_go_on=may_go_on,
            made=lambda each: mirror.put(each.metadata.uid, each, as_of=self._watching.clock()),
        )

    def _watch_target(self, target: Target) -> Watch[models.WorkloadObject, Workload]:
        source = named(
            target.path(self._namespace),
            target.name,
            page=models.WORKLOADS,
            line=models.WORKLOAD,
            uid=lambda each: each.metadata.uid,
        )
        if not target.is_known:
            source = replace(source, completed=partial(self._with_scale, target))
        return self._watching.watch(
            source, Mirror[models.WorkloadObject, Workload](convert.workload_of(target))
        )

    def _watch_template(self, target: Target) -> Watch[models.PodTemplateWhole, JobTemplate]:
        source = named(
            target.path(self._namespace),
            target.name,
            page=models.POD_TEMPLATES,
            line=models.POD_TEMPLATE,
            uid=lambda each: each.metadata.uid,
        )
        return self._watching.watch(
            source, Mirror[models.PodTemplateWhole, JobTemplate](convert.job_template)
        )

    def _watch_jobs(self) -> Watch[models.JobObject, SeenJob]:
        source = labelled(
            self._jobs.path,
            self._selector,
            page=models.JOBS,
            line=models.JOB,
            uid=lambda each: each.metadata.uid,
        )
        return self._watching.watch(source, Mirror[models.JobObject, SeenJob](jobs.seen))

    def _with_scale(self, target: Target, each: models.WorkloadObject) -> models.WorkloadObject:
        return convert.with_scale(each, self._scale_of(target))

    def _scale_of(self, target: Target) -> models.ScaleObject:
        body = self._watching.client.call("GET", f"{self._path(target)}/scale")
        return models.read(models.SCALE, body)

    def _path(self, target: Target) -> str:
        return f"{target.path(self._namespace)}/{target.name}"

    def _refresh(self, target: Target) -> None:
        """Request a target that is newer than its watch has shown."""
        path = target.path(self._namespace)
        try:
            read = models.read(
                models.ONE_WORKLOAD, self._watching.client.call("GET", self._path(target))
            )
            if not target.is_known:
                read = self._with_scale(target, read)
        except KubeError as error:
            self._watching.on_error(path, error)
            return
        for pool, each in self._targets.items():
            if each == target:
                mirror = self._workloads[pool].mirror
                mirror.put(read.metadata.uid, read, as_of=self._watching.clock())


def _target(address: str) -> Target:
    """Return the target of an address.

    Raises:
        NotFoundError: no target is written like this.
    """
    target = parsed(address)
    if target is None:
        raise NotFoundError(f"{address!r} names no target: write resource.version.group/name")
    return target
