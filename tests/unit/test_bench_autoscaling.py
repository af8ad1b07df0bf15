"""The simulated fleet does what a real one does, and others decide as they are documented."""

import pytest

from bench.autoscaling.controllers import Keda, Kpa, hpa_replicas
from bench.autoscaling.evaluation import begun, outage
from bench.autoscaling.fairlead import Fairlead
from bench.autoscaling.fleet import Fleet
from bench.autoscaling.run import run
from bench.autoscaling.workload import Job, Scene, Workload, draw, load

SCENE, CURVES = load()
SHORT = SCENE.model_copy(update={"seconds": 300.0})


def fleet(*jobs: tuple[float, float], pods: int, scene: Scene = SHORT) -> Fleet:
    """Return a fleet to which jobs come at a time and take a time."""
    workload = Workload(
        name="given",
        jobs=tuple(Job(due, seconds, scheduled=False) for due, seconds in jobs),
        rates=(0.0,) * 300,
        service=(8.0,) * 300,
    )
    return Fleet(scene, workload, 1, pods=pods)


@pytest.mark.parametrize(
    ("value", "replicas", "expected"),
    [
        (34, 17, 17),
        (34, 16, 16),  # within a tenth of what there is: it stays there for ever
        (34, 15, 17),
        (0, 5, 0),
        (10, 5, 5),
        (11.1, 5, 6),
    ],
)
def test_an_hpa_keeps_what_is_within_its_tolerance(
    value: float, replicas: int, expected: int
) -> None:
    """Else it wants the value over its target, rounded up."""
    assert expected == hpa_replicas(value, 2.0, replicas)


def test_keda_goes_from_zero_to_one_and_only_then_further() -> None:
    """The first loop knows no more; the second one doubles what there is, or adds four."""
    played = fleet(*[(0.0, 100.0)] * 80, pods=0)
    controller = Keda(60, 4.0, in_system=True)
    seen: list[int] = []
    for tick in range(4):
        played.advance(tick * 15.0)
        controller.tick(played)
        seen.append(played.replicas)

    assert [1, 5, 10, 20] == seen


def test_kpa_panics_at_twice_what_is_ready() -> None:
    """It averages over six seconds then, and not over sixty."""
    played = fleet(*[(60.0, 200.0)] * 40, pods=1)
    controller = Kpa(60, SHORT.slots)
    for tick in range(33):
        played.advance(tick * 2.0)
        controller.tick(played)

    assert (True, 15) == (controller.panicked is not None, played.replicas)


def test_a_deleted_pod_has_its_grace_and_then_its_jobs_begin_anew() -> None:
    """What took 20 s ended, and what takes 100 s was interrupted after 40."""
    played = fleet((0.0, 20.0), (0.0, 100.0), pods=1)
    played.advance(10.0)
    played.scale(0)
    played.advance(50.0)

    assert (1, 1, 40.0) == (
        played.finished,
        played.outcome.interrupted,
        played.outcome.wasted_seconds,
    )
    assert [1] == list(played.queue)


def test_what_has_not_started_is_deleted_first_and_then_what_is_drained() -> None:
    """Before any pod that works."""
    played = fleet(pods=3)
    working, drained, other = played.living
    played.mark(drained.uid, 60.0)
    played.scale(4)
    played.scale(2)

    assert [working, other] == played.living


def test_a_marked_pod_takes_no_jobs_and_says_when_it_is_empty() -> None:
    """Under the mark; what comes waits."""
    played = fleet((0.0, 20.0), (10.0, 5.0), pods=1)
    played.advance(5.0)
    (pod,) = played.living
    played.mark(pod.uid, 100.0)
    played.advance(15.0)
    busy = (pod.drained_at, len(played.queue))
    played.advance(30.0)

    assert ((None, 1), 20.0) == (busy, pod.drained_at)


def test_pods_cost_while_they_start_and_while_they_end() -> None:
    """Every pod that there is counts, for as long as it is there."""
    played = fleet((0.0, 15.0), pods=2)
    played.advance(10.0)
    played.scale(0)
    played.advance(100.0)

    assert 10.0 + 15.0 == played.outcome.pod_seconds


def test_the_same_seed_plays_the_same_run() -> None:
    """And another one another."""
    found = [
        run(
            played := begun(SHORT, draw("step", CURVES["step"], SHORT, seed), seed),
            Fairlead(played),
        )
        for seed in (1, 1, 2)
    ]

    assert found[0] == found[1] != found[2]


def test_fairlead_interrupts_no_job() -> None:
    """Whatever comes and goes, and however long jobs take."""
    scene = SCENE.model_copy(update={"seconds": 1200.0})
    played = begun(scene, draw("long", CURVES["long"], scene, 5), 5)
    found = run(played, Fairlead(played))

    assert (0, True) == (found.interrupted, found.actions > 5)


def test_nothing_is_written_while_the_database_is_away() -> None:
    """And the first write after it comes with the second look at the latest."""
    assert outage(SCENE, CURVES["ramp"], 5).met
