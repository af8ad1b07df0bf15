"""What several dashboards share: their uids, variables and annotations."""

from docs.generate.dashboards.parts import Choice, Event
from docs.generate.dashboards.promql import series

OVERVIEW, FAIRNESS = "fairlead-overview", "fairlead-fairness"
AUTOSCALER, WORKERS = "fairlead-autoscaler", "fairlead-workers"

SCHEDULER, CONTROLLER = 'program="scheduler"', 'program="autoscaler"'
PARTS = ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))
"""Quantiles and their names."""

ONE = Choice(
    name="namespace",
    label="Namespace",
    about="Selects the installation; figures of two installations are never added up.",
    series="fairlead_build_info",
    many=False,
)
JOBS = Choice(
    name="job",
    label="Job",
    about="Selects the Prometheus scrape job.",
    series="fairlead_build_info",
)
QUEUES = Choice(
    name="queue",
    label="Queue",
    about="Limits the panels about queues; figures of the whole fleet do not change.",
    series="fairlead_queue_depth",
)
POOLS = Choice(
    name="pool",
    label="Pool",
    about="Limits the panels about pools.",
    series="fairlead_worker_slots",
)
OBJECTIVE = Choice(
    name="objective",
    label="Objective without rules, s",
    about="How long a job may wait, if no recording rule counts late jobs by the "
    "policy's objectives: a bucket of fairlead_job_wait_seconds.",
    series="fairlead_job_wait_seconds_bucket",
    label_name="le",
    many=False,
    chosen="30.0",
)
TARGET = Choice(
    name="target",
    label="Target",
    about="Share of the jobs that should start within the objective; the rest is the "
    "error budget.",
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
    about="Limits the panels about single processes; figures of a leader do not change.",
    series="fairlead_build_info",
)
