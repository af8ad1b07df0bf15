"""What a Prometheus knows: answers to queries, alerts, targets, rules."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from tests.support.observed.prometheus import Prometheus
from tests.support.waiting import until

Answer = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of an instant query's answer."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a range query's answer: instants in seconds, and values."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert that is pending or firing."""

    name: str
    state: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    value: float


@dataclass(slots=True)
class Asking:
    """A client that queries a Prometheus."""

    prometheus: Prometheus

    def query(self, expr: str, at: float | None = None) -> list[Sample]:
        """Return the answer to an instant query, now or at an instant in Unix seconds.

        Raises:
            PrometheusError: it is no query.
        """
        when = {} if at is None else {"time": f"{at:.3f}"}
        said = cast("Answer", self.prometheus.ask("query", query=expr, **when))
        if said["resultType"] == "scalar":
            _, value = cast("tuple[float, str]", said["result"])
            return [Sample({}, float(value))]
        rows = cast("list[Answer]", said["result"])
        return [Sample(_labels(row), float(cast("list[str]", row["value"])[1])) for row in rows]

    def query_range(self, expr: str, seconds: float = 60, step: float = 1) -> list[Series]:
        """Return the answer to a query over the last seconds.

        Raises:
            PrometheusError: it is no query.
        """
        now = self.query("time()")[0].value
        asked = {"start": f"{now - seconds:.3f}", "end": f"{now:.3f}", "step": f"{step:g}"}
        said = cast("Answer", self.prometheus.ask("query_range", query=expr, **asked))
        rows = cast("list[Answer]", said["result"])
        return [Series(_labels(row), _points(row)) for row in rows]

    def targets(self) -> dict[str, str]:
        """Return of each process's page how its last scrape went: `up`, or the error."""
        said = cast("Answer", self.prometheus.ask("targets", state="active"))
        return {
            str(_labels(each, "labels")["pod"]): str(each["lastError"]) or str(each["health"])
            for each in cast("list[Answer]", said["activeTargets"])
        }

    def alerts(self) -> list[Alert]:
        """Return the alerts that are pending or firing."""
        said = cast("Answer", self.prometheus.ask("alerts"))
        return [
            Alert(
                name=_labels(each, "labels")["alertname"],
                state=str(each["state"]),
                labels=_labels(each, "labels"),
                annotations=_labels(each, "annotations"),
                value=float(str(each["value"])),
            )
            for each in cast("list[Answer]", said["alerts"])
        ]

    def firing(self) -> frozenset[str]:
        """Return the names of the alerts that fire."""
        return frozenset(each.name for each in self.alerts() if each.state == "firing")

    def wait_for_alert(self, name: str, seconds: float, state: str = "firing") -> Alert:
        """Return the alert of this name once it is in this state."""
        try:
            return until(
                lambda: next(
                    (a for a in self.alerts() if (a.name, a.state) == (name, state)), None
                ),
                what=f"{name} {state}",
                seconds=seconds,
            )
        except AssertionError as error:
            there = [(each.name, each.state) for each in self.alerts()]
            raise AssertionError(f"{error}; there are {there or 'no alerts'}") from None

    def wait_for_silence(self, name: str, seconds: float) -> None:
        """Wait until no alert of this name is pending or fires."""
        until(
            lambda: name not in {each.name for each in self.alerts()},
            what=f"silence of {name}",
            seconds=seconds,
        )

    def rule_problems(self) -> list[str]:
        """Return the rules whose last evaluation failed, and why."""
        return [
            f"{rule['name']}: {rule['lastError']}"
            for rule in self._rules()
            if rule["health"] == "err"
        ]

    def expression(self, name: str) -> str:
        """Return what the rule of this name asks, as Prometheus has it."""
        return next(str(rule["query"]) for rule in self._rules() if rule["name"] == name)

    def _rules(self) -> Iterator[Answer]:
        said = cast("Answer", self.prometheus.ask("rules"))
        for group in cast("list[Answer]", said["groups"]):
            yield from cast("list[Answer]", group["rules"])


def _labels(row: Answer, name: str = "metric") -> Mapping[str, str]:
    return cast("Mapping[str, str]", row[name])


def _points(row: Answer) -> tuple[tuple[float, float], ...]:
    found = cast("list[tuple[float, str]]", row["values"])
    return tuple((at, float(value)) for at, value in found)
