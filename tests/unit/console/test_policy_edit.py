"""What the policy's editor concludes: a form's draft, wrong lines, what a report says."""

from collections.abc import Mapping

import pytest

from fairlead_console.pages.drafts import Draft, Senseless, around, asked, version
from fairlead_console.pages.predictions import prediction

_FORM = {"document": "a: 1\r\nb: 2\r\n", "base": "7", "back_to": "", "slots": ""}


def side(share: float, p50: float | None = None, *, more: bool = False) -> dict[str, object]:
    """Return one policy's part of a report."""
    waits = {
        f"wait_{name}_{what}": value
        for name in ("p50", "p99")
        for what, value in (("seconds", p50), ("is_more", more))
    }
    return {"share": share, "jobs": 10, "started": 1200, **waits}


def report(*tenants: tuple[str, float, float], other: int = 0) -> Mapping[str, object]:
    """Return a report of these tenants' shares under both policies."""
    both = {"old": side(0.5, 1.0), "new": side(0.5, 1234.5, more=True)}
    return {
        "simulated_seconds": 60.0,
        "pools": [{"pool": "default", "slots": 1000}],
        "notes": ["jobs are few"],
        "waiting": 100_000,
        "waiting_is_more": True,
        "in_flight": 3,
        "known_seconds": 600.0,
        "tenants": [
            {"queue": "mail", "tenant": name, "old": side(old), "new": side(new)}
            for name, old, new in tenants
        ],
        "other": {"tenants": other, **both} if other else None,
        "all": {"tenants": len(tenants) + other, **both},
    }


def test_a_form_is_a_draft_with_the_ends_of_lines_of_a_text() -> None:
    """A browser sends those of HTTP; a digest of others would be of another text."""
    draft = asked(_FORM)

    assert Draft(document="a: 1\nb: 2\n", base=7) == draft
    assert draft.seen == asked({**_FORM, "document": "a: 1\nb: 2\n", "pool": "gpu"}).seen
    others = ({"document": "a: 1\nb: 2"}, {"base": "8"})
    assert 3 == len({draft.seen, *(asked({**_FORM, **each}).seen for each in others)})


def test_a_reason_is_a_line_that_the_database_takes() -> None:
    """Whatever its characters take."""
    said = asked({**_FORM, "reason": " acme\r\n  pays " + "\U0001f600" * 500}).reason

    assert said.startswith("acme pays \U0001f600")
    assert 890 < len(said.encode()) <= 900


@pytest.mark.parametrize(
    "wrong",
    [{"base": ""}, {"base": "-1"}, {"base": "9" * 30}, {"back_to": "x"}, {"slots": "0"}],
    ids=str,
)
def test_a_form_that_no_page_shows_is_senseless(wrong: dict[str, str]) -> None:
    """It is said in a sentence."""
    with pytest.raises(Senseless):
        asked({**_FORM, **wrong})


def test_an_address_names_a_version_or_none() -> None:
    """Anything else is none."""
    assert [3, None, None] == [version({"version": each}) for each in ("3", "x", "")]


def test_a_line_that_is_wrong_stands_among_others() -> None:
    """At the ends there are fewer; what is wrong as a whole has none."""
    text = "\n".join(f"line {number}" for number in range(1, 11))

    assert [2, 3, 4, 5, 6, 7, 8] == [each.number for each in around(text, 5)]
    assert ["line 5"] == [each.text for each in around(text, 5) if each.is_wrong]
    assert [1, 2, 3, 4] == [each.number for each in around(text, 1)]
    assert [7, 8, 9, 10] == [each.number for each in around(text, 10)]
    assert () == around(text, None)


def test_a_report_names_who_gains_and_who_loses() -> None:
    """Bars are on one scale; several tenants are one row, and the whole is the last."""
    found = prediction(report(("acme", 0.25, 0.5), ("", 0.75, 0.5), other=2))

    assert (
        "In the next 60 s 1,200 jobs start under the policy in force, and 1,200 with this "
        "document." == found.lead
    )
    assert (
        "100,000+ jobs wait, 3 are in flight; 1,000 slots in pool default; arrivals and run "
        "times are those of the last 10 m." == found.given
    )
    gains = "“acme” in queue “mail” gets 50% of the slots in use instead of 25%."
    loses = "The tenant without a name in queue “mail” gets 50% of the slots in use"
    assert (gains, f"{loses} instead of 75%.") == found.sentences
    assert ["acme", "", "2 other tenants", "all: slots in use"] == [
        each.tenant for each in found.changes
    ]
    assert [(666.7, 333.3), (666.7, 1000.0)] == [
        (each.width, each.mark) for each in found.changes[:2]
    ]
    assert ("1.00 s", ">1,234.50 s", "-") == (
        found.changes[2].old.p50,
        found.changes[2].new.p99,
        found.changes[0].old.p50,
    )


def test_shares_that_stay_are_said_to_stay() -> None:
    """And of nobody nothing is said."""
    assert ("Each tenant's share stays about as it is.",) == prediction(
        report(("acme", 0.5, 0.505))
    ).sentences
    assert () == prediction(report()).sentences
