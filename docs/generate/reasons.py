"""Write the page of the reasons of the autoscaler's decisions from the code."""

from pathlib import Path

from fairlead_autoscaler.decision.conditions import conditions_of
from fairlead_autoscaler.decision.reasons import OF_TERM, SENTENCES, Reason

PATH = Path("docs/reference/reasons.md")

_HEAD = """# Reasons

Why the autoscaler gave a pool its number of pods. Each decision has one of these reasons, and
may have more that limit it or forbid a part of it. The same words are in the log, in events, in
the status ConfigMap, in `fairlead autoscaler explain`, and in the labels of
`fairlead_autoscaler_limited_info` and `fairlead_autoscaler_actions_total`.

The last column names the conditions of the pool that show the reason. Reasons that ask for pods
set no condition. `python -m docs.generate` writes this page from the code.

| reason | meaning | conditions |
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
