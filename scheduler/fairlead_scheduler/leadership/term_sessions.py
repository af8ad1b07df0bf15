"""All sessions of a leader: opened before it may take over, kept until its term is over.

A standby that opened them at its take-over would get none where connections are used up: those
of the dead leader go to whoever asks first. A scheduler that cannot have all of them holds
none, and does not try to take over: those that it got are free for others.
"""

from contextlib import ExitStack, closing
from typing import NamedTuple

from fairlead.db.connect import Connection, Unreachable
from fairlead_scheduler.leadership.sessions import (
    connect_counter,
    connect_leader,
    connect_loop,
    connect_reader,
    connect_retention,
)
from fairlead_scheduler.settings import SchedulerSettings

_OPENERS = {
    "lead": connect_leader,
    "loop": connect_loop,
    "scans": connect_reader,
    "sweeps": connect_leader,
    "cron": connect_leader,
    "retention": connect_retention,
    "backlog": connect_counter,
}
"""What opens the session of each name."""


class TermSessions(NamedTuple):
    """The sessions of one scheduler."""

    lead: Connection
    """Of the lease alone."""
    loop: Connection
    scans: Connection
    """Of long reads."""
    sweeps: Connection
    """Of sweeps and of the watch of the policy."""
    cron: Connection
    retention: Connection
    """Of retention and of the shadow policy."""
    backlog: Connection
    """Of counts of lanes and of the demand of pools."""

    def close(self) -> None:
        """Close all of them; a repeat changes nothing."""
        for session in self:
            session.close()


def open_sessions(settings: SchedulerSettings) -> TermSessions:
    """Open all sessions, or none.

    Raises:
        Unreachable: one could not be opened, and those before it are closed again.
    """
    opened: dict[str, Connection] = {}
    with ExitStack() as leaving:
        for name, connect in _OPENERS.items():
            try:
                session = connect(settings, name=name)
            except Unreachable as error:
                if not opened:
                    raise
                raise Unreachable(
                    f"{error}; a scheduler holds {len(_OPENERS)} connections or none, and "
                    f"there were {len(opened)}"
                ) from None
            opened[name] = leaving.enter_context(closing(session))
        leaving.pop_all()
    return TermSessions(**opened)
