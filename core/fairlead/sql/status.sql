-- status: one job, wherever it is in its life, as JSON text.
-- locks: none
-- index: jobs_pkey, work_queue_pkey, job_history_id
select json_build_object(
    'id', s.id, 'state', s.state, 'queue', s.queue, 'tenant', s.tenant, 'kind', s.kind,
    'payload', s.payload, 'attempt', s.attempt, 'max_attempts', s.max_attempts,
    'created_at', s.created_at, 'run_at', s.run_at, 'claimed_at', s.claimed_at,
    'finished_at', s.finished_at, 'cancel_requested_at', s.cancel_requested_at,
    'progress', s.progress, 'progress_note', s.progress_note, 'result', s.result,
    'error', s.error, 'retry_of', s.retry_of)::text
from fairlead.job_status s where s.id = ((%s::json) ->> 0)::bigint
