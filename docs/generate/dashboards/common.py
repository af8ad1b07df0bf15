"""What several dashboards have: their uids, variables and marks."""

from docs.generate.dashboards.parts import Choice, Event
from docs.generate.dashboards.promql import series

OVERVIEW, FAIRNESS = "fairlead-overview", "fairlead-fairness"
AUTOSCALER, WORKERS = "fairlead-autoscaler", "fairlead-workers"

SCHEDULER, CONTROLLER = 'program="scheduler"', 'program="autoscaler"'
PARTS = ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
"""Quantiles, and what they are called."""

ONE = Choice(
    name="namespace",
    label="Namespace",
    about="Which installation; figures of two are never added up.",
    series="fairlead_build_info",
    many=False,
)
JOBS = Choice(
    name="job",
    label="Job",
    about="Prometheus's scrape job.",
    series="fairlead_build_info",
)
QUEUES = Choice(
    name="queue",
    label="Queue",
    about="Narrows what is said of queues; the fleet's figures stay as they are.",
    series="fairlead_queue_depth",
)
POOLS = Choice(
    name="pool",
    label="Pool",
    about="Narrows what is said of pools.",
    series="fairlead_worker_slots",
)
OBJECTIVE = Choice(
    name="objective",
    label="Objective without rules, s",
    about="How long a job may wait, where no rule records what is late by the objectives of "
    "the policy: a bucket of fairlead_job_wait_seconds.",
    series="fairlead_job_wait_seconds_bucket",
    label_name="le",
    many=False,
    chosen="30.0",
)
TARGET = Choice(
    name="target",
    label="Part in time",
    about="Which part of the jobs is to start within the objective; the rest is the budget.",
    values=("0.99", "0.9", "0.95", "0.995", "0.999"),
    many=False,
)

LEAD_CHANGED = Event(
    name="Lead changed",
    expr=f"sum by (program) "
    f"(increase({series('fairlead_leader_transitions_total')}[$__rate_interval])) > 0",
    title="Another {{program}} leads",
    colour="purple",
)
POLICY_CHANGED = Event(
    name="Policy changed",
    expr=f"max(changes({series('fairlead_config_generation')}[$__rate_interval])) > 0",
    title="Another policy is in force",
    colour="blue",
)

INSTANCES = Choice(
    name="instance",
    label="Process",
    about="Narrows what each process says of itself; what a leader says stays as it is.",
    series="fairlead_build_info",
)
