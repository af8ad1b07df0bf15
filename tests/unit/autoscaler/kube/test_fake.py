"""The cluster in memory does what the controller's tests rely on."""

import pytest

from fairlead_autoscaler.kube.port import (
    ConflictError,
    KubePort,
    NotFoundError,
    UnreachableError,
)
from tests.support.kubernetes.fake import FakeKube


def a_pool_of(replicas: int) -> FakeKube:
    """Return a cluster whose one pool has so many ready pods."""
    kube = FakeKube()
    kube.add_pool("default", replicas=replicas)
    kube.settle(ready=True)
    return kube


def test_the_pod_that_is_not_ready_goes_first() -> None:
    """Not-ready pods go before any other when `replicas` is lowered."""
    kube = a_pool_of(3)
    oldest = kube.snapshot().pods[0]
    kube.set_pod(oldest.name, ready=False)
    deployment = kube.snapshot().workloads["default"]

    kube.apply_scale(deployment.name, replicas=2, version=deployment.version)

    assert (oldest.name,) == kube.settle()


def test_a_scale_is_refused_at_an_older_version_and_changes_nothing() -> None:
    """Each write names the version of this tick; the status moves it too."""
    kube = a_pool_of(1)
    before = kube.snapshot().workloads["default"]
    kube.set_pod(kube.snapshot().pods[0].name, ready=False)

    with pytest.raises(ConflictError):
        kube.apply_scale(before.name, replicas=5, version=before.version)

    assert 1 == kube.scale(before.name).replicas


def test_a_frozen_watch_shows_what_it_showed() -> None:
    """A half-open watch goes on showing the past, as of when it was true."""
    now = 7.0
    kube = FakeKube(clock=lambda: now)
    kube.add_pool("default", replicas=1)
    kube.freeze()
    kube.settle()
    now = 30.0

    assert ((), 7.0) == (kube.snapshot().pods, kube.snapshot().as_of)
    kube.thaw()
    assert (1, 30.0) == (len(kube.snapshot().pods), kube.snapshot().as_of)


def test_a_fault_comes_once_and_before_any_effect() -> None:
    """What a test lets fail has changed nothing, and the next call succeeds."""
    kube = FakeKube()
    kube.fail("write_lease", UnreachableError("no answer"))
    lease = kube.lease()

    with pytest.raises(UnreachableError):
        kube.write_lease(lease)

    assert lease == kube.lease()
    assert lease.version != kube.write_lease(lease).version


def test_a_missing_deployment_is_named_in_the_error() -> None:
    """Nothing is created by writing to it."""
    port: KubePort = FakeKube()

    with pytest.raises(NotFoundError, match="other"):
        port.apply_scale("other", replicas=1, version="1")
