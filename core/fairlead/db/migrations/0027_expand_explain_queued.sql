-- Why no worker has claimed a dispatched job: only the leader knows, which is told what claims pass over.

-- What explain says first: why a job is not running, and when it will, as far as is known. A pending or queued job is
-- a question to the leader, which answers within a tick: this answers what it last said, or, when that is over two
-- seconds old, asks and says so, but no more than a hundred questions of a login at a time. Asking again changes
-- nothing.
create function fairlead._explain(job_id bigint) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    job record;
    known jsonb;
    answered jsonb;
    ahead integer;
    asked integer;
    since timestamptz;
    ends_at timestamptz;
begin
    select s.state, s.queue, s.tenant, s.run_at, s.claimed_at, s.finished_at, s.worker, s.deadline,
           s.cancel_requested_at
    into job from fairlead.job_status s where s.id = _explain.job_id;
    if job.state is null then
        return jsonb_build_object('job', _explain.job_id, 'state', 'unknown', 'sentence',
            'there is no such job, or its history is gone');
    end if;
    known := jsonb_build_object('job', _explain.job_id, 'state', job.state,
                                'queue', job.queue, 'tenant', job.tenant);
    if job.state = 'running' then
        return known || jsonb_build_object('sentence', format(
            'it runs since %s on worker %s%s', job.claimed_at, job.worker,
            case when job.cancel_requested_at is not null then ', and has been asked to stop' end));
    elsif job.state = 'scheduled' then
        return known || jsonb_build_object('blocked_by', 'not due', 'starts_at', job.run_at, 'sentence',
            format('it is not due before %s', job.run_at));
    elsif job.state not in ('pending', 'queued') then
        return known || jsonb_build_object('sentence', format('it ended at %s', job.finished_at));
    end if;
    if job.state = 'queued' then
        select count(*) into ahead from (
            select from fairlead.work_queue mine cross join lateral (
                select w.job_id from fairlead.claim_floors f cross join lateral (
                    select w.job_id from fairlead.work_queue w
                    where w.pool = mine.pool and w.band = f.band and w.band >= 0 and w.worker is null
                      and w.vtag >= f.vtag
                      and (w.band < mine.band or (w.vtag, w.job_id) < (mine.vtag, mine.job_id))
                    order by w.vtag, w.job_id limit 10001) w
                where f.pool = mine.pool and f.band <= mine.band limit 10001) w
            where mine.job_id = _explain.job_id) rows;
        known := known || jsonb_build_object('ahead', ahead);
    else
        select min(p.since), case when bool_and(p.until is not null) then max(p.until) end into since, ends_at
        from fairlead.paused p
        where p.queue = job.queue and (p.tenant is null or p.tenant = job.tenant);
        if since is not null then
            return known || jsonb_strip_nulls(jsonb_build_object(
                'blocked_by', 'paused', 'blocked_since', since, 'paused_until', ends_at,
                'blocked_seconds', extract(epoch from clock_timestamp() - since), 'sentence', format(
                    'its %s is paused since %s%s: resume it',
                    case when exists (select from fairlead.paused p
                                      where p.queue = job.queue and p.tenant is null)
                         then 'queue' else 'tenant' end,
                    since, case when ends_at is not null then format(', until %s', ends_at) end)));
        end if;
    end if;
    if not exists (select from fairlead.leaders l
                   where l.role = 'scheduler' and l.lease_until > clock_timestamp()) then
        if job.state = 'queued' then
            return known || jsonb_build_object('sentence', format(
                'it is dispatched and waits for a worker, behind %s others; why, only a scheduler that leads '
                'could say, and none does', ahead));
        end if;
        return known || jsonb_build_object('blocked_by', 'no leader', 'sentence',
            'no scheduler leads: nothing is dispatched until one does');
    end if;
    select r.answer into answered from fairlead.explain_requests r
    where r.job_id = _explain.job_id and r.answered_at > clock_timestamp() - interval '2 seconds'
      and coalesce(r.answer ->> 'state', 'pending') = job.state
    order by r.id desc limit 1;
    if found then
        return known || answered;
    end if;
    select count(*) into asked from (
        select from fairlead.explain_requests r
        where r.login = session_user and r.answered_at is null
          and r.asked_at > clock_timestamp() - interval '1 minute'
        limit 100) q;
    if asked = 100 then
        return known || jsonb_build_object('asked', false, 'sentence',
            'a hundred questions of this login wait for the leader: ask again in a moment');
    end if;
    if job.state = 'pending' then
        select count(*) into ahead from (
            select from fairlead.jobs mine cross join lateral (
                select j.id from fairlead.jobs j
                where j.queue = mine.queue and j.tenant = mine.tenant and j.run_at is null
                  and (j.rank, j.seq) < (mine.rank, mine.seq)
                order by j.rank, j.seq limit 10000) j
            where mine.id = _explain.job_id) rows;
    end if;
    insert into fairlead.explain_requests (job_id, queue, tenant, ahead, login)
    select _explain.job_id, job.queue, job.tenant, ahead, session_user
    where not exists (
        select from fairlead.explain_requests r
        where r.job_id = _explain.job_id and r.answered_at is null);
    perform fairlead._notify('fairlead_scheduler', 'question');
    return known || jsonb_build_object('asked', true, 'sentence',
        'the leader has been asked: ask again in a moment');
end $$;
