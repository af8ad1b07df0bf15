-- outcome: what was lost and what was done twice, by the application's own record.
-- locks: none
-- index: none, the demo's history is small
select (select count(*) from demo.enqueued) as enqueued,
       (select count(*) from demo.enqueued e
        where not exists (select from fairlead.job_history h where h.id = e.id)) as lost,
       (select count(*) from (
            select h.id from fairlead.job_history h group by h.id having count(*) > 1) d)
       + (select count(*) - count(distinct m.job_id) from demo.measurements m) as doubled,
       (select count(*) from fairlead.job_history h where h.outcome <> 'succeeded') as unsuccessful,
       (select count(*) from demo.measurements) as measured,
       (select count(distinct e.job_id) from fairlead.attempt_errors e
        where e.ended_as in ('crashed', 'lost')) as recovered,
       (select coalesce(sum(m.lines), 0) from demo.measurements m) as lines,
       (select extract(epoch from max(h.finished_at) - min(h.claimed_at))
        from fairlead.job_history h) as seconds,
       (select count(*) from fairlead.job_history h where h.kind = 'roll_up') as roll_ups,
       (select count(*) from fairlead.job_history h) as ended,
       (select count(distinct e.job_id) from fairlead.attempt_errors e
        where e.ended_as = 'released') as interrupted
