"""The scheduler's settings: variables with the prefix `FAIRLEAD_`, checked at start.

All replicas of one release must behave alike, so give them the same values.
"""

from typing import Literal

from pydantic import Field, model_validator

from fairlead.settings import ServiceSettings


class SchedulerSettings(ServiceSettings):
    """The settings of `fairlead-scheduler`."""

    pool: str = Field(
        default="default",
        min_length=1,
        max_length=128,
        description="The worker pool that serves every queue, unless the policy has `pools`.",
    )
    lease_seconds: float = Field(
        default=3.0,
        ge=1,
        le=60,
        description="Seconds that the leader's lease lasts after a renewal: a crash of the "
        "leader stops dispatch for this long and up to a second more.",
    )
    renew_seconds: float = Field(
        default=1.0, ge=0.1, le=20, description="Seconds between two renewals of the lease."
    )
    margin_seconds: float = Field(
        default=0.5,
        ge=0.1,
        le=20,
        description="Seconds before the end of its lease at which a leader that could not "
        "renew it stops acting.",
    )
    tick_seconds: float = Field(
        default=0.01,
        ge=0.001,
        le=1,
        description="Seconds to rest between two ticks of the loop while there is work. Longer "
        "rests make bigger batches and add latency.",
    )
    idle_seconds: float = Field(
        default=0.1,
        ge=0.01,
        le=5,
        description="Seconds to rest between two ticks while there is no work: the longest "
        "that a job whose notification was lost waits to be seen.",
    )
    queued_max: int = Field(
        default=2000,
        ge=1,
        le=100_000,
        description="The largest number of a pool's unclaimed rows in work_queue, unless the "
        "policy has `capacity.depthCeiling`. The actual depth follows how fast workers claim.",
    )
    timeout_default_seconds: float = Field(
        default=600.0,
        gt=0,
        description="The time limit of one attempt, in seconds, where neither the job's row"
        " nor its pool in the policy sets one.",
    )
    timeout_max_seconds: float = Field(
        default=3600.0,
        gt=0,
        description="The longest time limit of one attempt, in seconds, whatever the job's row "
        "says, where its pool in the policy sets none.",
    )
    worker_lease_seconds: float = Field(
        default=15.0,
        ge=1,
        le=600,
        description="The workers' lease_seconds. No worker's lease counts as lapsed until so "
        "long after the server's start and after this leader's take-over.",
    )
    overdue_seconds: float = Field(
        default=30.0,
        ge=1,
        le=3600,
        description="Seconds past its deadline after which an attempt is taken back from a "
        "live worker, which should have ended it itself.",
    )
    promote_seconds: float = Field(
        default=0.1,
        ge=0.01,
        le=10,
        description="Seconds to rest between two promotions of jobs that fell due.",
    )
    sweep_max: int = Field(
        default=1000,
        ge=1,
        le=10_000,
        description="The largest number of rows that one statement of a sweep changes.",
    )
    lanes_max: int = Field(
        default=20_000,
        ge=100,
        le=1_000_000,
        description="The largest number of queues in which the leader keeps a tenant's pending "
        "jobs, each priority counted apart, at 5 kB each. Jobs in other queues wait until some "
        "of these have none left.",
    )
    scan_seconds: float = Field(
        default=20.0,
        ge=1,
        le=300,
        description="Seconds between two scans of all lanes for jobs that no other read found.",
    )
    audit_seconds: float = Field(
        default=30.0,
        ge=1,
        le=600,
        description="Seconds between two audits, which compare all of work_queue with the "
        "leader's ledger.",
    )
    report_seconds: float = Field(
        default=5.0,
        ge=1,
        le=60,
        description="Seconds between two samples for the fairness report, which covers the "
        "last twelve such spans; 2 ms for each lane with work, where that is "
        "longer.",
    )
    catch_up_max: int = Field(
        default=1000,
        ge=1,
        le=100_000,
        description="The largest number of missed fires of one schedule that one pass catches "
        "up on; the next passes do the rest.",
    )
    schedules_max: int = Field(
        default=50_000,
        ge=1,
        le=1_000_000,
        description="The largest number of schedules that one login made for one tenant and "
        "that fire, the first by name. A thousand take a megabyte of the leader's memory; "
        "50,000 are read every 20 seconds, fewer more often.",
    )
    login_schedules_max: int = Field(
        default=100_000,
        ge=1,
        le=1_000_000,
        description="The largest number of schedules that one login made and that fire, the "
        "first by tenant and name.",
    )
    schedule_interval_seconds: int = Field(
        default=10,
        ge=1,
        le=86_400,
        description="The least seconds between two fires of one schedule that an administrator "
        "has not made; fires that come sooner are passed over.",
    )
    tenant_fires_per_second: int = Field(
        default=100,
        ge=1,
        le=100_000,
        description="How many fires of one tenant's schedules insert jobs, each second on "
        "average and ten times as many at once; the others wait their turn.",
    )
    history_days_ahead: int = Field(
        default=14,
        ge=2,
        le=90,
        description="Days ahead for which partitions of the history are made.",
    )
    history_days_succeeded: int = Field(
        default=7, ge=1, le=3650, description="Days that succeeded jobs stay in the history."
    )
    history_days_unsuccessful: int = Field(
        default=30,
        ge=1,
        le=3650,
        description="Days that all other jobs stay in the history, and that errors of attempts "
        "and fires of schedules are kept.",
    )
    history_days_audit: int = Field(
        default=400,
        ge=30,
        le=3650,
        description="Days that entries of the audit log are kept.",
    )
    metrics_kind_allowlist: str = Field(
        default="",
        description="Kinds of jobs that get a label of their own in metrics, separated by "
        "commas; all others are `other`. Empty: the first 200 kinds seen.",
    )

    metrics_tenants: Literal["names", "hashes", "off"] = Field(
        default="names",
        description="What tenants are called on the metrics page, which asks for no login: by "
        "their names, or by hashes, which `fairlead tenants --hashes` shows beside the names. "
        "`off` is `hashes`: no names.",
    )

    @model_validator(mode="after")
    def _relations(self) -> "SchedulerSettings":
        if self.renew_seconds + self.margin_seconds > self.lease_seconds / 2:
            raise ValueError(
                f"renew_seconds ({self.renew_seconds:g}) and margin_seconds "
                f"({self.margin_seconds:g}) together must be at most half of lease_seconds "
                f"({self.lease_seconds:g}), so that one renewal may fail"
            )
        if self.tick_seconds > self.idle_seconds:
            raise ValueError(
                f"tick_seconds ({self.tick_seconds:g}) must not be above idle_seconds "
                f"({self.idle_seconds:g})"
            )
        if self.timeout_default_seconds > self.timeout_max_seconds:
            raise ValueError(
                f"timeout_default_seconds ({self.timeout_default_seconds:g}) must not be above "
                f"timeout_max_seconds ({self.timeout_max_seconds:g})"
            )
        return self
