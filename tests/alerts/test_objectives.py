"""Which starts are late, by objectives on a bound of the histogram, between two, above all."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from docs.generate.alerts import Choice, Rule
from tests.support.promtool import NAMESPACE, complaints, needs_promtool, within

pytestmark = needs_promtool

WITHIN = {"0.5": 15, "10.0": 30, "30.0": 45, "3600.0": 57, "+Inf": 60}
"""How many jobs a minute had waited for no longer than each bound."""
ONE = {"w1": WITHIN}
OBJECTIVE = 'fairlead_pool_objective_seconds{pool="mail", instance="s1"}'
FIXED = Choice(namespace=NAMESPACE, objectives={"mail": Decimal(10)})


def late(
    at: dict[str, str], objective: str | None, workers: Mapping[str, Mapping[str, int]] = ONE
) -> Rule:
    """Return a group that expects so many late starts a second at some times; "": none.

    Args:
        at: The late starts by time.
        objective: The policy's for the pool, as promtool writes series; None: it has none.
        workers: What each counts.
    """
    name, series = "fairlead_job_wait_seconds", dict[str, str]()
    for instance, within_bounds in workers.items():
        of_jobs = f'queue="in", kind="send", instance="{instance}"'
        for le, jobs in within_bounds.items():
            series[f'{name}_bucket{{{of_jobs}, le="{le}"}}'] = f"0+{jobs}x60"
        series[f"{name}_count{{{of_jobs}}}"] = "0+60x60"
        series[f'fairlead_worker_slots{{pool="mail", instance="{instance}"}}'] = "10x60"
    if objective is not None:
        series[OBJECTIVE] = objective
    labels = f'{{namespace="{NAMESPACE}", pool="mail", queue="in"}}'
    return {
        "name": f"objective {objective}",
        "interval": "1m",
        "input_series": [
            {"series": each, "values": values}
            for each, values in within(series, NAMESPACE).items()
        ],
        "promql_expr_test": [
            {
                "expr": "round(fairlead:starts_late:rate5m, 0.001)",
                "eval_time": time,
                "exp_samples": [{"labels": labels, "value": float(said)}] if said else [],
            }
            for time, said in at.items()
        ],
    }


def test_late_is_later_than_the_bound_at_or_above_the_objective(tmp_path: Path) -> None:
    """So that none is called late that was not; above all bounds nothing is known."""
    expected = {
        "0.5": "0.75",
        "10": "0.5",
        "30": "0.25",
        "3600": "0.05",
        "0.1": "0.75",
        "0.6": "0.5",
        "29.9": "0.25",
        "31": "0.05",
        "3601": "",
    }
    groups = [late({"20m": said}, f"{seconds}x60") for seconds, said in expected.items()]

    assert "" == complaints(groups, tmp_path)


def test_an_edit_of_the_objective_counts_from_then_on(tmp_path: Path) -> None:
    """With the next look at the rules, also where it is taken out."""
    edited = late({"19m": "0.25", "20m": "0.5", "40m": ""}, "30x19 10x19 stale")

    assert "" == complaints([edited], tmp_path)


def test_a_bound_that_some_workers_lack_makes_none_of_their_jobs_late(tmp_path: Path) -> None:
    """As while a rollout gives it to one after the other: of a bound below all of them know."""
    new = {"10.0": 60, "12.0": 60, "30.0": 60, "+Inf": 60}
    old = {"10.0": 60, "30.0": 60, "+Inf": 60}

    rollout = late({"20m": "0"}, "12x60", {"w1": new, "w2": old})

    assert "" == complaints([rollout], tmp_path)


def test_the_chosen_objective_counts_where_the_policy_has_none(tmp_path: Path) -> None:
    """As of a pool whose number of pods is fixed; the policy's objective wins."""
    assert "" == complaints(
        [late({"20m": "0.5"}, None), late({"20m": "0.25"}, "30x60")], tmp_path, FIXED
    )


def test_without_an_objective_none_is_late(tmp_path: Path) -> None:
    """A pool that is not scaled has none."""
    assert "" == complaints([late({"20m": ""}, None)], tmp_path)
