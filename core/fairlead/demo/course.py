"""The course of one demo: what is inserted, what is killed, and when."""

import json
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from time import monotonic

import typer
from rich.console import Console

from fairlead.demo import edited, picture, report
from fairlead.demo.scene import Scene
from fairlead.demo.screen import Show
from fairlead.demo.sources import Sources
from fairlead.demo.watch import Reading, read
from fairlead.dev.fleet import Fleet, Program
from fairlead.sql import load
from fairlead.store import Connection

_SCHEDULERS = ("scheduler-a", "scheduler-b")
_WORKERS = ("worker-1", "worker-2")
_SLOTS = 2
_URGENT = 200
_REMINDERS = 40
_EDIT_AT = 0.12
_BURST_AT = 0.3
_KILL_WORKER_AT = 0.45
_KILL_LEADER_AT = 0.6
_UNSCHEDULE_AT = 0.97
_APART_SECONDS = 2.5  # so that what is said of each in the picture can be read
_LOOK_SECONDS = 0.25
_GIVE_UP_SECONDS = 180.0


class Course:
    """One run, from the first INSERT to the table.

    Args:
        own: the application's connection.
        fleet: what is started, killed and revived.
        work: the files to measure.
        chance: says which worker is killed.
        scene: the policy file and its edit.
    """

    def __init__(
        self,
        own: Connection,
        fleet: Fleet,
        work: Sources,
        chance: random.Random,
        scene: Scene,
    ) -> None:
        self._own = own
        self._fleet = fleet
        self._totals = {name: len(paths) for name, paths in work.packages}
        # The large packages come first, all at once; the small ones one by one beside them.
        small = report.small_tenants(self._totals)
        self._coming = [package for package in work.packages if package[0] in small]
        self._flood = [package for package in work.packages if package[0] not in small]
        self._chance = chance
        self._scene = scene
        self._began = monotonic()
        self._began_at = datetime.now(UTC)
        self._events: list[tuple[float, str]] = []
        self._drawn: list[tuple[float, str]] = []
        # What is done when so much of the work has ended; an act that answers False is not
        # done yet, and comes again.
        self._acts: tuple[tuple[float, Callable[[Reading], bool]], ...] = (
            (_EDIT_AT, self._edit),
            (_EDIT_AT, self._see_in_force),
            (_EDIT_AT, self._edit_back),
            (_BURST_AT, self._burst),
            (_KILL_WORKER_AT, self._kill_worker),
            (_KILL_LEADER_AT, self._kill_leader),
            (_UNSCHEDULE_AT, self._unschedule),
        )
        self._acted = 0

    def begin(self) -> None:
        """Insert the flood and the nightly roll-ups, then start the fleet."""
        self._own.execute(load("fairlead.demo", "create"))
        self._insert(self._flood)
        self._own.execute(load("fairlead.demo", "schedule"), {"packages": list(self._totals)})
        for name in _SCHEDULERS:
            self._fleet.start(Program(name, "fairlead_scheduler.main"))
        flags = ("--app", "fairlead.demo.app:tasks", "--concurrency", str(_SLOTS))
        for name in _WORKERS:
            worker = Program(name, "fairlead_worker.main", (*flags, "--name", name))
            self._fleet.start(worker)
        self._began, self._began_at = monotonic(), datetime.now(UTC)
        self._scene.begin(self._began_at)

    def run(self, show: Show, stop: Event) -> bool:
        """Go on until every job has ended; answer whether that came about."""
        while not stop.wait(_LOOK_SECONDS):
            self._fleet.revive()
            reading = self._look()
            show(reading)
            if self._is_over(reading):
                return True
            if reading.seconds > _GIVE_UP_SECONDS or self._fleet.given_up:
                return False
            self._arrive(reading)
            self._act(reading)
        return False

    def finish(self, console: Console, plot: Path, *, as_json: bool) -> bool:
        """Print the tables, draw the picture, answer whether nothing was lost or doubled.

        With `as_json` one object on standard output says what the tables would.
        """
        result = report.verdict(self._own)
        waited = report.waits(self._own, self._began_at)
        found = self._scene.effect()
        if as_json:
            typer.echo(
                json.dumps(report.as_json(result, waited, self._totals, found), indent=2)
            )
        else:
            console.print(report.counts(result))
            console.print(report.waiting(waited, self._totals))
            if found is not None:
                console.print(edited.table(found))
        picture.draw(plot, waited, self._totals, self._drawn)
        console.print(f"the picture is in {plot}", highlight=False, soft_wrap=True)
        return result.good

    def _look(self) -> Reading:
        return read(
            self._own,
            seconds=monotonic() - self._began,
            coming=sum(len(paths) for _, paths in self._coming),
            totals=self._totals,
            names={self._fleet.pid(name): name for name in self._fleet.names()},
            events=[f"{seconds:5.1f} s  {what}" for seconds, what in self._events],
            ruling=self._scene.look(),
        )

    def _is_over(self, reading: Reading) -> bool:
        left = reading.unfinished + reading.coming
        return self._acted == len(self._acts) and left == 0

    def _arrive(self, reading: Reading) -> None:
        """Insert the next small package, once the edit has been watched.

        What a weight is entitled to would change with each, and with forty of them be so little
        that a few jobs would hide the effect.
        """
        if reading.ended and self._coming and self._scene.is_over:
            self._insert([self._coming.pop(0)])

    def _act(self, reading: Reading) -> None:
        """Do the next act when its share of the jobs has ended and somebody leads."""
        if self._acted == len(self._acts) or reading.leader not in _SCHEDULERS:
            return
        share, act = self._acts[self._acted]
        if reading.fraction >= share and act(reading):
            self._acted += 1

    def _insert(self, packages: Sequence[tuple[str, tuple[Path, ...]]]) -> None:
        pairs = [(name, str(path)) for name, paths in packages for path in paths]
        self._own.execute(
            load("fairlead.demo", "enqueue_files"),
            {"packages": [name for name, _ in pairs], "paths": [path for _, path in pairs]},
        )

    def _edit(self, _reading: Reading) -> bool:
        self._draw(self._scene.raise_weight(monotonic() - self._began))
        return True

    def _see_in_force(self, reading: Reading) -> bool:
        """Say when the leader has it in force, if it ever does."""
        edit = self._scene.edit
        if edit is not None and edit.in_force_seconds is not None:
            after = edit.in_force_seconds - edit.saved_seconds
            self._note(f"policy {edit.version} ({edit.digest}) in force after {after:.1f} s")
            return True
        return self._scene.seen(reading.seconds)

    def _edit_back(self, reading: Reading) -> bool:
        if not self._scene.seen(reading.seconds):
            return False
        found = self._scene.effect()
        said = None if found is None else edited.line(found)
        if said is not None:
            self._note(said)
        self._draw(self._scene.restore_weight())
        return True

    def _burst(self, reading: Reading) -> bool:
        if self._is_soon(reading):
            return False
        self._own.execute(
            load("fairlead.demo", "enqueue_urgent"),
            {"urgent": _URGENT, "reminders": _REMINDERS},
        )
        self._draw(f"{_URGENT} urgent jobs and {_REMINDERS} reminders inserted")
        return True

    def _kill_worker(self, reading: Reading) -> bool:
        if self._is_soon(reading):
            return False
        name = self._chance.choice(_WORKERS)
        self._fleet.kill(name)
        self._draw(f"{name} killed with SIGKILL")
        return True

    def _kill_leader(self, reading: Reading) -> bool:
        if self._is_soon(reading):
            return False
        self._fleet.kill(reading.leader)
        self._draw(f"{reading.leader}, the leader, killed with SIGKILL")
        return True

    def _unschedule(self, _reading: Reading) -> bool:
        """End the roll-ups, which would go on for ever."""
        self._own.execute(load("fairlead.demo", "unschedule"))
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
