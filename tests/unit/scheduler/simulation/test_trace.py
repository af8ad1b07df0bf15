"""Traces round-trip, and an invalid line is refused with line, field and value."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead_scheduler.simulation.trace import GROUPS, Arrival, TraceRefusedError, read, write

names = st.text(max_size=128)
values = st.none() | st.text(max_size=129)
arrivals = st.builds(
    Arrival,
    st.integers(0, 1 << 60),
    names.filter(bool),
    names,
    st.integers(1, 1 << 60),
    st.sampled_from(GROUPS),
    st.integers(-100, 100),
    names.filter(bool),
    st.dictionaries(names, values, max_size=16).map(lambda keys: tuple(keys.items())),
)
JOB = '{"at_us": 1, "queue": "q", "tenant": "a", "cost_us": 1, "kind": "k"%s}\n'


@given(st.lists(arrivals))
def test_a_trace_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, trace: list[Arrival]
) -> None:
    """With any names; sorted by arrival."""
    path = tmp_path_factory.mktemp("trace") / "jobs.jsonl"

    write(path, trace)

    assert tuple(sorted(trace, key=lambda job: job.at_us)) == read(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON"),
        pytest.param("9" * 5000, "line 2 is not JSON", id="many digits"),
        pytest.param("[" * 100_000, "line 2 is not JSON", id="deep"),
        ("[]", "line 2 must be an object"),
        ('{"at_us": 1, "queue": "q", "tenant": "a", "cost_us": 0}', "cost_us is 0"),
        ('{"at_us": -1, "queue": "q", "tenant": "a", "cost_us": 1}', "at_us is -1"),
        ('{"at_us": true, "queue": "q", "tenant": "a", "cost_us": 1}', "at_us is True"),
        ('{"at_us": 1, "queue": "", "tenant": "a", "cost_us": 1}', "queue is ''"),
        ('{"at_us": 1, "queue": "q", "cost_us": 1}', "tenant is None"),
        (
            '{"at_us": 1, "queue": "q", "tenant": "a", "cost_us": 1}',
            "kind is None; give a name",
        ),
        (JOB % ', "cost": 2', "no field cost"),
        (JOB % ', "group": "loud"', "group is 'loud'; give one of quiet, noisy, tail"),
        (JOB % ', "priority": 101', "priority is 101; give a whole number from -100 to 100"),
        (JOB % ', "keys": []', r"keys is \[\]; give an object of at most 16 values"),
        (JOB % f', "keys": {json.dumps(dict.fromkeys(map(str, range(17))))}', "keys is "),
        (JOB % ', "keys": {"payload.a": 7}', "keys of 'payload.a' is 7; give a text"),
        (JOB % f', "keys": {{"payload.a": "{"x" * 130}"}}', "keys of 'payload.a' is 'xxx"),
    ],
)
def test_a_line_that_is_no_job_is_refused(tmp_path: Path, line: str, message: str) -> None:
    """The message names line, field and value."""
    path = tmp_path / "jobs.jsonl"
    path.write_text(f"{JOB % ''}{line}\n")

    with pytest.raises(TraceRefusedError, match=message) as refused:
        read(path)

    assert len(str(refused.value)) < 200
