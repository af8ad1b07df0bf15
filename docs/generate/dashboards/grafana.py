"""Render a dashboard as Grafana's JSON, with Grafana's own SDK."""

import json
from collections.abc import Iterable
from typing import cast

from grafana_foundation_sdk.builders import (
    bargauge,
    dashboard,
    prometheus,
    stat,
    statetimeline,
    timeseries,
)
from grafana_foundation_sdk.builders import common as looks
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import dashboard as models

from docs.generate.chart.values import Json
from docs.generate.dashboards.parts import (
    RUNBOOKS,
    TAG,
    Board,
    Choice,
    Event,
    Look,
    Panel,
    Query,
)

Made = bargauge.Panel | stat.Panel | statetimeline.Panel | timeseries.Panel

_COLUMNS = 24
_HEIGHTS = {Look.NUMBER: 4}
_HEIGHT = 8
_SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
_ALL = ".+"


def render(board: Board) -> str:
    """Return the dashboard's JSON; the same values give the same text."""
    made = (
        dashboard.Dashboard(board.title)
        .uid(board.uid)
        .description(board.about)
        .tags([TAG])
        .readonly()
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .refresh("30s")
        .time("now-1h", "now")
        .link(_to_the_others())
        .with_variable(
            dashboard.DatasourceVariable("datasource").label("Source").type("prometheus")
        )
    )
    if any(panel.runbook for row in board.rows for panel in row.panels):
        made.with_variable(_runbooks())
    for choice in board.choices:
        made.with_variable(_variable(choice))
    for event in board.events:
        made.annotation(_annotation(event))
    number = 0
    for row in board.rows:
        number += 1
        made.with_row(dashboard.Row(row.title).id(number))
        for panel in row.panels:
            number += 1
            made.with_panel(_panel(panel, number, _COLUMNS // len(row.panels)))
    return _text(made.build(), board.events)


def _text(built: models.Dashboard, events: Iterable[Event]) -> str:
    """Return the JSON, with the titles of annotations, which the SDK does not support."""
    found = cast("dict[str, Json]", json.loads(JSONEncoder().encode(built)))
    listed = cast(
        "list[dict[str, Json]]", cast("dict[str, Json]", found["annotations"])["list"]
    )
    for annotation, event in zip(listed, events, strict=True):
        annotation["titleFormat"] = event.title
    return json.dumps(found, indent=2, sort_keys=True) + "\n"


def _to_the_others() -> dashboard.DashboardLink:
    return (
        dashboard.DashboardLink("Fairlead")
        .type(models.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .include_vars(include_vars=True)
        .keep_time(keep_time=True)
    )


def _runbooks() -> dashboard.ConstantVariable:
    return dashboard.ConstantVariable("runbooks").label("Runbooks").value(RUNBOOKS)


def _variable(choice: Choice) -> dashboard.QueryVariable | dashboard.CustomVariable:
    if choice.values:
        chosen = models.VariableOption(text=choice.values[0], value=choice.values[0])
        return (
            dashboard.CustomVariable(choice.name)
            .label(choice.label)
            .description(choice.about)
            .values(",".join(choice.values))
            .current(chosen)
        )
    label = choice.label_name or choice.name
    scope = {"namespace": "", "job": '{namespace=~"$namespace"}'}
    within = scope.get(choice.name, '{namespace=~"$namespace", job=~"$job"}')
    made = (
        dashboard.QueryVariable(choice.name)
        .label(choice.label)
        .description(choice.about)
        .datasource(_SOURCE)
        .query(
            {"query": f"label_values({choice.series}{within}, {label})", "refId": choice.name}
        )
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.NUMERICAL_ASC)
        .multi(choice.many)
        .include_all(choice.many)
    )
    if choice.many:
        made.all_value(_ALL).current(models.VariableOption(text="All", value="$__all"))
    elif choice.chosen:
        made.current(models.VariableOption(text=choice.chosen, value=choice.chosen))
    return made


def _annotation(event: Event) -> dashboard.AnnotationQuery:
    return (
        dashboard.AnnotationQuery()
        .name(event.name)
        .datasource(_SOURCE)
        .enable(enable=True)
        .icon_color(event.colour)
        .expr(event.expr)
    )


def _panel(panel: Panel, number: int, width: int) -> Made:
    made = _looking(panel)
    made.id(number).title(panel.title).description(_description(panel)).datasource(_SOURCE)
    made.unit(panel.unit).span(width).height(_HEIGHTS.get(panel.look, _HEIGHT))
    made.thresholds(_thresholds(panel)).links(list(_links(panel)))
    for place, query in enumerate(panel.queries):
        made.with_target(_target(query, chr(ord("A") + place), panel.look))
    if panel.words:
        made.mappings([_said(panel)])
    if panel.empty:
        made.no_value(panel.empty)
    if panel.lowest is not None:
        made.min(panel.lowest)
    if panel.highest is not None:
        made.max(panel.highest)
    if panel.decimals is not None:
        made.decimals(panel.decimals)
    if panel.step:
        made.interval(panel.step)
    return made


def _description(panel: Panel) -> str:
    """Return the text under the panel's (i)."""
    parts = [panel.about, f"**When it looks bad:** {panel.act}"]
    if panel.runbook:
        parts.append(f"Runbook: [{panel.runbook}](${{runbooks}}/{panel.runbook}.md)")
    return "\n\n".join(parts)


def _links(panel: Panel) -> Iterable[dashboard.DashboardLink]:
    if panel.runbook:
        url = f"${{runbooks}}/{panel.runbook}.md"
        yield (
            dashboard.DashboardLink(f"Runbook {panel.runbook}")
            .url(url)
            .target_blank(target_blank=True)
        )
    if panel.see:
        url = f"/d/{panel.see}?${{__url_time_range}}&${{__all_variables}}"
        yield dashboard.DashboardLink("Details").url(url)


def _target(query: Query, name: str, look: Look) -> prometheus.Dataquery:
    made = (
        prometheus.Dataquery()
        .ref_id(name)
        .datasource(_SOURCE)
        .expr(query.expr)
        .legend_format(query.legend)
    )
    # A bar shows the current value. A number has its graph in the background, except one over
    # all the time shown, whose graph would query that whole time for every point.
    now = look is Look.BARS or "$__range]" in query.expr
    return made.instant() if now else made.range()


def _thresholds(panel: Panel) -> dashboard.ThresholdsConfig:
    steps = panel.steps or ((None, "blue"),)
    return (
        dashboard.ThresholdsConfig()
        .mode(models.ThresholdsMode.ABSOLUTE)
        .steps([models.Threshold(value=value, color=colour) for value, colour in steps])
    )


def _said(panel: Panel) -> models.ValueMap:
    return models.ValueMap(
        options={
            f"{value:g}": models.ValueMappingResult(text=text, index=place)
            for place, (value, text) in enumerate(panel.words)
        }
    )


def _looking(panel: Panel) -> Made:
    last = looks.ReduceDataOptions().calcs(["lastNotNull"]).values(values=False)
    match panel.look:
        case Look.NUMBER:
            return (
                stat.Panel()
                .color_mode(kinds.BigValueColorMode.BACKGROUND)
                .graph_mode(kinds.BigValueGraphMode.AREA)
                .reduce_options(last)
                .color_scheme(_coloured(models.FieldColorModeId.THRESHOLDS))
            )
        case Look.BARS:
            return (
                bargauge.Panel()
                .display_mode(kinds.BarGaugeDisplayMode.BASIC)
                .orientation(kinds.VizOrientation.HORIZONTAL)
                .reduce_options(last)
                .color_scheme(_coloured(models.FieldColorModeId.THRESHOLDS))
            )
        case Look.SPANS:
            return (
                statetimeline.Panel()
                .show_value(kinds.VisibilityMode.NEVER)
                .merge_values(merge_values=True)
                .color_scheme(_coloured(models.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
            )
        case Look.LINES | Look.STACK:
            return _graph(panel)


def _graph(panel: Panel) -> timeseries.Panel:
    stacked = panel.look is Look.STACK
    made = (
        timeseries.Panel()
        .draw_style(kinds.GraphDrawStyle.LINE)
        .line_width(1)
        .fill_opacity(40 if stacked else 5)
        .show_points(kinds.VisibilityMode.AUTO)
        .legend(
            looks.VizLegendOptions()
            .display_mode(kinds.LegendDisplayMode.TABLE)
            .placement(kinds.LegendPlacement.BOTTOM)
            .show_legend(show_legend=True)
            .calcs(["lastNotNull", "max"])
        )
        .tooltip(
            looks.VizTooltipOptions()
            .mode(kinds.TooltipDisplayMode.MULTI)
            .sort(kinds.SortOrder.DESCENDING)
        )
        .color_scheme(_coloured(models.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    )
    if stacked:
        made.stacking(looks.StackingConfig().mode(kinds.StackingMode.NORMAL).group("A"))
    if panel.steps:
        style = looks.GraphThresholdsStyleConfig().mode(kinds.GraphThresholdsStyleMode.DASHED)
        made.thresholds_style(style)
    return made


def _coloured(mode: models.FieldColorModeId) -> dashboard.FieldColor:
    return dashboard.FieldColor().mode(mode)
