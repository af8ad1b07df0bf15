"""The leader's loop: look, decide, dispatch, wake, rest.

Polling is the truth; a notification, like the bell that the sweeps ring, only shortens a rest.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from math import inf
from queue import SimpleQueue
from time import monotonic, thread_time

from psycopg import errors

from fairlead import log
from fairlead_scheduler.alert import Alert
from fairlead_scheduler.calls import Requests, drain
from fairlead_scheduler.calm import Calm, tick_share
from fairlead_scheduler.demanding import Demanding
from fairlead_scheduler.explain import told
from fairlead_scheduler.knowledge import Knowledge
from fairlead_scheduler.leader import Lead
from fairlead_scheduler.metrics import Metrics
from fairlead_scheduler.reporting import Reporting
from fairlead_scheduler.rulings import Clocks, Rulings
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.store import Store
from fairlead_scheduler.values import Plan
from fairlead_scheduler.views import Audited, Disabled, News, Ruled, View

_log = log.get("scheduler")
_REFUSED = (errors.UniqueViolation, errors.DeadlockDetected, errors.QueryCanceled)
"""What may befall one dispatch and leaves the session well: the jobs are asked about again."""
_WORKERS_SECONDS = 1.0
_WORKERS_SECONDS_LOWEST = 0.1
_WORKERS_SECONDS_IDLE = 5.0
"""With nothing in flight only registrations matter, and these notify."""
_EVERYBODY_SECONDS = 0.1
_EVERYBODY_SECONDS_MAX = 2.0
_RECALL_SECONDS = 0.5
_HELD_SECONDS = 1.0
_IDLE_SECONDS = 2.0
_LOOK_SECONDS = 1.0
"""How often a leader at rest looks whole."""
_QUESTIONS_SECONDS = 1.0
_QUESTIONS_SECONDS_IDLE = 3.0
_ENDING_SHARE = 0.02
"""How late an ending may be seen, in mean run times, while a limit holds somebody back."""
_AUDIT_DUTY = 0.05
_AUDIT_SECONDS_MAX = 120.0
"""After so long an audit has failed and is asked for again."""


class Loop:
    """One leader's loop; `step` is one round of it."""

    def __init__(
        self,
        store: Store,
        lead: Lead,
        settings: SchedulerSettings,
        *,
        knowledge: Knowledge,
        requests: Requests,
        news: SimpleQueue[News],
        metrics: Metrics,
    ) -> None:
        self._store = store
        self._lead = lead
        self._settings = settings
        self._knowledge = knowledge
        self._requests = requests
        self._news = news
        self._metrics = metrics
        self._rulings = Rulings(
            metrics.policy.rules, self._disabled, Clocks(monotonic, thread_time)
        )
        self._calm, self._alert = Calm(), Alert()
        self._now_us = 0
        self._bands: dict[str, int] = {}
        """At how many bands the workers of a pool look, as far as this term knows."""
        self._due = monotonic()
        self._workers_read = -_WORKERS_SECONDS
        self._workers_seconds = _WORKERS_SECONDS
        self._everybody_due = 0.0
        self._everybody_seconds = _EVERYBODY_SECONDS
        self._notifying = False
        look_us = int(settings.report_seconds * 1e6)
        self._reporting = Reporting(metrics, requests, look_us)
        self._demanding = Demanding(requests)
        self._recall_due = self._held_due = self._questions_due = 0.0
        self._look_due = self._stirred_at = self._due
        self._audit_asked = self._due
        self._audit_due = self._due + settings.audit_seconds
        table = knowledge.order.table
        metrics.policy.in_force(table.digest, table.version, table.homes.pools)

    def notified(self, told: Collection[str]) -> None:
        """Somebody called: for a policy, for a question, or for jobs, a worker or a pause.

        An ending calls for the next look and nothing else.
        """
        if all(each == "ended" for each in told):
            return
        self._workers_seconds = _WORKERS_SECONDS_LOWEST
        self._look_due = self._stirred_at = monotonic()
        if "policy" in told:
            self._requests.policy()
        if "question" in told:
            self._questions_due = 0.0

    def step(self) -> timedelta:
        """Do one round and return how long to rest; a full batch means again at once."""
        began = monotonic()
        # 1. Hold the lead: without it nothing is read that belongs to another leader.
        if not self._lead.trusted:
            self._lead.end("the lease could not be renewed in time")
            return timedelta(0)
        # 2. Read what changed, and what the heads asked for; at rest a glance may do.
        if self._may_glance(began) and not self._store.glance(self._knowledge.tail.last_id):
            return self._rest_on(began)
        self._look_due = began + _LOOK_SECONDS
        news = drain(self._news)
        self._pace_audits(news)
        view = self._store.look(self._knowledge.ask(self._now_us, workers=self._ask_workers()))
        # 3. Take it in: new lanes and jobs, claims, endings, free slots.
        self._knowledge.learn(view, news)
        self._show_terms(news)
        self._now_us = view.observed.now_us
        # 4. Plan, if a plan could hold anything, and apply it.
        planned = 0 if self._is_still(view, news) else self._dispatch()
        # 5. Ask the sweeps for what is theirs, answer questions, and report.
        self._ask_sweeps(view)
        self._explain()
        self._reporting.step(self._knowledge, self._now_us)
        self._demanding.step(self._knowledge, self._now_us, news)
        # 6. Rest.
        return self._rest(view, planned, began=began, stirred=bool(news))

    def _disabled(self, disabled: Disabled) -> None:
        """Say that a rule holds for nobody until another policy comes."""
        version, rule, said = disabled
        _log.error("policy.rule_disabled", version=version, rule=rule, reason=said)
        self._requests.disable(disabled)

    def _may_glance(self, now: float) -> bool:
        """Tell whether only new jobs could be news: nothing waits or runs, nobody called."""
        knowledge, calm = self._knowledge, self._calm
        still = calm.resting and calm.quiet and now < self._look_due and self._news.empty()
        known = knowledge.pending or knowledge.order.in_flight or knowledge.behind
        return still and knowledge.tail.settled and not known

    def _is_still(self, view: View, news: Sequence[News]) -> bool:
        """Tell whether nothing is known that a plan could be about, so it need not be made."""
        seen = view.observed.ids or view.receipts or view.fills or view.found or view.workers
        knowledge = self._knowledge
        known = knowledge.pending or knowledge.order.in_flight or knowledge.behind
        return not (seen or news or known)

    def _dispatch(self) -> int:
        """See which rules hold now, plan, and apply the plans; wake workers that may rest.

        They are applied if the lead seems to be ours still; the database knows. Returns how
        many jobs were planned.
        """
        self._rulings.look(self._knowledge.order, self._knowledge.workers, self._now_us)
        waiting = self._knowledge.unclaimed()
        plans = self._knowledge.plan(self._now_us)
        added = {plan.pool: len(self._apply(plan)) for plan in plans}
        self._wake(waiting, added)
        return sum([len(plan.rows) for plan in plans])

    def _ask_workers(self) -> bool:
        now = monotonic()
        if now < self._workers_read + self._workers_seconds:
            return False
        self._workers_read = now
        self._workers_seconds = _WORKERS_SECONDS_IDLE
        return True

    def _apply(self, plan: Plan) -> set[int]:
        taken: set[int] = set()
        if plan.rows and self._lead.trusted:
            pool, timeouts = plan.pool, self._knowledge.order.table.homes.timeouts_of(plan.pool)
            self._open_bands(pool)
            for band, rows, floor in plan.parts:
                try:
                    taken |= self._store.dispatch(
                        rows, floor, plan.used, band=band, pool=pool, timeouts=timeouts
                    )
                except _REFUSED as error:
                    _log.warning("dispatch.failed", jobs=len(rows), reason=str(error))
            self._metrics.dispatched.inc(len(taken))
            self._metrics.overflow.labels(pool).inc(plan.overflow)
        self._knowledge.dispatched(plan, taken, self._now_us)
        return taken

    def _open_bands(self, pool: str) -> None:
        """Before the term's first dispatch into a band let the pool's workers look at it."""
        bands = self._knowledge.order.bands
        if bands > self._bands.get(pool, 0):
            self._store.open_bands(pool, bands)
            self._bands[pool] = bands

    def _wake(self, waiting: Mapping[str, int], added: Mapping[str, int]) -> None:
        """Wake those who may rest: some for new rows, everybody for rows that nobody takes.

        Who is called and does not come is called ever less often.

        Args:
            waiting: The rows of each pool that waited before the plan.
            added: Those that came to them.
        """
        capacity, claims, now = self._knowledge.capacity, self._knowledge.claims, monotonic()
        if any(map(claims, waiting)):
            self._everybody_seconds = _EVERYBODY_SECONDS
        chosen = [
            worker
            for pool, count in added.items()
            if count and not waiting.get(pool)
            for worker in capacity.cover(count, pool)
        ]
        stuck = [pool for pool, rows in waiting.items() if rows and not claims(pool)]
        if chosen:
            self._store.wake(chosen)
            self._everybody_due = now
        elif stuck and now >= self._everybody_due:
            self._everybody_due = now + self._everybody_seconds
            if any(map(capacity.free, stuck)):
                self._store.wake(())
                self._everybody_seconds = min(
                    2 * self._everybody_seconds, _EVERYBODY_SECONDS_MAX
                )

    def _ask_sweeps(self, view: View) -> None:
        """Have what is held back recalled, late due jobs promoted, and the books audited."""
        now, first_due_us = monotonic(), view.observed.first_due_us
        if self._knowledge.order.in_flight:
            self._stirred_at = now
        self._requests.rest(idle=now - self._stirred_at > _IDLE_SECONDS)
        if not self._requests.idle or not self._settings.database_direct:
            self._workers_seconds = min(self._workers_seconds, _WORKERS_SECONDS)
        if first_due_us is not None:
            self._requests.promote_from(first_due_us)
        if self._knowledge.recalling and now >= self._recall_due:
            self._recall_due = now + _RECALL_SECONDS
            unclaimed = self._knowledge.to_recall()
            if unclaimed:
                self._requests.recall(unclaimed)
        if self._knowledge.flooded:
            self._knowledge.flooded = False
            self._requests.survey()
        if now >= self._audit_due:
            self._audit_asked, self._audit_due = now, now + _AUDIT_SECONDS_MAX
            self._knowledge.order.reading()
            self._requests.audit()

    def _explain(self) -> None:
        """Answer what people ask about pending jobs: when somebody calls, and now and then."""
        now = monotonic()
        if now < self._questions_due:
            return
        resting = self._calm.resting
        self._questions_due = now + (_QUESTIONS_SECONDS_IDLE if resting else _QUESTIONS_SECONDS)
        knowledge, table = self._knowledge, self._knowledge.order.table
        answers = [
            (each.id, told(knowledge.explain(each, self._now_us), table))
            for each in self._store.questions()
        ]
        if answers:
            self._store.explain(answers)

    def _show_terms(self, news: Sequence[News]) -> None:
        """Show the policy in force, and once a second how many lanes are held back."""
        for item in news:
            if isinstance(item, Ruled):
                table = item.table
                pools = table.homes.pools
                self._metrics.policy.in_force(table.digest, table.version, pools)
        if monotonic() >= self._held_due:
            self._held_due = monotonic() + _HELD_SECONDS
            self._metrics.policy.held(self._knowledge.order.held())

    def _pace_audits(self, news: Sequence[News]) -> None:
        """Audit again in a while; the longer one takes, the later comes the next."""
        if any(isinstance(item, Audited) for item in news):
            now = monotonic()
            took = now - self._audit_asked
            self._audit_due = now + max(self._settings.audit_seconds, took / _AUDIT_DUTY)

    def _rest(self, view: View, planned: int, *, began: float, stirred: bool) -> timedelta:
        calm, arrived = self._calm, len(view.observed.ids or ())
        stirred = stirred or bool(view.receipts or view.fills or view.found)
        calm.looked(self._now_us, arrived=arrived, planned=planned, stirred=stirred)
        self._metrics.ticks.inc()
        self._metrics.queues.runnable(self._knowledge.runnable)
        self._metrics.endings.unstarted(view.receipts)
        self._metrics.lag.observe(monotonic() - min(began, self._due))
        share = tick_share(jobs=planned, free=self._knowledge.free)
        seconds = self._settings.tick_seconds * share
        knowledge = self._knowledge
        awaits = knowledge.lagging or knowledge.behind or knowledge.order.awaits_values
        if awaits or not view.probed_all:
            seconds = 0.0
        elif not knowledge.order.awaits_verdicts:
            seconds = self._calm_seconds(seconds)
        seconds = min(seconds, self._release_seconds())
        if self._heed_endings(view):
            seconds = 0.0
        self._due = monotonic() + seconds
        return timedelta(seconds=seconds)

    def _rest_on(self, began: float) -> timedelta:
        """Rest after a glance that found nothing."""
        self._metrics.ticks.inc()
        self._metrics.lag.observe(monotonic() - min(began, self._due))
        self._due = monotonic() + self._settings.idle_seconds
        return timedelta(seconds=self._settings.idle_seconds)

    def _release_seconds(self) -> float:
        """Return how long it takes until a rate or an ending may let somebody go.

        It is a tick at least. Whom a limit holds back has nothing queued that could run in
        its place; endings notify, but not where they are many, and not one that began before
        they were asked to.
        """
        order = self._knowledge.order
        release_us, seconds = order.release_us, inf
        if release_us is not None:
            seconds = (release_us - self._now_us) / 1e6
        if order.limited:
            seconds = min(seconds, order.mean_us / 1e6 * _ENDING_SHARE)
        return max(self._settings.tick_seconds, seconds)

    def _heed_endings(self, view: View) -> bool:
        """Have endings notify us while a slot waits for one with somebody, and they are few.

        Whether they do from now on: what ended before has to be looked for once more. Asking
        fails while an ending looks whether we ask; then the next look tries again.
        """
        alert, limited = self._alert, self._knowledge.awaits_endings
        if not ((limited and self._settings.database_direct) or alert.asked):
            return False
        endings = sum(1 for receipt in view.receipts if receipt.ended)
        alert.looked(self._now_us, endings=endings, limited=limited)
        if alert.wanted and not alert.asked:
            alert.asked = self._store.heed_endings()
            return alert.asked
        if alert.asked and not alert.wanted:
            self._store.ignore_endings()
            alert.asked = False
        return False

    def _calm_seconds(self, tick_seconds: float) -> float:
        """Return how long to rest when nothing is known to be left."""
        if self._settings.database_direct:
            return self._quiet_seconds(tick_seconds)
        return self._settings.idle_seconds if self._calm.quiet else tick_seconds

    def _quiet_seconds(self, tick_seconds: float) -> float:
        """Ask to be notified while INSERTs are rare, and look once more before a long rest."""
        calm = self._calm
        if calm.resting and not calm.may_rest:
            if self._notifying:
                self._store.busy()
            calm.resting = self._notifying = False
        elif not calm.resting and calm.may_rest and calm.quiet:
            # False: a frozen leader's session has it, and INSERTs notify all the same.
            self._notifying = self._store.rest()
            calm.resting = True
            return 0.0
        if calm.resting and calm.quiet:
            return self._settings.idle_seconds
        return tick_seconds
