"""What tests have counted and measured, over all test processes, at the end of a run."""

from collections import Counter

import pytest

_COUNTING = {"tests/attacks": "attacks", "tests/interleavings": "interleavings"}
_MEASURING = "tests/integration"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how much was tried of what is counted, and each figure that was measured."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        if report.when == "call"
    ]
    for folder, title in _COUNTING.items():
        counts: Counter[str] = Counter()
        failed = 0
        for report in reports:
            if folder in report.nodeid:
                counts.update({name: int(str(value)) for name, value in report.user_properties})
                failed += report.failed
        if counts:
            terminalreporter.section(title)
            for name, count in counts.items():
                terminalreporter.write_line(f"{count:>9,} {name}")
            terminalreporter.write_line(f"{failed:>9,} tests of them that failed")
    measured = [each for each in reports if _MEASURING in each.nodeid and each.user_properties]
    if measured:
        terminalreporter.section("figures")
        for report in measured:
            terminalreporter.write_line(report.nodeid)
            for name, value in report.user_properties:
                terminalreporter.write_line(f"  {name}: {value}")
