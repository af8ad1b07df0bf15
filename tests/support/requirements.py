"""The pins of `requirements/`: which version of each package is installed, and where."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.support import tree

FOLDER = Path("requirements")
_PIN = re.compile(
    r"^(?P<name>[a-z0-9-]+)==(?P<version>\S+?)(?: ; [^\\]+?)?(?P<hashes>(?: \\\n.*)*)$",
    re.MULTILINE,
)

Pins = dict[str, str]


def pins(text: str) -> Pins:
    """Return the version of each package that a file pins with at least one hash."""
    return {
        found["name"]: found["version"]
        for found in _PIN.finditer(text)
        if "--hash=sha256:" in found["hashes"]
    }


def files() -> Iterator[Path]:
    """Yield the files with pins."""
    return (path for path in tree.files(".txt") if path.parent == FOLDER)


def every_pin() -> set[tuple[str, str]]:
    """Return each package with its version, wherever it is installed."""
    return {pin for path in files() for pin in pins(tree.text(path)).items()}
