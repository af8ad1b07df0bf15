"""What `make e2e` says where something that it needs is missing."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.tree import ROOT

RUN = ROOT / "tests/cluster/run"
BASH = shutil.which("bash") or "bash"
SHELLS_OWN = ("cat", "dirname", "grep")


def refusal(folder: Path, programs: dict[str, str], *given: str) -> tuple[int, str]:
    """Return the status and last line of a run that finds these programs alone, as scripts."""
    for name in SHELLS_OWN:
        (folder / name).symlink_to(shutil.which(name) or name)
    for name, script in programs.items():
        (folder / name).write_text(f"#!{BASH}\n{script}\n")
        (folder / name).chmod(0o755)
    variables = (f"PATH={folder}", "IMAGE=fairlead:0", "IMAGE_BASE=base", *given)
    done = subprocess.run(
        ["/usr/bin/env", "-i", *variables, BASH, str(RUN)],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return done.returncode, done.stderr.splitlines()[-1]


HERE = {"kubectl": "true", "helm": "true", "docker": "true"}


@pytest.mark.parametrize(
    ("programs", "given", "said"),
    [
        ({}, (), "kubectl is not here"),
        ({"kubectl": "true"}, (), "helm is not here"),
        ({**HERE, "docker": "false"}, (), "no Docker engine answers here"),
        (HERE, (), "kind is not here: install it, or set KUBECONFIG"),
        (
            {**HERE, "kind": "[ $1 = get ]"},
            (),
            "kind makes no cluster here: set KUBECONFIG",
        ),
        (
            {**HERE, "kubectl": "false"},
            ("KUBECONFIG=/away",),
            "the cluster of /away does not answer",
        ),
        (HERE, ("KUBECONFIG=/here",), "IMAGE_LOAD is empty: say how the nodes get the image"),
    ],
)
def test_what_a_run_on_a_cluster_lacks_is_said_in_one_sentence(
    tmp_path: Path, programs: dict[str, str], given: tuple[str, ...], said: str
) -> None:
    """What is missing is said in one sentence, and the status is 2."""
    status, last = refusal(tmp_path, programs, *given)

    assert (2, True) == (status, last.startswith(f"make e2e: {said}")), last
