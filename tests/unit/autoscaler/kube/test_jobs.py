"""Jobs are made from the template, one for each that is missing."""

from fairlead.jsontext import Json
from fairlead_autoscaler.decision.inputs import PodTemplate
from fairlead_autoscaler.kube import jobs, models
from fairlead_autoscaler.kube.jobs import JobTemplate
from tests.support.kubernetes.objects import part


def made_from(name: str, ttl: str = "") -> JobTemplate:
    """Return a template of a pool."""
    notes: dict[str, Json] = {jobs.TTL_ANNOTATION: ttl} if ttl else {}
    pod: dict[str, Json] = {
        "metadata": {"labels": {"fairlead/pool": "big"}, "annotations": notes},
        "spec": {"restartPolicy": "Never"},
    }
    return JobTemplate(name=name, uid="u", version="1", template=pod, counted=PodTemplate())


def test_a_job_is_tried_once_and_removed_after_its_time() -> None:
    """Its pod is the template's, and so are its labels; the template's end is its own."""
    job = jobs.job(made_from("release-worker-big", ttl="60"), 7)
    assert isinstance(job, dict)

    assert "release-worker-big-7" == part(job, "metadata")["name"]
    assert {"fairlead/pool": "big"} == part(job, "metadata")["labels"]
    assert (0, 60) == (
        part(job, "spec")["backoffLimit"],
        part(job, "spec")["ttlSecondsAfterFinished"],
    )


def test_names_of_jobs_are_short_enough_and_differ_by_pool() -> None:
    """A pod has the Job's name as a label, which has 63 characters at most."""
    long = [jobs.job(made_from("r" * 54 + f"-pool-{which}"), 10**9) for which in "ab"]
    names = [str(part(each, "metadata")["name"]) for each in long if isinstance(each, dict)]

    assert 2 == len(set(names))
    assert all(len(name) <= 63 for name in names)


def test_a_job_that_has_ended_is_not_active() -> None:
    """One that failed says when."""
    at = "2026-01-01T00:00:00Z"
    found = [
        jobs.seen(
            models.JobObject.model_validate(
                {
                    "metadata": {"name": "j-1", "labels": {"fairlead/pool": "big"}},
                    "status": {
                        "conditions": [
                            {"type": kind, "status": "True", "lastTransitionTime": at}
                        ]
                    },
                }
            ),
            None,
            None,
        )
        for kind in ("Complete", "Failed", "FailureTarget")
    ]

    assert [(False, None), (False, 1767225600.0), (True, None)] == [
        (each.is_active, each.failed_at) for each in found
    ]
