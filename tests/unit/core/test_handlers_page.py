"""The page on writing handlers: its code is an application that works."""

import re
from pathlib import Path
from types import ModuleType
from typing import cast

import fairlead
from fairlead import testing
from tests.support import tree

PAGE = Path("docs/how-to/write-handlers.md")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_handlers_of_the_page_run() -> None:
    """One module that holds every block, in order."""
    shown = ModuleType("shown")
    exec("\n".join(BLOCK.findall(tree.text(PAGE))), shown.__dict__)  # noqa: S102 - our own page
    tasks = cast("fairlead.Tasks", shown.__dict__["tasks"])
    recorder, charge = testing.AttemptRecorder(), tasks.handlers["charge_card"]

    assert 2 == testing.run(tasks, "export", {"rows": 2}, recorder=recorder)
    assert ((0.5, "row 1"), (1.0, "row 2")) == recorder.progress
    assert (5, 480) == (charge.max_attempts, charge.backoff and charge.backoff(3))
    assert [
        "book",
        "charge_card",
        "export",
        "import",
        "index",
        "pay_out",
        "send_mail",
        "send_receipt",
    ] == sorted(tasks.handlers)


def test_the_handler_of_the_page_that_makes_room_goes_on_where_it_was() -> None:
    """It begins behind the page that its checkpoint names."""
    shown = ModuleType("shown")
    exec("\n".join(BLOCK.findall(tree.text(PAGE))), shown.__dict__)  # noqa: S102 - our own page
    tasks = cast("fairlead.Tasks", shown.__dict__["tasks"])
    recorder = testing.AttemptRecorder(checkpoint=2)

    assert 4 == testing.run(tasks, "index", {"pages": 4}, recorder=recorder)

    assert (3, 4) == recorder.checkpoints
    assert tasks.handlers["index"].evictable
