"""The orphan-claim check: find what a dead child had claimed and not started.

The attempt table lists what had started; the rest is in the database only. A claim may have
been under way when its child died, and so may be one of a living child. So the parent asks the
database for the time first, then every living child for the tokens that it holds between two of
its claims. What was claimed before that time and is held by no child was the dead child's. A
claim whose child had died may still commit a little later, so the check is repeated.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from fairlead_worker.db.session import Session
from fairlead_worker.ipc import messages
from fairlead_worker.parent import worker_store
from fairlead_worker.parent.child_handle import ChildHandle
from fairlead_worker.parent.lease_thread import LeaseThread, Reply

_CHECK_AFTER_SECONDS = (0.0, 1.0, 6.0)
_ANSWER_SECONDS = 10.0


class OrphanClaims:
    """Runs one check at a time; several are planned after each death.

    Args:
        lease: runs the database calls.
        children: returns the claiming children that may hold something now.
        concluded: gets the time until which claims count, and all tokens that are held.
    """

    def __init__(
        self,
        lease: LeaseThread,
        children: Callable[[], tuple[ChildHandle, ...]],
        concluded: Callable[[datetime, frozenset[int]], None],
    ) -> None:
        self._lease = lease
        self._children = children
        self._concluded = concluded
        self._checks: list[float] = []
        self._number = 0
        self._under_way_until: float | None = None
        self._claimed_until: datetime | None = None
        self._unanswered: set[ChildHandle] = set()
        self._held: set[int] = set()

    def plan(self, now: float) -> None:
        """Plan the checks that follow a death."""
        self._checks = sorted({*self._checks, *(now + after for after in _CHECK_AFTER_SECONDS)})

    def cancel(self) -> None:
        """Drop all planned checks and the current one: the rows are no longer ours."""
        self._checks.clear()
        self._clear()

    def advance(self, now: float) -> None:
        """Begin a check that is due; abandon one that was not answered, and plan another."""
        if self._under_way_until is not None and now >= self._under_way_until:
            self._clear()
            self._checks.append(now + _CHECK_AFTER_SECONDS[-1])
        if self._under_way_until is None and self._checks and self._checks[0] <= now:
            self._checks = [at for at in self._checks if at > now]
            self._number += 1
            self._under_way_until = now + _ANSWER_SECONDS
            self._lease.submit(partial(self._read_time, self._number))

    def answered(self, message: messages.HeldTokens, child: ChildHandle) -> None:
        """Take one child's answer."""
        if message.number == self._number and child in self._unanswered:
            self._held.update(message.tokens)
            self._unanswered.discard(child)
            self._conclude()

    def died(self, child: ChildHandle) -> None:
        """Stop waiting for a dead child; its own death has checks planned."""
        if child in self._unanswered:
            self._unanswered.discard(child)
            self._conclude()

    def _read_time(self, number: int, session: Session) -> Reply:
        return partial(self._request_tokens, number, worker_store.database_time(session))

    def _request_tokens(self, number: int, claimed_until: datetime) -> None:
        """Ask the children for their tokens, now that the database has sent its time."""
        if number != self._number or self._under_way_until is None:
            return
        self._claimed_until = claimed_until
        self._unanswered = set(self._children())
        for child in self._unanswered:
            child.send(messages.HeldTokensRequest(number))
        self._conclude()

    def _conclude(self) -> None:
        claimed_until = self._claimed_until
        if claimed_until is not None and not self._unanswered:
            held = frozenset(self._held)
            self._clear()
            self._concluded(claimed_until, held)

    def _clear(self) -> None:
        self._under_way_until = self._claimed_until = None
        self._unanswered.clear()
        self._held.clear()
