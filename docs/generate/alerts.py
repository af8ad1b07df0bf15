"""Render the alerts as one plain rule file for Prometheus, and as a page.

The chart renders the same source: one file per alert, and one of recording rules. Placeholders
in it are durations (`$5m`), the same in seconds (`$1m.seconds`), and values
(`$oldest_ready_seconds`). `python -m docs.generate.alerts --help` lists the values.
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
# Series of others have no label of ours.
_OWN_NAMESPACE = re.compile(r'(?<!kube_job_failed\{)namespace="\$namespace"(, )?')
_FULLNAME = "$fullname"
_WIDE = 1000

_NOTE = """\
# Written by `python -m docs.generate` from charts/fairlead/files. Other values:
# `python -m docs.generate.alerts --help`. `--runbook-url https://…` makes runbooks links.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The values of the rules, as in the chart's `metrics.prometheusRule`."""

    namespace: str | None = None
    """Use only series of this namespace; None: use all, whatever their label `namespace`."""
    release: str | None = None
    """Use only series with this label `release`, of one installation among several in it."""
    scale: Decimal = Decimal(1)
    """Multiply every duration by this, rounded up to whole seconds."""
    oldest_ready_seconds: Decimal = Decimal(300)
    late_percent: Decimal = Decimal(1)
    error_percent: Decimal = Decimal(5)
    objectives: Mapping[str, Decimal] = field(default_factory=dict[str, Decimal])
    """Seconds that a job may wait, by pool, for pools without an objective in the policy."""
    fullname: str = ".*"
    """What the chart calls the release's objects, as a regular expression."""
    runbook_url: str = "docs/runbooks"
    without: frozenset[str] = frozenset()


def names() -> tuple[str, ...]:
    """Return the names of all alerts, in order."""
    return tuple(path.stem for path in _files())


def rules(choice: Choice) -> tuple[Rule, ...]:
    """Return every rule as Prometheus reads it, recording rules first, then alerts."""
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
    """Yield the recording rules; a rule that names `$pool` once for each chosen objective."""
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
    """Return a rule with its placeholders filled in."""
    text = _DURATION.sub(lambda match: _scaled(match, choice.scale), text)
    chosen = {
        "oldest_ready_seconds": choice.oldest_ready_seconds,
        "late_percent": choice.late_percent,
        "error_percent": choice.error_percent,
    }
    for name, number in chosen.items():
        text = text.replace(f"${name}", _plain(number))
    rule = cast("Rule", yaml.safe_load(_scoped(text, choice)))
    scope = {
        name: value
        for name, value in (("namespace", choice.namespace), ("release", choice.release))
        if value is not None
    }
    if scope:
        rule["labels"] = {**cast("Rule", rule.get("labels", {})), **scope}
    return rule


def _scoped(text: str, choice: Choice) -> str:
    """Return a rule's text for the series of one installation, or of all."""
    text = text.replace(_FULLNAME, choice.fullname)
    if choice.release is not None:
        of_release = f', release="{choice.release}"'
        text = _OWN_NAMESPACE.sub(lambda found: _with_release(found, of_release), text)
    if choice.namespace is None:
        return _NAMESPACE.sub("", text).replace("{}", "")
    return text.replace("$namespace", choice.namespace)


def _with_release(found: re.Match[str], of_release: str) -> str:
    return f'namespace="$namespace"{of_release}{found[1] or ""}'


def _scaled(match: re.Match[str], scale: Decimal) -> str:
    seconds = max(Decimal(1), int(match[1]) * _UNITS[match[2]] * scale)
    whole = seconds.to_integral_value(ROUND_CEILING)
    if match[3]:
        return str(whole)
    return f"{match[1]}{match[2]}" if scale == 1 else f"{whole}s"


def _plain(number: Decimal) -> str:
    """Return a number without an exponent and without trailing zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_HEAD = """# Alerts

The alerts that Fairlead ships, and how to install them. The chart renders them into a
PrometheusRule (`metrics.prometheusRule`). Without the chart, load [alerts.yaml](alerts.yaml)
into your Prometheus: it has the default values and covers one installation. To choose other
values, run this in a checkout:

```
python -m docs.generate.alerts --late-percent 0.5 --oldest-ready-seconds 60 > rules.yaml
```

The file's `runbook_url` is a path in the repository. To make it a link that people on call can
click, give the address under which they read `docs/runbooks` (the chart's `runbookUrl`):

```
python -m docs.generate.alerts --runbook-url https://git.example/docs/runbooks > rules.yaml
```

* **critical** pages a person: jobs start late, fail, or do not start. **warning** can wait
  until the morning.
* *after* is how long the condition has to last. `timeScale` (`--scale`), 1 by default,
  multiplies all durations.
* The objective of a pool is `autoscale.objective` in the policy in force, which the leader
  exports as `fairlead_pool_objective_seconds`: an edit of it applies from then on. For a pool
  without one in the policy, it is the chart's if `autoscaler.enabled=false`, or
  `--objective reports=300`.
* The alerts `FairleadWaitBudget…` watch how many jobs start later than that, over two windows
  each. An objective between two bounds of `fairlead_job_wait_seconds` is rounded up to the
  upper bound, and an objective above all bounds is ignored. The chart gives workers a bound at
  the objective of the values; without the chart, and after an edit of the policy, set
  `FAIRLEAD_METRICS_WAIT_BOUNDS`. Without an objective these alerts never fire, and
  `FairleadOldestJobWaits` uses `oldestReadySeconds`.
* A fleet that has no work and no workers left fires no alert.
* With one of the chart's monitors enabled, series carry the release's name in the label that
  `metrics.releaseLabel` names, and alerts and dashboards ask for it: two releases in one
  namespace do not mask each other. Elsewhere, `--release` does so for series that you label.
* `FairleadMigrationFailed` reads a series of kube-state-metrics, and never fires without it.
* `metrics.prometheusRule.disabled` (`--without`) leaves alerts out. To mute an alert for one
  queue or pool, add a route or a silence for that label to your Alertmanager.
* Each alert links to its runbook: what is broken, what to check, what to do. [Where to run the
  commands](../runbooks/README.md), and with which login.

One cause should fire one alert: an alert stays silent while one in the last column is pending
or firing, because that one reports the same or is the cause. It reads Prometheus' own series
`ALERTS` for that, so an alert that you leave out silences no other. The runbooks name what
else may have the same cause. If you run Alertmanager yourself, suppress the warnings of a pool
while a critical alert fires for it:

```yaml
inhibit_rules:
  - source_matchers: [severity="critical", alertname=~"Fairlead.*", pool=~".+"]
    target_matchers: [severity="warning", alertname=~"Fairlead.*", pool=~".+"]
    equal: [namespace, pool]
```

Without `pool=~".+"` a critical alert without a pool would suppress every warning without a
pool: to Alertmanager, a label that both lack is equal.

This page is written by `python -m docs.generate` from `charts/fairlead/files`.

| alert | severity | after | meaning | silent while these fire |
| --- | --- | --- | --- | --- |
"""


def page() -> str:
    """Return the page."""
    return _HEAD + "".join(_row(each) for each in rules(Choice()) if "alert" in each)


def causes(rule: Rule) -> tuple[str, ...]:
    """Return the alerts that silence this one."""
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
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number: give one such as 0.1"
        ) from None
    if not (found.is_finite() and Decimal("0.001") <= found <= Decimal(100_000)):
        raise argparse.ArgumentTypeError(f"{text} is not between 0.001 and 100000")
    return found


def _objective(text: str) -> tuple[str, Decimal]:
    pool, sign, seconds = text.partition("=")
    if not pool or not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is not POOL=SECONDS: give it as default=30")
    return pool, _number(seconds)


def main() -> None:
    """Write a rule file with the values of the command line to standard output."""
    usual = Choice()
    parser = argparse.ArgumentParser(
        prog="python -m docs.generate.alerts",
        description="Write the alerts as one Prometheus rule file to standard output.",
    )
    add = parser.add_argument
    add("--namespace", help="use only series with this label, and add it to the alerts")
    add("--release", help="use only series with this label as well: one of several releases")
    add("--scale", type=_number, default=usual.scale, help="multiply every duration by this")
    add("--oldest-ready-seconds", type=_number, default=usual.oldest_ready_seconds)
    add(
        "--late-percent",
        type=_number,
        default=usual.late_percent,
        help="share of jobs that may start late",
    )
    add(
        "--error-percent",
        type=_number,
        default=usual.error_percent,
        help="share of attempts that may fail",
    )
    add(
        "--objective",
        type=_objective,
        action="append",
        default=[],
        metavar="POOL=SECONDS",
        help="the objective of a pool that has none in the policy",
    )
    add(
        "--runbook-url",
        default=usual.runbook_url,
        help="address under which people read docs/runbooks",
    )
    add("--without", action="append", default=[], choices=names(), metavar="ALERT")
    given = parser.parse_args()
    sys.stdout.write(render(_chosen(given)))


def _chosen(given: argparse.Namespace) -> Choice:
    return Choice(
        namespace=given.namespace,
        release=given.release,
        scale=given.scale,
        oldest_ready_seconds=given.oldest_ready_seconds,
        late_percent=given.late_percent,
        error_percent=given.error_percent,
        objectives=dict(given.objective),
        runbook_url=given.runbook_url,
        without=frozenset(given.without),
    )


if __name__ == "__main__":
    main()
