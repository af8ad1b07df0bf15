"""Start, watch and stop the processes of one measurement, each by its own id.

Everything a benchmark starts is a child of the harness in a process group of its own, with
its output in a file. CPU time and memory come from /proc, so that nothing is injected into
what is measured.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36


class BrokenRunError(Exception):
    """The run itself failed: a process died, or nothing happened before the deadline."""


@dataclass(frozen=True, slots=True)
class Child:
    """A process that the harness has started; `log` holds what it printed."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self.process.pid

    def check(self) -> None:
        """Raise BrokenRunError with the end of its log if the process has ended."""
        if self.process.poll() is not None:
            raise BrokenRunError(
                f"{self.name} ended with code {self.process.returncode}: {log_end(self.log)}"
            )

    def stop(self, grace_seconds: float = 20.0) -> None:
        """Ask the process to end with SIGTERM; after the grace, kill its group."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(grace_seconds)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """Kill the process and all below it at once; a repeat does nothing."""
        kill((self,))


def kill(children: Sequence[Child]) -> None:
    """Kill processes and all below them at once, and reap what becomes ours of it."""
    below = [pid for child in children for pid in descendants(child.pid)[1:]]
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    for child in children:
        child.process.wait(10)
    for pid in below:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for pid in below:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


@contextlib.contextmanager
def adopting_orphans() -> Generator[None]:
    """Become the parent of processes whose own is killed, so that their CPU time is counted.

    Without it a killed worker's child is init's, and what it has used seems to be that of
    other programs.
    """
    _set_subreaper(1)
    try:
        yield
    finally:
        _set_subreaper(0)


def _set_subreaper(value: int) -> None:
    failed = ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0)
    assert not failed, os.strerror(ctypes.get_errno())


def log_end(log: Path, characters: int = 1500) -> str:
    """Return the last part of a log, for an error message."""
    return log.read_text(errors="replace")[-characters:] if log.exists() else "(no log)"


def start(
    name: str,
    argv: Sequence[str],
    *,
    log: Path,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Child:
    """Start `argv` in a process group of its own with its output appended to `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            cwd=folder,
            start_new_session=True,
        )
    return Child(name, process, log)


def run(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout_seconds: float = 600.0,
) -> str:
    """Run `argv` to its end and return what it printed; BrokenRunError if it failed."""
    done = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
        cwd=folder,
        timeout=timeout_seconds,
        check=False,
    )
    if done.returncode:
        raise BrokenRunError(
            f"{' '.join(argv[:4])} ended with code {done.returncode}: "
            f"{(done.stdout + done.stderr)[-1500:]}"
        )
    return done.stdout


def wait_until(
    what: str,
    condition: Callable[[], bool],
    *,
    watching: Sequence[Child] = (),
    timeout_seconds: float = 120.0,
    pause_seconds: float = 0.005,
) -> None:
    """Poll `condition` until it holds; BrokenRunError after the timeout or a child's death."""
    deadline = time.monotonic() + timeout_seconds
    checked = 0.0
    while not condition():
        now = time.monotonic()
        if now > checked + 0.2:
            checked = now
            for child in watching:
                child.check()
        if now > deadline:
            ends = "; ".join(f"{child.name}: {log_end(child.log, 600)}" for child in watching)
            raise BrokenRunError(f"{what}: not within {timeout_seconds:.0f} s ({ends})")
        time.sleep(pause_seconds)


def descendants(pid: int) -> tuple[int, ...]:
    """Return `pid` and every process below it that lives now."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
    return tuple(found)


def tree_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process, its live descendants and those it has reaped.

    The ticks are added up, not the seconds: a sum of fractions of a second comes out smaller
    by a rounding when a process's ticks move to the process that reaps it.
    """
    ticks = sum(_cpu_ticks(each) for each in descendants(pid))
    return ticks / _TICKS_PER_SECOND


def _cpu_ticks(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    fields = stat.rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15])


def system_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds that the kernel worked for one living process, in ticks."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[12]) / _TICKS_PER_SECOND


def task_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of a process's live threads, to the nanosecond.

    /proc/<pid>/stat counts in ticks of 10 ms, too coarse for a fleet at rest.
    """
    total_ns = 0
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            total_ns += int((task / "schedstat").read_text().split()[0])
    return total_ns / 1e9


def machine_cpu_seconds() -> float:
    """Return the CPU seconds that all programs have used, time stolen from us included."""
    user, nice, system, _idle, _waiting, *rest = Path("/proc/stat").read_text().split()[1:9]
    ticks = sum(int(part) for part in (user, nice, system, *rest))
    return ticks / _TICKS_PER_SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Resident and proportional memory of one process, in MiB."""

    rss_mib: float
    pss_mib: float


def memory(pid: int) -> Memory:
    """Read the memory of a process; PSS shares pages fairly among those who map them."""
    fields: dict[str, float] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value, *_ = line.split()
        fields[name.rstrip(":")] = float(value) / 1024
    return Memory(rss_mib=fields["Rss"], pss_mib=fields["Pss"])
