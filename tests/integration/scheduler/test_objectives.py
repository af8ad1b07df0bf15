"""How long a pool's jobs may wait: shown by the leader, from the policy in force."""

import pytest

from fairlead import policy_storage
from fairlead.policy import Pool, parse
from fairlead_scheduler.metrics.registry import Metrics
from tests.support.race import Database
from tests.support.schedulers import Replica, led, scheduling
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

NAME = "fairlead_pool_objective_seconds"
SCALED = """
pools:
  - {{name: mail, queues: ["mail*"], autoscale: {{objective: {mail}, max: 8, slots: 5}}}}
  - {{name: rest, queues: ["*"]}}
"""


def scaled(*pools: str) -> tuple[Pool, ...]:
    """Return pools of a policy, in which jobs may wait for a minute and a half."""
    autoscale = "autoscale: {objective: 90s, max: 8, slots: 5}"
    lines = (f"- {{name: {pool}, queues: [{pool}], {autoscale}}}" for pool in pools)
    return tuple(parse("pools:\n" + "\n".join(lines)).pools or ())


def shown(metrics: Metrics) -> dict[str, float]:
    """Return the series by pool."""
    return {
        sample.labels["pool"]: sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == NAME
    }


def shows(replica: Replica, expected: dict[str, float]) -> None:
    """Wait until a replica shows these and no others."""
    until(lambda: expected == shown(replica.metrics), what=f"{expected}", seconds=15)


def test_a_live_edit_of_the_objective_is_shown(database_url: str, db: Database) -> None:
    """Without a restart of anything; a pool that is not scaled has none."""
    with scheduling(database_url) as replica:
        led(db)
        for objective, seconds in (("30s", 30.0), ("500ms", 0.5)):
            policy_storage.store(db, SCALED.format(mail=objective))
            shows(replica, {"mail": seconds})


def test_a_new_leader_shows_the_policy_that_it_found(database_url: str, db: Database) -> None:
    """It need not change for that."""
    policy_storage.store(db, SCALED.format(mail="30s"))
    with scheduling(database_url) as replica:
        led(db)
        shows(replica, {"mail": 30.0})


def test_a_pool_that_is_gone_and_a_former_leader_show_none() -> None:
    """A value that stayed would be compared with waits."""
    metrics = Metrics()

    metrics.policy.show_policy("0123456789ab", "1", scaled("mail", "images"))
    both = shown(metrics)
    metrics.policy.show_policy("ba9876543210", "2", scaled("images"))
    one = shown(metrics)
    metrics.end()

    assert ({"mail": 90.0, "images": 90.0}, {"images": 90.0}) == (both, one)
    assert {} == shown(metrics)
