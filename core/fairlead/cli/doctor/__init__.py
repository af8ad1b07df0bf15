"""`fairlead doctor`: say what hurts a running fleet, the worst first, with the fix of each."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from fairlead.cli import show, words
from fairlead.cli.enqueue import read
from fairlead.cli.session import session

if TYPE_CHECKING:
    from fairlead.cli.doctor.finding import Finding, Step, Unseen

_STYLES = {"stops": "red", "slows": "yellow", "wastes": "cyan"}
_PROMPTS = {"sql": "sql>", "shell": "$", "policy": "in the policy:"}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


OlderThan = Annotated[
    str | None, typer.Option(help="Let younger snapshots pass: 90s, 1h; not given: 5m.")
]


def doctor(*, older_than: OlderThan = None, as_json: show.AsJson = False) -> None:
    """Say what hurts a fleet at work, the worst first, and the fix.

    It looks at who leads, leases, pools, queues, history's partitions, indexes, snapshots,
    slots, vacuum, dead rows, connections, clocks and limits, and changes nothing. Each
    statement takes 3 s at most. What the login may not see is said. Exit code 0: nothing is
    wrong; 1: something is; 2: it could not ask.
    """
    from fairlead.cli.doctor.judge import OLD, judge, unjudged
    from fairlead.cli.doctor.reading import Reader

    young = read("--older-than", older_than, words.duration)
    with session() as connection:
        reader = Reader(connection)
        facts = reader.read()
    findings = judge(facts, older_than=OLD if young is None else young)
    unseen = (*reader.unseen, *unjudged(facts))
    if as_json:
        show.print_json(
            {
                "findings": [asdict(each) for each in findings],
                "unseen": [asdict(each) for each in unseen],
            }
        )
    else:
        _print(findings, unseen)
    if findings:
        raise typer.Exit(1)


def _print(findings: "Sequence[Finding]", unseen: "Sequence[Unseen]") -> None:
    from rich.text import Text

    console = show.console()
    for place, found in enumerate(findings, start=1):
        head = Text(f"{place:>2}. ") + Text(f"{found.harm:7}", style=_STYLES[found.harm])
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
        typer.echo(f"    {'fix':7}{_PROMPTS[step.where]} {words.printable(step.text)}")
