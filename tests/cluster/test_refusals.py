"""What is refused before anything is installed: bad values by helm, pods by the namespace."""

import pytest

from tests.cluster.conftest import VALUES
from tests.support import cluster
from tests.support.chart import Object
from tests.support.cluster import CommandFailed, Release

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)

WRONG: Object = {
    "scheduler": {"replicas": "two"},
    "workerPools": {"default": {"concurency": 4, "autoscale": {"objective": "soon"}}},
    "migrations": {"mode": "sometimes"},
}


def test_helm_names_the_fields_of_bad_values(release: Release) -> None:
    """Bad values get a schema error from helm that names the field; nothing is installed."""
    with pytest.raises(CommandFailed) as refused:
        release.install({**VALUES, **WRONG})

    said = str(refused.value)
    named = {each for each in ("replicas", "concurency", "objective", "mode") if each in said}
    assert {"replicas", "concurency", "objective", "mode"} == named
    assert [] == release.got("deployments")["items"]


def test_the_namespace_refuses_a_pod_that_may_do_more_than_ours(release: Release) -> None:
    """Releases start in namespaces that enforce the restricted profile: others' pods do not."""
    with pytest.raises(CommandFailed, match='violates PodSecurity "restricted'):
        release.kubectl("run", "free", f"--image={cluster.IMAGE}", "--restart=Never")
