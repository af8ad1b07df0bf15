"""Fairness: who gets what, against what they are entitled to, and what holds them back."""

from docs.generate.dashboards import common
from docs.generate.dashboards.parts import (
    Board,
    Look,
    Panel,
    Query,
    Row,
    bad_above,
    bad_below,
    bad_from,
)
from docs.generate.dashboards.promql import (
    POOL,
    QUEUE,
    else_zero,
    grown_or_begun,
    highest,
    rate,
    series,
)

_QUIET, _NOISY = 'group="quiet"', 'group="noisy"'
_TENANT = "queue, tenant"
_NAMED = 'tenant!="other"'

_VERDICTS = Row(
    "Is it fair? Green: yes.",
    (
        Panel(
            title="Jain's index",
            about="How evenly tenants that wanted more all the last minute got what they are "
            "entitled to: 1 is even, 1/n is all for one. The worst pool is shown.",
            act="Below 0.9 for minutes: see who is behind below. Long jobs need a while until "
            "it evens out; a limit or a rate that holds somebody shows as unfair, too.",
            unit="none",
            queries=(Query(f"min({series('fairlead_fairness_jain', POOL)} > 0)", "Jain"),),
            look=Look.NUMBER,
            steps=bad_below(0.95, 0.8),
            empty="fewer than two want more",
            highest=1,
            decimals=3,
        ),
        Panel(
            title="Quiet tenants' wait of objective",
            about="For how long the oldest job of a tenant has waited that had no work all the "
            "time, as part of its pool's objective; the worst pool that has one. A fair order "
            "keeps this short beside any flood.",
            act="See what holds them back below. If nothing does, all slots are taken by long "
            "jobs: keep a reserve, or add slots.",
            unit="percentunit",
            queries=(
                Query(
                    "max("
                    + highest("fairlead_tenants_oldest_wait_seconds", "pool", POOL, _QUIET)
                    + " / on (pool) "
                    + highest("fairlead_pool_objective_seconds", "pool", POOL)
                    + ")",
                    "quiet",
                ),
            ),
            look=Look.NUMBER,
            steps=bad_above(0.5, 1),
            empty="no work, or no objective",
            decimals=0,
        ),
        Panel(
            title="Noisy tenants' oldest wait",
            about="For how long the oldest job of a tenant has waited that wanted more than it "
            "got all the last minute. It waits for its own jobs, mostly.",
            act="This may be long: it is their own backlog. Too long for them: give them "
            "weight, or the pool more slots.",
            unit="s",
            queries=(
                Query(
                    f"max({series('fairlead_tenants_oldest_wait_seconds', POOL, _NOISY)})",
                    "noisy",
                ),
            ),
            look=Look.NUMBER,
            empty="none wants more",
        ),
        Panel(
            title="Farthest behind",
            about="Slot-seconds of the last minute that the tenant farthest behind was "
            "entitled to and did not get.",
            act="See below who it is. Compare it with the longest job: one job's length "
            "behind is the order's granularity, and no fault.",
            unit="s",
            queries=(
                Query(
                    "clamp_min(-min("
                    + series("fairlead_tenant_lag_slot_seconds", QUEUE, _NAMED)
                    + "), 0)",
                    "behind",
                ),
            ),
            look=Look.NUMBER,
            empty="none has work",
        ),
        Panel(
            title="Held back",
            about="Tenants of queues that have work and may not start any of it.",
            act="See below by what. `pool` means that no pool serves their queue.",
            unit="short",
            queries=(Query(f"sum({highest('fairlead_lanes_blocked', 'reason')})", "lanes"),),
            look=Look.NUMBER,
            empty="none",
        ),
        Panel(
            title="Refuse more jobs",
            about="Tenants of queues, and queues, whose backlog is at its limit, so that an "
            "INSERT for them fails.",
            act="Applications get errors now. Raise `backlog` of the policy, or find out why "
            "the tenant floods.",
            unit="short",
            queries=(Query(f"max({series('fairlead_lanes_over_backlog')})", "lanes"),),
            look=Look.NUMBER,
            steps=bad_from(1),
        ),
        Panel(
            title="Rules that fail",
            about="Looks at rules of the policy, in the time shown, that found no value or "
            "took too long. Three disable a rule until the next policy.",
            act="See below which one. Mend its condition and apply the policy again.",
            unit="short",
            queries=(
                Query(
                    " + ".join(
                        else_zero(
                            grown_or_begun(f"fairlead_policy_rule_{each}", "$__range", "")
                        )
                        for each in ("errors", "overruns")
                    ),
                    "looks",
                ),
            ),
            look=Look.NUMBER,
            steps=bad_from(1),
            decimals=0,
        ),
        Panel(
            title="Policy",
            about="Whether the newest policy that was stored can be read, and is in force.",
            act="A red one means that the last good policy stays in force: `fairlead policy "
            "history` and the leader's log name the fault.",
            unit="none",
            runbook="FairleadConfigReloadFailed",
            queries=(
                Query(
                    "min(" + series("fairlead_config_last_reload_successful") + ")",
                    "read",
                ),
            ),
            look=Look.NUMBER,
            steps=((None, "red"), (1, "green")),
            words=((0, "refused"), (1, "in force")),
            empty="none stored",
        ),
    ),
)

_SHARES = Row(
    "Who gets what?",
    (
        Panel(
            title="Share that tenants had",
            about="Which part of all slot-seconds of the last minute each of twenty tenants "
            "had: the ten with most, and ten that wait longest or are farthest behind. The "
            "others together are `other`.",
            act="Compare it with the picture beside it: they should look alike.",
            unit="percentunit",
            queries=(
                Query(
                    highest("fairlead_tenant_share", _TENANT, QUEUE), "{{tenant}} in {{queue}}"
                ),
            ),
            look=Look.STACK,
            highest=1,
            empty="Nobody has work.",
        ),
        Panel(
            title="Share that they are entitled to",
            about="What it would have been under an ideal fair order, with the weights, limits "
            "and rates of the policy.",
            act="Not what you want: change weights in the policy; `fairlead policy simulate` "
            "shows what would come of it.",
            unit="percentunit",
            queries=(
                Query(
                    highest("fairlead_tenant_entitled_share", _TENANT, QUEUE),
                    "{{tenant}} in {{queue}}",
                ),
            ),
            look=Look.STACK,
            highest=1,
            empty="Nobody has work.",
        ),
        Panel(
            title="Ahead or behind",
            about="Slot-seconds of the last minute that each tenant had beyond what it was "
            "entitled to; below zero it is behind.",
            act="Lines that swing around zero are jobs being indivisible. One that stays below "
            "for minutes is somebody who is held back: see what blocks.",
            unit="s",
            queries=(
                Query(
                    highest("fairlead_tenant_lag_slot_seconds", _TENANT, QUEUE),
                    "{{tenant}} in {{queue}}",
                ),
            ),
            lowest=None,
            empty="Nobody has work.",
        ),
    ),
)

_TENANTS = Row(
    "Noisy and quiet tenants",
    (
        Panel(
            title="Tenants that wait longest",
            about="The ten longest waits of tenants; `other` is the longest of all that have "
            "no name here. Five that wait longest have one, beside those with most slots; who "
            "has one gives way only to a wait that is a quarter longer.",
            act="`fairlead explain` of one of the tenant's jobs says why it waits.",
            unit="s",
            queries=(
                Query(
                    "topk(10, "
                    + highest("fairlead_tenant_oldest_wait_seconds", _TENANT, QUEUE)
                    + ")",
                    "{{tenant}} in {{queue}}",
                ),
            ),
            look=Look.BARS,
            empty="Nobody has work.",
        ),
        Panel(
            title="Oldest wait, noisy and quiet",
            about="For how long the oldest job of each group has waited: noisy tenants wanted "
            "more than they got all the last minute, quiet ones did not.",
            act="The quiet ones' line should stay low while the noisy ones' climbs. If they "
            "climb together, slots are short for everybody.",
            unit="s",
            queries=(
                Query(
                    highest("fairlead_tenants_oldest_wait_seconds", "pool, group", POOL),
                    "{{group}} in {{pool}}",
                ),
            ),
            empty="Nobody has work.",
        ),
        Panel(
            title="Noisy and quiet tenants",
            about="How many tenants are in each group.",
            act="Many noisy ones: most want more than there is, so the pool is too small for "
            "what it is asked for.",
            unit="short",
            queries=(
                Query(
                    highest("fairlead_tenants", "pool, group", POOL), "{{group}} in {{pool}}"
                ),
            ),
            empty="Nobody has work.",
        ),
        Panel(
            title="Jobs that tenants run",
            about="Jobs of each tenant that workers hold.",
            act="One tenant has nearly all while others wait: see whether they are held back.",
            unit="short",
            queries=(
                Query(
                    highest("fairlead_tenant_running", _TENANT, QUEUE),
                    "{{tenant}} in {{queue}}",
                ),
            ),
            look=Look.STACK,
            empty="Nobody has work.",
        ),
    ),
)

_BLOCKS = Row(
    "What holds tenants back?",
    (
        Panel(
            title="Held back, by what",
            about="Tenants of queues that have work and may not start it: a limit, a rate, a "
            "pause, a rule (`hold`), no pool for the queue, slots kept for short jobs "
            "(`reserve`), a key.",
            act="`pool`: `fairlead check` names the queue that none serves. `pause`: "
            "`fairlead resume`. The others stand in the policy.",
            unit="short",
            queries=(Query(highest("fairlead_lanes_blocked", "reason"), "{{reason}}"),),
            look=Look.STACK,
            empty="Nobody is held back.",
        ),
        Panel(
            title="Ahead or behind, by queue",
            about="Slot-seconds of the last minute that the tenants of each queue had beyond "
            "what they were entitled to.",
            act="A queue that stays behind is held by a limit of its own, or its jobs are "
            "long and the others' short.",
            unit="s",
            queries=(
                Query(highest("fairlead_queue_lag_slot_seconds", "queue", QUEUE), "{{queue}}"),
            ),
            lowest=None,
            empty="Nobody has work.",
        ),
        Panel(
            title="Rules that hold",
            about="For how many each rule of the policy is true: 1 or 0 for one about the "
            "fleet, else the number of tenants of queues, or of jobs in the last second.",
            act="A rule that should be true at this hour and is not, or the reverse: try its "
            "condition with `fairlead policy simulate`.",
            unit="short",
            queries=(Query(highest("fairlead_policy_rule_true", "rule"), "{{rule}}"),),
            empty="The policy has no rule.",
        ),
        Panel(
            title="Jobs that go before the depth",
            about="Jobs a second that were queued beyond the usual depth, because they go "
            "before what is queued or belong to a reserve: quiet tenants' beside a flood.",
            act="A rise is a flood being kept from others; nothing is to be done.",
            unit="ops",
            queries=(Query(rate("fairlead_scheduler_overflow", "pool", POOL), "{{pool}}"),),
            empty="There is no flood.",
        ),
    ),
)

_SHADOW = Row(
    "What would the shadow policy change?",
    (
        Panel(
            title="Slots that would go to others",
            about="Which part of a pool's slots in use other tenants would have under the "
            "shadow policy.",
            act="More than you meant to move: look at its weights and limits again before it "
            "is applied.",
            unit="percentunit",
            queries=(
                Query(
                    highest("fairlead_policy_shadow_moved_share", "pool, digest", POOL),
                    "{{pool}}, {{digest}}",
                ),
            ),
            highest=1,
            empty="There is no shadow policy: `fairlead policy shadow` names one.",
        ),
        Panel(
            title="Waits in force and under the shadow",
            about="What 99 in 100 jobs would wait less than, simulated under the policy in "
            "force and under the shadow.",
            act="The shadow's line is above: it makes somebody wait longer. `fairlead policy "
            "simulate` names whom.",
            unit="s",
            queries=(
                Query(
                    highest("fairlead_policy_shadow_wait_p99_seconds", "pool, policy", POOL),
                    "{{pool}}, {{policy}}",
                ),
            ),
            empty="There is no shadow policy: `fairlead policy shadow` names one.",
        ),
    ),
)

BOARD = Board(
    uid=common.FAIRNESS,
    title="Fairlead: fairness",
    about="Who gets which share of the slots, who waits, and what holds tenants back.",
    choices=(common.ONE, common.JOBS, common.POOLS, common.QUEUES),
    events=(common.LEAD_CHANGED, common.POLICY_CHANGED),
    rows=(_VERDICTS, _SHARES, _TENANTS, _BLOCKS, _SHADOW),
)
