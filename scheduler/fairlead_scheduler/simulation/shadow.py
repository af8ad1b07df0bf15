"""The program that simulates a shadow policy once, beside the leader and in nobody's way.

It has the lowest priority, bounds on memory and time of its own, and is killed with the thread
that started it. What it prints is a report as JSON, or one sentence that says why there is
none, with exit code 1.
"""

import json
import os
import resource
import sys
from datetime import timedelta
from typing import cast

from psycopg import Error

from fairlead import sql
from fairlead.lifeline import die_with_parent
from fairlead.policy import PolicyRefused, parse
from fairlead.store import Connection, Unreachable, connect
from fairlead_scheduler.policies import look
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.simulation import product
from fairlead_scheduler.simulation.comparison import compare
from fairlead_scheduler.simulation.read import situation
from fairlead_scheduler.simulation.report import Report, report
from fairlead_scheduler.simulation.traffic import live
from fairlead_scheduler.terms import Table, compiled

MEMORY_BYTES_MAX = 2 << 30
CPU_SECONDS_MAX = 60
_HORIZON_US = 60_000_000
_WITHIN = timedelta(minutes=10)
_SEED = 1
_PACKAGE = __package__ or ""


class Impossible(Exception):
    """There is nothing to say; the message is the sentence that says why."""


def main() -> int:
    """Print the report of the version that is the first argument; return the exit code."""
    die_with_parent()
    os.nice(19)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS_MAX, CPU_SECONDS_MAX))
    settings = SchedulerSettings()
    try:
        with connect(settings, name="shadow") as connection:
            made = simulate(connection, settings.pool, sys.argv[1])
    except (Impossible, Unreachable) as error:
        print(error)  # noqa: T201 - what it prints is its product
        return 1
    except Error as error:
        print(" ".join(str(error).split()))  # noqa: T201 - what it prints is its product
        return 1
    print(json.dumps(made))  # noqa: T201 - what it prints is its product
    return 0


def simulate(connection: Connection, pool: str, wanted: str) -> Report:
    """Simulate the policy in force and the stored one of this number or digest.

    Raises:
        Impossible: There is no such version, it cannot be read, or no worker is live.
    """
    new = _stored(connection, wanted)
    old = look(connection).table or Table()
    now = situation(connection, pool, old=old, new=new, within=_WITHIN)
    if not now.all_slots:
        raise Impossible(f"pool '{pool}' has no live worker, so nothing would run")
    fleet = product.fleet(now.slots, tuple(now.beside.values()))
    scene = live(now, fleet, until_us=_HORIZON_US, seed=_SEED)
    return report(
        compare(scene, old, new),
        against="live",
        seed=_SEED,
        old=old,
        new=new,
        situation=now,
        scene=scene,
    )


def _stored(connection: Connection, wanted: str) -> Table:
    number = int(wanted) if len(wanted) < 12 and wanted.isdecimal() else None
    found = connection.execute(
        sql.load(_PACKAGE, "stored"), {"version": number, "digest": wanted}
    ).fetchone()
    if found is None:
        raise Impossible(
            f"shadow.version is {wanted}, and no such policy is stored: give a number or a "
            "digest of `fairlead policy history`"
        )
    version, document = cast("tuple[int, str]", found)
    try:
        return compiled(parse(document), stored=version)
    except PolicyRefused as error:
        raise Impossible(f"version {version}, the shadow, cannot be read: {error}") from None


if __name__ == "__main__":
    raise SystemExit(main())
