"""What helm refuses before anything is installed, with the field's name."""

import pytest

from tests.cluster.conftest import VALUES
from tests.support import cluster
from tests.support.chart import Object
from tests.support.cluster import CommandFailed, Release

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"scheduler": {"replicas": "two"}}, "replicas"),
        ({"workerPools": {"default": {"concurency": 4}}}, "concurency"),
        ({"workerPools": {"default": {"autoscale": {"objective": "soon"}}}}, "objective"),
        ({"migrations": {"mode": "sometimes"}}, "mode"),
    ],
)
def test_helm_names_the_field_of_a_bad_value(
    release: Release, wrong: Object, field: str
) -> None:
    """Bad values get a schema error from helm that names the field; nothing is installed."""
    with pytest.raises(CommandFailed, match=field):
        release.install({**VALUES, **wrong})

    assert [] == release.got("deployments")["items"]
