"""Real schedulers and workers on a real server, which tests kill, freeze and disconnect."""

import os
import random
import signal
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev import process_table
from tests.chaos import app, history, records
from tests.chaos.history import NO_RESETS, Ended, Event, Found, Resets, Violations
from tests.chaos.session import Session
from tests.support.programs import Process, Start, anew
from tests.support.tree import SOURCES
from tests.support.waiting import until
from tests.support.worker_children import children_of

LEASE_SECONDS, RECOVERY_SECONDS = 3.0, 5.0
BUSY_RECOVERY_SECONDS = 2 * LEASE_SECONDS + 4.0
"""Within so long of a fault interrupted jobs start again: alone, and beside other tests."""

SETTINGS = {
    "FAIRLEAD_WORKER_LEASE_SECONDS": f"{LEASE_SECONDS:g}",
    "FAIRLEAD_WORKER_RENEW_SECONDS": "0.8",
    "FAIRLEAD_WORKER_MARGIN_SECONDS": "0.6",
    "FAIRLEAD_WORKER_CALL_SECONDS": "1",
    "FAIRLEAD_NETWORK_TIMEOUT_SECONDS": "2",
    "FAIRLEAD_LEASE_SECONDS": "1.5",
    "FAIRLEAD_RENEW_SECONDS": "0.4",
    "FAIRLEAD_MARGIN_SECONDS": "0.2",
    "FAIRLEAD_OVERRUN_GRACE_SECONDS": "1",
    "FAIRLEAD_LOG_FORMAT": "json",
}
_STOP_SECONDS, _LOG_LINES = 20.0, 60
SEED_VARIABLE = "FAIRLEAD_TEST_CHAOS_SEED"


def seeded(test: str) -> random.Random:
    """Return the test's random source; FAIRLEAD_TEST_CHAOS_SEED repeats a run."""
    seed = os.environ.get(SEED_VARIABLE) or str(random.SystemRandom().randrange(10**9))
    print(f"{test}: {SEED_VARIABLE}={seed}")  # noqa: T201 - how to repeat a run
    return random.Random(f"{test} {seed}")


@dataclass(slots=True)
class Program:
    """A process of the fleet and its log file."""

    name: str
    process: Process
    log: Path

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def process_tree(self) -> tuple[int, ...]:
        """Return its id, and those of its living descendants."""
        living = process_table.living().values()
        found = [self.pid]
        for pid in found:
            found += [each.pid for each in living if each.parent == pid]
        return tuple(found)

    def kill(self) -> tuple[int, ...]:
        """Kill it with SIGKILL, and return the processes that died with it."""
        process_tree = self.process_tree()
        self.process.kill()
        self.process.wait()
        return process_tree

    def freeze(self) -> tuple[int, ...]:
        """Stop it and its children, like a machine that hangs."""
        process_tree = self.process_tree()
        send(signal.SIGSTOP, process_tree)
        return process_tree

    def thaw(self) -> None:
        """Continue it and its children."""
        send(signal.SIGCONT, self.process_tree())

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Stop it within the block, so that others take new jobs."""
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    def kill_child(self, chance: random.Random) -> None:
        """Kill one of its children with SIGKILL, or the next one if none lives just now."""
        found = until(lambda: children_of(self.pid), what="a child", seconds=30)
        send(signal.SIGKILL, [chance.choice(found)])

    def kill_grandchild(self, chance: random.Random) -> bool:
        """Kill one of the isolated handler processes; return whether there was one."""
        found = sorted({*self.process_tree()} - {self.pid, *process_table.children(self.pid)})
        if found:
            send(signal.SIGKILL, [chance.choice(found)])
        return bool(found)

    def stop(self) -> int:
        """Ask it to stop and return its exit code."""
        self.process.terminate()
        return self.process.wait(_STOP_SECONDS)

    def said(self, event: str) -> bool:
        """Return whether its log has an event."""
        return f'"event": "{event}"' in self.log.read_text("utf-8", errors="replace")


@dataclass(slots=True)
class Fleet:
    """Programs over one database, and the events that their handlers recorded."""

    url: str
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    within: Sequence[str] = ()
    """A command that starts the next programs somewhere else."""
    starts: Start = anew
    """How a program becomes a process."""
    programs: list[Program] = field(default_factory=list[Program])
    inserted: set[int] = field(default_factory=set[int])
    booked: set[int] = field(default_factory=set[int])
    """Inserted jobs that finish in their handlers' own transactions."""
    apart: set[int] = field(default_factory=set[int])
    """Inserted jobs whose handlers run in isolated processes."""
    recorded: bool = False
    _history: history.History = field(init=False)
    _session: Session = field(init=False)

    def __post_init__(self) -> None:
        """Know where the handlers write, and where the fleet's state is."""
        self._history = history.History(self.history_path)
        self._session = Session(self.url)

    @property
    def history_path(self) -> Path:
        """The file that the handlers write to."""
        return self.folder / "history"

    def events(self) -> tuple[Event, ...]:
        """Return the events recorded so far."""
        return self._history.events()

    def started(self, pids: tuple[int, ...]) -> tuple[Event, ...]:
        """Return the starts in these processes."""
        return tuple(
            each for each in self.events() if each.event == "started" and each.pid in pids
        )

    def start(self, name: str, module: str, *arguments: str, url: str = "") -> Program:
        """Start a program; with a name used before it appends to its log.

        `url` is another way to the same database.
        """
        log = self.folder / f"{name}.log"
        environment = {
            **os.environ,
            **SETTINGS,
            **self.environment,
            "FAIRLEAD_DATABASE_URL": url or self.url,
            "PYTHONPATH": SOURCES,
            app.HISTORY_VARIABLE: str(self.history_path),
        }
        process = self.starts(module, arguments, env=environment, log=log, within=self.within)
        program = Program(name, process, log)
        self.programs.append(program)
        return program

    def scheduler(self, name: str = "scheduler", *, url: str = "") -> Program:
        """Start a scheduler."""
        return self.start(name, "fairlead_scheduler.main", url=url)

    def worker(self, name: str = "worker", *, concurrency: int = 8, more: str = "") -> Program:
        """Start a worker and wait until it may claim; `more` is further arguments."""
        arguments = ["--app", "tests.chaos.app:tasks", "--concurrency", str(concurrency)]
        arguments += ["--name", name, *more.split()]
        program = self.start(name, "fairlead_worker.main", *arguments)
        until(lambda: program.said("child.ready"), what=f"{name} being ready", seconds=60)
        return program

    def release(self) -> None:
        """Let handlers of the kind `held` end from now on."""
        self.history_path.with_name(self.history_path.name + app.RELEASED).touch()

    def connect(self) -> Connection[TupleRow]:
        """Open a connection for the test."""
        return psycopg.connect(self.url, autocommit=True)

    def insert(
        self,
        kind: str,
        milliseconds: int,
        count: int = 1,
        *,
        queue: str = "default",
        priorities: Sequence[int] = (0,),
    ) -> tuple[int, ...]:
        """Insert jobs of three tenants and four accounts; record and return their ids."""
        rows = self._rows(
            "INSERT INTO fairlead.jobs (kind, queue, tenant, priority, payload)"
            " SELECT %s, %s, 't' || n %% 3, (%s::int[])[1 + n / 3 %% %s],"
            " jsonb_build_object('ms', %s::int, 'account', n %% 4)"
            " FROM generate_series(1, %s) n RETURNING id",
            [kind, queue, [*priorities], len(priorities), milliseconds, count],
        )
        ids = tuple(int(row[0]) for row in rows)
        self.inserted.update(ids)
        for kinds, jobs in ((app.TRANSACTIONAL, self.booked), (app.APART, self.apart)):
            jobs.update(ids if kind in kinds else ())
        return ids

    def record(self) -> None:
        """Have the database record effects and dispatches from now on."""
        with self.connect() as connection:
            records.begin(connection)
        self.recorded = True

    def await_starts(self, jobs: Sequence[int], count: int) -> None:
        """Wait until this many of the jobs have started: an instant amid the work."""
        until(lambda: self._starts(jobs) >= count, what=f"{count} starts", seconds=30)

    def _starts(self, jobs: Sequence[int]) -> int:
        started = {each.job for each in self.events() if each.event == "started"}
        return len(started.intersection(jobs))

    def await_lead(self, leases: float = 1.0) -> None:
        """Wait until one scheduler has led for a worker's lease, so that deaths count."""
        until(lambda: self._leads(leases * LEASE_SECONDS), what="a lead", seconds=20)

    def _leads(self, seconds: float) -> bool:
        rows = self._session.read(
            "SELECT true FROM fairlead.leaders WHERE role = 'scheduler' AND epoch > 0"
            " AND taken_at < now() - make_interval(secs => %s)",
            seconds,
        )
        return bool(rows)

    def unfinished(self) -> tuple[int, ...]:
        """Return the unfinished jobs."""
        rows = self._session.read("SELECT id FROM fairlead.jobs ORDER BY id")
        return tuple(int(row[0]) for row in rows)

    def wait_until_done(self, seconds: float) -> None:
        """Wait until every job is finished."""
        until(lambda: not self.unfinished(), what="the end of every job", seconds=seconds)

    def ended(self) -> tuple[Ended, ...]:
        """Return how jobs finished, from the database."""
        rows = self._session.read("SELECT id, token, outcome FROM fairlead.job_history")
        return tuple(Ended(int(row[0]), row[1], str(row[2])) for row in rows)

    def violations(self) -> Violations:
        """Evaluate what has happened so far."""
        found = Found(
            inserted=self.inserted,
            unfinished=self.unfinished(),
            ended=self.ended(),
            booked=self.booked,
        )
        if self.recorded:
            with self.connect() as connection:
                effects, usurped = records.effects(connection), records.usurped(connection)
                strange = records.strange(connection, lease_seconds=LEASE_SECONDS)
            found = replace(found, effects=effects, usurped=usurped, strange=strange)
        return history.find_violations(self.events(), found)

    def recovery_seconds(
        self, pids: tuple[int, ...], died_at: float, *, resets: Resets = NO_RESETS
    ) -> float:
        """Return how long the jobs of these processes, not isolated ones, took to restart."""
        timed = [each for each in self.events() if each.job not in self.apart]
        return history.slowest_recovery_seconds(
            timed, pids=pids, died_at=died_at, ended=self.ended(), resets=resets
        )

    def first_start(self, jobs: Collection[int]) -> float:
        """Return when the first of these jobs started; infinity if none has."""
        starts = (
            each for each in self.events() if each.event == "started" and each.job in jobs
        )
        return min((each.at for each in starts), default=float("inf"))

    def jobs_of(self, program: Program) -> set[int]:
        """Return the jobs that have started in a worker's living processes."""
        return {each.job for each in self.started(program.process_tree())}

    def jobs_with(self, event: str, pids: tuple[int, ...]) -> set[int]:
        """Return the jobs that these processes recorded this event of."""
        return {each.job for each in self.events() if each.event == event and each.pid in pids}

    def finishers(self, jobs: Collection[int]) -> set[str]:
        """Return the names of the workers that finished these jobs."""
        rows = self._session.read(
            "SELECT w.name FROM fairlead.job_history h JOIN fairlead.worker_leases w"
            " ON w.id = h.worker WHERE h.id = ANY (%s)",
            list(jobs),
        )
        return {str(row[0]) for row in rows}

    def attempts(self, jobs: Collection[int]) -> dict[int, tuple[int, int, int]]:
        """Return the failed attempts, crashes and losses of unfinished jobs."""
        rows = self._session.read(
            "SELECT id, attempts, crashes, losses FROM fairlead.jobs WHERE id = ANY (%s)",
            list(jobs),
        )
        return {row[0]: (row[1], row[2], row[3]) for row in rows}

    def errors(self, ended_as: str) -> list[float]:
        """Return when attempts ended in a way, by this machine's clock."""
        rows = self._session.read(
            "SELECT extract(epoch FROM at)::float8 FROM fairlead.attempt_errors"
            " WHERE ended_as = %s ORDER BY at",
            ended_as,
        )
        return [float(row[0]) for row in rows]

    def leader_pid(self) -> int | None:
        """Return the process of the leader."""
        rows = self._session.read(
            "SELECT split_part(holder, ':', 2)::int FROM fairlead.leaders"
            " WHERE role = 'scheduler' AND lease_until > now()",
        )
        return int(rows[0][0]) if rows else None

    def connection_kinds(self) -> set[str]:
        """Return the names of the fleet's connections, and of its handlers' own."""
        rows = self._session.read(
            "SELECT DISTINCT application_name FROM pg_stat_activity"
            " WHERE (application_name LIKE 'fairlead %%' OR application_name = %s)"
            " AND datname = current_database()",
            app.SESSIONS,
        )
        return {str(row[0]) for row in rows}

    def terminate(self, kind: str) -> int:
        """Terminate every connection of a name; return how many there were."""
        ended = self._rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = %s AND datname = current_database()",
            [kind],
        )
        return len(ended)

    def _rows(self, query: str, values: list[object]) -> list[TupleRow]:
        with self.connect() as connection:
            return connection.execute(query.encode(), values).fetchall()

    def end(self) -> None:
        """Kill what still runs, children included, but only processes of this fleet."""
        self._session.close()
        for program in self.programs:
            if program.process.poll() is None:
                send(signal.SIGKILL, program.process_tree())
                program.process.wait()


def send(number: signal.Signals, pids: Collection[int]) -> None:
    """Signal processes, ignoring those that have ended meanwhile."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def alive(pids: Collection[int]) -> set[int]:
    """Return the processes that still live."""
    return {*pids} & {*process_table.living()}


@contextmanager
def fleet(
    url: str,
    folder: Path,
    environment: Mapping[str, str] = MappingProxyType({}),
    starts: Start = anew,
) -> Generator[Fleet]:
    """Yield a fleet without programs; at the end kill it and print the ends of its logs."""
    made = Fleet(url, folder, environment, starts=starts)
    try:
        yield made
    finally:
        made.end()
        for log in sorted(folder.glob("*.log")):
            tail = log.read_text("utf-8", errors="replace").splitlines()[-_LOG_LINES:]
            print(f"--- {log.name}", *tail, sep="\n")  # noqa: T201 - pytest shows it on failure
