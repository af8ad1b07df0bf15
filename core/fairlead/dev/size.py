"""How many workers `fairlead dev` runs: a number, or bounds between which they are scaled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import typer
import yaml

from fairlead.policy import PolicyRefused, parse

POOL = "default"
"""The one whose workers `fairlead dev` runs."""
WORKERS_MAX = 32
_START_PRIOR = "2s"
_WINDOW = "10s"
"""A local process is back in a second: nobody need keep one for long."""


@dataclass(frozen=True, slots=True)
class Size:
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


def size(given: str) -> Size:
    """Read `N` or `MIN:MAX`.

    Raises:
        typer.BadParameter: it is neither.
    """
    least, colon, most = given.partition(":")
    try:
        found = Size(int(least), int(most) if colon else int(least))
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


def autoscale_of(size: Size, *, objective: str, slots: int) -> Mapping[str, object]:
    """Return what the policy is to say of the pool.

    Args:
        size: The bounds.
        objective: How long a job may wait.
        slots: Of a worker.

    Raises:
        typer.BadParameter: the objective is none.
    """
    said: dict[str, object] = {
        "objective": objective,
        "min": size.least,
        "max": size.most,
        "slots": slots,
        "startPrior": _START_PRIOR,
        "stabilization": _WINDOW,
        "keep": _WINDOW,
    }
    try:
        parse(with_autoscale("", said))
    except PolicyRefused as error:
        raise typer.BadParameter(str(error)) from None
    return said


def with_autoscale(document: str, autoscale: Mapping[str, object]) -> str:
    """Return a policy's text with this `autoscale` of the pool `default`.

    Where the policy has no pools, that pool gets all queues, as without pools it has.
    """
    policy: dict[str, object] = yaml.safe_load(document) or {}
    pools = cast("list[dict[str, object]]", policy.setdefault("pools", []))
    if all(pool.get("name") != POOL for pool in pools):
        pools.append(dict[str, object](name=POOL, queues=["*"]))
    for pool in pools:
        if pool.get("name") == POOL:
            pool["autoscale"] = dict(autoscale)
    return yaml.safe_dump(policy, sort_keys=False, allow_unicode=True)
