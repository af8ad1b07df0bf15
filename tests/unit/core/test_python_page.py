"""The page on Python: its code is an application that works, and its sentence is true."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

import fairlead
from fairlead import testing
from fairlead.errors import InvalidPayload
from tests.support import tree

PAGE = Path("docs/how-to/enqueue-from-python.md")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_code_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One module that holds every block, in order, and is the one that the page names."""
    shown = ModuleType("shop.jobs")
    monkeypatch.setitem(sys.modules, "shop", ModuleType("shop"))
    monkeypatch.setitem(sys.modules, "shop.jobs", shown)
    for block in BLOCK.findall(tree.text(PAGE)):
        exec(block, shown.__dict__)  # noqa: S102 - our own page
    tasks = cast("fairlead.Tasks", shown.__dict__["tasks"])

    assert ["remind", "report", "send_email"] == sorted(tasks.handlers)
    assert [("acme", "report", "shop")] == [
        (each.tenant, each.name, tasks.name) for each in tasks.schedules
    ]
    now = datetime.now(UTC).isoformat()
    assert None is testing.run(tasks, "remind", {"to": "a", "at": now})
    check = tasks.defaults("send_email").check
    assert check is not None
    with pytest.raises(InvalidPayload) as refused:
        check({"to": 5})
    assert f"`{refused.value}`" in tree.text(PAGE)
