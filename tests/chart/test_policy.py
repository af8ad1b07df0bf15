"""The policy made from values is accepted by the product, and means what the values mean."""

from typing import cast

import pytest

from fairlead.policy.models import Policy
from fairlead.policy.parser import parse
from fairlead.policy.warnings import find_warnings
from tests.support.chart import (
    EVERYTHING,
    GIVEN,
    PRODUCTION,
    Json,
    Object,
    at,
    environment,
    needs_helm,
    of,
    one,
    render,
)

pytestmark = [needs_helm]


def document(values: Object) -> str:
    """Return the document that the autoscaler finds."""
    made = one(render(values), "ConfigMap", "shop-fairlead-policy-values")
    return str(at(made, "data", "policy.yaml"))


def pools(policy: Policy) -> dict[str, tuple[str, ...]]:
    """Return each pool's queues, in the order in which pools are asked."""
    return {pool.name: pool.queues for pool in policy.pools}


@pytest.mark.parametrize("values", [GIVEN, EVERYTHING, PRODUCTION])
def test_the_product_reads_what_the_values_make(values: Object) -> None:
    """Nothing is refused, and nothing in it is without effect."""
    assert () == find_warnings(parse(document(values)))


def test_a_release_without_pools_in_its_values_has_one_for_every_queue() -> None:
    """It waits at most half a minute, with one to ten pods."""
    (pool,) = parse(document(GIVEN)).pools

    assert ("default", ("*",)) == (pool.name, pool.queues)
    assert pool.autoscale is not None
    assert (30, 1, 10, 50, 3) == (
        pool.autoscale.objective.total_seconds(),
        pool.autoscale.min,
        pool.autoscale.max,
        pool.autoscale.slots,
        pool.autoscale.connections_per_pod,
    )


def test_a_pool_is_asked_before_the_one_that_takes_the_rest() -> None:
    """Names go first, then patterns, then `*`; without queues a pool serves its own name."""
    made = parse(
        document(
            {
                **GIVEN,
                "workerPools": {
                    "a": {"queues": ["*"]},
                    "b": {"queues": ["mail-*", "x"]},
                    "c": {},
                    "d": {"queues": ["mail-fast"]},
                    "default": None,
                },
            }
        )
    )

    assert {"c": ("c",), "d": ("mail-fast",), "b": ("mail-*", "x"), "a": ("*",)} == pools(made)
    assert ["c", "d", "b", "a"] == list(pools(made))


def test_what_a_pod_runs_and_connects_follows_from_its_processes() -> None:
    """Both apply until a worker has reported its own; given values win."""
    sizes = {"concurrency": 7, "processes": 4, "longestTimeoutSeconds": 90}
    made = parse(
        document(
            {
                **GIVEN,
                "workerPools": {
                    "a": cast("Json", sizes),
                    "b": {**sizes, "autoscale": {"slots": 5, "connectionsPerPod": 2, "min": 0}},
                    "default": None,
                },
            }
        )
    )
    (a, b) = made.pools

    assert a.autoscale is not None
    assert b.autoscale is not None
    assert (28, 9) == (a.autoscale.slots, a.autoscale.connections_per_pod)
    assert (5, 2, 0) == (b.autoscale.slots, b.autoscale.connections_per_pod, b.autoscale.min)
    assert a.timeout_max is not None
    assert 90 == a.timeout_max.total_seconds()


def test_a_document_in_the_values_is_merged_over_the_pools() -> None:
    """Its other fields are kept; its own pools replace all of them."""
    rest: Object = {"fairness": {"refresh": "2s"}}
    own: Object = {**rest, "pools": [{"name": "default", "queues": ["only"]}]}

    both = parse(document({**GIVEN, "policy": {"document": rest}}))
    assert {"default": ("*",)} == pools(both)
    assert 2 == both.fairness.refresh.total_seconds()
    assert {"default": ("only",)} == pools(
        parse(document({**GIVEN, "policy": {"document": own}}))
    )


def test_an_entry_of_the_document_has_the_rest_from_its_worker_pool() -> None:
    """Order and queues are the document's, and so is whatever else it says, even 0 or null."""
    entries: list[Json] = [
        {"name": "scaled", "queues": ["a"], "autoscale": {"objective": "5s", "min": 0}},
        {"name": "fixed", "queues": ["b"], "autoscale": None},
        {"name": "rest", "queues": ["*"], "timeoutMax": "30s"},
    ]
    of_pool: Object = {
        "concurrency": 4,
        "longestTimeoutSeconds": 90,
        "autoscale": {"objective": "20s", "min": 2, "max": 7},
    }
    objects = render(
        {
            **GIVEN,
            "policy": {"document": {"pools": entries}},
            "workerPools": {
                "default": None,
                "fixed": of_pool,
                "rest": of_pool,
                "scaled": of_pool,
            },
        }
    )
    made = one(objects, "ConfigMap", "shop-fairlead-policy-values")
    (scaled, fixed, rest) = parse(str(at(made, "data", "policy.yaml"))).pools

    assert ("scaled", "fixed", "rest") == (scaled.name, fixed.name, rest.name)
    assert rest.autoscale is not None
    assert (20, 2, 7, 4, 3) == (
        rest.autoscale.objective.total_seconds(),
        rest.autoscale.min,
        rest.autoscale.max,
        rest.autoscale.slots,
        rest.autoscale.connections_per_pod,
    )
    assert scaled.autoscale is not None
    assert (5, 0, 7, 4) == (
        scaled.autoscale.objective.total_seconds(),
        scaled.autoscale.min,
        scaled.autoscale.max,
        scaled.autoscale.slots,
    )
    assert fixed.autoscale is None
    assert [30, 90, 90] == [
        each.timeout_max and each.timeout_max.total_seconds() for each in (rest, scaled, fixed)
    ]
    worker = one(objects, "Deployment", "shop-fairlead-worker-scaled")
    assert "5s" == environment(worker)["FAIRLEAD_METRICS_WAIT_BOUNDS"]


def test_without_the_autoscaler_no_pool_has_pods_to_ask_for() -> None:
    """The scheduler then need not report their demand either."""
    (pool,) = parse(document({**GIVEN, "autoscaler": {"enabled": False}})).pools

    assert pool.autoscale is None


ODD = ("no", "1e3", "0x1", "null", "a: b", "#x", "'", "\u00e4", "~", "12:30:00", "- a", "1_000")


def test_numbers_times_and_odd_names_come_through_as_they_are() -> None:
    """Helm writes YAML 1.1 and the policy is read as 1.2: what either quotes is the same."""
    schedules: list[Json] = [
        {"start": start, "end": "07:07", "min": 2} for start in ("00:00", "08:00", "23:59")
    ]
    names: list[Json] = list(ODD)
    rules: list[Json] = [
        {"match": {"queue": name}, "backlog": {"limit": 1_000_000 - place}}
        for place, name in enumerate(ODD)
    ]
    made = parse(
        document(
            {
                **GIVEN,
                "workerPools": {
                    "default": {"autoscale": {"schedules": schedules}, "queues": names}
                },
                "policy": {"document": {"queues": rules}},
            }
        )
    )

    assert {"default": ODD} == pools(made)
    assert [(name, 1_000_000 - place) for place, name in enumerate(ODD)] == [
        (rule.match.queue, rule.backlog and rule.backlog.limit) for rule in made.queues
    ]
    scale = made.pools[0].autoscale
    assert scale is not None
    assert ["00:00", "08:00", "23:59"] == [f"{each.start:%H:%M}" for each in scale.schedules]


def test_without_live_edits_the_values_alone_are_the_policy() -> None:
    """There is no ConfigMap to edit and no right to read one; people are told the other."""
    objects = render({**GIVEN, "policy": {"live": False}})
    given = environment(one(objects, "Deployment", "shop-fairlead-autoscaler"))

    assert "shop-fairlead-policy" not in {
        str(at(each, "metadata", "name")) for each in of(objects, "ConfigMap")
    }
    assert ["shop-fairlead-policy-values"] == at(
        one(objects, "Role", "shop-fairlead-autoscaler"), "rules", 0, "resourceNames"
    )
    assert {"shop-fairlead-policy-values"} == {
        given["FAIRLEAD_POLICY_CONFIGMAP"],
        given["FAIRLEAD_POLICY_VALUES_CONFIGMAP"],
    }


def test_the_most_that_a_live_policy_may_ask_for_is_told_to_the_autoscaler() -> None:
    """By pool; without any nothing is told."""
    name = "FAIRLEAD_POLICY_LIVE_MAX"
    bound: Object = {**GIVEN, "policy": {"liveMax": {"*": 20, "batch": 100}}}
    given, none = (
        environment(one(render(values), "Deployment", "shop-fairlead-autoscaler"))
        for values in (bound, GIVEN)
    )

    assert ("*=20,batch=100", False) == (given[name], name in none)
