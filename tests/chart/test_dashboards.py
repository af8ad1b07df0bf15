"""The dashboards as the chart installs them: where Grafana's sidecar finds them, unchanged."""

import json
import re
from typing import cast

import yaml

from tests.support.boards import FILES, load, variables
from tests.support.chart import (
    CHART,
    EVERYTHING,
    GIVEN,
    Object,
    at,
    helm,
    needs_helm,
    of,
    one,
    render,
)

ON: Object = {"enabled": True}


def boards(values: Object) -> dict[str, Object]:
    """Return the ConfigMaps with dashboards by their names."""
    return {
        str(at(each, "metadata", "name")): each
        for each in of(render(values), "ConfigMap")
        if at(each, "metadata", "labels", "grafana_dashboard") == "1"
    }


def plain(board: str) -> object:
    """Return an installed dashboard without what is its release's own."""
    own = [
        (r'("uid": "|/d/)fairlead-[0-9a-f]{8}-', r"\1fairlead-"),
        (r" \(work/shop\)\"", '"'),
        (r', release=\\"shop\\"', ""),
        (r', release=~\\"shop\|\\"', ""),
    ]
    for pattern, without in own:
        board = re.sub(pattern, without, board)
    return json.loads(board)


@needs_helm
def test_two_releases_have_dashboards_of_their_own() -> None:
    """Uids, links between them and queries are the release's; Grafana keeps one board a uid."""
    texts = [
        str(at(each, "data", "overview.json"))
        for release in ("shop", "bank")
        for each in yaml.safe_load_all(
            helm(
                *("template", release, str(CHART), "--namespace", "work"),
                values={**GIVEN, "metrics": {"podMonitor": ON, "dashboards": ON}},
            )
        )
        if each and str(at(each, "metadata", "name")).endswith("-dashboard-overview")
    ]
    uids = [set(re.findall(r'(?:"uid": "|/d/)(fairlead-[0-9a-f]+-)', each)) for each in texts]

    assert [1, 1] == [len(each) for each in uids]
    assert set() == uids[0] & uids[1]
    assert r"release=\"shop\"" in texts[0]
    assert r"release=\"bank\"" in texts[1]


@needs_helm
def test_every_dashboard_is_where_grafanas_sidecar_looks() -> None:
    """A ConfigMap of its own with the sidecar's label, and the folder as an annotation."""
    made = boards(EVERYTHING)

    assert {f"shop-fairlead-dashboard-{path.stem}" for path in FILES} == set(made)
    for path in FILES:
        found = made[f"shop-fairlead-dashboard-{path.stem}"]
        assert "Fairlead" == at(found, "metadata", "annotations", "grafana_folder")
        assert load(path) == plain(str(at(found, "data", path.name)))


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
