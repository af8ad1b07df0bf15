"""The alerts' rules as promtool tries them: series go in, alerts come out.

A case is written as people think of it, and laid over the series of a healthy fleet: what it
says of a series replaces what the fleet has. Each case asks for every alert that there is, so
that one that fires beside the expected one is seen.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import cast

import pytest
import yaml

from docs.generate import alerts
from docs.generate.alerts import Choice, Rule

PROMTOOL = shutil.which("promtool") or ""
CASES = Path(__file__).parents[1] / "alerts/cases"
NAMESPACE = "work"

_MINUTES = {"m": 1, "h": 60, "d": 1440}
_ALWAYS = "x6000"
_BY_THE_CLOCK = "0+60x"

needs_promtool = pytest.mark.skipif(
    not PROMTOOL,
    reason="promtool is not here: put it into PATH (Debian: prometheus) to try the alerts",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """An alert that is expected: its labels beside severity and namespace, and its value."""

    alert: str
    labels: Mapping[str, str]
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Series, and what they lead to at some times."""

    name: str
    series: Mapping[str, str | None]
    at: tuple[str, ...]
    fires: tuple[Fired, ...]
    every: str = "1m"
    """Between two scrapes, and two looks at the rules."""


def cases(alert: str) -> tuple[Case, ...]:
    """Return the cases of an alert."""
    text = (CASES / f"{alert}.yaml").read_text("utf-8")
    return tuple(_case(alert, each) for each in cast("list[Rule]", yaml.safe_load(text)))


def healthy(at: Iterable[str], every: str = "1m") -> dict[str, str]:
    """Return the series of a fleet that has work and does it, up to the last of some times."""
    samples = max(_minutes(time) for time in at) // _minutes(every) + 1
    written = (CASES / "healthy.yaml").read_text("utf-8").replace(_ALWAYS, f"x{samples}")
    written = written.replace(_BY_THE_CLOCK, f"0+{60 * _minutes(every)}x")
    return cast("dict[str, str]", yaml.safe_load(written))


def laid_over(series: Mapping[str, str | None], base: Mapping[str, str]) -> dict[str, str]:
    """Return a fleet's series with those of a case in their place; null is a series less."""
    joined = {**base, **series}
    return {name: values for name, values in joined.items() if values is not None}


def within(
    series: Mapping[str, str], namespace: str, release: str | None = None
) -> dict[str, str]:
    """Return series with a namespace's label, and a release's."""
    label = f'namespace="{namespace}"'
    if release is not None:
        label += f', release="{release}"'
    return {
        re.sub(r"\{(?=.)", f"{{{label}, ", name, count=1)
        if "{" in name
        else f"{name}{{{label}}}": values
        for name, values in series.items()
    }


def group(
    name: str,
    series: Mapping[str, str],
    at: Iterable[str],
    fires: Iterable[Fired],
    every: str = "1m",
    chosen: Choice | None = None,
) -> Rule:
    """Return one group of tests as promtool reads it: what is not expected is silent."""
    expected = tuple(fires)
    rules = _rules(chosen or choice())
    known = {str(rule["alert"]): rule for rule in rules if "alert" in rule}
    return {
        "name": name,
        "interval": every,
        "input_series": [{"series": each, "values": values} for each, values in series.items()],
        "alert_rule_test": [
            {
                "eval_time": time,
                "alertname": alert,
                "exp_alerts": [
                    _expected(each, rule) for each in expected if each.alert == alert
                ],
            }
            for time in at
            for alert, rule in known.items()
        ],
    }


def choice() -> Choice:
    """Return what the cases are tried with: the real windows."""
    return Choice(namespace=NAMESPACE)


def complaints(groups: Iterable[Rule], folder: Path, chosen: Choice | None = None) -> str:
    """Return what promtool says against the groups; empty: all is as expected.

    The rules are evaluated at each group's interval.

    Args:
        groups: What to try.
        folder: Where files are written.
        chosen: What the rules are filled with; None: `choice()`.
    """
    given = list(groups)
    (folder / "rules.yaml").write_text(alerts.render(chosen or choice()), "utf-8")
    written = [
        _write(folder, every, [each for each in given if each["interval"] == every])
        for every in sorted({str(each["interval"]) for each in given})
    ]
    return _run("test", "rules", *map(str, written))


def refusals(rules: str, folder: Path) -> str:
    """Return what promtool says against a rule file; empty: Prometheus takes it."""
    (folder / "checked.yaml").write_text(rules, "utf-8")
    return _run("check", "rules", "--lint=all", "--lint-fatal", str(folder / "checked.yaml"))


def _write(folder: Path, every: str, groups: list[Rule]) -> Path:
    """Write the groups of one interval, which a file of tests has one of."""
    tests = {"rule_files": ["rules.yaml"], "evaluation_interval": every, "tests": groups}
    path = folder / f"tests-{every}.yaml"
    path.write_text(yaml.safe_dump(tests, sort_keys=False), "utf-8")
    return path


def _minutes(time: str) -> int:
    return int(time[:-1]) * _MINUTES[time[-1]]


def _run(*arguments: str) -> str:
    done = subprocess.run(
        [PROMTOOL, *arguments],
        env={**os.environ, "GOGC": "400"},  # rarer collections: a fifth of its time
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return (done.stdout + done.stderr) if done.returncode else ""


def _case(alert: str, written: Rule) -> Case:
    at = written["at"]
    return Case(
        name=str(written["name"]),
        series=cast("dict[str, str | None]", written.get("series", {})),
        at=tuple(str(at).split(", ")),
        every=str(written.get("every", "1m")),
        fires=tuple(
            Fired(
                alert=str(each.get("alert", alert)),
                labels=cast("dict[str, str]", each.get("labels", {})),
                says=str(each["says"]),
            )
            for each in cast("list[Rule]", written.get("fires", []))
        ),
    )


@cache
def _known(release: str | None) -> tuple[Rule, ...]:
    return alerts.rules(replace(choice(), release=release))


def _rules(chosen: Choice) -> tuple[Rule, ...]:
    return _known(chosen.release)


def _expected(fired: Fired, rule: Rule) -> Rule:
    """Return an alert in full: what is fixed in it is as the rule has it."""
    annotations = cast("dict[str, str]", rule["annotations"])
    labels = {**cast("dict[str, str]", rule["labels"]), **fired.labels}
    summary = re.sub(
        r"\{\{ \$labels\.(\w+) \}\}",
        lambda match: labels.get(match[1], ""),
        annotations["summary"],
    )
    return {
        "exp_labels": labels,
        "exp_annotations": {**annotations, "summary": summary, "description": fired.says},
    }
