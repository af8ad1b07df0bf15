"""Rules: what holds while an expression is true."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, FailFast, Field, model_validator
from pydantic_core import PydanticCustomError

from fairlead.policy import kinds
from fairlead.policy.cel import BYTES_MAX, Expression, Fault
from fairlead.policy.globs import glob
from fairlead.policy.kinds import Kind
from fairlead.policy.part import Part, misfit
from fairlead.policy.slots import SLOTS_MAX
from fairlead.policy.unfit import Unfit
from fairlead.policy.variables import CLOCK, JOB, LANE, WORKERS, expression, samples
from fairlead.policy.zones import UTC, time_zone

EXPRESSIONS_MAX = 100
_PATTERN = "a name or a pattern with * and ?"
_NAME_MAX = 64


class RuleSlots(Part):
    """How many jobs may be in flight at once while a rule holds."""

    limit: Annotated[int | str, kinds.slot_count(SLOTS_MAX)] = Field(
        description="As in [slots](#slots): a number, or a percentage of all slots of the "
        "pool's live workers."
    )

    @property
    def count(self) -> int | None:
        """The limit as a number of jobs, where it is one."""
        return self.limit if isinstance(self.limit, int) else None

    @property
    def percent(self) -> float | None:
        """The limit as a percentage of the pool's live slots, where it is one."""
        return float(self.limit.rstrip("%")) if isinstance(self.limit, str) else None


class RuleMatch(Part):
    """Whom a rule is for; where several fields are given, all of them must fit."""

    queue: Annotated[str, kinds.name(what=_PATTERN)] | None = Field(
        default=None, description="The queue's name or a pattern; not given: every queue."
    )
    tenant: Annotated[str, kinds.name(what=_PATTERN, bytes_lowest=0)] | None = Field(
        default=None, description="The tenant's name or a pattern; not given: every tenant."
    )
    label: Annotated[str, kinds.label()] | None = Field(
        default=None,
        description="A label as `name=value` that the tenant must have under `labels`, "
        "exactly; not given: with or without labels.",
    )
    kind: Annotated[str, kinds.name(what=_PATTERN)] | None = Field(
        default=None,
        description="The kind of jobs, or a pattern: the rule is for single jobs then, and may "
        "`hold` them; not given: jobs of every kind.",
    )

    @model_validator(mode="after")
    def _names_somebody(self) -> "RuleMatch":
        given = (self.queue, self.tenant, self.label, self.kind)
        if all(each is None for each in given):
            raise ValueError(
                "names nobody: give queue, tenant, label or kind, or leave match out"
            )
        return self

    def fits(self, tenant: str, labels: Mapping[str, str]) -> bool:
        """Tell whether a tenant that has these labels is meant."""
        if self.tenant is not None and not glob(self.tenant).matches(tenant):
            return False
        if self.label is None:
            return True
        label, _, value = self.label.partition("=")
        return labels.get(label) == value


def _when() -> Kind[str]:
    """Return the kind of conditions."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"must be {demand}, not {kinds.shown(value)}")
        try:
            found = expression(value)
        except Unfit as error:
            text = f", {kinds.shown(error.text)}" if error.text else ""
            raise ValueError(f"at character {error.column}{text}: {error}") from None
        for sample in samples():
            try:
                found.run(sample)
            except Fault as error:
                said = f"{kinds.shown(value)} has no value everywhere: {error}; {before}"
                raise ValueError(said) from None
        return value

    demand = 'an expression such as "hour >= 9 && hour < 17"'
    before = "ask before, as in workers.slots > 0 && … or has(lane.labels.tier) && …"
    return Kind(read, {"type": "string", "minLength": 1, "maxLength": BYTES_MAX})


def _yes() -> Kind[bool]:
    """Return the kind of what is given as true or not at all."""

    def read(value: object) -> bool:
        if value is True:
            return True
        raise ValueError(f"must be true, or left out, not {kinds.shown(value)}")

    return Kind(read, {"type": "boolean", "const": True})


def _factor() -> Kind[float]:
    """Return the kind of factors, of which 1 would change nothing."""
    plain = kinds.number(0.001, 1000)

    def read(value: object) -> float:
        found = plain.read(value)
        if found == 1:
            raise ValueError("must be another factor than 1, which changes nothing")
        return found

    return Kind(read, plain.schema, plain.write)


class Rule(Part):
    """Something that holds while an expression is true."""

    name: Annotated[str, kinds.name(what="a rule's name", bytes_max=_NAME_MAX)] | None = Field(
        default=None,
        description="What metrics, `explain` and messages call the rule; not given: its place, "
        "as in `rules[0]`. Two rules cannot have one name.",
    )
    match: RuleMatch | None = Field(
        default=None, description="Whom the rule is for; not given: everybody."
    )
    when: Annotated[str, _when()] = Field(
        description="A condition in [CEL](#expressions), of at most 1,024 bytes."
    )
    zone: Annotated[str, time_zone()] = Field(
        default=UTC,
        description="The IANA time zone of `hour`, `minute` and `weekday` in `when`.",
    )
    hold: Annotated[bool, _yes()] | None = Field(
        default=None,
        description="true: nothing is dispatched while the rule holds; of a rule for single "
        "jobs, none of these, and those behind them go on. What is queued for a worker is "
        "recalled within 2 s, what runs goes on.",
    )
    weight_factor: Annotated[float, _factor()] | None = Field(
        default=None,
        description="By what the weight is multiplied while the rule holds. The factors of "
        "several rules are multiplied; the weight stays between 0.001 and 1,000.",
    )
    slots: RuleSlots | None = Field(
        default=None,
        description="How many jobs may be in flight while the rule holds. The smallest of all "
        "limits counts.",
    )

    @model_validator(mode="before")
    @classmethod
    def _keeps_bands(cls, given: object) -> object:
        """Say what to do instead, since it is what a deadline makes one think of."""
        fields = given
        if isinstance(given, dict) and "band" in given:
            said = (
                "names a band, but no job changes its band by a rule: name it in `queues`, or "
                "insert the job with a priority that has it"
            )
            raise PydanticCustomError("refused", "{said}", {"said": said})
        return fields

    @model_validator(mode="after")
    def _does_something(self) -> "Rule":
        effects = [self.weight_factor, self.slots]
        if self.hold is None and effects == [None, None]:
            raise ValueError("does nothing: give hold, weightFactor or slots")
        if self.hold is not None and effects != [None, None]:
            raise ValueError("holds, which leaves weightFactor and slots nothing: keep one")
        if self.of_jobs and effects != [None, None]:
            raise ValueError(
                "is for single jobs, and weightFactor and slots are those of queues and "
                "tenants: give hold, or give these jobs a queue of their own"
            )
        if self.zone != UTC and self.expression.reads.isdisjoint(CLOCK):
            clock = ", ".join(CLOCK)
            raise ValueError(f"has a zone, but `when` names none of {clock}: leave zone out")
        return self

    @property
    def expression(self) -> Expression:
        """The condition, ready to be run."""
        return expression(self.when)

    @property
    def reads_workers(self) -> bool:
        """Whether the condition may differ from pool to pool."""
        return not self.expression.reads.isdisjoint(WORKERS)

    @property
    def reads_lane(self) -> bool:
        """Whether the condition may differ from lane to lane."""
        return not self.expression.reads.isdisjoint(LANE)

    @property
    def reads_job(self) -> bool:
        """Whether the condition may differ from job to job."""
        return not self.expression.reads.isdisjoint(JOB)

    @property
    def of_jobs(self) -> bool:
        """Whether it is for single jobs, and not for all of a queue or a tenant."""
        return self.reads_job or (self.match is not None and self.match.kind is not None)

    @property
    def for_queues(self) -> bool:
        """Whether it is for queues as a whole, and not for tenants in them or single jobs."""
        by_queue = self.match is None or (
            self.match.tenant is None and self.match.label is None
        )
        return by_queue and not self.reads_lane and not self.of_jobs


def _named_apart(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Refuse two rules of one name: nobody could tell which one is meant."""
    seen: set[str] = set()
    for place, rule in enumerate(rules):
        name = name_of(rule, place)
        if name in seen:
            said = f"{kinds.shown(name)} is the name of an earlier rule: rename one"
            raise misfit(said, place, "name")
        seen.add(name)
    return rules


def name_of(rule: Rule, place: int) -> str:
    """Return what the rule at this place is called."""
    return f"rules[{place}]" if rule.name is None else rule.name


Rules = Annotated[tuple[Rule, ...], FailFast(), AfterValidator(_named_apart)]
