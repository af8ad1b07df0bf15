"""How many slots keep waits short: Erlang's C formula with an exponential tail."""

from math import exp


def slots_needed(
    offered: float, *, wait_seconds: float, service_seconds: float, late_share: float, most: int
) -> int:
    """Return the fewest slots with which at most a share of jobs waits longer than a time.

    P(W > t) = C(n, a) * exp(-(n - a) * t / s), for n slots and an offered load of a. This is
    exact for exponential interarrival and service times; for other spreads multiply
    `service_seconds` by (ca^2 + cs^2) / 2, as Allen and Cunneen do.

    Args:
        offered: Arrival rate times mean service time: the slots busy on average.
        wait_seconds: How long a job may wait.
        service_seconds: How long a job takes.
        late_share: The share of jobs that may wait longer, above 0 and below 1.
        most: The search stops here and returns this.
    """
    if offered <= 0:
        return 0
    blocked = 1.0
    for slots in range(1, most):
        blocked = offered * blocked / (slots + offered * blocked)
        if slots <= offered:
            continue
        waits = blocked / (1 - offered / slots * (1 - blocked))
        if waits * exp(-(slots - offered) * wait_seconds / service_seconds) <= late_share:
            return slots
    return most
