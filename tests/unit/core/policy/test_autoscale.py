"""What a policy says of its pools' pods: read with the pool, refused by name, doubted aloud."""

from datetime import time, timedelta

import pytest

from fairlead.policy import PolicyRefused, canonical_json, digest, find_warnings, parse

POOL = "pools: [{name: p, queues: ['*'], autoscale: %s}]"
AT = "pools[0].autoscale"
OBJECTIVE = "objective: 30s"
NIGHT = "start: '22:00', end: '06:00'"
BAD = {
    "3": f"{AT}: must be a mapping with objective, min, max, ",
    "{}": f"{AT}.objective: is missing: give it (line 1)",
    "{objective: 10ms}": f"{AT}.objective: must be 100ms to 24h, not 10ms (line 1)",
    f"{{{OBJECTIVE}, min: 5, max: 4}}": f"{AT}: has min 5 above max 4: lower the one (line 1)",
    f"{{{OBJECTIVE}, max: 1001}}": f"{AT}.max: must be a whole number from 1 to 1,000, ",
    f"{{{OBJECTIVE}, replicas: 3}}": f"{AT}.replicas: there is no such field",
    f"{{{OBJECTIVE}, pause: yes}}": f"{AT}.pause: must be true or false, not 'yes' (line 1)",
    f"{{{OBJECTIVE}, fallback: {{after: 1m}}}}": f"{AT}.fallback.replicas: is missing: ",
    f"{{{OBJECTIVE}, cost: {{podHour: 0, hourMax: 1}}}}": f"{AT}.cost.podHour: must be ",
    f"{{{OBJECTIVE}, schedules: [{{{NIGHT}}}]}}": f"{AT}.schedules[0]: has no effect: ",
    f"{{{OBJECTIVE}, schedules: [{{{NIGHT}, min: 1, zone: Mars}}]}}": (
        f"{AT}.schedules[0].zone: must be a time zone"
    ),
    f"{{{OBJECTIVE}, schedules: [{{{NIGHT}, min: 1, days: [Mon]}}]}}": (
        f"{AT}.schedules[0].days[0]: must be mon or tue"
    ),
    f"{{{OBJECTIVE}, schedules: [{{start: 8:00, end: '9:00', min: 1}}]}}": (
        f"{AT}.schedules[0].start: must be a time of day from"
    ),
}
INEFFECTIVE = {
    "max: 4, fallback: {replicas: 5}": f"{AT}.fallback.replicas: {AT}.max 4 takes precedence: "
    "5 pods are never reached",
    f"max: 4, schedules: [{{{NIGHT}, min: 6}}]": f"{AT}.schedules[0].min: {AT}.max 4 takes "
    "precedence: 6 pods are never reached",
    "min: 3, cost: {podHour: 2, hourMax: 5}": f"{AT}.cost.hourMax: it pays for fewer pods than "
    f"{AT}.min 3",
    "min: 0, warmSlots: 2": f"{AT}.warmSlots: 2 keep the pool from zero, which {AT}.min 0 "
    "allows",
    "min: 1, keep: 5m": f"{AT}.keep: has no effect: {AT}.min 1 keeps the pool from zero",
}


@pytest.mark.parametrize(("given", "said"), BAD.items(), ids=[each[-40:] for each in BAD])
def test_what_is_wrong_with_pods_is_refused_with_field_and_reason(
    given: str, said: str
) -> None:
    """The policy and the pools are one document: one sentence names the field in it."""
    with pytest.raises(PolicyRefused) as refused:
        parse(POOL % given)

    assert said == str(refused.value)[: len(said)]


def test_a_pools_pods_are_read_with_the_pool() -> None:
    """One objective and its bounds, beside the queues that the pool serves."""
    schedule = f"{{{NIGHT}, days: [sat, sun], zone: Europe/Berlin, max: 2}}"
    (pool,) = parse(POOL % f"{{{OBJECTIVE}, min: 0, schedules: [{schedule}]}}").pools

    assert pool.autoscale is not None
    assert (timedelta(seconds=30), 0, 10) == (
        pool.autoscale.objective,
        pool.autoscale.min,
        pool.autoscale.max,
    )
    (night,) = pool.autoscale.schedules
    assert (time(22), time(6), ("sat", "sun"), 2) == (
        night.start,
        night.end,
        night.days,
        night.max,
    )


def test_a_pool_without_it_is_not_scaled() -> None:
    """Who does not scale says nothing."""
    (pool,) = parse("pools: [{name: p, queues: ['*']}]").pools

    assert pool.autoscale is None


def test_the_canonical_form_keeps_every_value_of_it() -> None:
    """Times of day are among them; what it says is a document of the same meaning."""
    schedule = f"{{{NIGHT}, min: 1}}"
    policy = parse(POOL % f"{{{OBJECTIVE}, pause: true, schedules: [{schedule}]}}")

    again = parse(canonical_json(policy))

    assert (policy, digest(policy)) == (again, digest(again))


@pytest.mark.parametrize(("given", "said"), INEFFECTIVE.items(), ids=list(INEFFECTIVE))
def test_bounds_that_leave_each_other_nothing_are_said(given: str, said: str) -> None:
    """They are accepted: the stricter one counts."""
    assert (said,) == find_warnings(parse(POOL % f"{{{OBJECTIVE}, {given}}}"))


@pytest.mark.parametrize(
    "given",
    [
        "min: 0, keep: 5m",
        "max: 5, fallback: {replicas: 5}",
        f"max: 5, schedules: [{{{NIGHT}, min: 5}}]",
        "min: 2, cost: {podHour: 2, hourMax: 4}",
        "min: 1, warmSlots: 2",
    ],
)
def test_bounds_that_fit_are_left_alone(given: str) -> None:
    """Right at the bound each still has its effect."""
    assert () == find_warnings(parse(POOL % f"{{{OBJECTIVE}, {given}}}"))
