"""Values that cannot work are refused, with the field's name, before anything is installed."""

import pytest

from tests.support.chart import GIVEN, TRIAL, Object, Refused, needs_helm, render

pytestmark = [needs_helm]

POOLS: Object = {f"pool{place}": {} for place in range(50)}
NO_DEPLOYMENT: Object = {
    "pools": [{"name": "b", "queues": ["*"], "autoscale": {"objective": "5s"}}]
}
LONGER: Object = {"pools": [{"name": "default", "queues": ["*"], "timeoutMax": "2h"}]}
UPSIDE_DOWN: Object = {
    "pools": [{"name": "default", "queues": ["*"], "autoscale": {"objective": "5s", "min": 11}}]
}
ONE: Object = {"pools": [{"name": "default", "queues": ["*"]}]}
TAKING_OVER: Object = {"mode": "none", "takeOver": True}
IAM: Object = {"serviceAccount": {"name": "a", "annotations": {"iam": "x"}}}
SAME_ACCOUNT: Object = {"serviceAccount": {"create": True, "name": "a"}}
HOOK_OF_ACCOUNT: Object = {"mode": "hook", "serviceAccount": {"name": "a"}}
UNSEEN: Object = {"enabled": True, "logins": {"existingSecret": "who"}}
BELIEVED: Object = {"enabled": True, "proxy": {"userHeader": "X-User"}}
STUCK: Object = {"maxUnavailable": "0%", "maxSurge": 0}
STORED: Object = {"source": "database", "document": {"version": 1}}


def refused(values: Object) -> str:
    """Return what helm says against values that it must not take."""
    with pytest.raises(Refused) as caught:
        render(values)
    return caught.value.said


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"scheduler": {"replicas": "two"}}, "'/scheduler/replicas': got string, want integer"),
        ({"scheduler": {"replica": 1}}, "'/scheduler': additional properties 'replica'"),
        (
            {"scheduler": {"settings": {"queuedMax": 0}}},
            "'/scheduler/settings/queuedMax': minimum: got 0, want 1",
        ),
        (
            {"scheduler": {"settings": {"workerLeaseSeconds": 5}}},
            "'/scheduler/settings': additional properties 'workerLeaseSeconds'",
        ),
        ({"settings": {"logLevel": "loud"}}, "'/settings/logLevel': value must be one of"),
        (
            {"workerPools": {"a": {"concurency": 5}}},
            "'/workerPools/a': additional properties 'concurency'",
        ),
        (
            {"workerPools": {"a": {"image": {"digest": "latest"}}}},
            "'/workerPools/a/image/digest': 'latest' does not match",
        ),
        ({"workerPools": {"Reports": {}}}, "invalid propertyName 'Reports'"),
        ({"workerPoolDefaults": {"app": "jobs"}}, "'/workerPoolDefaults/app': 'jobs' does not"),
        ({"migrations": {"mode": "init"}}, "'/migrations/mode': value must be one of"),
        (
            {"workerPools": {"a": {"autoscale": {"objectiv": "5s"}}}},
            "'/workerPools/a/autoscale': additional properties 'objectiv'",
        ),
        (
            {"workerPools": {"a": {"autoscale": {"objective": 30}}}},
            "'/workerPools/a/autoscale/objective': got number, want string",
        ),
        (
            {"workerPools": {"a": {"autoscale": {"schedules": [{"start": "8:00"}]}}}},
            "'/workerPools/a/autoscale/schedules/0/start': '8:00' does not match",
        ),
        (
            {"policy": {"document": {"queues": [{"match": {"queue": "a"}, "wieght": 2}]}}},
            "'/policy/document/queues/0': additional properties 'wieght'",
        ),
        ({"healthPort": 80}, "'/healthPort': minimum: got 80, want 1,024"),
        (
            {"everyPod": {"extraContainers": [{"name": "proxy"}]}},
            "'/everyPod/extraContainers/0': missing property 'image'",
        ),
        (
            {"migrations": {"env": [{"value": "x"}]}},
            "'/migrations/env/0': missing property 'name'",
        ),
        (
            {"everyPod": {"hostAliases": [{"ip": "10.0.0.5"}]}},
            "'/everyPod/hostAliases/0': missing property 'hostnames'",
        ),
        (
            {"workerPools": {"a": {"strategy": {"maxSurge": 1}}}},
            "'/workerPools/a/strategy': additional properties 'maxSurge' not allowed",
        ),
        (
            {"scheduler": {"strategy": {"rollingUpdate": {"maxSurge": "some"}}}},
            "'/scheduler/strategy/rollingUpdate/maxSurge': 'some' does not match pattern",
        ),
        (
            {"workerPools": {"a": {"lifecycle": {"prestop": {}}}}},
            "'/workerPools/a/lifecycle': additional properties 'prestop' not allowed",
        ),
        (
            {"scheduler": {"dnsPolicy": "Cluster"}},
            "'/scheduler/dnsPolicy': value must be one of",
        ),
        (
            {"migrations": {"ttlSecondsAfterFinished": "1h"}},
            "'/migrations/ttlSecondsAfterFinished': got string, want integer",
        ),
    ],
    ids=str,
)
def test_a_bad_value_is_named_by_the_schema(values: Object, said: str) -> None:
    """Bad values get a schema error from helm that names the field."""
    assert said in refused({**GIVEN, **values})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {**GIVEN, "console": {"enabled": True}},
            "console.logins.existingSecret is missing, so everybody in the cluster could read",
        ),
        (
            {**GIVEN, "console": {**UNSEEN, "port": 8080}},
            "console.port is 8080, which is healthPort",
        ),
        (
            {**GIVEN, "console": {**UNSEEN, **BELIEVED}},
            "console.logins.existingSecret and console.proxy.userHeader are both set",
        ),
        (
            {**GIVEN, "console": BELIEVED},
            "console.proxy.networks is missing, so the header",
        ),
        ({}, "Set database.existingSecret"),
        ({**GIVEN, **TRIAL}, "database.existingSecret and trialDatabase.enabled are all set"),
        (
            {"database": {"existingSecret": "db", "url": "postgresql://db/a"}},
            "database.existingSecret and database.url are all set",
        ),
        (
            {**TRIAL, "database": {"tls": {"existingSecret": "ca"}}},
            "the trial database has no certificate: remove database.tls.existingSecret",
        ),
        (
            {**TRIAL, "database": {"passwordCommand": "token"}},
            "the trial database has passwords of its own: remove database.passwordCommand",
        ),
        (
            {
                **GIVEN,
                "scheduler": IAM,
                "migrations": SAME_ACCOUNT,
            },
            "scheduler.serviceAccount and migrations.serviceAccount both create a, with",
        ),
        (
            {
                **GIVEN,
                "scheduler": {"serviceAccount": {"name": "a"}},
                "migrations": HOOK_OF_ACCOUNT,
            },
            "migrations.mode=hook runs before the ServiceAccount a exists",
        ),
        (
            {**GIVEN, "workerPoolDefaults": {"strategy": {"rollingUpdate": STUCK}}},
            "workerPools.default.strategy.rollingUpdate has maxUnavailable and maxSurge both 0",
        ),
        (
            {**GIVEN, "scheduler": {"strategy": {"rollingUpdate": {"maxSurge": 0}}}},
            "scheduler.strategy.rollingUpdate has maxUnavailable and maxSurge both 0",
        ),
        ({**TRIAL, "migrations": {"mode": "hook"}}, "migrations.mode=hook runs before"),
        (
            {**GIVEN, "migrations": TAKING_OVER},
            "migrations.takeOver has no effect with migrations.mode=none",
        ),
        (
            {
                **GIVEN,
                "metrics": {
                    "podMonitor": {"enabled": True},
                    "serviceMonitor": {"enabled": True},
                },
            },
            "every series would be scraped twice",
        ),
        (
            {
                **GIVEN,
                "metrics": {"service": {"enabled": False}, "serviceMonitor": {"enabled": True}},
            },
            "metrics.serviceMonitor.enabled needs metrics.service.enabled=true",
        ),
        (
            {**GIVEN, "autoscaler": {"replicas": 0}},
            "autoscaler.replicas=0 would leave every pool at one pod",
        ),
        (
            {**GIVEN, "autoscaler": {"replicas": 0, "enabled": False}},
            "autoscaler.replicas=0 would leave the policy unread",
        ),
        (
            {**GIVEN, "autoscaler": {"serviceAccount": {"create": False}}},
            "set autoscaler.serviceAccount.name",
        ),
        (
            {**GIVEN, "policy": STORED},
            "policy.document has no effect with policy.source=database",
        ),
        (
            {**GIVEN, "workerPools": POOLS},
            "workerPools has 51 pools, but a policy may have at most 50",
        ),
        (
            {**GIVEN, "workerPools": {"a": {"autoscale": {"min": 11}}}},
            "workerPools.a.autoscale.min (11) is above its max (10)",
        ),
        (
            {**GIVEN, "policy": {"document": NO_DEPLOYMENT}},
            "b has autoscale but no Deployment: add workerPools.b",
        ),
        (
            {
                **GIVEN,
                "workerPools": {"default": {"longestTimeoutSeconds": 300}},
                "policy": {"document": LONGER},
            },
            "cut jobs short: set workerPools.default.longestTimeoutSeconds=7200",
        ),
        (
            {**GIVEN, "policy": {"document": UPSIDE_DOWN}},
            "workerPools.default.autoscale.min (11) is above its max (10)",
        ),
        (
            {**GIVEN, "workerPools": {"a": {}}, "policy": {"document": ONE}},
            "policy.document.pools leaves out a, whose pods",
        ),
        (
            {**GIVEN, "workerPools": {"a": {"graceSeconds": 60}}},
            "workerPools.a.graceSeconds (60) is shorter than the longest time of an attempt",
        ),
        (
            {
                **GIVEN,
                "scheduler": {"settings": {"timeoutMaxSeconds": 100}},
                "workerPools": {"a": {"graceSeconds": 60}},
            },
            "shorter than the longest time of an attempt (100 s)",
        ),
    ],
    ids=str,
)
def test_values_that_do_not_go_together_are_refused_in_one_sentence(
    values: Object, said: str
) -> None:
    """The chart refuses what a schema cannot check, and names the fields and the fix."""
    assert said in refused(values)


def test_a_budget_beyond_the_grace_is_taken_where_jobs_may_be_cut_short() -> None:
    """With `cutShort` it is accepted, whichever field sets the budget."""
    pool: Object = {"longestTimeoutSeconds": 300, "cutShort": True}
    said: Object = {"policy": {"document": LONGER}, "workerPools": {"default": pool}}

    assert render({**GIVEN, **said})
