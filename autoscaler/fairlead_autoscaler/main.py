"""The command `fairlead-autoscaler`: settings, logs, health and signals around a controller."""

import secrets
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, closing
from time import monotonic

from pydantic import ValidationError

from fairlead import log
from fairlead.arguments import Parser, refuse
from fairlead.bell import Bell
from fairlead.health import CannotListen
from fairlead.service import SchemaTooNew, running
from fairlead.settings import explain
from fairlead_autoscaler.controller import Controller
from fairlead_autoscaler.crash import Crashed, crashing
from fairlead_autoscaler.database import Database
from fairlead_autoscaler.keeper import Keeper
from fairlead_autoscaler.kube import client
from fairlead_autoscaler.kube.cluster import Cluster, Names
from fairlead_autoscaler.kube.port import KubeError
from fairlead_autoscaler.metrics import Metrics
from fairlead_autoscaler.options import Options
from fairlead_autoscaler.service import database_fits, serve
from fairlead_autoscaler.settings import AutoscalerSettings
from fairlead_autoscaler.troubles import Troubles

_log = log.get("autoscaler.cluster")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a controller until SIGTERM or SIGINT; exit 2 with one sentence when it cannot.

    When one of its threads has failed, it gives the Lease away and exits with 1.
    """
    parser = Parser(
        prog="fairlead-autoscaler",
        description="Scales pools of workers on Kubernetes, and stores the policy of the "
        "release's ConfigMaps. Every setting is an environment variable FAIRLEAD_...",
    )
    parser.add_argument(
        "--kubeconfig",
        help="How to reach the cluster from outside of it; in a pod its account says it.",
    )
    given = parser.parse_args(arguments)
    try:
        settings = AutoscalerSettings()
    except ValidationError as error:
        refuse(explain(error))
    log.configure(settings.log_format, settings.log_level)
    try:
        run(settings, kubeconfig=given.kubeconfig)
    except (SchemaTooNew, CannotListen, KubeError) as error:
        refuse(str(error))
    except Crashed:
        sys.exit(1)


def run(settings: AutoscalerSettings, *, kubeconfig: str | None = None) -> None:
    """Run a controller in this process's main thread until it is asked to stop.

    Raises:
        SchemaTooNew: the schema needs newer code.
        CannotListen: the health pages' port is taken.
        KubeError: nothing says where the cluster is.
        Crashed: a thread has failed, and everything else has ended in order.
    """
    way, found = client.loaded(kubeconfig)
    namespace = settings.namespace or found
    stop, ready, metrics = threading.Event(), threading.Event(), Metrics()
    with ExitStack() as leaving:
        bell = leaving.enter_context(closing(Bell()))

        def end() -> None:
            stop.set()
            bell.ring()

        leaving.enter_context(crashing(end))
        leaving.enter_context(
            running(settings, bell, stop=stop, ready=ready.is_set, registry=metrics.registry)
        )
        if not database_fits(settings, stop):
            return
        identity = f"{settings.pod_name}_{secrets.token_hex(4)}"
        troubles = Troubles(_log, monotonic)
        cluster = Cluster(
            way,
            _names(settings, namespace, identity),
            changed=bell.ring,
            troubled=lambda path, error: troubles.say("watch.broken", error, {"path": path}),
        )
        cluster.start()
        leaving.callback(cluster.close)
        ready.set()
        database = Database(settings)
        leaving.callback(database.close)
        keeper = Keeper(cluster, identity=identity, changed=bell.ring)
        keeper.start()
        leaving.callback(keeper.stop)
        options = _options(settings, namespace, identity)
        controller = Controller(cluster, database, keeper, options, metrics=metrics)
        serve(controller, database, tick_seconds=settings.tick_seconds, stop=stop, bell=bell)


def _names(settings: AutoscalerSettings, namespace: str, identity: str) -> Names:
    follows = settings.policy_source == "configmap"
    return Names(
        namespace=namespace,
        pods=settings.pod_selector,
        deployments=settings.deployments,
        policy=settings.policy_configmap if follows else None,
        policy_values=settings.policy_values_configmap if follows else None,
        status=settings.status_configmap,
        lease=settings.lease_name,
        identity=identity,
    )


def _options(settings: AutoscalerSettings, namespace: str, identity: str) -> Options:
    follows = settings.policy_source == "configmap"
    place = f"the ConfigMap {settings.policy_configmap} in the namespace {namespace}"
    return Options(
        holder=identity,
        deployments=settings.deployments,
        enabled=settings.autoscaler_enabled,
        follows=follows,
        place=place if follows else "",
        reads_autoscalers=settings.read_autoscalers,
        reads_quotas=settings.read_quotas,
    )


if __name__ == "__main__":
    main()
