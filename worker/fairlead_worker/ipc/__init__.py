"""What the parent and a child share: messages, the child's command line, the attempt table.

In: messages to send, and attempts that start and end in a child. Out: JSON lines, entries of
running attempts that stay readable when the child is dead, and how those attempts end.

`messages` describes the protocol between the two. `attempt_table` is the shared memory in which
a child records each running attempt; `interruptions` derives from it, purely, how attempts end
whose child dies. The package imports the core's statement parameters and nothing of the room.
Begin with the docstring of `messages`.
"""
