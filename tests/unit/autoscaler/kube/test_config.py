"""What may be said of a pool's pods: one objective, and bounds that fit each other."""

from datetime import time, timedelta

import pytest
from pydantic import ValidationError

from fairlead.policy.autoscale import Autoscale

NOTHING: dict[str, object] = {}
EVENING: dict[str, object] = {"start": "18:00", "end": "22:00"}


def test_the_objective_is_all_that_must_be_said() -> None:
    """Everything else has a default."""
    found = Autoscale.model_validate({"objective": "30s"})

    assert (timedelta(seconds=30), 1, 10) == (found.objective, found.min, found.max)


def test_every_field_says_what_it_does() -> None:
    """The reference and the schema are made from these sentences."""
    schema = Autoscale.model_json_schema()
    parts = [schema, *schema["$defs"].values()]

    assert [] == [
        name
        for part in parts
        for name, field in part["properties"].items()
        if not field.get("description")
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (NOTHING, "Field required"),
        ({"objective": 30}, "must be a duration such as 500ms, 5s, 2m or 1h, not 30"),
        ({"objective": "10ms"}, "must be 100ms to 24h, not 10ms"),
        ({"min": 5, "max": 4}, "has min 5 above max 4: lower the one"),
        ({"max": 0}, "must be a whole number from 1 to 1,000, not 0"),
        ({"pause": "yes"}, "must be true or false, not 'yes'"),
        ({"cost": {"podHour": 0, "hourMax": 1}}, "must be a number from 0.0001 to 100,000"),
        ({"schedules": [EVENING]}, "has no effect: give min, max or both"),
        ({"schedules": [EVENING | {"min": 3, "max": 2}]}, "has min 3 above max 2"),
        ({"schedules": [EVENING | {"min": 3, "zone": "Mars"}]}, "must be a time zone"),
        ({"schedules": [EVENING | {"min": 3, "start": 1080}]}, "not 1080: put it in quotes"),
        ({"schedules": [EVENING | {"min": 3, "end": "24:00"}]}, "must be a time of day"),
        ({"schedules": [EVENING | {"min": 3, "days": ["Mon"]}]}, "must be mon or tue"),
        ({"schedules": [EVENING | {"min": 3, "days": ()}]}, "at least 1 item"),
        ({"replicas": 3}, "replicas"),
    ],
)
def test_what_is_wrong_is_refused_in_words(given: dict[str, object], said: str) -> None:
    """A field that is not there, a value that is not of its kind, bounds that do not fit."""
    whole = given if not given else {"objective": "30s"} | given

    with pytest.raises(ValidationError) as refused:
        Autoscale.model_validate(whole)

    assert said in str(refused.value)


def test_what_is_written_can_be_read_again() -> None:
    """In the form in which a document says it."""
    given = {"objective": "30s", "schedules": [EVENING | {"max": 3, "days": ["sat"]}]}
    found = Autoscale.model_validate(given)
    written = found.model_dump(mode="json", by_alias=True)

    assert time(18) == found.schedules[0].start
    assert "18:00" == written["schedules"][0]["start"]
    assert found == Autoscale.model_validate(written)
