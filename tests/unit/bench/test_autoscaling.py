"""The simulated fleet behaves like a real one, and the controllers as documented."""

import pytest

from bench.autoscaling import elsewhere, quick, record
from bench.autoscaling.controllers import (
    Arc,
    Hpa,
    Keda,
    Kpa,
    Loop,
    ScaledJob,
    begun,
    hpa_replicas,
)
from bench.autoscaling.fairlead import Fairlead, Faults
from bench.autoscaling.fault_scenarios import outage
from bench.autoscaling.fleet import Fleet
from bench.autoscaling.interval import interval
from bench.autoscaling.run import run
from bench.autoscaling.workload import FleetConfig, Job, Workload, draw, load

SCENE, CURVES = load()
SHORT = SCENE.model_copy(update={"seconds": 300.0})


def fleet(*jobs: tuple[float, float], pods: int, config: FleetConfig = SHORT) -> Fleet:
    """Return a fleet with jobs of given due times and run times."""
    workload = Workload(
        name="given",
        jobs=tuple(Job(due, seconds, scheduled=False) for due, seconds in jobs),
        rates=(0.0,) * 300,
        service=(8.0,) * 300,
    )
    return Fleet(config, workload, 1, pods=pods)


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
    controller = Keda(Loop(60, 4.0), in_system=True)
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
    """Under any load, however long jobs take."""
    config = SCENE.model_copy(update={"seconds": 1200.0})
    played = begun(config, draw("long", CURVES["long"], config, 5), 5)
    found = run(played, Fairlead(played))

    assert (0, True) == (found.interrupted, found.actions > 5)


def test_nothing_is_written_while_the_database_is_away() -> None:
    """And the first write after it comes with the second look at the latest."""
    assert all(each.met for each in outage(SCENE, CURVES["ramp"], 5))


def test_an_hpa_alone_knows_no_zero() -> None:
    """It keeps what was needed for five minutes."""
    played = fleet(*[(0.0, 20.0)] * 20, pods=1)
    controller = Hpa(Loop(60, 2.0))
    seen: list[int] = []
    for tick in range(27):
        played.advance(tick * 15.0)
        controller.tick(played)
        seen.append(played.replicas)

    assert ([5, 10, 10], 10, 1) == (seen[:3], seen[20], seen[-1])


@pytest.mark.parametrize(
    ("strategy", "waiting", "expected"),
    [
        ("default", 12, 0),  # three are wanted, and three have not ended
        ("default", 20, 2),
        ("accurate", 12, 2),  # one of the three has not started
        ("accurate", 36, 3),  # no more than the maximum
        ("eager", 12, 3),
        ("eager", 4, 1),
    ],
)
def test_a_scaled_job_makes_what_its_strategy_says(
    strategy: str, waiting: int, expected: int
) -> None:
    """Of six Jobs at most, two run and one starts; each takes four jobs."""
    played = fleet(*[(0.0, 250.0)] * 8, *[(100.0, 250.0)] * waiting, pods=0)
    played.launch(2, 4)
    played.advance(90.0)
    played.launch(1, 4)
    played.advance(100.0)
    before = len(played.living)
    ScaledJob(6, 4, strategy).tick(played)

    assert (3, expected) == (before, len(played.living) - before)


def test_a_pod_for_one_batch_ends_by_itself() -> None:
    """After its jobs, and at once when there are none for it."""
    played = fleet(*[(0.0, 20.0)] * 4, (200.0, 5.0), pods=0)
    controller = Arc(60, 4)
    controller.tick(played)
    played.advance(0.0)
    controller.tick(played)
    asked = played.replicas
    played.launch(1, 4)
    played.advance(150.0)

    assert (1, 0, 4) == (asked, len(played.living), played.finished)


def test_pods_of_the_beginning_end_by_themselves_where_pods_do() -> None:
    """Nothing else would delete them there."""
    played = fleet((0.0, 20.0), pods=5)
    played.advance(10.0)
    ScaledJob(60, 4, "default").tick(played)
    played.advance(30.0)

    assert [] == played.living


def test_a_pod_may_have_to_wait_for_a_node() -> None:
    """It starts only then, and is seen waiting."""
    config = SHORT.model_copy(update={"node_share": 1.0, "node_seconds": 60.0})
    played = fleet(pods=1, config=config)
    played.scale(2)
    first, second = played.living

    assert (0.0, True) == (first.ready_at, second.node_at >= 30.0)
    assert second.ready_at > second.node_at


def test_what_goes_wrong_with_the_words_interrupts_no_job() -> None:
    """Reports are lost or late, or come from another leader, or the autoscaler restarts."""
    config = SCENE.model_copy(update={"seconds": 900.0})
    faults = Faults(lag=10.0, lost=0.3, restarts=200.0, hand_offs=250.0)
    played = begun(config, draw("spike", CURVES["bursty"], config, 5), 5)
    found = run(played, Fairlead(played, faults=faults))

    assert (0, True) == (found.interrupted, found.actions > 5)
    assert found.late_share < 0.05


@pytest.mark.long
def test_the_quick_form_keeps_its_lines() -> None:
    """A change that makes the decision worse fails a test."""
    assert [] == [
        (row.target, row.what, row.measured.figure)
        for row in quick.rows(SCENE, CURVES)
        if not row.met
    ]


def test_the_page_has_every_figure_that_was_measured_elsewhere() -> None:
    """A figure in the file must be on the page."""
    page = record.PAGE.read_text("utf-8")
    written = elsewhere.load()

    assert written.figures
    assert [] == [line for line in record.measured(written) if f"{line}\n" not in page]
    assert written.note in page


def test_a_figure_above_its_target_is_missed() -> None:
    """An equal figure meets it."""
    given = {"target": "T7", "what": "seconds", "most": 1.0, "over": "100 tries"}
    figures = [{**given, "measured": measured} for measured in (1.0, 1.001)]
    written = elsewhere.Elsewhere.model_validate({"note": "Today.", "figure": figures})

    assert [
        "| T7 | seconds | 1 | 1 | 100 tries | met |",
        "| T7 | seconds | 1 | 1.001 | 100 tries | MISSED |",
    ] == list(record.measured(written))


def test_an_interval_holds_the_figure_and_is_the_same_again() -> None:
    """It is resampled from the seeds of the runs."""
    values = [1.0, 2.0, 3.0, 4.0, 10.0]
    found = [
        interval(range(5), lambda drawn: sum(values[place] for place in drawn) / len(drawn))
        for _ in range(2)
    ]

    assert found[0] == found[1]
    assert (4.0, True) == (found[0].figure, 1.0 < found[0].low < 4.0 < found[0].high < 10.0)
