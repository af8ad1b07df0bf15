"""Each query of each dashboard returns data from a fleet at work."""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from docs.generate.dashboards import promql
from fairlead.policy import PolicyRefused
from tests.support import dashboards, tree
from tests.support.asking import Series
from tests.support.dashboards import Query
from tests.support.observed import schedule
from tests.support.observing import Watched, watching
from tests.support.waiting import until

pytestmark = [
    pytest.mark.any_server,
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("observe"),
]

RULES = tree.ROOT / "docs/reference/alerts.yaml"
_SHADOW = "shadow: {version: 1, every: 10s}\n"
_QUICKLY = {
    "FAIRLEAD_REPORT_SECONDS": "1",
    "FAIRLEAD_WORKER_LEASE_SECONDS": "6",
    "FAIRLEAD_WORKER_RENEW_SECONDS": "1.5",
    "FAIRLEAD_WORKER_MARGIN_SECONDS": "1",
    "FAIRLEAD_WORKER_CALL_SECONDS": "2",
    "FAIRLEAD_NETWORK_TIMEOUT_SECONDS": "4",
}
"""A report every second, and a worker that hangs counts as dead soon."""
_TIMEOUT_SECONDS = 400.0
"""For whatever is awaited, on a machine that has much else to do: only a failure takes it.

The load comes and goes in two minutes and a half, and a leader counts dead jobs once a minute.
"""
_BESIDE = """
    INSERT INTO fairlead.jobs (queue, kind, tenant)
    SELECT 'images', 'resize', tenant FROM unnest(ARRAY['one', 'two']) tenant,
    generate_series(1, 100)
"""
"""Tenants that wait all the time a report is about, without a limit that keeps them from slots:
Jain's index is of those, and of the load's noisy tenants one is limited."""
_AT_WORK = """
    SELECT name, running FROM fairlead.workers
    WHERE state = 'live' AND running > 0 ORDER BY running DESC
"""

MAY_BE_EMPTY: Mapping[tuple[str, str], str] = {
    ("overview.json", "Queues that stand still"): "jobs of every queue start",
    ("workers.json", "Pools without a worker"): "the pool has workers",
    ("workers.json", "Dead rows"): "no table has 10,000 of them within minutes",
}
"""Panels whose query may find nothing in a fleet at work, so that it says 0, and why that is.
Of each the series that it asks for are there nevertheless."""

Answers = Mapping[tuple[str, str, str], bool]


@pytest.fixture(scope="module")
def fleet() -> Iterator[Watched]:
    """Yield a fleet in which everything has happened that its dashboards show."""
    rules = [RULES] if RULES.exists() else []
    with watching(rules=rules, workers=(1, 2), environment=_QUICKLY) as running:
        running.apply_policy(schedule.policy(1, 2) + _SHADOW)
        with pytest.raises(PolicyRefused):
            running.apply_policy("queues: nonsense")
        await_shadow(running)
        running.apply_policy(schedule.policy(1, 2))  # each simulation takes seconds of a core
        db = running.connect()
        db.execute(_BESIDE)
        frozen = freeze_at_work(running, db)  # one that is killed takes its jobs back itself
        expect(running, "max(fairlead_fairness_jain) > 0")
        expect(running, "fairlead_autoscaler_limited_info")
        expect(running, "sum(fairlead_jobs_rescued_total) > 0")
        running.thaw(frozen)
        db.execute("ALTER TABLE fairlead.schedules RENAME TO schedules_gone")
        expect(running, "sum(fairlead_scheduler_task_failures_total) > 0")
        db.execute("ALTER TABLE fairlead.schedules_gone RENAME TO schedules")
        running.server.restart()
        running.leader()
        victims = "sum(fairlead_autoscaler_victims_total) > 0"
        expect(running, f'count(up{{container="worker"}} == 1) > 1 or {victims}')
        running.stop_load()
        expect(running, victims)
        running.start_load()
        yield running


def expect(fleet: Watched, expr: str) -> None:
    """Wait until a query answers."""
    fleet.wait_for(expr, seconds=_TIMEOUT_SECONDS)


def await_shadow(fleet: Watched) -> None:
    """Wait until the shadow was simulated: by a process of the lowest priority, within 120 s.

    It is asked for early, while there are few jobs to simulate.
    """

    def simulated() -> bool:
        fleet.lift()
        return bool(fleet.query("fairlead_policy_shadow_moved_share"))

    until(simulated, what="a simulation of the shadow", seconds=_TIMEOUT_SECONDS)


def freeze_at_work(fleet: Watched, db: Connection[TupleRow]) -> str:
    """Freeze a worker that holds jobs, which are to be taken back from it; return its name."""

    def frozen() -> str | None:
        found = db.execute(_AT_WORK).fetchone()
        if found is None:
            return None
        name = str(found[0])
        fleet.freeze(name)
        if name in {row[0] for row in db.execute(_AT_WORK)}:
            return name
        fleet.thaw(name)  # it has ended them meanwhile
        return None

    return until(frozen, what="a worker that holds jobs", seconds=_TIMEOUT_SECONDS)


@pytest.fixture(scope="module")
def answers(fleet: Watched) -> Answers:
    """Return of every query whether it has returned data since the start."""
    waiting = {
        query.key: [dashboards.filled(expr, values(fleet, path)) for expr in asked(query)]
        for path in dashboards.PATHS
        for query in dashboards.queries(path)
    }
    found = dict.fromkeys(waiting, False)
    age = "time() - min(min_over_time(process_start_time_seconds[10m]))"

    def settled() -> bool:
        (ago,) = fleet.query(age)
        for key, exprs in tuple(waiting.items()):
            silent = [
                expr for expr in exprs if not has_data(fleet.query_range(expr, ago.value))
            ]
            waiting[key] = silent
            if not silent:
                found[key] = True
                del waiting[key]
        return not waiting

    with suppress(AssertionError):  # the tests say which are silent
        until(settled, what="data for every query", seconds=_TIMEOUT_SECONDS)
    return found


def values(fleet: Watched, path: Path) -> dict[str, str]:
    """Return a value for each variable of a dashboard, as this fleet has them."""

    def of_label(selector: str, label: str) -> str:
        found = fleet.wait_for(f"group by ({label}) ({selector})", _TIMEOUT_SECONDS)
        return max(each.labels.get(label, "") for each in found)

    return dashboards.variables(path, of_label)


def asked(query: Query) -> tuple[str, ...]:
    """Return what has to return data, without the 0 that a query says when it finds nothing."""
    found = dashboards.without_zero(query.expr)
    excused = (query.dashboard, query.panel) in MAY_BE_EMPTY
    return dashboards.selectors(found) if excused else (found,)


def has_data(series: list[Series]) -> bool:
    """Return whether there is a point to draw: what is not a number is none."""
    return any(not math.isnan(value) for each in series for _, value in each.points)


def test_there_are_dashboards_to_ask() -> None:
    """Each has queries."""
    assert dashboards.PATHS
    assert [] == [path for path in dashboards.PATHS if not dashboards.queries(path)]


@pytest.mark.parametrize("path", dashboards.PATHS, ids=lambda path: path.stem)
@pytest.mark.long
def test_every_query_of_a_dashboard_returns_data(path: Path, answers: Answers) -> None:
    """Without an exception: a counter of what seldom happens begins at zero."""
    silent = [query for query in dashboards.queries(path) if not answers[query.key]]

    assert [] == silent


@pytest.mark.parametrize("path", dashboards.PATHS, ids=lambda path: path.stem)
@pytest.mark.long
def test_every_annotation_of_a_dashboard_is_a_query(path: Path, fleet: Watched) -> None:
    """Prometheus accepts it; what it measures may not have happened."""
    chosen = values(fleet, path)

    for expr in dashboards.annotations(path):
        fleet.query(dashboards.filled(expr, chosen))


@pytest.mark.long
def test_no_rule_fails_beside_a_fleet_at_work(fleet: Watched) -> None:
    """Every rule that Prometheus was given can be evaluated."""
    assert [] == fleet.rule_problems()


@pytest.mark.long
def test_an_edit_of_the_objective_moves_what_rules_call_late(fleet: Watched) -> None:
    """Without another rule file: many wait for longer than the one, none than the other."""
    usual = schedule.policy(1, 2)
    late = "sum(fairlead:starts_late:rate5m)"
    for objective, said in (("100ms", f"{late} > 0"), ("30m", f"{late} == 0")):
        fleet.apply_policy(usual.replace("objective: 2s", f"objective: {objective}"))
        expect(fleet, said)
    fleet.apply_policy(usual)


def test_only_what_says_zero_of_itself_is_excused() -> None:
    """An excuse goes with the query that it was for."""
    every = [query for path in dashboards.PATHS for query in dashboards.queries(path)]
    zeros = {(q.dashboard, q.panel) for q in every if dashboards.without_zero(q.expr) != q.expr}

    assert set() == MAY_BE_EMPTY.keys() - zeros
    assert [] == [reason for reason in MAY_BE_EMPTY.values() if not reason]


@pytest.mark.long
def test_a_zero_in_the_place_of_nothing_is_no_data(fleet: Watched) -> None:
    """A query of which a label's name is wrong says 0 for ever."""
    wrong = promql.else_zero('sum(fairlead_leader{program="schedular"})')
    query = Query("x.json", "p", "A", f"{wrong} + {promql.else_zero('sum(up)')}")

    assert has_data(fleet.query_range(query.expr))
    assert ['(sum(fairlead_leader{program="schedular"})) + (sum(up))'] == list(asked(query))
    assert not any(has_data(fleet.query_range(expr)) for expr in asked(query))


def test_the_series_of_a_query_are_those_with_labels_chosen() -> None:
    """Each selector is returned whole."""
    expr = 'count(max by (a) (x{a=~"$a", b="1"}) > 0 unless on (a) increase(y{c="}"}[5m]) > 0)'

    assert ('x{a=~"$a", b="1"}', 'y{c="}"}') == dashboards.selectors(expr)


@pytest.mark.long
def test_a_query_for_what_no_program_shows_returns_nothing(fleet: Watched) -> None:
    """So that the rule above can fail."""
    assert not has_data(fleet.query_range("fairlead_no_such_series"))
    assert has_data(fleet.query_range("fairlead_build_info"))
    assert not has_data(fleet.query_range("fairlead_build_info * NaN"))


def test_variables_are_filled_in_whatever_their_spelling() -> None:
    """Plain, in braces, and with a format."""
    query = Query(
        "x.json", "p", "A", 'a{n=~"$n", m=~"${n}", o=~"${n:regex}"}[$__rate_interval]'
    )

    assert 'a{n=~".+", m=~".+", o=~".+"}[10s]' == dashboards.filled(
        query.expr, {**dashboards.TIMES, "n": ".+"}
    )
    with pytest.raises(KeyError):
        dashboards.filled("a{n='$unknown'}", dashboards.TIMES)
