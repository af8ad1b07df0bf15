-- A job whose kind a worker has no handler for uses no attempt: it is for a worker of the release that is rolled
-- out just now, or of the one before.

-- Says why a job is not running, and when it will, as far as is known; and whether the job's kind runs alone, whether
-- the job was asked to stop, and whether it waits for a worker with a handler for its kind, for whatever state the
-- job is in because of it. The other tenant is named to those who may see its jobs.
create function fairlead.explain(job_id bigint) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    answer jsonb := fairlead._explain(explain.job_id);
    kind text;
    said text;
    workers bigint;
    asked record;
begin
    select j.kind, j.last_error into kind, said from fairlead.jobs j
    where j.id = explain.job_id and not answer ? 'asked'
      and answer ->> 'state' in ('pending', 'queued', 'running', 'scheduled');
    if kind is null then
        return answer;
    end if;
    if answer ->> 'state' = 'scheduled' and starts_with(said, 'unhandled: ') then
        answer := answer || jsonb_build_object('blocked_by', 'no handler', 'sentence', format(
            'no worker of its pool had a handler for its kind, %L, when one looked at it last: it is looked at again '
            'at %s', kind, answer ->> 'starts_at'));
    end if;
    select count(*) into workers from fairlead.worker_leases w
    where w.dead_at is null and w.lease_until > clock_timestamp()
      and w.crash_breakers @> jsonb_build_array(jsonb_build_array(kind, answer ->> 'tenant'));
    if workers > 0 then
        answer := answer || jsonb_build_object(
            'crash_breaker', jsonb_build_object('kind', kind, 'workers', workers),
            'sentence', format(
                '%s; jobs of kind %L of its tenant run one at a time on %s, because several have ended the '
                'process that ran them', answer ->> 'sentence', kind,
                case workers when 1 then '1 worker' else workers || ' workers' end));
    end if;
    select e.requested_at as at, e.for_queue as queue, e.for_tenant as tenant,
           fairlead._reads_all() or fairlead._owns(e.for_tenant, null) as visible,
           q.job_id is not null as runs
    into asked
    from fairlead.evictions e
    left join fairlead.work_queue q on q.job_id = e.job_id and q.token = e.token
    where e.job_id = explain.job_id;
    if asked.at is null then
        return answer;
    end if;
    return answer || jsonb_build_object(
        'evicted', jsonb_build_object('requested_at', asked.at)
            || case when asked.visible
                    then jsonb_build_object('for_queue', asked.queue, 'for_tenant', asked.tenant)
                    else '{}' end,
        'sentence', format(
            case when asked.runs then '%s, and was asked to stop at %s so that %s could run'
                 else '%s; it was asked to stop at %s so that %s could run' end,
            answer ->> 'sentence', asked.at,
            case when asked.visible then format('tenant %L of queue %L', asked.tenant, asked.queue)
                 else 'another tenant' end));
end $$;
