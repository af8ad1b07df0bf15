-- What a policy that is simulated beside the one in force would do.

-- Unlogged: it is made anew within a minute.
create unlogged table fairlead.policy_shadow (
    pool   text        collate "C" primary key,
    at     timestamptz not null default clock_timestamp(),
    report jsonb,
    said   text        not null default ''
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
comment on table fairlead.policy_shadow is
    'What the last simulation of the shadow policy said, a row for each pool; the leader writes it.';
comment on column fairlead.policy_shadow.said is 'Why there is no report.';
