"""The dashboards that the chart installs, for any Grafana with any Prometheus."""

from pathlib import Path

from docs.generate.dashboards import autoscaler, fairness, grafana, overview, workers

FOLDER = Path("charts/fairlead/files/dashboards")
BOARDS = {
    "overview": overview.BOARD,
    "fairness": fairness.BOARD,
    "autoscaler": autoscaler.BOARD,
    "workers": workers.BOARD,
}
"""Every dashboard by the name of its file."""


def rendered() -> dict[Path, str]:
    """Return every dashboard's JSON by its path below the root."""
    return {FOLDER / f"{name}.json": grafana.render(board) for name, board in BOARDS.items()}
