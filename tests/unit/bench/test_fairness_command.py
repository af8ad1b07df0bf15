"""`python -m bench.fairness`: recorded traffic, and the same results from the same seed."""

import json
from pathlib import Path

from bench.fairness.__main__ import main

JOB = '{"at_us": %d, "queue": "q", "tenant": "%s", "cost_us": 100000, "kind": "k"%s}\n'


SMALL = """
title = "small"
slots = 1
seconds = 5
show = ["quiet_p50_seconds"]
targets = { quiet_p50_seconds = { at_most = 0.0001 } }

[[tenants]]
name = "a"
group = "quiet"
arrivals = { form = "even", per_second = 10 }
cost = { form = "uniform", lowest_seconds = 0.05, highest_seconds = 0.1 }
"""


def small(folder: Path) -> str:
    """Return a parameter file whose target cannot be met."""
    path = folder / "small.toml"
    path.write_text(SMALL)
    return str(path)


def recorded(folder: Path) -> Path:
    """Return a file with a flood of tenant a, and one job of b behind it."""
    path = folder / "jobs.jsonl"
    flood = "".join(JOB % (0, "a", "") for _ in range(50))
    path.write_text(flood + JOB % (1_000_000, "b", ""))
    return path


def test_recorded_traffic_is_judged_under_each_policy(tmp_path: Path) -> None:
    """Traffic of one's own: b waits for all of a in a plain queue, for one job of it here."""
    output = tmp_path / "out.json"
    arguments = ["--trace", str(recorded(tmp_path)), "--slots", "1", "--output", str(output)]

    assert 0 == main([*arguments, "--policy", "fairlead,fifo"])

    measured = json.loads(output.read_text())["workloads"]["jobs"]["measured"]
    assert measured["fairlead"]["gps_lag_slot_seconds"] > 0
    assert {"fairlead", "fifo"} == set(measured)
    assert output.with_suffix(".png").exists()


def test_recorded_traffic_is_judged_under_a_policy_that_asks_for_keys(tmp_path: Path) -> None:
    """One job of an account at a time, where four might run; a plain queue knows no keys."""
    trace, rules, output = (tmp_path / name for name in ("jobs.jsonl", "p.yaml", "out.json"))
    trace.write_text(40 * (JOB % (0, "a", ', "keys": {"payload.account": "x"}')))
    rules.write_text(
        "queues: [{match: {queue: q}, concurrency: [{key: payload.account, limit: 1}]}]"
    )
    arguments = ["--trace", str(trace), "--slots", "4", "--output", str(output)]

    assert 0 == main([*arguments, "--rules", str(rules), "--policy", "fairlead@0,fifo"])

    measured = json.loads(output.read_text())["workloads"]["jobs"]["measured"]
    assert 8 <= measured["fairlead@0"]["jobs_per_second"] <= 10
    assert 36 <= measured["fifo"]["jobs_per_second"]


def test_the_same_seed_writes_the_same_results(tmp_path: Path) -> None:
    """But for the machine, the date and how long it took."""
    written: list[dict[str, object]] = []
    for number in range(2):
        output = tmp_path / f"{number}.json"
        arguments = [
            "--simulated",
            "--only",
            small(tmp_path),
            "--policy",
            "fairlead,fifo",
            "--seed",
            "3",
        ]
        main([*arguments, "--output", str(output)])
        written.append(json.loads(output.read_text())["workloads"])

    assert written[0] == written[1]
    assert (tmp_path / "0.png").read_bytes() == (tmp_path / "1.png").read_bytes()
