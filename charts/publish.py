# ruff: noqa: INP001 - a command of its own, which nothing imports
"""Publish the image and the chart of this version: signed, with what they are made of.

Prints every command and runs none, unless `--publish` is given. What is published as the chart
is made in `dist/chart` either way: the chart in the tree has no addresses yet.
"""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import yaml

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts/fairlead"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
UNKNOWN = f"sha256:{'0' * 64}"

Run = Callable[..., str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Where this version goes, and who signs it."""

    registry: str
    home: str
    key: str
    fingerprint: str
    folder: Path

    @property
    def version(self) -> str:
        """Return the version of image and chart, which are one."""
        return str(written(CHART / "Chart.yaml")["version"])

    @property
    def revision(self) -> str:
        """Return the commit that all of it is made from."""
        command = [shutil.which("git") or "git", "rev-parse", "HEAD"]
        try:
            said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return "unknown"
        return said.stdout.strip()


def written(path: Path) -> dict[str, object]:
    """Read a file of YAML."""
    return cast("dict[str, object]", yaml.safe_load(path.read_text("utf-8")))


def publish(release: Release, run: Run) -> None:
    """Publish the image, then the chart that names it by its digest."""
    image = f"{release.registry}/fairlead"
    tagged = f"{image}:{release.version}"
    run(
        "make",
        "image",
        f"IMAGE={tagged}",
        "IMAGE_ARGS=--sbom=true --provenance=mode=max --push",
    )
    inspected = run("docker", "buildx", "imagetools", "inspect", tagged)
    signed = f"{image}@{digest_in(inspected)}"
    run("cosign", "sign", "--yes", signed)

    chart = make_chart(release, image=signed)
    run("helm", "package", str(chart), "--sign", f"--key={release.key}", "--destination=dist")
    archive = f"dist/fairlead-{release.version}.tgz"
    pushed = run("helm", "push", archive, f"oci://{release.registry}/charts")
    signed = f"{release.registry}/charts/fairlead@{digest_in(pushed)}"
    run("cosign", "sign", "--yes", signed)
    predicate = make_provenance(release)
    of = ("--type=slsaprovenance1", f"--predicate={predicate}")
    run("cosign", "attest", "--yes", *of, signed)


def digest_in(said: str) -> str:
    """Return the first digest that a command said: that of what was pushed."""
    found = DIGEST.search(said)
    if found is None:
        sys.exit(f"fairlead: no digest is in what the command said: {said!r}")
    return found[0]


def make_chart(release: Release, *, image: str) -> Path:
    """Make the chart as it is published: with addresses, with its image's digest and a key."""
    folder = release.folder / "chart/fairlead"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(CHART, folder)
    chart = written(folder / "Chart.yaml")
    annotations = cast("dict[str, str]", chart["annotations"])
    annotations["artifacthub.io/images"] = yaml.safe_dump(
        [{"name": "fairlead", "image": image}]
    )
    annotations["artifacthub.io/links"] = yaml.safe_dump(
        [
            {"name": "documentation", "url": f"{release.home}/tree/main/docs"},
            {"name": "changes", "url": f"{release.home}/blob/main/CHANGELOG.md"},
        ]
    )
    annotations["artifacthub.io/signKey"] = yaml.safe_dump(
        {"fingerprint": release.fingerprint, "url": f"{release.home}/raw/main/signing-key.asc"}
    )
    chart |= {"home": release.home, "sources": [release.home]}
    chart["icon"] = f"{release.home}/raw/main/docs/images/icon.svg"
    (folder / "Chart.yaml").write_text(yaml.safe_dump(chart, sort_keys=False))
    values = (folder / "values.yaml").read_text("utf-8")
    # The first field of this name is the image's.
    values = values.replace('  registry: ""\n', f"  registry: {release.registry}\n", 1)
    runbooks = f"{release.home}/blob/main/docs/runbooks"
    values = values.replace('    runbookUrl: ""\n', f"    runbookUrl: {runbooks}\n", 1)
    (folder / "values.yaml").write_text(values)
    return folder


def make_provenance(release: Release) -> Path:
    """Write what the chart was made from, as SLSA's provenance says it."""
    source = {"uri": f"git+{release.home}", "digest": {"gitCommit": release.revision}}
    found = {
        "buildDefinition": {
            "buildType": f"{release.home}/blob/main/charts/publish.py",
            "externalParameters": {"version": release.version, "registry": release.registry},
            "resolvedDependencies": [source],
        },
        "runDetails": {"builder": {"id": f"{release.home}/blob/main/charts/publish.py"}},
    }
    path = release.folder / "provenance.json"
    path.write_text(json.dumps(found, indent=2) + "\n")
    return path


def shown(*command: str) -> str:
    """Print a command instead of running it; what it would say has a digest of zeros."""
    sys.stdout.write(shlex.join(command) + "\n")
    return UNKNOWN


def done(*command: str) -> str:
    """Run a command, and end with its status if it fails."""
    shown(*command)
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = run.stdout + run.stderr
    if run.returncode:
        sys.exit(f"fairlead: {shlex.join(command)} failed: {said.strip()}")
    return said


def main() -> None:
    """Publish what the arguments say, or print how."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--registry", required=True, help="such as registry.example/fairlead")
    parser.add_argument("--home", required=True, help="address of the repository")
    parser.add_argument("--key", required=True, help="name of the key that signs the chart")
    parser.add_argument("--fingerprint", required=True, help="its fingerprint")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "dist", help="where things are made"
    )
    parser.add_argument("--publish", action="store_true", help="do it instead of printing it")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    release = Release(
        registry=given.registry,
        home=given.home.rstrip("/"),
        key=given.key,
        fingerprint=given.fingerprint,
        folder=given.folder,
    )
    publish(release, done if given.publish else shown)
    if not given.publish:
        sys.stdout.write(
            f"Nothing was published. The chart is in {release.folder / 'chart'}.\n"
        )


if __name__ == "__main__":
    main()
