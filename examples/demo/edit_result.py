"""How the demo says what an edit of a weight led to: as a table, a line and JSON."""

from dataclasses import asdict

from rich.table import Table

from examples.demo.edit_effect import (
    EFFECT_LOWEST,
    EFFECT_SECONDS,
    IN_FORCE_SECONDS_MAX,
    Effect,
    TargetStatus,
)
from examples.demo.watch import together, wait


def table(found: Effect) -> Table:
    """Lay out what the edit of a weight led to, beside what it should."""
    out = Table(title="A weight edited while it ran")
    out.add_column()
    for name in ("found", "target", ""):
        out.add_column(name, justify="right")
    if found.version is not None:
        out.add_row("policy", f"{found.version} ({found.digest})")
    out.add_row(f"weight of {together(found.tenants)[:26]}", f"1 → {found.weight:g}")
    out.add_row("share of slot-time before", _part(found.share_before))
    out.add_row("share while in force", _part(found.share_after, found.share_give_or_take))
    out.add_row("share the weight entitles to", _part(found.share_entitled))
    after = found.in_force_after_seconds
    out.add_row(
        "in force after the save",
        "never" if after is None else wait(after),
        f"≤ {wait(IN_FORCE_SECONDS_MAX)}",
        _status_text(found.in_force_status),
    )
    out.add_row(
        f"effect {EFFECT_SECONDS:g} s after the save",
        _part(found.effect, found.give_or_take),
        f"≥ {EFFECT_LOWEST:.0%}",
        _status_text(found.effect_status),
    )
    return out


def line(found: Effect) -> str | None:
    """Say in one line what part of an edit's effect was there; None if that is not known."""
    if found.effect is None or found.share_before is None or found.share_after is None:
        return None
    return (
        f"{found.effect:.0%} of the effect {EFFECT_SECONDS:g} s after the save: "
        f"{found.share_after:.0%} of the slot-time, not {found.share_before:.0%}"
    )


def as_json(edit: Effect) -> dict[str, object]:
    """Return what the table says."""
    return {
        **asdict(edit),
        "effect": edit.effect,
        "give_or_take": edit.give_or_take,
        "in_force_status": edit.in_force_status.value,
        "effect_status": edit.effect_status.value,
    }


def _part(value: float | None, give_or_take: float | None = None) -> str:
    if value is None:
        return "its work had ended"
    return f"{value:.0%}" + (f" ± {give_or_take:.0%}" if give_or_take is not None else "")


def _status_text(status: TargetStatus) -> str:
    colour = {TargetStatus.MET: "green", TargetStatus.MISSED: "red"}.get(status, "yellow")
    return f"[{colour}]{status.value}[/]"
