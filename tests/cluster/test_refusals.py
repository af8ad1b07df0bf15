"""What helm refuses before anything is installed, with the fields' names."""

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
