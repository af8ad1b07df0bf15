"""What is shown of the database and of workers, and that it vanishes with the lead."""

from prometheus_client import CollectorRegistry

from fairlead_scheduler.metrics.database import (
    DatabaseMetrics,
    SnapshotAge,
    TableSize,
    WorkerStates,
)

Samples = dict[tuple[str, ...], float]


def samples(registry: CollectorRegistry, name: str) -> Samples:
    """Return the values of a series by the values of its labels."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == f"fairlead_{name}"
    }


def made() -> tuple[CollectorRegistry, DatabaseMetrics]:
    """Return metrics whose pools are labels, and where they live."""
    registry = CollectorRegistry()
    return registry, DatabaseMetrics(registry, str)


def test_a_pool_of_the_policy_without_a_worker_is_shown_to_have_none() -> None:
    """Absence cannot be alerted on; and a pool that is gone vanishes."""
    registry, metrics = made()

    metrics.show_workers(
        [WorkerStates("gpu", 2, 1, 0), WorkerStates("old", 0, 0, 1)], pools=["gpu", "mail"]
    )

    expected = {("gpu", "live"): 2.0, ("mail", "live"): 0.0, ("old", "lapsed"): 1.0}
    found = samples(registry, "workers")
    assert expected == {labels: found[labels] for labels in expected}
    metrics.show_workers([], pools=["mail"])
    assert {"mail"} == {pool for pool, _ in samples(registry, "workers")}


def test_a_program_without_sessions_has_none_and_not_those_it_had() -> None:
    """The sum over programs is what is used of the most."""
    registry, metrics = made()

    metrics.show_sessions({"worker": 3, "other": 1}, most=97)
    metrics.show_sessions({"other": 2}, most=97)

    sessions = samples(registry, "db_connections")
    assert {("scheduler",): 0, ("worker",): 0, ("autoscaler",): 0, ("other",): 2} == sessions
    assert {(): 97.0} == samples(registry, "db_connections_max")


def test_what_holds_nothing_any_more_is_zero_old() -> None:
    """Each kind of holder has a row at any time."""
    registry, metrics = made()

    metrics.show_holders({"standby": SnapshotAge(60.0, 7)})
    assert 60.0 == samples(registry, "db_oldest_xmin_age_seconds")["standby",]
    assert 7.0 == samples(registry, "db_oldest_xmin_age_transactions")["standby",]
    metrics.show_holders({})

    assert {0.0} == {*samples(registry, "db_oldest_xmin_age_seconds").values()}
    assert 4 == len(samples(registry, "db_oldest_xmin_age_transactions"))


def test_bloat_is_the_part_of_the_rows_that_is_dead() -> None:
    """An empty table has none."""
    registry, metrics = made()

    metrics.show_tables(
        [TableSize("jobs", 1, 3, 8192, 16384), TableSize("leaders", 0, 0, 0, 8192)]
    )

    expected = {("jobs",): 0.75, ("leaders",): 0.0}
    assert expected == samples(registry, "db_table_bloat_ratio")
    assert {("jobs",): 3.0, ("leaders",): 0.0} == samples(registry, "db_table_dead_rows")
    assert 8192.0 == samples(registry, "db_table_size_bytes")["jobs",]
    assert 16384.0 == samples(registry, "db_table_index_bytes")["jobs",]


def test_nothing_is_shown_by_a_scheduler_that_does_not_lead() -> None:
    """Nor a zero, which would say that all is well."""
    registry, metrics = made()
    metrics.show_workers([WorkerStates("gpu", 2, 0, 0)], pools=())
    metrics.show_sessions({"worker": 3}, most=97)
    metrics.show_holders({})
    metrics.show_tables([TableSize("jobs", 1, 3, 8192, 8192)])

    metrics.hide()

    assert [] == [sample for family in registry.collect() for sample in family.samples]
