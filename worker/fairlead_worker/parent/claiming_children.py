"""The children that claim: keep up their number, and give up when none can start."""

from dataclasses import dataclass
from time import monotonic

from fairlead.runtime import log
from fairlead_worker.config import WorkerConfig
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.child_args import LIFESPAN_FAILED
from fairlead_worker.ipc.interruptions import Died
from fairlead_worker.ipc.source import Source
from fairlead_worker.parent.blocking_kinds import BlockingKinds
from fairlead_worker.parent.child_handle import ChildHandle
from fairlead_worker.parent.child_template import ChildTemplate
from fairlead_worker.parent.spare_child import SpareChild
from fairlead_worker.parent.worker_store import Kinds

DEATHS_AT_START_MAX = 5
_REST_SECONDS_FIRST, _REST_SECONDS_MAX = 0.1, 5.0
LIFESPAN_REST_SECONDS_MAX = 30.0
_EARLY_ENDS_SECONDS = 2 * LIFESPAN_REST_SECONDS_MAX
"""Within it two lifespans that ended early ended for the same reason: so long is the longest
rest, and that again for the life between two of them."""
_CANNOT_LOAD = 2


def rest_seconds(deaths_at_start: int, at_most: float = _REST_SECONDS_MAX) -> float:
    """Return how long to wait before the next child starts: 0 after a death at work."""
    if deaths_at_start == 0:
        return 0.0
    return min(_REST_SECONDS_FIRST * 2.0 ** min(deaths_at_start - 1, 30), at_most)


@dataclass(frozen=True, slots=True)
class CannotStartChildren:
    """No child can be started; the sentence says why, or the child has printed it already."""

    exit_code: int
    sentence: str | None


class ClaimingChildren:
    """The claiming children of one registration at a time.

    Args:
        config: the worker's settings.
        template: starts them.
    """

    def __init__(self, config: WorkerConfig, template: ChildTemplate) -> None:
        self._config, self._template = config, template
        self._deaths_at_start = 0
        self._early_ends, self._ended_early_at = 0, 0.0
        self._start_at = 0.0
        self._log = log.get("worker.claiming_children")
        self.children: tuple[ChildHandle, ...] = ()
        self._spare = SpareChild()
        self.served = False
        """Whether one has claimed, and they have not been cut off from the database since."""
        self.jobs_done = False
        """Whether as many jobs as `jobs` allows were claimed, and have ended or were lost."""
        self._pauses = 0
        self._quarantined = messages.QuarantineSources(())
        self._blocking = BlockingKinds()
        self._isolated = messages.IsolateKinds(())
        self._bound = messages.BoundClaims(None)
        self.evictable: frozenset[str] = frozenset()
        """The kinds that may be asked to make room, by the last child that was ready."""
        self.kinds = Kinds({})
        """What the handlers say of their kinds, by the last child that was ready."""

    @property
    def spares(self) -> tuple[ChildHandle, ...]:
        """The child that is kept for the next death, if there is one."""
        return () if self._spare.child is None else (self._spare.child,)

    def fill(self, now: float) -> None:
        """Fill the places of missing children, from the spare first, and keep a spare.

        None is started while the last ones died too quickly, or while the template loads.
        """
        self._template.advance(now)
        while len(self.children) < self._config.processes:
            child = self._spare.take() or self._start(now)
            if child is None:
                return
            self.children = (*self.children, child)
        self._spare.end_if_unneeded(now)
        # Not beside one that loads the application, for which slots are missing.
        if self._spare.is_missing(now) and all(child.ready for child in self.children):
            self._spare.child = self._start(now, spare=True)

    def _start(self, now: float, *, spare: bool = False) -> ChildHandle | None:
        if now < self._start_at or self._template.is_loading:
            return None
        try:
            child = ChildHandle(self._config, self._template.start_child)
        except OSError as error:
            self._log.error("child.not_started", reason=str(error))
            self._start_at = now + _REST_SECONDS_MAX
            return None
        self._log.info("child.started", pid=child.pid, **({"spare": True} if spare else {}))
        return child

    def ready(self, child: ChildHandle, message: messages.Ready) -> None:
        """Note that a child could work."""
        child.ready = True
        self.evictable = frozenset(message.evictable)
        self.kinds = Kinds(
            dict(zip(message.kinds, message.max_attempts, strict=True)),
            frozenset(message.at_most_once),
            dict(zip(message.limited, message.limits, strict=True)),
        )
        self._deaths_at_start = 0
        if self._quarantined.sources:
            child.send(self._quarantined)
        if self._isolated.kinds:
            child.send(self._isolated)
        if self._bound.bound is not None:
            child.send(self._bound)
        self._log.debug("child.loaded", pid=child.pid, kinds=list(message.kinds))

    def quarantine(self, sources: frozenset[Source]) -> None:
        """Have children send the jobs of these sources to quarantine. A repeat does nothing."""
        message = messages.QuarantineSources(tuple(sorted(sources)))
        if message != self._quarantined:
            self._quarantined = message
            self._send_to_ready(message)

    def isolate(self, kind: str, now: float) -> None:
        """Have this kind's coroutines run in processes of their own for a while.

        Of all children: a handler that blocks the event loop does so on every one. Nothing
        happens while it is isolated.
        """
        if not self._config.isolate_blocking_kinds:
            return
        seconds = self._blocking.reported(kind, now)
        if seconds is not None:
            reason = "it keeps the event loop"
            self._log.error("kind.isolated", kind=kind, for_seconds=seconds, reason=reason)
            self.send_isolated(now)

    def send_isolated(self, now: float) -> None:
        """Tell the children which kinds are isolated. A repeat does nothing."""
        message = messages.IsolateKinds(self._blocking.isolated(now))
        if message != self._isolated:
            self._isolated = message
            self._send_to_ready(message)

    def bound_claims(self, bound: int | None) -> None:
        """Have children hold at most so many unstarted attempts. A repeat does nothing."""
        message = messages.BoundClaims(bound)
        if message != self._bound:
            self._bound = message
            if bound is None:
                self._log.info("claims.unbounded")
            else:
                self._log.warning("claims.bounded", bound=bound)
            self._send_to_ready(message)

    def _send_to_ready(self, message: messages.ToChild) -> None:
        """Send a message to those that read; the others get it when they are ready."""
        for child in (*self.children, *self.spares):
            if child.ready:
                child.send(message)

    def start_claiming(self, worker_id: int) -> None:
        """Let the children that are ready claim, under this id. A repeat does nothing."""
        for child in self.children:
            if child.ready and not child.claiming:
                child.claiming = self.served = True
                child.pause_number = None
                child.send(messages.StartClaiming(worker_id))
                self._log.info("child.ready", pid=child.pid, worker=worker_id)

    def pause(self) -> None:
        """Stop the children that claim, until `start_claiming`. A repeat does nothing."""
        for child in self.children:
            if child.claiming:
                self._pauses += 1
                child.claiming, child.pause_number = False, self._pauses
                child.send(messages.PauseClaiming(self._pauses))

    def paused(self, child: ChildHandle, message: messages.ClaimingPaused) -> None:
        """Note that a child holds nothing, unless it may claim again by now."""
        if child.pause_number == message.number:
            child.pause_number = None

    @property
    def is_paused(self) -> bool:
        """Whether no child claims or holds anything."""
        return not any(
            child.claiming or child.pause_number is not None for child in self.children
        )

    @property
    def slots(self) -> int:
        """How many jobs the children that are ready run at a time."""
        return self._config.concurrency * sum(child.ready for child in self.children)

    @property
    def slotless(self) -> int:
        """How many attempts they hold that have no slot."""
        return sum(child.slotless for child in self.children)

    def give_up(self, child: ChildHandle) -> bool:
        """Replace a child that lives on, at the next `fill`; False: it is not one of these."""
        if child not in self.children:
            return False
        self.children = tuple(each for each in self.children if each is not child)
        return True

    def remove(self, child: ChildHandle, exit_code: int) -> CannotStartChildren | None:
        """Note a death; return why no child can ever start, if that is so."""
        if child in self.spares:
            self._spare.remove()
            return None
        self.children = tuple(each for each in self.children if each is not child)
        if self._config.jobs is not None and child.may_hold:
            self.jobs_done = True  # another child would claim as many again
        cut_off = isinstance(child.cause, Died)
        if cut_off:  # until another one claims
            self.served = any(each.claiming for each in self.children)
        if child.ready and exit_code == LIFESPAN_FAILED:
            self._lifespan_ended_early(monotonic())
        elif child.ready and child.cause is None:
            self._spare.died_at_work(exit_code, monotonic())
        if child.ready or (child.cause is not None and not cut_off):
            return None
        self._deaths_at_start += 1
        if exit_code == LIFESPAN_FAILED:
            self._rest_of_lifespans(self._deaths_at_start)
            return None
        if exit_code == _CANNOT_LOAD:
            return CannotStartChildren(_CANNOT_LOAD, None)
        if self._deaths_at_start >= DEATHS_AT_START_MAX:
            return CannotStartChildren(
                1,
                f"{self._config.app}: {self._deaths_at_start} processes in a row died before "
                f"they were ready, the last with code {exit_code}; its own message is above",
            )
        self._start_at = monotonic() + rest_seconds(self._deaths_at_start)
        return None

    def _lifespan_ended_early(self, now: float) -> None:
        """Have another child take its place, ever more rarely while they end soon."""
        if now - self._ended_early_at > _EARLY_ENDS_SECONDS:
            self._early_ends = 0
        self._early_ends, self._ended_early_at = self._early_ends + 1, now
        self._rest_of_lifespans(self._early_ends)

    def _rest_of_lifespans(self, failures: int) -> None:
        """Have another child try again in a while: what the lifespan needs may be down."""
        self.served = any(each.claiming for each in self.children)
        rest = rest_seconds(failures, LIFESPAN_REST_SECONDS_MAX)
        self._start_at = monotonic() + rest
        self._log.warning("lifespan.again", in_seconds=round(rest, 1))

    @property
    def is_idle(self) -> bool:
        """Whether all children have started and have nothing to do."""
        complete = len(self.children) == self._config.processes
        return complete and all(child.idle for child in self.children)
