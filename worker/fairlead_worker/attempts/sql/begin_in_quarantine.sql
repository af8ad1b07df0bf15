-- begin_in_quarantine: give an attempt that is leased already its whole time from now on, and read it with
--                      the columns of claim, to run it in a quarantine process. A repeat does the same; no
--                      row: the token holds nothing.
-- locks: the work_queue row.
-- index: work_queue_pkey, jobs_pkey, inside the function.
select b.* from fairlead._begin_in_quarantine(%(job_id)s, %(token)s) b
