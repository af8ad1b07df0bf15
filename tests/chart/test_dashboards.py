"""The dashboards as the chart installs them: where Grafana's sidecar finds them, unchanged."""

import json
from typing import cast

from tests.support.boards import FILES, load, variables
from tests.support.chart import EVERYTHING, Object, at, needs_helm, of, one, render


def boards(values: Object) -> dict[str, Object]:
    """Return the ConfigMaps with dashboards by their names."""
    return {
        str(at(each, "metadata", "name")): each
        for each in of(render(values), "ConfigMap")
        if at(each, "metadata", "labels", "grafana_dashboard") == "1"
    }


@needs_helm
def test_every_dashboard_is_where_grafanas_sidecar_looks() -> None:
    """A ConfigMap of its own with the sidecar's label, and the folder as an annotation."""
    made = boards(EVERYTHING)

    assert {f"shop-fairlead-dashboard-{path.stem}" for path in FILES} == set(made)
    for path in FILES:
        found = made[f"shop-fairlead-dashboard-{path.stem}"]
        assert "Fairlead" == at(found, "metadata", "annotations", "grafana_folder")
        assert load(path) == json.loads(str(at(found, "data", path.name)))


@needs_helm
def test_dashboards_link_to_where_the_runbooks_are_read() -> None:
    """The address of the alerts' runbooks is the dashboards', too."""
    metrics = cast("Object", EVERYTHING["metrics"])
    rules: Object = {"enabled": True, "runbookUrl": "https://wiki.example/a/"}
    values: Object = {**EVERYTHING, "metrics": {**metrics, "prometheusRule": rules}}
    made = one(render(values), "ConfigMap", "shop-fairlead-dashboard-overview")
    board = cast("Object", json.loads(str(at(made, "data", "overview.json"))))
    (found,) = [each for each in variables(board) if each["name"] == "runbooks"]

    assert "https://wiki.example/a" == found["query"]


@needs_helm
def test_there_is_no_dashboard_unless_it_is_asked_for() -> None:
    """A cluster without Grafana gets none."""
    metrics = cast("Object", EVERYTHING["metrics"])

    assert {} == boards(
        {**EVERYTHING, "metrics": {**metrics, "dashboards": {"enabled": False}}}
    )
