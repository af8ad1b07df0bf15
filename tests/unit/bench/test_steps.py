"""The clocks at a leader's steps, and the report of their CPU time."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import steps
from bench.leader import Split
from bench.live import Window
from bench.processes import Memory
from bench.scenarios import scheduler
from fairlead_scheduler.loop.loop import Loop

OBSERVED = scheduler.Observed(
    windows=tuple(
        Window(seconds=1.0, jobs=1000, scheduler_cpu_seconds=seconds)
        for seconds in (0.012, 0.014, 0.010)
    ),
    bare_us=(3.0, 5.0),
    split=Split(by_step={"plan": 4.0, "rest": 1.0}, whole_us=5.0, kernel_us=0.5),
    buffers_per_job=10.0,
    plans={"dispatch": 9.0},
    memory=Memory(rss_mib=1.0, pss_mib=1.0),
    idle_share=0.01,
)


def spin() -> int:
    """Use a millisecond of this thread's CPU time."""
    until = time.thread_time_ns() + 1_000_000
    while time.thread_time_ns() < until:
        pass
    return 7


def test_the_scheduler_has_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a method of its owner, and gets a clock that the harness can read."""
    for step in steps.STEPS:
        monkeypatch.setattr(step.owner, step.method, getattr(step.owner, step.method))
    monkeypatch.setattr(Loop, "step", Loop.step)

    steps.put_clocks(tmp_path)

    assert {step.key for step in steps.STEPS} | {"round"} == set(
        steps.Clocks(tmp_path).seconds()
    )


@given(
    st.lists(st.integers(0, 10**9), min_size=7, max_size=7),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
)
def test_the_parts_are_the_whole(spent: list[int], rest: int, beside: int) -> None:
    """CPU time outside all steps is in the rest of a round, or outside the rounds."""
    before = dict.fromkeys([*(step.key for step in steps.STEPS), "round"], 5.0)
    after = {key: 5.0 + each for key, each in zip(before, spent, strict=False)}
    after["round"] = 5.0 + sum(spent) + rest
    whole = sum(spent) + rest + beside

    parts = steps.split(before, after, float(whole))

    assert whole == sum(parts.values())
    assert (rest, beside) == (parts["rest"], parts["others"])
    assert set(steps.LABELS) == set(parts)


def test_the_schedulers_cpu_is_shown_beside_the_least_that_it_could_be() -> None:
    """The bar is on the microseconds; the ratio is over the mean of before and after."""
    figures = {each.key: each.value for each in scheduler.figures(OBSERVED)}

    assert 12.0 == pytest.approx(figures["cpu_us_per_job"].median)
    assert (2.5, 3.0, 3.5) == pytest.approx(
        (
            figures["cpu_over_bare"].lowest,
            figures["cpu_over_bare"].median,
            figures["cpu_over_bare"].highest,
        )
    )
    assert (4.0, 1.0) == (figures["split_plan"].median, figures["split_rest"].median)
