"""`fairlead roles` gives logins what they need for their task, and takes it away."""

import json
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead import enqueue
from tests.integration.conftest import Fairlead
from tests.support.logins import LogIn, as_login, login


@pytest.fixture
def shop(database_url: str) -> Iterator[str]:
    """Yield the name of a login without a role."""
    with login(database_url) as name:
        yield name


def listed(fairlead: Fairlead, name: str) -> dict[str, object] | None:
    """Return what the command says of a login."""
    found: list[dict[str, object]] = json.loads(fairlead("roles", "list", "--json"))
    return next((each for each in found if each["login"] == name), None)


@pytest.mark.parametrize(
    ("task", "role"),
    [
        ("app", "fairlead_enqueue"),
        ("worker", "fairlead_worker"),
        ("reader", "fairlead_reader"),
        ("viewer", "fairlead_viewer"),
        ("operator", "fairlead_operator"),
        ("admin", "fairlead_admin"),
        ("scheduler", "fairlead_scheduler"),
        ("autoscaler", "fairlead_autoscaler"),
    ],
)
def test_a_login_is_given_a_task_and_loses_it_again(
    fairlead: Fairlead, database_url: str, shop: str, task: str, role: str
) -> None:
    """Its open session, too, has the right at once and not any more. A repeat is harmless."""
    ask = "SELECT max(version) FROM fairlead.schema_versions"
    with psycopg.connect(as_login(database_url, shop), autocommit=True) as session:
        with pytest.raises(errors.InsufficientPrivilege):
            session.execute(ask)

        for _ in range(2):
            assert f"granted {role} to {shop}\n" == fairlead(
                "roles", "grant", shop, "--as", task
            )
        session.execute(ask)
        assert {"login": shop, "roles": [task], "tenants": [], "pools": []} == listed(
            fairlead, shop
        )

        for _ in range(2):
            assert f"revoked {role} from {shop}\n" == fairlead(
                "roles", "revoke", shop, "--as", task
            )
        with pytest.raises(errors.InsufficientPrivilege):
            session.execute(ask)
    assert listed(fairlead, shop) is None


def test_one_login_may_have_several_tasks(fairlead: Fairlead, shop: str) -> None:
    """Such as a small application whose handlers and pages share a login."""
    fairlead("roles", "grant", shop, "--as", "worker")
    fairlead("roles", "grant", shop, "--as", "app")

    found = listed(fairlead, shop)

    assert found is not None
    assert ["app", "worker"] == found["roles"]
    assert f"{shop}  app, worker" in fairlead("roles")


def test_an_applications_login_gets_its_tenants(
    fairlead: Fairlead, database_url: str, shop: str
) -> None:
    """With row-level security by tenant the role alone is not enough."""
    fairlead("migrate", "--rls")

    fairlead("roles", "grant", shop, "--as", "app", "--tenant", "acme", "--tenant", "b")

    with psycopg.connect(as_login(database_url, shop), autocommit=True) as session:
        assert enqueue(session, "k", tenant="acme")
        with pytest.raises(errors.InsufficientPrivilege):
            enqueue(session, "k", tenant="other")
    found = listed(fairlead, shop)
    assert found is not None
    assert ["acme", "b"] == found["tenants"]


def test_a_workers_login_is_bound_to_pools_and_stays_bound(
    fairlead: Fairlead, db: Connection[TupleRow], shop: str
) -> None:
    """Who bound it is in the audit log. One that lost the role and has it again is bound."""
    grant = ("roles", "grant", shop, "--as", "worker")
    fairlead(*grant, "--pool", "reports", "--actor", "ann", "--reason", "apart")
    fairlead("roles", "revoke", shop, "--as", "worker")
    fairlead(*grant)

    found = listed(fairlead, shop)

    assert found is not None
    assert ["reports"] == found["pools"]
    assert [("bind_login", "ann", "apart")] == db.execute(
        "SELECT verb, actor, reason FROM fairlead.audit"
    ).fetchall()


def test_a_login_that_has_a_role_by_another_one_is_said_to_keep_it(
    fairlead: Fairlead, db: Connection[TupleRow], database_url: str, shop: str
) -> None:
    """The command changes what it was asked to change, and says that it was not enough."""
    with login(database_url, "fairlead_operator") as team:
        db.execute(f"GRANT {team} TO {shop}".encode())

        said = fairlead("roles", "revoke", shop, "--as", "operator", code=1)

    assert f"{shop} has fairlead_operator still" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nobody", "--as", "app"), 'does not exist: `create role "nobody" login password'),
        (("fairlead_reader", "--as", "app"), "may not log in"),
        (("nobody", "--as", "chief"), "'chief' is not one of"),
        (("nobody",), "Missing option '--as'"),
        (("nobody", "--as", "app", "--pool", "p"), "--pool is for a worker's login"),
    ],
)
def test_what_cannot_be_granted_is_one_sentence(
    fairlead: Fairlead, words: tuple[str, ...], said: str
) -> None:
    """It says what to do first."""
    answer = fairlead("roles", "grant", *words, code=2)

    assert said in answer
    assert 1 == answer.count("\n")


def test_a_role_that_is_missing_is_said_to_be_made_first(
    fairlead: Fairlead, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the login that migrates may make no roles."""
    monkeypatch.setattr("fairlead_cli.commands.roles.Task.role", "fairlead_missing")

    said = fairlead("roles", "grant", shop, "--as", "operator", code=2)

    assert "have an administrator run `create role fairlead_missing`" in said


def test_a_login_that_does_not_inherit_gets_the_rights_or_a_reason(
    fairlead: Fairlead, db: Connection[TupleRow], database_url: str
) -> None:
    """From PostgreSQL 16 on the grant says that it does; before, the login has to."""
    with login(database_url, options="NOINHERIT") as name:
        if db.info.server_version >= 160_000:
            fairlead("roles", "grant", name, "--as", "app")
        else:
            said = fairlead("roles", "grant", name, "--as", "app", code=2)
            assert f"run `alter role {name} inherit` first" in said
        given = db.execute(
            "SELECT pg_has_role(%s::name, 'fairlead_enqueue', 'usage'),"
            " pg_has_role(%s::name, 'fairlead_enqueue', 'member')",
            [name, name],
        ).fetchone()

    assert given in [(True, True), (False, False)]
    assert given == ((True, True) if db.info.server_version >= 160_000 else (False, False))


def test_who_may_not_grant_is_told_who_may(
    fairlead: Fairlead,
    database_url: str,
    shop: str,
    log_in: LogIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An administrator of the fleet is none of PostgreSQL's roles."""
    admin = str(log_in("fairlead_admin").info.user)
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", as_login(database_url, admin))

    said = fairlead("roles", "grant", shop, "--as", "app", code=2)

    assert f"the login {admin} may not grant fairlead_enqueue" in said
    assert "log in as the one that made the role, or as a superuser" in said


def test_the_login_that_made_the_roles_may_grant_them(
    fairlead: Fairlead, db: Connection[TupleRow], database_url: str, shop: str
) -> None:
    """It owns the schema, and need not be a superuser."""
    with login(database_url, options="CREATEROLE") as owner:
        # What CREATE ROLE gives its login from PostgreSQL 16 on.
        db.execute(f"GRANT fairlead_enqueue TO {owner} WITH ADMIN OPTION".encode())
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("FAIRLEAD_DATABASE_URL", as_login(database_url, owner))

            fairlead("roles", "grant", shop, "--as", "app")
        found = listed(fairlead, shop)

    assert found is not None
    assert ["app"] == found["roles"]
