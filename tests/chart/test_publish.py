"""Publishing prints its steps, and the published chart names its sources."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
import yaml

from tests.support.chart import HELM, Object, needs_helm
from tests.support.tree import ROOT

ARGUMENTS = (
    *("--registry=registry.example/shop", "--home=https://git.example/fairlead"),
    *("--key=Release", "--fingerprint=ABCD"),
)


def run(folder: Path, *arguments: str, programs: Path | None = None) -> tuple[int, str]:
    """Run the command; return its exit status and output."""
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "charts/publish.py",
            *ARGUMENTS,
            f"--folder={folder}",
            *arguments,
        ],
        env={**os.environ, "PATH": f"{programs}:/usr/bin:/bin"} if programs else None,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder with programs that only note that they were called."""
    folder = tmp_path / "programs"
    folder.mkdir()
    digest = "sha256:" + "7" * 64
    for name in ("make", "docker", "cosign", "helm"):
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "{name} $1" >>{tmp_path}/called\necho {digest}\n')
        program.chmod(0o755)
    return folder


def test_without_the_flag_nothing_is_run(tmp_path: Path, programs: Path) -> None:
    """Every step is printed: image, signature, package, push, signature, provenance."""
    status, said = run(tmp_path, programs=programs)

    assert 0 == status
    assert not (tmp_path / "called").exists()
    assert [
        *("make image", "docker buildx", "cosign sign"),
        *("helm package", "helm push", "cosign sign", "cosign attest", "Nothing was"),
    ] == [" ".join(line.split()[:2]) for line in said.splitlines()]
    assert "--sbom=true --provenance=mode=max --push" in said
    assert "oci://registry.example/shop/charts" in said


def test_what_is_pushed_is_signed_by_its_digest(tmp_path: Path, programs: Path) -> None:
    """A tag may be moved; what was pushed is named by what it is."""
    status, said = run(tmp_path, "--publish", programs=programs)

    assert 0 == status
    assert ["make image", "docker buildx", "cosign sign", "helm package"] == (
        (tmp_path / "called").read_text().splitlines()[:4]
    )
    signed = [line for line in said.splitlines() if line.startswith("cosign")]
    assert 3 == len(signed)
    assert [] == [line for line in signed if not line.endswith("@sha256:" + "7" * 64)]


def test_a_step_that_fails_is_the_last(tmp_path: Path, programs: Path) -> None:
    """Nothing is signed that was not pushed."""
    (programs / "make").write_text("#!/bin/sh\necho no registry\nexit 3\n")

    status, said = run(tmp_path, "--publish", programs=programs)

    assert 1 == status
    assert "no registry" in said
    assert not (tmp_path / "called").exists()


def test_the_published_chart_names_its_sources(tmp_path: Path) -> None:
    """Home, sources, icon, links, key and the image's digest, which the tree cannot know."""
    run(tmp_path)
    folder = tmp_path / "chart/fairlead"
    chart = cast("Object", yaml.safe_load((folder / "Chart.yaml").read_text()))
    annotations = cast("dict[str, str]", chart["annotations"])

    assert ("https://git.example/fairlead", ["https://git.example/fairlead"]) == (
        chart["home"],
        chart["sources"],
    )
    key = cast("Object", yaml.safe_load(annotations["artifacthub.io/signKey"]))
    assert "ABCD" == key["fingerprint"]
    assert "registry.example/shop/fairlead@sha256:" in annotations["artifacthub.io/images"]
    assert "changes" in annotations["artifacthub.io/links"]
    assert (ROOT / "docs/images/icon.svg").exists()
    assert str(chart["icon"]).endswith("/docs/images/icon.svg")


@needs_helm
def test_the_published_chart_runs_the_published_image(tmp_path: Path) -> None:
    """Its values name the registry and the runbooks, so that nothing has to be said of them."""
    run(tmp_path)
    made = subprocess.run(
        [
            HELM,
            "template",
            "x",
            tmp_path / "chart/fairlead",
            "--set=database.existingSecret=db,metrics.prometheusRule.enabled=true",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert "image: registry.example/shop/fairlead:" in made.stdout
    runbooks = re.findall(r"runbook_url: (\S+)", made.stdout)
    home = "https://git.example/fairlead/blob/main/docs/runbooks/"
    assert {home} == {url.removesuffix(f"{Path(url).stem}.md") for url in runbooks}
    assert [] == [
        url for url in runbooks if not (ROOT / "docs/runbooks" / Path(url).name).exists()
    ]
