"""What a page says of what was read: values in, sentences and shapes of drawings out. Pure.

* `waiting` draws why a job waits: what is before it, what holds it, who has the slots, when.
* `time_line` draws a job's life.
* `health` says in one sentence whether something is wrong, and what to look at first.
* `fairness` compares what tenants had with what they were entitled to.
* `bulk` is what is done to many jobs, step by step.
* `drafts` are policies that somebody writes, `predictions` what they would do, `manifests` what
  Kubernetes is given of one.
* `drawing` is the arithmetic of bars and lines; `words` are the filters of the templates.

Begin with `waiting`.
"""
