"""`fairlead explain`: why a job does not run, and when it will."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, cast

import typer

from fairlead.cli import show, words
from fairlead.cli.problem import Failure
from fairlead.cli.session import ask, session

_PATIENCE_SECONDS = 5.0
_AGAIN_SECONDS = 0.1
_SHOWN = (
    ("queue", "queue"),
    ("tenant", "tenant"),
    ("state", "state"),
    ("blocked by", "blocked_by"),
    ("of its", "by"),
    ("for, s", "blocked_seconds"),
    ("ahead", "ahead"),
    ("lag, slot-s", "lag_slot_seconds"),
    ("starts in, s", "starts_in_seconds"),
)


def _parts(answer: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what held it how long, who has its key, and the policy that the leader went by."""
    waited = cast("Mapping[str, Mapping[str, object]]", answer.get("waited") or {})
    for who, its in waited.items():
        held = cast("Mapping[str, float]", its["held_seconds"])
        if held:
            parts = ", ".join(f"{reason} {seconds:.1f} s" for reason, seconds in held.items())
            yield f"{who} held", f"{parts} of {its['seconds']:.1f} s that it waits"
    key = cast("Mapping[str, object] | None", answer.get("key"))
    if key is not None:
        yield "held by", ", ".join(map(str, cast("Sequence[int]", key["holders"])))
    policy = cast("Mapping[str, object] | None", answer.get("policy"))
    if policy is not None:
        yield "policy", f"version {policy['version']}, digest {policy['digest']}"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    job_id: Annotated[
        int, typer.Argument(metavar="ID", help="The job's id.", min=1, max=words.ID_MAX)
    ],
    *,
    as_json: show.AsJson = False,
) -> None:
    """Say why a job does not run, and when it will."""
    until = time.monotonic() + _PATIENCE_SECONDS
    with session() as connection:
        while True:
            (row,) = ask(connection, "explain", {"id": job_id})
            answer = cast("dict[str, object]", row["answer"])
            if not answer.get("asked") or time.monotonic() >= until:
                break
            time.sleep(_AGAIN_SECONDS)
    if as_json:
        show.print_json(answer)
    elif answer["state"] != "unknown":
        typer.echo(f"job {job_id}: {words.printable(str(answer['said']))}")
        for label, name in _SHOWN:
            if answer.get(name) is not None:
                typer.echo(f"  {label:13} {words.printable(str(answer[name]))}")
        for label, said in _parts(answer):
            typer.echo(f"  {label:13} {said}")
    if answer["state"] == "unknown":
        raise Failure(f"job {job_id}: {answer['said']}")
    if answer.get("asked"):
        raise Failure("the leader has not answered: is the scheduler well? (`fairlead check`)")
