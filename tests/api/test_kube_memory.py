"""How much memory the controller takes with a large fleet before it."""

import subprocess
import sys
from pathlib import Path

import kubernetes
import pytest

from tests.support.kubernetes import api, objects, scenes
from tests.support.kubernetes.objects import part

PODS = 500
MIB_MAX = 128

WATCH = """
import re, sys
from pathlib import Path
import fairlead_autoscaler.program
from fairlead_autoscaler.kube import client, config
from tests.support.kubernetes import scenes

configuration = config.blank()
configuration.host = sys.argv[1]
with scenes.watching(client.from_configuration(configuration)) as cluster:
    pods = len(cluster.snapshot().pods)
    # Not getrusage: what it says begins with the peak of the process that started this one.
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    print(pods, int(peak[1]) // 1024)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux says a process's own peak"
)
@pytest.mark.skipif(
    kubernetes.__version__.startswith("36."),
    reason="36 loads all of its models when it is imported: 58 MiB more than 37",
)
def test_500_pods_fit_into_128_mib() -> None:
    """Peak of a process with all that the controller imports, after lists of 4 MB of JSON."""
    with api.running() as server:
        scenes.install(server.client())
        noise: objects.Object = {f"f:{number}": {"f:x": {}} for number in range(150)}
        for number in range(PODS):
            made = objects.pod(f"pod-{number:03}", "default")
            part(made, "metadata")["managedFields"] = [{"manager": "m", "fieldsV1": noise}]
            server.store.create(scenes.PODS, made)
        command = [sys.executable, "-c", WATCH, server.host]

        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)

    assert 0 == done.returncode, done.stderr
    pods, mib = (int(each) for each in done.stdout.split())
    assert pods == PODS
    assert mib <= MIB_MAX
