-- claim: lease up to %(limit)s queued jobs of the worker's pool to it, in claim order, of 16 MiB in all or one
--        job. Jobs of %(full_kinds)s are passed over, for which the worker has no room (null, as nearly always:
--        of none).
-- locks: the worker's live row (for share, so that a death or draining cannot be missed), then work_queue
--        rows in claim order (skip locked).
-- index: work_queue_claim_order, from the floor on, which asks for its condition on band; jobs_pkey for
--        sizes and for what is returned; inside the function.
select c.* from fairlead.claim(
    %(worker)s, %(limit)s, %(below_floor)s, %(full_kinds)s::text[]) c
