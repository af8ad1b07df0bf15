"""What the doctor says: findings, the steps that mend them, what was not seen. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Harm = Literal["stops", "slows", "wastes"]
HARMS: tuple[Harm, ...] = ("stops", "slows", "wastes")
"""Work stands still or soon will; it goes slower and slower; something is in vain."""

SUBJECTS = (
    *(
        "lead",
        "partitions",
        "connections",
        "notifications",
        "index",
        "pool",
        "queue",
        "kind",
        "lease",
    ),
    *("snapshot", "slot", "autovacuum", "dead rows", "clock", "crashes", "empty space"),
    "limit",
)
"""Their order where the harm is the same: what holds vacuum back is before dead rows."""

Where = Literal["sql", "shell", "policy"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: a statement, a command, or a change of the policy's document."""

    where: Where
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong."""

    harm: Harm
    subject: str
    what: str
    """What was found, with its numbers: how bad it is."""
    means: str
    """What comes of it."""
    fix: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something that could not be looked at, why, and what would help."""

    what: str
    why: str
    fix: tuple[Step, ...] = ()


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings, the most harmful first; those of one subject stay as they are."""
    return tuple(
        sorted(findings, key=lambda x: (HARMS.index(x.harm), SUBJECTS.index(x.subject)))
    )


def sql(text: str) -> Step:
    """Return the step of running a statement."""
    return Step("sql", text)


def shell(text: str) -> Step:
    """Return the step of running a command."""
    return Step("shell", text)


def either(text: str, on_kubernetes: str) -> Step:
    """Return the step of running a command, and in its comment what it is on Kubernetes."""
    return shell(f"{text}  # on Kubernetes: {on_kubernetes}")


def literal(text: str) -> str:
    """Quote a text for a statement, whatever is in it."""
    quoted = text.replace("'", "''").replace("\\", "\\\\")
    return f"e'{quoted}'" if "\\" in text else f"'{quoted}'"


def identifier(name: str) -> str:
    """Quote a name for a statement, whatever is in it."""
    plain = name.isascii() and name.isidentifier() and name == name.lower()
    return name if plain else '"' + name.replace('"', '""') + '"'
