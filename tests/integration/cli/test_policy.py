"""`fairlead policy`: what each command prints, stores and answers."""

import json
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.policy import hash_of
from fairlead_cli.main import run
from tests.integration.conftest import Fairlead
from tests.support import tree

EXAMPLE = str(tree.ROOT / "examples/policy.yaml")
BAD = "queues:\n  - {match: {queue: a}, wieght: 2}\n"
STORED = "SELECT author, reason, document FROM fairlead.policy_versions ORDER BY version"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with a policy."""
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\n")
    return path


def apply(fairlead: Fairlead, file: Path, count: int) -> None:
    """Store so many versions, each of which says its number."""
    for number in range(1, count + 1):
        file.write_text(f"version: {number}\n")
        fairlead("policy", "apply", str(file), "--reason", f"reason {number}")


def rule(db: Connection[TupleRow], *versions: int, epoch: int = 4) -> None:
    """Let a leader say of these versions that they are in force, one after the other."""
    for version in versions:
        db.execute(
            "INSERT INTO fairlead.policy_events (version, event, epoch)"
            " VALUES (%s, 'in_force', %s)",
            [version, epoch],
        )


def test_apply_stores_and_a_repeat_stores_nothing(
    fairlead: Fairlead, file: Path, db: Connection[TupleRow]
) -> None:
    """Who, why and what are kept; the document in force is not stored again."""
    words = ("policy", "apply", str(file), "--reason", "a try", "--author", "ann")

    first, second = fairlead(*words), fairlead(*words)

    assert first.startswith("stored version 1, digest ")
    assert second.startswith("stored nothing: version 1, digest ")
    assert [("ann", "a try", "version: 1\n")] == db.execute(STORED).fetchall()


def test_apply_names_whoever_runs_it(
    fairlead: Fairlead, file: Path, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --author it is this machine's name for them."""
    monkeypatch.setenv("LOGNAME", "bea")

    said = json.loads(fairlead("policy", "apply", str(file), "--json"))

    assert (1, True) == (said["version"], said["stored"])
    assert [("bea",)] == db.execute("SELECT author FROM fairlead.policy_versions").fetchall()


@pytest.mark.parametrize("command", ["apply", "diff", "check"])
def test_a_bad_document_is_one_sentence_and_exit_code_2(
    fairlead: Fairlead, file: Path, db: Connection[TupleRow], command: str
) -> None:
    """Field, fix and line, behind the file's name; nothing is stored."""
    file.write_text(BAD)

    said = fairlead("policy", command, str(file), code=2)

    fault = "queues[0].wieght: there is no such field; did you mean weight? (line 2)"
    assert f"fairlead: {file}: {fault}\n" == said
    assert [] == db.execute(STORED).fetchall()
    noted = db.execute("SELECT said FROM fairlead.policy_events").fetchall()
    assert ([(fault,)] if command == "apply" else []) == noted


@pytest.mark.parametrize("command", ["apply", "check"])
def test_what_is_for_nobody_is_a_warning(
    fairlead: Fairlead, file: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """A sentence each beside the answer, which stays good."""
    file.write_text("rules: [{match: {label: tier=free}, when: hour < 6, hold: true}]")
    warning = "rules[0].match.label: no tenant under labels has 'tier=free'"

    answer = json.loads(fairlead("policy", command, str(file), "--json"))

    assert [True] == [said.startswith(warning) for said in answer["warnings"]]
    assert 0 == run(["policy", command, str(file)])
    assert f"fairlead: warning: {warning}" in capsys.readouterr().err


def test_refusals_are_listed(fairlead: Fairlead, file: Path) -> None:
    """Who wanted what, and why not."""
    assert "no document was refused" in fairlead("policy", "refusals")
    file.write_text(BAD)
    fairlead("policy", "apply", str(file), "--author", "ann", code=2)

    (row,) = json.loads(fairlead("policy", "refusals", "--json"))

    assert ("ann", hash_of(BAD.encode())) == (row["author"], row["hash"])
    assert "did you mean weight?" in row["reason"]
    assert "queues[0].wieght" in fairlead("policy", "refusals")


def test_a_bad_document_is_refused_without_a_database_too(
    fairlead: Fairlead, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The author reads both."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", "postgresql://127.0.0.1:1/nowhere")
    file.write_text(BAD)

    said = fairlead("policy", "apply", str(file), code=2)

    assert "did you mean weight? (line 2) (and that is not noted in the database: " in said
    assert 1 == len(said.splitlines())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe", "byte 1 is not UTF-8: save it as UTF-8"),
        (b"#" * 300_000, "the document has more than 262,144 bytes: leave some out"),
        (b"", "the document is empty: write {} for a policy without rules"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence(
    fairlead: Fairlead, file: Path, content: bytes | None, said: str
) -> None:
    """Whatever is in it."""
    file.unlink() if content is None else file.write_bytes(content)

    assert f"fairlead: {file}: {said}\n" == fairlead("policy", "check", str(file), code=2)


def test_show_prints_the_document_as_it_was_written(fairlead: Fairlead) -> None:
    """The newest, or an older one by its number."""
    fairlead("policy", "apply", EXAMPLE)

    text = Path(EXAMPLE).read_text("utf-8")
    assert text == fairlead("policy", "show")
    assert text == fairlead("policy", "show", "1")
    assert (text, 1) == tuple(
        json.loads(fairlead("policy", "show", "--json"))[name]
        for name in ("document", "version")
    )


def test_show_says_that_there_is_none(fairlead: Fairlead) -> None:
    """Bad news is exit code 1."""
    assert "no policy is stored: every tenant has" in fairlead("policy", "show", code=1)
    assert "policy version 7 is unknown" in fairlead("policy", "show", "7", code=1)
    assert "no policy is stored" in fairlead("policy")


def test_diff_shows_what_apply_would_change(
    fairlead: Fairlead, file: Path, db: Connection[TupleRow]
) -> None:
    """Line by line; a file that says the same is said to."""
    assert "+version: 1" in fairlead("policy", "diff", str(file)).splitlines()
    fairlead("policy", "apply", str(file))
    file.write_text("version: 2\n")
    unread = fairlead("policy", "diff", str(file)).splitlines()
    rule(db, 1)

    changed = fairlead("policy", "diff", str(file)).splitlines()
    file.write_text("version: 1\n")
    same = fairlead("policy", "diff", str(file))

    assert ("--- version 1, not in force", "--- version 1, in force") == (unread[0], changed[0])
    assert ["-version: 1", "+version: 2"] == changed[-2:]
    assert f"{file} says what version 1 says, which is in force\n" == same
    assert json.loads(fairlead("policy", "diff", str(file), "--json"))["same"] is True


def test_what_is_in_force_is_told_from_what_is_stored(
    fairlead: Fairlead,
    file: Path,
    db: Connection[TupleRow],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The newest may be refused, or not be read yet: the one before it rules on."""
    apply(fairlead, file, 3)
    rule(db, 1, 2, epoch=1)
    db.execute(
        "INSERT INTO fairlead.policy_events (version, event, epoch, said)"
        " VALUES (3, 'refused', 1, 'no reason')"
    )

    shown, again = (fairlead("policy", *words) for words in (("show",), ("apply", str(file))))
    found = json.loads(fairlead("policy", "diff", str(file), "--json"))
    assert 0 == run(["policy", "diff", str(file)])
    said = capsys.readouterr()

    listed = json.loads(fairlead("policy", "history", "--json"))
    assert [False, True, False] == [row["in_force"] for row in listed]
    assert "in force, epoch 1" in fairlead("policy", "history").splitlines()[3]
    assert "version: 2\n" == shown
    assert again.endswith("says the same and no leader has it in force yet\n")
    assert (2, 3, False) == (
        found["in_force"]["version"],
        found["newest"]["version"],
        found["same"],
    )
    assert "--- version 2, in force" == said.out.splitlines()[0]
    assert said.err.startswith("fairlead: version 3 is stored, and no leader has it in force:")


def test_what_another_leader_refuses_is_in_force_no_more(
    fairlead: Fairlead, file: Path, db: Connection[TupleRow]
) -> None:
    """An older program leads, and cannot read the newest: it goes back to the one before."""
    apply(fairlead, file, 2)
    rule(db, 1, 2, epoch=1)
    db.execute(
        "INSERT INTO fairlead.policy_events (version, event, epoch) VALUES (2, 'refused', 2)"
    )

    unled = json.loads(fairlead("policy", "show", "--json"))
    rule(db, 1, epoch=2)
    former = json.loads(fairlead("policy", "show", "--json"))

    assert (2, False) == (unled["version"], unled["in_force"])
    assert (1, True) == (former["version"], former["in_force"])


def test_history_says_what_became_of_each_version(
    fairlead: Fairlead, file: Path, db: Connection[TupleRow]
) -> None:
    """In force since an epoch, refused with the sentence, or not read yet."""
    apply(fairlead, file, 4)
    rule(db, 1, 2)
    db.execute(
        "INSERT INTO fairlead.policy_events (version, event, epoch, said)"
        " VALUES (3, 'refused', 4, 'no reason')"
    )

    listed = fairlead("policy", "history").splitlines()[2:]

    said = (
        "stored, no leader has read it",
        "refused: no reason",
        "in force, epoch 4",
        "was in force",
    )
    assert ["4", "3", "2", "1"] == [line.split()[0] for line in listed]
    assert [] == [text for line, text in zip(listed, said, strict=True) if text not in line]
    assert [4, 3] == [
        row["version"]
        for row in json.loads(fairlead("policy", "history", "--limit", "2", "--json"))
    ]


def test_history_names_the_epoch_that_has_the_newest_in_force(
    fairlead: Fairlead, file: Path, db: Connection[TupleRow]
) -> None:
    """Which leader follows it."""
    fairlead("policy", "apply", str(file))
    rule(db, 1)

    assert "in force, epoch 4" in fairlead("policy", "history")


def test_rollback_stores_the_old_document_as_a_new_version(
    fairlead: Fairlead, file: Path, db: Connection[TupleRow]
) -> None:
    """Its reason says so; to what is in force it stores nothing."""
    fairlead("policy", "apply", str(file), "--author", "ann")
    file.write_text("version: 2\n")
    fairlead("policy", "apply", str(file), "--author", "ann")

    first = fairlead("policy", "rollback", "1", "--reason", "too fast", "--author", "ann")
    again = fairlead("policy", "rollback", "1")

    assert first.startswith("stored version 3, digest ")
    assert again.startswith("stored nothing: version 3, ")
    assert ("ann", "rollback to version 1: too fast", "version: 1\n") == db.execute(
        STORED
    ).fetchall()[-1]
    assert "policy version 9 is unknown" in fairlead("policy", "rollback", "9", code=1)


def test_rollback_refuses_what_this_program_cannot_read(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """A document of a newer program stays where it is."""
    db.execute(
        "SELECT fairlead.apply_policy('novelties: []', '0123456789ab'),"
        " fairlead.apply_policy('{}', '44136fa355b3')"
    )

    said = fairlead("policy", "rollback", "1", code=2)

    assert said.startswith("fairlead: version 1: novelties: there is no such field")


def test_check_asks_no_database(fairlead: Fairlead, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what the file is."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", "postgresql://127.0.0.1:1/nowhere")

    said = fairlead("policy", "check", EXAMPLE)
    found = json.loads(fairlead("policy", "check", EXAMPLE, "--json"))

    assert f"queue rules {found['queue_rules']}, tenant overrides" in said
    assert (6, 3) == (found["rules"], found["bands"])
    assert (2, 2, 7) == (found["queue_rules"], found["tenant_overrides"], found["version"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("apply", EXAMPLE, "--reason", "r" * 2000), "refused: reason must be at most 1 KiB"),
        (("apply", EXAMPLE, "--author", "a" * 200), "refused: author must be 1 to 128 bytes"),
        (("apply",), "Missing argument 'FILE'"),
        (("rollback", "x"), "Invalid value for 'VERSION'"),
        (("--json", "history"), "--json belongs behind the command"),
    ],
)
def test_what_is_out_of_bounds_is_one_sentence(
    fairlead: Fairlead, words: tuple[str, ...], said: str
) -> None:
    """The field and what it must be."""
    assert said in fairlead("policy", *words, code=2)
