"""The notes after the install are true, and their commands are for this release."""

import pytest

from tests.support.chart import CHART, GIVEN, TRIAL, Object, helm, helm_3, needs_helm

pytestmark = [needs_helm]


def notes(values: Object) -> str:
    """Return the notes of a release `shop` in the namespace `work`."""
    if helm_3():
        pytest.skip("Helm 3 prints no notes without a cluster")
    flags = ("--dry-run=client", "--namespace=work")
    _, _, said = helm("install", "shop", str(CHART), *flags, values=values).partition("NOTES:")
    assert said
    return said


def test_helm_gets_its_own_namespace_and_kubectl_that_of_the_objects() -> None:
    """They are two where the values name another; helm's logs are looked for in its own."""
    same = notes(TRIAL)
    other = notes({**TRIAL, "namespaceOverride": "else"})

    assert "helm test shop -n work --logs\n" in same
    assert "helm test shop -n work\n" in other
    assert "kubectl -n else logs pod/shop-fairlead-test" in other
    assert "-n else" not in same
    assert [] == [
        line for line in other.splitlines() if "kubectl" in line and "-n else" not in line
    ]


def test_the_notes_say_whose_the_database_is() -> None:
    """As the logs of a release that is refused would name it."""
    assert "belongs to the release work/shop from now on" in notes(GIVEN)


@pytest.mark.parametrize(("source", "said"), [("configmap", False), ("database", True)])
def test_the_notes_say_that_a_pool_waits_for_a_stored_policy_with_autoscale(
    source: str, *, said: bool
) -> None:
    """Until then a pool stays at the one pod that it began with."""
    found = notes({**GIVEN, "policy": {"source": source}})

    assert said == ("once a policy with `autoscale` for it is stored" in found)
    assert said != ("Each pool begins with one pod, and the autoscaler" in found)
