"""The course of one demo: what is inserted, what is killed, and when."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from time import monotonic

import typer
from rich.console import Console

from examples.demo import edit_result, picture, report
from examples.demo.feed import Feed
from examples.demo.policy_scene import SLOTS, WORKERS_MIN, Scene
from examples.demo.screen import Show
from examples.demo.sources import Package, Sources
from examples.demo.watch import Reading, read
from fairlead.db.connect import Connection
from fairlead.db.statements import load
from fairlead_cli.dev.fleet import Fleet, Program

_SCHEDULERS = ("scheduler-a", "scheduler-b")
_URGENT = 200
_REMINDERS = 40
_STEADY_SECONDS = 4.0  # of the flood alone, before the edit
_APART_SECONDS = 3.0  # so that what is said of each in the picture can be read
_LOOK_SECONDS = 0.25
_ARRIVE_SECONDS = 16.0  # the small packages, one by one
_ARRIVE_SECONDS_MAX = 50.0  # what has not come by then is left out
_SHRINK_SECONDS_MAX = (
    45.0  # after the last job, for the workers to go; a few on an idle machine
)
_GIVE_UP_SECONDS = 180.0


class Course:
    """One run, from the first INSERT to the table.

    Args:
        own: the application's connection.
        fleet: what is started, killed and revived.
        work: the files to measure.
        chance: says which worker is killed.
        scene: the policy file and its edit.
        scale: lets the workers come to the number that was decided.
    """

    def __init__(
        self,
        own: Connection,
        fleet: Fleet,
        work: Sources,
        chance: random.Random,
        scene: Scene,
        scale: Callable[[], None],
    ) -> None:
        self._scale = scale
        self._workers_asked = WORKERS_MIN
        self._changes: list[report.Change] = []
        self._workers_most = 0
        self._workers_last = 0
        self._idle_seconds: float | None = None
        self._own = own
        self._fleet = fleet
        self._classes = work.classes
        self._feed = Feed(work)
        self._chance = chance
        self._scene = scene
        self._began = monotonic()
        self._began_at = datetime.now(UTC)
        self._events: list[tuple[float, str]] = []
        self._drawn: list[tuple[float, str]] = []
        # What is done one after the other, while a scheduler leads; an act that answers
        # False is not done yet, and comes again.
        self._acts: tuple[Callable[[Reading], bool], ...] = (
            self._edit,
            self._see_in_force,
            self._edit_back,
            self._burst,
            self._kill_worker,
            self._see_taken_back,
            self._kill_leader,
            self._unschedule,
        )
        self._first_ended_seconds: float | None = None
        self._undone_seconds: float | None = None
        self._killed = 0
        self._is_leader_killed = False
        self._acted = 0

    def begin(self) -> None:
        """Insert the flood, then start the schedulers; the workers are scaled from then on."""
        self._own.execute(load("examples.demo", "create"))
        self._insert(self._feed.flood({}, {}))
        for name in _SCHEDULERS:
            self._fleet.start(Program(name, "fairlead_scheduler.main"))
        self._began, self._began_at = monotonic(), datetime.now(UTC)
        self._scene.begin(self._began_at)

    def run(self, show: Show, stop: Event) -> bool:
        """Go on until every job has ended; answer whether that came about."""
        while not stop.wait(_LOOK_SECONDS):
            self._scale()
            self._fleet.revive()
            reading = self._look()
            show(reading)
            if self._is_over(reading):
                return True
            if reading.seconds > _GIVE_UP_SECONDS or self._fleet.given_up:
                return False
            self._insert_more(reading)
            self._act(reading)
        return False

    def finish(self, console: Console, plot: Path, *, as_json: bool) -> bool:
        """Print the tables, draw the picture, answer whether nothing was lost or doubled.

        With `as_json` one object on standard output says what the tables would.
        """
        result = report.outcome(self._own)
        waited = report.waits(self._own, self._began_at)
        found = self._scene.effect()
        workers = report.Workers(
            WORKERS_MIN, self._workers_most, self._workers_last, tuple(self._changes)
        )
        if as_json:
            said = report.as_json(result, waited, self._classes, found, workers)
            typer.echo(json.dumps(said, indent=2))
        else:
            console.print(report.counts(result, workers))
            console.print(report.scaled(workers))
            console.print(report.waiting(waited, self._classes))
            if found is not None:
                console.print(edit_result.table(found))
        picture.draw(plot, waited, self._feed.inserted, self._classes, self._drawn)
        console.print(f"the picture is in {plot}", highlight=False, soft_wrap=True)
        return result.good

    def _look(self) -> Reading:
        reading = read(
            self._own,
            seconds=monotonic() - self._began,
            coming=self._feed.coming,
            totals=self._feed.inserted,
            names={self._fleet.pid(name): name for name in self._fleet.names()},
            events=[f"{seconds:5.1f} s  {what}" for seconds, what in self._events],
            in_force=self._scene.look(),
        )
        self._watch(reading)
        self._feed.look(reading.seconds, reading.ended)
        if reading.ended and self._first_ended_seconds is None:
            self._first_ended_seconds = reading.seconds
        return reading

    @property
    def _is_done(self) -> bool:
        return self._acted == len(self._acts)

    def _watch(self, reading: Reading) -> None:
        """Note how many workers there are, and each decision that there be more or fewer."""
        self._workers_last = len(reading.workers)
        self._workers_most = max(self._workers_most, self._workers_last)
        now = reading.scaled
        if now is None or now.pods == self._workers_asked:
            return
        self._note(f"{self._workers_asked} → {now.pods} workers: {now.reason}")
        seconds, former = self._events[-1][0], self._workers_asked
        self._changes.append(report.Change(seconds, former, now.pods, now.reason, now.says))
        self._workers_asked = now.pods

    def _is_over(self, reading: Reading) -> bool:
        """Whether every job has ended and, for a while, the workers that came have gone."""
        if not self._is_done or reading.unfinished + reading.coming:
            return False
        if self._idle_seconds is None:
            self._idle_seconds = reading.seconds
        until = self._idle_seconds + _SHRINK_SECONDS_MAX
        return reading.seconds > until or len(reading.workers) <= WORKERS_MIN

    def _insert_more(self, reading: Reading) -> None:
        """Keep the flood up until the last death, and insert the next small package.

        The small ones come once the edit has been watched: what a weight is entitled to would
        change with each, and with forty of them be so little that a few jobs would hide it.
        """
        if not reading.ended or self._is_done:
            return
        if not self._is_leader_killed:
            done = {each.name: each.done for each in reading.tenants}
            self._insert(self._feed.flood(done, self._scene.weights))
        if self._undone_seconds is not None:
            since = reading.seconds - self._undone_seconds
            self._insert(self._feed.small(since / _ARRIVE_SECONDS))
        if reading.seconds > _ARRIVE_SECONDS_MAX:
            self._feed.stop()

    def _act(self, reading: Reading) -> None:
        """Do the next act while a scheduler leads."""
        if self._is_done or reading.leader not in _SCHEDULERS:
            return
        if self._acts[self._acted](reading):
            self._acted += 1

    def _insert(self, packages: Sequence[Package]) -> None:
        pairs = [(name, str(path)) for name, paths in packages for path in paths]
        self._own.execute(
            load("examples.demo", "enqueue_files"),
            {"packages": [name for name, _ in pairs], "paths": [path for _, path in pairs]},
        )

    def _edit(self, reading: Reading) -> bool:
        """Edit the file once the flood has run for a while."""
        first = self._first_ended_seconds
        if first is None or reading.seconds < first + _STEADY_SECONDS:
            return False
        self._draw(self._scene.raise_weight())
        return True

    def _see_in_force(self, _reading: Reading) -> bool:
        """Say when the leader has it in force, if it ever does."""
        edit = self._scene.edit
        if edit is not None and edit.in_force_seconds is not None:
            after = edit.in_force_seconds - edit.saved_seconds
            self._note(f"policy {edit.version} ({edit.digest}) in force after {after:.1f} s")
            return True
        return self._scene.seen()

    def _edit_back(self, reading: Reading) -> bool:
        """Undo the edit when its effect is known; then the small ones and roll-ups come."""
        if not self._scene.seen():
            return False
        self._draw(self._scene.restore_weight())
        self._undone_seconds = reading.seconds
        found = self._scene.effect()
        said = None if found is None else edit_result.line(found)
        if said is not None:
            self._note(said)
        self._own.execute(
            load("examples.demo", "schedule"), {"packages": list(self._feed.inserted)}
        )
        return True

    def _burst(self, reading: Reading) -> bool:
        if self._is_soon(reading):
            return False
        self._own.execute(
            load("examples.demo", "enqueue_urgent"),
            {"urgent": _URGENT, "reminders": _REMINDERS},
        )
        self._draw(f"{_URGENT} urgent jobs and {_REMINDERS} reminders inserted")
        return True

    def _kill_worker(self, reading: Reading) -> bool:
        """Kill one of those that hold the most jobs."""
        most = max((each.running for each in reading.workers), default=0)
        if not most or self._is_soon(reading):
            return False
        here = self._fleet.names()
        victims = [each for each in reading.workers if each.running == most]
        victims = [each for each in victims if each.name in here]
        if not victims:
            return False
        victim = self._chance.choice(victims)
        self._fleet.kill(victim.name)
        self._killed = victim.id
        held = "1 job" if most == 1 else f"{most} jobs"
        self._draw(f"{victim.name} killed with SIGKILL, holding {held}")
        return True

    def _see_taken_back(self, reading: Reading) -> bool:
        """Wait until what the dead one held is taken back; if it was nothing, kill again."""
        row = self._own.execute(load("examples.demo", "held"), {"worker": self._killed})
        held, recovered = (int(str(each)) for each in row.fetchone() or (0, 0))
        if not held and not recovered:
            self._kill_worker(reading)
        return recovered > 0

    def _kill_leader(self, reading: Reading) -> bool:
        if self._is_soon(reading):
            return False
        self._fleet.kill(reading.leader)
        self._is_leader_killed = True
        self._draw(f"{reading.leader}, the leader, killed with SIGKILL")
        return True

    def _unschedule(self, _reading: Reading) -> bool:
        """End the roll-ups, which would go on for ever, once the last small package is in."""
        if not self._feed.is_over:
            return False
        self._own.execute(load("examples.demo", "unschedule"))
        return True

    def _is_soon(self, reading: Reading) -> bool:
        """Whether the last thing that is drawn was a moment ago."""
        return reading.seconds < self._drawn[-1][0] + _APART_SECONDS

    def _note(self, what: str) -> None:
        self._events.append((monotonic() - self._began, what))

    def _draw(self, what: str) -> None:
        """Note it, and have it in the picture."""
        self._note(what)
        self._drawn.append(self._events[-1])


def worker(name: str, environment: Mapping[str, str]) -> Program:
    """Return the program of one worker."""
    flags = ("--app", "examples.demo.app:tasks", "--concurrency", str(SLOTS), "--name", name)
    return Program(name, "fairlead_worker.main", flags, environment)
