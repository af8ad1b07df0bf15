"""Which pages the site has, in which groups and in which order.

A folder's pages come in the order in which docs/README.md first links to them, so that the
index that people read on a code host is the only list of pages.
"""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType

ROOT = Path(__file__).parents[2]
HOME = "docs/README"

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Tutorial": ("README", "docs/tutorial/*", "examples/README"),
        "How-to guides": ("docs/how-to/*", "charts/fairlead/README"),
        "Reference": ("docs/reference/*", "docs/reference/api/*", "docs/reference/proof/*"),
        "Explanation": ("docs/explanation/*", "scheduler/fairlead_scheduler/leadership/README"),
        "Runbooks": ("docs/runbooks/README",),
        "Decisions": ("docs/adr/README",),
        "The project": (
            *("CHANGELOG", "SECURITY", "ARCHITECTURE", "CONTRIBUTING"),
            *("core/README", "scheduler/README", "worker/README", "autoscaler/README"),
            *(
                "console/README",
                "cli/README",
                "charts/README",
                "bench/README",
                "tests/model/README",
            ),
        ),
    }
)
"""Each group of the navigation with its pages; `*` is every page of a folder."""

BELOW: Mapping[str, str] = MappingProxyType(
    {"docs/runbooks/README": "docs/runbooks/*", "docs/adr/README": "docs/adr/*"}
)
"""Pages that open a level of their own: there are too many below them for one list."""

_LINK = re.compile(r"\]\(([^)#\s]+\.md)")


def pages(pattern: str) -> tuple[str, ...]:
    """Return the names of the pages that a pattern stands for, in their order."""
    if not pattern.endswith("/*"):
        return (pattern,)
    folder = pattern.removesuffix("/*")
    found = {f"{folder}/{path.stem}" for path in (ROOT / folder).glob("*.md")} - {*BELOW}
    listed = [name for name in _listed() if name in found]
    return (*listed, *sorted(found.difference(listed)))


def every_page() -> tuple[str, ...]:
    """Return the names of all pages."""
    patterns = [*(each for group in GROUPS.values() for each in group), *BELOW.values()]
    return (HOME, *(name for pattern in patterns for name in pages(pattern)))


def _listed() -> list[str]:
    """Return the pages that the index links to, each once, in its order."""
    text = (ROOT / HOME).with_suffix(".md").read_text("utf-8")
    return list(dict.fromkeys(_name(link) for link in _LINK.findall(text)))


def _name(link: str) -> str:
    """Return the name of the page that a link of the index leads to."""
    parts: list[str] = []
    for part in (PurePosixPath(HOME).parent / link).with_suffix("").parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)
