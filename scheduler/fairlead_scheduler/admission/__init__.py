"""Admission: lanes over their backlog limit accept no more jobs.

In: the backlog limits of the policy, and counts of unfinished jobs. Out: the rows of
`over_backlog`, which an INSERT into `jobs` checks, and the gate that lets it skip the check.

`backlog` decides which lanes to count and which are full, without I/O; `publisher` counts and
publishes, on a thread and a session of its own. They import `policy.backlog_limits`,
`leadership` and `metrics`. Begin with `publisher.BacklogPublisher.step`.
"""
