"""Write the page of fail-overs from what was recorded of each kind."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, cast

PATH = Path("docs/reference/proof/fail_overs.md")
_RECORDED = Path(__file__).parents[2] / "tests/chaos/fail_overs/recorded"

_HEAD = """# Fail-overs

What was found when PostgreSQL failed over again and again under load, each time with the data
that the last fail-over had left: two schedulers, two workers, an application that enqueues for
six tenants, with a rate, limits of tenants and keys, and handlers of every sort.
`python -m tests.chaos.fail_overs` plays a series from its seed; with `--record` it writes the
figures from which `python -m docs.generate` makes this page.

The standby is promoted the moment the primary has ended: what a cluster manager takes to
notice and to decide comes on top. All settings are the defaults. After each fail-over these are
counted, and a series in which there is any is not recorded:

* **lost**: an order that the server had acknowledged is not there, or its job is nowhere;
* **twice**: a job ended twice, or its work stands twice, or it began again after an end that
  was acknowledged, or two of its attempts ran at one time;
* **stale**: a job ended by an attempt that was not its last, or a deposed leader dispatched it;
* **unseen**: a job succeeded that no handler had finished, or an attempt ran of whose claim the
  server knows nothing;
* **over**: a dispatch above the rate or a limit;
* **stalled**: a job that was acknowledged before a fail-over has not ended a minute after it.

There are a few dozen jobs a second, on servers of one machine with their data in memory. That
hides nothing of the protocol, and tells nothing of a standby that has much log to replay.
"""
_KINDS = {
    "sync": "Killed, with a synchronous standby",
    "async": "Killed, with an asynchronous standby that is behind",
    "planned": "Switched over on purpose",
}
_WHAT = {
    "sync": """
The primary and its sessions are killed with SIGKILL, at a moment that is drawn. Every commit
has waited for the standby, so nothing is excused.
""",
    "async": """
The standby is cut off for up to 1.5 s before the primary is killed, so that it lacks the last
commits. What it lacks is excused, by its place in the log: orders, and the claims and ends of
attempts. Such an attempt goes on beside the next one of its job, and its end is refused.
""",
    "planned": """
The primary is shut down fast, as a cluster manager does it: sessions are cut, and the standby
receives everything. It is promoted, and the former primary follows it.
""",
}
_SPANS = {
    "writable": "the standby accepts writes",
    "insert": "an INSERT of the application is acknowledged",
    "start": "the first attempt begins that it has given",
    "ends": "all jobs from before have ended, and there is a standby again",
}
_BESIDE = {
    "nothing": "nothing else happens",
    "kill the leader": "the leader is killed, too",
    "freeze the leader": "the leader is frozen meanwhile",
    "kill a worker": "one of two workers is killed, too",
    "freeze a worker": "one of two workers is frozen until its jobs have ended elsewhere",
}


class _Recorded(TypedDict):
    times: int
    seed: int
    acknowledged: int
    lost_with_tails: int
    forgotten_attempts: int
    stale_refused: int
    succeeded: int
    ended: int
    on: Mapping[str, str]
    beside: Mapping[str, Mapping[str, int | Sequence[float]]]


def render() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *(line for kind in _KINDS for line in _section(kind))])


def _section(kind: str) -> Iterator[str]:
    yield f"## {_KINDS[kind]}"
    yield _WHAT[kind]
    path = _RECORDED / f"{kind}.toml"
    if not path.exists():
        yield "Not recorded yet.\n"
        return
    found = cast("_Recorded", tomllib.loads(path.read_text("utf-8")))
    on = found["on"]
    yield (
        f"**{found['times']} fail-overs, {found['acknowledged']:,} acknowledged orders:"
        " 0 lost, 0 twice, 0 stale, 0 unseen, 0 over, 0 stalled.**"
    )
    if kind == "async":
        yield (
            f"{found['lost_with_tails']:,} orders were lost with the tails, and the claims of"
            f" {found['forgotten_attempts']:,} attempts."
        )
    yield (
        f"{found['succeeded']:,} of {found['ended']:,} jobs succeeded;"
        f" {found['stale_refused']:,} ends of attempts were refused as stale.\n"
    )
    yield (
        f"`--kind {kind} --times {found['times']} --seed {found['seed']}`; {on['machine']},"
        f" PostgreSQL {on['postgres']}, Python {on['python']}, {on['date'][:10]},"
        f" commit {on['commit'][:10]}.\n"
    )
    yield "| seconds until | and | times | p50 | p90 | p99 | max |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for span, what in _SPANS.items():
        for beside, name in _BESIDE.items():
            if beside in found["beside"]:
                each = found["beside"][beside]
                values = (f"{value:.2f}" for value in cast("Sequence[float]", each[span]))
                yield f"| {what} | {name} | {each['times']} | {' | '.join(values)} |"
    yield ""
