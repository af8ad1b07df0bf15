"""Rules of a policy: each is read whole, or refused with the field, its value and the fix."""

import pytest

from fairlead.policy import PolicyRefused, canonical_json, parse

_WHEN = "rules: [{when: '%s', hold: true}]"
_RULE = "rules: [{when: hour > 5, %s}]"
_MANY = f"rules: [{', '.join(['{when: hour > 5, hold: true}'] * 101)}]"

BAD = {
    "rules: {when: 'true'}": "rules: must be a list, not a mapping (line 1)",
    "rules: [hold]": "rules[0]: must be a mapping with name, match, when, zone, hold, ",
    "rules: [{hold: true}]": "rules[0].when: is missing: give it (line 1)",
    "rules: [{when: true, hold: true}]": "rules[0].when: must be an expression such as ",
    "rules: [{when: '', hold: true}]": "rules[0].when: must be an expression such as ",
    "rules:\n- when: hour >\n  hold: true": "rules[0].when: at character 7: it breaks "
    "off: write what is missing, or leave out what begins there (line 2)",
    _WHEN
    % "hour": "rules[0].when: at character 1, 'hour': must be true or false, and is int: ",
    _WHEN % "hour > 17h": "rules[0].when: at character 10, 'h': nothing like this can stand "
    "here: join conditions with && or ||, or leave it out (line 1)",
    _WHEN
    % "hours > 17": "rules[0].when: at character 1, 'hours': there is no such variable or "
    "function; did you mean hour? (line 1)",
    _WHEN % "lane.in_flght > 3": "rules[0].when: at character 1, 'lane.in_flght': there is no "
    "such variable or function; did you mean lane.in_flight? (line 1)",
    _WHEN % 'job.type == "a"': "rules[0].when: at character 1, 'job.type': there is no such ",
    _WHEN % "job.priority / job.priority > 0": "rules[0].when: 'job.priority / job.priority > "
    "0' has no value everywhere: divide by zero; ask before",
    _WHEN % "60 / int(job.deadline_in_s - 60.0) > 1": "rules[0].when: '60 / int(job.dead",
    _WHEN % "workers > 3": "rules[0].when: at character 1, 'workers': there is no such ",
    _WHEN % "lane.weight * 2 > 3": "rules[0].when: at character 13, '*': * does not fit "
    "double and int: write 2.0 for 2, or double(x) (line 1)",
    _WHEN % 'hour == "9"': "rules[0].when: at character 6, '==': == does not fit int and "
    "string: compare two numbers, or a text with one in quotes (line 1)",
    _WHEN % 'lane.queue.matches("a.*")': "rules[0].when: at character 12, 'matches': there is "
    "no such variable or function; there are hour, ",
    _WHEN % "[1].exists(i, i > 0)": "rules[0].when: at character 12, 'i': there is no such ",
    _WHEN
    % "workers.slots / workers.free > 2": "rules[0].when: 'workers.slots / workers.free > "
    "2' has no value everywhere: divide by zero; ask before, as in workers.slots > 0 && …",
    _WHEN
    % 'lane.labels.tier == "a"': "rules[0].when: 'lane.labels.tier == \"a\"' has no value "
    'everywhere: Key not found in map : "tier"; ask before, as in ',
    _WHEN % "60 / (17 - hour) > 1": "rules[0].when: '60 / (17 - hour) > 1' has no value ",
    _WHEN % ("(" * 40 + "true" + ")" * 40): "rules[0].when: at character 1, ",
    _WHEN % ("true || " * 200 + "true"): "rules[0].when: at character 1, ",
    "rules: [{when: hour > 5}]": "rules[0]: does nothing: give hold, weightFactor or slots ",
    _RULE % "hold: false": "rules[0].hold: must be true, or left out, not false (line 1)",
    _RULE % "weightFactor: 0": "rules[0].weightFactor: must be a number from 0.001 to 1,000, ",
    _RULE % "weightFactor: 1": "rules[0].weightFactor: must be another factor than 1, which ",
    _RULE % "slots: {limit: 0}": "rules[0].slots.limit: must be a whole number from 1 to ",
    _RULE % "slots: {reserve: 1}": "rules[0].slots.reserve: there is no such field; there are ",
    _RULE
    % "hold: true, slots: {limit: 1}": "rules[0]: has hold, which makes weightFactor and ",
    _RULE % "band: interactive": "rules[0]: names a band, but no job changes its band by a "
    "rule: name it in `queues`, or insert the job with a priority that has it (line 1)",
    _RULE % "slots: {limit: 2}, match: {kind: a}": "rules[0]: is for single jobs, and weightF",
    _RULE % "weightFactor: 2, match: {kind: a}": "rules[0]: is for single jobs, and weightF",
    "rules: [{when: job.attempt > 1, weightFactor: 2}]": "rules[0]: is for single jobs, and "
    "weightFactor and slots are those of queues and tenants: give hold, or give these jobs a "
    "queue of their own (line 1)",
    _RULE % "hold: true, zone: Mars/Olympus": "rules[0].zone: must be a time zone such as ",
    _RULE % "hold: true, zone: ../etc/passwd": "rules[0].zone: must be a time zone such as ",
    "rules: [{when: lane.waiting, hold: true, zone: Europe/Berlin}]": "rules[0]: has a zone, "
    "but `when` names none of hour, minute, weekday: leave zone out (line 1)",
    _RULE
    % "hold: true, match: {}": "rules[0].match: is empty: give queue, tenant, label or kin",
    _RULE % "hold: true, match: {kind: ''}": "rules[0].match.kind: must be ",
    _RULE % "hold: true, match: {kind: [a]}": "rules[0].match.kind: must be ",
    _RULE
    % "hold: true, match: {label: gold}": "rules[0].match.label: must be a label such as ",
    _RULE % "hold: true, name: ''": "rules[0].name: must be a rule's name as text of 1 to 64 ",
    "rules:\n- {name: a, when: hour > 5, hold: true}\n- {name: a, when: 'true', hold: true}": ""
    "rules[1].name: 'a' is the name of an earlier rule: rename one (line 3)",
    _MANY: "rules: has more than 100 ",
}


@pytest.mark.parametrize(("document", "said"), BAD.items(), ids=[each[:60] for each in BAD])
def test_a_bad_rule_is_refused_with_field_value_and_fix(document: str, said: str) -> None:
    """One sentence names the field, what it is and what it must be."""
    with pytest.raises(PolicyRefused) as refused:
        parse(document)

    assert said == str(refused.value)[: len(said)]
    assert "\n" not in str(refused.value)


def test_a_rule_without_a_tenant_a_label_or_a_lane_is_for_queues() -> None:
    """Five slots in office hours are meant for the queue, not for each of its tenants."""
    rules = parse(
        "rules:\n"
        "- {match: {queue: reindex}, when: hour >= 9 && hour < 17, slots: {limit: 5}}\n"
        "- {match: {queue: reindex, tenant: acme}, when: hour >= 9, slots: {limit: 5}}\n"
        "- {match: {label: tier=free}, when: workers.free_ratio < 0.1, hold: true}\n"
        "- {when: lane.oldest_wait_s > 30, weightFactor: 2}\n"
    ).rules

    assert [True, False, False, False] == [rule.for_queues for rule in rules]
    assert [False, False, False, True] == [rule.reads_lane for rule in rules]


def test_a_rule_with_a_kind_or_a_job_is_for_single_jobs() -> None:
    """With job.* on matched heads; a kind is a property of a job, too."""
    rules = parse(
        "rules:\n"
        "- {match: {kind: report}, when: workers.free_ratio < 0.1, hold: true}\n"
        "- {match: {queue: q, kind: 'mail-*'}, when: lane.in_flight > 5, hold: true}\n"
        "- {when: job.deadline_in_s > 3600.0 && lane.in_flight > 5, hold: true}\n"
        "- {when: hour < 5, hold: true}\n"
    ).rules

    assert [True, True, True, False] == [rule.of_jobs for rule in rules]
    assert [False, False, True, False] == [rule.reads_job for rule in rules]
    assert [False, False, False, True] == [rule.for_queues for rule in rules]


def test_a_rule_is_written_as_it_was_read() -> None:
    """The canonical form is a document of the same meaning."""
    policy = parse("rules: [{name: n, when: hour < 6, zone: Asia/Tokyo, weightFactor: 4}]")

    assert policy == parse(canonical_json(policy))
