"""Traces and parameter files: read back as written, and refused with line, field and value."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.fairness.workload import WorkloadRefusedError, load
from fairlead_scheduler.simulation.trace import GROUPS, Arrival, TraceRefusedError, read, write

arrivals = st.builds(
    Arrival,
    st.integers(0, 1 << 60),
    st.text(min_size=1),
    st.text(),
    st.integers(1, 1 << 60),
    st.sampled_from(GROUPS),
    st.integers(-100, 100),
)


@given(st.lists(arrivals))
def test_a_trace_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, trace: list[Arrival]
) -> None:
    """Whatever the names are; in the order of arrivals."""
    path = tmp_path_factory.mktemp("trace") / "jobs.jsonl"

    write(path, trace)

    assert tuple(sorted(trace, key=lambda job: job.at_us)) == read(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 must be an object"),
        ('{"at_us": 1, "queue": "q", "tenant": "a", "cost_us": 0}', "cost_us is 0"),
        ('{"at_us": -1, "queue": "q", "tenant": "a", "cost_us": 1}', "at_us is -1"),
        ('{"at_us": true, "queue": "q", "tenant": "a", "cost_us": 1}', "at_us is True"),
        ('{"at_us": 1, "queue": "", "tenant": "a", "cost_us": 1}', "queue is ''"),
        ('{"at_us": 1, "queue": "q", "cost_us": 1}', "tenant is None"),
        ('{"at_us": 1, "queue": "q", "tenant": "a", "cost_us": 1, "cost": 2}', "no field cost"),
        (
            '{"at_us": 1, "queue": "q", "tenant": "a", "cost_us": 1, "group": "loud"}',
            "group is 'loud'",
        ),
    ],
)
def test_a_line_that_is_no_job_is_refused(tmp_path: Path, line: str, said: str) -> None:
    """The message names line, field and value."""
    path = tmp_path / "jobs.jsonl"
    path.write_text(f'{{"at_us": 1, "queue": "q", "tenant": "a", "cost_us": 1}}\n{line}\n')

    with pytest.raises(TraceRefusedError, match=said):
        read(path)


_TENANTS = """
[[tenants]]
name = "a"
group = "quiet"
arrivals = {{ form = "{form}", {field} = 1 }}
cost = {{ form = "exponential", mean_seconds = 1 }}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slots = ", "is not TOML"),
        ('title = "t"', "slots: Field required"),
        (
            'title = "t"\nslots = 1\nseconds = 1\nshow = ["x"]\nspeed = 2\n'
            + _TENANTS.format(form="even", field="per_second"),
            "speed: Extra inputs",
        ),
        (
            'title = "t"\nslots = 1\nseconds = 1\nshow = ["x"]\n'
            + _TENANTS.format(form="odd", field="per_second"),
            r"tenants\.0\.arrivals",
        ),
    ],
)
def test_a_parameter_file_that_is_no_workload_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    """The message names file, field and fault."""
    path = tmp_path / "W0.toml"
    path.write_text(text)

    with pytest.raises(WorkloadRefusedError, match=rf"W0\.toml.*{said}"):
        load(path)


def test_the_full_form_is_larger(tmp_path: Path) -> None:
    """More slots and as much more traffic, for longer."""
    path = tmp_path / "W0.toml"
    tenants = _TENANTS.format(form="even", field="per_second")
    path.write_text(
        'title = "t"\nslots = 2\nseconds = 1\nshow = ["x"]\n'
        f"full = {{ seconds = 5, scale = 3 }}\n{tenants}"
    )

    full = load(path, "full")

    assert (6, 5.0) == (full.slots, full.seconds)
    assert 3.0 == getattr(full.tenants[0].arrivals, "per_second", None)
