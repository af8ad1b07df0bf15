"""Concurrency keys: limits on jobs in flight per value of a field in payload or headers."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, FailFast, Field

from fairlead.policy import value_types
from fairlead.policy.mapping import MappingModel, as_list, entry_error

KEYS_MAX = 4
JOBS_MAX = 1_000_000
QUEUE, TENANT = "queue", "tenant"


class Concurrency(MappingModel):
    """How many jobs with the same value of a key may be in flight at once."""

    key: Annotated[str, value_types.path()] = Field(
        description="Path to the value in the job: `payload` or `headers`, then up to 8 names "
        "of fields, joined by dots, as in `payload.account_id`. A value is a text, a number, "
        'true or false, and is compared as text: 7 equals "7". The limit does not apply to a '
        "job in which the field is missing, null, a list or a mapping."
    )
    limit: Annotated[int, value_types.integer(1, JOBS_MAX)] = Field(
        description="Most jobs with the same value that may be running or queued for a worker. "
        "A job above the limit waits, and jobs behind it may pass, up to 64 waiting jobs of "
        "its tenant. The limit is exact over the whole fleet and across restarts."
    )
    scope: Annotated[str, value_types.one_of(QUEUE, TENANT)] = Field(
        default=TENANT,
        description="`tenant`: the limit counts each tenant's jobs separately; `queue`: it "
        "counts the jobs of all tenants of the queue together, so one tenant's jobs can block "
        "another's that have the same value.",
    )


def _differ(keys: tuple[Concurrency, ...]) -> tuple[Concurrency, ...]:
    """Refuse a key that another one makes ineffective."""
    limits: dict[tuple[str, str], int] = {}
    for place, each in enumerate(keys):
        if (each.key, each.scope) in limits:
            message = (
                f"{each.key} has a limit for one {each.scope} before: keep the stricter one"
            )
            raise entry_error(message, place, "key")
        limits[each.key, each.scope] = each.limit
    for place, each in enumerate(keys):
        whole = limits.get((each.key, QUEUE), each.limit + 1)
        if each.scope == TENANT and each.limit >= whole:
            raise entry_error(
                f"a tenant may have {each.limit} of {each.key}, and the whole queue {whole}: "
                "leave the tenant's out, or make it less",
                place,
                "limit",
            )
    return keys


Keys = Annotated[
    tuple[Concurrency, ...],
    FailFast(),
    Field(max_length=KEYS_MAX),
    AfterValidator(_differ),
    BeforeValidator(as_list, json_schema_input_type=Concurrency | list[Concurrency] | None),
]
