"""Rules: settings that apply while a condition is true."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, FailFast, Field, model_validator
from pydantic_core import PydanticCustomError

from fairlead.policy import value_types
from fairlead.policy.cel.compiler import BYTES_MAX, EvaluationError, Expression
from fairlead.policy.cel.errors import InvalidCondition
from fairlead.policy.cel.variables import CLOCK, JOB, LANE, WORKERS, expression, sample_values
from fairlead.policy.globs import glob
from fairlead.policy.mapping import MappingModel, entry_error
from fairlead.policy.slots import SLOTS_MAX
from fairlead.policy.time_zones import UTC, time_zone
from fairlead.policy.value_types import ValueType

EXPRESSIONS_MAX = 100
_PATTERN = "a name or a pattern with * and ?"
_NAME_MAX = 64


class RuleSlots(MappingModel):
    """How many jobs may be in flight while a rule applies."""

    limit: Annotated[int | str, value_types.slot_count(SLOTS_MAX)] = Field(
        description="As in [slots](#slots): a number, or a percentage of all slots of the "
        "pool's live workers."
    )

    @property
    def count(self) -> int | None:
        """The limit if it is a number of jobs."""
        return self.limit if isinstance(self.limit, int) else None

    @property
    def percent(self) -> float | None:
        """The limit if it is a percentage of the pool's live slots."""
        return float(self.limit.rstrip("%")) if isinstance(self.limit, str) else None


class RuleMatch(MappingModel):
    """The jobs that a rule applies to; if several fields are given, all must match."""

    queue: Annotated[str, value_types.name(what=_PATTERN)] | None = Field(
        default=None, description="The queue's name or a pattern; default: every queue."
    )
    tenant: Annotated[str, value_types.name(what=_PATTERN, bytes_lowest=0)] | None = Field(
        default=None, description="The tenant's name or a pattern; default: every tenant."
    )
    label: Annotated[str, value_types.label()] | None = Field(
        default=None,
        description="A label as `name=value` that the tenant must have under `labels`, "
        "exactly; default: with or without labels.",
    )
    kind: Annotated[str, value_types.name(what=_PATTERN)] | None = Field(
        default=None,
        description="The kind of jobs, or a pattern: the rule then applies to single jobs, and "
        "may only `hold` them; default: jobs of every kind.",
    )

    @model_validator(mode="after")
    def _is_not_empty(self) -> "RuleMatch":
        given = (self.queue, self.tenant, self.label, self.kind)
        if all(each is None for each in given):
            raise ValueError("is empty: give queue, tenant, label or kind, or leave match out")
        return self

    def fits(self, tenant: str, labels: Mapping[str, str]) -> bool:
        """Return whether it matches a tenant with these labels."""
        if self.tenant is not None and not glob(self.tenant).matches(tenant):
            return False
        if self.label is None:
            return True
        label, _, value = self.label.partition("=")
        return labels.get(label) == value


def _when() -> ValueType[str]:
    """Return the type of conditions."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"must be {demand}, not {value_types.display(value)}")
        try:
            found = expression(value)
        except InvalidCondition as error:
            text = f", {value_types.display(error.text)}" if error.text else ""
            raise ValueError(f"at character {error.column}{text}: {error}") from None
        for sample in sample_values():
            try:
                found.run(sample)
            except EvaluationError as error:
                message = (
                    f"{value_types.display(value)} has no value everywhere: {error}; {before}"
                )
                raise ValueError(message) from None
        return value

    demand = 'an expression such as "hour >= 9 && hour < 17"'
    before = "ask before, as in workers.slots > 0 && … or has(lane.labels.tier) && …"
    return ValueType(read, {"type": "string", "minLength": 1, "maxLength": BYTES_MAX})


def _yes() -> ValueType[bool]:
    """Return the type of fields that are true or left out."""

    def read(value: object) -> bool:
        if value is True:
            return True
        raise ValueError(f"must be true, or left out, not {value_types.display(value)}")

    return ValueType(read, {"type": "boolean", "const": True})


def _factor() -> ValueType[float]:
    """Return the type of factors; 1 is refused, since it would change nothing."""
    plain = value_types.number(0.001, 1000)

    def read(value: object) -> float:
        found = plain.read(value)
        if found == 1:
            raise ValueError("must be another factor than 1, which changes nothing")
        return found

    return ValueType(read, plain.schema, plain.write)


class Rule(MappingModel):
    """Something that holds while an expression is true."""

    name: Annotated[str, value_types.name(what="a rule's name", bytes_max=_NAME_MAX)] | None = (
        Field(
            default=None,
            description="Name of the rule in metrics, `explain` and messages; default: its "
            "place, as in `rules[0]`. Two rules cannot have one name.",
        )
    )
    match: RuleMatch | None = Field(
        default=None, description="The jobs that the rule applies to; default: all jobs."
    )
    when: Annotated[str, _when()] = Field(
        description="A condition in [CEL](#expressions), of at most 1,024 bytes."
    )
    zone: Annotated[str, time_zone()] = Field(
        default=UTC,
        description="IANA time zone of `hour`, `minute` and `weekday` in `when`.",
    )
    hold: Annotated[bool, _yes()] | None = Field(
        default=None,
        description="true: the leader dispatches no matching job while the rule applies; if "
        "the rule is for single jobs, jobs behind them go on. Jobs queued for a worker are "
        "recalled within 2 s, and running jobs go on.",
    )
    weight_factor: Annotated[float, _factor()] | None = Field(
        default=None,
        description="Factor by which the weight is multiplied while the rule applies. Factors "
        "of several rules are multiplied; the weight stays between 0.001 and 1,000.",
    )
    slots: RuleSlots | None = Field(
        default=None,
        description="How many jobs may be in flight while the rule applies. The smallest of "
        "all limits applies.",
    )

    @model_validator(mode="before")
    @classmethod
    def _keeps_bands(cls, given: object) -> object:
        """Refuse `band` with advice, since a rule about deadlines suggests it."""
        fields = given
        if isinstance(given, dict) and "band" in given:
            message = (
                "names a band, but no job changes its band by a rule: name it in `queues`, or "
                "insert the job with a priority that has it"
            )
            raise PydanticCustomError("refused", "{message}", {"message": message})
        return fields

    @model_validator(mode="after")
    def _does_something(self) -> "Rule":
        effects = [self.weight_factor, self.slots]
        if self.hold is None and effects == [None, None]:
            raise ValueError("does nothing: give hold, weightFactor or slots")
        if self.hold is not None and effects != [None, None]:
            raise ValueError("has hold, which makes weightFactor and slots useless: keep one")
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
        """The compiled condition."""
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
        """Whether it applies to single jobs, and not to a whole queue or tenant."""
        return self.reads_job or (self.match is not None and self.match.kind is not None)

    @property
    def for_queues(self) -> bool:
        """Whether it applies to whole queues, and not to tenants in them or single jobs."""
        by_queue = self.match is None or (
            self.match.tenant is None and self.match.label is None
        )
        return by_queue and not self.reads_lane and not self.of_jobs


def _named_apart(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Refuse two rules of one name, which messages and metrics could not tell apart."""
    seen: set[str] = set()
    for place, rule in enumerate(rules):
        name = name_of(rule, place)
        if name in seen:
            message = f"{value_types.display(name)} is the name of an earlier rule: rename one"
            raise entry_error(message, place, "name")
        seen.add(name)
    return rules


def name_of(rule: Rule, place: int) -> str:
    """Return the name of the rule at this place."""
    return f"rules[{place}]" if rule.name is None else rule.name


Rules = Annotated[tuple[Rule, ...], FailFast(), AfterValidator(_named_apart)]
