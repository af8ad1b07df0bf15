"""What tenants had of the slots beside what they were entitled to, and who stands out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from fairlead_console.pages.values import Row

_STANDS_OUT = 0.05
"""How far a share has to be from the entitlement to be named."""


@dataclass(frozen=True, slots=True)
class Share:
    """One tenant's bar: what it had, and the mark of what it was entitled to."""

    row: Row
    width: float | None
    """Of a thousand; None: no report knows of it."""
    mark: float | None
    tone: str


def shares(rows: Sequence[Row]) -> tuple[Share, ...]:
    """Return the bars, on one scale that the largest fills."""
    parts = [
        cast("float", row[name])
        for row in rows
        for name in ("share", "entitled_share")
        if row[name] is not None
    ]
    top = max(parts, default=1.0) or 1.0
    return tuple(_share(row, top) for row in rows)


def _share(row: Row, top: float) -> Share:
    had = cast("float | None", row["share"])
    entitled = cast("float | None", row["entitled_share"])
    if had is None or entitled is None:
        return Share(row, None, None, "even")
    return Share(row, round(1000 * had / top, 1), round(1000 * entitled / top, 1), _tone(row))


def _tone(row: Row) -> str:
    had, entitled = (cast("float", row[name]) for name in ("share", "entitled_share"))
    if entitled - had > _STANDS_OUT and is_waiting(row):
        return "behind"
    return "ahead" if had - entitled > _STANDS_OUT else "even"


def is_waiting(row: Row) -> bool:
    """Tell whether a tenant has jobs that wait."""
    return bool(row["pending"]) or bool(row["queued"])


def sentences(rows: Sequence[Row]) -> tuple[str, ...]:
    """Name who has most beyond its share, and who is furthest behind while it waits."""
    known = [row for row in rows if row["share"] is not None]
    said: list[str] = []
    noisy = max(known, key=_beyond, default=None)
    if noisy is not None and _beyond(noisy) > _STANDS_OUT:
        said.append(
            f"{_name(noisy)} has had {_percent(noisy, 'share')} of the slots of late, and is "
            f"entitled to {_percent(noisy, 'entitled_share')}."
        )
    waiting = [row for row in known if is_waiting(row)]
    starving = min(waiting, key=_beyond, default=None)
    if starving is not None and _beyond(starving) < -_STANDS_OUT:
        said.append(
            f"{_name(starving)} waits: it has had {_percent(starving, 'share')}, and is "
            f"entitled to {_percent(starving, 'entitled_share')}{_why(starving)}."
        )
    if known and not said:
        said.append("Every tenant has had about what it is entitled to.")
    return tuple(said)


def _percent(row: Row, name: str) -> str:
    return f"{cast('float', row[name]):.0%}"


def _beyond(row: Row) -> float:
    return cast("float", row["share"]) - cast("float", row["entitled_share"] or 0.0)


def _name(row: Row) -> str:
    tenant = f"“{row['tenant']}”" if row["tenant"] else "The tenant without a name"
    return f"{tenant} in queue “{row['queue']}”"


def _why(row: Row) -> str:
    by = row["blocked_by"]
    return "" if by in (None, "turn", "capacity") else f": blocked by its {by}"
