"""How many workers `fairlead dev` runs: a number, or bounds between which they are scaled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import typer
import yaml

from fairlead.policy import PolicyRefused, parse
from fairlead.policy.document import Unreadable, read

POOL = "default"
"""The one whose workers `fairlead dev` runs."""
WORKERS_MAX = 32
_DEFAULTS: Mapping[str, object] = {
    "objective": "10s",
    # A local process is back in a second: no idle one need be kept for long.
    "startPrior": "2s",
    "stabilization": "10s",
    "keep": "10s",
}
"""What is written where the policy says nothing else."""


@dataclass(frozen=True, slots=True)
class WorkerCount:
    """So many workers at least, and at most; the same twice is a number that stays."""

    least: int
    most: int

    @property
    def is_fixed(self) -> bool:
        """Whether nothing is scaled."""
        return self.least == self.most

    def __str__(self) -> str:
        """Return it as it is given on the command line."""
        return str(self.least) if self.is_fixed else f"{self.least}:{self.most}"


def size(given: str) -> WorkerCount:
    """Read `N` or `MIN:MAX`.

    Raises:
        typer.BadParameter: it is neither.
    """
    least, colon, most = given.partition(":")
    try:
        found = WorkerCount(int(least), int(most) if colon else int(least))
    except ValueError:
        raise typer.BadParameter(
            f"'{given}' must be a number, or MIN:MAX such as 1:6"
        ) from None
    lowest = 0 if colon else 1
    if not lowest <= found.least <= found.most <= WORKERS_MAX or found.most == 0:
        within = f"from {lowest} to {WORKERS_MAX}"
        order = ", MIN not above MAX" if colon else ""
        raise typer.BadParameter(f"'{given}' must be {within}{order}")
    return found


def autoscale_of(
    size: WorkerCount, *, objective: str | None, slots: int
) -> Mapping[str, object]:
    """Return what is asked of the pool's `autoscale`.

    Args:
        size: The bounds.
        objective: How long a job may wait; None: nothing is asked.
        slots: Of a worker.

    Raises:
        typer.BadParameter: the objective is none.
    """
    asked: dict[str, object] = {"min": size.least, "max": size.most, "slots": slots}
    if objective is not None:
        asked["objective"] = objective
    try:
        parse(with_autoscale("{}", asked))
    except PolicyRefused as error:
        raise typer.BadParameter(str(error)) from None
    return asked


def with_autoscale(document: str, asked: Mapping[str, object]) -> str:
    """Return a policy's text with what is asked of the `autoscale` of the pool `default`.

    What the pool says of other fields stays. Where the policy has no pools, that pool gets all
    queues, as without pools it has. Comments are lost.

    Args:
        document: A policy.
        asked: Fields of `autoscale`.

    Raises:
        PolicyRefused: the document cannot be read.
    """
    try:
        policy = cast("dict[str, object]", read(document).value)
    except Unreadable as error:
        raise PolicyRefused(str(error)) from None
    pools = cast("list[dict[str, object]]", policy.setdefault("pools", []))
    if all(pool.get("name") != POOL for pool in pools):
        pools.append(dict[str, object](name=POOL, queues=["*"]))
    for pool in pools:
        if pool.get("name") == POOL:
            said = cast("dict[str, object]", pool.get("autoscale") or {})
            pool["autoscale"] = {**_DEFAULTS, **said, **asked}
    text: str = yaml.dump(policy, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


class _Dumper(yaml.SafeDumper):
    """Quotes text that a policy's reader would take for a number where it stood alone."""


def _written(_dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if text[:1].isalpha() else '"'
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _written)
