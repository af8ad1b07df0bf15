"""The policy: the document in force, or a stored one, what it changed, and its history."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from fairlead import policy_storage
from fairlead.inspection.rows import Row
from fairlead_console.pages import differences
from fairlead_console.reads import records
from fairlead_console.screens.source import Source

_PAGE = 20


@dataclass(frozen=True, slots=True)
class PolicyPage:
    """What the page of the policy shows."""

    shown: policy_storage.Version | None
    """None: there is none, or none of this number."""
    in_force: int | None
    differs: tuple[differences.Line, ...]
    """What it changed in the one before it."""
    before: int | None
    """The version that it is compared with; None: it was the first."""
    history: tuple[Row, ...]
    next_before: int | None
    now: datetime


def read(source: Source, version: int | None, before: int | None) -> PolicyPage:
    """Read the page of one version, None: that in force, and of a part of the history."""
    key = ("policy", version, before)
    return cast("PolicyPage", source.memo.get(key, lambda: _read(source, version, before)))


def _read(source: Source, version: int | None, before: int | None) -> PolicyPage:
    with source.reads.one() as session:
        force = policy_storage.in_force(session)
        shown = force if version is None else policy_storage.numbered(session, version)
        former = None
        if shown is not None:
            earlier = records.policies(session, shown.version, 1)
            if earlier:
                number = int(str(earlier[0]["version"]))
                former = policy_storage.numbered(session, number)
        history = records.policies(session, before, _PAGE + 1)
    old, new = (each.document if each else "" for each in (former, shown))
    return PolicyPage(
        shown=shown,
        in_force=force.version if force else None,
        differs=differences.between(old, new) if former else (),
        before=former.version if former else None,
        history=tuple(history[:_PAGE]),
        next_before=int(str(history[_PAGE - 1]["version"])) if len(history) > _PAGE else None,
        now=datetime.now(UTC),
    )
