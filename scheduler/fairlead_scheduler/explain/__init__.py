"""Why a job does not run, and when a pending one will.

Goes in: a question about a job, the ledgers of its pool, and what the leader knows of the pool.
Comes out: an `Answer`, and its JSON with a sentence.

`snapshot` reads a lane's position from the ledgers, `contention` remembers since when bands
have waited for slots or for their turn, `answer` decides on the reason and estimates the start.
It imports `ordering`, `limits` and `policy`, and no I/O. Begin with `answer.answer`.
"""
