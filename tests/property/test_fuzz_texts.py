"""What comes from outside as text is refused as its reader promises, or read whole.

Policies and cron have such properties in files of their own, and SQL in `test_fuzz_sql`.
"""

import json
import os
from contextlib import suppress
from typing import get_args
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_settings import BaseSettings

from fairlead.settings import explain
from fairlead_autoscaler.settings import AutoscalerSettings
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_worker.ipc import messages
from fairlead_worker.settings import WorkerSettings

_names = st.sampled_from(
    [kind.__name__.lower() for kind in get_args(messages.ToChild | messages.ToParent)]
)
_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner), st.dictionaries(st.sampled_from(["by", "sum", "x"]), inner)
    ),
    max_leaves=8,
)
_fields = st.dictionaries(
    st.sampled_from(["worker_id", "number", "jobs", "kinds", "counters", "job_id", "x"]), _json
)
_lines = st.one_of(
    st.binary(max_size=200),
    st.integers(1, 5000).map(lambda depth: b"[" * depth),
    st.sampled_from([b'{"type":["drain"]}', b'{"type":"drain"', b"9" * 5000]),
    st.tuples(_names, _fields).map(
        lambda pair: json.dumps({"type": pair[0], **pair[1]}).encode()
    ),
)
_values = st.one_of(
    st.sampled_from(
        ["", " ", "-1", "0", "1e400", "nan", "inf", "null", "[]", "{}", "{", "9" * 5000]
    ),
    st.integers().map(str),
    st.floats().map(repr),
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=50),
)


@given(st.from_type(messages.ToChild))  # type: ignore[arg-type]  # a union is a type to Hypothesis
def test_what_a_parent_sends_is_what_its_child_reads(message: messages.ToChild) -> None:
    """Every message, with any values of its fields' types."""
    assert message == messages.from_parent(messages.to_child(message))


@settings(max_examples=10 * settings().max_examples)
@given(_lines)
def test_any_line_is_a_message_or_malformed(line: bytes) -> None:
    """A handler may write to its process's descriptors: no line ends the parent otherwise."""
    for read in (messages.from_child, messages.from_parent):
        with suppress(messages.MalformedMessage):
            read(line)


@pytest.mark.parametrize("service", [AutoscalerSettings, SchedulerSettings, WorkerSettings])
@given(st.data())
def test_any_value_of_a_setting_is_taken_or_refused_in_a_line(
    service: type[BaseSettings], data: st.DataObject
) -> None:
    """And the line names the variable, for there may be many of them."""
    field = data.draw(st.sampled_from(sorted(service.model_fields)))
    variable = f"FAIRLEAD_{field.upper()}"
    with patch.dict(os.environ, {"FAIRLEAD_APP": "a:b", variable: data.draw(_values)}):
        try:
            service()
        except ValidationError as error:
            said = explain(error)
            assert said.isprintable(), said
            assert field in said.lower()
