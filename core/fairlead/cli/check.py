"""`fairlead check`: say what keeps an installation from working, and what will hurt it."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from fairlead.cli import show
from fairlead.cli.session import session

if TYPE_CHECKING:
    from pydantic_settings import BaseSettings

    from fairlead.check import Finding

# Read by the development server and by the tests, and by no settings class.
_OTHER_NAMES = {"FAIRLEAD_POSTGRES_BIN"}
# What a flag says where no variable does: the settings beside it are judged all the same.
_BY_FLAG = {"app": "its:tasks"}
_STYLES = {"ok": "green", "warning": "yellow", "error": "red"}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check)


def check(
    *,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only what is wrong.")] = False,
    as_json: show.AsJson = False,
) -> None:
    """Check settings, database and schema. Exit code 1: errors; 2: it could not look.

    What hurts a fleet at work is for `fairlead doctor` to say.
    """
    from fairlead.check import judge, read

    findings = list(dict.fromkeys(_settings(os.environ)))
    try:
        with session() as connection:
            findings += judge(read(connection), here=datetime.now(UTC))
    finally:
        # Without a database too: a variable that is spelt wrong may be why there is none.
        _report(findings, quiet=quiet, as_json=as_json)
    if any(found.severity == "error" for found in findings):
        raise typer.Exit(1)


def _report(findings: "Iterable[Finding]", *, quiet: bool, as_json: bool) -> None:
    shown = [found for found in findings if not quiet or found.severity != "ok"]
    if as_json:
        show.print_json([asdict(found) for found in shown])
    else:
        _print(shown)


def _print(findings: "Iterable[Finding]") -> None:
    from rich.text import Text

    console = show.console()
    for found in findings:
        label = Text(f"{found.severity:8}", style=_STYLES[found.severity])
        console.print(label + Text(f"{found.subject}: {found.sentence}"), soft_wrap=True)


def _settings(environment: Mapping[str, str]) -> "Iterable[Finding]":
    """Judge the services' settings as this environment has them."""
    from pydantic import ValidationError

    from fairlead.check import Finding
    from fairlead.settings import problems

    known = set(_OTHER_NAMES)
    for service in services():
        variables = {name: f"FAIRLEAD_{name.upper()}" for name in service.model_fields}
        known.update(variables.values())
        unset = {name for name, variable in variables.items() if variable not in environment}
        try:
            service.model_validate({name: _BY_FLAG[name] for name in unset & _BY_FLAG.keys()})
        except ValidationError as error:
            for name, sentence in problems(error):
                # What is not set here may be given by a flag.
                if name in environment or name == "settings":
                    yield Finding("error", "settings", sentence)
    given = {name for name in environment if name.startswith("FAIRLEAD_")}
    unknown = sorted(name for name in given - known if not name.startswith("FAIRLEAD_TEST_"))
    if unknown:
        sentence = f"nothing reads {', '.join(unknown)}: check the spelling"
        yield Finding("warning", "settings", sentence)
    else:
        yield Finding(
            "ok", "settings", f"FAIRLEAD_ variables that are set and known: {len(given)}"
        )


def services() -> "tuple[type[BaseSettings], ...]":
    """Return the settings of every program."""
    from fairlead.settings import DatabaseSettings
    from fairlead_autoscaler.settings import AutoscalerSettings
    from fairlead_scheduler.settings import SchedulerSettings
    from fairlead_worker.settings import WorkerSettings

    return (DatabaseSettings, SchedulerSettings, WorkerSettings, AutoscalerSettings)
