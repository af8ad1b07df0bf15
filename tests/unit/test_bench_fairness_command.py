"""`python -m bench.fairness`: what it writes, and what it refuses."""

import json
from pathlib import Path

import pytest

from bench.fairness.__main__ import main
from fairlead_scheduler.simulation.trace import read

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
    assert output.with_suffix(".svg").exists()


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
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()


def test_a_missed_target_fails_a_strict_run_only(tmp_path: Path) -> None:
    """Exit code 1 is for broken runs; with --strict for a missed target too."""
    output = str(tmp_path / "x.json")
    arguments = [
        "--simulated",
        "--only",
        small(tmp_path),
        "--policy",
        "fairlead",
        "--output",
        output,
    ]

    assert 0 == main(arguments)
    assert 1 == main([*arguments, "--strict"])


def test_several_runs_have_a_seed_each(tmp_path: Path) -> None:
    """Median, worst and the interval of the mean stand beside each run."""
    output = tmp_path / "x.json"
    arguments = ["--simulated", "--only", small(tmp_path), "--policy", "fairlead"]

    main([*arguments, "--runs", "3", "--seed", "5", "--output", str(output)])

    written = json.loads(output.read_text())["workloads"]["SMALL"]
    values = [run["judged"]["fairlead"]["quiet_p50_seconds"] for run in written["runs"]]
    target = written["targets"]["quiet_p50_seconds"]
    assert [5, 6, 7] == [run["seed"] for run in written["runs"]]
    assert sorted(values)[1] == target["simulated"]
    assert max(values) == target["worst"]
    assert target["mean_95"][0] < sum(values) / 3 < target["mean_95"][1]


def test_an_exported_workload_can_be_read(tmp_path: Path) -> None:
    """One line for each job."""
    path = tmp_path / "jobs.jsonl"

    main(["--only", small(tmp_path), "--export", str(path)])

    assert 50 == len(read(path))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "W99"], "no workload W99"),
        (["--policy", "fairleed"], "no policy 'fairleed'"),
        (["--export", "x"], "--export needs one --only"),
        (["--trace", "x"], "--trace needs --slots"),
        (["--rules", "x"], "--rules is a policy for --trace"),
        (["--record", "--policy", "fifo"], "--record takes everything"),
        (["--record", "--only", "W1"], "--record takes everything in the quick form"),
        (["--runs", "0"], "--runs must be at least 1"),
    ],
)
def test_a_wrong_command_line_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    """Exit code 2, and a sentence that names the option."""
    with pytest.raises(SystemExit) as refused:
        main(arguments)

    assert 2 == refused.value.code
    assert said in capsys.readouterr().err


def test_a_bad_trace_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and one sentence, no traceback."""
    path = tmp_path / "jobs.jsonl"
    path.write_text("{}\n")

    assert 2 == main(["--trace", str(path), "--slots", "1"])
    assert capsys.readouterr().err.startswith("bench.fairness: line 1: at_us is None")
    path.write_text(JOB % (0, "a", ""))
    assert 2 == main(["--trace", str(path), "--slots", "1", "--rules", str(path)])
    assert capsys.readouterr().err.startswith(f"bench.fairness: {path}: at_us: there is no")
