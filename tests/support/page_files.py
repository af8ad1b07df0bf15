"""The files that a page shows in its snippets of Python."""

import re
from collections.abc import Mapping
from pathlib import Path

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"# (\S+\.py)\n")


def files(page: str) -> dict[str, str]:
    """Return the page's files: a snippet names its own, or goes on in the last one's."""
    found: dict[str, str] = {}
    name = ""
    for block in _BLOCK.finditer(page):
        named = _NAME.match(block[1])
        name = named[1] if named else name
        found[name] = found.get(name, "") + block[1] + "\n\n"
    return found


def write(written: Mapping[str, str], folder: Path) -> None:
    """Write them into a folder."""
    for name, source in written.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(source)
