"""A real Prometheus over a release on a cluster, its alerts, and the responder that they call.

It finds the pods by the labels and the port that the chart's PodMonitor names. The node is this
machine, so that it reaches them.
"""

import json
import os
import re
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import cast

from docs.generate.alerts import Choice
from tests.support import cluster, runbooks, tree
from tests.support.alerting import write_rules
from tests.support.asking import Asking
from tests.support.beside import beside
from tests.support.chart import Object, at
from tests.support.cluster import NAMED, Release
from tests.support.object_changes import Record
from tests.support.observed.prometheus import Prometheus
from tests.support.waiting import until

SCALE = Decimal("0.04")
"""A cluster takes its time to start and end pods, whatever the rules' durations are."""
_SCRAPED = "fairlead/metrics"
_PORT = "health"
_EVERY_SECONDS = 0.5
_FENCE = re.compile(r"^```sh\n(kubectl exec .*?)^```", re.MULTILINE | re.DOTALL)


@contextmanager
def scraped(release: Release, record: Record, folder: Path) -> Generator[Asking]:
    """Run a Prometheus with the alerts, every duration scaled, until the end of the block.

    Args:
        release: Whose alerts; it has pods.
        record: What is known of its pods.
        folder: An empty one.
    """
    targets = folder / "targets"
    targets.mkdir()
    rules = folder / "rules.yaml"
    write_rules(rules, Choice(namespace=release.namespace, scale=SCALE))

    def follow(stop: threading.Event) -> None:
        while not stop.wait(_EVERY_SECONDS):
            _write(targets / "pods.json", release, record)

    _write(targets / "pods.json", release, record)
    with (
        Prometheus(folder, targets=targets, rules=[rules]) as prometheus,
        beside(follow, "targets"),
    ):
        asking = Asking(prometheus)
        until(lambda: set(asking.targets().values()) == {"up"}, what="a scrape", seconds=30)
        yield asking


def _write(path: Path, release: Release, record: Record) -> None:
    """Write where the pages of the pods are that are there now, whole or not at all."""
    newest = {each.uid: each for each in tuple(record.changes) if each.kind == "Pod"}
    pods = [each.object for each in newest.values() if not each.gone]
    found = [target for pod in pods if (target := _target(release, pod)) is not None]
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(found))
    partial.replace(path)


def _target(release: Release, pod: Object) -> Object | None:
    """Return where a pod's page is; None: it has none, or has not started."""
    address, phase = at(pod, "status", "podIP"), at(pod, "status", "phase")
    if at(pod, "metadata", "labels", _SCRAPED) != "true" or phase != "Running":
        return None
    for container in cast("list[Object]", at(pod, "spec", "containers")):
        for port in cast("list[Object]", container.get("ports") or []):
            if port.get("name") == _PORT:
                labels: Object = {
                    "namespace": release.namespace,
                    "pod": at(pod, "metadata", "name"),
                    "container": container["name"],
                }
                return {"targets": [f"{address}:{port['containerPort']}"], "labels": labels}
    return None


class Called:
    """The responder to an alert, who has its page and that of all runbooks.

    Args:
        release: Whose alert it is.
        known: The variables of the page.
        url: The database's, of a login that may look after the queue, as pods reach it.
        folder: An empty one.
    """

    def __init__(
        self, release: Release, known: Mapping[str, str], *, url: str, folder: Path
    ) -> None:
        self._known, self._url, self._folder = dict(known), url, folder
        config = folder / "kubeconfig"
        config.write_text(cluster.run("kubectl", "config", "view", "--raw", "--flatten"))
        self._env = {"KUBECONFIG": str(config), "PATH": os.environ["PATH"], "HOME": str(folder)}
        self._type(f"kubectl config set-context --current --namespace={release.namespace}")

    def look(self, alert: str) -> tuple[str, ...]:
        """Return what each command of the diagnosis says."""
        looking, _ = runbooks.halves(alert)
        return tuple(
            self._within(each) if each.startswith("fairlead ") else self._type(_named(each))
            for each in looking
        )

    def _within(self, command: str) -> str:
        """Type a command in a scheduler's pod, as the runbooks' first page says."""
        (block,) = _FENCE.findall(tree.text(runbooks.RUNBOOKS / "README.md"))
        enter, *first = block.splitlines()
        assert enter.startswith("kubectl exec -it ")
        variables = [f"{name}={value}" for name, value in self._known.items()]
        inside = "\n".join((*first, *variables, command))
        enter = _named(enter).replace(" -it ", " -i ")  # there is no terminal
        return self._type(f'{enter} -c "$INSIDE"', given=f"{self._url}\n", INSIDE=inside)

    def _type(self, command: str, *, given: str = "", **more: str) -> str:
        env = {**self._env, **self._known, **more}
        done = runbooks.shell(command, env=env, given=given)
        assert done.served(command), f"{command}: {done}"
        return done.out


def _named(command: str) -> str:
    """Name the objects of the tests' release where a page names those of `fairlead`."""
    return re.sub(r"\bfairlead-(?=worker|scheduler|autoscaler)", f"{NAMED}-", command)
