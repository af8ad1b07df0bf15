"""The parameter file of a workload: fleet, tenants, arrivals and targets.

`workloads/*.toml` are the project's own; any other file of the form can be given by its path.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from bench.fairness.traffic.weights import Edit, Weights
from fairlead.policy import PolicyRefused, parse
from fairlead_scheduler.simulation.trace import Arrival, Group, Lane

FOLDER = Path(__file__).parents[1] / "workloads"


class WorkloadRefusedError(ValueError):
    """A parameter file is invalid; the message names file, field and fault."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Even(_Part):
    """Jobs at equal distances."""

    form: Literal["even"]
    per_second: float = Field(gt=0)


class Poisson(_Part):
    """Poisson arrivals."""

    form: Literal["poisson"]
    per_second: float = Field(gt=0)


class Bursts(_Part):
    """Some jobs at once, periodically."""

    form: Literal["bursts"]
    jobs: int = Field(ge=1)
    every_seconds: float = Field(gt=0)
    first_seconds: float = Field(default=0, ge=0)


class Backlog(_Part):
    """Jobs that wait at the start; tenants take turns."""

    form: Literal["backlog"]
    jobs: int = Field(ge=1)


class Filled(_Part):
    """A backlog that the server makes itself: for scenes with millions of jobs."""

    form: Literal["filled"]
    jobs: int = Field(ge=1)


class Zipf(_Part):
    """Poisson arrivals, each of a tenant drawn with probability proportional to 1/rank."""

    form: Literal["zipf"]
    per_second: float = Field(gt=0)
    tail_from: int = Field(ge=2)
    """From this rank on a tenant belongs to the tail."""


class Uniform(_Part):
    """Run times uniform between two bounds."""

    form: Literal["uniform"]
    lowest_seconds: float = Field(gt=0)
    highest_seconds: float = Field(gt=0)

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if self.lowest_seconds > self.highest_seconds:
            raise ValueError("lowest_seconds is above highest_seconds")
        return self


class Exponential(_Part):
    """Exponential run times."""

    form: Literal["exponential"]
    mean_seconds: float = Field(gt=0)


Arrivals = Annotated[
    Even | Poisson | Bursts | Backlog | Filled | Zipf, Field(discriminator="form")
]
Cost = Annotated[Uniform | Exponential, Field(discriminator="form")]


class Tenants(_Part):
    """One tenant, or several alike: `name1`, `name2` and so on."""

    name: str = Field(min_length=1)
    queue: str = Field(default="q", min_length=1)
    count: int = Field(default=1, ge=1)
    weight: float = Field(default=1, gt=0)
    group: Group
    arrivals: Arrivals
    cost: Cost

    def names(self) -> tuple[str, ...]:
        """Return the tenants' names."""
        if self.count == 1:
            return (self.name,)
        return tuple(f"{self.name}{number}" for number in range(1, self.count + 1))


class Target(_Part):
    """What Fairlead's figure must be, and what would be better still."""

    at_most: float | None = None
    at_least: float | None = None
    stretch: float | None = None
    missed_because: str = ""
    """Why it is missed, where it is: one sentence for the table."""

    @model_validator(mode="after")
    def _one_side(self) -> Target:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("give at_most or at_least")
        return self

    def met(self, value: float) -> bool:
        """Whether a figure meets the target."""
        if self.at_most is not None:
            return value <= self.at_most
        return self.at_least is not None and value >= self.at_least


class Comparison(_Part):
    """One contender's figure relative to another's."""

    figure: str
    of: str = "fairlead"
    over: str
    how: Literal["ratio", "difference"] = "ratio"


class Reweigh(_Part):
    """An edit of the policy during the run."""

    at_seconds: float = Field(gt=0)
    queue: str = "q"
    tenant: str
    weight: float = Field(gt=0)


class Full(_Part):
    """How the full form differs from the quick one."""

    seconds: float = Field(gt=0)
    warm_seconds: float = Field(default=0, ge=0)
    """Seconds before anything counts, in addition to `seconds`."""
    scale: int = Field(default=1, ge=1)
    """Factor for the slots and for each tenant's traffic."""
    backlog: int = Field(default=1, ge=1)
    """Factor for the backlog at the start, in addition to the scale."""


Form = Literal["quick", "full"]
"""How much runs."""


class Workload(_Part):
    """One workload."""

    title: str
    scene: Literal[
        "play",
        "failover",
        "limits",
        "storm",
        "estimates",
        "prediction",
        "reweigh",
        "scale",
        "pinned",
        "attacks",
        "handlers",
        "floods",
        "soak",
    ] = "play"
    """What is done; all but `play` runs on PostgreSQL only."""
    cases: tuple[str, ...] = ()
    """The rows of the scenes `attacks` and `handlers` that are played, each beside the one
    without; none: all."""
    slots: int = Field(ge=1)
    seconds: float = Field(gt=0)
    """Measured seconds, after `warm_seconds`."""
    warm_seconds: float = Field(default=0, ge=0)
    forms: tuple[Form | Literal["record"], ...] = ("quick", "full")
    """The forms it is part of, unless it is requested by name.

    `record` is the quick form when it writes the page, and includes everything `quick` has.
    """
    simulated_only: bool = False
    """Whether it is left out on PostgreSQL."""
    extra: tuple[str, ...] = ()
    """Contenders in addition to those that always take part."""
    show: tuple[str, ...] = Field(min_length=1)
    """The figures that the table shows for each contender; the picture shows the first."""
    policy: dict[str, object] = Field(default_factory=dict[str, object])
    """The policy in force without the weights; reference policies ignore it."""
    edits: tuple[Reweigh, ...] = ()
    """Sorted by time."""
    compare: dict[str, Comparison] = Field(default_factory=dict)
    """Figures that compare Fairlead with another contender."""
    full: Full | None = None
    tenants: tuple[Tenants, ...] = ()
    """None for recorded traffic, whose tenants have equal weights."""
    targets: dict[str, Target] = Field(default_factory=dict)
    before: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Figures of a scene's rows on an earlier commit, which are shown beside today's.

    A wait of `inf` is one that did not end.
    """
    numbers: dict[str, str] = Field(default_factory=dict)
    """By which numbers the page speaks of a scene's rows."""

    @field_validator("policy")
    @classmethod
    def _is_a_policy(cls, given: dict[str, object]) -> dict[str, object]:
        try:
            parse(json.dumps(given))
        except PolicyRefused as error:
            raise ValueError(str(error)) from None
        return given

    @model_validator(mode="after")
    def _filled_for_scenes(self) -> Workload:
        if self.scene == "play" and self.filled:
            raise ValueError("form filled is for scenes: use backlog")
        return self

    @property
    def filled(self) -> int:
        """Return how many jobs the server makes itself, which are in no trace."""
        return sum(
            each.count * each.arrivals.jobs
            for each in self.tenants
            if isinstance(each.arrivals, Filled)
        )

    @property
    def weights(self) -> dict[Lane, float]:
        """Return the weights of the tenants of each queue."""
        return {(t.queue, name): t.weight for t in self.tenants for name in t.names()}

    @property
    def edited(self) -> tuple[Edit, ...]:
        """Return the edits, each with the weights of all tenants after it."""
        weights: Weights = self.weights
        found: list[Edit] = []
        for each in self.edits:
            weights = {**weights, (each.queue, each.tenant): each.weight}
            found.append(Edit(round(each.at_seconds * 1e6), weights, self.policy))
        return tuple(found)

    @property
    def warm_us(self) -> int:
        """Return from when on it is measured."""
        return round(self.warm_seconds * 1e6)

    @property
    def until_us(self) -> int:
        """Return when it ends."""
        return round((self.warm_seconds + self.seconds) * 1e6)


def recorded(
    trace: Sequence[Arrival], slots: int, policy: Mapping[str, object] = MappingProxyType({})
) -> Workload:
    """Return the conditions for recorded traffic: this many slots, until its last arrival."""
    return Workload(
        title="recorded traffic",
        policy=dict(policy),
        slots=slots,
        seconds=max((job.at_us for job in trace), default=0) / 1e6 + 1,
        show=(
            "quiet_p99_seconds",
            "quiet_p50_seconds",
            "quiet_max_seconds",
            "jain",
            "gps_lag_slot_seconds",
            "jobs_per_second",
        ),
    )


def load(path: Path, form: str = "quick") -> Workload:
    """Read a parameter file.

    Raises:
        WorkloadRefusedError: It is not TOML, or not a workload.
    """
    try:
        workload = Workload.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise WorkloadRefusedError(f"{path.name} is not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise WorkloadRefusedError(f"{path.name}: {place}: {first['msg']}") from None
    if form == "full" and workload.full is not None:
        return _scaled(workload, workload.full)
    return workload


def _scaled(workload: Workload, full: Full) -> Workload:
    tenants = tuple(_more(each, full) for each in workload.tenants)
    slots = workload.slots * full.scale
    times = {"seconds": full.seconds, "warm_seconds": full.warm_seconds}
    return workload.model_copy(update={"tenants": tenants, "slots": slots, **times})


def _more(tenants: Tenants, full: Full) -> Tenants:
    arrivals = tenants.arrivals
    if isinstance(arrivals, Bursts | Backlog | Filled):
        times = full.scale * (1 if isinstance(arrivals, Bursts) else full.backlog)
        more: Arrivals = arrivals.model_copy(update={"jobs": arrivals.jobs * times})
    else:
        more = arrivals.model_copy(update={"per_second": arrivals.per_second * full.scale})
    return tenants.model_copy(update={"arrivals": more})
