"""Mutants that nobody thought of: operators applied to every statement and pure decision.

Which tests judge the mutants of a source stands in `generated.toml`, and is else told by names:
the tests that are called after it or that call it. A mutant that PostgreSQL refuses is none.
"""

import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.mutants import operators
from tests.mutants.mutants import FOLDER, Change, Mutant, newest_definitions
from tests.mutants.operators import Mutation
from tests.support import tree
from tests.support.databases import FAST, fast_folder, make_template, running_server
from tests.support.statements import Statement, numbered

_FILE = FOLDER / "generated.toml"
_TEMPLATE = "template_migrated"
_TESTS_MAX = 4
_DECISIONS = ("scheduler/fairlead_scheduler/ordering/", "scheduler/fairlead_scheduler/policy/")
_BEGINS = r"create (?:or replace )?function fairlead\.{}\s*\("
_COMMENT = re.compile(r"(?m)^\s*--.*\n?")
_FUNCTIONS = "SELECT proname FROM pg_proc WHERE pronamespace = 'fairlead'::regnamespace"


@dataclass(frozen=True, slots=True)
class Source:
    """A text that operators change: a statement, a function of the schema, or a module.

    Args:
        name: what mutants are asked for by.
        file: where it stands.
        text: as it stands there, once.
        kind: how it is read.
    """

    name: str
    file: str
    text: str
    kind: str

    def mutations(self) -> Iterator[Mutation]:
        """Yield what operators make of it, each text once."""
        made = operators.of_python if self.kind == "decision" else operators.of_sql
        seen = {self.text}
        for each in made(self.text):
            if each.text not in seen:
                seen.add(each.text)
                yield each


def sources() -> list[Source]:
    """Return every statement, every function as it is last defined, and the decisions."""
    statements = [
        Source(str(Statement(path)), str(path), tree.text(path), "statement")
        for path in tree.of_rooms(".sql")
        if path.parent.name == "sql"
    ]
    functions = [
        Source(name, file, _definition(name, tree.text(Path(file))), "function")
        for name, file in sorted(newest_definitions().items())
    ]
    decisions = [
        Source(f"{path.parent.name}/{path.name}", str(path), tree.text(path), "decision")
        for path in tree.of_rooms(".py")
        if str(path).startswith(_DECISIONS)
    ]
    return statements + functions + decisions


def is_asked(name: str, only: Sequence[str] | None) -> bool:
    """Return whether a name has one of the texts that are asked for."""
    return not only or any(text in name for text in only)


def generated(
    only: Sequence[str] | None = None, *, seed: int = 0, sample: int | None = None
) -> list[Mutant]:
    """Return the mutants whose names have one of the texts, or so many as a seed chooses."""
    reasons, tests = equivalents(), tests_by_source()
    with _checking() as is_valid:
        every = [
            Mutant(
                name,
                "",
                tests.get(source.name) or named_after(source),
                (Change(source.file, source.text, mutation.text),),
                equivalent=reasons.get(name, ""),
                source=source.name,
            )
            for source in sources()
            for name, mutation in named(source)
            if is_asked(name, only) and is_valid(source, mutation.text)
        ]
    if sample is not None:
        every = random.Random(seed).sample(every, min(sample, len(every)))
    return every


def counted(asked: Collection[str]) -> dict[str, int]:
    """Return how many mutants there are of these sources, judged or not."""
    with _checking() as is_valid:
        return {
            source.name: sum(is_valid(source, each.text) for each in source.mutations())
            for source in sources()
            if source.name in asked
        }


def named(source: Source) -> Iterator[tuple[str, Mutation]]:
    """Yield what each mutant of a source is called, with what it is."""
    counts: Counter[str] = Counter()
    for mutation in source.mutations():
        name = f"{source.name}: {mutation.operator} in `{mutation.line}`"
        counts[name] += 1
        yield (f"{name} ({counts[name]})" if counts[name] > 1 else name), mutation


def equivalents() -> dict[str, str]:
    """Return why some mutants are no other product than the product."""
    return {each["mutant"]: each["equivalent"] for each in _read().get("equivalent", [])}


def _definition(name: str, text: str) -> str:
    """Return the text that defines a function: the last one in a migration."""
    begins = [*re.finditer(_BEGINS.format(re.escape(name)), text)][-1].start()
    ends = text.index(";", begins)
    quoted = re.compile(r"\$\w*\$").search(text, begins)
    if quoted and quoted.start() < ends:
        ends = text.index(f"{quoted[0]};", quoted.end()) + len(quoted[0])
    elif "begin atomic" in text[begins:ends]:
        ends = text.index("\nend;", begins) + len("\nend")
    return text[begins : ends + 1]


@cache
def _read() -> Mapping[str, Sequence[Mapping[str, str]]]:
    return tomllib.loads(_FILE.read_text("utf-8"))


def tests_by_source() -> dict[str, tuple[str, ...]]:
    """Return which tests judge the mutants of a source, where names do not tell."""
    return {
        name: tuple(each["tests"]) for each in _read().get("judged", []) for name in each["of"]
    }


def named_after(source: Source) -> tuple[str, ...]:
    """Return the tests of a source for which nothing is said: those of its name or concern."""
    path = Path(source.file)
    if source.kind == "decision":
        return (f"tests/unit/scheduler/{path.parts[2]}", "tests/property/test_fair_order.py")
    name = path.stem if source.kind == "statement" else source.name
    called = re.compile(rf'fairlead\.{name}\(|"{name}"')
    tests = [
        each
        for each in tree.files(".py")
        if each.parts[:2] in {("tests", "integration"), ("tests", "attacks")}
        and each.name.startswith("test_")
    ]
    words = name.strip("_").split("_")
    ranked = sorted(
        tests,
        key=lambda each: (
            -len(called.findall(tree.text(each))),
            -sum(word in each.stem for word in words),
            str(each),
        ),
    )
    return tuple(
        str(each)
        for each in ranked[:_TESTS_MAX]
        if called.search(tree.text(each)) or any(word in each.stem for word in words)
    )


@contextmanager
def _checking() -> Generator[Callable[[Source, str], bool]]:
    """Yield what says whether PostgreSQL takes a text in the place of a source's own."""
    with ExitStack() as opened:
        server = opened.enter_context(running_server(FAST, within=fast_folder()))
        make_template(server)
        db = opened.enter_context(psycopg.connect(server.url_of(_TEMPLATE), autocommit=True))

        there = {name for (name,) in db.execute(_FUNCTIONS).fetchall()}

        def is_valid(source: Source, text: str) -> bool:
            if source.kind == "function" and source.name not in there:
                return False
            return source.kind == "decision" or _is_taken(db, source, text)

        yield is_valid


def _is_taken(db: Connection[TupleRow], source: Source, text: str) -> bool:
    if source.kind == "statement":
        text = f"PREPARE mutant AS {numbered(_COMMENT.sub('', text))[0]}"
    else:
        text = text.replace("create function", "create or replace function", 1)
    with db.transaction(force_rollback=True):
        try:
            db.execute(text.encode())
            db.execute("DEALLOCATE ALL")
        except psycopg.Error:
            return False
    return True
