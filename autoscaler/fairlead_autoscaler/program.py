"""The program of `main`: settings, logs, health and signals around a controller."""

import secrets
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, closing
from time import monotonic

from pydantic import ValidationError

from fairlead.access import RoleMissing
from fairlead.runtime import log
from fairlead.runtime.arguments import Parser, refuse
from fairlead.runtime.health import CannotListen
from fairlead.runtime.wakeup import Wakeup
from fairlead.service import SchemaTooNew, running
from fairlead.settings import explain
from fairlead_autoscaler.controller.controller import Controller
from fairlead_autoscaler.controller.database import Database
from fairlead_autoscaler.controller.failure_log import FailureLog
from fairlead_autoscaler.controller.lease_thread import LeaseThread
from fairlead_autoscaler.controller.options import Options, OwnPod
from fairlead_autoscaler.crash import Crashed, ending_on_thread_failure
from fairlead_autoscaler.kube import client
from fairlead_autoscaler.kube.adapter import Cluster, Names
from fairlead_autoscaler.kube.port import KubeError
from fairlead_autoscaler.metrics.registry import Metrics
from fairlead_autoscaler.service import serve, wait_for_schema
from fairlead_autoscaler.settings import AutoscalerSettings

_log = log.get("autoscaler.cluster")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a controller until SIGTERM or SIGINT; exit 2 with one sentence when it cannot.

    When one of its threads has failed, it releases the Lease and exits with 1.
    """
    parser = Parser(
        prog="fairlead-autoscaler",
        description="Scales pools of workers on Kubernetes, and stores the policy of the "
        "release's ConfigMaps. Every setting is an environment variable FAIRLEAD_...",
    )
    parser.add_argument(
        "--kubeconfig",
        help="The kubeconfig for use outside the cluster; a pod uses its service account.",
    )
    given = parser.parse_args(arguments)
    try:
        settings = AutoscalerSettings()
    except ValidationError as error:
        refuse(explain(error))
    log.configure(settings.log_format, settings.log_level)
    try:
        run(settings, kubeconfig=given.kubeconfig)
    except (RoleMissing, SchemaTooNew, CannotListen, KubeError) as error:
        refuse(str(error))
    except Crashed:
        sys.exit(1)


def run(settings: AutoscalerSettings, *, kubeconfig: str | None = None) -> None:
    """Run a controller in this process's main thread until it is asked to stop.

    Raises:
        RoleMissing: the login has not the autoscaler's role.
        SchemaTooNew: the schema needs newer code.
        CannotListen: the health pages' port is taken.
        KubeError: the cluster is not configured.
        Crashed: a thread has failed, and everything else has ended in order.
    """
    api, found = client.load(kubeconfig)
    namespace = settings.namespace or found
    stop, ready, metrics = threading.Event(), threading.Event(), Metrics()
    with ExitStack() as leaving:
        wakeup = leaving.enter_context(closing(Wakeup()))

        def end() -> None:
            stop.set()
            wakeup.wake()

        leaving.enter_context(ending_on_thread_failure(end))
        leaving.enter_context(
            running(settings, wakeup, stop=stop, ready=ready.is_set, registry=metrics.registry)
        )
        if not wait_for_schema(settings, stop):
            return
        identity = f"{settings.pod_name}_{secrets.token_hex(4)}"
        failures = FailureLog(_log, monotonic)
        cluster = Cluster(
            api,
            _names(settings, namespace, identity),
            changed=wakeup.wake,
            on_error=lambda path, error: failures.report("watch.broken", error, {"path": path}),
        )
        cluster.start()
        leaving.callback(cluster.close)
        ready.set()
        database = Database(settings)
        leaving.callback(database.close)
        lease_thread = LeaseThread(cluster, identity=identity, changed=wakeup.wake)
        lease_thread.start()
        leaving.callback(lease_thread.stop)
        options = _options(settings, namespace, identity)
        controller = Controller(cluster, database, lease_thread, options, metrics=metrics)
        serve(
            controller, database, tick_seconds=settings.tick_seconds, stop=stop, wakeup=wakeup
        )


def _names(settings: AutoscalerSettings, namespace: str, identity: str) -> Names:
    syncs_policy = settings.policy_source == "configmap"
    return Names(
        namespace=namespace,
        pods=settings.pod_selector,
        targets=settings.targets,
        policy=settings.policy_configmap if syncs_policy else None,
        policy_values=settings.policy_values_configmap if syncs_policy else None,
        status=settings.status_configmap,
        lease=settings.lease_name,
        identity=identity,
    )


def _options(settings: AutoscalerSettings, namespace: str, identity: str) -> Options:
    syncs_policy = settings.policy_source == "configmap"
    place = f"the ConfigMap {settings.policy_configmap} in the namespace {namespace}"
    return Options(
        holder=identity,
        pod=OwnPod(name=settings.pod_name, uid=settings.pod_uid),
        release=settings.release,
        targets=settings.targets,
        enabled=settings.autoscaler_enabled,
        syncs_policy=syncs_policy,
        policy_bounds=settings.policy_bounds,
        policy_edited=_edited(settings),
        policy_location=place if syncs_policy else "",
        direct=settings.database_direct,
        reads_autoscalers=settings.read_autoscalers,
        reads_quotas=settings.read_quotas,
    )


def _edited(settings: AutoscalerSettings) -> str:
    """Return the ConfigMap that people edit beside the values; empty: there is none."""
    name = settings.policy_configmap
    return "" if name == settings.policy_values_configmap else name
