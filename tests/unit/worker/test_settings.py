"""Wrong settings are refused before anything starts, by name, value and fix."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from fairlead.settings import explain
from fairlead_worker.config import WorkerConfig, from_line
from fairlead_worker.settings import WorkerSettings, main, read

APP = ("--app", "shop.jobs:tasks")


def refusal(arguments: tuple[str, ...]) -> str:
    """Return the sentence with which a command line is refused."""
    with pytest.raises(ValidationError) as refused:
        read(arguments)
    return explain(refused.value)


def test_the_defaults_are_those_of_the_design() -> None:
    """The lease is 15 s and renewed every 4 s; one process; grace is 30 s."""
    config = read(APP)

    assert (15, 4, 30, 1, "default") == (
        config.worker_lease_seconds,
        config.worker_renew_seconds,
        config.grace_seconds,
        config.processes,
        config.pool,
    )


def test_a_flag_wins_over_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """FAIRLEAD_POOL is what --pool is when it is not given."""
    monkeypatch.setenv("FAIRLEAD_POOL", "slow")
    monkeypatch.setenv("FAIRLEAD_CONCURRENCY", "7")

    config = read((*APP, "--pool", "fast"))

    assert ("fast", 7) == (config.pool, config.concurrency)


def test_the_pods_variables_are_read_with_and_without_prefix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """POD_UID and FAIRLEAD_POD_NAME come from the downward API."""
    monkeypatch.setenv("POD_UID", "d34d")
    monkeypatch.setenv("FAIRLEAD_POD_NAME", "mail-7f")

    config = read(APP)

    assert ("d34d", "mail-7f") == (config.pod_uid, config.pod_name)


def test_a_renewal_that_is_too_rare_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renewals are under a third of the lease apart."""
    monkeypatch.setenv("FAIRLEAD_WORKER_RENEW_SECONDS", "10")

    said = refusal(APP)

    assert (
        "worker_renew_seconds (10 s) must be under a third of worker_lease_seconds (15 s)"
        in said
    )


def test_a_call_that_may_outlast_the_lease_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One call that hangs must not lose the lease."""
    monkeypatch.setenv("FAIRLEAD_WORKER_CALL_SECONDS", "9")

    assert "lower FAIRLEAD_WORKER_CALL_SECONDS" in refusal(APP)


def test_a_dead_connection_that_is_noticed_after_the_lease_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A network path that died silently is noticed within the lease."""
    monkeypatch.setenv("FAIRLEAD_NETWORK_TIMEOUT_SECONDS", "15")

    assert "lower FAIRLEAD_NETWORK_TIMEOUT_SECONDS" in refusal(APP)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "FAIRLEAD_APP"),
        (("--app", "shop.jobs"), "FAIRLEAD_APP"),
        ((*APP, "--concurrency", "0"), "FAIRLEAD_CONCURRENCY"),
        ((*APP, "--concurrency", "many"), "(it is 'many')"),
        ((*APP, "--processes", "-1"), "FAIRLEAD_PROCESSES"),
        ((*APP, "--grace-seconds", "nan"), "FAIRLEAD_GRACE_SECONDS"),
        ((*APP, "--health-port", "70000"), "FAIRLEAD_HEALTH_PORT"),
    ],
)
def test_a_wrong_value_is_named_with_its_setting(
    arguments: tuple[str, ...], expected: str
) -> None:
    """Each refusal names the setting, and the value where there is one."""
    assert expected in refusal(arguments)


@pytest.mark.parametrize("flag", ["--concurency", "--grace"])
def test_an_unknown_flag_is_one_sentence_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    """A person sees one line, and no usage text of twenty; the start of a flag is none."""
    with pytest.raises(SystemExit) as refused:
        main(("1", *APP, flag, "5"))

    said = capsys.readouterr().err
    assert 2 == refused.value.code
    assert f"fairlead: unrecognized arguments: {flag} 5; see" in said
    assert 1 == said.count("\n")


def test_every_setting_says_what_it_means() -> None:
    """Each field is documented."""
    silent = [
        name for name, field in WorkerSettings.model_fields.items() if not field.description
    ]

    assert [] == silent


def test_the_parent_gets_every_setting_as_it_was_checked() -> None:
    """The values survive the way from the process that checks them, each of them."""
    settings = WorkerSettings(app="shop.jobs:tasks", database_url_file=Path("/run/secret/url"))
    config = settings.config()

    assert set(WorkerSettings.model_fields) == set(WorkerConfig.__dataclass_fields__)
    assert config == from_line(config.line())


def test_bounds_of_waits_are_read_in_whatever_order_and_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They reach the parent as seconds, each once."""
    monkeypatch.setenv("FAIRLEAD_METRICS_WAIT_BOUNDS", "5m, 1.5s,,300s")

    config = read(APP)

    assert (1.5, 300.0) == config.metrics_wait_bounds
    assert config == from_line(config.line())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("30", "must be durations from 10ms to 24h, not '30': write one as 500ms"),
        ("30s,soon", "not 'soon'"),
        ("5ms", "not '5ms'"),
        ("25h", "not '25h'"),
        ("1s,2s,3s,4s,5s,6s,7s,8s,9s", "has 9 bounds, and may have at most 8: leave some out"),
    ],
)
def test_bounds_of_waits_that_are_none_are_refused(
    monkeypatch: pytest.MonkeyPatch, given: str, says: str
) -> None:
    """With the variable, the value and the fix."""
    monkeypatch.setenv("FAIRLEAD_METRICS_WAIT_BOUNDS", given)

    said = refusal(APP)

    assert says in said
    assert said.startswith("FAIRLEAD_METRICS_WAIT_BOUNDS: ")
    assert f"(it is {given!r})" in said
