"""The first row of the autoscaler's board: eight figures, each green or not."""

from docs.generate.dashboards import common
from docs.generate.dashboards.parts import (
    Look,
    Panel,
    Query,
    Row,
    bad_above,
    bad_from,
    odd_from,
)
from docs.generate.dashboards.promql import POOL, else_zero, grown, highest, series


def _pods(of: str) -> str:
    return highest("fairlead_autoscaler_replicas", "pool", POOL, f'type="{of}"')


VERDICTS = Row(
    "Is something wrong? Green: no.",
    (
        Panel(
            title="Autoscaler",
            about="Whether exactly one autoscaler leads. Without one pods stay as they are.",
            act="Look at the autoscaler's pods and their log; they need the cluster's API for "
            "the Lease, and the database.",
            unit="none",
            runbook="FairleadAutoscalerNoLeader",
            queries=(
                Query(
                    else_zero(f"sum({series('fairlead_leader', common.CONTROLLER)})"),
                    "leaders",
                ),
            ),
            look=Look.NUMBER,
            steps=((None, "red"), (1, "green"), (2, "orange")),
            words=((0, "none leads"), (1, "one leads")),
        ),
        Panel(
            title="Pods missing",
            about="Pods that a pool should have and that are not ready; the worst pool.",
            act="For longer than a start takes: see whether they are starting or without a "
            "node below, and `kubectl describe` one of them.",
            unit="short",
            runbook="FairleadDesiredNotReached",
            queries=(Query(f"max({_pods('desired')} - {_pods('ready')})", "missing"),),
            look=Look.NUMBER,
            steps=bad_above(1, 5),
            empty="no pool is scaled",
        ),
        Panel(
            title="Pods without a node",
            about="Pods that the cluster cannot place.",
            act="Add nodes, or ask for less in `workerPools.….resources`.",
            unit="short",
            runbook="FairleadPodsUnschedulable",
            queries=(Query(f"sum({_pods('unschedulable')})", "pods"),),
            look=Look.NUMBER,
            steps=bad_from(1),
            empty="no pool is scaled",
        ),
        Panel(
            title="Pools at their maximum",
            about="Pools that would have more pods but for their maximum, a schedule's, or the "
            "cost that may be.",
            act="With a backlog that grows: raise `autoscale.max` of the pool, or accept that "
            "its jobs wait.",
            unit="short",
            runbook="FairleadBacklogGrowsAtMax",
            queries=(
                Query(
                    else_zero(
                        "count(max by (pool) ("
                        + series(
                            "fairlead_autoscaler_limited_info",
                            POOL,
                            'reason=~"AtMax|AtScheduleMax|AtCostMax"',
                        )
                        + ") > 0)"
                    ),
                    "pools",
                ),
            ),
            look=Look.NUMBER,
            steps=odd_from(1),
        ),
        Panel(
            title="Scheduler's word",
            about="How old the oldest word is of what a pool needs. After 15 s nothing is "
            "taken away any more.",
            act="See whether a scheduler leads; then whether the autoscaler's database login "
            "may read what it writes.",
            unit="s",
            runbook="FairleadAutoscalerStale",
            queries=(
                Query(f"max({series('fairlead_autoscaler_input_age_seconds', POOL)})", "age"),
            ),
            look=Look.NUMBER,
            steps=bad_above(15, 60),
            empty="no pool is scaled",
        ),
        Panel(
            title="Paused",
            about="Pools whose autoscaling somebody switched off, in part or as a whole.",
            act="Meant for a while and forgotten? Take `pause`, `holdIn`, `holdOut` or "
            "`dryRun` out of the policy.",
            unit="short",
            queries=(
                Query(
                    "sum(" + highest("fairlead_autoscaler_paused", "pool", POOL) + ")",
                    "pools",
                ),
            ),
            look=Look.NUMBER,
            steps=odd_from(1),
            empty="no pool is scaled",
        ),
        Panel(
            title="Wrong victims",
            about="Pods at work that were deleted in the place of emptied ones, in the time "
            "shown. Their jobs had their grace.",
            act="Somebody else deletes pods of the pool, or writes its replicas: look for "
            "`ForeignWriter` below, for evictions, and for another autoscaler.",
            unit="short",
            runbook="FairleadWrongVictim",
            queries=(
                Query(
                    else_zero(grown("fairlead_autoscaler_wrong_victims", "$__range", "", POOL)),
                    "pods",
                ),
            ),
            look=Look.NUMBER,
            steps=bad_from(1),
            decimals=0,
        ),
        Panel(
            title="Steps that fail",
            about="Steps of the autoscaler that failed in the time shown.",
            act="See below at which stage: `observe` is the database or the cluster's API, "
            "`scale` a right that is missing or a conflict, `policy` a document.",
            unit="short",
            queries=(
                Query(else_zero(grown("fairlead_autoscaler_errors", "$__range", "")), "steps"),
            ),
            look=Look.NUMBER,
            steps=bad_above(1, 20),
            decimals=0,
        ),
    ),
)
