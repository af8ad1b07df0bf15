"""`fairlead policy`: store, show, compare and check the policy of the fair order."""

import os
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairlead.inspection import formats, policy_names
from fairlead.inspection.rows import Row
from fairlead_cli.errors import CommandError, NegativeAnswer
from fairlead_cli.output import policy_versions, tables
from fairlead_cli.session import ask, session, user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.db.connect import Connection
    from fairlead.policy import Policy
    from fairlead.policy_storage import DocumentRefused, Stored
    from fairlead_scheduler.simulation.simulation_report import SimulationReport

app = typer.Typer(
    help="Manage how queues and tenants share the workers. Without a command: the history."
)

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A policy in YAML; - is standard input.")
]
Number = Annotated[
    int,
    typer.Argument(metavar="VERSION", help="A stored version.", min=1, max=formats.ID_MAX),
]
Reason = Annotated[str, typer.Option(help="Reason shown in the history.")]
Author = Annotated[
    str | None,
    typer.Option(
        envvar="FAIRLEAD_ACTOR",
        help="Author shown in the history; default: your user name, or else the login.",
    ),
]
Release = Annotated[
    str,
    typer.Option(
        envvar="FAIRLEAD_RELEASE",
        help="The release or fleet whose policy it is. Needed where a release owns the "
        "database: the policy of another is not replaced.",
    ),
]

_NO_SHADOW = (
    "no shadow policy is simulated: name a stored one under `shadow` in the policy in force, "
    "and see that a scheduler leads"
)


def _since(row: Row, name: str) -> str:
    return formats.since(cast("datetime", row[name]), now=cast("datetime", row["now"]))


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
    tables.number("version", "version"),
    tables.Column("stored", _when, right=True),
    tables.text("author", "author"),
    tables.text("digest", "digest"),
    tables.Column("state", _state),
    tables.text("reason", "reason"),
)


REFUSED = (
    tables.Column("refused", lambda row: _since(row, "at"), right=True),
    tables.text("author", "author"),
    tables.text("hash", "hash"),
    tables.text("reason", "reason"),
)


@app.callback(invoke_without_command=True)
def policy(context: typer.Context, *, as_json: tables.AsJson = False) -> None:
    """List the history, unless a command says what else to do."""
    if context.invoked_subcommand is None:
        history(as_json=as_json)
    elif as_json:
        raise CommandError(
            "--json belongs behind the command: `fairlead policy history --json`"
        )


@app.command("apply")
def apply(
    file: File,
    *,
    reason: Reason = "",
    author: Author = None,
    release: Release = "",
    as_json: tables.AsJson = False,
) -> None:
    """Store a policy; the scheduler applies it within 2 seconds."""
    document, found = _read_to_store(file, author)
    with session() as connection:
        owner = _may_store(connection, release)
        stored = _store(connection, document, author=author, reason=reason)
        rules = _rules(connection, stored)
        unknown = policy_names.unknown(connection, found)
    _say(stored, _warn(found, unknown), owner=owner, rules=rules, as_json=as_json)


@app.command("show")
def show_version(
    version: Annotated[
        int | None,
        typer.Argument(
            metavar="VERSION",
            help="A stored version; default: the one in force.",
            min=1,
            max=formats.ID_MAX,
        ),
    ] = None,
    *,
    as_json: tables.AsJson = False,
) -> None:
    """Print a policy as its author wrote it."""
    with session() as connection:
        in_force, last = policy_versions.latest(connection)
        found = (
            in_force or last
            if version is None
            else policy_versions.numbered(connection, version)
        )
    if found is None:
        raise NegativeAnswer(policy_versions.NONE)
    if as_json:
        tables.print_json({**asdict(found), "in_force": found == in_force})
        return
    reason = f": {found.reason}" if found.reason else ""
    state = policy_versions.state(found, in_force)
    of = f"digest {found.digest}, by {found.author}"
    _mention(f"version {found.version}, {state}, {of}{reason}")
    _mention(policy_versions.later(last, in_force) if version is None else "")
    typer.echo(found.document, nl=not found.document.endswith("\n"))


@app.command("diff")
def diff(file: File, *, as_json: tables.AsJson = False) -> None:
    """Compare a file with the policy in force, or else the newest."""
    from difflib import unified_diff

    from fairlead.policy import digest

    document, found = read(file)
    with session() as connection:
        in_force, last = policy_versions.latest(connection)
    old = in_force or last
    state = policy_versions.state(old, in_force) if old else ""
    name = f"version {old.version}, {state}" if old else "no policy"
    former = old.document.splitlines() if old else ()
    lines = list(unified_diff(former, document.splitlines(), name, str(file), lineterm=""))
    same = old is not None and old.digest == digest(found)
    if as_json:
        tables.print_json(
            {
                "in_force": policy_versions.named(in_force),
                "newest": policy_versions.named(last),
                "file": {"digest": digest(found)},
                "same": same,
                "diff": lines,
            }
        )
        return
    _mention(policy_versions.later(last, in_force))
    for line in lines:
        typer.echo(formats.printable(line))
    if old is not None and same:
        typer.echo(f"{file} says what version {old.version} says, which is {state}")


@app.command("history")
def history(
    *,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most this many.")] = 20,
    as_json: tables.AsJson = False,
) -> None:
    """List stored policies, newest first, and the status of each."""
    with session() as connection:
        found = ask(connection, "policy_history", {"limit": limit})
    listed = [{**row, "newest": place == 0} for place, row in enumerate(found)]
    tables.rows(listed, COLUMNS, as_json=as_json, none=policy_versions.NONE)


@app.command("refusals")
def refusals(
    *,
    limit: Annotated[int, typer.Option(min=1, max=100, help="At most this many.")] = 20,
    as_json: tables.AsJson = False,
) -> None:
    """List recently refused policies, and why."""
    with session() as connection:
        found = ask(connection, "policy_refusals", {"limit": limit})
    tables.rows(found, REFUSED, as_json=as_json, none="no document was refused")


@app.command("shadow")
def shadow(*, as_json: tables.AsJson = False) -> None:
    """Show what the policy that `shadow` names would do."""
    from fairlead_cli.output.comparison import say

    with session() as connection:
        found = ask(connection, "policy_shadow")
    if as_json:
        tables.print_json([{name: row[name] for name in row if name != "now"} for row in found])
        return
    if not found:
        raise NegativeAnswer(_NO_SHADOW)
    for row in found:
        since = formats.since(cast("datetime", row["at"]), now=cast("datetime", row["now"]))
        typer.echo(formats.printable(f"pool {row['pool']}, simulated {since} ago"))
        if row["report"] is None:
            typer.echo(formats.printable(str(row["reason"])))
        else:
            made = cast("SimulationReport", row["report"])
            say(made, f"version {made['new']['version']}")


@app.command("rollback")
def rollback(
    version: Number,
    *,
    reason: Reason = "",
    author: Author = None,
    release: Release = "",
    as_json: tables.AsJson = False,
) -> None:
    """Store an old version's document as a new version."""
    from fairlead.policy import PolicyRefused, parse

    why = f"rollback to version {version}" + (f": {reason}" if reason else "")
    with session() as connection:
        owner = _may_store(connection, release)
        document = policy_versions.numbered(connection, version).document
        try:
            stored = _store(connection, document, author=author, reason=why)
        except PolicyRefused as error:
            raise CommandError(f"version {version}: {error}") from None
        rules = _rules(connection, stored)
        found = parse(document)
        unknown = policy_names.unknown(connection, found)
    _say(stored, _warn(found, unknown), owner=owner, rules=rules, as_json=as_json)


@app.command("check")
def check(file: File, *, as_json: tables.AsJson = False) -> None:
    """Check that a file is a valid policy, whose names are in use.

    Without FAIRLEAD_DATABASE_URL, or where the database is away, only the file is checked.
    """
    from fairlead.policy import digest

    _, found = read(file)
    overrides = sum(len(rule.tenants.overrides) for rule in found.queues)
    warnings = _warn(found, _unknown(found))
    if as_json:
        tables.print_json(
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
        CommandError: it cannot be read or is no policy; the sentence says where and why.
    """
    from fairlead import policy_storage
    from fairlead.policy import PolicyRefused

    try:
        return policy_storage.read(file)
    except PolicyRefused as error:
        raise CommandError(formats.printable(str(error))) from None


def _read_to_store(file: Path, author: str | None) -> "tuple[str, Policy]":
    """Return a file's text and its policy; one that is refused is an event in the database.

    Raises:
        CommandError: as `read`.
    """
    from fairlead import policy_storage
    from fairlead.policy import PolicyRefused

    try:
        return policy_storage.read(file)
    except policy_storage.DocumentRefused as error:
        said = formats.printable(str(error))
        unnoted = _note(error, author)
        raise CommandError(f"{said}{unnoted}") from None
    except PolicyRefused as error:
        raise CommandError(formats.printable(str(error))) from None


def _note(refused: "DocumentRefused", author: str | None) -> str:
    """Note that a document was refused; returns what to say if that cannot be."""
    from fairlead.policy_storage import note_refusal
    from fairlead_cli.error_sentences import sentence

    try:
        with session() as connection:
            note_refusal(connection, refused.hash, refused.message, author=author or user())
    except Exception as error:
        said = sentence(error)
        if said is None:
            raise
        return f" (and that is not noted in the database: {said})"
    return ""


def _store(
    connection: "Connection", document: str, *, author: str | None, reason: str
) -> "Stored":
    from fairlead.policy_storage import store

    return store(connection, document, author=author or user(), reason=reason)


def _may_store(connection: "Connection", release: str) -> str:
    """Return the release whose policy is replaced, or nothing if the database has no owner.

    Raises:
        CommandError: the policy is another release's, or it comes from a ConfigMap, whose next
            change would replace what is stored.
    """
    from fairlead import ownership
    from fairlead.inspection import policy_source

    if said := policy_source.storing_refusal(connection, release):
        raise CommandError(said)
    return ownership.owner_of(connection)


def _rules(connection: "Connection", stored: "Stored") -> bool:
    """Return whether a version is in force: one that was stored just now seldom is."""
    in_force, _ = policy_versions.latest(connection)
    return in_force is not None and in_force.version == stored.version


def _mention(said: str) -> None:
    """Say something beside the answer, unless it is nothing."""
    if said:
        typer.echo(f"fairlead: {formats.printable(said)}", err=True)


def _unknown(found: "Policy") -> tuple[str, ...]:
    """Return what a database says of a policy's names, where one is given and answers."""
    from fairlead_cli.error_sentences import sentence

    if not {"FAIRLEAD_DATABASE_URL", "FAIRLEAD_DATABASE_URL_FILE"} & os.environ.keys():
        return ()
    try:
        with session() as connection:
            return policy_names.unknown(connection, found)
    except Exception as error:
        said = sentence(error)
        if said is None:
            raise
        _mention(f"its names are not held against a database: {said}")
        return ()


def _warn(found: "Policy", unknown: tuple[str, ...]) -> tuple[str, ...]:
    """Print which parts of a policy match no tenant or queue, and return them."""
    from fairlead.policy import find_warnings

    warnings = (*(formats.printable(said) for said in find_warnings(found)), *unknown)
    for said in warnings:
        typer.echo(f"fairlead: warning: {said}", err=True)
    return warnings


def _say(
    stored: "Stored", warnings: "Sequence[str]", *, owner: str, rules: bool, as_json: bool
) -> None:
    if as_json:
        tables.print_json(
            {
                "version": stored.version,
                "digest": stored.digest,
                "stored": stored.new,
                "in_force": rules,
                "release": owner or None,
                "warnings": warnings,
            }
        )
        return
    version = f"version {stored.version}, digest {stored.digest}"
    if stored.new:
        whose = f", for the release {owner}" if owner else ""
        typer.echo(formats.printable(f"stored {version}{whose}"))
    else:
        typer.echo(
            f"stored nothing: {version}, says the same "
            + ("and is in force" if rules else "and no leader has it in force yet")
        )
