-- pulse: what changes when anything does: who leads, how far the receipts are, the newest report.
-- locks: none
-- index: leaders_pkey; fairness_reports and paused are small.
select (select l.epoch from fairlead.leaders l
        where l.role = 'scheduler' and l.lease_until > clock_timestamp()) as epoch,
       (select s.last_value from fairlead.receipts_id_seq s) as receipts,
       (select s.last_value from fairlead.audit_id_seq s) as audit,
       (select max(r.at) from fairlead.fairness_reports r) as reported_at
