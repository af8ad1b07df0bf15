"""The command line as its own --help says it."""

import io
import os
import re
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from unittest.mock import patch

from typer.main import get_command

from fairlead.cli.program import app, run
from fairlead_autoscaler.main import main

PATH = Path("docs/reference/cli.md")

_HEAD = """# The command line

Written by `python -m docs.generate` from the commands themselves.

`fairlead` finds its database by `FAIRLEAD_DATABASE_URL`, or by the file that
`FAIRLEAD_DATABASE_URL_FILE` names, or by libpq's own variables. Whatever answers takes
`--json`; `dev`, `scheduler` and `worker` go on and log instead. A `+` behind a number says that
counting stopped there.

Exit codes: 0 done; 1 the answer is bad news (`check` found errors, `doctor` found something, a
job is unknown); 2 it could not be carried out, and one sentence says why: a wrong argument or
setting, no database, a schema that does not fit; 130 stopped by Ctrl-C.
"""
_PASSED_ON = """## fairlead {name}

The same program as `fairlead-{name}`, which pods run; `fairlead {name} --help` lists its
flags, and [settings](settings.md) says what each of them means.
"""
_AUTOSCALER = """## fairlead-autoscaler

A program of its own, since it alone talks to Kubernetes; [settings](settings.md) says what
else it reads.

```text
{said}
```
"""
_WIDTH = "88"


def render() -> str:
    """Return the page."""
    sections = [_HEAD]
    for words in _commands():
        if words in (["worker"], ["scheduler"]):
            sections.append(_PASSED_ON.format(name=words[0]))
        else:
            title = " ".join(["fairlead", *words])
            sections.append(f"## {title}\n\n```text\n{_help(words)}\n```\n")
    sections.append(_AUTOSCALER.format(said=_said(partial(main, ["--help"]))))
    return "\n".join(sections)


def _commands() -> list[list[str]]:
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    found: list[list[str]] = [[], *([str(command.name)] for command in app.registered_commands)]
    for name, group in groups.items():
        assert name is not None
        assert group is not None
        found += [[name], *([name, str(each.name)] for each in group.registered_commands)]
    assert get_command(app) is not None
    return sorted(found)


def _help(words: list[str]) -> str:
    return _said(partial(run, [*words, "--help"]))


def _said(program: Callable[[], object]) -> str:
    """Return what a program prints before it ends."""
    said = io.StringIO()
    with (
        patch.dict(os.environ, COLUMNS=_WIDTH),
        redirect_stdout(said),
        suppress(SystemExit),
    ):
        program()
    return re.sub(r"[ \t]+$", "", said.getvalue().strip(), flags=re.MULTILINE)
