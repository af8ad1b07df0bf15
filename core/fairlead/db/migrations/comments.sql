-- What \df+, \d+ and the reference say of what people call and insert. Set anew on every migrate.

comment on function fairlead.list_jobs(text, text, text, text, integer, timestamptz, timestamptz, bigint) is
    'Lists the newest jobs of the caller''s, or of all that it may read, of a queue, a tenant, a kind and a state (null: '
    'any), inserted since and until an instant, at most jobs_max of them, 1,000 or less; before_id, the last id of a list, '
    'gives the next. Finds all unfinished jobs of a tenant, or of a queue or scheduled, of which there are at most '
    '3,000, and all of a tenant that failed, expired or were cancelled; of others it looks at the newest 18,000 at most, '
    'whoever''s they are, and says in a notice that there are older ones, and before which id to go on.';
comment on function fairlead.enqueue(
    text, jsonb, text, text, integer, timestamptz, timestamptz, text, integer, interval, interval, jsonb, bigint,
    boolean, interval, interval, interval
) is
    'Inserts a job as an INSERT does, and answers its id. became: inserted; duplicate, without an id, where an '
    'unfinished job has its dedup key, or unique_for has not passed since a job of the key was inserted with it; or '
    'with replace or debounce replaced, where a job that waits has the key and this one takes its place, and follows, '
    'where one that runs has it: that one ends with its attempt and is not run again. debounce: run so long after the '
    'last call, debounce_max (null: ten times as long) after the first one at the latest. Replaces jobs of the '
    'caller''s alone.';
comment on function fairlead.cancel(bigint) is
    'Cancels a job. Answers cancelled (it ended and will not run), requested (it runs; its worker is '
    'notified), finished, or unknown, as is every job that is not the caller''s. A repeat is harmless. Several '
    'in one transaction go by id.';
comment on function fairlead.cancel_jobs(text, text, text, integer) is
    'Cancels unfinished jobs of the caller''s of a queue, a tenant and a kind (null: any; at least one is named), at '
    'most jobs_max of them, 10,000 or less, in the order of their ids, and no more once those it has taken have 16 MiB. '
    'Answers how many ended or were asked to stop, and how many another transaction has locked, which are left: call it '
    'until both are 0, each time in a transaction of its own.';
comment on function fairlead.set_priority(bigint, integer) is
    'Gives a job that waits another priority, -100 to 100: from the leader''s next tick it stands behind those that have '
    'that priority in its lane, and where the policy has bands in the band of it. One that is queued and is to run later '
    'is recalled within 2 s, unless a worker claims it before. Answers changed, unchanged, running (it keeps its '
    'priority), finished, or unknown. A repeat is harmless. Several in one transaction go by id.';
comment on function fairlead.set_priorities(integer, text, text, text, integer) is
    'Gives jobs that wait of a queue, a tenant and a kind (null: any; at least one is named) another priority, at most '
    'jobs_max of them, 10,000 or less, in the order of their ids, which is the order in which they stand in the lane then. '
    'Answers how many it changed, how many run and keep theirs, and how many another transaction has locked, which are '
    'left: call it until changed and locked are 0, each time in a transaction of its own.';
comment on function fairlead.remove_schedules(text, text) is
    'Removes the caller''s schedules of a tenant, or the one of a name, and answers how many; jobs that they made stay. '
    'There is no DELETE: whoever may delete from a table may lock it against everybody.';
comment on function fairlead.run_schedule(text, text) is
    'Inserts the job of a schedule now, of a tenant and a name, whether or not it is enabled, as a job of the login that '
    'made the schedule, and answers its id; null: there is none. When the schedule fires next stays as it is. A backlog '
    'limit refuses it (FL005) as any INSERT. A repeat inserts another job.';
comment on function fairlead.list_batches(text, text, integer, bigint) is
    'Lists the newest batches of the caller''s, or of all that it may read, as batch_status has them, of a tenant and a '
    'state (null: any), at most batches_max of them, 1,000 or less; before_id, the last id of a list, gives the next. Looks '
    'at the newest 10,000, of the tenant or of those that are not over where these are asked for, and says in a notice that '
    'there are older ones.';
comment on function fairlead.close_batch(bigint) is
    'Closes a batch of the caller''s that was inserted as open: it is over once all of its jobs have ended, and until then '
    'these may add others. Answers whether it was open, null when there is no such batch. A repeat is harmless.';
comment on function fairlead.redact(bigint) is
    'Takes payload, headers, dedup key, result, errors and progress out of a finished job; its row stays in the history '
    'and cannot be retried. Errors may outlive that row, and go too. Answers redacted, unfinished (cancel it first) or '
    'unknown. A repeat is harmless. A job that repeats it has its own copy.';
comment on function fairlead.retry(bigint) is
    'Runs a job again and answers its id: a scheduled one falls due now, a finished one is inserted '
    'anew with retry_of. While that repeat is unfinished, a further call answers it; when its dedup '
    'key is live, the holder of that key. Null when there is no such job, or none that is the caller''s. An '
    'application meets the backlog limit (FL005). Several in one transaction go by id, but those with a dedup key '
    'one in each: it waits for whoever inserts the key.';
comment on function fairlead.redrive(text, text, text, timestamptz, integer) is
    'Retries failed jobs of a queue, oldest ending first, at most jobs_max of them, and no more once those it has made '
    'have 16 MiB, each once however often it is called, for as long as its ending is kept. Answers how many new jobs it '
    'made; call it until that is 0.';
comment on function fairlead.pause(text, text, timestamptz) is
    'Stops new dispatch of a queue, or of one tenant in it, from the next tick; what is queued is '
    'recalled within 2 s and what runs finishes. It lasts until somebody resumes it, or until an instant, by 366 days '
    'ahead at most: the leader ends it within 4 s of that. A repeat changes that instant alone; without one it has none.';
comment on function fairlead.resume(text, text) is
    'Ends a pause that was made with the same arguments; answers whether there was one.';
comment on function fairlead.announce_kinds(bigint, text[], integer[], boolean[]) is
    'Says for which kinds a worker has handlers, and how many attempts a job of each has whose row says nothing '
    '(null: 20), and which kinds run at most once: a crash, a lost lease or the worker''s stop ends such a job as failed. '
    'Answers whether the worker is live. A repeat replaces it. A worker that says nothing may have any.';
comment on function fairlead.limit_kinds(bigint, text[], integer[]) is
    'Says how many jobs of some kinds may be in flight at once in the fleet, at most 100 kinds; for the worker''s pool, '
    'where the smallest number of its live workers holds. Answers whether the worker is live. A repeat replaces it. '
    'Claim nothing while awaits_limits() is true.';
comment on function fairlead.awaits_limits(bigint) is
    'Whether the leader does not yet hold to what the worker has said by limit_kinds().';
comment on function fairlead.complete(bigint, bigint, jsonb) is
    'Finishes a job with its result in the caller''s transaction, as its last statement. A stale token '
    'raises FL001, so that the transaction cannot commit. A result has a payload''s bounds. The slot '
    'counts, and is charged for, until its worker has released it.';
comment on function fairlead.fail(bigint, bigint, text, interval) is
    'Fails one attempt: the job runs again after retry_in (null: back-off), or has failed for good '
    'when its attempts are used up. Answers scheduled, failed or cancelled. A stale token raises FL001.';
comment on function fairlead.explain(bigint) is
    'Says why a job does not run, and about when it will. What only the leader knows is asked first: '
    'then the answer says asked, and the next call has it. crash_breaker: several jobs of its kind and tenant '
    'have ended the process that ran them, so that they run one at a time on so many workers. evicted: it was '
    'asked to stop, and when, so that another tenant could run.';
comment on function fairlead.extend(bigint, bigint, interval) is
    'Moves the attempt''s deadline to at least by from now, but no further than the pool''s longest '
    'timeout (timeoutMax) after the claim, and never back; answers the deadline. A stale token raises FL001.';
comment on function fairlead.checkpoint(bigint, bigint, jsonb) is
    'Stores in the caller''s transaction what the job goes on from when it runs again: any JSON of at most 64 KiB. '
    'It replaces the last one and stays until the job ends. A stale token raises FL001.';
comment on function fairlead.register_worker(text, text, integer, double precision, integer, text, text, text, text, boolean) is
    'Registers a worker of the session''s login in a pool that it may serve, and answers its id. slots_full is the '
    'most slots that it will have (null: slots); releases_slots: it calls release for jobs that complete has finished.';
comment on function fairlead.renew_worker(bigint, double precision, integer, bigint[], bigint[], integer, jsonb, text[]) is
    'Renews a worker''s lease by lease_seconds, an hour at most. Of the attempts that it names it answers the tokens '
    'that are to be cancelled, on request or because the job''s row is gone, and evicted. No row: the worker is dead.';
comment on function fairlead.undrain_worker(bigint) is
    'Lets a worker claim again whose pod is no longer marked; answers its id if it may.';
comment on function fairlead.say_drained(bigint) is
    'Stores that the worker''s pod is empty under its mark; answers since when, and no row if it is not.';
comment on function fairlead.deregister_workers(bigint[]) is
    'Gives up the leases of workers: they claim and renew no more. Answers those that had one.';
comment on function fairlead.claim(bigint, integer, boolean, text[]) is
    'Leases up to jobs_max queued jobs of the worker''s pool to it, none of full_kinds, each with a fencing token: of '
    '16 MiB of payloads, headers and checkpoints in all, or one job. There may be more after any claim that found some.';
comment on function fairlead.take_floor_scan_turn(text) is
    'Whether the caller may claim once with below_floor now: one worker of a pool may, once a second.';
comment on function fairlead.extend_deadlines(bigint[], bigint[], double precision[]) is
    'Moves deadlines to at least so many seconds from now. Answers for each token why its attempt is to stop: lost, '
    'cancelled, expired (if it has not begun); null: it goes on.';
comment on function fairlead.store_progress(bigint[], bigint[], real[], text[]) is
    'Stores how far attempts are, from 0 to 1, and a note of each.';
comment on function fairlead.store_checkpoints(bigint[], bigint[], text[]) is
    'Stores what the jobs of attempts go on from, each any JSON of at most 64 KiB, null too. became: stored, stale, or locked: ask '
    'again.';
comment on function fairlead.finish(bigint[], bigint[], text[], text[], text[], bigint[]) is
    'Finishes the jobs of attempts and answers the tokens that held. outcomes: succeeded (null), failed, cancelled or '
    'expired; run_us: for how long each is charged, at most since its claim.';
comment on function fairlead.hand_back(bigint[], bigint[], text[], text[], interval[]) is
    'Ends attempts without finishing their jobs. ended_as: failed or snoozed (again after the delay), returned (not '
    'begun), released (cut short), crashed or lost. became: scheduled, queued, pending, failed, cancelled, stale, or '
    'locked: ask again.';
comment on function fairlead.release(bigint[], bigint[], bigint[]) is
    'Frees the slots of attempts whose jobs are gone; answers the tokens that held them.';
comment on function fairlead.make_history_partitions(integer) is
    'Makes the partitions of yesterday, today and the next days_ahead days, and of days whose endings are in a '
    'default partition, which move; answers how many were new. Warns of those that another session''s locks keep '
    'from being made now.';
comment on function fairlead.drop_history_partitions(integer, integer) is
    'Empties, or drops when it is empty, one partition of the history that is past its retention; answers which, '
    'and those that another session has locked. The leader calls it until nothing is left.';
comment on function fairlead.reset_leadership() is
    'Mends the rows of leaders that no program can acquire any more, because of an impossible lease or epoch; '
    'answers whose. Healthy ones are left alone.';

comment on table fairlead.policy_versions is
    'Every policy document that was stored; rows are only ever added. In force is the newest that the leader can '
    'read: policy_events says which, and fairlead policy history.';
comment on table fairlead.fairness_reports is
    'How the slots of each pool were shared from since to at, by tenant. The leader writes it while jobs run or '
    'wait, every 5 s unless FAIRLEAD_REPORT_SECONDS says otherwise, and less often with thousands of tenants; it '
    'deletes that of a pool which the policy does not name once nothing has run there for a minute. tenant_shares '
    'shows it as rows.';
comment on function fairlead.apply_policy(text, text, text, text) is
    'Stores a policy document and answers its version, and whether that is new: a document with the '
    'digest of the newest version is not stored again. It is not read here: use fairlead policy apply, '
    'which refuses a bad one and computes the digest.';

comment on function fairlead.note_refused_policy(text, text, text) is
    'Notes that a policy document was refused, so that the leader logs and counts it: fairlead policy apply '
    'calls it. A repeat leaves one event, the newest; the last hundred documents are kept.';

comment on column fairlead.worker_leases.beside is
    'Jobs that it holds without a slot, because they wait for a process in which each runs alone, or for '
    'their kind''s concurrency: the scheduler finds room for so many more.';

comment on column fairlead.schedules.name is 'What it is called; unique per tenant.';
comment on column fairlead.schedules.enabled is
    'Whether it fires. When it is enabled again, missed says what becomes of the fires in between.';
comment on column fairlead.schedules.queue is 'The queue of its jobs, and so on: as in jobs.';
comment on column fairlead.schedules.declared_by is
    'The application that declares it in its code, and removes it when it does no more; null: made by hand.';
comment on column fairlead.schedules.expires_in is 'Each job expires this long after its fire time.';
