"""A policy, compiled to the table that the fair order reads."""

import pytest

from fairlead.policy import parse
from fairlead_scheduler.policy.compiled import NO_LIMIT, CompiledPolicy, Terms, compile_policy
from fairlead_scheduler.policy.gcra import Rate

_DOCUMENT = """
version: seven
fairness:
  inflightShareCap: 3
  refresh: 250ms
  estimator: {prior: 50ms, priorSamples: 2, window: 20}
labels:
  acme: {tier: gold}
  tiny: {tier: free}
  small: {tier: free}
queues:
  - match: {queue: "emails-*"}
    weight: 4
    slots: {limit: 60}
    rate: [{limit: 500, per: 1s, burst: 1000}, {limit: 9, per: 1h}]
    tenants:
      default: {weight: 2, slots: {limit: "25%"}}
      overrides:
        - {match: {tenant: "acme"}, weight: 8}
        - {match: {tenantLabel: "tier=free"}, weight: 0.25, slots: {limit: 2}}
        - {match: {tenant: "s*"}, slots: null}
  - match: {queue: "*"}
    weight: 0.5
"""


@pytest.fixture
def table() -> CompiledPolicy:
    """Yield the document as a table."""
    return compile_policy(parse(_DOCUMENT), stored=5)


def test_a_queue_has_the_terms_of_the_first_entry_that_matches(table: CompiledPolicy) -> None:
    """First match wins."""
    windows = (Rate(500, 1_000_000, 1000), Rate(9, 3_600_000_000, 9))

    assert Terms(weight=4, limit=60, rates=windows) == table.queue("emails-eu").own
    assert Terms(weight=0.5) == table.queue("mails").own


@pytest.mark.parametrize(
    ("tenant", "expected"),
    [
        ("other", Terms(weight=2, limit_per_10_000=2500)),
        ("acme", Terms(weight=8, limit_per_10_000=2500)),
        ("tiny", Terms(weight=0.25, limit=2)),
        ("small", Terms(weight=0.25, limit=2)),
        ("smallest", Terms(weight=2)),
    ],
)
def test_a_tenant_has_the_terms_of_its_first_override_over_the_default(
    table: CompiledPolicy, tenant: str, expected: Terms
) -> None:
    """A field that is not given comes from the default; null takes a limit away."""
    assert expected == table.queue("emails-eu").lane(tenant)


def test_a_queue_that_nothing_matches_has_weight_1_and_no_bounds() -> None:
    """The policy {} says nothing of anybody."""
    queue = compile_policy(parse("{}")).queue("mails")

    assert (Terms(), Terms(), False) == (queue.own, queue.lane("a"), queue.own.is_bounded)


def test_the_settings_of_the_order_come_from_the_policy(table: CompiledPolicy) -> None:
    """Every field has its effect."""
    settings = table.settings

    assert (3.0, 250_000) == (settings.inflight_share_cap, settings.refresh_us)
    assert (50_000, 2, 20) == (settings.prior_us, settings.prior_samples, settings.window)
    assert ("seven", 5, 12) == (table.version, table.stored, len(table.digest))


def test_a_policy_that_says_nothing_changes_nothing() -> None:
    """What holds without a policy and what an empty one says are the same."""
    assert CompiledPolicy().settings == compile_policy(parse("{}")).settings


@pytest.mark.parametrize(
    ("slots", "expected"), [(0, 1), (1, 1), (4, 1), (5, 2), (100, 25), (101, 26)]
)
def test_a_share_of_the_slots_is_rounded_up_and_at_least_one(slots: int, expected: int) -> None:
    """A percentage of the pool's live slots."""
    assert expected == Terms(limit_per_10_000=2500).limit_of(slots)


def test_no_limit_is_larger_than_any_number_of_jobs() -> None:
    """Without a limit nothing is refused."""
    assert NO_LIMIT == Terms().limit_of(7)
