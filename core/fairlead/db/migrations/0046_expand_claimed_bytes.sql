-- The bytes of a claim are those of the text that it answers.
--
-- What a payload takes in its table says little: a number there may have a thousandth of its digits, so that 1 kB of
-- [1e-16383, ...] is 1 MiB of text.

-- Reads these jobs for one claim, in the order given, until they have 16 MiB of payloads, headers and checkpoints in
-- all; the first in any case. All are looked up in one scan, hashed and sorted as they are stored, and only what is
-- answered is made a text. A nested loop would look through all of them for each. A job that is gone has no kind.
create function fairlead._read_claimed(jobs bigint[]) returns table (
    job_id bigint, kind text, payload text, headers text, attempts integer, max_attempts integer,
    cancel_requested_at timestamptz, expires_at timestamptz, checkpoint text
) language plpgsql stable set search_path = pg_catalog, pg_temp set enable_nestloop = off as $$
declare
    bytes_left bigint := 16777216;
    is_first boolean := true;
begin
    for job_id, kind, payload, headers, attempts, max_attempts, cancel_requested_at, expires_at, checkpoint in
        select r.id, r.kind, r.payload::text, r.headers::text, r.attempts, r.max_attempts, r.cancel_requested_at,
               r.expires_at, r.checkpoint
        from (
            select p.id, j.kind, j.payload, j.headers, j.attempts, j.max_attempts, j.cancel_requested_at,
                   j.expires_at, j.checkpoint
            from unnest(jobs) with ordinality as p (id, place)
            left join (
                select f.id, f.kind, f.payload, f.headers, f.attempts, f.max_attempts, f.cancel_requested_at,
                       f.expires_at, f.checkpoint
                from fairlead.jobs f where f.id = any (jobs) offset 0) j on j.id = p.id
            order by p.place offset 0) r
    loop
        bytes_left := bytes_left - coalesce(octet_length(payload), 0) - coalesce(octet_length(headers), 0)
                      - coalesce(octet_length(checkpoint), 0);
        exit when bytes_left < 0 and not is_first;
        is_first := false;
        return next;
    end loop;
end $$;
