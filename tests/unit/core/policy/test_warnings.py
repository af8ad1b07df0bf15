"""Parts of a policy that have no effect are accepted with a warning."""

from time import process_time

import pytest

from fairlead.policy import find_warnings, parse
from tests.support import tree

NO_TENANT = "it has no effect until one has"
HIDDEN = "and the first match counts: it has no effect, so put it first, or leave it out"
TENANTS = (
    "labels: {acme: {tier: gold}, initech: {tier: free}}\nqueues: [{match: {queue: q}, %s}]"
)


def overrides(*matches: str) -> tuple[str, ...]:
    """Return what is said of a queue with overrides for these."""
    listed = ", ".join(f"{{match: {{{match}}}, weight: 2}}" for match in matches)
    return find_warnings(parse(TENANTS % f"tenants: {{overrides: [{listed}]}}"))


def test_nothing_is_said_of_the_example() -> None:
    """It is what people begin with."""
    assert () == find_warnings(parse((tree.ROOT / "examples/policy.yaml").read_text("utf-8")))


@pytest.mark.parametrize(
    ("match", "named"),
    [
        ("tenantLabel: tier=fre", ""),
        ('tenantLabel: tier=gold, tenant: "i*"', " whose name fits 'i*'"),
    ],
)
def test_an_override_for_an_unknown_label_causes_a_warning(match: str, named: str) -> None:
    """A misspelt label would be found out by a customer."""
    (said,) = overrides(match)

    label = match.split()[1].rstrip(",")
    where = "queues[0].tenants.overrides[0].match.tenantLabel"
    assert f"{where}: no tenant under labels{named} has '{label}': {NO_TENANT}" == said


@pytest.mark.parametrize(
    ("matches", "who", "first"),
    [
        (("tenantLabel: tier=gold", "tenant: acme"), "'acme'", 0),
        (('tenant: "*e"', "tenant: acme"), "'acme'", 0),
        (("tenant: acme", "tenantLabel: tier=gold"), "'acme'", 0),
        (("tenantLabel: tier=gold", "tenantLabel: tier=gold"), "'acme'", 0),
    ],
)
def test_an_override_whose_tenants_all_have_another_is_said(
    matches: tuple[str, ...], who: str, first: int
) -> None:
    """As far as names and labels decide it; equal patterns are refused anyway."""
    (said,) = overrides(*matches)

    path = "queues[0].tenants.overrides"
    assert f"{path}[1].match: {who} is matched by {path}[{first}] already, {HIDDEN}" == said


@pytest.mark.parametrize(
    "matches",
    [
        ("tenant: acme", "tenantLabel: tier=free"),
        ("tenantLabel: tier=gold", "tenant: other"),
        ("tenant: acme", 'tenant: "a*"'),
        ('tenant: "a?"', "tenant: acme"),
    ],
)
def test_an_override_that_may_apply_causes_no_warning(matches: tuple[str, ...]) -> None:
    """Some of its tenants match no earlier one, or its tenants are unknown."""
    assert () == overrides(*matches)


def test_a_rule_for_a_label_that_no_tenant_has_causes_a_warning() -> None:
    """It applies to no tenant."""
    policy = parse("rules: [{match: {label: tier=free}, when: hour < 6, hold: true}]")

    assert (
        f"rules[0].match.label: no tenant under labels has 'tier=free': {NO_TENANT}",
    ) == find_warnings(policy)


def test_a_queue_that_an_earlier_pattern_matches_is_said() -> None:
    """Only for a name; which queues a pattern matches is unknown."""
    wild = "{match: {queue: '*-in'}, weight: null}"
    policy = parse(f"queues: [{wild}, {{match: {{queue: mail-in}}}}]")

    assert (
        f"queues[1].match.queue: 'mail-in' is matched by queues[0] already, {HIDDEN}",
    ) == find_warnings(policy)
    swapped = f"queues: [{{match: {{queue: mail-in}}}}, {wild}]"
    assert () == find_warnings(parse(swapped))


def test_a_band_that_no_job_belongs_to_is_said() -> None:
    """No queue names it, and no priority is its own; the last one has what is left."""
    bands = "bands: [{name: a}, {name: b, maxWait: 1s}, {name: c, maxWait: 1s}]\n"
    queues = "queues: [{match: {queue: q}, band: a}]"

    (said,) = find_warnings(parse(bands + queues))

    assert said.startswith("bands[1]: no queue names band 'b' and it has no priorities: ")


def test_a_queue_that_no_pool_serves_is_said() -> None:
    """Its jobs wait, whatever the policy says of it beside that."""
    pools = "pools: [{name: p, queues: [mail, 'gpu-*']}]\n"
    queues = (
        "queues: [{match: {queue: gpu-1}}, {match: {queue: male}}, {match: {queue: 'x*'}}]\n"
    )
    rules = "rules: [{match: {queue: male}, when: hour < 6, hold: true}]"
    waits = "no pool serves 'male': its jobs wait until one names it"

    said = find_warnings(parse(pools + queues + rules))

    assert (f"queues[1].match.queue: {waits}", f"rules[0].match.queue: {waits}") == said
    assert () == find_warnings(parse(queues + rules))


@pytest.mark.parametrize("pattern", ["*", "?*", "*-mail"])
@pytest.mark.parametrize("weight", ["", ", weight: 2"])
def test_a_share_for_every_name_that_an_application_makes_up_is_said(
    pattern: str, weight: str
) -> None:
    """A tenant with ten queues has ten shares; not where a pattern only sets their tenants'."""
    listed = f'{{match: {{queue: "{pattern}"}}%s}}'

    (said,) = find_warnings(parse(f"queues: [{listed % weight}]"))

    assert said.startswith(f"queues[0].weight: each queue that '{pattern}' matches has a share")
    assert () == find_warnings(parse(f"queues: [{listed % ', weight: null'}]"))
    assert () == find_warnings(parse('queues: [{match: {queue: "emails-*"}, weight: 4}]'))


def test_only_some_of_many_are_said() -> None:
    """And how many more there are."""
    said = overrides(*(f"tenantLabel: tier=x{number}" for number in range(30)))

    assert (21, "there are 10 more like these") == (len(said), said[-1])


def test_a_large_policy_is_looked_through_in_a_moment() -> None:
    """A thousand overrides, and as many tenants with labels as fit beside them."""
    labels = ", ".join(f"t{number}: {{x: y}}" for number in range(5000))
    listed = ", ".join(f"{{match: {{tenantLabel: x=z{number}}}}}" for number in range(1000))
    policy = parse(
        f"{{labels: {{{labels}}}, queues: [{{match: {{queue: q}}, "
        f"tenants: {{overrides: [{listed}]}}}}]}}"
    )
    began = process_time()

    find_warnings(policy)

    assert process_time() - began < 2
