"""What a process counts first is counted, once: its series begin at that count, not at 0."""

from pathlib import Path

import pytest

from docs.generate.alerts import Rule
from tests.support.promtool import NAMESPACE, complaints, needs_promtool, within

pytestmark = needs_promtool

_OF_JOBS = 'queue="in", kind="send", instance="w1"'


@pytest.mark.parametrize(
    ("count", "watched", "began", "said"),
    [
        pytest.param(
            "_x10 8x20",
            "_x10 1x20",
            "_x10 600x20",
            {"10m": 8, "14m": 8, "15m": 0, "20m": 0},
            id="a new process",
        ),
        pytest.param(
            "_x10 8+2x20",
            "_x10 1x20",
            "_x10 600x20",
            {"10m": 8, "14m": 16, "15m": 10, "20m": 10},
            id="a new process that goes on",
        ),
        pytest.param(
            "_x10 8x1 stale",
            "_x10 1x1 stale",
            "_x10 600x1 stale",
            {"10m": 8, "12m": 8, "14m": 8, "15m": 0, "17m": None},
            id="a process that goes after two minutes",
        ),
        pytest.param(
            "_x10 3x20",
            "1x30",
            "0x30",
            {"9m": None, "10m": 3, "14m": 3, "15m": 0},
            id="the first job of a queue in an old process",
        ),
        pytest.param(
            "_x10 1000x20",
            "_x10 1x20",
            "_x10 0x20",
            {"11m": 0, "14m": 0, "16m": 0},
            id="an old process that was not scraped before",
        ),
        pytest.param(
            "1000x10 stale 1000x20",
            "1x10 stale 1x20",
            "0x10 stale 0x20",
            {"13m": 0, "16m": 0, "20m": 0},
            id="a look that failed",
        ),
        pytest.param(
            "1000x10 stale 6x20",
            "1x10 stale 1x20",
            "0x10 stale 700x20",
            {"13m": 6, "15m": 6, "16m": 6, "18m": 0},
            id="a process that began anew in its place",
        ),
    ],
)
def test_each_start_is_counted_for_five_minutes(
    count: str, watched: str, began: str, said: dict[str, float | None], tmp_path: Path
) -> None:
    """Starts, those by bound, and attempts; None: nothing is known of the queue."""
    series = {
        f"fairlead_job_wait_seconds_count{{{_OF_JOBS}}}": count,
        f'fairlead_job_wait_seconds_bucket{{{_OF_JOBS}, le="30.0"}}': count,
        f'fairlead_attempts_ended_total{{{_OF_JOBS}, ended_as="failed"}}': count,
        'fairlead_worker_slots{pool="mail", instance="w1"}': watched,
        'fairlead_build_info{program="worker", instance="w1"}': watched,
        'process_start_time_seconds{instance="w1"}': began,
    }
    of_pool = f'namespace="{NAMESPACE}", pool="mail", queue="in"'
    asked = {
        "fairlead:starts:rate5m": f"{{{of_pool}}}",
        "fairlead:waits:rate5m": f'{{{of_pool}, le="30.0"}}',
        "fairlead:attempts_failed:rate5m": f'{{namespace="{NAMESPACE}", queue="in"}}',
    }
    tests = [
        {
            "expr": f"round({name} * 300, 0.1)",
            "eval_time": time,
            "exp_samples": [] if number is None else [{"labels": labels, "value": number}],
        }
        for name, labels in asked.items()
        for time, number in said.items()
    ]

    first: Rule = {
        "name": "first jobs",
        "interval": "1m",
        "input_series": [
            {"series": each, "values": values}
            for each, values in within(series, NAMESPACE).items()
        ],
        "promql_expr_test": tests,
    }

    assert "" == complaints([first], tmp_path)
