"""The demo: a fleet on this machine that measures Python source, while parts of it are killed.

`make demo` runs `python -m examples.demo`. It needs a checkout and the extras `dev` and `plot`.

* `__main__`, to read first: a scratch database, local processes, and the run's course.
* `course` begins the run, kills a worker and the leader midway, and checks the end;
  `policy_scene` edits the policy file; `edit_effect` and `edit_result` measure the effect.
* `sources` and `feed` find the files to measure and insert their jobs; `app` has the handlers.
* `watch`, `screen`, `report` and `picture` show the run and its result.
"""
