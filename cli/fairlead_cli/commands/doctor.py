"""`fairlead doctor`: what is wrong with the running fleet, or with how it is set up."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from fairlead.inspection import formats
from fairlead_cli.commands.enqueue import read
from fairlead_cli.output import tables
from fairlead_cli.session import session

if TYPE_CHECKING:
    from fairlead.inspection.doctor.finding import Finding, Step, Unseen
    from fairlead.inspection.doctor.setup import SetupCheck

_HARM_STYLES = {"stops": "red", "slows": "yellow", "wastes": "cyan"}
_SEVERITY_STYLES = {"ok": "green", "warning": "yellow", "error": "red"}
_PROMPTS = {"sql": "sql>", "shell": "$", "policy": "in the policy:"}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


OlderThan = Annotated[
    str | None, typer.Option(help="Ignore younger snapshots: 90s, 1h. Default: 5m.")
]


def doctor(
    *,
    setup: Annotated[
        bool, typer.Option("--setup", help="Check settings, database and schema instead.")
    ] = False,
    older_than: OlderThan = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="With --setup: print only what is wrong.")
    ] = False,
    as_json: tables.AsJson = False,
) -> None:
    """Find what is wrong with a fleet, the worst first, and fixes.

    It looks at the leader, leases, pools, queues, history partitions, indexes, snapshots,
    replication slots, vacuum, dead rows, connections, notifications, clocks and limits, and
    changes nothing. Each statement takes 3 s at most. What the login may not see is listed.

    With --setup it checks whether settings, server, schema and roles are as a fleet needs them.

    Exit code 0: nothing is wrong; 1: something is (with --setup: errors); 2: it could not look.
    """
    if setup:
        if older_than is not None:
            raise typer.BadParameter("--older-than does not go with --setup")
        _check_setup(quiet=quiet, as_json=as_json)
    else:
        if quiet:
            raise typer.BadParameter("--quiet needs --setup")
        _examine_fleet(older_than, as_json=as_json)


def _examine_fleet(older_than: str | None, *, as_json: bool) -> None:
    from fairlead.inspection.doctor.diagnose import OLD, diagnose, undecided
    from fairlead.inspection.doctor.reader import Reader

    young = read("--older-than", older_than, formats.duration)
    with session() as connection:
        reader = Reader(connection)
        facts = reader.read()
    findings = diagnose(facts, older_than=OLD if young is None else young)
    unseen = (*reader.unseen, *undecided(facts))
    if as_json:
        tables.print_json(
            {
                "findings": [asdict(each) for each in findings],
                "unseen": [asdict(each) for each in unseen],
            }
        )
    else:
        _print_findings(findings, unseen)
    if findings:
        raise typer.Exit(1)


def _check_setup(*, quiet: bool, as_json: bool) -> None:
    from fairlead.inspection.doctor.reader import Reader
    from fairlead.inspection.doctor.setup import check_setup
    from fairlead_cli.check_settings import check_settings

    checks = list(dict.fromkeys(check_settings(os.environ)))
    try:
        with session() as connection:
            checks += check_setup(*Reader(connection).read_setup())
    finally:
        # Without a database too: a misspelt variable may be the reason that there is none.
        shown = [check for check in checks if not quiet or check.severity != "ok"]
        if as_json:
            tables.print_json([asdict(check) for check in shown])
        else:
            _print_checks(shown)
    if any(check.severity == "error" for check in checks):
        raise typer.Exit(1)


def _print_findings(findings: "Sequence[Finding]", unseen: "Sequence[Unseen]") -> None:
    from rich.text import Text

    console = tables.console()
    for place, found in enumerate(findings, start=1):
        head = Text(f"{place:>2}. ") + Text(f"{found.harm:7}", style=_HARM_STYLES[found.harm])
        console.print(head + Text(f"{found.subject}: {found.what}"), soft_wrap=True)
        console.print(Text(f"    {'means':7}{found.means}"), soft_wrap=True)
        _print_steps(found.fix)
    for each in unseen:
        console.print(Text(f"    {'unseen':7}{each.what}: {each.why}"), soft_wrap=True)
        _print_steps(each.fix)
    if not findings:
        console.print("nothing is wrong" + (", as far as could be seen" if unseen else ""))


def _print_steps(steps: "Sequence[Step]") -> None:
    for step in steps:
        typer.echo(f"    {'fix':7}{_PROMPTS[step.where]} {formats.printable(step.text)}")


def _print_checks(checks: "Iterable[SetupCheck]") -> None:
    from rich.text import Text

    console = tables.console()
    for check in checks:
        label = Text(f"{check.severity:8}", style=_SEVERITY_STYLES[check.severity])
        console.print(label + Text(f"{check.subject}: {check.sentence}"), soft_wrap=True)
