"""The attacks' counts, over all test processes."""

from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how much was tried, and how much of it succeeded."""
    counts: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        if "tests/attacks" in report.nodeid:
            counts.update({name: int(str(value)) for name, value in report.user_properties})
    if counts:
        terminalreporter.section("attacks")
        for name, count in counts.items():
            terminalreporter.write_line(f"{count:>9,} {name}")
