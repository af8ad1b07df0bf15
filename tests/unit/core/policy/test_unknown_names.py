"""What a policy says of queues and tenants that a database does not have."""

import pytest

from fairlead.policy import KnownNames, find_unknown, parse

ALL = frozenset({"mail", "bulk"})
TENANTS = frozenset({"acme", ""})
KNOWN = KnownNames(waiting=ALL, queues=ALL, tenants=TENANTS)
UNUSED = "has no job and no schedule, and none of the jobs that ended last"
SPELT = "check how it is spelt"
OVERRIDE = "queues[0].tenants.overrides[0]"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            "queues: [{match: {queue: mial}}]",
            f"queues[0].match.queue: queue 'mial' {UNUSED} was in it: {SPELT}",
        ),
        (
            "rules: [{match: {queue: mial}, when: hour < 6, hold: true}]",
            "rules[0].match.queue: queue 'mial' ",
        ),
        (
            "pools: [{name: p, queues: [mail, bulk, mial]}]",
            "pools[0].queues[2]: queue 'mial' ",
        ),
        (
            "pools: [{name: p, queues: [mail]}]",
            "pools: none serves queue 'bulk', which has jobs: they wait until one names it",
        ),
        (
            "queues: [{match: {queue: mail}, tenants: {overrides: [{match: {tenant: amce}}]}}]",
            f"{OVERRIDE}.match.tenant: tenant 'amce' {UNUSED} was its own: {SPELT}",
        ),
        (
            "rules: [{match: {tenant: amce}, when: hour < 6, hold: true}]",
            "rules[0].match.tenant: tenant 'amce' ",
        ),
        ("labels: {amce: {tier: gold}}", "labels.amce: tenant 'amce' "),
    ],
)
def test_what_nobody_has_or_serves_is_one_sentence(document: str, said: str) -> None:
    """It names the place and the name."""
    (found,) = find_unknown(parse(document), KNOWN)

    assert found.startswith(said)


def test_nothing_is_said_of_what_is_there_or_may_come() -> None:
    """Names that are in use, patterns, and the tenant without a name."""
    document = """
        pools: [{name: p, queues: ["m*", bulk]}]
        queues: [{match: {queue: "x*"}}, {match: {queue: mail}, tenants:
            {overrides: [{match: {tenant: acme}}, {match: {tenant: "z*"}}]}}]
        labels: {acme: {tier: gold}, "": {tier: free}}
    """

    assert () == find_unknown(parse(document), KNOWN)


@pytest.mark.parametrize("names", [frozenset[str](), None], ids=["none", "too many"])
def test_no_name_is_a_mistake_where_nothing_is_known(names: frozenset[str] | None) -> None:
    """Before the first job, and where there are more names than were looked at."""
    document = parse("queues: [{match: {queue: mial}}]\nlabels: {amce: {tier: gold}}")

    assert () == find_unknown(document, KnownNames(frozenset(), names, names))


def test_a_name_is_said_once_and_twenty_at_most() -> None:
    """A policy may name thousands."""
    twice = "queues: [{match: {queue: mial}}]\npools: [{name: p, queues: [mial, mail, bulk]}]"
    labels = ", ".join(f"t{number}: {{tier: free}}" for number in range(25))

    many = find_unknown(parse(f"labels: {{{labels}}}"), KNOWN)

    assert 1 == len(find_unknown(parse(twice), KNOWN))
    assert (21, "there are 5 more like these") == (len(many), many[-1])
