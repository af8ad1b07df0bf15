"""A child has a control socket and an attempt table that no other process has."""

import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from unittest.mock import Mock

from fairlead_worker.config import WorkerConfig
from fairlead_worker.ipc import messages
from fairlead_worker.parent.child_handle import ChildHandle
from fairlead_worker.parent.child_template import AnswerLost, ChildProcess


def test_a_child_that_may_have_been_started_unseen_has_nothing_of_the_next_one() -> None:
    """Nobody is at the other end of its socket any more, and its table is another one."""
    sockets = list[socket.socket]()
    tables = list[int]()

    def start(_arguments: Sequence[str], control: int, table: int) -> ChildProcess:
        sockets.append(socket.socket(fileno=os.dup(control)))
        tables.append(os.fstat(table).st_ino)
        if len(sockets) == 1:
            raise AnswerLost("the template did not answer")
        return Mock(ChildProcess, pid=os.getpid())

    config = Mock(WorkerConfig, app="app:tasks", pool="default", concurrency=2)
    config.configure_mock(log_format="json", log_level="info", metrics_wait_bounds=())

    handle = ChildHandle(config, start)

    handle.send(messages.Drain())
    first, second = sockets
    with ExitStack() as stack:
        for each in (first, second):
            each.settimeout(10)
            stack.callback(each.close)
        assert b"" == first.recv(1)
        assert messages.to_child(messages.Drain()) == second.recv(1000)
    assert 2 == len({*tables})
    handle.close()
