"""Every reason that a decision of the autoscaler may say, as the code has them."""

from pathlib import Path

from fairlead_autoscaler.reasons import OF_TERM, Reason
from fairlead_autoscaler.transitions import conditions_of
from fairlead_autoscaler.words import SENTENCES

PATH = Path("docs/reference/reasons.md")

_HEAD = """# Reasons

Written by `python -m docs.generate` from the code. Each decision on a pool has one of these
reasons, and may name more that limit it or forbid a part of it. The same words are in the log,
in events, in the status ConfigMap, in `fairlead autoscaler explain`, and in the labels of
`fairlead_autoscaler_limited_info` and `fairlead_autoscaler_actions_total`.

A reason that asks for pods says nothing against a condition; every other one shows in those
that are named.

| reason | what it says | conditions |
|---|---|---|
"""
_QUIET = {
    *OF_TERM.values(),
    Reason.WOKEN,
    Reason.STABILIZING,
    Reason.PODS_DRAINING,
    Reason.SURPLUS,
    Reason.FALLBACK,
}


def render() -> str:
    """Return the page."""
    return _HEAD + "".join(_row(each) for each in Reason)


def _row(reason: Reason) -> str:
    shown = () if reason in _QUIET else conditions_of(reason)
    named = ", ".join(each.value for each in shown)
    return f"| `{reason.value}` | {SENTENCES[reason]} | {named} |\n"
