"""The chart's dashboard, from a table of its panels."""

import json
from dataclasses import dataclass
from pathlib import Path

from docs.generate.chart.values import Json

PATH = Path("charts/fairlead/files/dashboards/overview.json")

_WIDTH, _HEIGHT, _COLUMNS = 8, 8, 3
_SOURCE: dict[str, Json] = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True)
class Panel:
    """One graph; each query has its legend. `SCOPE` stands for what the variables choose."""

    title: str
    about: str
    unit: str
    queries: tuple[tuple[str, str], ...]


def _rate(name: str, by: str) -> str:
    return f"sum by ({by}) (rate({name}_total{{SCOPE}}[$__rate_interval]))"


def _quantile(part: float, name: str, by: str) -> str:
    rates = f"sum by (le, {by}) (rate({name}_bucket{{SCOPE}}[$__rate_interval]))"
    return f"histogram_quantile({part}, {rates})"


def _highest(name: str, by: str) -> str:
    return f"max by ({by}) ({name}{{SCOPE}})"


PANELS = (
    Panel(
        "Jobs finished",
        "Jobs that ended for good, by how.",
        "ops",
        ((_rate("fairlead_jobs_finished", "outcome"), "{{outcome}}"),),
    ),
    Panel(
        "Jobs that wait",
        "Pending and queued jobs of each queue; counting stops at 10,000 of each.",
        "short",
        (
            (
                'max by (queue, state) (fairlead_queue_depth{SCOPE, state=~"pending|queued"})',
                "{{queue}} {{state}}",
            ),
        ),
    ),
    Panel(
        "Oldest job that waits",
        "For how long the oldest ready job of each queue has waited.",
        "s",
        ((_highest("fairlead_queue_oldest_ready_age_seconds", "queue"), "{{queue}}"),),
    ),
    Panel(
        "Wait before the start",
        "From falling due to the handler's start: of 95 in 100 jobs it was less.",
        "s",
        ((_quantile(0.95, "fairlead_job_wait_seconds", "queue"), "{{queue}}"),),
    ),
    Panel(
        "Run time",
        "From the handler's start to its end: of 95 in 100 jobs it was less.",
        "s",
        ((_quantile(0.95, "fairlead_job_run_seconds", "kind"), "{{kind}}"),),
    ),
    Panel(
        "Slots",
        "Jobs that may run at a time, and that do.",
        "short",
        (
            ("sum by (pool) (fairlead_worker_slots{SCOPE})", "{{pool}} slots"),
            ("sum by (pool) (fairlead_worker_slots_busy{SCOPE})", "{{pool}} busy"),
        ),
    ),
    Panel(
        "Attempts that did not succeed",
        "Attempts by how they ended, without those that succeeded.",
        "ops",
        (
            (
                _rate("fairlead_attempts_ended", "ended_as").replace(
                    "SCOPE", 'SCOPE, ended_as!="succeeded"'
                ),
                "{{ended_as}}",
            ),
        ),
    ),
    Panel(
        "Dead jobs",
        "Jobs that failed for good and were not repeated.",
        "short",
        ((_highest("fairlead_dead_jobs", "queue"), "{{queue}}"),),
    ),
    Panel(
        "Attempts taken back",
        "From workers that were lost, or long past their deadline.",
        "ops",
        ((_rate("fairlead_lease_expirations", "queue"), "{{queue}}"),),
    ),
    Panel(
        "Schedulers that lead",
        "One leads at any time; the others stand by.",
        "short",
        (("sum(fairlead_leader{SCOPE})", "leaders"),),
    ),
    Panel(
        "Dispatch lag",
        "From the moment that a look was due to the end of its dispatch: 99 in 100 took less.",
        "s",
        ((_quantile(0.99, "fairlead_scheduler_lag_seconds", "namespace"), "lag"),),
    ),
    Panel(
        "Share of the tenants",
        "What part of the slot-seconds of the last minute each of the busiest tenants had.",
        "percentunit",
        ((_highest("fairlead_tenant_share", "queue, tenant"), "{{queue}} {{tenant}}"),),
    ),
)


def render() -> str:
    """Return the dashboard as Grafana keeps it."""
    board: dict[str, Json] = {
        "uid": "fairlead-overview",
        "title": "Fairlead",
        "description": "Queues, workers and the scheduler of one installation.",
        "tags": ["fairlead"],
        "editable": False,
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_datasource(), _variable("namespace"), _variable("job")]},
        "panels": [_panel(place, panel) for place, panel in enumerate(PANELS)],
    }
    return json.dumps(board, indent=2) + "\n"


def _datasource() -> dict[str, Json]:
    named: dict[str, Json] = {"name": "datasource", "label": "Data source"}
    return {**named, "type": "datasource", "query": "prometheus"}


def _variable(name: str) -> dict[str, Json]:
    chosen = ', namespace=~"$namespace"' if name == "job" else ""
    query = f'label_values(fairlead_build_info{{{name}!=""{chosen}}}, {name})'
    return {
        "name": name,
        "label": name.capitalize(),
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(place: int, panel: Panel) -> dict[str, Json]:
    row, column = divmod(place, _COLUMNS)
    scope = 'namespace=~"$namespace", job=~"$job"'
    where: dict[str, Json] = {"w": _WIDTH, "h": _HEIGHT}
    where |= {"x": column * _WIDTH, "y": row * _HEIGHT}
    return {
        "id": place + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "gridPos": where,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": _SOURCE,
                "expr": query.replace("SCOPE", scope),
                "legendFormat": legend,
            }
            for number, (query, legend) in enumerate(panel.queries)
        ],
    }
