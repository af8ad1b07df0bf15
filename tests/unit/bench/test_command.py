"""What keeps recorded figures honest: other load, files of their own, the fifty rules."""

import tomllib
from pathlib import Path

import pytest

from bench import budgets
from bench.__main__ import doubts
from bench.outcome import Outcome, figure
from fairlead.policy import parse
from fairlead_scheduler.policy.compiled import compile_policy
from tests.support.outcomes import MACHINE

TENANTS = [f"tenant-{number}" for number in range(10_000)]
FIFTY = Path(__file__).parents[3] / "bench/policies/fifty-rules.yaml"


@pytest.mark.parametrize(
    ("others_cpu_seconds", "seconds", "said"),
    [
        (0.02, 0.003, ()),
        (6.7, 0.99, ()),
        (0.5, 1.0, ("other programs used 25% of the machine: measure again",)),
        (1.0, 10.0, ()),
        (1.1, 10.0, ("other programs used 6% of the machine: measure again",)),
    ],
)
def test_others_are_told_of_where_their_part_is_known_and_matters(
    others_cpu_seconds: float, seconds: float, said: tuple[str, ...]
) -> None:
    """Within less than a second a few ticks of the clock are more than the machine has."""
    assert said == doubts(others_cpu_seconds, seconds, 2)


def test_what_is_observed_under_a_policy_has_files_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named after policy and scenario; the budgets themselves stay those without one."""
    monkeypatch.setattr(budgets, "UNDER", tmp_path / "under-policy")
    outcome = Outcome(scenario="P8", figures=(figure("cpu_us_per_job", "CPU", "us", [9.5]),))
    kept = (budgets.FOLDER / "P8.toml").read_text("utf-8")
    on = budgets.On(MACHINE, postgres="18.4", form="quick")

    budgets.record([outcome], on, budgets.Under(policy="fifty-rules", tenants=10_000))

    written = tomllib.loads((tmp_path / "under-policy/fifty-rules-P8.toml").read_text("utf-8"))
    assert ("fifty-rules", 10_000) == tuple(
        written["observed_on"][name] for name in ("policy", "tenants")
    )
    assert 9.5 == written["observed"]["cpu_us_per_job"]["median"]
    assert kept == (budgets.FOLDER / "P8.toml").read_text("utf-8")


def test_each_of_the_fifty_rules_is_for_tenants_that_are_played() -> None:
    """As `--tenants 10000` and P8 name them."""
    table = compile_policy(parse(FIFTY.read_text("utf-8")))
    rules = table.rules.of("default")
    rules_of = {name: rules.for_tenant(name) for name in TENANTS}

    assert 50 == len([*table.rules.everywhere, *table.rules.by_lane])
    for condition in (*table.rules.everywhere, *table.rules.by_lane):
        assert any(of_tenant & condition.bit for of_tenant in rules_of.values()), condition.name


def test_the_fifty_rules_have_a_limit_for_every_tenant_that_is_played() -> None:
    """Queue and tenants; some have one or a rate that they reach."""
    terms = compile_policy(parse(FIFTY.read_text("utf-8"))).queue("default")
    lanes = [terms.lane(name) for name in TENANTS]

    assert terms.own.limit is not None
    assert terms.own.rates
    assert all(lane.limit is not None for lane in lanes)
    assert 100 < sum(lane.limit == 1 for lane in lanes)
    assert 100 < sum(bool(lane.rates) for lane in lanes)
