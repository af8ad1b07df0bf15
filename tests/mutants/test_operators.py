"""Operators change one place of a statement or a module, and take whole conditions away."""

from tests.mutants import operators


def made(text: str) -> dict[str, set[str]]:
    """Return what operators make of a statement, without its blanks, by operator."""
    found: dict[str, set[str]] = {}
    for each in operators.of_sql(text):
        found.setdefault(each.operator, set()).add(" ".join(each.text.split()))
    return found


def test_a_lock_is_dropped_and_made_to_wait() -> None:
    """What is said in a comment or in a text is left alone."""
    found = made("select 'for update' from t for key share skip locked -- for share\n")

    assert {"select 'for update' from t -- for share"} == found["drop the lock"]
    assert {"select 'for update' from t for key share -- for share"} == found[
        "wait for what is locked"
    ]


def test_a_condition_is_dropped_whole() -> None:
    """With its parentheses, and as BETWEEN has it with its AND."""
    found = made("select 1 from t where (a or b) and x between 1 and 2 and f(c, d) limit 3")

    assert {
        "select 1 from t where (a or b) and f(c, d) limit 3",
        "select 1 from t where (a or b) and x between 1 and 2 limit 3",
    } == found["drop the condition"]
    assert {"select 1 from t where true and x between 1 and 2 and f(c, d) limit 3"} == found[
        "drop the first condition"
    ]
    assert 2 == len(found["and becomes or"])
    assert {"select 1 from t where (a or b) and x between 1 and 2 and f(c, d)"} == found[
        "drop the limit"
    ]


def test_a_comparison_is_turned_round_but_for_instants() -> None:
    """Nothing happens at exactly now()."""
    found = made("select a < b, c < now(), now() <= d")

    assert {"< becomes <=": {"select a <= b, c < now(), now() <= d"}} == found


def test_a_check_is_always_true() -> None:
    """Whatever it is asked about."""
    assert {"if not true then"} == made("if not fairlead._owns(a, (b)) then")["drop the check"]


def test_an_order_is_dropped_up_to_its_end() -> None:
    """What it orders by may have parentheses."""
    found = made("select a from (select b from t order by f(b), c limit 1) s order by a")

    assert {
        "select a from (select b from t limit 1) s order by a",
        "select a from (select b from t order by f(b), c limit 1) s",
    } == found["drop the order"]


def test_a_module_has_its_operators_turned_round() -> None:
    """But not in texts, and not where two words are one operator."""
    found = {
        (each.operator, each.text)
        for each in operators.of_python("x = 'a < b' if a < b and c is not d else min(e)\n")
    }

    assert {
        ("< becomes <=", "x = 'a < b' if a <= b and c is not d else min(e)\n"),
        ("and becomes or", "x = 'a < b' if a < b or c is not d else min(e)\n"),
        ("min becomes max", "x = 'a < b' if a < b and c is not d else max(e)\n"),
    } == found
