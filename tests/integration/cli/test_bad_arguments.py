"""Bad arguments and settings: one clear sentence, exit code 2, no traceback."""

import pytest

from tests.integration.conftest import Fairlead

pytestmark = pytest.mark.any_server

BAD_COMMANDS = [
    (["zz"], "No such command 'zz'"),
    (["jobs", "list", "--limit", "0"], "'--limit'"),
    (["jobs", "list", "--limit=x"], "not 'x' (see `fairlead jobs list --help`)"),
    (["jobs", "lits"], "(see `fairlead jobs --help`)"),
    (["dev", "--app", "jobs"], "'jobs' must be module:attribute"),
    (["dev", "--app", "no_such.jobs:tasks"], "start this in the one that holds no_such"),
    (["dev", "--app", ".jobs:tasks"], "start this in the one that holds .jobs"),
    (["schedules", "--json", "list"], "`fairlead schedules list --json`"),
    (["workers", "--json", "list"], "`fairlead workers list --json`"),
    (["autoscaler", "--json", "explain", "mail"], "`fairlead autoscaler explain POOL --json`"),
    (["jobs", "list", "--stat", "failed"], "No such option: --stat"),
    (["jobs", "list", "--state", "lost"], "'lost' is not one of"),
    (["jobs", "list", "--oldest", "--state", "failed"], "--state failed: --oldest lists jobs"),
    (["jobs", "list", "--oldest", "--kind", "send"], "--kind send: --oldest looks at the next"),
    (["jobs", "show", "x"], "not 'x'"),
    (["explain", "x"], "not 'x'"),
    (["explain", "9" * 20], "9" * 20),
    (["policy", "show", "9" * 20], "9" * 20),
    (["policy", "rollback", "9" * 20], "9" * 20),
    (["jobs", "show", "99999999999999999999"], "99999999999999999999"),
    (["jobs", "cancel"], "ID"),
    (["enqueue"], "'kind'"),
    (["enqueue", ""], "kind must be 1 to 128 bytes"),
    (["enqueue", "k", "{"], "PAYLOAD is not JSON: Expecting property name"),
    (["enqueue", "k", "[" * 100_000], "nested too deeply"),
    (["enqueue", "k", "NaN"], "PAYLOAD cannot be written as JSON"),
    (["enqueue", "k", '"\\u0000"'], "PAYLOAD holds the NUL character"),
    (["enqueue", "k", "--headers", '{"a": "\\u0000"}'], "--headers holds the NUL character"),
    (["enqueue", "k", "--headers", "[]"], "--headers must be a JSON object"),
    (["enqueue", "k", "--priority", "101"], "not '101'"),
    (["enqueue", "k", "--run-at", "soon"], "--run-at 'soon'"),
    (["enqueue", "k", "--in", "x"], "--in 'x'"),
    (["enqueue", "k", "--in", "9999999d"], "after the year 9999"),
    (["enqueue", "k", "--in", "1s", "--run-at", "2026-01-01"], "are given: keep one of them"),
    (["enqueue", "k", "--timeout", "31d"], "timeout must be between 1 ms and 30 days"),
    (["enqueue", "k", "--tenant", "\udcff"], "UTF-8"),
    (["enqueue", "k", "--tenant", "t" * 129], "tenant must be at most 128 bytes (it is 'ttt"),
    (["jobs", "list", "--queue", "\udcff"], "UTF-8"),
    (["jobs", "redrive", "q", "--within", "-1"], "--within '-1'"),
    (["pause", ""], "queue must be 1 to 128 bytes"),
    (["pause", "q", "--for", "soon"], "--for 'soon'"),
    (["pause", "q", "--for", "0"], "give an instant that lies ahead"),
    (["pause", "q", "--for", "367d"], "by 366 days at most"),
    (["pause", "q", "--for", "999999999d"], "by 366 days at most"),
    (["pause", "q", "--until", "2020-01-01"], "give an instant that lies ahead"),
    (["pause", "q", "--until", "later"], "--until 'later'"),
    (["pause", "q", "--until", "2999-01-01", "--for", "1h"], "are given: keep one of them"),
    (["workers", "release", "9" * 30], "too large"),
    (["top", "--every", "0"], "'--every'"),
    (["dev"], "Missing option '--app'"),
    (["dev", "pslq"], "No such command 'pslq'"),
    (["dev", "reset", "--yes"], "FAIRLEAD_DATABASE_URL names a database of yours"),
    (["dev", "psql", "--data-dir", "pg"], "leave one out"),
    (["dev", "--app", "shop:tasks", "--port", "70000"], "'--port'"),
    (["dev", "--app", "shop:tasks", "--workers", "6:1"], "'6:1' must be from 0 to 32"),
    (["dev", "--app", "shop:tasks", "--workers", "2", "--objective", "5s"], "MIN:MAX"),
    (["doctor", "--quiet"], "--quiet needs --setup"),
    (["doctor", "--setup", "--older-than", "1m"], "--older-than does not go with --setup"),
]


@pytest.mark.parametrize(("words", "says"), BAD_COMMANDS, ids=lambda value: str(value)[:40])
def test_bad_arguments_get_one_sentence_and_exit_code_2(
    fairlead: Fairlead, words: list[str], says: str
) -> None:
    """The sentence names the field, its value and what would do; there is no traceback."""
    said = fairlead(*words, code=2)

    assert said.startswith("fairlead: ")
    assert 1 == said.count("\n")
    assert says in said


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("FAIRLEAD_CONNECT_TIMEOUT_SECONDS", "0", "(it is '0')"),
        ("FAIRLEAD_CONNECT_TIMEOUT_SECONDS", "soon", "FAIRLEAD_CONNECT_TIMEOUT_SECONDS"),
        ("FAIRLEAD_DATABASE_DIRECT", "perhaps", "(it is 'perhaps')"),
        ("FAIRLEAD_DATABASE_URL_FILE", "/nowhere", "not both"),
        ("FAIRLEAD_DATABASE_URL", "nonsense", "FAIRLEAD_DATABASE_URL: cannot be read"),
    ],
)
def test_bad_settings_get_one_sentence_and_exit_code_2(
    fairlead: Fairlead, monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    """A setting is named with its value."""
    monkeypatch.setenv(name, value)

    said = fairlead("queues", code=2)

    assert says in said
    assert 1 == said.count("\n")
