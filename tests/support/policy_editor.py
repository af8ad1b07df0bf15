"""The policy's editor in tests: its texts, and what an operator types and presses there."""

import re
from typing import Final

from httpx2 import Response
from starlette.testclient import TestClient

from fairlead import policy_storage
from tests.support.children import register
from tests.support.forms import Page
from tests.support.operators import OPERATOR, SAME, known, post
from tests.support.race import Database

EDIT: Final = "/policy/edit"
OLD: Final = "queues:\n  - match: {queue: mail}\n"
NEW: Final = """queues:
  - match: {queue: mail}
    tenants:
      overrides:
        - {match: {tenant: acme}, weight: 10}
"""
_JOBS = """
    INSERT INTO fairlead.jobs (queue, tenant, kind)
    SELECT 'mail', tenant, 'send' FROM unnest(ARRAY['acme', 'globex']) tenant,
        generate_series(1, 400)
"""
_IN_FORCE = """
    INSERT INTO fairlead.policy_events (version, event, epoch)
    SELECT max(version), 'in_force', 1 FROM fairlead.policy_versions
"""
_CONFIGMAP = """
    UPDATE fairlead.install_options SET policy_source = 'configmap',
        policy_place = 'the ConfigMap shop-policy in the namespace shop'
"""


def rule(db: Database, document: str, author: str, reason: str) -> None:
    """Have a policy in force."""
    policy_storage.store(db, document, author=author, reason=reason)
    db.execute(_IN_FORCE)


def fill(db: Database) -> None:
    """Have a policy in force, a backlog and a worker."""
    rule(db, OLD, "bob", "to begin with")
    db.execute(_JOBS)
    register(db, slots=4)


def edit_in_the_cluster(db: Database) -> None:
    """Have the policy edited in a ConfigMap, as the autoscaler notes it."""
    db.execute(_CONFIGMAP)


def sent(client: TestClient, page: Response, step: str, **typed: str) -> Response:
    """Press a button of a page's editor, with what else is typed into its fields."""
    (form,) = Page(page.text).forms
    assert EDIT == form.action
    fields = {**form.fields, "reason": "because", **typed, "step": step}
    return post(client, EDIT, OPERATOR, SAME, **fields)


def begun(client: TestClient, path: str = EDIT) -> Response:
    """Open the editor."""
    page = client.get(path, headers=known(OPERATOR))
    assert 200 == page.status_code
    return page


def simulated(client: TestClient, document: str, **typed: str) -> Response:
    """Check and simulate a text."""
    checked = sent(client, begun(client), "check", document=document)
    answer = sent(client, checked, "simulate", **typed)
    assert 200 == answer.status_code, answer.text
    return answer


def offers(page: Response) -> set[str]:
    """Return the steps that a page offers."""
    return set(re.findall('name="step" value="([a-z]+)"', page.text))
