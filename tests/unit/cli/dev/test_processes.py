"""A process is alive until it ends, and a zombie is not alive."""

import os
import subprocess
import sys

from fairlead_cli.dev import process_table
from tests.support.waiting import until

ENDS_WHEN_ITS_INPUT_DOES = [sys.executable, "-c", "import sys; sys.stdin.read()"]


def test_a_child_is_listed_until_it_ends_even_before_anybody_reaped_it() -> None:
    """A zombie, which a signal can still be sent to, does not count as alive."""
    with subprocess.Popen(ENDS_WHEN_ITS_INPUT_DOES, stdin=subprocess.PIPE) as child:
        assert child.pid in process_table.children(os.getpid())
        assert child.stdin is not None
        child.stdin.close()
        until(lambda: not process_table.is_alive(child.pid), what="the end of the child")

        os.kill(child.pid, 0)  # it succeeds: the zombie is still there


def test_a_process_has_its_name_and_its_parent() -> None:
    """The list says whose child a process is."""
    me = process_table.living()[os.getpid()]

    assert (os.getpid(), os.getppid()) == (me.pid, me.parent)
    assert me.name
