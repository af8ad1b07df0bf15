"""Rules of the policy for single jobs in the fair order, decision by decision."""

import pytest

from fairlead.policy.cel.compiler import Scope
from fairlead_scheduler.explain.answer import Answer, Question, answer
from fairlead_scheduler.limits.job_facts import JobFacts, parse_facts
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.pending.cursors import SKIPPED_MAX
from fairlead_scheduler.policy.rules import Condition
from fairlead_scheduler.rules.circuit_breaker import DisabledRule
from tests.support.fair_bench import MS
from tests.support.ruled import HOUR, Ruled, of_job

SECOND = 1_000_000
REPORTS = "rules: [{name: r, match: {kind: report%s}, when: %s, hold: true}]"
LATE = "rules: [{name: late, when: job.deadline_in_s < %s.0, hold: true}]"


def waiting(document: str, *kinds: str, lane: str = "q/a") -> Ruled:
    """Return a fair order with jobs of these kinds in one lane."""
    ruled = Ruled(document)
    for kind in kinds:
        ruled.bench.add(lane, 100, fields=of_job(kind))
    return ruled


@pytest.mark.parametrize(
    ("match", "when", "goes"),
    [
        ("", "workers.free_ratio < 0.1", "a1 a3"),
        ("", "workers.free_ratio < 0.0", "a1 a2 a3 a4"),
        (", queue: q", "lane.in_flight < 9", "a1 a3"),
        (", queue: r", "hour < 30", "a1 a2 a3 a4"),
        (", tenant: a", "hour < 30", "a1 a3"),
        (", tenant: b", "hour < 30", "a1 a2 a3 a4"),
        (", label: tier=free", "hour < 30", "a1 a3"),
        ("", 'job.kind == "report"', "a1 a3"),
        ("", "job.priority > 5", "a1 a3 a4"),
        ("", "job.attempt > 1", "a1 a3 a4"),
        ("", "job.attempt > 1 && lane.in_flight > 99", "a1 a2 a3 a4"),
        ("", "job.age_s > 59.0", "a1 a3 a4"),
        ("", "job.deadline_in_s < 60.0", "a1 a3 a4"),
        ("", "job.deadline_in_s > 60.0", "a1 a2 a3"),
    ],
)
def test_a_head_that_a_rule_holds_is_skipped(match: str, when: str, goes: str) -> None:
    """It does not block its lane: those behind it go, in their order."""
    ruled = Ruled("labels: {a: {tier: free}}\n" + REPORTS % (match, when))
    ruled.workers = ruled.workers._replace(free=0)
    late = of_job("report", priority=9, attempts=1, since_us=0, expires_us=HOUR + SECOND)
    fresh = of_job("report", since_us=HOUR, expires_us=2 * HOUR)
    for facts in (of_job("mail"), late, of_job("mail"), fresh):
        ruled.bench.add("q/a", 100, fields=facts)
    ruled.bench.now_us = HOUR
    ruled.planned(0)

    assert goes == ruled.planned()


def test_a_kind_may_be_a_pattern() -> None:
    """As names of queues and tenants may."""
    ruled = waiting(REPORTS.replace("report", "'rep*'") % ("", "hour < 30"), "x", "rep", "re")

    assert "a1 a3" == ruled.planned()


def test_a_blocked_head_goes_when_the_condition_is_over() -> None:
    """In its place again, at once."""
    ruled = waiting(REPORTS % ("", "hour < 6"), "report", "mail", "report")
    assert "a2" == ruled.planned(hour=0)
    assert 1 == ruled.bench.order.blocked_lanes()["hold"]

    assert "a1 a3" == ruled.planned(hour=7)
    assert 0 == ruled.bench.order.blocked_lanes()["hold"]


def test_a_result_is_evaluated_again_after_a_second() -> None:
    """Time alone may end it: a held lane is looked at though nothing else happens."""
    ruled = Ruled("rules: [{when: job.age_s < 10.0, hold: true}]")
    ruled.bench.add("q/a", 100, fields=of_job("mail"))
    plans: dict[int, str] = {}
    for tenths in range(120):
        ruled.bench.now_us = tenths * SECOND // 10
        plans[tenths] = ruled.plan()
        ruled.seconds -= 0.9

    went = [tenths for tenths, names in plans.items() if names]
    assert ["a1"] == [plans[tenths] for tenths in went]
    assert 100 <= went[0] <= 111


def test_rows_that_a_rule_holds_are_recalled() -> None:
    """Unclaimed work_queue rows go where a rule now holds them; what runs goes on."""
    ruled = waiting(REPORTS % ("", "hour < 6"), "report", "mail", "report")
    assert "a1 a2 a3" == ruled.planned(hour=9)
    assert () == ruled.bench.order.surplus_rows()
    ruled.bench.order.claimed([1], ruled.bench.now_us)
    ruled.look(hour=0)
    ruled.bench.plan()

    assert (3,) == ruled.bench.order.surplus_rows()
    ruled.bench.order.recalled([3], ruled.bench.heads)
    assert "" == ruled.planned()
    assert () == ruled.bench.order.surplus_rows()
    assert "a3" == ruled.planned(hour=9)


def test_rows_are_recalled_when_what_is_asked_of_their_lane_comes_true() -> None:
    """A rule for single jobs that asks something of lanes holds what is queued of one, too."""
    ruled = waiting(REPORTS % ("", "lane.in_flight > 2"), "report", "mail", "report")
    assert "a1 a2 a3" == ruled.planned()
    assert () == ruled.bench.order.surplus_rows()

    ruled.planned()

    assert (1, 3) == ruled.bench.order.surplus_rows()


def test_rows_are_recalled_when_what_is_asked_of_the_job_comes_true() -> None:
    """Conditions with job.… are looked at again for what is queued for a worker."""
    ruled = Ruled(LATE % 60)
    ruled.bench.add("q/a", 100, fields=of_job("x", expires_us=100 * SECOND))
    ruled.bench.add("q/a", 100, fields=of_job("x"))
    assert "a1 a2" == ruled.planned()
    assert () == ruled.bench.order.surplus_rows()

    ruled.bench.now_us = 50 * SECOND
    ruled.look()
    ruled.bench.plan()

    assert (1,) == ruled.bench.order.surplus_rows()


def test_a_row_that_comes_back_while_a_rule_holds_it_is_recalled() -> None:
    """A worker that returns it hands it to no other."""
    ruled = waiting(REPORTS % ("", "hour < 6"), "report")
    ruled.planned(hour=9)
    ruled.bench.order.claimed([1], ruled.bench.now_us)
    ruled.planned(hour=0)
    assert () == ruled.bench.order.surplus_rows()

    ruled.bench.order.returned([1], ruled.bench.now_us)

    assert ruled.bench.order.may_exceed_limits
    assert (1,) == ruled.bench.order.surplus_rows()


@pytest.mark.parametrize("when", ["hour < 30", "job.attempt < 9"])
def test_a_policy_that_brings_a_rule_is_for_what_is_queued(when: str) -> None:
    """Jobs that were not read yet are read; a hold blocks no queue for that."""
    ruled = waiting("{}", "report", "mail")
    assert "a1 a2" == ruled.planned()

    ruled.edit(REPORTS % ("", when))
    ruled.bench.add("q/a", 100, fields=of_job("mail"))

    assert "a3" == ruled.planned()
    assert (1,) == ruled.bench.order.surplus_rows()
    ruled.edit("{}")
    ruled.bench.order.recalled([1], ruled.bench.heads)
    assert "a1" == ruled.planned()


def test_an_edit_forgets_the_results_of_former_rules() -> None:
    """What is known of the jobs stays known; what rules said of them does not."""
    ruled = waiting("rules: [{when: job.attempt < 9, hold: true}]", "report", "mail")
    assert "" == ruled.planned()

    ruled.edit("rules: [{when: job.attempt > 9, hold: true}]")

    assert "a1 a2" == ruled.planned(rounds=1)


def test_a_new_leader_reads_what_the_former_one_dispatched() -> None:
    """Fail-over keeps effects."""
    ruled = Ruled(REPORTS % ("", "hour < 30"))
    ruled.bench.adopt([QueueRow(100, "q", "a", 0, 100, None)], 0)
    ruled.bench.fields[100] = of_job("report")
    ruled.bench.add("q/a", 100, fields=of_job("mail"))

    assert "a1" == ruled.planned()
    assert (100,) == ruled.bench.order.surplus_rows()


def test_reading_what_is_in_flight_blocks_no_lane_without_rules() -> None:
    """A hold counts nothing, so that nothing has to be known of what runs."""
    ruled = Ruled(REPORTS % (", tenant: a", "hour < 30"))
    rows = [QueueRow(job_id, "q", "a", 0, 100, 0) for job_id in range(100, 1100)]
    ruled.bench.adopt(rows, 0)
    ruled.bench.fields |= dict.fromkeys(range(100, 1100), of_job("report"))
    ruled.bench.add("q/b", 100, fields=of_job("report"))

    assert "b1" == ruled.planned(rounds=1)


def test_the_first_heads_are_passed_over_and_no_more() -> None:
    """Skipped up to the 64 prefetched heads; then the lane waits, and others have the slots."""
    ruled = waiting(REPORTS % ("", "hour < 6"), *["report"] * SKIPPED_MAX, "mail")
    ruled.bench.add("q/b", 100, fields=of_job("mail"))

    assert "b1" == ruled.planned(hour=0)
    explained = ruled.explained("q", "a", job_id=SKIPPED_MAX + 1)
    assert ("hold", "tenant", None, None) == explained[:4]
    assert "rules block all jobs of its tenant that are checked before it" == explained[4]
    assert f"a{SKIPPED_MAX + 1}" in ruled.planned(hour=7).split()


def test_explain_names_the_rule_that_holds_a_job() -> None:
    """The job itself is blocked, and it is not known for how long."""
    ruled = waiting(REPORTS % ("", "hour < 6"), "report", "mail", "report")
    ruled.planned(1, hour=0)

    found = [ruled.explained("q", "a", job_id=job_id)[:4] for job_id in (1, 3)]

    assert [("hold", None, "r", None)] * 2 == found
    assert "the policy's rule r blocks it" == ruled.explained("q", "a", job_id=1)[4]


def test_keys_and_rules_hold_beside_each_other() -> None:
    """Each of them may hold a head; a lane that both hold is looked at when either may end."""
    document = (
        "queues: [{match: {queue: q}, concurrency: {key: payload.account, limit: 1}}]\n"
        + LATE % 60
    )
    ruled = Ruled(document)
    for account, expires_us in (
        ("x", None),
        ("x", None),
        ("y", 90 * SECOND),
        ("z", 30 * SECOND),
    ):
        facts = of_job("mail", expires_us=expires_us) | {"payload.account": account}
        ruled.bench.add("q/a", 100, fields=facts)

    assert "a1 a3" == ruled.planned()
    ruled.bench.order.ended([1], [100 * MS])
    assert "a2" == ruled.planned()
    ruled.edit(document.replace("60", "1"))
    assert "a4" == ruled.planned()


def test_a_job_of_which_nothing_is_known_is_not_blocked() -> None:
    """It is gone: its dispatch will be refused; or it is simulated."""
    ruled = Ruled("rules: [{when: job.attempt < 9, hold: true}]")
    ruled.bench.add("q/a", 100, fields={})

    assert "a1" == ruled.planned()


@pytest.mark.parametrize("match", ["", ", tenant: b", ", queue: r"])
def test_what_no_rule_is_for_is_not_read(match: str) -> None:
    """No cost where no rule asks for jobs."""
    ruled = waiting(REPORTS % (match, "hour < 30"), "report", lane="q/a")
    ruled.look()
    ruled.bench.plan(0)

    assert bool(not match) == bool(ruled.bench.order.attribute_requests())


def test_who_is_looked_at_first_is_whose_turn_is_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twentieth of the loop's time: what is left waits for the next slice, in fair order."""
    asked: list[str] = []
    monkeypatch.setattr(Condition, "holds", _counting(asked))
    ruled = Ruled("rules: [{when: job.attempt > 9, hold: true}]", used=lambda: 0.0)
    for tenant in "abcdef":
        for number in range(100):
            ruled.bench.add(f"q/{tenant}", 100, fields=of_job(f"{tenant}{number}"))
    for _ in range(3):
        ruled.bench.plan(0)
    ruled.look()

    counts: list[int] = []
    for _ in range(3):
        counts.append(len(ruled.bench.plan(600)))
        ruled.look(seconds=0.0501)

    assert [500, 100, 0] == counts
    assert 600 == len(asked) == len(set(asked))
    assert 84 >= sum(kind.startswith("a") for kind in asked[:500])


def _counting(asked: list[str]) -> object:
    def holds(self: Condition, values: Scope) -> bool:
        del self
        asked.append(str(values[-5]))
        return False

    return holds


def test_looking_again_leaves_half_of_the_time_to_what_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A former result counts while there is no time; a job without one waits for it."""
    asked: list[str] = []
    ruled = Ruled("rules: [{when: job.attempt < 9, hold: true}]", used=lambda: 0.0)
    for lane in range(10):
        for number in range(60):
            ruled.bench.add(f"q/{lane}x", 100, fields=of_job(f"{lane}-{number}"))
    for _ in range(40):
        ruled.look(seconds=0.0501)
        ruled.bench.plan()
    assert 10 == ruled.bench.order.blocked_lanes()["hold"]
    monkeypatch.setattr(Condition, "holds", _counting(asked))

    ruled.bench.now_us += 2 * SECOND
    ruled.look(seconds=0.0501)
    ruled.bench.plan()

    assert 250 <= len(asked) <= 260


def burning(self: Condition, _values: Scope) -> bool:
    """Answer after ten milliseconds, by the clock of the test."""
    if self.name == "bad":
        _BURNT.append(0.01)
    return True


def raising(self: Condition, _values: Scope) -> bool:
    """Answer nothing."""
    if self.name == "bad":
        raise RuntimeError("boom")
    return True


_BURNT: list[float] = []


@pytest.mark.parametrize(
    ("holds", "series", "said"),
    [
        (burning, "overruns", "took over 5 ms 3 times in a row"),
        (raising, "errors", "had no value 3 times, the last time: boom"),
    ],
)
def test_a_bad_rule_is_disabled_after_three_slices(
    holds: object, series: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted and reported; the other rules hold on, and dispatch goes on."""
    monkeypatch.setattr(Condition, "holds", holds)
    ruled = Ruled(
        "rules: [{name: bad, match: {kind: bad}, when: job.attempt < 9, hold: true},"
        " {name: good, match: {kind: good}, when: job.attempt < 9, hold: true}]",
        used=lambda: sum(_BURNT),
    )
    went: list[str] = []
    for step in range(80):
        if step < 9:
            ruled.bench.add("q/a", 100, fields=of_job("bad"))
            ruled.bench.add("q/b", 100, fields=of_job("good"))
        went += ruled.plan(seconds=0.0501).split()
        ruled.bench.now_us += SECOND // 20

    assert [DisabledRule(3, "bad", said)] == ruled.disabled
    assert 3 == ruled.counted(f"fairlead_policy_rule_{series}_total", "bad")
    assert [f"a{number}" for number in range(1, 10)] == sorted(went)
    assert 0 == ruled.counted("fairlead_policy_rule_true", "bad")
    assert 9 == ruled.counted("fairlead_policy_rule_true", "good")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("0 0 17 - report", JobFacts("report", 0, 0, 17, None)),
        ("-5 3 17 99 a b - c", JobFacts("a b - c", -5, 3, 17, 99)),
        (None, None),
    ],
)
def test_what_is_read_of_a_job_is_one_text(text: str | None, facts: JobFacts | None) -> None:
    """The kind comes last: it may have spaces in it."""
    assert facts == parse_facts(text)


def test_an_answer_prefers_what_holds_all_of_a_tenant() -> None:
    """Its release would not be the job's; a pause counts more than any rule."""
    ruled = waiting(REPORTS % ("", "hour < 30"), "report")
    ruled.planned(1)
    snapshot = ruled.snapshot("q", "a", job_id=1)

    assert snapshot is not None
    assert "r" == _explain(ruled, "")[1]
    assert "paused" == _explain(ruled, "q")[0]


def _explain(ruled: Ruled, paused: str) -> tuple[str, str | None]:
    ruled.bench.plan(paused=paused)
    snapshot = ruled.snapshot("q", "a", job_id=1)
    assert snapshot is not None
    found: Answer = answer(Question(1, "q", "a", 1, 1), snapshot)
    return found.blocked_by, found.rule
