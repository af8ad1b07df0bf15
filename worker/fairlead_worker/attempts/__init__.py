"""One attempt: its state in this process, its outcome, and the statements about it.

An attempt is one claim of a job, and its job id and token fence every statement. It *ends* when
its handler returned, raised or was stopped; `outcome` says how. Its job is *finished* when that
is stored.

In: claimed rows (`fairlead.job.Claimed`), what handlers return and raise. Out: values, and rows
changed by the statements in `sql/`. The package imports `ipc.attempt_key` and the core;
`outcome` and `trace` are pure, and `traceback_text` reads lines of source. Begin with
`attempt`, then `outcome`; `attempt_store` has one function per statement.
"""
