"""The rules that a dashboard keeps: those of Grafana's dashboard-linter, and some of our own.

Each takes a dashboard and returns what offends. The linter asks for a matcher of `instance` in
every query, too: here it distinguishes only what a process says of itself, so the variable is
on one dashboard, and `uses_its_variables` sees that it is asked for there.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import cast

from docs.generate.alerts import Choice
from docs.generate.alerts import rules as alert_rules
from tests.support.boards import (
    FILES,
    SCRAPED,
    listed,
    load,
    panels,
    queries,
    reference,
    selectors,
    targets,
    variables,
)
from tests.support.chart import Object, at
from tests.support.tree import ROOT

Rule = Callable[[Object], list[str]]

UNITS = {"none", "short", "percentunit", "s", "ops", "cpm", "bytes"}
"""Grafana's names of the units that are in use here."""
TAG = "fairlead"

_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_RATE = re.compile(r"\b(?:rate|irate)\([^[]*\[([^\]]*)\]")
_RECORDED = re.compile(r"\bfairlead:[\w:]+(\{[^}]*\})?")
_BEGUN = re.compile(
    r"\(last_over_time\((\w+\{[^}]*\})\[\S+\]\) unless \1 offset \S+ "
    r"and on \(job, instance\) .*?\)\) or (?=increase\(\1)"
)
_LABELS = re.compile(r"\b(?:by|on) \(([^)]*)\)")
_LEGEND = re.compile(r"{{(\w+)}}")
_FROM_LABEL = re.compile(r"label_values\((fairlead_\w+)(?:\{.*\})?, (\w+)\)")
_OPENS = {")": "(", "]": "[", "}": "{"}


def has_a_chosen_source(board: Object) -> list[str]:
    """template-datasource: one variable for the data source, which is a Prometheus."""
    found = [each for each in variables(board) if each["type"] == "datasource"]
    right = [
        each for each in found if (each["name"], each["query"]) == ("datasource", "prometheus")
    ]
    return [] if len(found) == len(right) == 1 else [f"{len(right)} of {len(found)} sources"]


def has_a_chosen_job(board: Object) -> list[str]:
    """template-job: the job is chosen among those that there are, and all are at first."""
    wanted = {"type": "query", "multi": True, "includeAll": True, "allValue": ".+"}
    found = [each for each in variables(board) if each["name"] == "job"]
    if len(found) != 1:
        return [f"{len(found)} variables for the job"]
    return [name for name, value in wanted.items() if found[0].get(name) != value]


def has_values_from_labels(board: Object) -> list[str]:
    """template-label-promql: a variable's values are those of a label that its series has."""
    wrong: list[str] = []
    for each in variables(board):
        if each["type"] == "query":
            asked = _FROM_LABEL.fullmatch(str(at(each, "query", "query")))
            known = reference().get(asked[1]) if asked else None
            if asked is None or known is None or asked[2] not in known.labels | SCRAPED:
                wrong.append(str(each["name"]))
    return wrong


def asks_for_values_again(board: Object) -> list[str]:
    """template-on-time-change-reload: another time has other queues and processes."""
    asked = [each for each in variables(board) if each["type"] == "query"]
    return [str(each["name"]) for each in asked if each.get("refresh") != 2]


def uses_its_variables(board: Object) -> list[str]:
    """Every variable is used, and what is used is a variable, or Grafana's own."""
    known = {str(each["name"]) for each in variables(board)} - {"datasource"}
    texts = [*queries(board), *(str(each["description"]) for each in panels(board))]
    used = {name for text in texts for name in _VARIABLE.findall(text)}
    return sorted(known ^ {name for name in used if not name.startswith("__")})


def asks_the_chosen_source(board: Object) -> list[str]:
    """panel-datasource: panels, queries, variables and marks ask what was chosen."""
    asking = [*panels(board), *targets(board), *listed(board, "annotations", "list")]
    asking += [each for each in variables(board) if each["type"] == "query"]
    return [str(each) for each in asking if at(each, "datasource", "uid") != "${datasource}"]


def says_what_it_shows(board: Object) -> list[str]:
    """panel-title-description: a title of its own, what it shows, and what a person does."""
    titles = [str(each.get("title") or "") for each in panels(board)]
    silent = [
        title
        for title, each in zip(titles, panels(board), strict=True)
        if not title or "\n\n**When it looks bad:** " not in str(each.get("description"))
    ]
    return silent + sorted({title for title in titles if titles.count(title) > 1})


def has_units(board: Object) -> list[str]:
    """panel-units: every panel has one of Grafana's units."""
    return [
        str(each["title"])
        for each in panels(board)
        if at(each, "fieldConfig", "defaults", "unit") not in UNITS
    ]


def asks_something(board: Object) -> list[str]:
    """panel-no-targets: every panel has a query, and each has a name of its own."""
    wrong: list[str] = []
    for panel in panels(board):
        names = [str(each.get("refId")) for each in listed(panel, "targets")]
        if not names or len(set(names)) < len(names):
            wrong.append(str(panel["title"]))
    return wrong


def closes_what_it_opens(board: Object) -> list[str]:
    """target-promql: brackets pair; whether it is PromQL a real Prometheus says."""
    return [query for query in queries(board) if not _pairs(query)]


def _pairs(query: str) -> bool:
    opened: list[str] = []
    for letter in re.sub(r'"[^"]*"', "", query):
        if letter in _OPENS.values():
            opened.append(letter)
        elif letter in _OPENS and (not opened or opened.pop() != _OPENS[letter]):
            return False
    return not opened and query.count('"') % 2 == 0


def follows_the_zoom(board: Object) -> list[str]:
    """target-rate-interval: a rate is over what fits the time shown and the scrapes."""
    return [
        query
        for query in queries(board)
        for over in _RATE.findall(query)
        if over != "$__rate_interval"
    ]


def asks_one_installation(board: Object) -> list[str]:
    """target-job: every series is asked for within the chosen namespace and job.

    What rules record has no job, and no namespace where they are for one installation.
    """
    scope, of_records = 'namespace=~"$namespace", job=~"$job"', '{namespace=~"$namespace|"'
    return [
        query
        for query in queries(board)
        for each in selectors(query)
        if not query[each.start :].startswith(f"{each.name}{{{scope}")
    ] + [
        query
        for query in queries(board)
        for each in _RECORDED.finditer(query)
        if not (each[1] or "").startswith(of_records)
    ]


def counts_growth(board: Object) -> list[str]:
    """target-counter-agg: of a counter only its growth is shown, for restarts begin anew.

    What it had when it began is growth, too.
    """
    wrong: list[str] = []
    for query in (_BEGUN.sub("", str(each["expr"])) for each in targets(board)):
        for each in selectors(query):
            known = reference().get(each.name)
            before = query[: each.start]
            if known and known.kind != "gauge" and not before.endswith(("rate(", "increase(")):
                wrong.append(f"{each.name}: {query}")
    return wrong


def adds_up_no_leaders_gauge(board: Object) -> list[str]:
    """Of what only a leader shows, the highest is taken: two may lead for a moment."""
    wrong: list[str] = []
    for query in queries(board):
        for each in selectors(query):
            known = reference().get(each.name)
            summed = re.search(
                r"\b(?:sum|avg|count)(?: by \([^)]*\) )?\($", query[: each.start]
            )
            if known and known.by_leader and summed:
                wrong.append(f"{each.name}: {query}")
    return wrong


def has_legends(board: Object) -> list[str]:
    """Every query says what its series are called, by labels that it keeps."""
    wrong: list[str] = []
    for each in targets(board):
        query, legend = str(each["expr"]), str(each.get("legendFormat") or "")
        if not legend or not set(_LEGEND.findall(legend)) <= _kept(query):
            wrong.append(f"{legend}: {query}")
    return wrong


def asks_for_what_there_is(board: Object) -> list[str]:
    """Every series, and every label that is asked for or kept, is in the programs' tables."""
    wrong: list[str] = []
    known_records = {str(rule["record"]) for rule in alert_rules(Choice()) if "record" in rule}
    for query in queries(board):
        asked = {each[0].partition("{")[0] for each in _RECORDED.finditer(query)}
        wrong += sorted(asked - known_records)
        every = set(SCRAPED)
        for each in selectors(query):
            known = reference().get(each.name)
            has = known.labels | SCRAPED if known else frozenset[str]()
            every |= has
            wrong += [] if known else [each.name]
            wrong += [f"{name} of {each.name}" for name in each.labels - has]
        wrong += [f"{name}: {query}" for name in _kept(query) - every]
    return wrong


def _kept(query: str) -> set[str]:
    """Return the labels that a query's answers have, or that it joins by."""
    return {name for names in _LABELS.findall(query) for name in names.split(", ")}


def cannot_be_edited(board: Object) -> list[str]:
    """uneditable-dashboard: changes belong into the code, where they last."""
    return [] if board["editable"] is False else ["editable"]


def leads_on(board: Object) -> list[str]:
    """Dashboards link to each other, and to runbooks that there are."""
    links = [each for each in listed(board, "links") if each["type"] == "dashboards"]
    wrong = [] if [[TAG]] == [each["tags"] for each in links] else ["no link to the others"]
    wrong += [] if TAG in cast("list[str]", board["tags"]) else ["no link from the others"]
    uids = {str(load(path)["uid"]) for path in FILES} - {str(board["uid"])}
    for panel in panels(board):
        for url in (str(each["url"]) for each in listed(panel, "links")):
            page = re.fullmatch(r"\$\{runbooks\}/(\w+)\.md", url)
            other = re.match(r"/d/([\w-]+)\?", url)
            there = (page and (ROOT / f"docs/runbooks/{page[1]}.md").exists()) or (
                other and other[1] in uids
            )
            wrong += [] if there else [url]
    return wrong


def fits_the_grid(board: Object) -> list[str]:
    """No panel covers another, or leaves the 24 columns."""
    taken: set[tuple[int, int]] = set()
    wrong: list[str] = []
    for each in listed(board, "panels"):
        x, y, w, h = (cast("int", at(each, "gridPos", side)) for side in "xywh")
        cells = {(column, line) for column in range(x, x + w) for line in range(y, y + h)}
        if cells & taken or x + w > 24:
            wrong.append(str(each["title"]))
        taken |= cells
    return wrong


def has_ordered_steps(board: Object) -> list[str]:
    """Thresholds begin at nothing and climb."""
    wrong: list[str] = []
    for panel in panels(board):
        steps = listed(panel, "fieldConfig", "defaults", "thresholds", "steps")
        values = [each.get("value") for each in steps]
        climbs = all(cast("float", a) < cast("float", b) for a, b in pairwise(values[1:]))
        if values[:1] != [None] or not climbs:
            wrong.append(str(panel["title"]))
    return wrong


def begins_with_coloured_numbers(board: Object) -> list[str]:
    """The first row is numbers, most of them with colours for good and bad."""
    first = min(cast("int", at(each, "gridPos", "y")) for each in panels(board))
    row = [each for each in panels(board) if at(each, "gridPos", "y") == first]
    coloured = [
        each
        for each in row
        if len(listed(each, "fieldConfig", "defaults", "thresholds", "steps")) > 1
        and at(each, "options", "colorMode") == "background"
    ]
    others = [str(each["title"]) for each in row if each["type"] != "stat"]
    return others + ([] if 2 * len(coloured) > len(row) else ["few have colours"])


RULES: tuple[Rule, ...] = (
    has_a_chosen_source,
    has_a_chosen_job,
    has_values_from_labels,
    asks_for_values_again,
    uses_its_variables,
    asks_the_chosen_source,
    says_what_it_shows,
    has_units,
    asks_something,
    closes_what_it_opens,
    follows_the_zoom,
    asks_one_installation,
    counts_growth,
    adds_up_no_leaders_gauge,
    has_legends,
    asks_for_what_there_is,
    cannot_be_edited,
    leads_on,
    fits_the_grid,
    has_ordered_steps,
    begins_with_coloured_numbers,
)
