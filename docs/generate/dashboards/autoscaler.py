"""Autoscaler: why each pool has the pods that it has."""

from docs.generate.dashboards import common
from docs.generate.dashboards.autoscaler_summary import SUMMARY
from docs.generate.dashboards.parts import (
    Board,
    Event,
    Look,
    Panel,
    Query,
    Row,
    bad_above,
)
from docs.generate.dashboards.promql import (
    POOL,
    highest,
    quantile,
    rate,
    series,
    total,
)

_REPLICAS, _ACTIONS = "fairlead_autoscaler_replicas", "fairlead_autoscaler_actions_total"
_BY_ACTION = "pool, direction, reason"


def _scaled(direction: str, colour: str) -> Event:
    """Return the annotation of each write of replicas, the first of each reason included."""
    found = series(_ACTIONS, POOL, f'direction="{direction}"')
    before = f"sum by ({_BY_ACTION}) ({found} offset $__rate_interval)"
    return Event(
        name=f"Scaled {direction}",
        expr=f"sum by ({_BY_ACTION}) (increase({found}[$__rate_interval])) > 0 or "
        f"(sum by ({_BY_ACTION}) ({found}) unless {before})",
        title="{{pool}} {{direction}}: {{reason}}",
        colour=colour,
    )


_DECISION = Row(
    "How many pods, and why?",
    (
        Panel(
            title="Slots wanted, by term, and available",
            about="The highest term decides: `steady` covers arrivals, `drain` the "
            "backlog, `scheduled` what falls due, `running` what runs and the "
            "warm slots. *available* and *in use* are the workers' own figures.",
            act="The highest term stays above *available*: a limit holds the pool "
            "back, or pods do not start; see the reasons below.",
            unit="short",
            queries=(
                Query(
                    highest("fairlead_autoscaler_recommendation_slots", "pool, term", POOL),
                    "{{pool}} {{term}}",
                ),
                Query(total("fairlead_worker_slots", "pool", POOL), "{{pool}} available"),
                Query(total("fairlead_worker_slots_busy", "pool", POOL), "{{pool}} in use"),
            ),
            empty="No pool is scaled.",
        ),
        Panel(
            title="Pods and their limits",
            about="Pods asked for (`current`), decided on (`desired`), wanted before "
            "limits (`recommended`), and `ready`; with the pool's `min` and "
            "`max`.",
            act="`recommended` above `max`: the limit is too low for the objective. "
            "`desired` above `ready`: pods do not start.",
            unit="short",
            queries=(
                Query(
                    highest(
                        _REPLICAS,
                        "pool, type",
                        POOL,
                        'type=~"current|desired|recommended|ready"',
                    ),
                    "{{pool}} {{type}}",
                ),
                Query(
                    highest("fairlead_autoscaler_limit", "pool, limit", POOL),
                    "{{pool}} {{limit}}",
                ),
            ),
            empty="No pool is scaled.",
        ),
        Panel(
            title="Pods starting and stopping",
            about="Pods that start, finish their jobs before they leave, are being "
            "terminated, or have no node.",
            act="`draining` for long: a long job holds the pod, which is normal. "
            "`unschedulable`: the cluster has no room.",
            unit="short",
            queries=(
                Query(
                    highest(
                        _REPLICAS,
                        "pool, type",
                        POOL,
                        'type=~"starting|draining|terminating|unschedulable"',
                    ),
                    "{{pool}} {{type}}",
                ),
            ),
            look=Look.STACK,
            empty="No pool is scaled.",
        ),
    ),
)

_REASONS = Row(
    "What limits it, and what did it do?",
    (
        Panel(
            title="What limits scaling",
            about="When each reason applied. `At…` reasons keep the pods below what "
            "was wanted; the others forbid adding or removing pods. "
            "docs/reference/reasons.md lists them all.",
            act="`AtMax`, `AtCostMax`: raise the limit. `AtConnections`: the database "
            "has none left. `Foreign…`: another program writes the replicas. "
            "`…Stale`: see the ages.",
            unit="short",
            queries=(
                Query(
                    highest("fairlead_autoscaler_limited_info", "pool, reason", POOL),
                    "{{pool}} {{reason}}",
                ),
            ),
            look=Look.SPANS,
            empty="Nothing limits any pool.",
        ),
        Panel(
            title="Pods added and removed",
            about="Pods added and removed per minute, by pool.",
            act="Up and down within minutes, again and again: the load varies like "
            "that, or pods fail to start. See the events with `kubectl get "
            "events`.",
            unit="cpm",
            queries=(
                Query(
                    "60 * "
                    + rate("fairlead_autoscaler_action_replicas", "pool, direction", POOL),
                    "{{pool}} {{direction}}",
                ),
            ),
            empty="Nothing was scaled.",
        ),
        Panel(
            title="Pods chosen for removal",
            about="Pods per minute that were chosen for removal, idle or busy. Busy "
            "ones finish their jobs first.",
            act="Many busy ones: there are more slots than running jobs, but the jobs "
            "are spread over all pods. Fewer slots per pod help, or a longer "
            "`stabilization`.",
            unit="cpm",
            queries=(
                Query(
                    "60 * " + rate("fairlead_autoscaler_victims", "pool, state", POOL),
                    "{{pool}} {{state}}",
                ),
            ),
            empty="No pod was chosen.",
        ),
    ),
)


def _learned(title: str, about: str, act: str, unit: str, param: str) -> Panel:
    """Return the panel of one estimate."""
    found = highest("fairlead_autoscaler_estimate", "pool", POOL, f'param="{param}"')
    return Panel(
        title=title,
        about=about,
        act=act,
        unit=unit,
        queries=(Query(found, "{{pool}}"),),
        empty="No estimate yet.",
    )


_LEARNED = Row(
    "What does it estimate?",
    (
        _learned(
            "Arrivals",
            "Jobs per second that become runnable, as the autoscaler estimates.",
            "Far from the arrivals on the overview: the scheduler's figures are old.",
            "ops",
            "arrival_rate",
        ),
        _learned(
            "Run time",
            "How long a job takes, on average.",
            "A step up needs proportionally more pods: check which kind of job got slower.",
            "s",
            "service_seconds",
        ),
        _learned(
            "Start delay",
            "From asking for a pod until its worker is registered, as the decision assumes.",
            "Long starts cost pods: use smaller images, spare nodes, or `warmSlots`.",
            "s",
            "start_seconds",
        ),
        Panel(
            title="Time to start a pod",
            about="From asking for a pod until its worker is registered: median and "
            "95th percentile.",
            act="A 95th percentile far above the median: some pods wait for a node or "
            "an image.",
            unit="s",
            queries=tuple(
                Query(
                    quantile(part, "fairlead_pod_start_seconds", "pool", POOL),
                    f"{{{{pool}}}} {name}",
                )
                for part, name in common.PARTS[:2]
            ),
            empty="No pod started.",
        ),
    ),
)

_HEALTH = Row(
    "Is the autoscaler healthy?",
    (
        Panel(
            title="Age of the demand figures, by pool",
            about="How old the scheduler's figures for each pool are. It writes them "
            "once a second.",
            act="Above 15 s no pod is removed: check whether a scheduler leads.",
            unit="s",
            queries=(
                Query(
                    highest("fairlead_autoscaler_input_age_seconds", "pool", POOL), "{{pool}}"
                ),
            ),
            steps=bad_above(15, 60),
            empty="No pool is scaled.",
        ),
        Panel(
            title="Step time",
            about="How long one step takes, for all pools: median and 95th percentile.",
            act="Seconds: the Kubernetes API or the database is slow.",
            unit="s",
            queries=tuple(
                Query(quantile(part, "fairlead_autoscaler_reconcile_seconds", ""), name)
                for part, name in common.PARTS[:2]
            ),
            empty="No autoscaler runs.",
        ),
        Panel(
            title="Failed steps, by stage",
            about="Failed steps per minute; each is tried again.",
            act="`observe`: the database or the Kubernetes API does not answer. "
            "`scale`: check the Role. `policy`: a document was refused. The log "
            "has the error.",
            unit="cpm",
            queries=(
                Query("60 * " + rate("fairlead_autoscaler_errors", "stage"), "{{stage}}"),
            ),
            empty="No step failed.",
        ),
        Panel(
            title="Refused writes",
            about="Writes of replicas per minute that were refused because the "
            "Deployment had changed. The next step tries again.",
            act="A few are normal. A steady rate means another writer: see who manages "
            "the field with `kubectl get --show-managed-fields`.",
            unit="cpm",
            queries=(
                Query(
                    "60 * " + rate("fairlead_autoscaler_conflicts", "pool", POOL), "{{pool}}"
                ),
            ),
            empty="No write was refused.",
        ),
    ),
)

BOARD = Board(
    uid=common.AUTOSCALER,
    title="Fairlead: autoscaler",
    about="Why each pool has the pods that it has, and what limits it.",
    choices=(common.ONE, common.JOBS, common.POOLS),
    events=(
        _scaled("up", "green"),
        _scaled("down", "orange"),
        common.LEAD_CHANGED,
        common.POLICY_CHANGED,
    ),
    rows=(SUMMARY, _DECISION, _REASONS, _LEARNED, _HEALTH),
)
