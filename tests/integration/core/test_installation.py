"""`pip install fairlead` is what an application and a worker need, and little more."""

import json
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support import tree

pytestmark = pytest.mark.any_server

DISTRIBUTIONS_MAX = 12
BYTES_MAX = 40 * 1000**2
IMPORT_SECONDS_MAX = 0.05
TOP_LEVEL = """
import json, sysconfig
from pathlib import Path
folder = Path(sysconfig.get_path("purelib"))
files = [each for each in folder.rglob("*") if each.is_file()]
names = {each.relative_to(folder).parts[0] for each in files}
print(json.dumps([sum(each.stat().st_size for each in files), sorted(names)]))
"""
IMPORT = """
from time import process_time
began = process_time()
import fairlead
print(process_time() - began)
"""
HANDLED = """
import fairlead, fairlead.testing, fairlead_worker.child.child_main
from fairlead_worker.parent import supervisor
tasks = fairlead.Tasks()
tasks.handler("greet")(lambda job: {"said": job.payload})
print(fairlead.testing.run(tasks, "greet", "hello"))
"""


def brought(requirement: Requirement, found: dict[str, Distribution]) -> None:
    """Collect what a requirement installs here, with what that requires."""
    it = distribution(requirement.name)
    key = canonicalize_name(requirement.name)
    known = found.setdefault(key, it)
    extras = ("", *requirement.extras)
    for each in map(Requirement, known.requires or ()):
        wanted = each.marker is None or any(
            each.marker.evaluate({"extra": extra}) for extra in extras
        )
        if wanted and canonicalize_name(each.name) not in found:
            brought(each, found)


def size(of: Distribution) -> int:
    """Return the bytes of a distribution's files."""
    paths = [Path(str(of.locate_file(each))) for each in of.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file())


def said(python: Path, program: str) -> str:
    """Run a program in an environment and return what it prints."""
    command = [str(python), "-I", "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_plain_installation_is_small() -> None:
    """The dependencies that are not in an extra are eleven packages of under 40 MB here."""
    project = tomllib.loads(tree.text(Path("pyproject.toml")))["project"]
    found: dict[str, Distribution] = {}
    for each in map(Requirement, project["dependencies"]):
        if each.marker is None or each.marker.evaluate():
            brought(each, found)
    ours = sum((tree.ROOT / path).stat().st_size for path in tree.of_rooms())

    assert len(found) + 1 <= DISTRIBUTIONS_MAX, sorted(found)
    assert ours + sum(map(size, found.values())) <= BYTES_MAX


def test_importing_fairlead_is_quick() -> None:
    """Names load their modules when they are first used: at most 50 ms of a processor."""
    taken = [float(said(Path(sys.executable), IMPORT)) for _ in range(5)]

    assert min(taken) <= IMPORT_SECONDS_MAX


@pytest.mark.long
def test_the_wheel_installs_what_an_application_and_a_worker_need(tmp_path: Path) -> None:
    """In a new environment: how many packages, how large, what works, what names its extra."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([*build, str(tree.ROOT)], check=True)
    (wheel,) = tmp_path.glob("fairlead-*.whl")
    venv.create(tmp_path / "plain")
    bin_dir = tmp_path / "plain" / "bin"
    python = bin_dir / "python"

    subprocess.run([*pip, "--python", str(python), "install", str(wheel)], check=True)

    taken, names = json.loads(said(python, TOP_LEVEL))
    assert len([each for each in names if each.endswith(".dist-info")]) <= DISTRIBUTIONS_MAX
    assert taken <= BYTES_MAX
    assert "bazel-project" not in names
    assert "{'said': 'hello'}\n" == said(python, HANDLED)
    subprocess.run([bin_dir / "fairlead-worker", "--help"], check=True, capture_output=True)
    for program, extra in (
        ("fairlead", "cli"),
        ("fairlead-scheduler", "scheduler"),
        ("fairlead-autoscaler", "autoscaler"),
        ("fairlead-console", "console"),
    ):
        refused = subprocess.run(
            [bin_dir / program, "--help"], check=False, capture_output=True, text=True
        )
        assert (2, 1) == (refused.returncode, refused.stderr.count("\n"))
        assert f"is not installed: pip install 'fairlead[{extra}]'" in refused.stderr
    module = subprocess.run(
        [python, "-m", "fairlead"], check=False, capture_output=True, text=True
    )
    assert (2, 1) == (module.returncode, module.stderr.count("\n"))
    assert "is not installed: pip install 'fairlead[cli]'" in module.stderr
