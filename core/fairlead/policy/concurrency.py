"""Concurrency keys: at most so many jobs at once for each value in their payload or headers."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, FailFast, Field

from fairlead.policy import kinds
from fairlead.policy.part import Part, listed, misfit

KEYS_MAX = 4
JOBS_MAX = 1_000_000
QUEUE, TENANT = "queue", "tenant"


class Concurrency(Part):
    """How many jobs that have the same value there may be in flight at once."""

    key: Annotated[str, kinds.path()] = Field(
        description="Where in the job the value is: `payload` or `headers`, then up to 8 "
        "names of fields, with dots between them: `payload.account_id`. Texts, numbers, true "
        'and false are values, and are compared as text: 7 is "7". A job without the field, or '
        "with null, a list or a mapping there, is free of this key."
    )
    limit: Annotated[int, kinds.whole(1, JOBS_MAX)] = Field(
        description="Jobs of one value, running and queued for a worker, at once. A job whose "
        "value has so many waits, and those behind it that may go do so, up to 64 waiting "
        "jobs of its tenant. Exact over the whole fleet and across restarts."
    )
    scope: Annotated[str, kinds.word(QUEUE, TENANT)] = Field(
        default=QUEUE,
        description="Whose jobs count together: `queue`, those of all its tenants, or "
        "`tenant`, where two tenants may each have as many of the same value.",
    )


def _differ(keys: tuple[Concurrency, ...]) -> tuple[Concurrency, ...]:
    """Refuse a key of which another one leaves nothing."""
    limits: dict[tuple[str, str], int] = {}
    for place, each in enumerate(keys):
        if (each.key, each.scope) in limits:
            said = f"{each.key} has a limit for one {each.scope} before: keep the stricter one"
            raise misfit(said, place, "key")
        limits[each.key, each.scope] = each.limit
    for place, each in enumerate(keys):
        whole = limits.get((each.key, QUEUE), each.limit + 1)
        if each.scope == TENANT and each.limit >= whole:
            raise misfit(
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
    BeforeValidator(listed, json_schema_input_type=Concurrency | list[Concurrency] | None),
]
