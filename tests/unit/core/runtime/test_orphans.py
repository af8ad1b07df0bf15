"""Orphans are adopted and reaped, and nobody else's children are."""

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux adopts orphans")


def run(program: str) -> str:
    """Run a program in a process of its own, which may adopt; return what it prints."""
    preamble = """
        import os, subprocess, sys
        from fairlead.runtime.orphans import adopt_orphans, reap_orphans

        def leave_an_orphan():
            "Return what lets a process end whose parent has ended."
            reading, writing = os.pipe()
            between = os.fork()
            if between == 0:
                orphan = os.fork()
                if orphan == 0:
                    os.read(reading, 1)
                    os._exit(3)
                os._exit(0)
            os.waitpid(between, 0)
            return writing

        def wait_for_a_death():
            return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid
    """
    source = textwrap.dedent(preamble) + textwrap.dedent(program)
    ran = subprocess.run(
        [sys.executable, "-c", source], check=True, capture_output=True, text=True, timeout=60
    )
    return ran.stdout


def test_an_orphan_becomes_a_child_and_is_reaped() -> None:
    """So that none stays a zombie for as long as the process lives."""
    printed = run("""
        print(adopt_orphans())
        os.write(leave_an_orphan(), b".")
        print(wait_for_a_death() != os.getpid())
        reap_orphans(())
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG)
        except ChildProcessError:
            print("no child is left")
    """)

    assert printed.split("\n") == ["True", "True", "no child is left", ""]


def test_a_child_that_somebody_waits_for_is_left_to_them() -> None:
    """Its exit code is theirs to read."""
    printed = run("""
        adopt_orphans()
        own = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])
        wait_for_a_death()
        reap_orphans([own.pid])
        print(own.wait())
    """)

    assert printed == "7\n"


def test_without_children_there_is_nothing_to_reap() -> None:
    """It returns at once, and so it does while all children live."""
    printed = run("""
        reap_orphans(())
        adopt_orphans()
        lifeline = leave_an_orphan()
        reap_orphans(())
        os.write(lifeline, b".")
        wait_for_a_death()
        print("reaped nothing")
    """)

    assert printed == "reaped nothing\n"
