"""Autoscaler: why each pool has the pods that it has."""

from docs.generate.dashboards import common
from docs.generate.dashboards.autoscaler_verdicts import VERDICTS
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
    """Return the mark of each write of replicas; a reason's first one makes its series."""
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
            title="Slots that the terms ask for, and slots there are",
            about="The highest term decides: `steady` is what arrives, `drain` what waits "
            "already, `scheduled` what falls due, `running` what runs and is kept warm. "
            "*There are* and *in use* are the workers' own figures.",
            act="The highest term stays above *there are*: a limit holds the pool back, or "
            "pods do not start; see the reasons below.",
            unit="short",
            queries=(
                Query(
                    highest("fairlead_autoscaler_recommendation_slots", "pool, term", POOL),
                    "{{pool}} {{term}}",
                ),
                Query(total("fairlead_worker_slots", "pool", POOL), "{{pool}} there are"),
                Query(total("fairlead_worker_slots_busy", "pool", POOL), "{{pool}} in use"),
            ),
            empty="No pool is scaled.",
        ),
        Panel(
            title="Pods against their limits",
            about="Pods asked for (`current`), that there are to be (`desired`), by the terms "
            "alone (`recommended`), and `ready`; with the pool's `min` and `max`.",
            act="`recommended` above `max`: the limit is too low for the objective. `desired` "
            "above `ready`: pods do not start.",
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
            title="Pods that come and go",
            about="Pods that start, finish what they run before they go, are being ended, or "
            "have no node.",
            act="`draining` for long: a long job holds it, which is as it should be. "
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
    "What holds it back, and what did it do?",
    (
        Panel(
            title="What limits or forbids",
            about="When each reason held: `At…` reasons keep the pods below what was asked "
            "for, the others forbid to add or to take away. docs/reference/reasons.md has "
            "them all.",
            act="`AtMax`, `AtCostMax`: raise the limit. `AtConnections`: the database has "
            "none left. `Foreign…`: another writes the replicas. `…Stale`: see the ages.",
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
            title="Pods added and taken away",
            about="Pods a minute that were added and taken away, by pool.",
            act="Up and down within minutes, again and again: the load does so, or pods fail "
            "to start. See the events with `kubectl get events`.",
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
            title="Pods chosen to go",
            about="Pods a minute that were chosen to go, while idle or busy. Busy ones finish "
            "their jobs first.",
            act="Many busy ones: slots are more than jobs that run, but spread. Fewer slots "
            "for each pod help, or a longer `stabilization`.",
            unit="cpm",
            queries=(
                Query(
                    "60 * " + rate("fairlead_autoscaler_victims", "pool, state", POOL),
                    "{{pool}} {{state}}",
                ),
            ),
            empty="None was chosen.",
        ),
    ),
)


def _learned(title: str, about: str, act: str, unit: str, param: str) -> Panel:
    """Return the panel of one figure that was learned."""
    found = highest("fairlead_autoscaler_estimate", "pool", POOL, f'param="{param}"')
    return Panel(
        title=title,
        about=about,
        act=act,
        unit=unit,
        queries=(Query(found, "{{pool}}"),),
        empty="Nothing is known yet.",
    )


_LEARNED = Row(
    "What did it learn?",
    (
        _learned(
            "Arrivals",
            "Jobs a second that become runnable, as the autoscaler believes.",
            "Far from what comes on the overview: the scheduler's word is old.",
            "ops",
            "arrival_rate",
        ),
        _learned(
            "Run time",
            "How long a job takes, on average.",
            "A step up asks for as many more pods: see which kind of job got slower.",
            "s",
            "service_seconds",
        ),
        _learned(
            "Start delay",
            "From asking for a pod until its worker is there, as the decision takes it.",
            "Long starts cost pods: smaller images, nodes that are there, `warmSlots`.",
            "s",
            "start_seconds",
        ),
        Panel(
            title="Pod starts",
            about="From asking for a pod until its worker was there: half and 95 in 100.",
            act="95 in 100 far above half: some pods wait for a node or an image.",
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
    "Is it well itself?",
    (
        Panel(
            title="Age of the scheduler's word",
            about="How old what the scheduler said of each pool is. It speaks once a second.",
            act="Above 15 s nothing is taken away any more: see whether a scheduler leads.",
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
            about="How long one step takes, for all pools: half and 95 in 100 stay below.",
            act="Seconds: the cluster's API or the database is slow.",
            unit="s",
            queries=tuple(
                Query(quantile(part, "fairlead_autoscaler_reconcile_seconds", ""), name)
                for part, name in common.PARTS[:2]
            ),
            empty="No autoscaler runs.",
        ),
        Panel(
            title="Steps that fail, by stage",
            about="Failed steps a minute; each is tried again.",
            act="`observe`: the database or the cluster's API does not answer. `scale`: see "
            "the Role. `policy`: a document was refused. The log has the error.",
            unit="cpm",
            queries=(
                Query("60 * " + rate("fairlead_autoscaler_errors", "stage"), "{{stage}}"),
            ),
            empty="No step failed.",
        ),
        Panel(
            title="Writes that were refused",
            about="Writes of replicas, a minute, that were refused because the Deployment had "
            "changed. The next step tries again.",
            act="Now and then is usual. Steadily: another writer; see who manages the field "
            "with `kubectl get --show-managed-fields`.",
            unit="cpm",
            queries=(
                Query(
                    "60 * " + rate("fairlead_autoscaler_conflicts", "pool", POOL), "{{pool}}"
                ),
            ),
            empty="None was refused.",
        ),
    ),
)

BOARD = Board(
    uid=common.AUTOSCALER,
    title="Fairlead: autoscaler",
    about="Why each pool has the pods that it has, and what holds it back.",
    choices=(common.ONE, common.JOBS, common.POOLS),
    events=(
        _scaled("up", "green"),
        _scaled("down", "orange"),
        common.LEAD_CHANGED,
        common.POLICY_CHANGED,
    ),
    rows=(VERDICTS, _DECISION, _REASONS, _LEARNED, _HEALTH),
)
