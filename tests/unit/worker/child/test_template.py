"""The template forks until the worker's parent has gone, and says nothing when it has."""

import gc
import os
import socket
import sys

import pytest

from fairlead_worker.child import template

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="there is a template on Linux only"
)


def test_a_template_ends_quietly_when_nobody_waits_for_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The parent gives it up, or dies, while it forks."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def fork() -> int:
        ours.close()
        return -1

    monkeypatch.setattr(template, "_fork", fork)
    table = os.open(os.devnull, os.O_RDONLY)
    socket.send_fds(ours, [b"[]"], [table, table])
    os.close(table)

    try:
        with theirs:
            assert template.serve(theirs) is None
    finally:
        gc.unfreeze()
