-- explain: why a job does not run, and when it will; a question that the leader has not answered yet is
--          answered when this is asked again.
-- locks: none that others wait for.
-- index: see fairlead.explain
select fairlead.explain(%(id)s) as answer
