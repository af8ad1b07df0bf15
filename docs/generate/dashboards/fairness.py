"""Fairness: what each tenant gets and is entitled to, and what blocks tenants."""

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
    "Is it fair? Green means yes.",
    (
        Panel(
            title="Jain's index",
            about="How evenly the tenants that wanted more throughout the last minute "
            "got what they are entitled to: 1 is even, 1/n means that one has "
            "all. Shows the worst pool.",
            act="Below 0.9 for minutes: see below who is behind. Long jobs take a "
            "while to even out; a tenant that a limit or a rate blocks counts as "
            "unfair too.",
            unit="none",
            queries=(Query(f"min({series('fairlead_fairness_jain', POOL)} > 0)", "Jain"),),
            look=Look.NUMBER,
            steps=bad_below(0.95, 0.8),
            empty="fewer than two want more",
            highest=1,
            decimals=3,
        ),
        Panel(
            title="Quiet tenants' wait / objective",
            about="How long the oldest job of a quiet tenant (one that did not have "
            "work all the time) has waited, divided by its pool's objective; the "
            "worst pool that has one. A fair order keeps this low during any "
            "flood.",
            act="See below what blocks them. If nothing does, long jobs hold all "
            "slots: keep a reserve, or add slots.",
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
            about="How long the oldest job of a noisy tenant (one that wanted more "
            "than it got throughout the last minute) has waited. It waits mostly "
            "for the tenant's own jobs.",
            act="This may be long: it is their own backlog. If it is too long for "
            "them, give them weight, or the pool more slots.",
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
            act="See below which tenant it is. Compare it with the longest job: being "
            "behind by one job is the order's granularity, and no fault.",
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
            title="Blocked lanes",
            about="Tenants of queues that have work and may not start any of it.",
            act="See below what blocks them. `pool` means that no pool serves their queue.",
            unit="short",
            queries=(Query(f"sum({highest('fairlead_lanes_blocked', 'reason')})", "lanes"),),
            look=Look.NUMBER,
            empty="none",
        ),
        Panel(
            title="At the backlog limit",
            about="Tenants of queues, and queues, at their backlog limit, so that an "
            "INSERT for them fails.",
            act="Applications get errors now. Raise `backlog` in the policy, or find "
            "out why the tenant floods.",
            unit="short",
            queries=(Query(f"max({series('fairlead_lanes_over_backlog')})", "lanes"),),
            look=Look.NUMBER,
            steps=bad_from(1),
        ),
        Panel(
            title="Rules that fail",
            about="Evaluations of the policy's rules, in the time shown, that produced "
            "no value or took too long. Three of them disable a rule until the "
            "next policy.",
            act="See below which rule it is. Correct its condition and apply the policy again.",
            unit="short",
            queries=(
                Query(
                    " + ".join(
                        else_zero(
                            grown_or_begun(f"fairlead_policy_rule_{each}", "$__range", "")
                        )
                        for each in ("errors", "overruns")
                    ),
                    "evaluations",
                ),
            ),
            look=Look.NUMBER,
            steps=bad_from(1),
            decimals=0,
        ),
        Panel(
            title="Policy",
            about="Whether the newest stored policy can be read and is in force.",
            act="If red, the last good policy stays in force: `fairlead policy "
            "history` and the leader's log name the error.",
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
            title="Share that tenants got",
            about="Share of all slot-seconds of the last minute that each of twenty "
            "tenants got: the ten with most, and ten that wait longest or are "
            "farthest behind. All others together are `other`.",
            act="Compare it with the next panel: the two should look alike.",
            unit="percentunit",
            queries=(
                Query(
                    highest("fairlead_tenant_share", _TENANT, QUEUE), "{{tenant}} in {{queue}}"
                ),
            ),
            look=Look.STACK,
            highest=1,
            empty="No tenant has work.",
        ),
        Panel(
            title="Share that they are entitled to",
            about="The share under an ideal fair order, with the weights, limits and "
            "rates of the policy.",
            act="If this is not what you want, change weights in the policy; `fairlead "
            "policy simulate` shows the effect.",
            unit="percentunit",
            queries=(
                Query(
                    highest("fairlead_tenant_entitled_share", _TENANT, QUEUE),
                    "{{tenant}} in {{queue}}",
                ),
            ),
            look=Look.STACK,
            highest=1,
            empty="No tenant has work.",
        ),
        Panel(
            title="Ahead or behind",
            about="Slot-seconds of the last minute that each tenant got beyond what it "
            "was entitled to; below zero it is behind.",
            act="Lines swing around zero because jobs are indivisible. A line that "
            "stays below zero for minutes is a tenant that is blocked: see what "
            "blocks it.",
            unit="s",
            queries=(
                Query(
                    highest("fairlead_tenant_lag_slot_seconds", _TENANT, QUEUE),
                    "{{tenant}} in {{queue}}",
                ),
            ),
            lowest=None,
            empty="No tenant has work.",
        ),
    ),
)

_TENANTS = Row(
    "Noisy and quiet tenants",
    (
        Panel(
            title="Tenants that wait longest",
            about="The ten longest waits. Only the tenants with most slots and five "
            "that wait longest have a name; `other` is the longest wait of the "
            "rest. A named tenant is replaced only by one whose wait is a "
            "quarter longer.",
            act="`fairlead explain` of one of the tenant's jobs tells why it waits.",
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
            empty="No tenant has work.",
        ),
        Panel(
            title="Oldest wait, noisy and quiet",
            about="How long the oldest job of each group has waited. Noisy tenants "
            "wanted more than they got throughout the last minute; quiet ones "
            "did not.",
            act="The quiet line should stay low while the noisy one climbs. If both "
            "climb, the pool is short of slots for all.",
            unit="s",
            queries=(
                Query(
                    highest("fairlead_tenants_oldest_wait_seconds", "pool, group", POOL),
                    "{{group}} in {{pool}}",
                ),
            ),
            empty="No tenant has work.",
        ),
        Panel(
            title="Noisy and quiet tenants",
            about="The number of tenants in each group.",
            act="Many noisy ones: most tenants want more than there is, so the pool is "
            "too small for the load.",
            unit="short",
            queries=(
                Query(
                    highest("fairlead_tenants", "pool, group", POOL), "{{group}} in {{pool}}"
                ),
            ),
            empty="No tenant has work.",
        ),
        Panel(
            title="Running jobs, by tenant",
            about="Jobs of each tenant that workers hold.",
            act="One tenant has nearly all while others wait: check whether the others "
            "are blocked.",
            unit="short",
            queries=(
                Query(
                    highest("fairlead_tenant_running", _TENANT, QUEUE),
                    "{{tenant}} in {{queue}}",
                ),
            ),
            look=Look.STACK,
            empty="No tenant has work.",
        ),
    ),
)

_BLOCKS = Row(
    "What blocks tenants?",
    (
        Panel(
            title="Blocked lanes, by reason",
            about="Tenants of queues that have work but may not start it: because of a "
            "limit, a rate, a pause, a rule (`hold`), no pool for the queue, "
            "slots kept for short jobs (`reserve`), a key, the limit of a `kind`.",
            act="`pool`: `fairlead doctor` names the queue that no pool serves. "
            "`pause`: `fairlead resume`. All others are in the policy.",
            unit="short",
            queries=(Query(highest("fairlead_lanes_blocked", "reason"), "{{reason}}"),),
            look=Look.STACK,
            empty="No lane is blocked.",
        ),
        Panel(
            title="Ahead or behind, by queue",
            about="Slot-seconds of the last minute that the tenants of each queue got "
            "beyond what they were entitled to.",
            act="A queue that stays behind has a limit of its own, or its jobs are "
            "long and those of the others short.",
            unit="s",
            queries=(
                Query(highest("fairlead_queue_lag_slot_seconds", "queue", QUEUE), "{{queue}}"),
            ),
            lowest=None,
            empty="No tenant has work.",
        ),
        Panel(
            title="Rules that are true",
            about="For how many lanes, or jobs in the last second, each rule of the "
            "policy is true; for a rule about the fleet 1 or 0.",
            act="A rule is true that should not be at this hour, or the reverse: try "
            "its condition with `fairlead policy simulate`.",
            unit="short",
            queries=(Query(highest("fairlead_policy_rule_true", "rule"), "{{rule}}"),),
            empty="The policy has no rule.",
        ),
        Panel(
            title="Jobs queued beyond the depth",
            about="Jobs per second that were queued beyond the usual depth, because "
            "they go before the queued ones or belong to a reserve: those of "
            "quiet tenants during a flood.",
            act="A rise means that a flood is kept from the others; there is nothing to do.",
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
            about="Share of a pool's busy slots that other tenants would have under "
            "the shadow policy.",
            act="More than you meant to move: check its weights and limits again "
            "before you apply it.",
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
            title="p99 wait, current and shadow policy",
            about="The 99th percentile of waits, simulated under the policy in force "
            "and under the shadow policy.",
            act="The shadow's line is higher: it makes some tenant wait longer. "
            "`fairlead policy simulate` names it.",
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
    about="Which share of the slots each tenant gets, who waits, and what blocks tenants.",
    choices=(common.ONE, common.JOBS, common.POOLS, common.QUEUES),
    events=(common.LEAD_CHANGED, common.POLICY_CHANGED),
    rows=(_VERDICTS, _SHARES, _TENANTS, _BLOCKS, _SHADOW),
)
