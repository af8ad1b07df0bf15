"""Which tenants of the observed fleet have work and when, and its policy. Pure."""

NOISY = ("acme", "bolt")
QUIET = ("bloom", "corner", "delta", "ember", "field")
SLOTS = 4
"""Slots of a worker."""
HIGH_SECONDS = 90.0
LOW_SECONDS = 60.0

_POLICY = """\
version: observed
pools:
  - name: default
    queues: ["*"]
    autoscale:
      objective: 2s
      min: {least}
      max: {most}
      slots: {slots}
      startPrior: 2s
      stabilization: 5s
"""
_REST = """\
fairness:
  reserve: {percent: 10, min: 1, shorterThan: 1s}
bands:
  - {name: urgent, priorities: {from: 50}}
  - {name: rest, maxWait: 30s}
queues:
  - match: {queue: mail}
    weight: 2
    rate: {limit: 60, per: 1s, burst: 60}
    tenants:
      overrides:
        - {match: {tenant: acme}, slots: {limit: "75%"}}
  - match: {queue: reports}
    slots: {limit: 2}
    concurrency: {key: payload.account, limit: 1, scope: queue}
  - match: {queue: bulk}
    tenants:
      default: {backlog: {limit: 30}}
rules:
  - {name: crowded, match: {queue: images}, when: "workers.free_ratio < 0.25", weightFactor: 2}
"""


def is_high(seconds: float) -> bool:
    """Return whether the noisy tenants flood their queue at a time since the start."""
    return seconds % (HIGH_SECONDS + LOW_SECONDS) < HIGH_SECONDS


def policy(least: int, most: int, rest: str | None = None) -> str:
    """Return the policy's document.

    Args:
        least: The fewest workers.
        most: The most workers.
        rest: The document without its pools; None: some of everything.
    """
    chosen = _REST if rest is None else rest
    return _POLICY.format(least=least, most=most, slots=SLOTS) + chosen
