"""Whether something is wrong, in one sentence, and what to look at first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from fairlead.inspection.doctor.finding import Finding
from fairlead_console.pages import words
from fairlead_console.pages.values import Row

_TONES = {"stops": "bad", "slows": "warn", "wastes": "note"}


@dataclass(frozen=True, slots=True)
class Concern:
    """Something that wants attention: what, what it means, and what to do."""

    tone: str
    title: str
    means: str
    fixes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Health:
    """What a page says first."""

    headline: str
    tone: str
    concerns: tuple[Concern, ...]


def judged(findings: Sequence[Finding] | None, paused: Sequence[Row]) -> Health:
    """Say how the fleet is.

    Args:
        findings: The doctor's, the most harmful first; None: its first look is not over.
        paused: What is paused by hand.
    """
    concerns = (*map(_found, findings or ()), *_paused(paused))
    worst = next((each.tone for each in concerns), "good")
    return Health(_headline(concerns, known=findings is not None), worst, concerns)


def _found(finding: Finding) -> Concern:
    fixes = tuple(step.text for step in finding.fix)
    title = f"{finding.subject}: {finding.what}"
    return Concern(_TONES[finding.harm], title, finding.means, fixes)


def _paused(rows: Sequence[Row]) -> Iterator[Concern]:
    for row in rows:
        now, since = (cast("datetime", row[name]) for name in ("now", "since"))
        tenant = f", tenant “{row['tenant']}”" if row["tenant"] is not None else ""
        title = f"paused: queue “{row['queue']}”{tenant}, for {words.ago(since, now)}"
        ends_at = cast("datetime | None", row["until"])
        ends = "" if ends_at is None else f" until {words.instant(ends_at)}, or"
        yield Concern("note", title, f"Its jobs wait{ends} until somebody resumes it.", ())


def _headline(concerns: Sequence[Concern], *, known: bool) -> str:
    harmful = sum(each.tone == "bad" for each in concerns)
    slow = sum(each.tone == "warn" for each in concerns)
    if harmful:
        return "Work stands still." if harmful == 1 else f"{harmful} things stop work."
    if slow:
        return "Something slows work." if slow == 1 else f"{slow} things slow work."
    if not known:
        return "The doctor is still looking."
    return "All is well." if not concerns else "Work goes on."
