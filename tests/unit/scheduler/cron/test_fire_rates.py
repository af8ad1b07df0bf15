"""A tenant's fires go at its rate: ten seconds' worth at once, then one after the other."""

from fairlead_scheduler.cron.fire_rates import FireRates

SECOND = 1_000_000
NOW = 1_700_000_000 * SECOND


def taken(rates: FireRates, tenant: str, count: int) -> list[int]:
    """Promise a turn to so many fires at one instant; return in how many seconds each goes."""
    turns: list[int] = []
    for _ in range(count):
        turns.append((rates.turn_us(tenant, NOW) - NOW) // SECOND)
        rates.charge(tenant, 1, NOW)
    return turns


def test_ten_seconds_worth_go_at_once_and_the_rest_in_their_order() -> None:
    """Each of the rest has an instant of its own, at which the rate covers it."""
    turns = taken(FireRates(2), "flood", 30)

    assert [0] * 20 == turns[:20]
    assert [0, 0, 1, 1, 2, 2, 3, 3, 4, 4] == turns[20:]


def test_one_tenants_fires_take_no_turn_of_another() -> None:
    """The rate is each tenant's own."""
    rates = FireRates(1)
    taken(rates, "flood", 1000)

    assert NOW == rates.turn_us("quiet", NOW)


def test_a_tenant_whose_fires_are_covered_is_forgotten_and_may_burst_again() -> None:
    """Nothing is kept of tenants that fire rarely."""
    rates = FireRates(1)
    taken(rates, "flood", 20)

    rates.forget(NOW + 19 * SECOND)
    assert NOW + 10 * SECOND == rates.turn_us("flood", NOW)
    rates.forget(NOW + 20 * SECOND)
    assert NOW == rates.turn_us("flood", NOW)
