"""The leader's loop: observe, learn, plan, dispatch, request sweeps, report, rest.

Polling is the truth; a notification, or a background thread's wakeup, only shortens a rest.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from math import inf
from queue import SimpleQueue
from time import monotonic, thread_time

from psycopg import errors

from fairlead.db.error_text import one_line
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead_scheduler.capacity.tick import tick_share
from fairlead_scheduler.explain.answer import as_json
from fairlead_scheduler.leadership.election import LeaderLease
from fairlead_scheduler.loop.demand_step import DemandStep
from fairlead_scheduler.loop.eviction_step import EvictionStep
from fairlead_scheduler.loop.pacing import EndingPacing, IdlePacing
from fairlead_scheduler.loop.report_step import ReportStep
from fairlead_scheduler.loop.requests import Requests, take_all
from fairlead_scheduler.loop.state import LeaderState
from fairlead_scheduler.loop.store import LoopStore
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.ordering.levels.order_tags import TAG_MAX
from fairlead_scheduler.ordering.plan import Plan
from fairlead_scheduler.rows import Audited, Event, PolicyChanged, TickView
from fairlead_scheduler.rules.circuit_breaker import DisabledRule
from fairlead_scheduler.rules.evaluator import EvaluationClocks, RuleEvaluator
from fairlead_scheduler.settings import SchedulerSettings

_log = log.get("scheduler")
_REFUSED = (errors.UniqueViolation, errors.DeadlockDetected, errors.QueryCanceled)
"""Errors that fail one dispatch and leave the session usable: its jobs are planned again."""
_REASONS = frozenset(("", "inserted", "policy", "question"))
"""The payloads that ask for more than the next tick."""
_OF_WORKERS = frozenset(("", "policy"))
"""Those after which the workers are read anew."""
_WORKERS_SECONDS = 1.0
_WORKERS_SECONDS_LOWEST = 0.1
_WORKERS_SECONDS_IDLE = 5.0
"""With nothing in flight only registrations matter, and these notify."""
_WAKE_ALL_SECONDS = 0.1
_WAKE_ALL_SECONDS_MAX = 2.0
_RECALL_SECONDS = 0.5
_BLOCKED_SECONDS = 1.0
_IDLE_SECONDS = 2.0
_NAMED_MAX = 10
"""How many jobs a line of the log names."""
_FULL_READ_SECONDS = 1.0
"""How often an idle leader reads everything; in between it only checks for new jobs."""
_SLOW_READ_SECONDS = 0.05
"""A read of new jobs that takes longer may walk over rows that nobody sees yet."""
_QUESTIONS_SECONDS = 1.0
_QUESTIONS_SECONDS_IDLE = 3.0
_ENDING_SHARE = 0.02
"""How late an ending may be seen, in mean run times, while a limit blocks a lane."""
_SET_BACK_US = 1_000_000
"""The database's clock was set back if it is so far behind the last tick. Then whatever is due
at an instant is due too late: probes, sweeps and windows of rates, most of them read anew."""
_AUDIT_DUTY = 0.05
_AUDIT_SECONDS_MAX = 120.0
"""An audit that has not answered for so long has failed and is requested again."""


class Loop:
    """One leader's loop; `step` is one tick."""

    def __init__(
        self,
        store: LoopStore,
        lease: LeaderLease,
        settings: SchedulerSettings,
        *,
        state: LeaderState,
        requests: Requests,
        events: SimpleQueue[Event],
        metrics: Metrics,
    ) -> None:
        self._store = store
        self._lease = lease
        self._settings = settings
        self._state = state
        self._requests = requests
        self._events = events
        self._metrics = metrics
        self._rule_evaluator = RuleEvaluator(
            metrics.policy.rules, self._rule_disabled, EvaluationClocks(monotonic, thread_time)
        )
        self._idle_pacing, self._ending_pacing = IdlePacing(), EndingPacing()
        self._now_us = 0
        self._crowded_throttle, self._full_throttle = LogThrottle(), LogThrottle()
        self._bands: dict[str, int] = {}
        """How many bands the workers of each pool claim from, as opened in this term."""
        self._floors: dict[tuple[str, int], int] = {}
        """The floors of pools and bands, as written in this term."""
        self._step_due = monotonic()
        self._workers_read_at = -_WORKERS_SECONDS
        self._workers_rest_seconds = _WORKERS_SECONDS
        self._wake_all_due = 0.0
        self._wake_all_seconds = _WAKE_ALL_SECONDS
        interval_us = int(settings.report_seconds * 1e6)
        self._report_step = ReportStep(metrics, requests, interval_us)
        self._demand_step = DemandStep(requests)
        self._eviction_step = EvictionStep(requests)
        self._recall_due = self._blocked_due = self._questions_due = 0.0
        self._full_read_due = self._active_at = self._step_due
        self._audit_asked = self._step_due
        self._audit_due = self._step_due + settings.audit_seconds
        table = state.order.table
        metrics.policy.show_policy(table.digest, table.version, table.routing.pools)

    def notified(self, reasons: Collection[str]) -> None:
        """Handle notifications: jobs, a policy, a question, or else a worker or a pause.

        An ending only brings the next tick forward, and so does what nobody of ours sends.
        """
        if _REASONS.isdisjoint(reasons):
            return
        if not _OF_WORKERS.isdisjoint(reasons):
            self._workers_rest_seconds = _WORKERS_SECONDS_LOWEST
        self._full_read_due = self._active_at = monotonic()
        if "policy" in reasons:
            self._requests.check_policy()
        if "question" in reasons:
            self._questions_due = 0.0

    def step(self) -> timedelta:
        """Do one tick and return how long to rest; a full batch means again at once."""
        began = monotonic()
        # 1. Check the lease: without it, receipts belong to another leader.
        if not self._lease.is_trusted:
            self._lease.end("the lease could not be renewed in time")
            return timedelta(0)
        # 2. Observe: read what changed and what heads need; when idle, check for new jobs only.
        if self._may_skip_read(began) and not self._store.has_jobs_above(
            self._state.tail.last_id
        ):
            return self._rest_idle(began)
        self._full_read_due = began + _FULL_READ_SECONDS
        events = take_all(self._events)
        if self._schedule_audit(events) and self._state.order.has_large_tags:
            self._lease.end("the order tags are to be numbered anew")
            return timedelta(0)
        request = self._state.next_read(self._now_us, workers=self._start_workers_read())
        asked = monotonic()
        view = self._store.observe(request)
        self._state.reads_slowly = monotonic() - asked > _SLOW_READ_SECONDS
        if view.observed.now_us < self._now_us - _SET_BACK_US:
            self._lease.end("the database's clock was set back")
            return timedelta(0)
        # 3. Learn: new lanes and jobs, claims, endings, free slots.
        self._state.learn(view, events)
        self._show_policy(events)
        self._now_us = view.observed.now_us
        if self._state.order.kinds.is_asked:
            self._hold_to_kind_limits()
        # 4. Plan and dispatch, unless a plan is certain to be empty.
        planned = 0 if self._may_skip_plan(view, events) else self._dispatch()
        # 5. Request sweeps, answer questions, report.
        self._request_sweeps(view)
        self._answer_questions()
        self._report_step.step(self._state, self._now_us)
        self._demand_step.step(self._state, self._now_us, events)
        self._eviction_step.step(self._state, self._now_us, events)
        # 6. Rest.
        return self._rest_after(view, planned, began=began, changed=bool(events))

    def _hold_to_kind_limits(self) -> None:
        """Tell workers that limits of kinds hold, once no more wait to be claimed."""
        order = self._state.order
        if order.holds_to_kind_limits and self._lease.is_trusted:
            self._store.hold_to_limits(order.kinds.limits)
            order.kinds.is_asked = False

    def _rule_disabled(self, disabled: DisabledRule) -> None:
        """Log and record that a rule is disabled until another policy is stored."""
        version, rule, reason = disabled
        _log.error("policy.rule_disabled", version=version, rule=rule, reason=reason)
        self._requests.record_disabled(disabled)

    def _may_skip_read(self, now: float) -> bool:
        """Whether only new jobs can have appeared: nothing waits or runs, no notification."""
        state, pacing = self._state, self._idle_pacing
        still = (
            pacing.resting
            and pacing.is_quiet
            and now < self._full_read_due
            and self._events.empty()
        )
        known = state.has_pending or state.order.in_flight or state.is_behind
        return still and state.tail.is_settled and not known

    def _may_skip_plan(self, view: TickView, events: Sequence[Event]) -> bool:
        """Whether nothing is known that could be dispatched, so that no plan is needed."""
        seen = view.observed.ids or view.receipts or view.fills or view.found or view.workers
        state = self._state
        known = state.has_pending or state.order.in_flight or state.is_behind
        return not (seen or events or known)

    def _dispatch(self) -> int:
        """Evaluate rules, plan, apply the plans, and wake workers that may be resting.

        A few are woken for new rows, and all of them for rows that none claims. Plans are
        applied only while the lease is trusted; the database has the last word. Returns how
        many jobs were planned.
        """
        self._rule_evaluator.evaluate(self._state.order, self._state.worker_slots, self._now_us)
        waiting = self._state.unclaimed()
        self._raise_tags()
        plans = self._state.plan(self._now_us)
        woken = [self._apply(plan, self._resting(plan, waiting)) for plan in plans]
        self._lower_floors()
        self._wake_stuck(waiting, woken=any(woken))
        return sum([len(plan.rows) for plan in plans])

    def _raise_tags(self) -> None:
        """Raise tags where many claimed rows are above the floor, over which claims walk."""
        for order in self._state.order.orders:
            by, ids = order.rise()
            if by and self._lease.is_trusted:
                order.raised(by, self._store.raise_tags(ids, by) if ids else ())

    def _start_workers_read(self) -> bool:
        now = monotonic()
        if now < self._workers_read_at + self._workers_rest_seconds:
            return False
        self._workers_read_at = now
        self._workers_rest_seconds = _WORKERS_SECONDS_IDLE
        return True

    def _resting(self, plan: Plan, waiting: Mapping[str, int]) -> Sequence[int]:
        """Return workers that may rest, with room for a plan's rows.

        Workers that claim find new rows by themselves.
        """
        if waiting.get(plan.pool) and self._state.claims(plan.pool):
            return ()
        return self._state.capacity.workers_for(len(plan.rows), plan.pool)

    def _apply(self, plan: Plan, woken: Sequence[int]) -> bool:
        """Move a plan's rows; the last of its statements wakes these workers.

        Returns whether there is something for them.
        """
        taken: set[int] = set()
        if plan.rows and self._lease.is_trusted:
            pool, timeouts = plan.pool, self._state.order.table.routing.timeouts_of(plan.pool)
            self._open_bands(pool)
            parts = plan.parts
            for place, (band, rows, floor) in enumerate(parts, start=1):
                try:
                    taken |= self._store.dispatch(
                        rows,
                        floor,
                        plan.used,
                        band=band,
                        pool=pool,
                        timeouts=timeouts,
                        counted=self._state.order.kinds.counted(pool, [x[0] for x in rows]),
                        woken=woken if place == len(parts) else (),
                    )
                    self._floors[pool, band] = floor
                except _REFUSED as error:
                    _log.warning("dispatch.failed", jobs=len(rows), reason=one_line(error))
            self._metrics.dispatched.inc(len(taken))
            self._metrics.overflow.labels(pool).inc(plan.overflow)
        self._state.dispatched(plan, taken, self._now_us)
        return bool(taken and woken)

    def _lower_floors(self) -> None:
        """Lower floors that were written above rows which came back in the meantime.

        A return puts its rows at the floor that it reads, and a dispatch may raise that before
        the return is stored. Nothing else lowers it while there is no room for more rows.
        """
        for pool in self._state.order.served:
            if not (pool.unclaimed and self._lease.is_trusted):
                continue
            name = pool.name or ""
            for band, floor in enumerate(pool.floors):
                if floor < self._floors.get((name, band), TAG_MAX):
                    self._store.lower_floor(name, band, floor)
                    self._floors[name, band] = floor

    def _open_bands(self, pool: str) -> None:
        """Open a band to the pool's workers before the term's first dispatch into it."""
        bands = self._state.order.bands
        if bands > self._bands.get(pool, 0):
            self._store.open_bands(pool, bands)
            self._bands[pool] = bands

    def _wake_stuck(self, waiting: Mapping[str, int], *, woken: bool) -> None:
        """Wake all workers for rows that none claims.

        Where rows wait and none is claimed, workers may rest beside rows of kinds for which
        they have no room. These wake-ups back off exponentially while nothing is claimed.

        Args:
            waiting: Unclaimed rows of each pool before the plan.
            woken: Whether some were woken for rows of the plan.
        """
        capacity, claims, now = self._state.capacity, self._state.claims, monotonic()
        if any(map(claims, waiting)):
            self._wake_all_seconds = _WAKE_ALL_SECONDS
        stuck = [pool for pool, rows in waiting.items() if rows and not claims(pool)]
        if woken:
            self._wake_all_due = now
        elif stuck and now >= self._wake_all_due:
            self._wake_all_due = now + self._wake_all_seconds
            if any(map(capacity.free, stuck)):
                if not self._store.wake_all():
                    self._say_full()
                self._wake_all_seconds = min(2 * self._wake_all_seconds, _WAKE_ALL_SECONDS_MAX)

    def _say_full(self) -> None:
        """Say that the server has no room for notifications, so that workers poll."""
        self._metrics.wakes_left_out.inc()
        if self._full_throttle.due("full", monotonic()):
            _log.warning("notifications.full", see="fairlead doctor")

    def _request_sweeps(self, view: TickView) -> None:
        """Request recalls of blocked rows, promotion of due jobs, and audits of the ledger."""
        now, state = monotonic(), self._state
        if self._state.order.in_flight:
            self._active_at = now
        self._requests.set_idle(idle=now - self._active_at > _IDLE_SECONDS)
        if not self._requests.idle or not self._settings.database_direct:
            self._workers_rest_seconds = min(self._workers_rest_seconds, _WORKERS_SECONDS)
        for due_us in (view.observed.first_due_us, state.due_us):
            if due_us is not None:
                self._requests.promote_from(due_us)
        state.due_us = None
        if self._state.may_recall and now >= self._recall_due:
            self._recall_due = now + _RECALL_SECONDS
            unclaimed = self._state.rows_to_recall()
            if unclaimed:
                self._requests.recall(unclaimed)
        if self._state.flooded:
            self._state.flooded = False
            self._requests.scan_lanes()
        if now >= self._audit_due:
            self._audit_asked, self._audit_due = now, now + _AUDIT_SECONDS_MAX
            self._state.order.begin_reconcile()
            self._requests.audit()

    def _answer_questions(self) -> None:
        """Answer questions about jobs: when notified, and every 1 s or, idle, 3 s."""
        now = monotonic()
        if now < self._questions_due:
            return
        resting = self._idle_pacing.resting
        self._questions_due = now + (_QUESTIONS_SECONDS_IDLE if resting else _QUESTIONS_SECONDS)
        state, table = self._state, self._state.order.table
        answers = [
            (each.id, as_json(state.explain(each, self._now_us), table))
            for each in self._store.questions()
        ]
        if answers:
            self._store.explain(answers)

    def _show_policy(self, events: Sequence[Event]) -> None:
        """Show the policy in force, and once a second how many lanes are blocked."""
        for item in events:
            if isinstance(item, PolicyChanged):
                table = item.table
                pools = table.routing.pools
                self._metrics.policy.show_policy(table.digest, table.version, pools)
        if monotonic() >= self._blocked_due:
            self._blocked_due = monotonic() + _BLOCKED_SECONDS
            self._metrics.policy.show_blocked(self._state.blocked_lanes())
            self._show_left_out()

    def _show_left_out(self) -> None:
        """Show what only scans of all lanes find: lanes beyond those kept, and late commits."""
        self._metrics.unwatched_lanes.set(self._state.unwatched_lanes)
        crowded = self._state.heads.crowded
        self._metrics.over_lanes.set(len(crowded))
        if crowded and self._crowded_throttle.due("crowded", monotonic()):
            most = self._settings.lanes_max
            _log.warning(
                "lanes.too_many", tenant=min(crowded), tenants=len(crowded), lanes_max=most
            )

    def _schedule_audit(self, events: Sequence[Event]) -> bool:
        """Schedule the next audit when one has arrived: audits take at most 5 % of the time.

        Returns whether one has.
        """
        arrived = any(isinstance(item, Audited) for item in events)
        if arrived:
            now = monotonic()
            took = now - self._audit_asked
            self._audit_due = now + max(self._settings.audit_seconds, took / _AUDIT_DUTY)
        return arrived

    def _say_unchecked(self, ids: Sequence[int]) -> None:
        """Say which new jobs have values that no INSERT is admitted with."""
        self._metrics.unchecked.inc(len(ids))
        _log.warning("jobs.unchecked", jobs=list(ids[:_NAMED_MAX]), count=len(ids))

    def _rest_after(
        self, view: TickView, planned: int, *, began: float, changed: bool
    ) -> timedelta:
        pacing, arrived = self._idle_pacing, len(view.observed.ids or ())
        changed = changed or bool(view.receipts or view.fills or view.found)
        pacing.record_tick(self._now_us, arrived=arrived, planned=planned, changed=changed)
        self._metrics.ticks.inc()
        self._metrics.queues.count_runnable(self._state.runnable)
        if view.observed.unchecked:
            self._say_unchecked(view.observed.unchecked)
        self._metrics.endings.count_unstarted(view.receipts)
        if self._state.uncounted:
            self._requests.count_endings(self._state.uncounted)
            self._state.uncounted = []
        self._metrics.lag.observe(monotonic() - min(began, self._step_due))
        share = tick_share(jobs=planned, free=self._state.free_slots)
        seconds = self._settings.tick_seconds * share
        state = self._state
        awaits = state.lagging or state.is_behind or state.order.awaits_values
        if awaits or not view.probed_all:
            seconds = 0.0
        elif not state.order.awaits_rule_results:
            seconds = self._idle_seconds(seconds)
        seconds = min(seconds, self._unblock_seconds())
        if self._switch_ending_notifications(view):
            seconds = 0.0
        self._step_due = monotonic() + seconds
        return timedelta(seconds=seconds)

    def _rest_idle(self, began: float) -> timedelta:
        """Rest after a check that found no new job."""
        self._metrics.ticks.inc()
        self._metrics.lag.observe(monotonic() - min(began, self._step_due))
        self._step_due = monotonic() + self._settings.idle_seconds
        return timedelta(seconds=self._settings.idle_seconds)

    def _unblock_seconds(self) -> float:
        """Return how long until a rate or an ending may unblock a lane, at least a tick.

        A lane at its limit has nothing queued that could run in its place. Endings notify, but
        not while they are many, nor from a transaction that began before they were asked.
        """
        order = self._state.order
        release_us, seconds = order.release_us, inf
        if release_us is not None:
            seconds = (release_us - self._now_us) / 1e6
        if order.is_limited:
            seconds = min(seconds, order.mean_us / 1e6 * _ENDING_SHARE)
        return max(self._settings.tick_seconds, seconds)

    def _switch_ending_notifications(self, view: TickView) -> bool:
        """Let endings notify while a slot and a blocked lane wait for one, and they are few.

        Returns whether they notify from now on: what ended before has to be read once more.
        """
        pacing, limited = self._ending_pacing, self._state.awaits_endings
        if not ((limited and self._settings.database_direct) or pacing.asked):
            return False
        endings = sum(1 for receipt in view.receipts if receipt.ended)
        pacing.record_tick(self._now_us, endings=endings, limited=limited)
        if pacing.is_wanted and not pacing.asked:
            self._store.notify_endings(wanted=True)
            pacing.asked = True
            return True
        if pacing.asked and not pacing.is_wanted:
            self._store.notify_endings(wanted=False)
            pacing.asked = False
        return False

    def _idle_seconds(self, tick_seconds: float) -> float:
        """Return how long to rest when nothing is known to be left to do."""
        if self._settings.database_direct:
            return self._switch_insert_notifications(tick_seconds)
        return self._settings.idle_seconds if self._idle_pacing.is_quiet else tick_seconds

    def _switch_insert_notifications(self, tick_seconds: float) -> float:
        """Let INSERTs notify while they are rare, with one more tick before a long rest."""
        pacing = self._idle_pacing
        if pacing.resting and not pacing.may_rest:
            self._store.notify_inserts(wanted=False)
            pacing.resting = False
        elif not pacing.resting and pacing.may_rest and pacing.is_quiet:
            self._store.notify_inserts(wanted=True)
            pacing.resting = True
            return 0.0
        if pacing.resting and pacing.is_quiet:
            return self._settings.idle_seconds
        return tick_seconds
