"""The policy's editor: checked at the line, simulated, and applied as simulated alone."""

import re
from html import unescape
from time import time

import pytest
import yaml
from starlette.testclient import TestClient

from fairlead import ownership, policy_storage
from fairlead.policy import PolicyRefused, parse
from fairlead.settings import DatabaseSettings
from fairlead_console.reads import policy_store
from fairlead_console.web import acting
from tests.support.forms import Page
from tests.support.logins import as_login, login
from tests.support.operators import OPERATOR, READER, SAME, known, post, staffed
from tests.support.policy_editor import (
    EDIT,
    NEW,
    OLD,
    begun,
    edit_in_the_cluster,
    fill,
    offers,
    rule,
    sent,
    simulated,
)
from tests.support.race import Database

_WRONG = "queues:\n  - match: {queue: mail}\n    wieght: 3\n"
_STORED = "SELECT document, author, reason FROM fairlead.policy_versions ORDER BY version"
_AUDIT = (
    "SELECT actor, reason, login::text FROM fairlead.audit"
    " WHERE verb = 'apply_policy' ORDER BY id DESC LIMIT 1"
)


@pytest.fixture
def operator_roles() -> tuple[str, ...]:
    """Return what a login has to be to store policies, too."""
    return ("fairlead_operator", "fairlead_admin")


@pytest.fixture
def stored(db: Database) -> Database:
    """Have a policy in force, a backlog and a worker."""
    fill(db)
    return db


def versions(db: Database) -> list[str]:
    """Return the stored documents."""
    return [str(row[0]) for row in db.execute(_STORED.encode()).fetchall()]


def test_an_error_stands_at_its_line_and_nothing_is_stored(
    client: TestClient, stored: Database
) -> None:
    """In the sentence of `fairlead policy check`; the text stays as it was typed."""
    page = begun(client)
    assert OLD == Page(page.text).forms[0].fields["document"]

    wrong = sent(client, page, "check", document=_WRONG.replace("\n", "\r\n"))

    with pytest.raises(PolicyRefused) as refused:
        parse(_WRONG)
    assert str(refused.value) in unescape(wrong.text)
    marked = r'class="wrong"><th scope="row">3</th><td><pre>    wieght: 3</pre>'
    assert re.search(marked, wrong.text)
    assert {"check"} == offers(wrong)
    assert _WRONG == Page(wrong.text).forms[0].fields["document"]
    assert {"check"} == offers(sent(client, wrong, "simulate"))
    assert [OLD] == versions(stored)


def test_a_text_is_checked_simulated_and_applied(
    client: TestClient, stored: Database, operator_login: str
) -> None:
    """Shares and waits stand side by side; the history and the audit log have the person."""
    checked = sent(client, begun(client), "check", document=NEW)
    assert "Digest " in checked.text
    assert "queue rules 1, tenant overrides 1, rules 0, bands 0." in checked.text
    assert '<span class="added">+     tenants:' in checked.text
    assert {"check", "simulate"} == offers(checked)

    answer = sent(client, checked, "simulate")

    assert {"check", "simulate", "apply"} == offers(answer)
    assert "“acme” in queue “mail” gets " in answer.text
    assert "instead of 50%" in answer.text
    assert "800 jobs wait, 0 are in flight; 4 slots in pool default" in answer.text
    assert re.search(r'aria-label="[\d.]+% in force, [\d.]+% with this document"', answer.text)
    assert "style=" not in answer.text
    assert [OLD] == versions(stored)
    done = sent(client, answer, "apply", reason="  acme   pays ")

    assert 303 == done.status_code
    shown = client.get(done.headers["location"], headers=known(OPERATOR)).text
    assert "It is stored. The scheduler puts it in force" in shown
    assert (NEW, "ada", "acme pays") == stored.execute(_STORED.encode()).fetchall()[-1]
    assert ("ada", "acme pays", operator_login) == stored.execute(_AUDIT).fetchone()


def test_only_what_was_simulated_is_applied(client: TestClient, stored: Database) -> None:
    """Another text, another version to replace, another person or two hours later: nothing."""
    checked = sent(client, begun(client), "check", document=NEW)
    unseen = sent(client, checked, "apply")
    answer = sent(client, checked, "simulate")
    seal = Page(answer.text).forms[0].fields["seal"]
    forged = [
        unseen,
        sent(client, answer, "apply", document=NEW + "# and more\n"),
        sent(client, answer, "apply", seal=""),
        sent(client, answer, "apply", seal="0" * 64),
        sent(client, answer, "apply", seal=Page(answer.text).forms[0].fields["token"]),
        sent(client, checked, "apply", document=OLD, seal=seal),
    ]

    for each in forged:
        assert 409 == each.status_code
        assert "this text was not simulated by you" in each.text
        assert "apply" not in offers(each)
    assert [OLD] == versions(stored)
    assert NEW + "# and more\n" == Page(forged[1].text).forms[0].fields["document"]


def test_what_was_simulated_long_ago_is_simulated_again(
    client: TestClient, stored: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fleet is another one by then."""
    answer = simulated(client, NEW)
    later = int(time() // 3600) + 2
    monkeypatch.setattr(acting, "_hour", lambda: later)

    assert "this text was not simulated by you" in sent(client, answer, "apply").text
    assert [OLD] == versions(stored)


def test_a_policy_that_changed_meanwhile_is_said_and_stays(
    client: TestClient, stored: Database
) -> None:
    """Whoever has seen it may go on, over the newer one."""
    answer = simulated(client, NEW)
    other = OLD + "    weight: 2\n"
    policy_storage.store(stored, other, author="eve", reason="in a hurry")

    late = sent(client, answer, "apply")

    assert 409 == late.status_code
    assert "Version 2 was stored meanwhile, by eve: in a hurry." in late.text
    assert "Nothing was applied." in late.text
    assert {"check", "simulate"} == offers(late)
    assert '<span class="removed">-     weight: 2' in late.text
    assert [OLD, other] == versions(stored)
    done = sent(client, sent(client, late, "simulate"), "apply")
    assert 303 == done.status_code
    assert [OLD, other, NEW] == versions(stored)


def test_a_version_that_comes_at_the_last_moment_undoes_it(
    stored: Database, database_url: str, operator_login: str
) -> None:
    """Behind the lock of the function that stores it, and not by an earlier look alone."""
    address = DatabaseSettings(database_url=as_login(database_url, operator_login))

    def store(base: int) -> bool:
        return policy_store.store(
            address, NEW, base=base, release="", actor="é" * 100, reason="because"
        ).new

    with pytest.raises(policy_store.Superseded):
        store(7)

    assert [OLD] == versions(stored)
    assert store(1)


def test_an_old_version_comes_back_the_same_way(client: TestClient, stored: Database) -> None:
    """Its page leads to it; the history says what it is, as `fairlead policy rollback` does."""
    rule(stored, NEW, "bob", "more for acme")
    newest = client.get("/policy", headers=known(OPERATOR)).text
    shown = client.get("/policy?version=1", headers=known(OPERATOR)).text
    assert 'href="/policy/edit">Edit it' in newest
    assert 'href="/policy/edit?version=1">Roll back to this version' in shown

    page = begun(client, "/policy/edit?version=1")
    assert {"check", "simulate"} == offers(page)
    assert '<span class="removed">-     tenants:' in page.text
    done = sent(client, sent(client, page, "simulate"), "apply", reason="too much")

    assert 303 == done.status_code
    last = stored.execute(_STORED.encode()).fetchall()[-1]
    assert (OLD, "ada", "rollback to version 1: too much") == last
    gone = client.get("/policy/edit?version=99", headers=known(OPERATOR))
    assert 404 == gone.status_code


def test_where_a_configmap_has_the_policy_the_page_says_what_to_give_to_it(
    client: TestClient, stored: Database
) -> None:
    """In place of the button, which a forged form does not replace."""
    edit_in_the_cluster(stored)
    answer = simulated(client, NEW)
    text = unescape(answer.text)

    assert {"check", "simulate"} == offers(answer)
    assert (
        "kubectl patch configmap shop-policy --namespace shop --type=merge"
        " --patch-file=policy-patch.yaml" in text
    )
    patch = re.search('aria-label="policy-patch.yaml">(.*?)</pre>', text, re.DOTALL)
    assert patch is not None
    assert {"data": {"policy.yaml": NEW}} == yaml.safe_load(patch[1])
    forced = sent(client, answer, "apply")
    assert 409 == forced.status_code
    assert "is edited in the ConfigMap shop-policy in the namespace shop" in forced.text
    assert [OLD] == versions(stored)


def test_the_policy_of_another_release_stays(client: TestClient, stored: Database) -> None:
    """As `fairlead policy apply` refuses it."""
    ownership.own(stored, "shop/fairlead")
    refused = sent(client, simulated(client, NEW), "apply")

    assert 409 == refused.status_code
    assert "the policy is that of the release shop/fairlead" in refused.text
    assert [OLD] == versions(stored)


def test_a_reason_is_wanted(client: TestClient, stored: Database) -> None:
    """And what was simulated need not be simulated again for it."""
    refused = sent(client, simulated(client, NEW), "apply", reason=" ")

    assert 400 == refused.status_code
    assert "say why" in refused.text
    assert [OLD] == versions(stored)
    assert 303 == sent(client, refused, "apply", reason="now").status_code


def test_an_operator_who_is_no_administrator_looks_and_applies_nothing(
    database_url: str, stored: Database
) -> None:
    """The database says so, whatever a form has."""
    with (
        login(database_url, "fairlead_operator") as name,
        staffed(database_url, name) as client,
    ):
        answer = simulated(client, NEW)
        forced = sent(client, answer, "apply")

    assert {"check", "simulate"} == offers(answer)
    assert "only a member of fairlead_admin may" in answer.text
    assert 503 == forced.status_code
    assert [OLD] == versions(stored)


def test_a_reader_has_no_editor(client: TestClient, stored: Database) -> None:
    """No link, no page, and no step of one, before any login is used."""
    assert EDIT not in client.get("/policy", headers=known(READER)).text
    assert 403 == client.get(EDIT, headers=known(READER)).status_code
    (form,) = Page(simulated(client, NEW).text).forms
    for step in ("check", "simulate", "apply"):
        fields = {**form.fields, "step": step}
        assert 403 == post(client, EDIT, READER, SAME, **fields).status_code
    assert [OLD] == versions(stored)


def test_names_that_nobody_has_are_warned_of(client: TestClient, stored: Database) -> None:
    """As the command line does."""
    checked = sent(client, begun(client), "check", document=NEW.replace("acme", "acne"))

    assert "acne" in re.findall("<ul class=.plain warnings.>.*?</ul>", checked.text)[0]
    assert [OLD] == versions(stored)


def test_the_first_policy_is_written_here(client: TestClient, db: Database) -> None:
    """Over none."""
    assert "Write one" in client.get("/policy", headers=known(OPERATOR)).text
    page = begun(client)
    assert "No policy is in force" in page.text
    empty = sent(client, page, "check", document="")
    assert "is empty: write {} for a policy without rules" in empty.text

    done = sent(client, sent(client, empty, "simulate", document=NEW), "apply")

    assert 303 == done.status_code
    assert [NEW] == versions(db)
