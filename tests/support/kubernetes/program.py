"""The environment and kubeconfig of the program `fairlead-autoscaler` for a server of ours."""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.support.kubernetes import api, scenes
from tests.support.kubernetes.objects import NAMESPACE


def kubeconfig(server: api.Api, folder: Path) -> Path:
    """Write how to reach the server."""
    file = folder / "kubeconfig"
    context = {"cluster": "c", "user": "u", "namespace": NAMESPACE}
    said = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server.host}}],
        "users": [{"name": "u", "user": {"token": "test"}}],
        "contexts": [{"name": "x", "context": context}],
        "current-context": "x",
    }
    file.write_text(json.dumps(said))
    return file


def environment(database_url: str, deployments: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the chart would give it; pools are decided on twice a second.

    Args:
        database_url: Its database.
        deployments: The Deployment of each pool.
    """
    return {
        "FAIRLEAD_DATABASE_URL": database_url,
        "FAIRLEAD_POD_NAME": "me",
        "FAIRLEAD_POD_SELECTOR": scenes.NAMES.pods,
        "FAIRLEAD_POOL_TARGETS": ",".join(f"{k}={v}" for k, v in deployments.items()),
        "FAIRLEAD_LEASE_NAME": scenes.NAMES.lease,
        "FAIRLEAD_STATUS_CONFIGMAP": scenes.NAMES.status,
        "FAIRLEAD_TICK_SECONDS": "0.5",
    }
