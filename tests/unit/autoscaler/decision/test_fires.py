"""What schedules will fire counts as work that is known ahead, and the reason says so."""

from dataclasses import replace

from fairlead_autoscaler.decision.arrival_rate import learned
from fairlead_autoscaler.decision.inputs import Fires
from fairlead_autoscaler.decision.reasons import Reason, sentence
from fairlead_autoscaler.decision.result import State
from fairlead_autoscaler.decision.startup_delay import NodeStart, StartupDelays
from tests.support.autoscaling import NOW, Cluster, demand, look, pool, seconds

BURST = Fires((NOW + seconds(300)).timestamp(), 60, 480.0)
BEFORE = replace(demand(useful=0), fires=(BURST,))


def raised_at(startup_delays: StartupDelays) -> tuple[float, str]:
    """Return when a pool at zero gets pods for a burst, and what is said then."""
    cluster = Cluster(pool(), look(0), State(startup_delays=startup_delays))
    for tick in range(60):
        decision = cluster.tick(BEFORE)
        if decision.scale:
            return tick * 5.0, sentence(decision.reason, decision.details)
    raise AssertionError


def test_a_pool_at_zero_has_its_pods_when_a_schedule_fires() -> None:
    """A start delay and a tick ahead; the reason says whose work it is."""
    at, said = raised_at(StartupDelays(seconds=(40.0,)))

    assert 255.0 == at
    assert said == (
        "as many as the jobs need that fall due before a pod could start: of them 60 by "
        "schedules, from 12:05:00 UTC on"
    )


def test_where_nodes_have_to_be_made_it_looks_further() -> None:
    """As far as the pods of the last bursts waited."""
    nodes = (NodeStart(NOW - seconds(86_400), 200.0),)
    at, _ = raised_at(StartupDelays(seconds=(40.0,), nodes=nodes))

    assert 95.0 == at


def test_fires_are_no_arrivals_that_nobody_knew_of() -> None:
    """They raise no rate, and are not expected to come again."""
    soon = Fires((NOW + seconds(2)).timestamp(), 60, 480.0)
    before = replace(demand(), fires=(soon,))
    known = learned(learned(None, before, 0), demand(NOW + seconds(5), total=60), 0)

    assert (0.0, 60.0) == (known.quick, round(known.due_jobs))


def test_other_scheduled_work_says_nothing_of_schedules() -> None:
    """Jobs that were delayed have the sentence as it is."""
    cluster = Cluster(pool(), look(0), State(startup_delays=StartupDelays(seconds=(40.0,))))
    decision = cluster.tick(demand(useful=0, due=[480.0] * 4))

    assert Reason.SCHEDULED_WORK is decision.reason
    assert Reason.SCHEDULED_WORK not in decision.details


def test_a_pool_that_waits_for_a_burst_keeps_its_pods() -> None:
    """Nothing runs yet, and it is not taken for empty."""
    config = pool(keep="0s", stabilization="0s")
    start = State(startup_delays=StartupDelays(seconds=(40.0,)))
    cluster = Cluster(config, look(0), start)
    seen: list[int] = []
    for _ in range(60):
        cluster.tick(BEFORE)
        seen.append(cluster.inputs.workload.replicas)
    later = Cluster(config, look(0), start)

    assert [0, 10] == sorted(set(seen))
    assert seen == sorted(seen)
    assert later.tick(demand(useful=0)).scale is None
