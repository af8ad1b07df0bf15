"""`python -m docs.generate.alerts` writes a rule file, or says which argument it refuses."""

import re
import shlex
import sys
from decimal import Decimal

import pytest
import yaml

from docs.generate import alerts
from docs.generate.alerts import Choice


def test_it_writes_what_was_chosen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each flag has its place, and one that is not given its default."""
    words = ["--namespace", "a", "--scale", "0.5", "--objective", "default=0.5"]
    words += ["--late-percent", "2", "--without", "FairleadCronMissed"]
    monkeypatch.setattr(sys, "argv", ["alerts", *words])

    alerts.main()

    chosen = Choice(
        namespace="a",
        scale=Decimal("0.5"),
        late_percent=Decimal(2),
        objectives={"default": Decimal("0.5")},
        without=frozenset({"FairleadCronMissed"}),
    )
    (group,) = yaml.safe_load(capsys.readouterr().out)["groups"]
    assert list(alerts.rules(chosen)) == group["rules"]
    assert "FairleadCronMissed" not in {each.get("alert") for each in group["rules"]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scale", "fast"], "'fast' is not a number"),
        (["--scale", "0"], "0 is not between 0.001 and 100000"),
        (["--scale", "NaN"], "NaN is not between"),
        (["--objective", "30"], "'30' is not POOL=SECONDS"),
        (["--oldest-ready-seconds", "0"], "0 is not between"),
        (["--without", "FairleadNothing"], "invalid choice: 'FairleadNothing'"),
    ],
)
def test_a_refused_argument_is_one_sentence(
    words: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The flag, the value, and what would be one; exit code 2."""
    monkeypatch.setattr(sys, "argv", ["alerts", *words])

    with pytest.raises(SystemExit) as left:
        alerts.main()

    assert 2 == left.value.code
    assert said in capsys.readouterr().err


def test_the_page_has_a_command_that_makes_links_of_the_runbooks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command of it runs. By default an address is a path, which cannot be clicked."""
    found = re.findall(
        r"^python -m docs\.generate\.alerts (.+) > rules\.yaml$", alerts.page(), re.MULTILINE
    )
    addresses = set[str]()
    for command in found:
        monkeypatch.setattr(sys, "argv", ["alerts", *shlex.split(command)])
        alerts.main()
        (group,) = yaml.safe_load(capsys.readouterr().out)["groups"]
        addresses |= {
            each["annotations"]["runbook_url"] for each in group["rules"] if "alert" in each
        }

    assert "docs/runbooks/FairleadNoLeader.md" in addresses
    assert "https://git.example/docs/runbooks/FairleadNoLeader.md" in addresses


def test_an_inhibit_rule_compares_only_what_both_alerts_have() -> None:
    """To Alertmanager a label that both lack is equal. All have a namespace, or none."""
    (block,) = re.findall(r"^```yaml\n(.*?)^```", alerts.page(), re.MULTILINE | re.DOTALL)

    for rule in yaml.safe_load(block)["inhibit_rules"]:
        demanded = {f'{label}=~".+"' for label in set(rule["equal"]) - {"namespace"}}
        assert demanded
        assert demanded <= set(rule["source_matchers"])
        assert demanded <= set(rule["target_matchers"])
