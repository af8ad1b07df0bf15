"""`fairlead dev --reload`: the workers start anew when Python files are saved.

The application is watched where it is looked for: below the working folder, and below the
folders that PYTHONPATH names.
"""

import os
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import typer

from fairlead_cli.dev.fleet import Fleet, Say
from fairlead_cli.dev.programs import CONSOLE, SCHEDULER

_NAME = "reload"
_DEBOUNCE_MS = 300
"""Changes within this time are one save: an editor writes, renames and sets times."""
_STEP_MS = 50
_TIMEOUT_MS = 200
_READY_SECONDS = 15.0
_STOP_SECONDS = 2.0
_FOREIGN = frozenset({"__pycache__", "node_modules", "site-packages", "dist-packages"})
_SHOWN_MAX = 3


def refuse_without_watchfiles(reload: bool) -> bool:
    """Return what was asked; refuse before anything starts what could not be done.

    Raises:
        typer.BadParameter: nothing here can watch files.
    """
    if reload and find_spec("watchfiles") is None:
        raise typer.BadParameter("watchfiles is not installed: pip install 'fairlead[dev]'")
    return reload


def folders(working: Path) -> tuple[Path, ...]:
    """Return the folders that are watched, none of them inside another one."""
    named = [name for name in os.environ.get("PYTHONPATH", "").split(os.pathsep) if name]
    found = {(working / name).resolve() for name in (".", *named)}
    return tuple(
        each
        for each in sorted(found)
        if each.is_dir() and not any(each.is_relative_to(other) for other in found - {each})
    )


def is_watched(file: Path, within: Sequence[Path]) -> bool:
    """Tell whether a file is the application's: Python, and in no hidden or foreign folder."""
    if file.suffix != ".py":
        return False
    below = [file.relative_to(each) for each in within if file.is_relative_to(each)]
    return any(
        not any(part.startswith(".") or part in _FOREIGN for part in each.parts)
        for each in below
    )


class Reload:
    """Starts a fleet's workers anew after each save, while it is entered.

    Workers that are started inside have loaded nothing that was saved unseen: entering waits
    until the folders are watched, which takes seconds on a busy machine.

    Args:
        fleet: the workers'.
        watched: folders.
        say: where it says what was saved.
    """

    def __init__(self, fleet: Fleet, watched: Sequence[Path], say: Say) -> None:
        self._fleet = fleet
        self._watched = watched
        self._say = say
        self._stop = threading.Event()
        self._turn = threading.Lock()
        self._saved: set[Path] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watch files", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(_READY_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(_STOP_SECONDS)

    def look(self) -> None:
        """Renew the workers if something was saved since the last look."""
        with self._turn:
            saved, self._saved = sorted(self._saved), set()
        if saved:
            self._say(_NAME, f"{_names(saved)} saved: the workers start anew")
            names = self._fleet.names()
            self._fleet.renew([name for name in names if name not in (CONSOLE, SCHEDULER)])

    def _watch(self) -> None:
        from watchfiles import watch  # an extra, which few commands need

        try:
            for changes in watch(
                *self._watched,
                watch_filter=lambda _change, path: is_watched(Path(path), self._watched),
                debounce=_DEBOUNCE_MS,
                step=_STEP_MS,
                rust_timeout=_TIMEOUT_MS,
                yield_on_timeout=True,
                stop_event=self._stop,
                raise_interrupt=False,
                ignore_permission_denied=True,
            ):
                self._ready.set()
                with self._turn:
                    self._saved |= {Path(path) for _, path in changes}
        except Exception as error:  # noqa: BLE001 - the fleet goes on without it
            self._say(_NAME, f"files are watched no more: {error}")
            self._ready.set()


def _names(saved: Sequence[Path]) -> str:
    shown = ", ".join(each.name for each in saved[:_SHOWN_MAX])
    more = len(saved) - _SHOWN_MAX
    return (
        f"{shown} and {more} more were"
        if more > 0
        else f"{shown} {'were' if len(saved) > 1 else 'was'}"
    )
