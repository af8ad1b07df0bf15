"""The README's lines for a cluster: from nothing to a first finished job and a dashboard."""

import json
import re
import subprocess
from pathlib import Path
from typing import cast

import pytest
import yaml

from tests.support import cluster
from tests.support.chart import Object, at
from tests.support.cluster import Release
from tests.support.tree import ROOT

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)

pytestmark = pytest.mark.timeout(cluster.TIMEOUT_SECONDS)

LINES = re.compile(r"^On Kubernetes,.*?^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Nodes without a registry have the images under names of their own; nothing else is added.
HELM = """
helm() {
  if [ "$1" = install ]; then command helm "$@" --values "$IMAGES"; else command helm "$@"; fi
}
"""


def test_the_readmes_lines_bring_a_first_finished_job_and_a_dashboard(
    release: Release, tmp_path: Path
) -> None:
    """Three lines take a person with a cluster to a first finished job and a dashboard."""
    found = LINES.search((ROOT / "README.md").read_text())
    assert found is not None
    assert 3 == len(found[1].splitlines())
    images = tmp_path / "images.yaml"
    images.write_text(
        yaml.safe_dump(
            {
                "image": cluster.image(cluster.IMAGE),
                "trialDatabase": {"image": cluster.image(cluster.DATABASE_IMAGE)},
            }
        )
    )

    done = subprocess.run(
        [
            "/usr/bin/env",
            f"KUBECONFIG={cluster.KUBECONFIG}",
            f"HELM_NAMESPACE={release.namespace}",
            f"IMAGES={images}",
            "bash",
            "-euc",
            HELM + found[1],
        ],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=360,
    )

    assert 0 == done.returncode, done.stderr
    assert "Succeeded" in done.stdout
    label = "--selector=grafana_dashboard=1"
    boards = cast("list[Object]", release.got("configmaps", label)["items"])
    texts = [text for each in boards for text in cast("dict[str, str]", each["data"]).values()]
    assert texts
    assert all(at(json.loads(text), "panels") for text in texts)
