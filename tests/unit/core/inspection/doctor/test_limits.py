"""Which limits of a policy the doctor says are of no use, by what jobs did."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fairlead.inspection.doctor.diagnose import diagnose
from fairlead.inspection.doctor.facts import Run
from fairlead.inspection.doctor.limits import most_at_once, most_within
from fairlead.policy import parse
from tests.support.examined import HEALTHY, NOW, SECOND, WORKER, runs

pytestmark = pytest.mark.any_server

BUSY = (*runs("mail", "acme", 200, each=9.0), *runs("mail", "bolt", 100))


def said(document: str, *, past: tuple[Run, ...] = BUSY) -> list[str]:
    """Return what is found of a policy's limits."""
    facts = replace(HEALTHY, policy=parse(document), runs=past)
    return [each.what for each in diagnose(facts) if each.subject == "limit"]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ("queues: [{match: {queue: fax}, slots: {limit: 5}}]", "queues[0]."),
        ("queues: [{match: {queue: fax}, rate: {limit: 5, per: 1s}}]", "queues[0]."),
        ("queues: [{match: {queue: fax}, backlog: {limit: 5}}]", "queues[0]."),
        (
            (
                "queues: [{match: {queue: mail}, tenants: {overrides: [{match: {tenant: zed},"
                " slots: {limit: 5}}]}}]"
            ),
            "queues[0].tenants.overrides[0].",
        ),
        (
            (
                "queues: [{match: {queue: mail}, tenants: {overrides: [{match: {tenant: '*e'}},"
                " {match: {tenant: acme}, slots: {limit: 5}}]}}]"
            ),
            "queues[0].tenants.overrides[1].",
        ),
        (
            "queues: [{match: {queue: fax}, tenants: {default: {slots: {limit: 5}}}}]",
            "queues[0].tenants.default.",
        ),
    ],
)
def test_a_limit_that_is_for_nobody_is_named(document: str, path: str) -> None:
    """By its place in the policy; the first rule that matches counts."""
    (what,) = said(document)

    assert what.startswith(
        "Limits that match no queue or tenant among the last 300 jobs that ended"
    )
    assert what.endswith(f": {path}")


@pytest.mark.parametrize(
    ("document", "names"),
    [
        (
            "queues: [{match: {queue: mail}, slots: {limit: 40}}]",
            "queues[0].slots.limit 40 (at most 6 at once)",
        ),
        (
            "queues: [{match: {queue: mail}, tenants: {default: {slots: {limit: 11}}}}]",
            "queues[0].tenants.default.slots.limit 11 (at most 5 at once)",
        ),
        (
            "queues: [{match: {queue: mail}, slots: {limit: '90%'}}]",
            "queues[0].slots.limit 90% (at most 6 at once)",
        ),
        (
            (
                "queues: [{match: {queue: mail}, rate: [{limit: 60, per: 10s}, {limit: 2,"
                " per: 1s}]}]"
            ),
            "queues[0].rate[0] of 60 per 10s (at most 10)",
        ),
    ],
)
def test_a_limit_that_nobody_came_near_is_named(document: str, names: str) -> None:
    """With how near the nearest came."""
    facts = replace(
        HEALTHY, policy=parse(document), runs=BUSY, workers=(replace(WORKER, slots=40),)
    )

    (finding,) = diagnose(facts)

    assert "limit" == finding.subject
    assert finding.what.startswith("Limits that no queue or tenant came near")
    assert names in finding.what
    assert "wastes" == finding.harm
    assert finding.fix[0].text.startswith("take out or correct `queues[0]")


@pytest.mark.parametrize(
    "document",
    [
        "queues: [{match: {queue: mail}, slots: {limit: 12}}]",
        "queues: [{match: {queue: mail}, tenants: {default: {slots: {limit: 10}}}}]",
        "queues: [{match: {queue: mail}, rate: {limit: 20, per: 10s}}]",
        "queues: [{match: {queue: mail}, rate: {limit: 900, per: 24h}}]",
        "queues: [{match: {queue: mail}, slots: {reserve: 5}}]",
        "queues: [{match: {queue: mail}, backlog: {limit: 9000}}]",
        "queues: [{match: {queue: fax}, weight: 3}]",
        "queues: [{match: {queue: mail}, slots: {limit: '50%'}}]",
        (
            "queues: [{match: {queue: mail}, tenants: {default: {slots: {limit: 10}},"
            " overrides: [{match: {tenant: '*'}, weight: 2}]}}]"
        ),
    ],
)
def test_a_limit_that_somebody_came_near_is_of_use(document: str) -> None:
    """Half of it is near; a rate for longer than was seen, and a reserve, are left out."""
    assert [] == said(document)


def test_a_limit_for_those_who_wait_is_for_somebody() -> None:
    """They need not have ended a job."""
    document = "queues: [{match: {queue: fax}, backlog: {limit: 5}}]"
    facts = replace(HEALTHY, policy=parse(document), lanes=(("fax", "x"),))

    assert () == diagnose(facts)


def test_many_are_told_as_one() -> None:
    """The first few by name."""
    rules = ", ".join(f"{{match: {{queue: q{x}}}, slots: {{limit: 1}}}}" for x in range(9))

    (what,) = said(f"queues: [{rules}]")

    assert what.endswith("queues[3]; queues[4]; and 4 more.")


def test_jobs_at_once_are_counted_over_their_spans() -> None:
    """One that ends as the next begins is not beside it; one that runs has no end."""
    first = Run("q", "t", NOW, NOW + SECOND)
    second = Run("q", "t", NOW + SECOND, None)
    third = Run("q", "t", NOW + 9 * SECOND, NOW + 10 * SECOND)
    never = Run("q", "t", None, NOW)

    assert (0, 1, 2) == (
        most_at_once([never]),
        most_at_once([second, first]),
        most_at_once([third, second, first, never]),
    )


def test_starts_are_counted_in_the_fullest_stretch() -> None:
    """Of the time that is asked for, wherever it begins."""
    starts = [Run("q", "t", NOW + x * SECOND, None) for x in (0, 5, 6, 7, 20)]

    assert (1, 3, 4) == tuple(most_within(starts, timedelta(seconds=per)) for per in (1, 3, 8))
    assert 0 == most_within([], timedelta(seconds=1))
