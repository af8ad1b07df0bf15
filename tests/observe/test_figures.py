"""What figures of the dashboards say of series that are given: promtool works them out."""

from collections.abc import Mapping
from pathlib import Path

from docs.generate.alerts import Rule
from tests.support import dashboards
from tests.support.promtool import NAMESPACE, complaints, needs_promtool, within

pytestmark = needs_promtool

_CHOSEN = {
    **dashboards.TIMES,
    **dict.fromkeys(("job", "queue"), ".+"),
    "__range": "10m",
    "namespace": NAMESPACE,
}


def figure(board: str, panel: str) -> str:
    """Return the one query of a panel, over ten minutes."""
    (path,) = [each for each in dashboards.PATHS if each.stem == board]
    (found,) = [each for each in dashboards.queries(path) if each.panel == panel]
    return dashboards.filled(found.expr, _CHOSEN)


def says(expr: str, at: Mapping[str, float | None], series: Mapping[str, str]) -> Rule:
    """Return a group that expects values at some times; None: it says nothing."""
    return {
        "name": expr,
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
            for time, said in at.items()
        ],
    }


def test_a_rule_that_fails_at_once_is_counted(tmp_path: Path) -> None:
    """Three looks between two scrapes, after which it is never looked at again."""
    errors = 'fairlead_policy_rule_errors_total{job="j", instance="s1", rule="%s"}'
    series = {errors % "bad": "_x5 3x40", errors % "good": "0x40"}
    expected = says(
        figure("fairness", "Rules that fail"), {"4m": 0, "7m": 3, "14m": 3, "30m": 0}, series
    )

    assert "" == complaints([expected], tmp_path)


def test_a_rule_that_fails_later_is_counted(tmp_path: Path) -> None:
    """Also where its looks take too long; Prometheus' growth is not exact."""
    overruns = 'fairlead_policy_rule_overruns_total{job="j", instance="s1", rule="bad"}'
    many = f"({figure('fairness', 'Rules that fail')}) > bool 4"

    expected = says(many, {"14m": 0, "20m": 1, "40m": 0}, {overruns: "0x15 5x30"})

    assert "" == complaints([expected], tmp_path)
