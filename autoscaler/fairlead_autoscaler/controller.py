"""Observe, decide, act: one step for all pools, every few seconds and whenever a pool wakes.

A step asks the database once and the watches without a request, decides on each pool by the
same pure function as the simulator, and writes. What fails is left to the next step, which sees
what has become of it. A crash in the middle leaves marks that lapse by themselves, or a number
of replicas that was decided on; the next controller takes both over as it finds them.
"""

from collections.abc import Callable
from time import monotonic

from fairlead import log
from fairlead.policy.autoscale import Autoscale
from fairlead.store import Unreachable
from fairlead_autoscaler import budget
from fairlead_autoscaler.actor import Actor, Outcome
from fairlead_autoscaler.budget import Budget, Scarce
from fairlead_autoscaler.database import Database, Deposed
from fairlead_autoscaler.decide import decide
from fairlead_autoscaler.decision import Decision, State
from fairlead_autoscaler.herald import Herald, News, policy_said
from fairlead_autoscaler.inputs import Inputs
from fairlead_autoscaler.kube.port import Deployment, KubeError, KubePort
from fairlead_autoscaler.metrics import Metrics
from fairlead_autoscaler.observer import Observer
from fairlead_autoscaler.options import Lead, Options, Term
from fairlead_autoscaler.sights import Sight, inputs_of, pools_with_work
from fairlead_autoscaler.troubles import Troubles

_log = log.get("autoscaler")
LOOK_SECONDS_MAX = 5.0
"""How old a look may be that is still decided by: calls that hang may use up so much."""
_REPEATS_MAX = 5
"""Steps in a row that follow a refused write at once: a writer that is always ahead of us is
to make no loop."""


class Controller:
    """The loop's body.

    Args:
        port: The cluster.
        database: Its own session.
        lead: Whether it may write.
        options: What else it is to do.
        metrics: What it measures.
        clock: The port's, in seconds.
    """

    def __init__(
        self,
        port: KubePort,
        database: Database,
        lead: Lead,
        options: Options,
        *,
        metrics: Metrics,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._port = port
        self._clock = clock
        self._lead = lead
        self._options = options
        self._metrics = metrics
        self._observer = Observer(port, database, options, metrics, clock=clock)
        self._actor = Actor(port, database, lead, metrics, clock=clock)
        self._herald = Herald(port, database, lead, metrics, clock, options.again_seconds)
        self._troubles = Troubles(_log, clock)
        self._term: Term | None = None

    @property
    def at_zero(self) -> bool:
        """Whether a pool has no pods, so that a job should wake it soon."""
        return self._term is not None and self._term.at_zero

    @property
    def again(self) -> bool:
        """Whether the last step met a Deployment newer than it knew: another look helps."""
        term = self._term
        return term is not None and term.refused and term.repeats < _REPEATS_MAX

    def step(self) -> None:
        """Do one step; it returns when there is nothing more to do, whatever failed."""
        if not self._lead.leads():
            self._rest()
            return
        with self._metrics.reconcile.time():
            try:
                term = self._begun()
                if term is None:
                    return
                term.repeats = term.repeats + 1 if term.refused else 0
                term.refused = False
                sight = self._observer.look(at_zero=term.at_zero)
                self._troubles.over("cluster.unknown")
                if sight is not None:
                    self._go_through(term, sight)
            except KubeError as error:
                self._metrics.errors.labels("observe").inc()
                self._troubles.say("cluster.unknown", error)
            except Deposed:
                _log.warning("lead.deposed")
                self._rest()

    def _rest(self) -> None:
        """Show nothing and remember nothing: another controller decides."""
        if self._term is not None:
            self._term = None
            self._metrics.end()

    def _begun(self) -> Term | None:
        """Return the present term, begun now if it is a new one; None: it cannot begin yet."""
        number = self._lead.term
        if self._term is None or self._term.number != number:
            self._rest()
            try:
                epoch = self._observer.begin()
            except Unreachable as error:
                self._metrics.errors.labels("observe").inc()
                self._troubles.say("database.unreachable", error)
                return None
            self._troubles.over("database.unreachable")
            self._term = Term(number=number, epoch=epoch)
            self._herald.begin()
            self._metrics.leadership.begin()
            _log.info("lead.taken", epoch=epoch)
        return self._term

    def _go_through(self, term: Term, sight: Sight) -> None:
        """Decide on every pool and do it, those first whose jobs wait for longest."""
        configs = self._observer.configs()
        found = sight.cluster.deployments
        here = {pool: config for pool, config in configs.items() if pool in found}
        for pool in configs.keys() - here.keys():
            self._herald.tell_absent(pool, self._options.deployments.get(pool))
        for gone in term.states.keys() - here.keys():
            del term.states[gone]
            self._metrics.pools.forget(gone)
        scarce = self._scarce(sight, here)
        woken = pools_with_work(sight.snapshot.queues, self._observer.policy.pools)
        done: list[News] = []
        for pool in budget.in_order(here, here, sight.snapshot.demand, sight.now):
            if self._clock() - sight.own > LOOK_SECONDS_MAX:
                left = ", ".join(sorted(here.keys() - {each.pool for each in done}))
                self._troubles.say("step.cut_short", f"what was seen is too old for {left}")
                break
            inputs = inputs_of(
                sight,
                pool,
                connections=scarce.connections.of(pool),
                pods_max=None if scarce.pods is None else scarce.pods.of(pool),
                pending=pool in woken,
                write_failed=pool in term.failed,
            )
            done.append(self._do(term, found[pool], inputs, here[pool], pool=pool))
            scarce = scarce.taken(
                pool,
                _pods(done[-1].decision, inputs),
                connections_per_pod=here[pool].connections_per_pod,
            )
        else:
            self._troubles.over("step.cut_short")
        term.at_zero = any(_asked(each) == 0 for each in done)
        for news in done:
            self._herald.tell(news, epoch=term.epoch)
        self._herald.tell_refused(self._observer.followed)
        if self.again:
            return
        # What is told may take its time: everything is done by then, until a pool wakes.
        self._herald.tell_events()
        self._herald.tell_status(self._policy(), frozenset(configs))

    def _do(
        self, term: Term, found: Deployment, inputs: Inputs, config: Autoscale, *, pool: str
    ) -> News:
        """Decide on one pool, write that, and remember it."""
        former = term.states.get(pool, State())
        decision = decide(former, inputs, config)
        term.states[pool] = decision.state
        term.failed.discard(pool)
        outcome = self._actor.act(pool, decision, inputs, epoch=term.epoch, name=found.name)
        written = outcome is Outcome.WRITTEN
        if not written:
            term.failed.add(pool)
        term.refused |= outcome is Outcome.REFUSED
        for seconds in _measured(former, decision.state):
            self._metrics.actions.pod_start.labels(pool).observe(seconds)
        return News(
            pool=pool,
            decision=decision,
            inputs=inputs,
            config=config,
            name=found.name,
            uid=found.uid,
            written=written,
        )

    def _scarce(self, sight: Sight, configs: dict[str, Autoscale]) -> Scarce:
        """Return what there is for pods, and what those that there are hold of it."""
        reserve = self._observer.policy.capacity.connections_reserve
        pods = {
            pool: max(found.replicas, sum(each.pool == pool for each in sight.cluster.pods))
            for pool, found in sight.cluster.deployments.items()
        }
        held = {pool: each.connections_per_pod * pods[pool] for pool, each in configs.items()}
        return Scarce(
            connections=Budget(max(0, sight.snapshot.connections - reserve), held),
            pods=None if sight.pods_max is None else Budget(sight.pods_max, pods),
        )

    def _policy(self) -> dict[str, object]:
        version, followed = self._observer.version, self._observer.followed
        return policy_said(
            version=None
            if version is None
            else {"version": version.version, "digest": version.digest},
            source="configmap" if self._options.follows else "database",
            refused=followed.refused,
        )


def _asked(news: News) -> int:
    """Return what is asked of a Deployment after a decision on its pool."""
    scale = news.decision.scale if news.written else None
    return news.inputs.deployment.replicas if scale is None else scale


def _pods(decision: Decision, inputs: Inputs) -> int:
    """Return the pods that the pool may come to by a decision."""
    asked = inputs.deployment.replicas if decision.scale is None else decision.scale
    return asked + sum(pod.terminating for pod in inputs.pods)


def _measured(former: State, later: State) -> tuple[float, ...]:
    """Return the starts that were measured since, in seconds."""
    before, after = former.starts.seconds, later.starts.seconds
    for new in range(len(after) + 1):
        kept = len(after) - new
        if after[:kept] == before[len(before) - kept :] or kept == 0:
            return after[kept:]
    return ()
