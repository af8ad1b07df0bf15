"""`fairlead explain`: why a job does not run, and when it will."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, cast

import typer

from fairlead.inspection import formats, jobs
from fairlead_cli.errors import NegativeAnswer
from fairlead_cli.output import tables
from fairlead_cli.session import session

_ANSWER_TIMEOUT_SECONDS = 5.0
_SHOWN = (
    ("queue", "queue"),
    ("tenant", "tenant"),
    ("state", "state"),
    ("blocked by", "blocked_by"),
    ("by its", "by"),
    ("for, s", "blocked_seconds"),
    ("ahead", "ahead"),
    ("lag, slot-s", "lag_slot_seconds"),
    ("starts in, s", "starts_in_seconds"),
)


def _parts(answer: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield how long each reason blocked it, the holders of its key, and the policy."""
    waited = cast("Mapping[str, Mapping[str, object]]", answer.get("waited") or {})
    for who, its in waited.items():
        held = cast("Mapping[str, float]", its["blocked_seconds"])
        if held:
            parts = ", ".join(f"{reason} {seconds:.1f} s" for reason, seconds in held.items())
            yield f"{who} blocked", f"{parts} of {its['seconds']:.1f} s that it has waited"
    key = cast("Mapping[str, object] | None", answer.get("key"))
    if key is not None:
        yield "key held by", ", ".join(map(str, cast("Sequence[int]", key["holders"])))
    policy = cast("Mapping[str, object] | None", answer.get("policy"))
    if policy is not None:
        yield "policy", f"version {policy['version']}, digest {policy['digest']}"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    job_id: Annotated[
        int, typer.Argument(metavar="ID", help="The job's id.", min=1, max=formats.ID_MAX)
    ],
    *,
    as_json: tables.AsJson = False,
) -> None:
    """Explain why a job does not run, and when it will."""
    with session() as connection:
        answer = jobs.explain(connection, job_id, wait_seconds=_ANSWER_TIMEOUT_SECONDS)
    if as_json:
        tables.print_json(answer)
    elif answer["state"] != "unknown":
        typer.echo(f"job {job_id}: {formats.printable(str(answer['sentence']))}")
        for label, name in _SHOWN:
            if answer.get(name) is not None:
                typer.echo(f"  {label:14} {formats.printable(str(answer[name]))}")
        for label, said in _parts(answer):
            typer.echo(f"  {label:14} {said}")
    if answer["state"] == "unknown":
        raise NegativeAnswer(f"job {job_id}: {answer['sentence']}")
    if answer.get("asked"):
        raise NegativeAnswer("the leader has not answered: run `fairlead doctor`")
