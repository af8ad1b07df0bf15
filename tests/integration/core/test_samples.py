"""The Python, SQL and policies of the pages that show some, run as they stand there."""

import re
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sqlalchemy
from psycopg import Connection
from psycopg.rows import TupleRow
from sqlalchemy import orm
from sqlalchemy.dialects.postgresql import JSONB

from fairlead import testing
from fairlead.policy.parser import parse
from tests.support import tree

PAGES = (
    *sorted(Path("docs/how-to").glob("migrate*.md")),
    *(
        Path(f"docs/how-to/{name}.md")
        for name in (
            "batches",
            "deploy-without-downtime",
            "personal-data",
            "size-a-fleet",
            "unique-jobs",
        )
    ),
)
SQL_PAGES = (
    *PAGES,
    *(
        Path(f"docs/how-to/{name}.md")
        for name in (
            "django",
            "look-after-a-queue",
            "read-the-console",
            "schedules",
            "trace-jobs",
        )
    ),
    Path("docs/explanation/security.md"),
)
_FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    """Return a page's blocks in a language, in their order, without their indentation."""
    return [
        re.sub(f"^{indent}", "", text, flags=re.MULTILINE)
        for indent, found, text in _FENCE.findall(tree.text(page))
        if found == language
    ]


def module(page: Path) -> dict[str, Any]:
    """Return what a page's Python defines, as one module."""
    shown = ModuleType("shown")
    exec("\n".join(blocks(page, "python")), shown.__dict__)  # noqa: S102 - our own page
    return shown.__dict__


@pytest.mark.any_server
@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_python_of_a_page_is_an_application(page: Path) -> None:
    """It can be imported, and every handler that it shows is registered."""
    shown = module(page)

    handlers = "\n".join(blocks(page, "python")).count("@tasks.handler")
    assert handlers == len(shown["tasks"].handlers if handlers else ())


@pytest.mark.parametrize("page", SQL_PAGES, ids=str)
def test_the_sql_of_a_page_runs(db: Connection[TupleRow], page: Path) -> None:
    """Each statement, on a migrated database."""
    with db.transaction(force_rollback=True):
        for block in blocks(page, "sql"):
            db.execute(block.encode())


@pytest.mark.any_server
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "yaml")], ids=str)
def test_the_policy_of_a_page_is_one(page: Path) -> None:
    """It is read without a refusal."""
    for block in blocks(page, "yaml"):
        assert parse(block).queues


def test_a_kind_that_has_moved_is_enqueued_here(
    db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that has not is left to the old queue."""
    monkeypatch.setenv("MOVED_KINDS", "send_mail,sync")
    send = module(Path("docs/how-to/migrate.md"))["send"]

    for kind in ("send_mail", "report"):
        send(db, kind, {"to": "a@example.com"}, "acme")

    assert ["send_mail"] == [job.kind for job in testing.enqueued(db)]


def test_a_handler_understands_the_payload_of_both_releases() -> None:
    """The old one's and the new one's."""
    tasks = module(Path("docs/how-to/deploy-without-downtime.md"))["tasks"]

    assert "a" == testing.run(tasks, "send_mail", {"to": "a"})
    assert "a" == testing.run(tasks, "send_mail", {"address": "a"})


def test_the_sqlalchemy_of_the_page_on_orms_inserts_jobs(
    db: Connection[TupleRow], database_url: str
) -> None:
    """Its model, a job in the transaction of an order, and one with a dedup key."""
    model, ordered, keyed = blocks(Path("docs/how-to/enqueue-from-an-orm.md"), "python")[:3]
    engine = sqlalchemy.create_engine(
        database_url.replace("postgresql:", "postgresql+psycopg:")
    )

    class Base(orm.DeclarativeBase):
        pass

    class Order(Base):
        __tablename__ = "orders"
        id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
        customer: orm.Mapped[str]

    Base.metadata.create_all(engine)
    shown = vars(sqlalchemy) | vars(orm) | {"JSONB": JSONB, "datetime": datetime}
    shown |= {"__name__": "shown", "Order": Order, "engine": engine, "day": "monday"}
    exec(model, shown)  # noqa: S102 - our own page
    exec(ordered, shown)  # noqa: S102 - our own page
    for _ in range(2):
        with orm.Session(engine) as shown["session"]:
            exec(keyed, shown)  # noqa: S102 - our own page
            shown["session"].commit()
    engine.dispose()

    assert None is shown["job_id"]
    assert [
        ("confirm_order", {"order": 1}, None),
        ("report", {"day": "monday"}, "report:monday"),
    ] == (
        db.execute("SELECT kind, payload, dedup_key FROM fairlead.jobs ORDER BY id").fetchall()
    )
