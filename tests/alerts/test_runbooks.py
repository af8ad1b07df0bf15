"""The commands of runbooks work: on a real server, and on the chart's objects.

It is typed as the login that docs/runbooks/README.md asks for, which is no superuser's.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from string import Template

import psycopg
import pytest
import yaml
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import policy_storage
from fairlead_autoscaler import status
from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.result import State
from fairlead_cli.dev.postgres import Server
from fairlead_cli.main import run as fairlead
from tests.support import autoscaling as looks
from tests.support import tree
from tests.support.chart import EVERYTHING, Object, at, needs_helm, text
from tests.support.children import register
from tests.support.databases import cloned_database
from tests.support.logins import as_login, login
from tests.support.race import claim
from tests.support.runbooks import RUNBOOKS, Said, commands, halves, run, words
from tests.support.schedulers import scheduling
from tests.support.waiting import until

PAGES = sorted(
    path for path in tree.files(".md") if path.parent == RUNBOOKS and path.stem != "README"
)


def first_typed() -> Mapping[Path, list[str]]:
    """Return by page the commands for a database that no page before it has, in their order."""
    page_by_command = {
        command: page
        for page in reversed(PAGES)
        for command in commands(page)
        if not command.startswith("kubectl ")
    }
    return {
        page: [
            each for each in dict.fromkeys(commands(page)) if page_by_command.get(each) == page
        ]
        for page in {*page_by_command.values()}
    }


FIRST_TYPED = first_typed()

_POLICY = """
pools: [{name: default, queues: ["*"], autoscale: {objective: 30s, max: 1}}]
"""
_ROLES = ("fairlead_operator", "pg_read_all_stats", "pg_signal_backend")
_DECIDING = ("fairlead policy rollback", "fairlead enqueue")
"""What the page says an operator's login may not."""
_RUNNING = "fairlead jobs list --state running"
_READING = frozenset({"get", "describe", "logs"})
_CHANGING = frozenset({"delete", "scale", "rollout", "patch"})
_COMPONENT = re.compile(r"(app\.kubernetes\.io/component|fairlead/pool)=(\S+)")


def insert(db: Connection[TupleRow], **columns: object) -> int:
    """Insert a job of the queue that the commands name, and return its id."""
    columns = {"queue": "mail", "tenant": "acme", "kind": "send", **columns}
    names, places = ", ".join(columns), ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO fairlead.jobs ({names}) VALUES ({places}) RETURNING id"
    row = db.execute(statement.encode(), list(columns.values())).fetchone()
    assert row is not None
    return int(row[0])


def make_scene(db: Connection[TupleRow], holder: Connection[TupleRow], folder: Path) -> None:
    """Make what the commands look at and change, but for what a worker does."""
    for _ in range(2):
        policy_storage.store(db, _POLICY + f"# {_}\n")
    db.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('s', '0 3 * * *', 'k')"
    )
    failed = insert(db)
    db.execute("SELECT fairlead._end_jobs(array[%s::bigint], '{failed}', '{boom}')", [failed])
    insert(db, run_at="2999-01-01")
    look, config = looks.look(1, looks.demand(work=1000)), looks.pool(max=1)
    said = json.dumps(status.pool_status(decide(State(), look, config), look, config))
    db.execute("INSERT INTO fairlead.pool_decisions VALUES (1, now(), 'default', %s)", [said])
    db.execute("SELECT fairlead.note_refused_policy('0123456789ab', 'pools: too many', 'me')")
    (folder / "policy.yaml").write_text(_POLICY)
    holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    holder.execute("SELECT count(*) FROM fairlead.jobs")


@pytest.fixture
def given(server: Server, tmp_path: Path) -> Iterator[Mapping[str, str]]:
    """Yield the variables of the pages, over a database with a leader and a worker."""
    with (
        cloned_database(server) as url,
        login(url, *_ROLES) as reader,
        login(url, "fairlead_admin") as admin,
        login(url, "fairlead_admin") as other,
        psycopg.connect(url, autocommit=True) as db,
        # A page ends its session.
        closing(psycopg.connect(as_login(url, other), autocommit=True)) as holder,
    ):
        make_scene(db, holder, tmp_path)
        worker = register(db, slots=1)
        stuck = insert(db, queue="reports", kind="make")
        with scheduling(url):
            until(lambda: claim(db, worker), what="a job that runs", seconds=60)
            yield {
                "URL": as_login(url, reader),
                "ADMIN_URL": as_login(url, admin),
                "QUEUE": "mail",
                "TENANT": "acme",
                "JOB": str(insert(db)),
                "STUCK": str(stuck),
                "POOL": "default",
                "WORKER": str(worker),
                "PID": str(holder.info.backend_pid),
                "VERSION": "1",
                "SCHEDULE": "s",
                "KIND": "send",
                "APPLICATION": "shop",
                "POLICY": str(tmp_path / "policy.yaml"),
            }


@pytest.fixture
def typed(
    given: Mapping[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str], Said]:
    """Return a function that runs a command: `fairlead` here, the rest in a shell."""
    monkeypatch.setenv("COLUMNS", "200")

    def type_one(command: str) -> Said:
        program, *arguments = words(command)
        if program != "fairlead":
            return run(command, url=given["URL"], folder=tmp_path, given=given)
        deciding = command.startswith(_DECIDING)
        url = given["ADMIN_URL" if deciding else "URL"]
        monkeypatch.setenv("FAIRLEAD_DATABASE_URL", url)
        code = fairlead([Template(each).substitute(given) for each in arguments])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return type_one


@pytest.mark.any_server
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", sorted(FIRST_TYPED), ids=lambda page: page.stem)
def test_every_command_of_a_runbook_runs(page: Path, typed: Callable[[str], Said]) -> None:
    """Each says something; what changes something succeeds."""
    for command in FIRST_TYPED[page]:
        said = typed(command)

        assert said.served(command), f"{command}: {said}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_runbook_begins_with_a_command_that_only_reads(page: Path) -> None:
    """The diagnosis starts with what can be typed at once, and changes nothing."""
    _, diagnosis = tree.text(page).split("## Diagnosis\n", maxsplit=1)

    assert diagnosis.startswith("\n```sh\n")
    looked, _ = diagnosis.split("## Mitigation", maxsplit=1)
    changing = re.findall(r"^kubectl (\w+)|pg_terminate|DELETE", looked, re.MULTILINE)
    assert set(changing) <= _READING


def test_what_a_page_has_cancelled_is_a_job_that_runs() -> None:
    """The replica that waits for its slot is the one at fault."""
    cancelling = {
        page.stem: command
        for page in PAGES
        for command in commands(page)
        if "jobs cancel" in command and "--kind" not in command
    }

    assert cancelling
    assert {'fairlead jobs cancel "$STUCK"'} == set(cancelling.values())
    assert [] == [
        name
        for name in cancelling
        if not any(each.startswith(_RUNNING) for each in halves(name)[0])
    ]


def test_every_diagnosis_says_where_to_run_it() -> None:
    """An operator called at night does not know which pod and which login to use."""
    looked = {page.stem: tree.text(page).partition("## Diagnosis\n")[2] for page in PAGES}

    assert [] == [name for name, text in looked.items() if "](README.md)" not in text]


def test_every_command_is_of_a_program_that_a_test_checks() -> None:
    """A program other than Fairlead's, psql or kubectl would not be checked."""
    programs = {words(command)[0] for page in PAGES for command in commands(page)}

    assert {"fairlead", "kubectl", "psql"} == programs


def kubectl_lines() -> list[str]:
    """Return every command of the pages that asks the cluster."""
    found = {each for page in PAGES for each in commands(page) if each.startswith("kubectl ")}
    return sorted(found)


def named(line: str) -> list[tuple[str, str]]:
    """Return the objects that a command names, as kind and name."""
    kinds = {"lease": "Lease", "configmap": "ConfigMap", "deployment": "Deployment"}
    found: list[tuple[str, str]] = []
    given = [each for each in words(line)[2:] if not each.startswith("-")]
    kind = ""
    for word in given:
        left, slash, name = word.partition("/")
        if slash and left in kinds:
            found.append((kinds[left], name))
        elif word in kinds:
            kind = kinds[word]
        elif kind and word.startswith("fairlead-"):
            found.append((kind, word))
    return [(kind, name.replace("$POOL", "default")) for kind, name in found]


@pytest.mark.parametrize("line", kubectl_lines())
def test_kubectl_commands_have_known_verbs(line: str) -> None:
    """Verbs are few, and logs are bounded."""
    verb = words(line)[1]

    assert verb in _READING | _CHANGING
    assert verb != "logs" or "--tail=" in line
    # Of several pods kubectl leaves the events out, which are what one is asked to read.
    assert verb != "describe" or "--show-events" in line


@needs_helm
@pytest.mark.parametrize("line", kubectl_lines())
def test_kubectl_commands_name_objects_of_the_chart(line: str) -> None:
    """Names are of a release called `fairlead`; labels are those of its pods."""
    objects = release()
    there = {(str(each["kind"]), str(at(each, "metadata", "name"))) for each in objects}
    pods = [
        at(each, "spec", "template", "metadata", "labels")
        for each in objects
        if each["kind"] in {"Deployment", "Job"}
    ]
    labels = {item for each in pods if isinstance(each, dict) for item in each.items()}
    asked = _COMPONENT.findall(line.replace('"', "").replace("$POOL", "default"))

    assert set() == set(named(line)) - there
    assert set() == set(asked) - labels


@cache
def release() -> list[Object]:
    """Return the objects of a release called `fairlead`."""
    made = text({**EVERYTHING, "fullnameOverride": "fairlead"})
    return [each for each in yaml.safe_load_all(made) if each]


def test_the_rule_of_names_sees_every_form() -> None:
    """One name, several, and kind and name as one word."""
    assert [("ConfigMap", "fairlead-a"), ("ConfigMap", "fairlead-b")] == named(
        "kubectl get configmap fairlead-a fairlead-b -o yaml"
    )
    assert [("Deployment", "fairlead-worker-default")] == named(
        'kubectl rollout undo "deployment/fairlead-worker-$POOL"'
    )
    assert [] == named("kubectl get pods -l app.kubernetes.io/component=worker")
