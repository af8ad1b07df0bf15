"""`fairlead autoscaler` says why; `fairlead policy apply` says where the policy is edited."""

import json
from io import StringIO
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from rich.console import Console

from fairlead_autoscaler import status
from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.result import State
from fairlead_cli.commands import top
from fairlead_cli.commands.autoscaler import adopted, tell_adopted
from tests.integration.conftest import Fairlead
from tests.support import autoscaling as looks
from tests.support.controlling import targets_of
from tests.support.kubernetes.fake import FakeKube


def decided(db: Connection[TupleRow], pool: str) -> None:
    """Write down a decision on a pool that wants more pods than it may have."""
    look, config = looks.look(1, looks.demand(work=1000)), looks.pool(max=1)
    said = status.pool_status(decide(State(), look, config), look, config)
    db.execute(
        "INSERT INTO fairlead.pool_decisions VALUES (1, now(), %s, %s)",
        [pool, json.dumps(said)],
    )


def test_without_a_decision_it_says_what_is_missing(fairlead: Fairlead) -> None:
    """A policy with `autoscale`, and a leader that decides."""
    assert "needs `autoscale` in the policy" in fairlead("autoscaler")
    assert "nothing was decided for the pool 'mail'" in fairlead(
        "autoscaler", "explain", "mail", code=1
    )


def test_it_explains_a_pool(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """What asks for its pods, what bounds them, and its conditions."""
    decided(db, "default")
    said = fairlead("autoscaler", "explain", "default")

    assert "limited by       AtMax" in said
    assert "drain" in said
    assert "ScalingLimited True (AtMax: max is reached)" in said
    assert "default" in fairlead("autoscaler")
    assert (
        "default" == json.loads(fairlead("autoscaler", "explain", "default", "--json"))["pool"]
    )
    assert "are default" in fairlead("autoscaler", "explain", "mail", code=1)


def test_top_says_of_each_pool_how_many_pods_it_has_and_why(
    db: Connection[TupleRow],
) -> None:
    """A line a pool, which says so when no autoscaler decides any more."""
    decided(db, "default")
    decided(db, "mail")
    db.execute(
        "UPDATE fairlead.pool_decisions SET at = now() - interval '1 h' WHERE pool = 'mail'"
    )
    drawn = StringIO()
    observation = top.look(db)

    Console(file=drawn, width=100).print(top.picture(observation, observation, width=100))

    said = [line.rstrip() for line in drawn.getvalue().splitlines() if line[:5] == "pool "]
    assert "pool default: 1 pod, AtMax: max is reached" == said[0]
    assert "pool mail: 1 pod, AtMax: max is reached (decided 1 h ago" in said[1]


@pytest.mark.parametrize("words", [("apply", "FILE"), ("rollback", "1")])
def test_a_policy_of_a_configmap_is_edited_there(
    fairlead: Fairlead, db: Connection[TupleRow], tmp_path: Path, words: tuple[str, ...]
) -> None:
    """The next change of the ConfigMap would go over what was stored here."""
    file = tmp_path / "policy.yaml"
    file.write_text("fairness: {}\n")
    fairlead("policy", "apply", str(file))
    db.execute(
        "UPDATE fairlead.install_options SET policy_source = 'configmap',"
        " policy_place = 'the ConfigMap shop-policy in the namespace shop'"
    )
    given = [str(file) if word == "FILE" else word for word in words]
    said = fairlead("policy", *given, code=2)

    assert "edited in the ConfigMap shop-policy in the namespace shop" in said
    assert [(1,)] == db.execute("SELECT count(*) FROM fairlead.policy_versions").fetchall()


def test_pods_are_adopted_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """The same number is written once more, as ours, and printed, or with --json in a list."""
    kube = FakeKube()
    kube.add_pool("default", replicas=7, name="shop-worker")
    kube.intrude("default", 7, owner="helm")
    pools = targets_of({"default": "shop-worker"})
    tell_adopted(adopted(kube, pools), as_json=False)

    assert 7 == kube.workloads["default"].replicas
    assert kube.workloads["default"].owner is None
    assert "default: shop-worker keeps its 7 pods\n" == capsys.readouterr().out

    tell_adopted(adopted(kube, pools), as_json=True)

    expected = [{"pool": "default", "target": "shop-worker", "pods": 7}]
    assert expected == json.loads(capsys.readouterr().out)
