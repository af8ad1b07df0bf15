"""`fairlead trace`: past traffic as others can play it."""

import json
from hashlib import sha256
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import policy_storage
from fairlead_scheduler.simulation.trace import read
from tests.integration.conftest import Fairlead

_ENDED = """
    INSERT INTO fairlead.job_history
        (id, created_at, runnable_at, claimed_at, finished_at, attempt, max_attempts, crashes,
         losses, priority, outcome, queue, tenant, kind, payload, headers)
    SELECT id, now(), now() - interval '9 s' + at, now() - interval '4 s',
           now() - interval '4 s' + took, 1, 5, 0, 0, priority, 'succeeded', queue, tenant,
           kind, payload::jsonb, headers::jsonb
    FROM (VALUES
            (1, '2 s'::interval, '1.5 s'::interval, 'mail', 'acme', 7, 'sent',
             '{"account": 7}', NULL),
            (2, '0 s', '0 s', 'mail', '', 0, 'sent', NULL, '{"region": "eu"}'),
            (3, '1 s', '1 s', 'other', 'acme', 7, 'k', '{"account": [7]}', '{}'))
        AS v (id, at, took, queue, tenant, priority, kind, payload, headers)
"""
_KEYED = "queues: [{match: {queue: mail}, concurrency: [{key: payload.account, limit: 1}]}]"
_IN_FORCE = (
    "INSERT INTO fairlead.policy_events (version, event, epoch) VALUES (%s, 'in_force', 1)"
)


def test_past_traffic_is_exported_in_the_order_in_which_it_became_runnable(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """When, for which tenant and how long: what another policy would have had to deal with."""
    db.execute(_ENDED)

    lines = fairlead("trace", "export").splitlines()
    mail = fairlead("trace", "export", "--queue", "mail").splitlines()

    fields = ["at_us", "queue", "tenant", "cost_us", "priority", "kind", "keys"]
    assert [
        (0, "mail", "", 1, 0, "sent", {}),
        (1_000_000, "other", "acme", 1_000_000, 7, "k", {}),
        (2_000_000, "mail", "acme", 1_500_000, 7, "sent", {}),
    ] == [tuple(json.loads(line).values()) for line in lines]
    assert fields == list(json.loads(lines[0]))
    assert [lines[0], lines[2]] == mail


def test_the_values_of_keys_are_exported_as_a_policy_reads_them(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Those that are asked for, else those of the policy in force; what is no value is null."""
    db.execute(_ENDED)
    keyed = policy_storage.store(db, _KEYED)
    policy_storage.store(db, _KEYED.replace("account", "stored_only"))
    db.execute(_IN_FORCE, [keyed.version])
    asked = ("--key", "headers.region", "--key", "payload.account")

    of_policy, of_keys = (
        [json.loads(line)["keys"] for line in fairlead("trace", "export", *words).splitlines()]
        for words in ((), asked)
    )

    assert [{"payload.account": value} for value in (None, None, "7")] == of_policy
    assert [
        {"headers.region": region, "payload.account": account}
        for region, account in (("eu", None), (None, None), (None, "7"))
    ] == of_keys


def test_a_long_value_is_what_the_leader_takes_it_for(
    fairlead: Fairlead, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """Its beginning and its digest, however long it is; and the file can be read."""
    long, file = "é" * 200, tmp_path / "trace.jsonl"
    db.execute(_ENDED)
    db.execute(
        "UPDATE fairlead.job_history SET payload = jsonb_build_object('a', %s::text)", [long]
    )

    fairlead("trace", "export", "--key", "payload.a", "--output", str(file))

    said = f"{long[:64]}…{sha256(long.encode()).hexdigest()}"
    assert {(("payload.a", said),)} == {job.keys for job in read(file)}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--key", "account"), "--key 'account': must be a path such as payload.account_id"),
        (tuple(f"--key=payload.a{n}" for n in range(17)), "name at most 16 paths"),
        (("--within", "soon"), "--within 'soon': give a duration"),
        (("--within", "999999999d"), "--within is 999999999d: give at most 3650d"),
        (("--output", "."), "--output is '.': give a file"),
        (("--output", "/"), "--output is '/': give a file"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(
    fairlead: Fairlead, words: tuple[str, ...], said: str
) -> None:
    """The field, its value and the fix."""
    assert said in fairlead("trace", "export", *words, code=2)


def test_a_trace_is_written_whole_or_not_at_all(
    fairlead: Fairlead, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """A file that is there is complete, and what stood there before stays until then."""
    file = tmp_path / "monday.jsonl"
    file.write_text("before")

    nothing = fairlead("trace", "export", "--output", str(file), code=1)
    kept = file.read_text()
    db.execute(_ENDED)
    nowhere = fairlead("trace", "export", "--output", str(tmp_path / "no" / "x"), code=2)
    (tmp_path / "folder").mkdir()
    folder = fairlead("trace", "export", "--output", str(tmp_path / "folder"), code=2)
    (tmp_path / "folder").rmdir()
    said = fairlead("trace", "export", "--output", str(file))

    assert "no job ended within 1h" in nothing
    assert "no job of queue 'none' ended" in fairlead(
        "trace", "export", "--queue", "none", code=1
    )
    assert "before" == kept
    assert "cannot be written" in nowhere
    assert "folder cannot be written: Is a directory" in folder
    assert f"3 jobs written to {file}\n" == said
    assert 3 == len(file.read_text().splitlines())
    assert [file] == list(tmp_path.iterdir())
