"""The page that compares an application on Fairlead and on procrastinate has its lines."""

import re
from pathlib import Path

from bench.peers.lines import counted, lines_of_code
from tests.support import tree

_PAGE = Path("docs/how-to/migrate-from-procrastinate.md")
_FILES = {
    "jobs": "reports.py",
    "pages": "web.py",
    "tables": "tables.sql",
    "limits": "policy.yaml",
    "tests": "test_reports.py",
}


def test_the_page_has_what_is_counted() -> None:
    """Of each file, and of all; and the one on Fairlead is no longer than the other."""
    table = tree.text(_PAGE).partition("| Fairlead | procrastinate |\n|---|---|---|\n| jobs")
    rows = re.findall(r"\| (\w+)[^|]*\| (\d*) *\| *(\d*) *\|", f"| jobs{table[2]}")
    ours, theirs = counted().values()

    assert [*_FILES, "all"] == [name for name, *_ in rows]
    for name, *said in rows[:-1]:
        assert [str(each.get(_FILES[name], "")) for each in (ours, theirs)] == said
    assert [str(sum(each.values())) for each in (ours, theirs)] == [*rows[-1][1:]]
    assert sum(ours.values()) <= sum(theirs.values())


def test_lines_of_code_are_counted_without_words(tmp_path: Path) -> None:
    """Neither blank ones, nor comments, nor docstrings; text that is used counts."""
    module = tmp_path / "m.py"
    module.write_text('"""Doc.\n\nMore."""\n\n# a comment\nA = """\nx\n"""\n"""Of A."""\n')

    assert 3 == lines_of_code(module)
