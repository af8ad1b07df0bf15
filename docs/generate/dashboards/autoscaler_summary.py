"""The first row of the autoscaler's dashboard: eight figures, each green or not."""

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


SUMMARY = Row(
    "Is something wrong? Green means no.",
    (
        Panel(
            title="Autoscaler",
            about="Whether exactly one autoscaler leads. Without a leader pods stay as "
            "they are.",
            act="Check the autoscaler's pods and log; they need the Kubernetes API for "
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
            act="For longer than a start takes: see below whether they are starting or "
            "have no node, and `kubectl describe` one of them.",
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
            act="Add nodes, or request less in `workerPools.….resources`.",
            unit="short",
            runbook="FairleadPodsUnschedulable",
            queries=(Query(f"sum({_pods('unschedulable')})", "pods"),),
            look=Look.NUMBER,
            steps=bad_from(1),
            empty="no pool is scaled",
        ),
        Panel(
            title="Pools at their maximum",
            about="Pools that would have more pods but for their maximum, a schedule's "
            "maximum, or the cost limit.",
            act="With a growing backlog: raise `autoscale.max` of the pool, or accept "
            "that its jobs wait.",
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
            title="Age of the demand figures",
            about="How old the scheduler's figures of what a pool needs are; the "
            "oldest pool. After 15 s no pod is removed.",
            act="Check whether a scheduler leads, then whether the autoscaler's "
            "database login may read what it writes.",
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
            about="Pools whose autoscaling is switched off by hand, in part or as a whole.",
            act="Meant for a while and forgotten? Remove `pause`, `holdIn`, `holdOut` "
            "or `dryRun` from the policy.",
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
            about="Busy pods, in the time shown, that were deleted in place of drained "
            "ones. Their jobs had the grace period.",
            act="Something else deletes pods of the pool, or writes its replicas: look "
            "for `ForeignWriter` below, for evictions, and for another "
            "autoscaler.",
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
            title="Failed steps",
            about="Steps of the autoscaler that failed in the time shown.",
            act="See below at which stage: `observe` is the database or the Kubernetes "
            "API, `scale` a missing right or a conflict, `policy` a document.",
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
