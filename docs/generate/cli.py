"""Write the page of the command line from each command's own --help."""

import io
import os
import re
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from unittest.mock import patch

from typer.main import get_command

from fairlead_autoscaler.main import main
from fairlead_cli.dev.command import app as dev
from fairlead_cli.main import app, run

PATH = Path("docs/reference/cli.md")

_HEAD = """# The command line

Every command of `fairlead`, as its own `--help` describes it. `python -m docs.generate` writes
this page from the commands.

`fairlead` takes its database from `FAIRLEAD_DATABASE_URL`, or from the file that
`FAIRLEAD_DATABASE_URL_FILE` names, or from libpq's own variables; `--database-url URL`,
wherever it stands in a command, goes before them. Every command that prints an
answer takes `--json`; `dev`, `scheduler` and `worker` keep running and log instead. A `+`
after a number means that counting stopped there.

Exit codes: 0 done; 1 the answer is bad news (`doctor` found something, a job is
unknown); 2 the command could not run, and one sentence says why: a wrong argument or
setting, no database, a schema that does not fit; 130 stopped by Ctrl-C.
"""
_PASSED_ON = """## fairlead {name}

The same program as `fairlead-{name}`, which pods run. `fairlead {name} --help` lists its
flags; [settings](settings.md) describes them.
"""
_AUTOSCALER = """## The program fairlead-autoscaler

A separate program, because only the autoscaler talks to Kubernetes. [Settings](settings.md)
lists its environment variables.

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
    found += [["dev", str(each.name)] for each in dev.registered_commands]
    assert get_command(app) is not None
    return sorted(found)


def _help(words: list[str]) -> str:
    return _said(partial(run, [*words, "--help"]))


def _said(program: Callable[[], object]) -> str:
    """Return what a program prints before it exits."""
    said = io.StringIO()
    with (
        patch.dict(os.environ, COLUMNS=_WIDTH),
        redirect_stdout(said),
        suppress(SystemExit),
    ):
        program()
    return re.sub(r"[ \t]+$", "", said.getvalue().strip(), flags=re.MULTILINE)
