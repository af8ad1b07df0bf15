"""What each value does to the objects, and that the programs take what they are given."""

from typing import cast

import pytest

from fairlead_autoscaler.settings import AutoscalerSettings
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_worker.settings import WorkerSettings
from tests.support.chart import (
    EVERYTHING,
    GIVEN,
    TRIAL,
    Json,
    Object,
    at,
    environment,
    needs_helm,
    of,
    one,
    pod_specs,
    render,
)

pytestmark = [needs_helm]

POD = ("spec", "template", "spec")
WORKER = "shop-fairlead-worker-default"


def pool(**values: Json) -> Object:
    """Return the Deployment of the pool `default` with these values."""
    return one(
        render({**GIVEN, "workerPools": {"default": dict(values)}}), "Deployment", WORKER
    )


def scheduler(**values: Json) -> Object:
    """Return the scheduler's Deployment with these values of the chart."""
    return one(render({**GIVEN, **values}), "Deployment", "shop-fairlead-scheduler")


def test_a_pools_values_are_merged_over_the_defaults() -> None:
    """Maps are merged, lists replaced; 0 and false count, and null takes a pool away."""
    objects = render(
        {
            **GIVEN,
            "autoscaler": {"enabled": False},
            "workerPoolDefaults": {
                "podLabels": {"team": "a", "cost": "low"},
                "tolerations": [{"key": "spot", "operator": "Exists"}],
            },
            "workerPools": {
                "default": None,
                "big": {
                    "replicas": 0,
                    "podLabels": {"cost": "high"},
                    "tolerations": [{"key": "big", "operator": "Exists"}],
                    "serviceAccount": {"create": False},
                },
            },
        }
    )
    big = one(objects, "Deployment", "shop-fairlead-worker-big")

    assert ["worker-big"] == [
        name.removeprefix("shop-fairlead-")
        for each in of(objects, "Deployment")
        if "worker" in (name := str(at(each, "metadata", "name")))
    ]
    assert 0 == at(big, "spec", "replicas")
    labels = cast("Object", at(big, "spec", "template", "metadata", "labels"))
    assert {"team": "a", "cost": "high", "fairlead/pool": "big"}.items() <= labels.items()
    assert [{"key": "big", "operator": "Exists"}] == at(big, *POD, "tolerations")
    assert "default" == at(big, *POD, "serviceAccountName")
    assert ["shop-fairlead-autoscaler", "shop-fairlead-scheduler"] == [
        at(each, "metadata", "name") for each in of(objects, "ServiceAccount")
    ]


@pytest.mark.parametrize(
    ("values", "grace", "termination"),
    [
        ({}, "3600", 3610),
        ({"longestTimeoutSeconds": 300}, "300", 310),
        ({"longestTimeoutSeconds": 300, "graceSeconds": 400}, "400", 410),
        ({"graceSeconds": 5, "cutShort": True}, "5", 15),
    ],
)
def test_a_pod_is_killed_only_after_its_worker_has_drained(
    values: Object, grace: str, termination: int
) -> None:
    """The grace of Kubernetes is the worker's own and what it needs to release the rest."""
    made = pool(**values)

    assert grace == environment(made)["FAIRLEAD_GRACE_SECONDS"]
    assert termination == at(made, *POD, "terminationGracePeriodSeconds")


def test_the_programs_take_the_variables_that_the_chart_gives_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every FAIRLEAD_ variable is a setting of its program, with a value that passes."""
    values: Object = {
        **GIVEN,
        "database": {"existingSecret": "db", "direct": False},
        "settings": {"workerLeaseSeconds": 20, "logLevel": "debug"},
        "scheduler": {"settings": {"queuedMax": 100000, "tickSeconds": 0.005}},
        "workerPools": {"default": {"settings": {"overrunGraceSeconds": 2.5}}},
    }
    objects = render(values)
    for program, name in ((SchedulerSettings, "scheduler"), (WorkerSettings, "worker-default")):
        given = environment(one(objects, "Deployment", f"shop-fairlead-{name}"))
        with monkeypatch.context() as patched:
            for variable, value in given.items():
                patched.setenv(variable, value)
            read = program()

        known = {f"FAIRLEAD_{field.upper()}" for field in program.model_fields}
        assert set(given) <= known
        assert (20, "debug", 8080, False) == (
            read.worker_lease_seconds,
            read.log_level,
            read.health_port,
            read.database_direct,
        )
        if isinstance(read, SchedulerSettings):
            assert (100_000, 0.005) == (read.queued_max, read.tick_seconds)
        if isinstance(read, WorkerSettings):
            assert (2.5, "default") == (read.overrun_grace_seconds, read.pool)
            assert "30s" == read.metrics_wait_bounds


def test_the_autoscaler_takes_the_variables_that_the_chart_gives_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every FAIRLEAD_ variable is one of its settings, with a value that passes."""
    values: Object = {
        **EVERYTHING,
        "autoscaler": {
            "rbac": {"horizontalPodAutoscalers": True, "resourceQuotas": True},
            "settings": {"tickSeconds": 2.5},
        },
        "settings": {"logLevel": "debug"},
    }
    made = environment(one(render(values), "Deployment", "shop-fairlead-autoscaler"))
    for variable, value in made.items():
        monkeypatch.setenv(variable, value)
    read = AutoscalerSettings()

    known = {f"FAIRLEAD_{field.upper()}" for field in AutoscalerSettings.model_fields}
    assert set(made) <= known
    assert (2.5, "debug", 8080, "configmap") == (
        read.tick_seconds,
        read.log_level,
        read.health_port,
        read.policy_source,
    )
    assert (True, True, True) == (
        read.autoscaler_enabled,
        read.read_autoscalers,
        read.read_quotas,
    )
    assert "default=shop-fairlead-worker-default" == read.pool_targets


def test_a_program_has_shared_settings_its_pools_and_the_defaults() -> None:
    """A pool's win over the defaults, even 0, which some of helm's functions pass over."""
    made = one(
        render(
            {
                **GIVEN,
                "settings": {"logLevel": "error"},
                "workerPools": {"default": {"settings": {"overrunGraceSeconds": 0}}},
                "workerPoolDefaults": {"settings": {"overrunGraceSeconds": 9}},
            }
        ),
        "Deployment",
        WORKER,
    )

    given = environment(made)
    assert ("0", "error") == (
        given["FAIRLEAD_OVERRUN_GRACE_SECONDS"],
        given["FAIRLEAD_LOG_LEVEL"],
    )


def test_the_migrations_job_has_another_name_when_it_changes() -> None:
    """A Job cannot be changed, so its revision and all that its pod is are in its name."""
    changes: list[Object] = [
        {},
        {"image": {"tag": "2"}},
        {"migrations": {"rowLevelSecurity": True}},
        {"workerPools": {"other": {}}},
        {"securityContext": {"runAsUser": 1}},
        {"commonLabels": {"team": "a"}},
    ]
    names = [
        str(at(of(render({**GIVEN, **each}), "Job")[0], "metadata", "name")) for each in changes
    ]

    assert 5 == len(set(names))
    assert names[0] == names[3]
    assert names[0].startswith("shop-fairlead-migrate-1-")


def test_every_program_says_of_which_release_it_is() -> None:
    """By the namespace of its objects and its name, so that no other one uses its database."""
    for values, name in ((GIVEN, "work/shop"), ({**GIVEN, "namespaceOverride": "b"}, "b/shop")):
        said = {
            str(variable["value"])
            for _, pod in pod_specs(render(values))
            for container in cast("list[Object]", pod["containers"])
            for variable in cast("list[Object]", container.get("env", []))
            if variable["name"] == "FAIRLEAD_RELEASE"
        }
        assert {name} == said
        assert all(
            name == environment(each)["FAIRLEAD_RELEASE"]
            for each in of(render(values), "Deployment")
        )


def test_a_database_of_another_release_is_taken_over_where_the_values_say_so() -> None:
    """Otherwise the migrations are refused."""
    arguments = [
        at(of(render({**GIVEN, "migrations": each}), "Job")[0], *POD, "containers", 0, "args")
        for each in cast("list[Object]", [{}, {"takeOver": True}])
    ]

    assert [["--wait=5m"], ["--wait=5m", "--take-over"]] == arguments


def test_the_migrations_may_be_a_hook_or_yours() -> None:
    """As a hook the Job goes first; with `none` there is no Job."""
    (hook,) = of(render({**GIVEN, "migrations": {"mode": "hook"}}), "Job")

    assert "pre-install,pre-upgrade" == at(hook, "metadata", "annotations", "helm.sh/hook")
    assert () == of(render({**GIVEN, "migrations": {"mode": "none"}}), "Job")


@pytest.mark.parametrize(
    ("values", "address"),
    [
        ({}, "fairlead:0.1.0"),
        ({"image": {"registry": "r.example", "tag": "7"}}, "r.example/fairlead:7"),
        ({"global": {"imageRegistry": "mirror:5000"}}, "mirror:5000/fairlead:0.1.0"),
        (
            {"image": {"tag": "7", "digest": f"sha256:{'a' * 64}"}},
            f"fairlead@sha256:{'a' * 64}",
        ),
    ],
)
def test_an_image_is_found_by_registry_tag_or_digest(values: Object, address: str) -> None:
    """A digest wins over a tag, and the global registry over the image's."""
    assert address == at(scheduler(**values), *POD, "containers", 0, "image")


def test_a_pool_may_have_an_image_of_its_own() -> None:
    """Fields that the pool leaves out are the chart's."""
    made = pool(image={"repository": "shop", "pullPolicy": "Always"})

    container = at(made, *POD, "containers", 0)
    assert ("shop:0.1.0", "Always") == (
        at(container, "image"),
        at(container, "imagePullPolicy"),
    )


def test_what_the_chart_does_not_know_can_be_added() -> None:
    """Variables, volumes, arguments, annotations and whole objects; templates in them count."""
    values: Object = {
        **GIVEN,
        "extraObjects": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "{{ .Release.Name }}-x"},
            },
            "apiVersion: v1\nkind: Secret\nmetadata: {name: y}\n",
        ],
        "workerPools": {
            "default": {
                "env": [{"name": "REGION", "value": "{{ .Release.Namespace }}"}],
                "volumes": [{"name": "data", "emptyDir": {}}],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                "extraArgs": ["--log-level=debug"],
                "podAnnotations": {"a": "{{ .Release.Name }}"},
            }
        },
    }
    objects = render(values)
    worker = one(objects, "Deployment", WORKER)

    assert "work" == environment(worker)["REGION"]
    assert ["--log-level=debug"] == at(worker, *POD, "containers", 0, "args")
    assert "shop" == at(worker, "spec", "template", "metadata", "annotations", "a")
    assert {"name": "data", "emptyDir": {}} in cast("list[Json]", at(worker, *POD, "volumes"))
    assert one(objects, "ConfigMap", "shop-x")
    assert one(objects, "Secret", "y")


def test_a_health_probe_never_queries_the_database() -> None:
    """Live means that the process answers; readiness is probed each second."""
    container = at(pool(), *POD, "containers", 0)

    assert "/livez" == at(container, "livenessProbe", "httpGet", "path")
    assert "/livez" == at(container, "startupProbe", "httpGet", "path")
    assert ("/readyz", 1) == (
        at(container, "readinessProbe", "httpGet", "path"),
        at(container, "readinessProbe", "periodSeconds"),
    )


def test_the_trial_database_is_marked_and_its_urls_lead_to_it() -> None:
    """Every role has a login of its own, and the pods say that they are for trials only."""
    objects = render(TRIAL)
    name = "shop-fairlead-trial-database"
    secret = cast("dict[str, str]", one(objects, "Secret", name)["stringData"])
    pod = at(one(objects, "StatefulSet", name), "spec", "template", "metadata")

    assert f"postgresql://trial_worker:trial@{name}:5432/fairlead" == secret["worker"]
    assert "true" == at(pod, "annotations", "fairlead/for-trials-only")
    assert at(pod, "annotations", "checksum/config")


def test_passwords_are_random_where_none_is_given() -> None:
    """Each login of the trial database has one of its own."""
    objects = render({"trialDatabase": {"enabled": True}})
    secret = cast("dict[str, str]", of(objects, "Secret")[0]["stringData"])
    passwords = [value for key, value in secret.items() if key.startswith("password-")]

    assert 8 == len(passwords) == len(set(passwords))
    assert {24} == {len(each) for each in passwords}
