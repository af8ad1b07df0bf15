"""A network of its own for some programs, whose wire to this machine may be cut in silence.

It needs Linux, root and the program `ip`. Packets that are sent to an address of hardware that
nobody has are refused by no one, as behind a broken switch, and each direction has its own. A
wire may lose a share of them instead, by the program `iptables`, or be narrow, by `tc`: then
they queue up in front of it, come late, and are lost where too many do. A kernel need not have
the part that delays each packet by itself, so nothing here does.
"""

import os
import shutil
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count

_PROGRAM = shutil.which("ip")
_FILTER, _QUEUE = shutil.which("iptables"), shutil.which("tc")
_NOBODY = "02:00:00:00:00:01"
_numbers = count(1)


@cache
def lacking() -> str | None:
    """Return what is missing for such a network, or None."""
    if _PROGRAM is None or os.geteuid() != 0:
        return "needs Linux, root and the program ip (Debian: iproute2)"
    try:
        with networked():
            return None
    except subprocess.CalledProcessError as error:
        return f"needs a network of its own: {error.stderr.decode().strip()}"


@cache
def lacking_for_worse() -> str | None:
    """Return what is missing for a wire that loses packets or is narrow, or None."""
    if (why := lacking()) is not None or _FILTER is None or _QUEUE is None:
        return why or "needs the programs iptables and tc"
    try:
        with networked() as network:
            network.lose(0.5)
            network.narrow()
            network.mend()
    except subprocess.CalledProcessError as error:
        return (
            f"needs a kernel that can lose and queue packets: {error.stderr.decode().strip()}"
        )
    return None


@dataclass(frozen=True, slots=True)
class Network:
    """A network with one wire; see `networked`."""

    name: str
    here: str
    """This machine's address on the wire,"""
    there: str
    """and that of the programs in the network."""

    @property
    def within(self) -> tuple[str, ...]:
        """Starts a program there."""
        return ("ip", "netns", "exec", self.name)

    def cut(self, *, to_here: bool = True, to_there: bool = True) -> None:
        """Have what is sent from now on get lost, in one direction or in both."""
        if to_here:
            _ip("-n", self.name, "neigh", "replace", *self._lost(self.here, "there"))
        if to_there:
            _ip("neigh", "replace", *self._lost(self.there, "here"))

    def lose(self, share: float) -> None:
        """Have this share of what is sent from now on get lost, either way."""
        for command, rule in self._rules():
            chance = ("-m", "statistic", "--mode", "random", "--probability", f"{share:.3f}")
            _run(*command, "-I", *rule, *chance, "-m", "comment", "--comment", self.name)

    def narrow(self, *, kbit: int = 256, late_ms: int = 400) -> None:
        """Have no more than so much through from now on, either way, and late by so much."""
        for command in self._queues():
            amount = ("rate", f"{kbit}kbit", "burst", "4kb", "latency", f"{late_ms}ms")
            _run(*command, "replace", *self._end(command), "root", "tbf", *amount)

    def mend(self) -> None:
        """Have it arrive again, all of it and at once."""
        for command, _ in self._rules() if _FILTER is not None else ():
            said = _run(*command, "-S", "INPUT").splitlines()
            for line in [each.split() for each in said if f" {self.name} " in f"{each} "]:
                _run(*command, "-D", *line[1:])
        for command in self._queues() if _QUEUE is not None else ():
            if " tbf " in _run(*command, "show", *self._end(command)):
                _run(*command, "del", *self._end(command), "root")
        _ip("-n", self.name, "neigh", "flush", "dev", f"{self.name}there", "nud", "permanent")
        _ip("neigh", "flush", "dev", f"{self.name}here", "nud", "permanent")

    def _rules(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Yield the command for rules, and the beginning of one, at either end."""
        filtering = ("iptables", "-w")
        yield filtering, ("INPUT", "-i", f"{self.name}here", "-j", "DROP")
        yield (*self.within, *filtering), ("INPUT", "-i", f"{self.name}there", "-j", "DROP")

    def _queues(self) -> Iterator[tuple[str, ...]]:
        """Yield the command for queues at either end."""
        yield ("tc", "qdisc")
        yield (*self.within, "tc", "qdisc")

    def _end(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return the device that a command is about."""
        return ("dev", f"{self.name}{'here' if command[0] == 'tc' else 'there'}")

    def _lost(self, address: str, end: str) -> tuple[str, ...]:
        device = f"{self.name}{end}"
        return (address, "lladdr", _NOBODY, "dev", device, "nud", "permanent")


@contextmanager
def networked() -> Generator[Network]:
    """Yield a network, and remove it at the end; its programs have ended by then."""
    number = (os.getpid() * 4 + next(_numbers)) % 2**14
    high, low = divmod(number * 4, 256)
    wire = f"10.231.{high}"
    made = Network(f"chaos{number}", f"{wire}.{low + 1}", f"{wire}.{low + 2}")
    _ip("netns", "add", made.name)
    here, there = f"{made.name}here", f"{made.name}there"
    try:
        _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", made.name)
        _ip("address", "add", f"{made.here}/30", "dev", here)
        _ip("link", "set", here, "up")
        _ip("-n", made.name, "address", "add", f"{made.there}/30", "dev", there)
        _ip("-n", made.name, "link", "set", there, "up")
        _ip("-n", made.name, "link", "set", "lo", "up")
        yield made
        made.mend()
    finally:
        _ip("netns", "delete", made.name)


def _ip(*arguments: str) -> None:
    assert _PROGRAM is not None
    _run(_PROGRAM, *arguments)


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True).stdout.decode()
