"""The chart's console, asked over the pods' network: with logins, then behind a proxy.

The tests go on with one release, in the order in which they stand here.
"""

import json
from time import monotonic

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.cluster.conftest import VALUES as TRIAL
from tests.support import cluster, pods
from tests.support.chart import Object, at
from tests.support.cluster import NAMED, Release
from tests.support.consoles import SCREENS
from tests.support.operators import OPERATOR, READER, SAME, known
from tests.support.pods import Answer, Request
from tests.support.waiting import until

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)

pytestmark = pytest.mark.timeout(cluster.TIMEOUT_SECONDS)

CONSOLE = f"{NAMED}-console"
PAGES = f"http://{CONSOLE}"
"""The Service by its name, as an Ingress reaches it."""

PAGES_PORT = 8420
PROXY_PORT = 4180
ALLOWED, STRANGER = "ingress", "stranger"
"""The pods that ask; the first one is among the peers of `console.networkFrom`."""

USER, GROUPS = "X-Forwarded-User", "X-Forwarded-Groups"

# A stand-in for one that signs people in: who they are stands in a cookie, `name/group`.
PROXY = f"""
import http.client, http.server

class Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name, _, group = self.headers.get("Cookie", "").partition("/")
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        said = {{
            key: value
            for key, value in self.headers.items()
            if key.lower() not in ("{USER.lower()}", "{GROUPS.lower()}")
        }}
        if name:
            said |= {{"{USER}": name, "{GROUPS}": group}}
        there = http.client.HTTPConnection("127.0.0.1", {PAGES_PORT}, timeout=30)
        there.request(self.command, self.path, body, said)
        answer = there.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET

http.server.ThreadingHTTPServer(("", {PROXY_PORT}), Proxy).serve_forever()
"""
LITTLE: Object = {"requests": {"cpu": "20m", "memory": "64Mi"}}
COMMON: Object = {
    "enabled": True,
    "networkFrom": [{"podSelector": {"matchLabels": {"role": ALLOWED}}}],
    "resources": LITTLE,
}
WITH_LOGINS: Object = {**COMMON, "logins": {"existingSecret": "logins"}, "operators": ["ada"]}
BEHIND_A_PROXY: Object = {
    **COMMON,
    "proxy": {
        "userHeader": USER,
        "groupsHeader": GROUPS,
        "networks": ["127.0.0.1/32"],
        "viewerGroups": ["staff"],
        "operatorGroups": ["sre"],
    },
    "service": {"targetPort": PROXY_PORT},
    "extraContainers": [
        {
            "name": "proxy",
            "image": cluster.IMAGE,
            "command": ["python3", "-c", PROXY],
            "readinessProbe": {"tcpSocket": {"port": PROXY_PORT}, "periodSeconds": 1},
            "resources": LITTLE,
        }
    ],
}
CLOSED: Object = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "closed"},
    "spec": {"podSelector": {"matchLabels": {"role": ALLOWED}}, "policyTypes": ["Ingress"]},
}
PAUSES = "SELECT actor, queue FROM fairlead.audit WHERE verb = 'pause' ORDER BY id"


def values(console: Object) -> Object:
    """Return values of a release with a console, behind NetworkPolicies."""
    pool: Object = {"autoscale": {"min": 1, "max": 1}}
    return {
        **TRIAL,
        **cluster.values({"default": pool}),
        "console": console,
        "networkPolicy": {"enabled": True, "apiServerPorts": cluster.api_server_ports()},
    }


@pytest.fixture(scope="module", autouse=True)
def installed(release: Release) -> None:
    """Install the release that the tests go on with, and the pods that ask."""
    write_logins(release, OPERATOR, READER)
    release.install(values(WITH_LOGINS))
    for role in (ALLOWED, STRANGER):
        pods.make(release, role, {"role": role})


def write_logins(release: Release, *logins: tuple[str, str]) -> None:
    """Make or change the Secret that says who may look."""
    lines = "\n".join(":".join(each) for each in logins)
    secret: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "logins"},
        "stringData": {"logins": lines},
    }
    release.kubectl("apply", "--filename=-", given=json.dumps(secret))


def page(
    release: Release, path: str = "/queues", *, pod: str = ALLOWED, **headers: str
) -> Answer:
    """Have a pod ask the Service for a page."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    (answer,) = pods.ask(release, pod, Request(url=PAGES + path, headers=named))
    return answer


def token_in(answer: Answer) -> str:
    """Return the token of an operator's forms; empty: the page has none."""
    return answer.text.partition('name="token" value="')[2].partition('"')[0]


def pause(release: Release, queue: str, token: str, who: dict[str, str]) -> int:
    """Ask for a pause of a queue; return the status of the answer."""
    form = {"token": token, "queue": queue, "reason": "bank is away"}
    asked = Request(url=f"{PAGES}/queues/pause", headers={**SAME, **who}, form=form)
    (answer,) = pods.ask(release, ALLOWED, asked)
    return answer.status


def test_every_page_is_there_for_who_logs_in_and_for_nobody_else(release: Release) -> None:
    """Over the Service, from another pod."""
    wrong = known(("ada", "guessed"))
    for headers, status in ((known(READER), 200), ({}, 401), (wrong, 401)):
        asked = [Request(url=PAGES + path, headers=headers) for path in SCREENS]

        answers = pods.ask(release, ALLOWED, *asked)

        assert {status} == {each.status for each in answers}


def test_an_operator_acts_in_their_own_name(release: Release, db: Connection[TupleRow]) -> None:
    """By the login for that; a reader sees no form, and is refused with a stolen token."""
    token = token_in(page(release, **known(OPERATOR)))
    assert token
    assert "" == token_in(page(release, **known(READER)))

    said = [pause(release, "mail", token, known(who)) for who in (READER, OPERATOR)]

    assert [403, 303] == said
    assert [("ada", "mail")] == db.execute(PAUSES).fetchall()


def test_a_login_that_is_taken_away_is_refused_and_no_pod_starts_anew(
    release: Release, figures: dict[str, float]
) -> None:
    """The Secret is read again."""
    before = [at(each, "metadata", "uid") for each in release.pods("console")]
    written = monotonic()
    write_logins(release, READER)
    # A change of the pod has its files written at once, and not within the kubelet's minute.
    release.kubectl("annotate", "pods", "--all", "fairlead-test/looked=again")

    until(
        lambda: page(release, **known(OPERATOR)).status == 401,
        what="the refusal of a login that is gone",
        seconds=90,
    )

    figures["a login is taken away: to its refusal"] = monotonic() - written
    assert 200 == page(release, **known(READER)).status
    assert before == [at(each, "metadata", "uid") for each in release.pods("console")]


def test_a_pod_that_the_policy_does_not_name_reaches_no_page(release: Release) -> None:
    """Where the cluster's network keeps NetworkPolicies; one of our own tells."""
    release.kubectl("apply", "--filename=-", given=json.dumps(CLOSED))
    served = Request(url=f"http://{address(release, ALLOWED)}:{pods.SERVED}", headers={})
    try:
        (answer,) = pods.ask(release, STRANGER, served)
    finally:
        release.kubectl("delete", "networkpolicy", "closed")
    if answer.status:
        pytest.skip("the network of this cluster does not keep NetworkPolicies")

    assert 0 == page(release, pod=STRANGER, **known(READER)).status
    assert 200 == page(release, **known(READER)).status


def address(release: Release, pod: str) -> str:
    """Return a pod's address."""
    return str(at(release.got("pod", pod), "status", "podIP"))


def test_behind_a_proxy_only_its_word_counts(
    release: Release, db: Connection[TupleRow]
) -> None:
    """Who has signed in looks, who is in the group acts; past the proxy nobody is anybody."""
    release.upgrade(values(BEHIND_A_PROXY))
    release.await_rollout(CONSOLE)
    until(
        lambda: len(release.pods("console")) == 1, what="the end of the former pod", seconds=60
    )
    until(
        lambda: page(release, Cookie="grace/staff").status == 200,
        what="a page behind the proxy",
        seconds=30,
    )
    forged = {USER: "ada", GROUPS: "sre"}

    seen = {
        cookie: page(release, Cookie=cookie, **forged).status
        for cookie in ("grace/staff", "ada/sre", "eve/guests", "")
    }
    assert {"grace/staff": 200, "ada/sre": 200, "eve/guests": 403, "": 401} == seen
    (pod,) = release.pods("console")
    past = f"http://{at(pod, 'status', 'podIP')}:{PAGES_PORT}/queues"
    (answer,) = pods.ask(release, ALLOWED, Request(url=past, headers=forged))
    assert answer.status in {0, 401}

    token = token_in(page(release, Cookie="ada/sre"))
    refused = pause(release, "bills", token, {"Cookie": "grace/staff", **forged})
    done = pause(release, "bills", token, {"Cookie": "ada/sre"})

    assert (403, 303) == (refused, done)
    assert [("ada", "mail"), ("ada", "bills")] == db.execute(PAUSES).fetchall()
