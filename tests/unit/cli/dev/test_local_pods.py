"""Local pods: processes that come and go as a ReplicaSet's pods do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from fairlead_autoscaler.kube.port import ConflictError, WatchedPod
from fairlead_cli.dev.fleet import Program
from fairlead_cli.dev.local_pods import LocalPods, first_to_go
from tests.support.kubernetes.replicas import first_to_go as as_a_replica_set_does

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Processes:
    """Programs that run when they are started, and end when the test says so."""

    running: dict[str, Program] = field(default_factory=dict[str, Program])
    dismissed: list[str] = field(default_factory=list[str])

    def start(self, program: Program) -> None:
        """Start one."""
        self.running[program.name] = program

    def dismiss(self, name: str) -> None:
        """Note that it was asked to stop."""
        self.dismissed.append(name)

    def names(self) -> tuple[str, ...]:
        """Return those that have not ended."""
        return tuple(self.running)


@dataclass
class Scene:
    """Pods, where they run, and which of them are ready."""

    processes: Processes = field(default_factory=Processes)
    serving: dict[str, int] | None = field(default_factory=dict[str, int])
    """How many jobs each ready pod holds, by UID."""
    now: float = 1.0

    def __post_init__(self) -> None:
        """Make the pods, three of them."""
        self.pods = LocalPods(
            self.processes,
            _program,
            lambda: self.serving,
            pool="default",
            replicas=3,
            clock=lambda: self.now,
        )
        self.pods.settle()

    def serve(self, *names: str, **jobs: int) -> None:
        """Let these pods be ready, and one by its number hold jobs: `worker_3=1`."""
        held = dict.fromkeys(names, 0) | {
            name.replace("_", "-"): count for name, count in jobs.items()
        }
        pods = self.pods.snapshot().pods
        self.serving = {pod.uid: held[pod.name] for pod in pods if pod.name in held}
        self.pods.settle()

    def ask(self, replicas: int) -> None:
        """Ask for so many pods."""
        version = self.pods.scale("local-default").version
        self.pods.apply_scale("local-default", replicas=replicas, version=version)
        self.pods.settle()

    def staying(self) -> list[str]:
        """Return the pods that were not asked to stop."""
        return [pod.name for pod in self.pods.snapshot().pods if not pod.terminating]


def _program(name: str, environment: Mapping[str, str]) -> Program:
    return Program(name, "nothing", (), environment)


def pod(number: int, *, ready: bool, age: int) -> WatchedPod:
    """Return a pod of a pool."""
    return WatchedPod(
        uid=f"uid-{number}",
        name=f"worker-{number}",
        pool="default",
        created_at=START - timedelta(seconds=age),
        seen_at=0.0,
        ready=ready,
        was_ready=True,
        terminating=False,
        unschedulable=False,
    )


def test_a_pods_worker_is_told_whose_it_is() -> None:
    """A mark on the pod reaches its worker by the UID in its environment."""
    scene = Scene()
    given = [program.environment for program in scene.processes.running.values()]

    assert [pod.uid for pod in scene.pods.snapshot().pods] == [
        each["FAIRLEAD_POD_UID"] for each in given
    ]
    assert 3 == len({each["FAIRLEAD_POD_UID"] for each in given})


def test_the_pod_that_is_not_ready_goes_before_a_newer_one() -> None:
    """An empty pod shows itself not ready, and so no pod with a job is stopped for it."""
    scene = Scene()
    scene.serve("worker-1", "worker-3")

    scene.ask(2)

    assert ["worker-2"] == scene.processes.dismissed
    assert ["worker-1", "worker-3"] == scene.staying()


def test_of_ready_pods_the_newest_goes() -> None:
    """As a ReplicaSet has it."""
    scene = Scene()
    scene.serve("worker-1", "worker-2", "worker-3")

    scene.ask(1)

    assert ["worker-3", "worker-2"] == scene.processes.dismissed


def test_a_pod_that_holds_a_job_is_not_stopped_until_it_holds_none() -> None:
    """A ReplicaSet cannot see that; the owner of the processes can."""
    scene = Scene()
    scene.serve("worker-1", worker_2=1, worker_3=2)

    scene.ask(1)
    at_work = list(scene.processes.dismissed)
    scene.serve("worker-1", "worker-3", worker_2=1)
    done = list(scene.processes.dismissed)
    scene.serve("worker-1", worker_2=1)

    assert (["worker-1"], ["worker-1", "worker-3"]) == (at_work, done)
    assert ["worker-2"] == scene.staying()


def test_nobody_is_stopped_while_nobody_can_tell_who_is_ready() -> None:
    """An empty pod and one at work look the same then."""
    scene = Scene()
    scene.serve("worker-1", "worker-3")
    scene.serving = None

    scene.ask(1)

    assert [] == scene.processes.dismissed


@pytest.mark.parametrize("count", range(6))
def test_the_order_is_that_of_a_replica_set(count: int) -> None:
    """Ready or not, then age, whatever the order of the pods."""
    pods = [
        pod(1, ready=True, age=9),
        pod(2, ready=False, age=5),
        pod(3, ready=True, age=1),
        pod(4, ready=False, age=7),
        pod(5, ready=True, age=3),
    ]

    assert as_a_replica_set_does(pods, count) == first_to_go(reversed(pods), count)


def test_a_pod_leaves_when_its_process_has_ended() -> None:
    """Until then it is seen as one that terminates, and no pod is asked to stop twice."""
    scene = Scene()
    scene.serve("worker-1", "worker-2", "worker-3")
    scene.ask(2)
    scene.pods.settle()
    leaving = scene.pods.snapshot().workloads["default"].terminating_replicas

    del scene.processes.running["worker-3"]
    scene.pods.settle()

    assert (1, ["worker-3"]) == (leaving, scene.processes.dismissed)
    assert 0 == scene.pods.snapshot().workloads["default"].terminating_replicas
    assert 2 == len(scene.pods.snapshot().pods)


def test_a_pod_that_is_given_up_is_replaced_by_another_one() -> None:
    """The new one has a name and a UID of its own: no mark of the former one is on it."""
    scene = Scene()
    before = {pod.uid for pod in scene.pods.snapshot().pods}

    del scene.processes.running["worker-2"]
    scene.pods.settle()

    pods = scene.pods.snapshot().pods
    assert ["worker-1", "worker-3", "worker-4"] == [pod.name for pod in pods]
    assert 1 == len({pod.uid for pod in pods} - before)


def test_what_is_known_of_the_pods_ages_while_nobody_can_tell_who_is_ready() -> None:
    """The autoscaler takes nothing away by what is old."""
    scene = Scene()
    scene.serve("worker-1")
    scene.now, scene.serving = 9.0, None
    scene.pods.settle()

    look = scene.pods.snapshot()
    assert 1.0 == look.as_of
    assert ["worker-1"] == [pod.name for pod in look.pods if pod.ready]


def test_a_number_that_was_decided_on_an_old_look_is_refused() -> None:
    """As an API server refuses it."""
    scene = Scene()
    old = scene.pods.snapshot().workloads["default"].version
    scene.ask(4)

    with pytest.raises(ConflictError):
        scene.pods.apply_scale("local-default", replicas=1, version=old)

    assert 4 == scene.pods.snapshot().workloads["default"].replicas
