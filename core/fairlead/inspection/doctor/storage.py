"""What tables and indexes are like: dead rows, empty space, what is missing. Pure."""

import re
from collections.abc import Iterator, Sequence

from fairlead.inspection.doctor.facts import Index, ServerFacts, Table, Wanted
from fairlead.inspection.doctor.finding import Finding, identifier, sql

DEAD_ROWS = 20_000
DEAD_TIMES = 4
"""So many times as many dead rows as autovacuum comes at, and it does not keep up."""
EMPTY_BYTES = 32 * 1024 * 1024
EMPTY_BYTES_A_ROW = 16 * 1024
"""Two pages: rows of the schema are shorter than a quarter of one, the rest is apart."""
INDEX_BYTES = 8 * 1024 * 1024
INDEX_BYTES_A_ROW = 1024
DAYS_AHEAD = 7
_DAYS_MADE = 14
_LEFT_OVER = re.compile(r"_cc(?:new|old)\d*$")
"""What REINDEX CONCURRENTLY leaves when it is cut short."""
_MIB = 1024 * 1024


def autovacuum(server: ServerFacts, tables: Sequence[Table]) -> Iterator[Finding]:
    """Find that nothing, or a table, is vacuumed by itself."""
    means = "Dead rows pile up, and every claim and dispatch walks over them."
    off = [
        name
        for name, on in (
            ("autovacuum", server.autovacuum),
            ("track_counts", server.track_counts),
        )
        if not on
    ]
    for name in off:
        yield Finding(
            harm="slows",
            subject="autovacuum",
            what=f"The server's {name} is off.",
            means=means,
            fix=(sql(f"alter system set {name} = on"), sql("select pg_reload_conf()")),
        )
    for table in tables:
        if not table.autovacuum:
            called = f"fairlead.{identifier(table.name)}"
            yield Finding(
                harm="slows",
                subject="autovacuum",
                what=f"autovacuum is switched off for {called}.",
                means=means,
                fix=(sql(f"alter table {called} reset (autovacuum_enabled)"),),
            )


def dead_rows(tables: Sequence[Table]) -> Iterator[Finding]:
    """Find tables in which vacuum does not keep up, the worst first."""
    for table in sorted(tables, key=lambda each: each.dead, reverse=True):
        if table.dead > max(DEAD_ROWS, DEAD_TIMES * table.vacuumed_at):
            called = f"fairlead.{identifier(table.name)}"
            yield Finding(
                harm="slows",
                subject="dead rows",
                what=f"{called} has {table.dead:,} dead rows beside {table.live:,} living "
                f"ones; autovacuum should come at {table.vacuumed_at:,.0f}.",
                means="Every statement that reads the table walks over them. Vacuum is held "
                "back by a snapshot, is off, or cannot keep up.",
                fix=(sql(f"vacuum (analyze) {called}"),),
            )


def empty_space(tables: Sequence[Table], indexes: Sequence[Index]) -> Iterator[Finding]:
    """Find tables and indexes that are mostly empty, the largest first. It is an estimate."""
    means = (
        "The space is used again as the table grows; until then caches and backups carry it."
    )
    for table in sorted(tables, key=lambda each: each.bytes, reverse=True):
        rows = table.live + table.dead
        if table.bytes > max(EMPTY_BYTES, EMPTY_BYTES_A_ROW * rows):
            called = f"fairlead.{identifier(table.name)}"
            yield Finding(
                harm="wastes",
                subject="empty space",
                what=f"{called} takes {_mib(table.bytes)} for {rows:,} rows.",
                means=f"{means} VACUUM FULL locks the table while it runs.",
                fix=(sql(f"vacuum (full, analyze) {called}"),),
            )
    for index in sorted(indexes, key=lambda each: each.bytes, reverse=True):
        if index.bytes > max(INDEX_BYTES, INDEX_BYTES_A_ROW * index.live):
            called = f"fairlead.{identifier(index.name)}"
            yield Finding(
                harm="wastes",
                subject="empty space",
                what=f"Index {called} takes {_mib(index.bytes)} for {index.live:,} rows.",
                means=means,
                fix=(sql(f"reindex index concurrently {called}"),),
            )


def lost_indexes(there: Sequence[Index], wanted: Sequence[Wanted]) -> Iterator[Finding]:
    """Find indexes of the schema that are missing, and those that cannot be used."""
    names = {each.name for each in there}
    for want in wanted:
        if want.name not in names:
            yield Finding(
                harm="stops",
                subject="index",
                what=f"Index fairlead.{want.name} of the schema is missing.",
                means="The statements that need it read whole tables, or what it kept unique "
                "is not.",
                fix=(sql(want.statement),),
            )
    known = {each.name for each in wanted}
    for index in there:
        if not index.valid:
            yield _invalid(index, known=index.name in known)


def _invalid(index: Index, *, known: bool) -> Finding:
    called = f"fairlead.{identifier(index.name)}"
    foreign = not known or _LEFT_OVER.search(index.name) is not None
    mend = "drop index concurrently" if foreign else "reindex index concurrently"
    return Finding(
        harm="wastes" if foreign else "stops",
        subject="index",
        what=f"Index {called} of fairlead.{index.table} is invalid: making it was cut short.",
        means="No statement uses it, and every write still pays for it.",
        fix=(sql(f"{mend} {called}"),),
    )


def partitions(days_ahead: int | None) -> Iterator[Finding]:
    """Find that the history's partitions are running out."""
    if days_ahead is None or days_ahead >= DAYS_AHEAD:
        return
    count = "1 day" if days_ahead == 1 else f"{days_ahead} days"
    said = "none for today" if days_ahead < 0 else f"them for {count} after today"
    yield Finding(
        harm="slows",
        subject="partitions",
        what=f"The history's partitions are running out: there are {said}.",
        means="Endings of a day without a partition go to a default one, and have to be moved "
        "later. The leader makes partitions two weeks ahead, so it has not been able to for "
        "days: its log says why.",
        fix=(sql(f"select fairlead.make_history_partitions({_DAYS_MADE})"),),
    )


def _mib(size: int) -> str:
    return f"{size / _MIB:,.0f} MiB"
