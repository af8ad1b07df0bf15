"""The values of the dashboards' figures for given series: promtool computes them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from docs.generate.alerts import Choice, Rule
from tests.support import dashboards
from tests.support.promtool import NAMESPACE, complaints, needs_promtool, within

pytestmark = needs_promtool

_CHOSEN = {
    **dashboards.TIMES,
    "__rate_interval": "5m",
    **dict.fromkeys(("job", "queue"), ".+"),
    "__range": "10m",
    "__range_s": "600",
    "namespace": NAMESPACE,
    "objective": "30.0",
    "target": "0.9",
}


def figure(board: str, panel: str) -> str:
    """Return the one query of a panel, over ten minutes."""
    (path,) = [each for each in dashboards.PATHS if each.stem == board]
    (found,) = [each for each in dashboards.queries(path) if each.panel == panel]
    return dashboards.filled(found.expr, _CHOSEN)


def says(figures: Mapping[str, Mapping[str, float | None]], series: Mapping[str, str]) -> Rule:
    """Return a group that expects values of each figure at some times; None: no value.

    Figures of the same series share a group: promtool takes time for each minute of one.
    """
    return {
        "name": " and ".join(figures),
        "interval": "1m",
        "input_series": [
            {"series": each, "values": values}
            for each, values in within(dict(series), NAMESPACE).items()
        ],
        "promql_expr_test": [
            {
                "expr": f"round({expr}, 0.001)",
                "eval_time": time,
                "exp_samples": [] if said is None else [{"labels": "{}", "value": said}],
            }
            for expr, at in figures.items()
            for time, said in at.items()
        ],
    }


def process(instance: str, minute: int, goes: int | None = None) -> dict[str, str]:
    """Return what a process shows of itself that begins at a minute, until it goes."""
    before, of_it = f"_x{minute} " if minute else "", f'job="j", instance="{instance}"'
    rest = "x60" if goes is None else f"x{goes - minute - 1} stale"
    return {
        f"fairlead_build_info{{{of_it}}}": f"{before}1{rest}",
        f"process_start_time_seconds{{{of_it}}}": f"{before}{60 * minute}{rest}",
    }


def test_a_rule_that_fails_at_once_is_counted(tmp_path: Path) -> None:
    """Three looks between two scrapes, after which it is never looked at again."""
    errors = 'fairlead_policy_rule_errors_total{job="j", instance="s1", rule="%s"}'
    series = {errors % "bad": "_x5 3x40", errors % "good": "0x40", **process("s1", 0)}
    at = {"4m": 0, "7m": 3, "14m": 3, "30m": 0}
    expected = says({figure("fairness", "Rules that fail"): at}, series)

    assert "" == complaints([expected], tmp_path)


def test_a_rule_that_fails_later_is_counted(tmp_path: Path) -> None:
    """Also where its looks take too long; Prometheus' growth is not exact."""
    overruns = 'fairlead_policy_rule_overruns_total{job="j", instance="s1", rule="bad"}'
    many = f"({figure('fairness', 'Rules that fail')}) > bool 4"

    expected = says({many: {"14m": 0, "20m": 1, "40m": 0}}, {overruns: "0x15 5x30"})

    assert "" == complaints([expected], tmp_path)


_OLDEST = 'fairlead_queue_oldest_ready_age_seconds{job="j", instance="s1", queue="in"}'
_OF_JOBS = 'job="j", instance="w1", queue="in", kind="send"'


@pytest.mark.parametrize(
    ("age", "started", "running", "began", "said"),
    [
        pytest.param(
            "0+60x40",
            "_x10 1x40",
            "0x40",
            10,
            {"5m": 0, "6m": 1, "9m": 1, "10m": 0, "14m": 0, "16m": 1},
            id="a pod that comes, starts one job and no more",
        ),
        pytest.param(
            "0+60x40", "5+5x40", "0x40", 0, {"6m": 0, "30m": 0}, id="others of it start"
        ),
        pytest.param("0x10 0+60x30", "9x40", "0x40", 0, {"12m": 0, "18m": 1}, id="a job comes"),
        pytest.param("0+60x40", "9x40", "1x40", 0, {"30m": 0}, id="a long job runs"),
        pytest.param(
            "0+60x40", "_x20 9x20", "0x40", 0, {"22m": 0}, id="its first job in an old process"
        ),
    ],
)
def test_a_queue_stands_still_where_a_job_waits_none_starts_and_none_runs(
    age: str, started: str, running: str, began: int, said: dict[str, float], tmp_path: Path
) -> None:
    """For five minutes each; the first job that a process starts is one that starts."""
    series = {
        _OLDEST: age,
        'fairlead_queue_depth{job="j", instance="s1", queue="in", state="running"}': running,
        f"fairlead_jobs_started_total{{{_OF_JOBS}}}": started,
        **process("w1", began),
    }

    expected = says({figure("overview", "Queues that stand still"): said}, series)

    assert "" == complaints([expected], tmp_path)


def test_a_count_of_long_ago_that_was_not_looked_at_is_no_start(tmp_path: Path) -> None:
    """As when Prometheus was away: the process is older than what is known of it."""
    series = {
        _OLDEST: "0+60x40",
        f"fairlead_jobs_started_total{{{_OF_JOBS}}}": "_x20 9x20",
        'fairlead_build_info{job="j", instance="w1"}': "_x20 1x20",
        'process_start_time_seconds{job="j", instance="w1"}': "_x20 0x20",
    }

    expected = says({figure("overview", "Queues that stand still"): {"22m": 1}}, series)

    assert "" == complaints([expected], tmp_path)


def test_an_attempt_that_fails_first_is_counted(tmp_path: Path) -> None:
    """A pod that comes, and whose first jobs crash, is not one in which none ended."""
    ended = f'fairlead_attempts_ended_total{{{_OF_JOBS}, ended_as="%s"}}'
    series = {
        ended % "crashed": "_x10 1x40",
        ended % "succeeded": "_x10 3x40",
        **process("w1", 10),
    }

    many = figure("overview", "Attempts that fail")
    whose = f"sum({figure('overview', 'Kinds that fail most')})"
    expected = says(
        {
            many: {"9m": None, "12m": 0.25, "16m": None},
            whose: {"9m": None, "12m": 1, "16m": None},
        },
        series,
    )

    assert "" == complaints([expected], tmp_path)


def test_the_wait_that_brought_a_pod_is_late_without_the_rules_too(tmp_path: Path) -> None:
    """It is among the first that the pod's worker reports."""
    series = {
        f'fairlead_job_wait_seconds_bucket{{{_OF_JOBS}, le="30.0"}}': "_x10 1x40",
        f"fairlead_job_wait_seconds_count{{{_OF_JOBS}}}": "_x10 4x40",
        **process("w1", 10),
    }

    expected = says({figure("overview", "Started in time"): {"12m": 0.25}}, series)

    assert "" == complaints([expected], tmp_path, Choice(namespace="elsewhere"))


def test_what_a_pod_did_counts_after_it_has_gone(tmp_path: Path) -> None:
    """It comes from zero, starts four jobs of which three are late, fails one, and goes."""
    shown, gone = "_x12 {}x2 stale", process("w1", 12, goes=15)
    ended = f'fairlead_attempts_ended_total{{{_OF_JOBS}, ended_as="%s"}}'
    waited = {
        f'fairlead_job_wait_seconds_bucket{{{_OF_JOBS}, le="30.0"}}': shown.format(1),
        f"fairlead_job_wait_seconds_count{{{_OF_JOBS}}}": shown.format(4),
        **gone,
    }
    failed = {
        ended % "crashed": shown.format(1),
        ended % "succeeded": shown.format(3),
        **gone,
    }
    at = {"11m": None, "14m": 0.25, "20m": 0.25, "26m": None}
    fails = {"11m": None, "14m": 0.25, "16m": 0.25, "21m": None}
    figures = {
        figure("overview", "Started in time"): at,
        figure("overview", "Attempts that fail"): fails,
    }
    expected = says(figures, {**waited, **failed})

    assert "" == complaints([expected], tmp_path, Choice(namespace="elsewhere"))


_WAITS = {"2.0": 30, "30.0": 54, "+Inf": 60}
"""How many jobs a minute had waited for no longer than each bound."""


def waits(objective: str, worker: str = "w1") -> dict[str, str]:
    """Return what a worker of the pool `mail` shows, and the policy's objective, if any."""
    of_jobs = f'job="j", instance="{worker}", queue="in", kind="send"'
    series = {
        f'fairlead_job_wait_seconds_bucket{{{of_jobs}, le="{le}"}}': f"0+{jobs}x60"
        for le, jobs in _WAITS.items()
    }
    series[f"fairlead_job_wait_seconds_count{{{of_jobs}}}"] = "0+60x60"
    series[f'fairlead_worker_slots{{job="j", instance="{worker}", pool="mail"}}'] = "10x60"
    if objective:
        shown = 'fairlead_pool_objective_seconds{job="j", instance="s1", pool="mail"}'
        series[shown] = f"{objective}x60"
    return series


def at_last(figures: Mapping[str, float]) -> dict[str, Mapping[str, float]]:
    """Return what figures say once all that they look back at is there."""
    return {each: {"20m": said} for each, said in figures.items()}


@pytest.mark.parametrize("namespace", [NAMESPACE, None], ids=["installation", "every"])
@pytest.mark.parametrize(
    ("objective", "in_time"), [("2", 0.5), ("30", 0.9), ("", 0.9)], ids=["2s", "30s", "none"]
)
def test_what_is_late_goes_by_the_objective_of_the_policy(
    objective: str, in_time: float, namespace: str | None, tmp_path: Path
) -> None:
    """Whatever bucket is chosen; without an objective by that."""
    allowed = float(objective or "30")
    late = f"sum({figure('overview', 'Late jobs by queue')})"
    figures = {
        figure("overview", "Oldest wait / objective"): round(6 / allowed, 3),
        figure("overview", "Started in time"): in_time,
        figure("overview", "Error budget left"): round(1 - (1 - in_time) / 0.1, 3),
        late: round(1 - in_time, 3),
    }

    expected = says(at_last(figures), {**waits(objective), _OLDEST: "6x60"})

    assert "" == complaints([expected], tmp_path, Choice(namespace=namespace))


def test_without_the_rules_what_is_late_goes_by_the_bucket_that_is_chosen(
    tmp_path: Path,
) -> None:
    """The alerts need not be installed: here they record another installation's starts."""
    figures = {
        figure("overview", "Oldest wait / objective"): 0.2,
        figure("overview", "Started in time"): 0.9,
        figure("overview", "Error budget left"): 0.0,
    }

    expected = says(at_last(figures), {**waits("2"), _OLDEST: "6x60"})

    assert "" == complaints([expected], tmp_path, Choice(namespace="elsewhere"))
