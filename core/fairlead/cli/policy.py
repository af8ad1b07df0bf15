"""`fairlead policy`: store, show, compare and check the policy of the fair order."""

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairlead.cli import show, versions, words
from fairlead.cli.problem import Failure, Problem
from fairlead.cli.session import Row, ask, session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.policy import Policy
    from fairlead.policy_file import DocumentRefused
    from fairlead.policy_store import Stored
    from fairlead.store import Connection
    from fairlead_scheduler.simulation.report import Report

app = typer.Typer(
    help="How queues and tenants share the workers. Without a command: the history."
)

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A policy in YAML; - is standard input.")
]
Number = Annotated[
    int,
    typer.Argument(
        metavar="VERSION", help="A version that was stored.", min=1, max=words.ID_MAX
    ),
]
Reason = Annotated[str, typer.Option(help="Why, for the history.")]
Author = Annotated[
    str | None, typer.Option(help="Who; else this machine's name for you, else the login.")
]

_NO_SHADOW = (
    "no shadow policy is simulated: name a stored one under `shadow` in the policy in force, "
    "and see that a scheduler leads"
)


def _since(row: Row, name: str) -> str:
    return words.since(cast("datetime", row[name]), now=cast("datetime", row["now"]))


def _when(row: Row) -> str:
    return _since(row, "stored_at")


def _state(row: Row) -> str:
    """Say what became of a version, as far as a leader has said so."""
    newest = bool(row["newest"])
    match row["event"]:
        case "refused":
            return f"refused: {row['said']}"
        case "in_force" if row["in_force"]:
            disabled = ", ".join(cast("list[str]", row["disabled_rules"]))
            without = f", without {disabled}, which had to be disabled" if disabled else ""
            return f"in force, epoch {row['epoch']}{without}"
        case "in_force":
            return "was in force"
        case _:
            return "stored, no leader has read it" if newest else "stored"


COLUMNS = (
    show.number("version", "version"),
    show.Column("stored", _when, right=True),
    show.text("author", "author"),
    show.text("digest", "digest"),
    show.Column("state", _state),
    show.text("reason", "reason"),
)


REFUSED = (
    show.Column("refused", lambda row: _since(row, "at"), right=True),
    show.text("author", "author"),
    show.text("hash", "hash"),
    show.text("reason", "said"),
)


@app.callback(invoke_without_command=True)
def policy(context: typer.Context, *, as_json: show.AsJson = False) -> None:
    """List the history, unless a command says what else to do."""
    if context.invoked_subcommand is None:
        history(as_json=as_json)
    elif as_json:
        raise Problem("--json belongs behind the command: `fairlead policy history --json`")


@app.command("apply")
def apply(
    file: File, *, reason: Reason = "", author: Author = None, as_json: show.AsJson = False
) -> None:
    """Store a policy; the scheduler follows it within 2 seconds."""
    document, found = _read_to_store(file, author)
    with session() as connection:
        _may_store(connection)
        stored = _store(connection, document, author=author, reason=reason)
        rules = _rules(connection, stored)
    _say(stored, _warn(found), rules=rules, as_json=as_json)


@app.command("show")
def show_version(
    version: Annotated[
        int | None,
        typer.Argument(
            metavar="VERSION",
            help="A stored version; else the one in force.",
            min=1,
            max=words.ID_MAX,
        ),
    ] = None,
    *,
    as_json: show.AsJson = False,
) -> None:
    """Print a policy as its author wrote it."""
    with session() as connection:
        ruling, last = versions.latest(connection)
        found = ruling or last if version is None else versions.numbered(connection, version)
    if found is None:
        raise Failure(versions.NONE)
    if as_json:
        show.print_json({**asdict(found), "in_force": found == ruling})
        return
    reason = f": {found.reason}" if found.reason else ""
    state = versions.state(found, ruling)
    of = f"digest {found.digest}, by {found.author}"
    _mention(f"version {found.version}, {state}, {of}{reason}")
    _mention(versions.later(last, ruling) if version is None else "")
    typer.echo(found.document, nl=not found.document.endswith("\n"))


@app.command("diff")
def diff(file: File, *, as_json: show.AsJson = False) -> None:
    """Compare a file with the policy in force, else with the newest."""
    from difflib import unified_diff

    from fairlead.policy import digest

    document, found = read(file)
    with session() as connection:
        ruling, last = versions.latest(connection)
    old = ruling or last
    state = versions.state(old, ruling) if old else ""
    name = f"version {old.version}, {state}" if old else "no policy"
    former = old.document.splitlines() if old else ()
    lines = list(unified_diff(former, document.splitlines(), name, str(file), lineterm=""))
    same = old is not None and old.digest == digest(found)
    if as_json:
        show.print_json(
            {
                "in_force": versions.named(ruling),
                "newest": versions.named(last),
                "file": {"digest": digest(found)},
                "same": same,
                "diff": lines,
            }
        )
        return
    _mention(versions.later(last, ruling))
    for line in lines:
        typer.echo(words.printable(line))
    if old is not None and same:
        typer.echo(f"{file} says what version {old.version} says, which is {state}")


@app.command("history")
def history(
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many.")] = 20,
    as_json: show.AsJson = False,
) -> None:
    """List the stored policies, newest first, and what became of each."""
    with session() as connection:
        found = ask(connection, "policy_history", {"limit": limit})
    listed = [{**row, "newest": place == 0} for place, row in enumerate(found)]
    show.rows(listed, COLUMNS, as_json=as_json, none=versions.NONE)


@app.command("refusals")
def refusals(
    *,
    limit: Annotated[int, typer.Option(min=1, max=100, help="At most this many.")] = 20,
    as_json: show.AsJson = False,
) -> None:
    """List what was refused instead of stored of late, and why."""
    with session() as connection:
        found = ask(connection, "policy_refusals", {"limit": limit})
    show.rows(found, REFUSED, as_json=as_json, none="no document was refused")


@app.command("shadow")
def shadow(*, as_json: show.AsJson = False) -> None:
    """Show what the policy that `shadow` names would do."""
    from fairlead.cli.prediction import say

    with session() as connection:
        found = ask(connection, "policy_shadow")
    if as_json:
        show.print_json([{name: row[name] for name in row if name != "now"} for row in found])
        return
    if not found:
        raise Failure(_NO_SHADOW)
    for row in found:
        since = words.since(cast("datetime", row["at"]), now=cast("datetime", row["now"]))
        typer.echo(words.printable(f"pool {row['pool']}, simulated {since} ago"))
        if row["report"] is None:
            typer.echo(words.printable(str(row["said"])))
        else:
            made = cast("Report", row["report"])
            say(made, f"version {made['new']['version']}")


@app.command("rollback")
def rollback(
    version: Number,
    *,
    reason: Reason = "",
    author: Author = None,
    as_json: show.AsJson = False,
) -> None:
    """Store an old version's document as a new version."""
    from fairlead.policy import PolicyRefused, parse

    why = f"rollback to version {version}" + (f": {reason}" if reason else "")
    with session() as connection:
        _may_store(connection)
        document = versions.numbered(connection, version).document
        try:
            stored = _store(connection, document, author=author, reason=why)
        except PolicyRefused as error:
            raise Problem(f"version {version}: {error}") from None
        rules = _rules(connection, stored)
    _say(stored, _warn(parse(document)), rules=rules, as_json=as_json)


@app.command("check")
def check(file: File, *, as_json: show.AsJson = False) -> None:
    """Say whether a file is a policy, without a database."""
    from fairlead.policy import digest

    _, found = read(file)
    overrides = sum(len(rule.tenants.overrides) for rule in found.queues)
    warnings = _warn(found)
    if as_json:
        show.print_json(
            {
                "file": str(file),
                "digest": digest(found),
                "version": found.version,
                "queue_rules": len(found.queues),
                "tenant_overrides": overrides,
                "rules": len(found.rules),
                "bands": len(found.bands),
                "warnings": warnings,
            }
        )
    else:
        typer.echo(
            f"{file} is a policy: digest {digest(found)}, queue rules {len(found.queues)}, "
            f"tenant overrides {overrides}, rules {len(found.rules)}, bands {len(found.bands)}"
        )


def read(file: Path) -> "tuple[str, Policy]":
    """Return a file's text and its policy.

    Raises:
        Problem: it cannot be read or is no policy; the sentence says where and why.
    """
    from fairlead import policy_file
    from fairlead.policy import PolicyRefused

    try:
        return policy_file.read(file)
    except PolicyRefused as error:
        raise Problem(words.printable(str(error))) from None


def _read_to_store(file: Path, author: str | None) -> "tuple[str, Policy]":
    """Return a file's text and its policy; one that is refused is an event in the database.

    Raises:
        Problem: as `read`.
    """
    from fairlead import policy_file
    from fairlead.policy import PolicyRefused

    try:
        return policy_file.read(file)
    except policy_file.DocumentRefused as error:
        said = words.printable(str(error))
        unnoted = _note(error, author)
        raise Problem(f"{said}{unnoted}") from None
    except PolicyRefused as error:
        raise Problem(words.printable(str(error))) from None


def _note(refused: "DocumentRefused", author: str | None) -> str:
    """Note that a document was refused; returns what to say if that cannot be."""
    from fairlead.cli.failure import sentence
    from fairlead.policy_store import note_refusal

    try:
        with session() as connection:
            note_refusal(connection, refused.hash, refused.said, author=author or _user())
    except Exception as error:
        said = sentence(error)
        if said is None:
            raise
        return f" (and that is not noted in the database: {said})"
    return ""


def _store(
    connection: "Connection", document: str, *, author: str | None, reason: str
) -> "Stored":
    from fairlead.policy_store import store

    return store(connection, document, author=author or _user(), reason=reason)


def _may_store(connection: "Connection") -> None:
    """See that the policy is edited in the database.

    Raises:
        Problem: it comes from ConfigMaps, whose next change would go over what is stored.
    """
    (row,) = ask(connection, "policy_source")
    if row["source"] == "configmap":
        place = row["place"] or "the release's ConfigMap of the policy"
        raise Problem(
            f"the policy is edited in {place}, from where the autoscaler stores it: "
            "edit `policy.yaml` there, or give the release `policy.source=database`"
        )


def _user() -> str | None:
    """Return what this machine calls whoever runs the command, if it calls them anything."""
    from getpass import getuser

    try:
        return getuser()
    except (OSError, KeyError):  # a container's user need not have a name
        return None


def _rules(connection: "Connection", stored: "Stored") -> bool:
    """Return whether a version is in force: one that was stored just now seldom is."""
    ruling, _ = versions.latest(connection)
    return ruling is not None and ruling.version == stored.version


def _mention(said: str) -> None:
    """Say something beside the answer, unless it is nothing."""
    if said:
        typer.echo(f"fairlead: {words.printable(said)}", err=True)


def _warn(found: "Policy") -> tuple[str, ...]:
    """Say what in a policy means nobody, and return it."""
    from fairlead.policy import doubts

    warnings = tuple(words.printable(said) for said in doubts(found))
    for said in warnings:
        typer.echo(f"fairlead: warning: {said}", err=True)
    return warnings


def _say(stored: "Stored", warnings: "Sequence[str]", *, rules: bool, as_json: bool) -> None:
    if as_json:
        show.print_json(
            {
                "version": stored.version,
                "digest": stored.digest,
                "stored": stored.new,
                "in_force": rules,
                "warnings": warnings,
            }
        )
    elif stored.new:
        typer.echo(f"stored version {stored.version}, digest {stored.digest}")
    else:
        typer.echo(
            f"stored nothing: version {stored.version}, digest {stored.digest}, says the same "
            + ("and is in force" if rules else "and no leader has it in force yet")
        )
