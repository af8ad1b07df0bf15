"""What can go wrong between a client and an API server, one at a time and as often as asked."""

from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Literal

from tests.support.kubernetes.rights import Right

WatchEventType = Literal["answer", "lost", "hang", "trickle", "cut", "strange"]


@dataclass(slots=True, kw_only=True)
class Fault:
    """What is done to requests that need a right.

    `answer`: refused with `code`. `lost`: carried out, and its answer never sent. `hang`: never
    carried out nor answered. `trickle`: answered a byte at a time. `cut`: the connection is
    closed in the middle of the answer. `strange`: answered as by something else.
    """

    kind: WatchEventType
    verb: str = ""
    """Empty: any."""
    resource: str = ""
    code: int = 500
    retry_after: str = ""
    times: int = 1

    def meets(self, right: Right) -> bool:
        """Return whether it is meant."""
        return self.verb in {"", right.verb} and self.resource in {"", right.resource}


@dataclass(slots=True)
class Faults:
    """The faults that wait for a request; the first that is meant is taken."""

    waiting: list[Fault] = field(default_factory=list[Fault])
    lock: Lock = field(default_factory=Lock)
    over: Event = field(default_factory=Event)
    """Set when the server stops: requests that hang end."""

    def add(self, fault: Fault) -> None:
        """Let it happen to the next requests that it means."""
        with self.lock:
            self.waiting.append(fault)

    def take(self, right: Right) -> Fault | None:
        """Return what happens to a request; None: nothing."""
        with self.lock:
            for each in self.waiting:
                if each.meets(right):
                    each.times -= 1
                    if each.times <= 0:
                        self.waiting.remove(each)
                    return each
        return None
