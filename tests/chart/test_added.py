"""What a platform adds to pods: sidecars, tokens, accounts, places, in every pod and Job."""

from typing import cast

import pytest

from tests.support.chart import (
    ADDED,
    AGENT,
    CONSOLE,
    GIVEN,
    PROXY,
    TRIAL,
    Json,
    Object,
    at,
    needs_helm,
    of,
    one,
    pod_specs,
    render,
    variables,
)

pytestmark = [needs_helm]

POD = ("spec", "template", "spec")
PROGRAMS = ("autoscaler", "console", "migrate", "scheduler", "test", "worker")
ENDING = ("migrate", "test")


def pods(values: Object) -> dict[str, Object]:
    """Return the template of each pod by its component, with `metadata` and `spec`."""
    return {
        str(at(each, "metadata", "labels", "app.kubernetes.io/component")): cast(
            "Object", each if each["kind"] == "Pod" else at(each, "spec", "template")
        )
        for each in render(values)
        if each["kind"] in {"Deployment", "Job", "Pod", "StatefulSet"}
    }


def names(found: Json) -> list[str]:
    """Return the names of what is listed."""
    return [str(each["name"]) for each in cast("list[Object]", found or [])]


@pytest.mark.parametrize("component", PROGRAMS)
def test_every_pod_has_what_every_pod_is_given(component: str) -> None:
    """Migrations and tests too, so that a cluster whose nodes are all tainted runs them."""
    pod = pods(ADDED)[component]
    container = at(pod, "spec", "containers", 0)

    assert "shop" == variables(container)["CLOUD"]
    assert [{"configMapRef": {"name": "cloud"}}] == at(container, "envFrom")
    assert "token" in names(at(pod, "spec", "volumes"))
    assert {"name": "token", "mountPath": "/run/token"} in cast(
        "list[Json]", at(container, "volumeMounts")
    )
    assert "true" == at(pod, "metadata", "labels", "azure.workload.identity/use")
    assert "true" == at(pod, "metadata", "annotations", "vault.hashicorp.com/agent-inject")
    assert {"disk": "ssd"} == at(pod, "spec", "nodeSelector")
    assert [{"key": "fairlead", "operator": "Exists"}] == at(pod, "spec", "tolerations")
    assert {"nodeAffinity": {}} == at(pod, "spec", "affinity")
    assert ("high", "gvisor", "None") == (
        at(pod, "spec", "priorityClassName"),
        at(pod, "spec", "runtimeClassName"),
        at(pod, "spec", "dnsPolicy"),
    )
    assert ["10.0.0.10"] == at(pod, "spec", "dnsConfig", "nameservers")
    assert [{"ip": "10.0.0.5", "hostnames": ["db"]}] == at(pod, "spec", "hostAliases")


@pytest.mark.parametrize("component", PROGRAMS)
def test_a_proxy_starts_before_the_program_and_keeps_no_job_from_ending(component: str) -> None:
    """It is a sidecar of Kubernetes' own: a plain container beside a Job's never ends."""
    spec = at(pods(ADDED)[component], "spec")
    before = cast("list[Object]", at(spec, "initContainers"))
    beside = names(at(spec, "containers"))

    assert {"proxy": "Always"}.items() <= {
        str(each["name"]): each.get("restartPolicy") for each in before
    }.items()
    if component in ENDING:
        assert ["agent", "proxy"] == names(at(spec, "initContainers"))
        assert all("Always" == each["restartPolicy"] for each in before)
        assert "agent" not in beside
    else:
        assert ["proxy"] == names(at(spec, "initContainers"))
        assert [component, "agent"] == beside


@pytest.mark.parametrize("component", PROGRAMS)
def test_every_program_asks_the_command_for_its_password(component: str) -> None:
    """One command for all of them: it learns the login from its environment."""
    given = variables(at(pods(ADDED)[component], "spec", "containers", 0))

    assert "cat /run/token/password" == given["FAIRLEAD_DATABASE_PASSWORD_COMMAND"]
    assert "10" == given["FAIRLEAD_DATABASE_PASSWORD_SECONDS"]
    assert "FAIRLEAD_DATABASE_PASSWORD_COMMAND" not in variables(
        at(pods({**GIVEN, **CONSOLE})[component], "spec", "containers", 0)
    )


def test_an_added_container_has_the_charts_rights_unless_it_says_its_own() -> None:
    """So a namespace at the level `restricted` takes it as it is."""
    own: Object = {**PROXY, "securityContext": {"runAsUser": 1000}}
    values: Object = {
        **GIVEN,
        "everyPod": {"extraContainers": [AGENT], "extraInitContainers": [own]},
    }
    spec = pods(values)["worker"]

    assert False is at(
        spec, "spec", "containers", 1, "securityContext", "allowPrivilegeEscalation"
    )
    assert {"runAsUser": 1000} == at(spec, "spec", "initContainers", 0, "securityContext")


def test_what_a_program_is_given_wins_over_what_every_pod_is_given() -> None:
    """An entry of a list by its name, a map by its keys; the rest of both stays."""
    every: Object = {
        "env": [{"name": "A", "value": "every"}, {"name": "B", "value": "every"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "podLabels": {"a": "every", "b": "every"},
        "tolerations": [{"key": "every", "operator": "Exists"}],
        "priorityClassName": "every",
    }
    own: Object = {
        "env": [{"name": "B", "value": "own"}],
        "volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}],
        "volumeMounts": [{"name": "w", "mountPath": "/v"}],
        "podLabels": {"b": "own"},
        "tolerations": [{"key": "own", "operator": "Exists"}],
        "priorityClassName": "own",
    }
    made = pods({**GIVEN, "everyPod": every, "migrations": own, "workerPoolDefaults": own})

    for component in ("migrate", "worker"):
        pod = made[component]
        given = variables(at(pod, "spec", "containers", 0))
        assert ("every", "own") == (given["A"], given["B"])
        volumes = cast("list[Object]", at(pod, "spec", "volumes"))
        assert [{"name": "v", "emptyDir": {"medium": "Memory"}}] == [
            each for each in volumes if each["name"] == "v"
        ]
        mounts = cast("list[Object]", at(pod, "spec", "containers", 0, "volumeMounts"))
        assert ["w"] == [each["name"] for each in mounts if each["mountPath"] == "/v"]
        assert {"a": "every", "b": "own"}.items() <= cast(
            "Object", at(pod, "metadata", "labels")
        ).items()
        assert ["every", "own"] == [
            each["key"] for each in cast("list[Object]", at(pod, "spec", "tolerations"))
        ]
        assert "own" == at(pod, "spec", "priorityClassName")
    assert "every" == at(made["scheduler"], "spec", "priorityClassName")


def test_the_trial_database_runs_where_every_pod_does_and_has_no_container_more() -> None:
    """A proxy in front of the database has nothing to do in its own pod."""
    every = cast("Object", ADDED["everyPod"])
    spec = at(pods({**TRIAL, "everyPod": every})["trial-database"], "spec")

    assert [{"key": "fairlead", "operator": "Exists"}] == at(spec, "tolerations")
    assert {"disk": "ssd"} == at(spec, "nodeSelector")
    assert (["postgresql"], None) == (
        names(at(spec, "containers")),
        at(spec, "initContainers"),
    )
    assert 999 == at(spec, "securityContext", "runAsUser")


def test_the_migrations_job_has_an_account_labels_and_an_end() -> None:
    """An account of its own for the owner's token, and the Job is deleted in time."""
    objects = render(ADDED)
    (job,) = of(objects, "Job")

    assert 600 == at(job, "spec", "ttlSecondsAfterFinished")
    assert "a" == at(job, "metadata", "labels", "team")
    assert "PreSync" == at(job, "metadata", "annotations", "argocd.argoproj.io/hook")
    assert "shop-fairlead-migrate" == at(job, *POD, "serviceAccountName")
    account = one(objects, "ServiceAccount", "shop-fairlead-migrate")
    assert {"iam": "owner"} == at(account, "metadata", "annotations")
    (plain,) = of(render(GIVEN), "Job")
    assert None is at(plain, "spec", "ttlSecondsAfterFinished")
    assert "default" == at(plain, *POD, "serviceAccountName")


def test_the_tests_pod_has_an_account_that_may_only_read_the_lease_and_pods() -> None:
    """Without one of its own it has the autoscaler's."""
    objects = render(ADDED)
    binding = one(objects, "RoleBinding", "shop-fairlead-test")
    role = one(objects, "Role", "shop-fairlead-test")

    assert "shop-fairlead-test" == at(
        one(objects, "Pod", "shop-fairlead-test"), "spec", "serviceAccountName"
    )
    assert "shop-fairlead-test" == at(binding, "subjects", 0, "name")
    assert [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["shop-fairlead-autoscaler"],
            "verbs": ["get"],
        },
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ] == at(role, "rules")
    plain = one(render(GIVEN), "Pod", "shop-fairlead-test")
    assert "shop-fairlead-autoscaler" == at(plain, "spec", "serviceAccountName")


def test_the_job_has_another_name_when_what_every_pod_has_changes() -> None:
    """A Job cannot be changed, so whatever is in its pod is in its name."""
    made = {
        str(at(of(render({**GIVEN, **each}), "Job")[0], "metadata", "name"))
        for each in cast(
            "list[Object]",
            [
                {},
                {"everyPod": {"tolerations": [{"operator": "Exists"}]}},
                {"migrations": {"ttlSecondsAfterFinished": 5}},
                {"migrations": {"serviceAccount": {"name": "a"}}},
            ],
        )
    }

    assert 4 == len(made)


def test_what_sidecars_reach_is_let_through() -> None:
    """An identity's service or a proxy's server is no port of the database."""
    fleet = one(render(ADDED), "NetworkPolicy", "shop-fairlead-fleet")

    assert {"ports": [{"port": 443, "protocol": "TCP"}]} in cast(
        "list[Json]", at(fleet, "spec", "egress")
    )


def test_no_value_is_added_to_pods_by_default() -> None:
    """Who sets nothing has the pods of before."""
    for name, spec in pod_specs(render(GIVEN)):
        assert not {"initContainers", "dnsConfig", "hostAliases", "runtimeClassName"} & set(
            spec
        )
        expected = (
            ["first-job", "release"]
            if name.startswith("Pod/")
            else names(at(spec, "containers"))[:1]
        )
        assert expected == names(at(spec, "containers"))
