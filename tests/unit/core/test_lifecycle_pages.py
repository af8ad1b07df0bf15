"""The pages on lifespans and on checkpoints: their code is applications that work."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Self, cast

import pytest

import fairlead
from fairlead import testing
from tests.support import tree

LIFESPANS = Path("docs/how-to/lifespan-and-middleware.md")
CHECKPOINTS = Path("docs/how-to/resume-long-jobs.md")
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


class _Client:
    """What a library that is not installed here opens and closes."""

    opened = 0
    check_connection = None

    def __init__(self, *_: object, check: None = None) -> None:
        pass

    def __class_getitem__(cls, _of: object) -> type[Self]:
        return cls

    async def __aenter__(self) -> Self:
        _Client.opened += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        _Client.opened -= 1

    async def get(self, url: str) -> SimpleNamespace:
        """Answer, if it is open."""
        assert url == "https://example.com"
        return SimpleNamespace(status_code=200 + self.opened)


def shown(page: Path) -> ModuleType:
    """Return one module that holds every block of a page, in order."""
    module = ModuleType("shown")
    code = "\n".join(_BLOCK.findall(tree.text(page)))
    exec(code, module.__dict__)  # noqa: S102 - our own page
    return module


def test_the_application_of_the_page_on_lifespans_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its handler finds both clients open, and the tenant set by the middleware."""
    for name, what in (("httpx", "AsyncClient"), ("psycopg_pool", "AsyncConnectionPool")):
        library = ModuleType(name)
        library.__dict__[what] = _Client
        monkeypatch.setitem(sys.modules, name, library)
    module = shown(LIFESPANS)
    tasks = cast("fairlead.Tasks", module.__dict__["tasks"])

    assert 202 == testing.run(tasks, "fetch", {"url": "https://example.com"}, tenant="acme")

    assert 0 == _Client.opened
    tasks.check()


def test_the_handler_of_the_page_on_checkpoints_goes_on_where_it_was() -> None:
    """It begins behind the page that its checkpoint names."""
    tasks = cast("fairlead.Tasks", shown(CHECKPOINTS).__dict__["tasks"])
    recorder = testing.AttemptRecorder(checkpoint=2)

    assert 4 == testing.run(tasks, "reindex", {"pages": 4}, recorder=recorder)

    assert (3, 4) == recorder.checkpoints
    assert ["import_rows", "reindex"] == sorted(tasks.handlers)
