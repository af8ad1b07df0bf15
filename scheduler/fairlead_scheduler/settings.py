"""The scheduler's settings: variables with the prefix `FAIRLEAD_`, checked at start.

What several replicas of one release do must agree, so give them the same values.
"""

from pydantic import Field, model_validator

from fairlead.settings import ServiceSettings


class SchedulerSettings(ServiceSettings):
    """What `fairlead-scheduler` does and how often."""

    pool: str = Field(
        default="default",
        min_length=1,
        max_length=128,
        description="The pool of workers that every queue belongs to, unless the policy has "
        "`pools`.",
    )
    lease_seconds: float = Field(
        default=3.0,
        ge=1,
        le=60,
        description="Seconds that the lead outlives its holder's last renewal: a crash of the "
        "leader stops dispatch for this long and a second.",
    )
    renew_seconds: float = Field(
        default=1.0, ge=0.1, le=20, description="Seconds between two renewals of the lead."
    )
    margin_seconds: float = Field(
        default=0.5,
        ge=0.1,
        le=20,
        description="Seconds before the end of its lease from which a leader that could not "
        "renew it does nothing more.",
    )
    tick_seconds: float = Field(
        default=0.01,
        ge=0.001,
        le=1,
        description="Rest between two looks while there is work. Longer makes bigger batches "
        "and costs latency.",
    )
    idle_seconds: float = Field(
        default=0.1,
        ge=0.01,
        le=5,
        description="Rest between two looks while there is none, and so the longest that a job "
        "whose notification was lost waits to be seen.",
    )
    queued_max: int = Field(
        default=2000,
        ge=1,
        le=100_000,
        description="Ceiling of a pool's unclaimed rows in work_queue, unless the policy has "
        "`capacity.depthCeiling`; how many there are follows how fast workers claim.",
    )
    timeout_default_seconds: float = Field(
        default=600.0,
        gt=0,
        description="The budget of one attempt where neither the job's row nor its pool in the "
        "policy gives one.",
    )
    timeout_max_seconds: float = Field(
        default=3600.0,
        gt=0,
        description="The largest budget of one attempt, whatever the job's row says, where its "
        "pool in the policy gives none.",
    )
    worker_lease_seconds: float = Field(
        default=15.0,
        ge=1,
        le=600,
        description="The workers' lease_seconds. Nobody's lease counts as lapsed until one of "
        "these after the server's start and after this leader's take-over.",
    )
    overdue_seconds: float = Field(
        default=30.0,
        ge=1,
        le=3600,
        description="How far past its deadline an attempt is taken from a worker that lives: "
        "it should have ended the attempt itself.",
    )
    promote_seconds: float = Field(
        default=0.1,
        ge=0.01,
        le=10,
        description="Rest between two looks for jobs that fell due.",
    )
    sweep_max: int = Field(
        default=1000, ge=1, le=10_000, description="Rows that one sweep's statement touches."
    )
    survey_seconds: float = Field(
        default=20.0,
        ge=1,
        le=300,
        description="Seconds between two scans of all lanes for jobs that nothing else found.",
    )
    audit_seconds: float = Field(
        default=30.0,
        ge=1,
        le=600,
        description="Seconds between two full reads of work_queue against the leader's books.",
    )
    report_seconds: float = Field(
        default=5.0,
        ge=1,
        le=60,
        description="Seconds between two looks for the fairness report, which tells of the "
        "last twelve such spans; 2 ms for each lane that has work, where that is more.",
    )
    catch_up_max: int = Field(
        default=1000,
        ge=1,
        le=100_000,
        description="Missed fires of one schedule that one pass catches up on; the rest "
        "follow.",
    )
    history_days_ahead: int = Field(
        default=14,
        ge=2,
        le=90,
        description="Days ahead that history's partitions are made for.",
    )
    history_days_succeeded: int = Field(
        default=7, ge=1, le=3650, description="Days that endings by success are kept."
    )
    history_days_unsuccessful: int = Field(
        default=30,
        ge=1,
        le=3650,
        description="Days that other endings, errors of attempts and fires are kept.",
    )
    metrics_kind_allowlist: str = Field(
        default="",
        description="Kinds that the metrics tell apart, separated by commas; all others are "
        "`other`. Empty: the first 200 that are seen.",
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
