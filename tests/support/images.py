"""The image under test, and containers of it, by way of Docker's own command."""

import json
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

IMAGE = os.environ.get("FAIRLEAD_TEST_IMAGE")
"""Which image the tests are of; `make test-image` builds it and says so."""

BASE = os.environ.get("FAIRLEAD_TEST_IMAGE_BASE", "python:3.13-slim-trixie")

LOCKED_DOWN = (
    "--read-only",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--user=65532:65532",
)
"""What Kubernetes' restricted profile asks for, and no file system to write to."""


def missing() -> str | None:
    """Return why the image cannot be tested here, or None where it can."""
    if IMAGE is None:
        return "FAIRLEAD_TEST_IMAGE names no image: `make test-image` builds one and tests it"
    if shutil.which("docker") is None:
        return "Docker is not installed"
    return None


def docker(*words: str, seconds: float = 100.0) -> str:
    """Run a command of Docker's and return what it prints; what it says is the error."""
    done = subprocess.run(
        ["/usr/bin/env", "docker", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, f"docker {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


def the_image() -> str:
    """Return the name of the image under test."""
    assert IMAGE is not None
    return IMAGE


def inspected(image: str) -> dict[str, object]:
    """Return what Docker knows of an image."""
    return cast("list[dict[str, object]]", json.loads(docker("image", "inspect", image)))[0]


def config(image: str) -> dict[str, object]:
    """Return how containers of an image start."""
    return cast("dict[str, object]", inspected(image)["Config"])


def said_by(*command: str) -> str:
    """Return what a command prints in a locked-down container without a network."""
    return docker("run", "--rm", "--network=none", *LOCKED_DOWN, the_image(), *command)


def python(program: str, *, interpreter: str = "python3") -> object:
    """Return the JSON that a Python program prints in such a container."""
    return json.loads(said_by(interpreter, "-c", program))


@contextmanager
def container(*options: str, command: tuple[str, ...]) -> Generator[str]:
    """Run a command in a locked-down container until the block ends; yield its name."""
    name = docker("run", "--detach", *LOCKED_DOWN, *options, the_image(), *command).strip()
    try:
        yield name
    finally:
        docker("rm", "--force", "--volumes", name)
