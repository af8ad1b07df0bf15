"""Write the page of repeated faults from what was recorded of each."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, cast

from bench.figures import percentile

PATH = Path("docs/reference/proof/chaos.md")
_RECORDED = Path(__file__).parents[2] / "tests/chaos/repeats/recorded"

_HEAD = """# Faults, again and again

What was found when each fault happened again and again under load: two schedulers, two
workers, an application that enqueues some 30 jobs a second for six tenants, with a rate, limits
of tenants and keys, and handlers of every sort. All settings are the defaults: a worker's lease
is 15 s, a leader's 3 s. `make chaos-long` does what is left of a hundred of each, from seeds
that it prints, and writes this page. [Fail-overs](fail_overs.md) have a page of their own.

After each fault these are counted, and a series of ten in which there is any is not recorded:

* **lost**: an order that the server had acknowledged is not there, or its job is nowhere;
* **twice**: a job ended twice, or its work stands twice, or it began again after an end that
  was acknowledged;
* **overlapping**: two attempts of a job ran at one time, where none of them stood still;
* **stale**: a job ended by an attempt that was not its last, or a deposed leader dispatched it;
* **unseen**: a job succeeded that no handler had finished, or an attempt ran of whose claim the
  server knows nothing;
* **over**: a dispatch above the rate or a limit;
* **stalled**: a job that was acknowledged before a fault was over has not ended a minute later;
* **strange**: a change of a job's place or of a lease that no step of [the model](model.md)
  makes. It is looked for at the end of each series.
"""
_WHAT = {
    "kill_a_worker": "A worker is killed with all its processes",
    "kill_a_child": "One process of a worker is killed",
    "freeze_a_worker": "A worker stands still for up to 20 s",
    "stop_a_worker": "A worker is asked to stop, with a grace of 1 s",
    "kill_the_leader": "The leader is killed",
    "freeze_the_leader": "The leader stands still for up to 20 s",
    "cut_connections": "Half of the kinds of connections are terminated",
    "kill_the_server": "PostgreSQL is killed and started again",
    "freeze_the_server": "PostgreSQL stands still for up to 8 s",
    "kill_the_pooler": "PgBouncer is killed and started again",
    "cut_off_a_node": "A node is cut off for up to 20 s, one way or both",
    "lose_packets": "5 to 50 % of a node's packets are lost, either way, for 5 to 10 s",
    "narrow_the_wire": "A node's packets queue up at a narrow wire for 5 to 10 s",
    "lose_a_node": "A node is gone, without a word",
    "fill_the_disk": "The server's disk is full for up to 4 s",
    "run_out_of_memory": "The kernel kills a worker's process for want of memory",
    "set_the_clock": "A node's clock is set by hours for 3 s",
    "use_up_connections": "An application takes all connections for 5 to 10 s",
}
_SPANS = {
    "gap": "no attempt began",
    "insert": "no INSERT was acknowledged",
    "again": "what was cut short had not begun again",
    "ends": "not all had ended from before and meanwhile",
}


class Recorded(TypedDict):
    """One series, as its line says."""

    seed: str
    commit: str
    date: str
    machine: str
    postgres: str
    orders: int
    rounds: Sequence[Mapping[str, float | str]]


def render() -> str:
    """Return the page."""
    found = {fault: _recorded(fault) for fault in _WHAT}
    every = [each for series in found.values() for each in series]
    lines = [_HEAD, *_summed(every), "## How long each lasts", ""]
    lines += [
        "In seconds from the fault on. While one worker or the leader is away, others go on.",
        "",
        "| fault | times | seconds in which | p50 | p90 | p99 | max |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for fault, series in found.items():
        lines += _rows(_WHAT[fault], series)
    lines += ["", "## Where they were recorded", ""]
    lines += ["| fault | command | commits | days |", "| --- | --- | --- | --- |"]
    lines += [_where(fault, series) for fault, series in found.items() if series]
    return "\n".join(lines) + "\n"


def _recorded(fault: str) -> list[Recorded]:
    path = _RECORDED / f"{fault}.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [cast("Recorded", json.loads(line)) for line in lines]


def _summed(every: Sequence[Recorded]) -> Iterator[str]:
    times = sum(len(each["rounds"]) for each in every)
    orders = sum(each["orders"] for each in every)
    yield (
        f"**{times:,} faults, {orders:,} acknowledged orders: 0 lost, 0 twice, 0 overlapping,"
        " 0 stale, 0 unseen, 0 over, 0 stalled, 0 strange.**"
    )
    servers = sorted({each["postgres"] for each in every})
    machines = sorted({each["machine"] for each in every})
    yield f"On {', '.join(machines)}; PostgreSQL {', '.join(servers)}.\n"


def _rows(what: str, series: Sequence[Recorded]) -> Iterator[str]:
    rounds = [each for one in series for each in one["rounds"]]
    if not rounds:
        yield f"| {what} | 0 | not recorded yet | | | | |"
        return
    hit = sorted({str(each["beside"]) for each in rounds})
    for beside in hit:
        ours = [each for each in rounds if each["beside"] == beside]
        said = f"{what}: {beside}" if beside else what
        for span, name in _SPANS.items():
            values = sorted(float(each[span]) for each in ours)
            if values[-1] == 0:
                continue
            shares = (percentile(values, share) for share in (0.5, 0.9, 0.99, 1.0))
            cells = " | ".join(f"{value:.2f}" for value in shares)
            yield f"| {said} | {len(ours)} | {name} | {cells} |"


def _where(fault: str, series: Sequence[Recorded]) -> str:
    times = sum(len(each["rounds"]) for each in series)
    seed = series[0]["seed"].split(".")[0]
    commits = ", ".join(sorted({each["commit"][:10] for each in series}))
    days = ", ".join(sorted({each["date"][:10] for each in series}))
    command = f"`--fault {fault} --times {times} --seed {seed}`"
    return f"| {_WHAT[fault]} | {command} | {commits} | {days} |"
