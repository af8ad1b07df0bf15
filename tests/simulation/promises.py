"""What the leader promises, checked at every dispatch and at every look, against the policies.

Limits, rates, keys, pauses and pools are checked when a dispatch is committed: by the policy
that its leader had, against rows and times that are counted here anew. Shares and liveness are
checked every 20 ms. The checks share no code with the order.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tests.simulation.database import BASE_US, Row
from tests.simulation.replica import TermRun
from tests.simulation.statements import Dispatched
from tests.simulation.verdict import Broken
from tests.simulation.watched import Watched
from tests.simulation.world import Watcher, World
from tests.support.evenness import Evenness
from tests.support.law import Law, Line, Owner, owners_of
from tests.support.simulated_jobs import MS, SECOND

LOOK_US = 20 * MS
CALM_US = SECOND
"""Within so long the next job of a lane goes that may, beside a free slot, in calm."""
UNTOLD_US = 6 * SECOND
"""The same where notifications get lost: an idle leader reads workers every five seconds."""
CLAIM_US = int(1.5 * SECOND)
"""Within so long a free slot claims a row of `work_queue`: a round below the floor."""
OVERTAKEN_US = int(1.5 * SECOND)
"""Within so long a job goes before those that were inserted after it: what was refused or
locked is asked about every second."""
DUE_US = 3 * SECOND
"""Within so long a job is pending that has fallen due; an idle leader looks once a second."""
FULL_LOOK_US = 30 * SECOND
"""So often a leader looks for all that is due, whenever it fell due."""
TRAIL_US = 2 * SECOND
"""All other looks begin so long before the look before them."""
LEAD_US = 5 * SECOND
"""Within so long somebody leads: a lease, a standby's rest, and a take-over."""
POLICY_US = int(1.5 * SECOND)
"""Within so long a stored policy is in force."""
_HEADS = 64


class Promises(Watcher):
    """Watches a world; raises `Broken` when it must."""

    def __init__(self) -> None:
        self.checked = Counter[str]()
        """How often each promise was put to the test."""
        self.longest_us = Counter[str]()
        """The longest that anything took that has a bound."""
        self._world: World
        self._law = Law()
        self._version = 0
        self._gone: dict[Owner, list[int]] = {}
        """When jobs of an owner were dispatched, by the database's clock at the plan."""
        self._unsure: dict[Owner, int] = {}
        """Until when the windows of owners may count more than that."""
        self._calm_us = 0
        """When something last went wrong, or nobody led."""
        self._harmed_us = 0
        self._idle_since: dict[Line, int] = {}
        self._claim_since: dict[str, int] = {}
        self._led_us = 0
        """When somebody last led."""
        self._epoch = 0
        self._paused_since: dict[Owner, int] = {}

    def begin(self, world: World) -> None:
        """Watch this world from now on."""
        self._world = world
        self._law, self._version = world.laws[0], 1
        self._watched = Watched(world)
        self._is_even = True
        self._was_even = _is_even(world.laws[0])
        self._evenness = Evenness(self._watched)

    # --- what happens -----------------------------------------------------------------------

    def edited(self, laws: list[Law]) -> None:
        """Note that another policy is stored: until it is in force nothing is calm."""
        del laws
        self.disturbed()

    def stepped(self, us: int) -> None:
        """Note a step of the clock: windows count by it."""
        if us < 0:
            self._doubt(self._gone, self._law)
            self._gone.clear()

    def moved(self) -> None:
        """Note that jobs wait in other bands than they did: shares are those from now on."""
        self._evenness.begin_late()

    def _doubt(self, owners: Iterable[Owner], *laws: Law) -> None:
        """Be unsure of owners' windows until they are empty, whatever they count."""
        now_us = self._world.clock.now_us
        for owner in owners:
            spans = [x.burst * x.per_us // x.limit for y in laws for x in y.of(owner).windows]
            until_us = now_us + max(spans, default=0)
            self._unsure[owner] = max(until_us, self._unsure.get(owner, 0))

    def disturbed(self) -> None:
        """Note that something goes wrong."""
        if hasattr(self, "_world"):
            self._calm_us = self._harmed_us = self._world.clock.now_us

    def dispatched(self, term: TermRun, done: Dispatched) -> None:
        """Check a dispatch by the policy of its leader."""
        self._adopt(term.state.order.table.stored)
        self._watched.went += done.rows
        if done.refused:
            self.disturbed()
            refused = [self._world.database.known[i] for i in done.refused]
            self._doubt({owner for row in refused for owner in owners_of(row)}, self._law)
        now_us = term.loop._now_us  # pyright: ignore[reportPrivateUsage] - of the plan
        owners = Counter(owner for row in done.rows for owner in owners_of(row))
        for owner, count in owners.items():
            self._check_owner(owner, count, now_us, term)
        self._check_keys(done.rows)
        self._check_order(done.rows)
        for row in done.rows:
            self.checked["pool"] += 1
            if row.pool != self._law.home(row.queue):
                raise Broken(f"job {row.id} of {row.queue} went to pool {row.pool}")

    def _adopt(self, version: int) -> None:
        """Check by this version from now on."""
        if version == self._version:
            return
        if version < self._version:
            raise Broken(f"policy {version} is in force after {self._version}")
        law = self._world.laws[version - 1]
        for owner in {*self._law.given, *law.given}:
            if self._law.of(owner).windows != law.of(owner).windows:
                self._gone.pop(owner, None)
                self._doubt([owner], self._law, law)
        self._law, self._version = law, version
        self._is_even = self._was_even
        self._was_even = self._was_even and _is_even(law)
        self._evenness.begin_late()
        self._idle_since.clear()
        self.disturbed()

    def _check_owner(self, owner: Owner, count: int, now_us: int, term: TermRun) -> None:
        """Check limit, rates and pause of whoever had jobs dispatched."""
        given = self._law.of(owner)
        limit = given.limit_of(term.state.capacity.slots(self._law.home(owner[0]) or ""))
        if limit is not None:
            self.checked["limit"] += 1
            if self._in_flight(owner) > limit:
                raise Broken(f"{owner} has {self._in_flight(owner)} in flight of {limit}")
        if given.windows:
            self.checked["rate"] += 1
            gone = self._gone.setdefault(owner, [])
            gone += [now_us] * count
            for window in given.windows:
                if window.is_exceeded(gone):
                    raise Broken(f"{owner} is over {window}")
        since_us = self._paused_since.get(owner)
        if since_us is not None:
            self.checked["pause"] += 1
            if BASE_US + since_us + self._world.database.offset_us < now_us:
                raise Broken(f"{owner} went {now_us - BASE_US - since_us} us after its pause")

    def _check_keys(self, rows: Sequence[Row]) -> None:
        mine = {row.queue for row in rows} & self._law.keys.keys()
        if not mine:
            return
        work = [row for row in self._world.database.work.values() if row.queue in mine]
        held = Counter(each for row in work for each, _ in self._law.holds(row))
        for row in rows:
            for each, most in self._law.holds(row):
                self.checked["key"] += 1
                if held[each] > most:
                    raise Broken(f"{held[each]} in flight of {most} have {each}")

    def _check_order(self, rows: Sequence[Row]) -> None:
        """Check that no job goes long after one that was inserted before it could have gone."""
        database, now_us = self._world.database, self._world.clock.now_us
        last = {row.stream: row.seq for row in sorted(rows, key=_seq_of)}
        for stream, seq in last.items():
            if self._law.keys.get(stream[0]):
                continue
            self.checked["order"] += 1
            for place, job_id in database.lines.get(stream, ()):
                row = database.jobs[job_id]
                if place >= seq:
                    break
                if job_id in database.work or row.lock is not None:
                    continue
                late_us = now_us - max(row.since_us, self._calm_us)
                self.longest_us["order"] = max(late_us, self.longest_us["order"])
                if late_us > OVERTAKEN_US:
                    raise Broken(f"job {job_id} of {stream} is overtaken for {late_us} us")

    def _in_flight(self, owner: Owner) -> int:
        return sum(owner in owners_of(row) for row in self._world.database.work.values())

    # --- looks ------------------------------------------------------------------------------

    def look_on(self) -> None:
        """Look now and from now on."""
        clock = self._world.clock
        clock.at(clock.now_us + LOOK_US, self.look_on)
        self.look()

    def look(self) -> None:
        """Check what has to hold at any time."""
        world, watched = self._world, self._watched
        watched.served, world.database.served = world.database.served, []
        watched.slots = {pool: world.fleet.slots(pool) for pool in world.scenario.history.slots}
        self._note_pauses()
        self._check_leader()
        lines = self._lines()
        self._check_idle(lines)
        self._check_claims()
        self._check_due()
        wrong = self._evenness.look(self._law, lines)
        if not self._is_even:
            self._evenness.begin_late()
        elif wrong:
            raise Broken(wrong[0])
        self.checked["share"] = self._evenness.checked
        watched.went = []

    def _note_pauses(self) -> None:
        paused = self._world.database.paused
        if paused != self._paused_since.keys():
            self._paused_since = {
                owner: self._paused_since.get(owner, self._world.clock.now_us)
                for owner in paused
            }
            self.disturbed()

    def _check_leader(self) -> None:
        """Check that somebody leads soon, and note when another one does."""
        world = self._world
        now_us, leader = world.clock.now_us, world.leader
        if world.database.leaders.epoch != self._epoch:
            self._epoch = world.database.leaders.epoch
            self._evenness.begin_late()
            self._watched.seen_us = now_us
            self.disturbed()
        if leader is not None and leader.term is not None:
            self._led_us = now_us
            self._adopt(leader.term.state.order.table.stored)
            self._check_policy(now_us)
        without_us = now_us - max(self._led_us, self._harmed_us)
        if without_us:
            self._calm_us = self._watched.seen_us = now_us
        self.checked["leader"] += 1
        self.longest_us["without a leader"] = max(
            without_us, self.longest_us["without a leader"]
        )
        if without_us > LEAD_US:
            raise Broken(f"nobody leads for {without_us} us")

    def _check_policy(self, now_us: int) -> None:
        """Check that the newest policy is in force soon."""
        late_us = now_us - self._calm_us
        self.checked["policy"] += 1
        if self._version < len(self._world.laws) and late_us > POLICY_US:
            raise Broken(f"policy {self._version} is in force after {late_us} us")

    def _check_idle(self, lines: Mapping[Line, Sequence[Row]]) -> None:
        """Check that no slot stays idle beside a line that could go."""
        world, now_us = self._world, self._world.clock.now_us
        idle = {pool: world.fleet.free(pool) for pool in world.scenario.history.slots}
        unclaimed = Counter(x.pool for x in world.database.work.values() if x.worker is None)
        held: Counter[tuple[str, str | None, str, str]] = Counter()
        if self._law.keys:
            work = world.database.work.values()
            held = Counter(each for row in work for each, _ in self._law.holds(row))
        since: dict[Line, int] = {}
        went = {
            (x.queue, x.tenant, self._law.band(x.queue, x.rank)) for x in self._watched.went
        }
        for line, rows in lines.items():
            queue, tenant, _ = line
            pool = self._law.home(queue) or ""
            kept = self._law.kept or 0
            if idle.get(pool, 0) <= kept or unclaimed[pool] or not self._may_go(queue, tenant):
                continue
            free = [row for row in rows[:_HEADS] if self._keys_let(row, held)]
            if not free:
                continue
            since[line] = now_us if line in went else self._idle_since.get(line, now_us)
            waited_us = now_us - max(since[line], self._calm_us)
            self.checked["idle"] += 1
            self.longest_us["idle"] = max(waited_us, self.longest_us["idle"])
            if waited_us > (UNTOLD_US if world.scenario.lost_notices else CALM_US):
                raise Broken(f"a slot of {pool} is idle beside {line} for {waited_us} us")
        self._idle_since = since

    def _check_claims(self) -> None:
        """Check that rows that wait for a worker find one, below the floor as well."""
        world, now_us = self._world, self._world.clock.now_us
        stuck = {
            row.pool
            for row in world.database.work.values()
            if row.worker is None and row.lock is None
        }
        since: dict[str, int] = {}
        for pool in stuck:
            workers = world.fleet.of(pool)
            if not any(each.free and each.frozen_until_us <= now_us for each in workers):
                continue
            since[pool] = self._claim_since.get(pool, now_us)
            self.checked["claim"] += 1
            waited_us = now_us - since[pool]
            self.longest_us["claim"] = max(waited_us, self.longest_us["claim"])
            if waited_us > CLAIM_US:
                raise Broken(f"rows of {pool} wait beside a free slot for {waited_us} us")
        self._claim_since = since

    def _check_due(self) -> None:
        """Check that what falls due is pending soon, also when it is committed late."""
        database, now_us = self._world.database, self._world.clock.now_us
        for row in database.jobs.values():
            if row.run_at_us is None or row.lock is not None:
                continue
            over_us = database.now_us - row.run_at_us
            late_us = min(over_us, now_us - max(row.since_us, self._calm_us))
            if over_us <= 0:
                continue
            self.checked["due"] += 1
            if self._is_unwatched(row):
                late_us -= FULL_LOOK_US
            self.longest_us["due"] = max(late_us, self.longest_us["due"])
            if late_us > DUE_US:
                raise Broken(f"job {row.id} is due for {over_us} us, and still scheduled")

    def _is_unwatched(self, row: Row) -> bool:
        """Return whether only a look for all that is due finds a job.

        It fell due so long before its commit that no other look goes back to it, and its id was
        drawn so long before the take-over that the leader's tail begins above it. It might have
        been drawn at any time, so a tail that began low enough would read all jobs there are.
        """
        leader, committed_us = self._world.leader, BASE_US + row.since_us
        if leader is None or leader.term is None or row.run_at_us is None:
            return False
        behind_us = committed_us + self._world.database.offset_us - row.run_at_us
        return behind_us > TRAIL_US and leader.term.state.tail.seen_us(row.id, 0) is None

    def _lines(self) -> dict[Line, list[Row]]:
        """Return what waits and is not locked, line by line, in order."""
        database, found = self._world.database, dict[Line, list[Row]]()
        for stream in sorted(database.lines):
            queue, tenant, rank = stream
            rows = [
                database.jobs[job_id]
                for _, job_id in database.lines[stream]
                if job_id not in database.work
            ]
            rows = [row for row in rows if row.lock is None]
            if rows:
                found.setdefault((queue, tenant, self._law.band(queue, rank)), []).extend(rows)
        return found

    def _keys_let(self, row: Row, held: Mapping[tuple[str, str | None, str, str], int]) -> bool:
        return all(held[each] < most for each, most in self._law.holds(row))

    def _may_go(self, queue: str, tenant: str) -> bool:
        """Return whether pauses, limits and rates surely allow one job more."""
        return self._has_room((queue, tenant)) and self._has_room((queue, None))

    def _has_room(self, owner: Owner) -> bool:
        given, database = self._law.of(owner), self._world.database
        is_unsure = self._world.clock.now_us < self._unsure.get(owner, 0)
        if owner in database.paused or (given.windows and is_unsure):
            return False
        limit = given.limit_of(self._world.fleet.slots(self._law.home(owner[0]) or ""))
        if limit is not None and self._in_flight(owner) >= limit:
            return False
        gone = [*self._gone.get(owner, ()), database.now_us - 10]
        return not any(window.is_exceeded(gone) for window in given.windows)


def _seq_of(row: Row) -> int:
    return row.seq


def _is_even(law: Law) -> bool:
    """Return whether a policy has weights alone: nobody is ahead when another one follows."""
    return law.kept is None and not law.keys and all(each.free for each in law.given.values())
