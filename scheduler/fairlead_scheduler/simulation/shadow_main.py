"""The process that simulates a shadow policy once, next to the leader.

It runs at the lowest priority, under limits on memory and CPU time, and dies with the thread
that started it. It prints a report as JSON, or one sentence why there is none and exits with 1.
"""

import json
import sys
from datetime import timedelta
from typing import cast

from psycopg import Error

from fairlead.db import statements
from fairlead.db.connect import Connection, Unreachable, connect
from fairlead.db.error_text import one_line
from fairlead.policy import PolicyRefused, parse
from fairlead.runtime.bounded_process import bound
from fairlead_scheduler.background.policy_watch import read_newer
from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.simulation.compare import compare
from fairlead_scheduler.simulation.engine import default_fleet
from fairlead_scheduler.simulation.reader import read_fleet_state
from fairlead_scheduler.simulation.simulation_report import SimulationReport, build_report
from fairlead_scheduler.simulation.workload import live_input

MEMORY_BYTES_MAX = 2 << 30
CPU_SECONDS_MAX = 60
_HORIZON_US = 60_000_000
_WITHIN = timedelta(minutes=10)
_SEED = 1
_PACKAGE = __package__ or ""


class CannotSimulate(Exception):
    """There is no report; the message says why."""


def main() -> int:
    """Print the report of the version that is the first argument; return the exit code."""
    bound(memory_bytes=MEMORY_BYTES_MAX, cpu_seconds=CPU_SECONDS_MAX)
    settings = SchedulerSettings()
    try:
        with connect(settings, name="shadow") as connection:
            made = simulate_shadow(connection, settings.pool, sys.argv[1])
    except (CannotSimulate, Unreachable) as error:
        print(error)  # noqa: T201 - its output is its result
        return 1
    except Error as error:
        print(one_line(error))  # noqa: T201 - its output is its result
        return 1
    print(json.dumps(made))  # noqa: T201 - its output is its result
    return 0


def simulate_shadow(connection: Connection, pool: str, wanted: str) -> SimulationReport:
    """Compare the policy in force with the stored one of this version or digest.

    Raises:
        CannotSimulate: There is no such version, it cannot be read, or no worker is live.
    """
    new = _stored(connection, wanted)
    old = read_newer(connection).table or CompiledPolicy()
    state = read_fleet_state(connection, pool, old=old, new=new, within=_WITHIN)
    if not state.all_slots:
        raise CannotSimulate(f"pool '{pool}' has no live worker, so nothing would run")
    fleet = default_fleet(state.slots, tuple(state.other_pools.values()))
    given = live_input(state, fleet, until_us=_HORIZON_US, seed=_SEED)
    return build_report(
        compare(given, old, new),
        against="live",
        seed=_SEED,
        old=old,
        new=new,
        state=state,
        given=given,
    )


def _stored(connection: Connection, wanted: str) -> CompiledPolicy:
    number = int(wanted) if len(wanted) < 12 and wanted.isdecimal() else None
    found = connection.execute(
        statements.load(_PACKAGE, "stored_policy"), {"version": number, "digest": wanted}
    ).fetchone()
    if found is None:
        raise CannotSimulate(
            f"shadow.version is {wanted}, and no such policy is stored: give a number or a "
            "digest of `fairlead policy history`"
        )
    version, document = cast("tuple[int, str]", found)
    try:
        return compile_policy(parse(document), stored=version)
    except PolicyRefused as error:
        raise CannotSimulate(
            f"version {version}, the shadow, cannot be read: {error}"
        ) from None


if __name__ == "__main__":
    raise SystemExit(main())
