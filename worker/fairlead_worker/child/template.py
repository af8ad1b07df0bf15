"""The template: a process that has loaded Fairlead's part of a child, and forks children.

To start Python and load Fairlead takes a child 0.3 s of a processor, and longer than most
applications do. The template has done that once. It has one thread and no connection, and it
loads no application: what an application starts while it is imported would not survive a fork.

Each child is forked twice. The process between ends at once, so that the kernel gives the
child to the worker's parent, which adopts orphans: it waits for the child and ends it like one
that it has started itself, and the child outlives the template.
"""

import contextlib
import gc
import json
import os
import socket
import sys
from collections.abc import Sequence
from time import sleep

from fairlead.runtime.parent_death import die_with_parent
from fairlead.runtime.process_name import name_process
from fairlead_worker.child import child_main
from fairlead_worker.ipc import fork_request

NAME, CHILD_NAME = "fairlead-templ", "fairlead-child"
_POLL_SECONDS = 0.0005


def serve(control: socket.socket) -> list[str] | None:
    """Fork until the other end is closed, and return None; in a child, its command line."""
    gc.freeze()  # or the first collection in a child would copy most of the memory
    with contextlib.suppress(ConnectionError):  # closed before it could say something
        control.send(fork_request.READY)
        while True:
            request, descriptors, _, _ = socket.recv_fds(
                control,
                fork_request.BYTES_MAX,
                fork_request.DESCRIPTORS,
                socket.MSG_CMSG_CLOEXEC,
            )
            if not request:
                return None
            pid = _fork()
            if pid == 0:
                control.close()
                return [*json.loads(request), *fork_request.descriptor_arguments(*descriptors)]
            for each in descriptors:
                os.close(each)
            control.send(b"%d" % pid)
    return None


def _fork() -> int:
    """Fork a process that leads a group and is adopted; return its id, and in it 0.

    -1: the machine has no room for another process.
    """
    reading, writing = os.pipe()
    between = _try_to_fork()
    if between == 0:
        between = os.getpid()
        child = _try_to_fork()
        if child != 0:
            with contextlib.suppress(OSError):
                os.setpgid(child, child)
            os.write(writing, b"%d" % child)
            os._exit(0)
        os.close(reading)
        os.close(writing)
        while os.getppid() == between:
            sleep(_POLL_SECONDS)
        return 0
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        child = int(answer.read() or -1)
    if between > 0:
        os.waitpid(between, 0)
    return child


def _try_to_fork() -> int:
    try:
        return os.fork()
    except OSError:
        return -1


def main(argv: Sequence[str]) -> int:
    """Run the template, and in its children the child; return the exit code."""
    die_with_parent()
    name_process(NAME)
    arguments = serve(socket.socket(fileno=int(argv[0])))
    if arguments is None:
        return 0
    name_process(CHILD_NAME)
    sys.argv[1:] = arguments
    return child_main.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
