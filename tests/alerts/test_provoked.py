"""Every alert is provoked on a real fleet, or somebody has said why it is not."""

import re

from docs.generate import alerts
from tests.support import tree

NOT_HERE = {
    "FairleadBacklogGrowsAtMax": "a backlog that outgrows a pool within seconds is late within "
    "seconds, and `FairleadWaitBudgetBurnsFast`, which goes before it, fires",
    "FairleadPodsUnschedulable": "no process of one machine waits for a node",
    "FairleadWrongVictim": "a process goes as it is told; a ReplicaSet chooses its pods",
}
"""Alerts that tests/chaos does not provoke, and why."""
_NAMED = re.compile(r'"(Fairlead\w+)"')


def provoked() -> set[str]:
    """Return the alerts that the tests of tests/chaos name, which is to expect them."""
    files = sorted((tree.ROOT / "tests/chaos").glob("test_alerts*.py"))
    return {each for path in files for each in _NAMED.findall(path.read_text("utf-8"))}


def test_every_alert_is_provoked_or_is_not_for_a_reason() -> None:
    """None is forgotten, and none is excused that is provoked all the same."""
    assert set(alerts.names()) == provoked() | NOT_HERE.keys()
    assert set() == provoked() & NOT_HERE.keys()
