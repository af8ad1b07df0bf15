"""Which queues, lanes and accounts a ledger has: each is made when it is first named."""

from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.levels.accounts import Branch


def ensure_lane(ledger: Ledger, queue: str, tenant: str) -> Lane:
    """Return a tenant's lane, made when it is not known."""
    node = _ensure_queue(ledger, queue)
    lane = node.tenants.get(tenant)
    if lane is None:
        lane = node.tenants[tenant] = Lane(node, tenant, node.rule.lane(tenant))
        _add(ledger, lane)
    return lane


def ensure_aged_lane(ledger: Ledger, queue: str, tenant: str, band: int) -> Lane:
    """Return the lane of a tenant's jobs that come from another band."""
    node = _ensure_queue(ledger, queue)
    lane = node.aged.get((tenant, band))
    if lane is None:
        lane = node.aged[tenant, band] = Lane(node, tenant, node.rule.lane(tenant))
        lane.aged = band
        _add(ledger, lane)
    return lane


def _ensure_queue(ledger: Ledger, queue: str) -> Queue:
    node = ledger.queues.get(queue)
    if node is None:
        rule = ledger.table.queue(queue)
        node = Queue(queue, rule, ledger.settings, band=ledger.band)
        node.pool = ledger.context.place
        node.foreign = ledger.context.is_foreign(queue, ledger.table.routing)
        if ledger.table.rules:
            node.bind_rules(ledger.table.rules, ledger.active_rules)
        ledger.queues[queue] = node
        node.branch = branch_of(ledger, node)
        ledger.bind(node, queue, None)
        node.keys = node.new_keys(ledger.context.kinds)
        ledger.context.share_keys(node)
        if node.keys is not None:
            ledger.key_state.queues[node] = None
    return node


def branch_of(ledger: Ledger, queue: Queue) -> Branch:
    """Return the branch where a queue belongs by the policy, made when it is not known."""
    named = queue.is_named
    name = queue.name if named else None
    branch = ledger.branches.get(name)
    if branch is None:
        weight = queue.weight if named else 1.0
        branch = Branch(ledger.band, ledger.root.virtual, weight, ledger.settings.prior_us)
        branch.accounts.time.begun_us = ledger.root.time.begun_us
        ledger.branches[name] = branch
        ledger.root.add(branch)
    branch.queue = queue if named else None
    return branch


def _add(ledger: Ledger, lane: Lane) -> None:
    if ledger.table.rules:
        lane.bind_rules(ledger.table.rules, ledger.active_rules)
    lane.queue.branch.account_of(lane.tenant, lane.weight).add(lane)
    ledger.bind(lane, lane.queue.name, lane.tenant)
