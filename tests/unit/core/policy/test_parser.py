"""A policy document is read whole, or refused with the field, its value and the fix."""

import re
from datetime import timedelta
from time import process_time

import pytest

from fairlead.policy import (
    DOCUMENT_BYTES_MAX,
    Policy,
    PolicyRefused,
    canonical_json,
    digest,
    parse,
)
from tests.support import tree

EXAMPLE = (tree.ROOT / "examples/policy.yaml").read_text("utf-8")
ONE_WINDOW = "{limit: 500, per: 1s, burst: 1000}"
_NUMBER = "must be a number from 0.001 to 1,000"
_COUNT = "must be a whole number from 1 to 1,000,000"
_DURATION = "must be a duration such as 500ms, 5s, 2m or 1h"
_SLOTS = 'must be a whole number from 1 to 1,000,000 or a percentage from "0.01%" to "100%"'
_PATH = "must be a path such as payload.account_id of at most 128 bytes"
_RULE = "queues: [{match: {queue: a}, %s}]"

BAD = {
    "": "the document is empty: write {} for a policy without rules",
    "# nothing\n": "the document is empty: write {} for a policy without rules",
    "text": "the document must be a mapping with version, fairness, capacity, bands, pools, "
    "labels, queues, rules, shadow, not 'text'",
    "[1]": "the document must be a mapping with version, fairness, capacity, bands, pools, "
    "labels, queues, rules, shadow, not a list",
    "a: [": "the document cannot be read as YAML: ",
    "\0": "the document cannot be read as YAML: ",
    "{}\n---\n{}": "the document has a second document: keep one (line 3)",
    "version: &a 1": "the document has an anchor or an alias: write the value out (line 1)",
    "version: !!str 1": "the document has a tag: leave it out (line 1)",
    "? [a]\n: 1": "the document has a key that is no text (line 1)",
    'version: "\\ud800"': "the document ",
    "version: 1\nversion: 2": "version: is there twice, first on line 1: keep one (line 2)",
    "[" * 20 + "]" * 20: "the document is nested more than 16 deep (line 1)",
    "version: 1.5": "version: must be a whole number from 0 to 15 digits or a word of 1 to 64 "
    "bytes, not 1.5: put it in quotes (line 1)",
    "limits: []": "limits: there is no such field; there are version, fairness, capacity, "
    "bands, pools",
    "capacity: {depthCeiling: 0}": "capacity.depthCeiling: must be a whole number from 1 to "
    "100,000, not 0 (line 1)",
    "capacity: {tickMs: 20}": "capacity.tickMs: there is no such field; there are depthCeiling",
    "apiVersion: v1\nkind: ConfigMap": "apiVersion: there is no such field; of a ConfigMap "
    "give what is under its policy.yaml (line 1)",
    "pools: []": "pools: must have one pool or more, or be left out (line 1)",
    "pools: [{name: a, queues: []}]": "pools[0].queues: is empty: name one at least, or leave "
    "the whole entry out (line 1)",
    "pools: [{name: a}]": "pools[0].queues: is missing: give it (line 1)",
    "pools: [{name: a, queues: q}]": "pools[0].queues: must be a list, not 'q' (line 1)",
    "pools:\n- {name: a, queues: [q]}\n- {name: a, queues: [r]}": "pools[1].name: 'a' is the "
    "name of an earlier pool: rename one (line 3)",
    "pools:\n- {name: a, queues: [q*]}\n- name: b\n  queues:\n  - r\n  - q1": "pools[1]."
    "queues[1]: 'q1' is served by 'a' already, by its 'q*': put the narrower one first, or "
    "leave one out (line 6)",
    "pools: [{name: a, queues: [q], timeoutDefault: 2h, timeoutMax: 1h}]": "pools[0]: has "
    "timeoutDefault 2h above timeoutMax 1h: lower the one or raise the other (line 1)",
    "pools: [{name: a, queues: [q], timeoutMax: 60}]": "pools[0].timeoutMax: must be a "
    "duration such as 500ms, 5s, 2m or 1h, not 60: give a unit (line 1)",
    "bands: {}": "bands: must be a list, not a mapping (line 1)",
    "bands: []": "bands: must have two bands or more, or be left out (line 1)",
    "bands: [{name: a}]": "bands: must have two bands or more, or be left out (line 1)",
    "bands: [{maxWait: 1s}]": "bands[0].name: is missing: give it (line 1)",
    "bands: [{name: a}, {name: b}]": "bands[1].maxWait: is missing: give it, or jobs of ",
    "bands: [{name: a, maxWait: 1s}, {name: b, maxWait: 1s}]": "bands[0].maxWait: there is "
    "no band above 'a': leave it out (line 1)",
    "bands:\n- {name: a}\n- {name: a, maxWait: 1s}": "bands[1].name: 'a' is the name of an "
    "earlier band: rename one (line 3)",
    "bands: [{name: a, priorities: {from: 5, to: 4}}]": "bands[0].priorities: runs from 5 to "
    "4: swap them (line 1)",
    "bands: [{name: a, priorities: {from: -101}}]": "bands[0].priorities.from: must be a whole "
    "number from -100 to 100, not -101 (line 1)",
    "bands: [{name: a, priorities: {from: 1}}, {name: b, maxWait: 1s, priorities: {to: 1}}]": ""
    "bands[1].priorities: 1 is one of 'a' as well: let them end apart (line 1)",
    _RULE % "band: a": "queues[0].band: there is no band 'a': give bands (line 1)",
    "bands: [{name: a}, {name: b, maxWait: 1s}]\n" + _RULE % "band: c": "queues[0].band: there "
    "is no band 'c': there are a, b (line 2)",
    "qeues: []": "qeues: there is no such field; did you mean queues? (line 1)",
    "fairness: {inflight_share_cap: 2}": "fairness.inflight_share_cap: there is no such "
    "field; did you mean inflightShareCap? (line 1)",
    "fairness: {inflightShareCap: 0.5}": "fairness.inflightShareCap: must be a number from 1 "
    "to 1,000, not 0.5 (line 1)",
    "fairness: {refresh: 250}": f"fairness.refresh: {_DURATION}, not 250: give a unit",
    "fairness: {refresh: 2 s}": f"fairness.refresh: {_DURATION}, not '2 s' (line 1)",
    "fairness: {refresh: 1h}": "fairness.refresh: must be 1ms to 60s, not 1h (line 1)",
    "fairness: {estimator: {priorSamples: 0}}": "fairness.estimator.priorSamples: must be a "
    "whole number from 1 to 1,000, not 0 (line 1)",
    "fairness: fast": "fairness: must be a mapping with inflightShareCap, refresh, reserve, "
    "estimator, eviction, not 'fast' (line 1)",
    "fairness: {reserve: 10%}": "fairness.reserve: must be a mapping with percent, min, "
    "shorterThan, not '10%' (line 1)",
    "fairness: {reserve: {percent: 91}}": "fairness.reserve.percent: must be a number "
    "from 0 to 90, not 91 (line 1)",
    "fairness: {reserve: {percent: 0, min: 0}}": "fairness.reserve: keeps nothing: give "
    "percent or min, or null for no reserve (line 1)",
    "fairness: {reserve: {shorterThan: 2}}": "fairness.reserve.shorterThan: must be a duration",
    "labels: [acme]": "labels: must be a mapping, not a list (line 1)",
    "labels: {acme: {tier: 1}}": "labels.acme.tier: must be a label's value as text of 0 to "
    "128 bytes, not 1: put it in quotes (line 1)",
    "labels: {acme: {a=b: c}}": "labels.acme['a=b']: must be a label's name without =, not ",
    "queues: {match: {queue: a}}": "queues: must be a list, not a mapping (line 1)",
    "queues: [a]": "queues[0]: must be a mapping with match, weight, slots, rate, backlog, "
    "concurrency, band, tenants, not 'a' (line 1)",
    "queues: [{weight: 1}]": "queues[0].match: is missing: give it (line 1)",
    "queues:\n  - match: {queue: a}\n    wieght: 2": "queues[0].wieght: there is no such "
    "field; did you mean weight? (line 3)",
    "queues: [{match: {queue: ''}}]": "queues[0].match.queue: must be a name or a pattern with "
    "* and ? as text of 1 to 128 bytes, not '' (line 1)",
    "queues: [{match: {queue: 7}}]": "queues[0].match.queue: must be a name or a pattern with "
    "* and ? as text of 1 to 128 bytes, not 7: put it in quotes (line 1)",
    _RULE % "weight: 0": f"queues[0].weight: {_NUMBER}, not 0 (line 1)",
    _RULE % "weight: 1001": f"queues[0].weight: {_NUMBER}, not 1001 (line 1)",
    _RULE % "weight: 1e999": f"queues[0].weight: {_NUMBER}, not inf (line 1)",
    _RULE % "weight: true": f"queues[0].weight: {_NUMBER}, not true (line 1)",
    _RULE
    % "weight: null, rate: {limit: 1, per: 1s}": "queues[0]: has weight null, so it has no "
    "share of its own, and rate, which needs one: give it a weight, or set limits of its "
    "tenants (line 1)",
    _RULE % "weight: '4'": f"queues[0].weight: {_NUMBER}, not '4' (line 1)",
    _RULE % "weight: .nan": f"queues[0].weight: {_NUMBER}, not '.nan' (line 1)",
    _RULE % "slots: 60": "queues[0].slots: must be a mapping with limit, reserve, not "
    "60 (line 1)",
    _RULE % "slots: {}": "queues[0].slots: has no effect: give limit, reserve or both (line 1)",
    _RULE % "slots: {reserve: 0}": f"queues[0].slots.reserve: {_SLOTS}, not 0 (line 1)",
    _RULE % "slots: {reserve: 5, limit: 4}": "queues[0].slots: reserves 5 of a limit of 4: "
    "lower the reserve (line 1)",
    _RULE % "slots: {reserve: 30%, limit: 25%}": "queues[0].slots: reserves 30% of a limit of ",
    _RULE % "slots: {limit: 0}": f"queues[0].slots.limit: {_SLOTS}, not 0 (line 1)",
    _RULE % "slots: {limit: 2.5}": f"queues[0].slots.limit: {_SLOTS}, not 2.5 (line 1)",
    _RULE % "slots: {limit: 0%}": f"queues[0].slots.limit: {_SLOTS}, not '0%' (line 1)",
    _RULE % "slots: {limit: 101%}": f"queues[0].slots.limit: {_SLOTS}, not '101%' (line 1)",
    _RULE % "slots: {limit: 25 %}": f"queues[0].slots.limit: {_SLOTS}, not '25 %' (line 1)",
    _RULE % "rate: 5": "queues[0].rate: must be a mapping, or a list of them, not 5 (line 1)",
    _RULE % "rate: {limit: 5}": "queues[0].rate.per: is missing: give it (line 1)",
    _RULE % "rate: {limit: 0, per: 1s}": f"queues[0].rate.limit: {_COUNT}, not 0 (line 1)",
    _RULE % "rate: [{limit: 5, per: 0s}]": "queues[0].rate[0].per: must be 1ms to 720h, not 0s",
    _RULE
    % "rate: [{limit: 5, per: 1s, burst: 0}]": f"queues[0].rate[0].burst: {_COUNT}, not 0",
    _RULE % "rate: [{limit: 5, per: 1s}, {limit: 6, per: 1000ms}]": "queues[0].rate[1].per: "
    "there is a window of 1s before: keep the stricter one (line 1)",
    _RULE % "backlog: 5": "queues[0].backlog: must be a mapping with limit, not 5 (line 1)",
    _RULE % "backlog: {}": "queues[0].backlog.limit: is missing: give it (line 1)",
    _RULE % "backlog: {limit: 0}": f"queues[0].backlog.limit: {_COUNT}, not 0 (line 1)",
    _RULE % "backlog: {limit: 1000001}": f"queues[0].backlog.limit: {_COUNT}, not 1000001",
    _RULE % "backlog: {limit: 25%}": f"queues[0].backlog.limit: {_COUNT}, not '25%' (line 1)",
    _RULE % "backlog: {jobs: 5}": "queues[0].backlog.jobs: there is no such field; there are "
    "limit (line 1)",
    _RULE % "concurrency: payload.a": "queues[0].concurrency: must be a mapping, or a list of "
    "them, not 'payload.a' (line 1)",
    _RULE % "concurrency: {key: payload.a}": "queues[0].concurrency.limit: is missing: give it",
    _RULE % "concurrency: {key: payload, limit: 1}": f"queues[0].concurrency.key: {_PATH}, not "
    "'payload' (line 1)",
    _RULE
    % "concurrency: [{key: payload.a.0, limit: 1}]": "queues[0].concurrency[0].key: must ",
    _RULE
    % "concurrency: [{key: 'payload.$.a', limit: 1}]": "queues[0].concurrency[0].key: must ",
    _RULE
    % f"concurrency: [{{key: payload{'.a' * 9}, limit: 1}}]": "queues[0].concurrency[0].key",
    _RULE % "concurrency: {key: payload.a, limit: 0}": f"queues[0].concurrency.limit: {_COUNT}",
    _RULE
    % "concurrency: {key: payload.a, limit: 1, scope: pool}": "queues[0].concurrency.scope: "
    "must be queue or tenant, not 'pool' (line 1)",
    _RULE
    % "concurrency: [{key: payload.a, limit: 1}, {key: payload.a, limit: 2}]": "queues[0]."
    "concurrency[1].key: payload.a has a limit for one tenant before: keep the stricter one ",
    _RULE
    % "concurrency: [{key: payload.a, limit: 2}, {key: payload.a, limit: 2, scope: queue}]": (
        "queues[0].concurrency[0].limit: a tenant may have 2 of payload.a, and the whole queue "
        "2: "
        "leave the tenant's out, or make it less (line 1)"
    ),
    _RULE % f"concurrency: [{', '.join(['{key: payload.a, limit: 1}'] * 5)}]": "queues[0]."
    "concurrency: has more than 4 entries: leave some out (line 1)",
    _RULE % "tenants: {overrides: [{weight: 1}]}": "queues[0].tenants.overrides[0].match: is "
    "missing: give it (line 1)",
    _RULE
    % "tenants: {overrides: [{match: {}}]}": "queues[0].tenants.overrides[0].match: matches "
    "no tenant: give tenant or tenantLabel (line 1)",
    _RULE
    % "tenants: {overrides: [{match: {tenantLabel: gold}}]}": "queues[0].tenants.overrides"
    "[0].match.tenantLabel: must be a label such as tier=free, not 'gold' (line 1)",
    "queues: [{match: {queue: a*}}, {match: {queue: ab}}]": "queues[1].match.queue: 'ab' is "
    "matched by queues[0] already, and the first match counts: put the narrower rule first, or "
    "leave one out (line 1)",
    "queues: [{match: {queue: a}}, {match: {queue: a}}]": "queues[1].match.queue: 'a' is ",
    _RULE % "tenants: {overrides: [{match: {tenant: '*'}}, {match: {tenant: x}}]}": "queues[0]."
    "tenants.overrides[1].match.tenant: 'x' is matched by queues[0].tenants.overrides[0] ",
    "shadow: 3": "shadow: must be a mapping with version, every, not 3 (line 1)",
    "shadow: {every: 60s}": "shadow.version: is missing: give it (line 1)",
    "shadow: {version: 0}": "shadow.version: must be a number of `fairlead policy history` or ",
    "shadow: {version: abc}": "shadow.version: must be a number of `fairlead policy history` ",
    "shadow: {version: 1, every: 1s}": "shadow.every: must be 10s to 24h, not 1s (line 1)",
    "#" * (DOCUMENT_BYTES_MAX + 1): "the document has 262,145 bytes, more than 262,144: leave ",
    "\udc80": "the document is not valid Unicode: save it as UTF-8",
}


@pytest.mark.parametrize(("document", "said"), BAD.items(), ids=[each[:40] for each in BAD])
def test_a_bad_document_is_refused_with_field_value_and_fix(document: str, said: str) -> None:
    """One sentence names the field, what it is and what it must be."""
    with pytest.raises(PolicyRefused) as refused:
        parse(document)

    line = re.search(r"\(line (\d+)\)$", str(refused.value))
    assert said == str(refused.value)[: len(said)]
    assert "\n" not in str(refused.value)
    assert (int(line[1]) if line else None) == refused.value.line


def test_the_example_is_a_policy() -> None:
    """What the pages show can be applied."""
    policy = parse(EXAMPLE)

    emails, reports = policy.queues
    assert (7, 4.0, 60) == (policy.version, emails.weight, emails.slots and emails.slots.count)
    assert [(500, timedelta(seconds=1), 1000)] == [
        (each.limit, each.per, each.burst_jobs) for each in emails.rate
    ]
    assert [5, 100] == [each.burst_jobs for each in reports.tenants.default.rate]


def test_every_policy_on_a_page_is_one() -> None:
    """What the how-to page shows can be applied."""
    page = (tree.ROOT / "docs/how-to/tune-fairness.md").read_text("utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)

    assert 4 < len([parse(block) for block in blocks])


def test_a_document_without_rules_has_the_defaults_of_no_policy() -> None:
    """An empty mapping is a policy that changes nothing."""
    policy = parse("{}")

    assert (None, (), None) == (policy.version, policy.queues, policy.rule_of("any"))
    assert (2.0, timedelta(milliseconds=25)) == (
        policy.fairness.inflight_share_cap,
        policy.fairness.refresh,
    )


def test_the_first_rule_that_matches_counts() -> None:
    """A queue has one rule, whatever follows."""
    policy = parse(
        "queues: [{match: {queue: a-b}, weight: 2}, {match: {queue: a-*}, weight: 3}]"
    )

    assert [2.0, 3.0, None] == [
        rule and rule.weight for rule in map(policy.rule_of, ("a-b", "a-c", "b"))
    ]


def test_what_an_override_does_not_give_comes_from_the_default() -> None:
    """Null lifts a limit, and silence keeps it."""
    policy = parse(EXAMPLE)
    tenants = policy.queues[0].tenants

    acme, initech, other = (
        tenants.terms_of(name, policy.labels_of(name)) for name in ("acme", "initech", "other")
    )

    assert (8.0, None) == (acme.weight, acme.slots)
    assert (0.25, 2) == (initech.weight, initech.slots and initech.slots.limit)
    assert (1.0, 25.0) == (other.weight, other.slots and other.slots.percent)


def overriding(override: str) -> Policy:
    """Return a policy with one override of a default that gives everything."""
    default = "{weight: 3, slots: {limit: 5}, rate: {limit: 7, per: 1s}}"
    return parse(
        f"queues: [{{match: {{queue: q}}, tenants: {{default: {default}, "
        f"overrides: [{{match: {{tenant: a}}, {override}}}]}}}}]"
    )


@pytest.mark.parametrize(
    ("override", "terms"),
    [
        ("weight: 1", (1.0, 5, 1)),
        ("slots: {limit: 2}", (3.0, 2, 1)),
        ("slots: null", (3.0, None, 1)),
        ("rate: null", (3.0, 5, 0)),
        ("rate: []", (3.0, 5, 0)),
        ("", (3.0, 5, 1)),
    ],
)
def test_an_override_changes_what_it_gives_and_no_more(
    override: str, terms: tuple[float, int | None, int]
) -> None:
    """Also where it gives what would be the default elsewhere."""
    found = overriding(override).queues[0].tenants.terms_of("a", {})

    assert terms == (found.weight, found.slots and found.slots.limit, len(found.rate))


def test_a_limit_that_is_lifted_is_another_meaning_than_one_that_is_not_given() -> None:
    """The digest tells null from silence."""
    assert 3 == len({digest(overriding(each)) for each in ("", "slots: null", "rate: null")})


def test_a_key_counts_each_tenant_by_itself_unless_the_policy_shares_it() -> None:
    """A tenant that holds another one's value keeps none of its jobs waiting."""
    rule = parse(_RULE % "concurrency: {key: payload.a, limit: 1}").queues[0]

    assert ["tenant"] == [each.scope for each in rule.concurrency]


def test_an_override_with_name_and_label_needs_both() -> None:
    """Where both fields are given, both must fit."""
    rules = "[{match: {tenant: 'a*', tenantLabel: tier=free}, weight: 9}]"
    policy = parse(
        "labels: {ab: {tier: free}, b: {tier: free}}\n"
        f"queues: [{{match: {{queue: q}}, tenants: {{overrides: {rules}}}}}]"
    )
    tenants = policy.queues[0].tenants

    found = [
        tenants.terms_of(name, policy.labels_of(name)).weight for name in ("ab", "b", "ac")
    ]

    assert [9.0, 1.0, 1.0] == found


def test_words_are_read_by_yaml_1_2() -> None:
    """A queue called no, a tenant called 123 and a label worth 1:30 are text."""
    policy = parse("labels: {123: {at: 1:30}}\nqueues: [{match: {queue: no}}]")

    assert ({"at": "1:30"}, "no") == (policy.labels_of("123"), policy.queues[0].match.queue)


@pytest.mark.parametrize(
    "document",
    [
        "# a comment\n" + EXAMPLE,
        EXAMPLE.replace("25ms", "0.025s").replace("500, per: 1s", "500, per: 1000ms"),
        EXAMPLE.replace(ONE_WINDOW, "[{burst: 1000, per: 1s, limit: 500}]"),
        canonical_json(parse(EXAMPLE)),
    ],
)
def test_documents_of_one_meaning_have_one_digest(document: str) -> None:
    """Comments, order and spelling of values are not part of it."""
    assert digest(parse(EXAMPLE)) == digest(parse(document))


def test_another_meaning_is_another_digest() -> None:
    """Also where a field that is given says what the default would."""
    documents = [EXAMPLE, EXAMPLE.replace("slots: null", "slots: {limit: 1}"), "{}"]

    digests = {digest(parse(each)) for each in documents}

    assert 3 == len(digests)
    assert {12} == {len(each) for each in digests}


def test_a_digest_stays_the_same_from_release_to_release() -> None:
    """It names a version in histories that outlive programs."""
    assert "44136fa355b3" == digest(parse("{}"))


@pytest.mark.parametrize(
    "document",
    [
        "queues: [" + "1," * 130_000 + "]",
        "queues: " + "{a: " * 60_000,
        "? " * 130_000,
        "".join(f"a{number}: 1\n" for number in range(26_000)),
        "labels: {" + "".join(f"t{number}: 1, " for number in range(23_000)) + "}",
    ],
    ids=["list", "depth", "keys", "fields", "labels"],
)
def test_no_document_takes_long_to_refuse(document: str) -> None:
    """The leader reads it while it works: 256 KiB take at most two seconds."""
    begun = process_time()

    with pytest.raises(PolicyRefused):
        parse(document)

    assert process_time() - begun < 2.0
