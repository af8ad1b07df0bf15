-- steal: take back what dead workers hold, and attempts that are long past their deadline.
-- locks: see fairlead._steal.
-- index: see fairlead._steal.
select s.job_id from fairlead._steal(
    %(epoch)s, make_interval(secs => %(overdue_seconds)s), %(limit)s) s
