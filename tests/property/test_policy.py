"""Policy documents that are mutated are refused or read, whole, and never a traceback."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.policy import Policy, PolicyRefused, canonical_json, digest, parse
from fairlead.policy.schema import json_schema
from fairlead.policy_storage import newest, store
from fairlead_scheduler.background.policy_watch import read_newer
from tests.support import tree
from tests.support.obeyed import jobs_obeying

EXAMPLE = (tree.ROOT / "examples/policy.yaml").read_text("utf-8")
PODS = (
    "objective: 30s\n"
    "      slots: 4\n      warmSlots: 1\n      startPrior: 20s\n      stabilization: 2m\n"
    "      keep: 5m\n      drainMax: 10m\n      startingMax: 50\n      connectionsPerPod: 3\n"
    "      fallback: {replicas: 4, after: 1m}\n      cost: {podHour: 0.04, hourMax: 2}\n"
    "      pause: false\n      holdIn: false\n      holdOut: false\n      dryRun: true"
)
WHOLE = (
    EXAMPLE.replace("objective: 30s", PODS).replace(
        "Reserve: 40", "Reserve: 40, poolerConnections: 90"
    )
    + "shadow: {version: 3, every: 5m}\n"
)
_TOKENS = re.findall(r"\s+|[\w.%*-]+|[^\w\s]", WHOLE)
_SAID = re.compile(r"(the document |.+?: ).{8,}")
_STRANGE = st.sampled_from(
    [
        *("-1", "0", "1e999", "-0.0", ".inf", "9" * 40, "5%", "1000%", "99d", "1.0005ms"),
        *("null", "true", "no", "[]", "{}", "''", "[[]]", "? x", "<<: {}", "*a", "&a b"),
        *("!!python/object:os.system", "!!binary x", "---", "...", "%YAML 3.0", "%TAG ! x"),
        *("\t", "\n", "\r", "\x85", "\u2028", "\ufeff", "\x00", "\x1b[2J", "😀", "\udc80"),
        *('"\\ud800"', '"\\0"', "'", '"', "|", ">-", "#", "{", "}", "[", "]", ":", ",", "-"),
        *("version", "queues", "wieght", "tenantLabel", "match", "{said}", "x" * 300),
    ]
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Return the example with a few of its words changed, doubled, left out or moved."""
    words = list(_TOKENS)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(words) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                words[place] = draw(_STRANGE)
            case 1:
                words.insert(place, draw(_STRANGE | st.text(max_size=5)))
            case 2:
                del words[place : place + draw(st.integers(1, 12))]
            case 3:
                words[place] = draw(st.sampled_from(_TOKENS))
            case _:
                words[place:place] = words[: draw(st.integers(1, 60))]
        words = words or [""]
    return "".join(words)


def outcome(document: str) -> Policy | str:
    """Return the policy or the sentence that refuses it."""
    try:
        return parse(document)
    except PolicyRefused as error:
        return str(error)


def test_every_field_of_a_policy_is_there_to_be_mutated() -> None:
    """Or documents with its like would be refused or applied by luck."""
    schema = json_schema()
    parts = (schema, *schema["$defs"].values())
    fields = {name for part in parts for name in part.get("properties", ())}

    assert set() == fields - set(_TOKENS)


def test_a_mutated_document_is_refused_with_a_sentence_or_applied_whole(
    db: Connection[TupleRow],
) -> None:
    """Every one is refused with its field and the reason, or stored and obeyed."""
    accepted: list[str] = []
    refused: list[str] = []

    @settings(max_examples=10 * settings().max_examples)
    @given(mutated())
    @example("{a: &a [1], b: *a}")
    @example("queues: " + "[" * 1000)
    @example("{}")
    def check(document: str) -> None:
        found = outcome(document)
        if isinstance(found, str):
            assert _SAID.fullmatch(found), found
            assert "\n" not in found
            assert all(sign.isprintable() for sign in found), found
            refused.append(document)
        else:
            again = parse(canonical_json(found))
            assert (found, digest(found)) == (again, digest(again))
            assert jobs_obeying(found) > 0
            accepted.append(document)

    check()

    for document in accepted:
        stored = store(db, document)
        table = read_newer(db, stored.version - 1).table
        assert table is not None
        assert (stored.version, stored.digest) == (table.stored, table.digest)
    last = newest(db)
    for document in refused[:50]:
        with pytest.raises(PolicyRefused):
            store(db, document)
    assert last == newest(db)


@given(st.text(max_size=200))
def test_any_text_is_refused_with_a_sentence_or_read_whole(document: str) -> None:
    """Whatever a file holds."""
    assert outcome(document)


_DURATIONS = st.builds("{}{}".format, st.integers(1, 900), st.sampled_from(["ms", "s", "m"]))
_PERCENTS = st.builds("{}%".format, st.integers(1, 100))


@given(
    st.floats(0.001, 1000, allow_nan=False),
    st.integers(1, 10**6) | _PERCENTS,
    _DURATIONS,
    st.lists(st.text("ab*?", min_size=1, max_size=4), max_size=4, unique=True),
)
def test_what_is_in_bounds_is_read_as_it_was_written(
    weight: float, limit: int | str, per: str, patterns: Sequence[str]
) -> None:
    """Reading and writing a policy changes nothing of it."""
    rules = ", ".join(
        f"{{match: {{queue: '{pattern}'}}, weight: {weight!r}, slots: {{limit: {limit}}}, "
        f"rate: {{limit: 3, per: {per}}}}}"
        for pattern in patterns
    )

    found = outcome(f"queues: [{rules}]")

    if isinstance(found, str):
        assert "is matched by" in found
    else:
        assert [weight] * len(patterns) == [rule.weight for rule in found.queues]
        assert [limit] * len(patterns) == [
            rule.slots and rule.slots.limit for rule in found.queues
        ]
        assert found == parse(canonical_json(found))
