"""How the programs of the chart reach the database: their logins, and the certificates."""

from typing import cast

from tests.support.chart import (
    GIVEN,
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


def one_scheduler(**values: Json) -> Object:
    """Return the scheduler's Deployment with these values of the chart."""
    return one(render({**GIVEN, **values}), "Deployment", "shop-fairlead-scheduler")


def test_each_program_has_the_credentials_of_its_role_alone() -> None:
    """One key of the Secret is mounted as a file; none is in a variable."""
    objects = render({"database": {"existingSecret": "db", "keys": {"worker": "worker-url"}}})
    keys = {
        str(each["kind"])
        + str(at(each, "metadata", "labels", "app.kubernetes.io/component")): [
            at(volume, "secret", "items")
            for volume in cast(
                "list[Object]", at(each, *POD, "volumes") or at(each, "spec", "volumes")
            )
            if "secret" in volume
        ]
        for each in objects
        if each["kind"] in {"Deployment", "Job", "Pod"}
    }

    assert {
        "Deploymentautoscaler": [[{"key": "autoscaler", "path": "url"}]],
        "Deploymentscheduler": [[{"key": "scheduler", "path": "url"}]],
        "Deploymentworker": [[{"key": "worker-url", "path": "url"}]],
        "Jobmigrate": [[{"key": "owner", "path": "url"}]],
        "Podtest": [[{"key": "enqueue", "path": "url"}]],
    } == keys
    assert () == of(objects, "Secret")


def test_a_pool_may_have_a_login_of_its_own() -> None:
    """Its Deployment mounts that Secret, and the others the one of all pools."""
    made = render(
        {
            **GIVEN,
            "workerPools": {
                "default": {},
                "reports": {"database": {"existingSecret": "reports-db", "key": "url"}},
            },
        }
    )
    mounted = {
        str(at(each, *POD[:-1], "metadata", "labels", "fairlead/pool")): [
            (at(volume, "secret", "secretName"), at(volume, "secret", "items"))
            for volume in cast("list[Object]", at(each, *POD, "volumes"))
            if "secret" in volume
        ]
        for each in of(made, "Deployment")
        if at(each, "metadata", "labels", "app.kubernetes.io/component") == "worker"
    }

    assert {
        "default": [("db", [{"key": "worker", "path": "url"}])],
        "reports": [("reports-db", [{"key": "url", "path": "url"}])],
    } == mounted


def test_certificates_are_given_to_libpq() -> None:
    """The authority's certificate and our own are mounted, and libpq's variables name them."""
    made = one_scheduler(
        database={
            "existingSecret": "db",
            "tls": {"existingSecret": "ca", "clientCertificate": True},
        }
    )

    assert "verify-full" == environment(made)["PGSSLMODE"]
    assert "/run/fairlead/tls/ca.crt" == environment(made)["PGSSLROOTCERT"]
    assert "/run/fairlead/tls/tls.key" == environment(made)["PGSSLKEY"]
    mounts = cast("list[Object]", at(made, *POD, "containers", 0, "volumeMounts"))
    assert "/run/fairlead/tls" in {str(each["mountPath"]) for each in mounts}


def test_a_pod_waits_for_the_certificate_of_its_authority() -> None:
    """Without it, a connection with `sslmode=require` would not check the server."""
    volumes = {
        name: at(volume, "secret", "optional")
        for name, pod in pod_specs(
            render({"database": {"existingSecret": "db", "tls": {"existingSecret": "ca"}}})
        )
        for volume in cast("list[Object]", pod["volumes"])
        if volume["name"] == "tls"
    }

    assert 5 == len(volumes)
    assert {None} == set(volumes.values())


def test_without_an_authority_libpq_and_the_url_decide() -> None:
    """No variable asks for encryption that a server on the same network may not have."""
    assert [] == [name for name in environment(one_scheduler()) if name.startswith("PGSSL")]
