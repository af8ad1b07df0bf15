"""The autoscaler beside a fleet of local processes: the same steps, in a thread.

It decides on one pool by the policy in the database; where that says nothing of the pool's
pods, they stay as many as they are.
"""

import os
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import psycopg

from fairlead.db.connect import Connection, Unreachable, connect
from fairlead.db.statements import load
from fairlead.policy import Policy, PolicyRefused, parse
from fairlead.policy.autoscale import Autoscale
from fairlead.policy_storage import followed, store
from fairlead.runtime.wakeup import Wakeup
from fairlead.settings import DatabaseSettings
from fairlead_autoscaler.controller.controller import Controller
from fairlead_autoscaler.controller.database import Database
from fairlead_autoscaler.controller.options import Options
from fairlead_autoscaler.metrics.registry import Metrics
from fairlead_autoscaler.service import serve
from fairlead_autoscaler.targets import Target
from fairlead_cli.dev.local_pods import LocalPods, SoleLeader
from fairlead_cli.dev.worker_count import POOL, with_autoscale

_TICK_SECONDS = 1.0
_AUTHOR = "fairlead dev"
_STOP_SECONDS = 10.0


class Scaling:
    """Scales local pods while it is entered.

    Args:
        pods: What is scaled, of the pool `default`.
        url: The database.
        metrics: What it measures; None: nothing is measured.
    """

    def __init__(self, pods: LocalPods, url: str, metrics: Metrics | None = None) -> None:
        self._pods = pods
        self._metrics = metrics or Metrics()
        self._settings = DatabaseSettings(database_url=url, database_url_file=None)
        self._stop = threading.Event()
        self._wakeup = Wakeup()
        self._thread = threading.Thread(target=self._run, name="autoscaler", daemon=True)
        self._failed: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._wakeup.wake()
        self._thread.join(_STOP_SECONDS)
        if not self._thread.is_alive():
            self._wakeup.close()

    def look(self) -> None:
        """Let the pods come to what was decided, or raise what ended the autoscaler."""
        if self._failed is not None:
            raise self._failed
        self._pods.settle()

    def _run(self) -> None:
        try:
            with ExitStack() as leaving:
                database = Database(self._settings)
                leaving.callback(database.close)
                options = Options(
                    holder=f"local:{os.getpid()}",
                    targets={POOL: Target(name=self._pods.name)},
                    refresh_seconds=_TICK_SECONDS,
                )
                serve(
                    Controller(
                        self._pods, database, SoleLeader(), options, metrics=self._metrics
                    ),
                    database,
                    tick_seconds=_TICK_SECONDS,
                    stop=self._stop,
                    wakeup=self._wakeup,
                )
        except Exception as error:  # noqa: BLE001 - the owner's thread raises it
            self._failed = error


class Rows:
    """Says by their workers' rows which pods are ready, and how many jobs each holds.

    A drained worker is not ready.

    Args:
        url: The database.
    """

    def __init__(self, url: str) -> None:
        self._settings = DatabaseSettings(database_url=url, database_url_file=None)
        self._connection: Connection | None = None

    def __call__(self) -> Mapping[str, int] | None:
        """Return the ready pods' jobs by UID; None while the database is away."""
        try:
            if self._connection is None:
                self._connection = connect(self._settings, name="dev pods")
            rows = self._connection.execute(
                load("fairlead_cli.dev", "serving"), {"pool": POOL}
            ).fetchall()
        except (Unreachable, psycopg.Error):
            self.close()
            return None
        return {str(uid): int(str(jobs)) for uid, jobs in rows}

    def close(self) -> None:
        """Let go of the session; the next call opens another one."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def in_force(url: str) -> Autoscale | None:
    """Return what the policy that leaders follow says of the pool `default`.

    None: it says nothing of its pods, or cannot be read by this program.
    """
    settings = DatabaseSettings(database_url=url, database_url_file=None)
    with connect(settings, name="dev policy") as connection:
        found = followed(connection)
    try:
        return None if found is None else of_policy(parse(found.document))
    except PolicyRefused:
        return None


def of_policy(policy: Policy) -> Autoscale | None:
    """Return what a policy says of the pods of the pool `default`; None: nothing."""
    return next((each.autoscale for each in policy.pools if each.name == POOL), None)


def write_policy(url: str, asked: Mapping[str, object], *, reason: str) -> None:
    """Store the policy that leaders follow with what is asked of the pool's `autoscale`.

    A repeat changes nothing.

    Raises:
        PolicyRefused: what came of it is no policy; what was in force stays.
    """
    settings = DatabaseSettings(database_url=url, database_url_file=None)
    with connect(settings, name="dev policy") as connection:
        found = followed(connection)
        document = with_autoscale(found.document if found else "{}", asked)
        store(connection, document, author=_AUTHOR, reason=reason)
