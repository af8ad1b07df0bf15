"""Children of a worker and services, forked from a process that has loaded their code once.

Each is a process of its own, and does what `python -m fairlead_worker.child.child_main` does
after its imports. Those are most of what a process costs, and many tests start one. The
worker's own template gives its children no environment and no standard error of their own.

The process that forks has one thread and no connection. The interpreter's variables, such as
PYTHONHASHSEED, the niceness and the limits of resources are that one's, and what is registered
with `atexit`, which Fairlead does not use, is not called.
"""

import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import reduction
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Protocol

from fairlead_worker import config, settings
from fairlead_worker.child import child_main

_WORKER = "fairlead_worker.main"
PROGRAMS = ("fairlead_scheduler.main", _WORKER)
"""The services that are loaded here, by the names of their modules."""
_LOADED_BY_THEM = ("fairlead_scheduler.program", "fairlead_worker.parent.supervisor")
for _each in (*PROGRAMS, *_LOADED_BY_THEM):
    importlib.import_module(_each)

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload([__name__])


class _Passed(Protocol):
    def detach(self) -> int: ...


class _Inherited:
    """A descriptor, which is another number in the process that gets it."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Callable[[_Passed], int], tuple[_Passed]]:
        return _detached, (reduction.DupFd(self._number),)


def _detached(passed: _Passed) -> int:
    return passed.detach()


def fork(
    arguments: Sequence[str],
    descriptors: Sequence[int],
    *,
    stderr: int,
    env: Mapping[str, str],
) -> ForkServerProcess:
    """Fork a child that leads a process group; it ends with this process.

    Args:
        arguments: its command line, in which `{0}` is the number that the first of the
            descriptors has in it, and so on.
        descriptors: what it inherits.
        stderr: the descriptor that becomes its standard error.
        env: all of its environment.
    """
    given = [_Inherited(each) for each in (stderr, *descriptors)]
    forked = _FORKING.Process(
        target=_be_child, args=([*arguments], {**env}, *given), daemon=True
    )
    forked.start()
    return forked


def fork_program(
    module: str, arguments: Sequence[str], output: int, *, env: Mapping[str, str]
) -> ForkServerProcess:
    """Fork a program that leads a session; it ends with this process.

    Args:
        module: whose `main` it is; one of `PROGRAMS`, or it is loaded after the fork.
        arguments: its command line.
        output: the descriptor that becomes its standard output and its standard error.
        env: all of its environment.
    """
    given = (module, [*arguments], {**env}, str(Path.cwd()), _Inherited(output))
    forked = _FORKING.Process(target=_be_program, args=given, daemon=True)
    forked.start()
    return forked


def _be_child(
    arguments: list[str], env: dict[str, str], stderr: int, *descriptors: int
) -> None:
    """Run a child of a worker in this process, and end it."""
    os.setpgid(0, 0)
    os.dup2(stderr, sys.stderr.fileno())
    os.close(stderr)
    _take(env)
    sys.exit(child_main.main([each.format(*descriptors) for each in arguments]))


def _be_program(
    module: str, arguments: list[str], env: dict[str, str], folder: str, output: int
) -> None:
    """Run a program in this process, and end it."""
    os.setsid()
    os.chdir(folder)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    for each in (1, 2):
        os.dup2(output, each)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # what the processes before it have open
    _take(env)
    sys.path.insert(0, folder)  # as `python -m` does
    program = importlib.import_module(module)
    sys.argv = [str(program.__file__), *arguments]
    if module == _WORKER:
        program.__dict__["SettingsProcess"] = _ForkedSettings
    sys.exit(program.main())


def _take(env: dict[str, str]) -> None:
    """Have this environment, and find modules where it says."""
    os.environ.clear()
    os.environ.update(env)
    folders = env.get("PYTHONPATH", "").split(os.pathsep)
    sys.path += [each for each in folders if each not in sys.path]


class _ForkedSettings(config.SettingsProcess):
    """The process that reads a worker's settings, forked as well.

    Args:
        arguments: the command line without the program's name.
    """

    def __init__(self, arguments: tuple[str, ...]) -> None:
        self._pipe, theirs = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.close(self._pipe)
            os._exit(_code_of_settings(theirs, arguments))
        os.close(theirs)

    def config(self) -> config.WorkerConfig:
        """Wait for the values."""
        with os.fdopen(self._pipe, "rb") as pipe:
            line = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        if code != 0 or not line:
            raise config.SettingsRefused(code)
        return config.from_line(line)


def _code_of_settings(descriptor: int, arguments: tuple[str, ...]) -> int:
    """Do what the process does, and return its exit code."""
    try:
        return settings.main([str(descriptor), *arguments])
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
