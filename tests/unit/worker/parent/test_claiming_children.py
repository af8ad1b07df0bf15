"""Children that die as they start are restarted ever more rarely."""

from fairlead_worker.parent.claiming_children import rest_seconds


def test_a_child_that_died_at_work_is_replaced_at_once() -> None:
    """A crash of a handler costs no rest."""
    assert 0 == rest_seconds(0)


def test_each_death_at_start_doubles_the_rest_up_to_a_limit() -> None:
    """Back-off keeps a broken start from eating a machine."""
    rests = [rest_seconds(deaths) for deaths in range(1, 9)]

    assert [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0] == rests
