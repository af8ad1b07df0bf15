"""The alerts as one plain rule file of Prometheus, and as a page.

Their source is what the chart renders, too: a file for each alert, and one of recording rules.
Durations in it begin with a dollar (`$5m`), and so do values (`$oldest_ready_seconds`);
`$1m.seconds` is a number of seconds. `python -m docs.generate.alerts --help` renders them with
other values.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from pathlib import Path
from typing import cast

import yaml

Rule = dict[str, object]

PATH = Path("docs/reference/alerts.yaml")
PAGE_PATH = Path("docs/reference/alerts.md")
SOURCES = Path("charts/fairlead/files")

_ROOT = Path(__file__).parents[2]
_DURATION = re.compile(r"\$(\d+)([smhd])(\.seconds)?")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_NAMESPACE = re.compile(r'namespace="\$namespace"(, )?')
_WIDE = 1000

_NOTE = """\
# Written by `python -m docs.generate` from charts/fairlead/files. Other values:
# `python -m docs.generate.alerts --help`. `--runbook-url https://…` makes links of runbooks.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What may be chosen, as in the chart's `metrics.prometheusRule`."""

    namespace: str | None = None
    """Whose series count; None: all that Prometheus has, without regard to that label."""
    scale: Decimal = Decimal(1)
    """What every duration is multiplied by; rounded up to whole seconds."""
    oldest_ready_seconds: Decimal = Decimal(300)
    late_percent: Decimal = Decimal(1)
    error_percent: Decimal = Decimal(5)
    objectives: Mapping[str, Decimal] = field(default_factory=dict[str, Decimal])
    """Seconds that a job may wait, by pool, where the policy in force says nothing of it."""
    runbook_url: str = "docs/runbooks"
    without: frozenset[str] = frozenset()


def names() -> tuple[str, ...]:
    """Return the names of all alerts, in order."""
    return tuple(path.stem for path in _files())


def rules(choice: Choice) -> tuple[Rule, ...]:
    """Return every rule as Prometheus has it, those that record before those that alert."""
    alerts = (_alert(path, choice) for path in _files() if path.stem not in choice.without)
    return (*_records(choice), *alerts)


def render(choice: Choice | None = None) -> str:
    """Return a complete rule file."""
    chosen = choice or Choice()
    groups = {"groups": [{"name": "fairlead", "rules": list(rules(chosen))}]}
    return _NOTE + yaml.safe_dump(groups, sort_keys=False, width=_WIDE, allow_unicode=True)


def _files() -> list[Path]:
    return sorted((_ROOT / SOURCES / "alerts").glob("*.yaml"))


def _alert(path: Path, choice: Choice) -> Rule:
    rule = _read(path.read_text("utf-8"), choice)
    annotations = cast("dict[str, str]", rule["annotations"])
    address = f"{choice.runbook_url.rstrip('/')}/{path.stem}.md"
    rule["annotations"] = {**annotations, "runbook_url": address}
    return rule


def _records(choice: Choice) -> Iterator[Rule]:
    """Yield the recording rules, those of pools once for each objective that was chosen."""
    text = (_ROOT / SOURCES / "records.yaml").read_text("utf-8")
    for source in cast("list[Rule]", yaml.safe_load(text)):
        written = yaml.safe_dump(source, width=_WIDE)
        if "$pool" not in written:
            yield _read(written, choice)
            continue
        for pool, seconds in sorted(choice.objectives.items()):
            found = written.replace("$pool", pool)
            yield _read(found.replace("$objective_seconds", _plain(seconds)), choice)


def _read(text: str, choice: Choice) -> Rule:
    """Return a rule with what was chosen in its place."""
    text = _DURATION.sub(lambda match: _scaled(match, choice.scale), text)
    chosen = {
        "oldest_ready_seconds": choice.oldest_ready_seconds,
        "late_percent": choice.late_percent,
        "error_percent": choice.error_percent,
    }
    for name, number in chosen.items():
        text = text.replace(f"${name}", _plain(number))
    if choice.namespace is None:
        text = _NAMESPACE.sub("", text).replace("{}", "")
    else:
        text = text.replace("$namespace", choice.namespace)
    rule = cast("Rule", yaml.safe_load(text))
    if choice.namespace is not None:
        labels = cast("Rule", rule.get("labels", {}))
        rule["labels"] = {**labels, "namespace": choice.namespace}
    return rule


def _scaled(match: re.Match[str], scale: Decimal) -> str:
    seconds = max(Decimal(1), int(match[1]) * _UNITS[match[2]] * scale)
    whole = seconds.to_integral_value(ROUND_CEILING)
    if match[3]:
        return str(whole)
    return f"{match[1]}{match[2]}" if scale == 1 else f"{whole}s"


def _plain(number: Decimal) -> str:
    """Return a number without an exponent, and without zeros that say nothing."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_HEAD = """# Alerts

Written by `python -m docs.generate` from `charts/fairlead/files`. The chart renders them into a
PrometheusRule (`metrics.prometheusRule`). For a Prometheus of your own there is
[alerts.yaml](alerts.yaml), with the defaults and for one installation. With other values, in a
checkout:

```
python -m docs.generate.alerts --late-percent 0.5 --oldest-ready-seconds 60 > rules.yaml
```

The file's `runbook_url` is a path in the repository. For a link that somebody who is called can
follow, say where your people read `docs/runbooks` (the chart's `runbookUrl`):

```
python -m docs.generate.alerts --runbook-url https://git.example/docs/runbooks > rules.yaml
```

* **critical** pages somebody: jobs start late, fail, or do not start. **warning** can wait for
  the morning.
* *after* is for how long the condition has to last. All durations are multiplied by `timeScale`
  (`--scale`), 1 by default.
* The objective of a pool is the `autoscale.objective` of the policy in force, which the leader
  shows as `fairlead_pool_objective_seconds`: an edit of it counts from then on. Of a pool of
  which the policy says nothing it is the chart's, with `autoscaler.enabled=false`, or
  `--objective reports=300`.
* The alerts `FairleadWaitBudget…` watch how many jobs start later than that, over two windows
  each. An objective between two bounds of `fairlead_job_wait_seconds` counts as the upper one,
  and one above all of them as none. The chart gives workers a bound at the objective of the
  values; elsewhere, and after an edit, `FAIRLEAD_METRICS_WAIT_BOUNDS` does. Without an
  objective they say nothing, and `FairleadOldestJobWaits` goes by `oldestReadySeconds`.
* A fleet with nothing to do, all of whose workers are gone, fires none of them.
* `metrics.prometheusRule.disabled` (`--without`) leaves alerts out. What is not to be told of
  one queue or pool is kept back by a route or a silence of your Alertmanager, by that label.
* Each has a page of what it means, what to look at and what to do;
  [where to type that](../runbooks/README.md), and as whom.

One cause is to fire one alert: each is silent while those in the last column fire, or are about
to, as they say the same or are its cause. It reads Prometheus' own series `ALERTS` for that,
so that one that is left out silences none. What else may show the same is on the runbooks'
pages. Where Alertmanager is yours, let it keep warnings of a pool back while something critical
fires for it:

```yaml
inhibit_rules:
  - source_matchers: [severity="critical", alertname=~"Fairlead.*", pool=~".+"]
    target_matchers: [severity="warning", alertname=~"Fairlead.*", pool=~".+"]
    equal: [namespace, pool]
```

Without `pool=~".+"` a critical alert of no pool would keep back every warning of no pool: to
Alertmanager a label that both lack is equal.

| alert | severity | after | what it says | silent beside |
| --- | --- | --- | --- | --- |
"""


def page() -> str:
    """Return the page."""
    return _HEAD + "".join(_row(each) for each in rules(Choice()) if "alert" in each)


def causes(rule: Rule) -> tuple[str, ...]:
    """Return the alerts beside which one is silent."""
    expression = str(rule["expr"])
    found = re.findall(r'ALERTS\{[^}]*alertname=~?"([^"]+)"', expression)
    return tuple(dict.fromkeys(name for names in found for name in names.split("|")))


def _row(rule: Rule) -> str:
    name, labels = str(rule["alert"]), cast("dict[str, str]", rule["labels"])
    said = cast("dict[str, str]", rule["annotations"])["summary"]
    said = re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda match: f"*{match[1]}*", said)
    beside = ", ".join(each.removeprefix("Fairlead") for each in causes(rule))
    after = "at once" if rule["for"] == "0s" else rule["for"]
    link = f"[{name}](../runbooks/{name}.md)"
    return f"| {link} | {labels['severity']} | {after} | {said} | {beside} |\n"


def _number(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise argparse.ArgumentTypeError(f"{text!r} is no number: give one, as 0.1") from None
    if not (found.is_finite() and Decimal("0.001") <= found <= Decimal(100_000)):
        raise argparse.ArgumentTypeError(f"{text} is not from 0.001 to 100000")
    return found


def _objective(text: str) -> tuple[str, Decimal]:
    pool, sign, seconds = text.partition("=")
    if not pool or not sign:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no POOL=SECONDS: give one, as default=30"
        )
    return pool, _number(seconds)


def main() -> None:
    """Write a rule file with what the command line chooses to standard output."""
    usual = Choice()
    parser = argparse.ArgumentParser(
        prog="python -m docs.generate.alerts",
        description="Write the alerts as one rule file of Prometheus to standard output.",
    )
    add = parser.add_argument
    add("--namespace", help="count only series with this label, and put it on alerts")
    add("--scale", type=_number, default=usual.scale, help="multiply every duration by it")
    add("--oldest-ready-seconds", type=_number, default=usual.oldest_ready_seconds)
    add("--late-percent", type=_number, default=usual.late_percent, help="of jobs may be late")
    add("--error-percent", type=_number, default=usual.error_percent, help="may fail")
    add(
        "--objective",
        type=_objective,
        action="append",
        default=[],
        metavar="POOL=SECONDS",
        help="of a pool of which the policy says nothing",
    )
    add("--runbook-url", default=usual.runbook_url, help="where people read docs/runbooks")
    add("--without", action="append", default=[], choices=names(), metavar="ALERT")
    given = parser.parse_args()
    choice = Choice(
        namespace=given.namespace,
        scale=given.scale,
        oldest_ready_seconds=given.oldest_ready_seconds,
        late_percent=given.late_percent,
        error_percent=given.error_percent,
        objectives=dict(given.objective),
        runbook_url=given.runbook_url,
        without=frozenset(given.without),
    )
    sys.stdout.write(render(choice))


if __name__ == "__main__":
    main()
