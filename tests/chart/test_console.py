"""The console of the chart: off by default, closed to strangers, a login that only looks."""

from typing import cast

from tests.support.chart import (
    CONSOLE,
    GIVEN,
    TRIAL,
    Json,
    Object,
    at,
    environment,
    needs_helm,
    of,
    one,
    render,
)

pytestmark = [needs_helm]

NAME = "shop-fairlead-console"
POD = ("spec", "template", "spec")


def with_console(**values: Json) -> tuple[Object, ...]:
    """Return the objects of a release with a console of these values."""
    own = cast("Object", CONSOLE["console"])
    return render({**GIVEN, "console": {**own, **values}, "networkPolicy": {"enabled": True}})


def test_it_is_off_by_default() -> None:
    """Nothing of a release that did not ask for it is the console's."""
    values: Object = {**GIVEN, "networkPolicy": {"enabled": True}}
    assert [] == [
        each
        for each in render(values)
        if at(each, "metadata", "labels", "app.kubernetes.io/component") == "console"
    ]


def test_its_pods_have_a_viewers_url_and_the_logins_and_no_secret_in_a_variable() -> None:
    """Both are files, and without the logins no pod starts."""
    made = one(with_console(), "Deployment", NAME)
    given = environment(made)
    secrets = {
        str(each["name"]): cast("Object", each["secret"])
        for each in cast("list[Object]", at(made, *POD, "volumes"))
        if "secret" in each
    }

    assert [{"key": "console", "path": "url"}] == secrets["database"]["items"]
    assert ("db", "who") == tuple(
        secrets[name]["secretName"] for name in ("database", "logins")
    )
    assert "optional" not in secrets["logins"]
    assert "/run/fairlead/logins/logins" == given["FAIRLEAD_CONSOLE_LOGINS_FILE"]
    assert "FAIRLEAD_CONSOLE_LOGINS" not in given
    assert "FAIRLEAD_DATABASE_URL" not in given
    assert ("0.0.0.0", "8420") == (  # noqa: S104 - the pod's own, behind logins
        given["FAIRLEAD_CONSOLE_HOST"],
        given["FAIRLEAD_CONSOLE_PORT"],
    )


def test_its_service_leads_to_its_port() -> None:
    """That of the pages alone; metrics are read where those of all programs are."""
    objects = with_console(port=9000, service={"port": 443, "type": "NodePort"})
    made = one(objects, "Service", NAME)

    assert ("NodePort", 443, 9000) == (
        at(made, "spec", "type"),
        at(made, "spec", "ports", 0, "port"),
        at(made, "spec", "ports", 0, "targetPort"),
    )
    assert at(made, "spec", "selector") == at(
        one(objects, "Deployment", NAME), "spec", "selector", "matchLabels"
    )


def test_its_pages_may_be_reached_from_where_the_values_say() -> None:
    """And the other pods by nobody more; out it goes to DNS and the database."""
    ingress: Json = [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]
    objects = with_console(networkFrom=ingress)
    own = one(objects, "NetworkPolicy", NAME)
    fleet = one(objects, "NetworkPolicy", "shop-fairlead-fleet")

    assert [{"ports": [{"port": 8420, "protocol": "TCP"}], "from": ingress}] == at(
        own, "spec", "ingress"
    )
    assert ["Ingress"] == at(own, "spec", "policyTypes")
    assert "console" in cast(
        "list[Json]", at(fleet, "spec", "podSelector", "matchExpressions", 0, "values")
    )
    ports = [
        cast("Object", port)["port"]
        for rule in cast("list[Object]", at(fleet, "spec", "egress"))
        for port in cast("list[Json]", rule["ports"])
    ]
    assert {53, 5353, 5432} == set(ports)
    reached = [
        at(each, "spec", "podSelector", "matchLabels", "app.kubernetes.io/component")
        for each in of(objects, "NetworkPolicy")
        if any(
            cast("Object", port)["port"] == 8420
            for rule in cast("list[Object]", at(each, "spec", "ingress") or [])
            for port in cast("list[Json]", rule["ports"])
        )
    ]
    assert ["console"] == reached


def test_settings_and_fields_of_its_pods_are_the_values() -> None:
    """As for the other programs."""
    objects = with_console(
        settings={"consolePayloads": True},
        volumes=[{"name": "more", "emptyDir": {}}],
        volumeMounts=[{"name": "more", "mountPath": "/more"}],
        serviceAccount={"annotations": {"iam": "viewer"}},
    )
    made = one(objects, "Deployment", NAME)
    mounts = cast("list[Object]", at(made, *POD, "containers", 0, "volumeMounts"))

    assert "true" == environment(made)["FAIRLEAD_CONSOLE_PAYLOADS"]
    assert {"/run/fairlead/logins", "/more"} <= {str(each["mountPath"]) for each in mounts}
    account = one(objects, "ServiceAccount", NAME)
    assert "viewer" == at(account, "metadata", "annotations", "iam")
    assert NAME == at(made, *POD, "serviceAccountName")


def test_a_trial_has_a_login_for_it() -> None:
    """The trial database makes it, and its Secret has the URL."""
    secret = one(render({**TRIAL, **CONSOLE}), "Secret", "shop-fairlead-trial-database")

    assert str(at(secret, "stringData", "console")).startswith(
        "postgresql://trial_console:trial@"
    )


def test_without_operators_no_pod_has_a_login_that_could_change_anything() -> None:
    """With them there is a second one, which is a file as well."""
    plain, acting = (
        one(with_console(operators=cast("list[Json]", names)), "Deployment", NAME)
        for names in ([], ["ada", "bo"])
    )
    volumes = {
        str(each["name"]): each for each in cast("list[Object]", at(acting, *POD, "volumes"))
    }

    assert "operator" not in str(at(plain, "spec"))
    assert "ada,bo" == environment(acting)["FAIRLEAD_CONSOLE_OPERATORS"]
    assert (
        "/run/fairlead/operator/url"
        == (environment(acting)["FAIRLEAD_CONSOLE_OPERATOR_URL_FILE"])
    )
    assert [{"key": "operator", "path": "url"}] == at(volumes["operator"], "secret", "items")
    assert "db" == at(volumes["operator"], "secret", "secretName")


_PROXY: Object = {
    "userHeader": "X-Forwarded-Preferred-Username",
    "groupsHeader": "X-Forwarded-Groups",
    "networks": ["127.0.0.1/32", "fd00::/64"],
    "operatorGroups": ["on call", "sre"],
}


def test_a_proxy_signs_people_in_where_the_values_say_so() -> None:
    """Its pods need no logins then; the Service may lead to a proxy among them."""
    objects = with_console(
        logins={"existingSecret": ""}, proxy=_PROXY, service={"targetPort": 4180}
    )
    made = one(objects, "Deployment", NAME)
    given = environment(made)
    volumes = {str(each["name"]) for each in cast("list[Object]", at(made, *POD, "volumes"))}

    assert "FAIRLEAD_CONSOLE_LOGINS_FILE" not in given
    assert {
        "USER_HEADER": "X-Forwarded-Preferred-Username",
        "GROUPS_HEADER": "X-Forwarded-Groups",
        "TRUSTED_PROXIES": "127.0.0.1/32,fd00::/64",
        "VIEWER_GROUPS": "",
        "OPERATOR_GROUPS": "on call,sre",
        "OPERATORS": "",
        "OPERATOR_URL_FILE": "/run/fairlead/operator/url",
        "HOST": "0.0.0.0",  # noqa: S104 - the pod's own, where headers are believed from the proxy
        "PORT": "8420",
    } == {
        name.removeprefix("FAIRLEAD_CONSOLE_"): value
        for name, value in given.items()
        if name.startswith("FAIRLEAD_CONSOLE_")
    }
    assert ("logins" in volumes, "operator" in volumes) == (False, True)
    ports = at(one(objects, "Service", NAME), "spec", "ports", 0)
    assert (80, 4180) == (at(ports, "port"), at(ports, "targetPort"))
    assert 4180 == at(
        one(objects, "NetworkPolicy", NAME), "spec", "ingress", 0, "ports", 0, "port"
    )
