"""What the leader's statements do to the simulated database, each by its name; see `reads` too.

A statement happens at one instant. One that writes as a leader does nothing under another
epoch, takes only rows that nobody has locked, and answers what it did, as the files in the
`sql` folders say.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from tests.simulation.database import Database, Receipt, Row
from tests.simulation.reads import Reads, Rows, Values, integers


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What a dispatch moved into `work_queue`, and as of when it had been planned."""

    epoch: int
    rows: tuple[Row, ...]
    refused: tuple[int, ...]


@dataclass(slots=True)
class Statements:
    """The statements over one database."""

    database: Database
    dispatched: Callable[[Dispatched], None] = lambda _: None
    """Called for each dispatch, once it is committed."""

    def run(self, name: str, values: Values) -> Rows:
        """Run the statement of this name."""
        reads = Reads(self.database)
        owner = self if hasattr(self, f"run_{name}") else reads
        found: Callable[[Values], Rows] = getattr(owner, f"run_{name}")
        return found(values)

    # --- leadership -------------------------------------------------------------------------

    def run_acquire(self, values: Values) -> Rows:
        """Acquire the lease once it is over."""
        database, leaders = self.database, self.database.leaders
        if leaders.lease_until_us >= database.now_us and leaders.holder != values["holder"]:
            return [(None, None)]
        database.flush()
        leaders.epoch += 1
        leaders.holder, leaders.taken_at_us = values["holder"], database.now_us
        leaders.lease_until_us = database.now_us + int(values["lease_seconds"] * 1e6)
        database.endings_notify = False
        return [(leaders.epoch, None)]

    def run_renew(self, values: Values) -> Rows:
        """Renew the lease of the epoch that leads, unless it was released."""
        leaders = self.database.leaders
        if not self.database.holds(values["epoch"]) or not leaders.lease_until_us:
            return [(None,)]
        until_us = self.database.now_us + int(values["lease_seconds"] * 1e6)
        leaders.lease_until_us = until_us
        return [(leaders.epoch,)]

    def run_release(self, values: Values) -> Rows:
        """Release the lease."""
        if self.database.holds(values["epoch"]):
            self.database.leaders.lease_until_us = 0
            self.database.notify("fairlead_leader", "")
        return [(None,)]

    def run_renumber(self, _: Values) -> Rows:
        """Find no tags that are large."""
        return []

    # --- what a leader writes ---------------------------------------------------------------

    def run_dispatch(self, values: Values) -> Rows:
        """Move planned jobs into `work_queue`, with the floor and the use of rates."""
        database, pool, band = self.database, values["pool"], values["band"]
        if not database.holds(values["epoch"]):
            return []
        if values["workers"]:
            database.notify("fairlead_work", ",".join(values["workers"]))
        if (pool, band) in database.floors:
            database.floors[pool, band] = values["floor"]
        for each in json.loads(values["used"] or "[]"):
            key = (pool, each["queue"], each["tenant"], each["per_us"])
            database.used[key] = each["tat_us"]
        names = ("ids", "vtags", "estimates_us")
        planned = zip(*(integers(values[name]) for name in names), strict=True)
        taken: list[Row] = []
        lost: list[int] = []
        for job_id, vtag, estimate_us in planned:
            row = database.jobs.get(job_id)
            if row is None or row.lock or row.run_at_us is not None or job_id in database.work:
                lost.append(job_id)
                continue
            row.vtag, row.estimate_us, row.band, row.pool = vtag, estimate_us, band, pool
            database.work[job_id] = row
            taken.append(row)
        self.dispatched(Dispatched(values["epoch"], tuple(taken), tuple(lost)))
        return [(row.id,) for row in taken]

    def run_open_bands(self, values: Values) -> Rows:
        """Open bands of a pool."""
        if self.database.holds(values["epoch"]):
            for band in range(values["bands"]):
                self.database.floors.setdefault((values["pool"], band), 0)
        return []

    def run_lower_floor(self, values: Values) -> Rows:
        """Lower a floor."""
        key = (values["pool"], values["band"])
        if self.database.holds(values["epoch"]) and key in self.database.floors:
            self.database.floors[key] = min(self.database.floors[key], values["floor"])
        return []

    def run_raise_tags(self, values: Values) -> Rows:
        """Raise the tags of unclaimed rows."""
        database = self.database
        if not database.holds(values["epoch"]):
            return []
        rows = [database.work[i] for i in integers(values["ids"]) if i in database.work]
        raised = [row for row in rows if row.worker is None and row.lock is None]
        for row in raised:
            row.vtag += values["by"]
        return [(row.id,) for row in raised]

    def run_recall(self, values: Values) -> Rows:
        """Take unclaimed rows out of `work_queue`."""
        database = self.database
        if not database.holds(values["epoch"]):
            return []
        rows = [database.work[i] for i in integers(values["ids"]) if i in database.work]
        free = [row for row in rows if row.worker is None and row.lock is None]
        for row in free:
            database.leave_work(row)
        return [(row.id,) for row in free]

    def run_promote(self, values: Values) -> Rows:
        """Make jobs pending that fell due."""
        database, now_us = self.database, self.database.now_us
        timed = [row for row in database.jobs.values() if row.run_at_us is not None]
        due = [
            row
            for row in timed
            if values["from_us"] <= (row.run_at_us or 0) <= now_us and row.lock is None
        ]
        due = due[: values["limit"]] if database.holds(values["epoch"]) else []
        reached_us = max([row.run_at_us or 0 for row in due], default=None)
        later = [row.run_at_us or 0 for row in timed if (row.run_at_us or 0) > now_us]
        for row in due:
            row.run_at_us, row.seq = None, database.draw_place()
            database.enter_line(row)
        return [
            (
                now_us,
                reached_us,
                min(later, default=None),
                [row.id for row in due] or None,
                [row.seq for row in due],
                [row.queue for row in due],
                [row.tenant for row in due],
                [row.rank for row in due],
                [row.hint_us for row in due],
            )
        ]

    def run_mark_dead(self, values: Values) -> Rows:
        """Mark workers as dead whose leases lapsed."""
        database = self.database
        settled_us = database.leaders.taken_at_us + int(values["worker_lease_seconds"] * 1e6)
        if not database.holds(values["epoch"]) or database.now_us <= settled_us:
            return []
        lapsed = [
            each
            for each in database.workers.values()
            if not each.dead and each.lease_until_us < database.now_us
        ]
        for each in lapsed:
            each.dead = True
        return [(each.id, f"worker-{each.id}") for each in lapsed]

    def run_steal(self, values: Values) -> Rows:
        """Take back what dead workers hold."""
        database = self.database
        found: list[Row] = []
        if database.holds(values["epoch"]):
            for row in database.work.values():
                worker = None if row.worker is None else database.workers[row.worker]
                if worker is not None and worker.dead and row.lock is None:
                    found.append(row)
        for row in found:
            database.return_row(row)
        if found:
            ids = [row.id for row in found]
            receipt = Receipt(database.draw_receipt(), database.now_us, returned=ids)
            database.add_receipt(receipt)
            database.notify("fairlead_work", "")
        many = len(found)
        queues = [row.queue for row in found]
        return [([row.id for row in found], queues, ["kind"] * many, ["queued"] * many, None)]

    def run_expire(self, _: Values) -> Rows:
        """Find that no job expires."""
        return [(self.database.now_us, 0)]

    def run_end_pauses(self, _: Values) -> Rows:
        """Find that no pause has an end."""
        return [(0,)]

    def run_notify_inserts(self, values: Values) -> Rows:
        """Have INSERTs notify, or not."""
        if self.database.holds(values["epoch"]):
            self.database.inserts_notify = values["wanted"]
        return []

    def run_notify_endings(self, values: Values) -> Rows:
        """Have endings notify, or not."""
        if self.database.holds(values["epoch"]):
            self.database.endings_notify = values["wanted"]
        return []

    def run_wake_all(self, _: Values) -> Rows:
        """Notify all workers."""
        self.database.notify("fairlead_work", "")
        return [(True,)]

    def run_record_policy_event(self, _: Values) -> Rows:
        """Forget it: nobody reads it here."""
        return []
